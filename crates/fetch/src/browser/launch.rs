//! Starts browser processes, and ends them with all their children.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{ChildStdin, ChildStdout};
use varve_file::{TemporaryFolder, TemporarySubfolder};

use super::devtools_pipe::DevtoolsPipe;
use super::running_browsers::{self, EXIT_POLL_INTERVAL, KILL_TIMEOUT};
use super::{BrowserOptions, failed};
use crate::error::FetchError;

/// Chromium uses descriptors 3 and 4 for the DevTools protocol. Its other output is discarded.
const WITH_PIPES: &str = r#"exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null"#;

/// How long a browser may take to exit by itself, which removes its files outside the profile.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// The path of a socket has 107 bytes at most, of which
/// `/org.chromium.Chromium.XXXXXX/SingletonSocket` takes 45.
const MAX_TEMPORARY_PATH_BYTES: usize = 62;

/// Features that isolate frames, that use the network by themselves, or that change the scheme of a
/// page, which must be requested as it is named.
const DISABLED_FEATURES: &str = "--disable-features=IsolateOrigins,site-per-process,\
    Translate,OptimizationHints,MediaRouter,\
    HttpsUpgrades,HttpsFirstBalancedMode,HttpsFirstBalancedModeAutoEnable,HttpsFirstModeIncognito,\
    HttpsFirstModeV2,HttpsFirstModeV2ForEngagedSites,HttpsFirstModeV2ForTypicallySecureUsers";

/// Arguments of every browser on a profile of its own: it asks nothing, and makes no requests by
/// itself.
pub(super) const PROFILE_ARGUMENTS: [&str; 12] = [
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--disable-client-side-phishing-detection",
    "--metrics-recording-only",
    "--password-store=basic",
];

/// A running browser. When it is dropped its whole process group is ended and waited for.
pub(super) struct BrowserProcess {
    pub(super) pipe: DevtoolsPipe,
    group: ProcessGroup,
}

/// Starts a browser. Must be called in a runtime.
pub(super) fn launch(options: &BrowserOptions, user_agent: &str) -> Result<BrowserProcess, FetchError> {
    let start = |error: io::Error| {
        failed(format!("`{}` cannot be started", options.executable.display())).because(error)
    };
    let command = |profile: &Path| {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(WITH_PIPES).arg(&options.executable).args(arguments(user_agent, profile));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    };
    let mut group = running_browsers::start(|| ProcessGroup::start(&options.folder, command))
        .unwrap_or_else(|| Err(io::Error::other("this process is about to end")))
        .map_err(start)?;
    let pipe = group.open_pipe().map_err(start)?;
    Ok(BrowserProcess { pipe, group })
}

impl BrowserProcess {
    /// Ends the browser at once. Its pages fail.
    pub(super) fn kill(&self) {
        self.group.kill();
    }
}

/// A folder for temporary files of the browser inside its profile, so that both are removed
/// together. None where the path would be too long for the socket that the browser makes there.
fn temporary_in(profile: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(profile.join("tmp")).ok()?;
    let fits = folder.as_os_str().len() <= MAX_TEMPORARY_PATH_BYTES;
    (fits && std::fs::create_dir(&folder).is_ok()).then_some(folder)
}

fn arguments(user_agent: &str, profile: &Path) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "--headless=new",
        "--remote-debugging-pipe",
        "--disable-gpu",
        "--mute-audio",
        "--hide-scrollbars",
        // Frames of other sites stay in the process of the page, where their requests are stopped
        // with its own.
        "--disable-site-isolation-trials",
        DISABLED_FEATURES,
        // Pages that are not in front run like the one that is.
        "--disable-background-timer-throttling",
        "--disable-backgrounding-occluded-windows",
        "--disable-renderer-backgrounding",
        // Requests that are not intercepted fail: no name resolves, and all of them go to a proxy
        // that does not exist.
        "--proxy-server=http://nowhere.invalid:9",
        "--proxy-bypass-list=<-loopback>",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    ]
    .map(str::to_owned)
    .into();
    arguments.extend(PROFILE_ARGUMENTS.map(str::to_owned));
    // As root Chromium does not start with its sandbox.
    if rustix::process::geteuid().is_root() {
        arguments.push("--no-sandbox".to_owned());
    }
    arguments.push(format!("--user-agent={user_agent}"));
    arguments.push(format!("--user-data-dir={}", profile.display()));
    arguments.push("--no-startup-window".to_owned());
    arguments
}

/// A browser with its child processes, and the files that they share.
pub(super) struct ProcessGroup {
    child: Child,
    group: Pid,
    /// Removed with its content when the processes are gone.
    profile: Option<Arc<TemporarySubfolder>>,
}

impl ProcessGroup {
    /// Starts the processes of a command for a new profile. Returns their group id and profile too.
    pub(super) fn start(
        folder: &TemporaryFolder,
        command: impl FnOnce(&Path) -> Command,
    ) -> io::Result<(Self, Pid, Arc<TemporarySubfolder>)> {
        let profile = Arc::new(folder.make_folder("browser-")?);
        let mut command = command(profile.path());
        if let Some(temporary) = temporary_in(profile.path()) {
            command.env("TMPDIR", temporary);
        }
        let child = command.stderr(Stdio::null()).process_group(0).spawn()?;
        let group = Pid::from_child(&child);
        Ok((Self { child, group, profile: Some(Arc::clone(&profile)) }, group, profile))
    }

    fn open_pipe(&mut self) -> io::Result<DevtoolsPipe> {
        let (Some(input), Some(output)) = (self.child.stdin.take(), self.child.stdout.take()) else {
            return Err(io::Error::other("it has no pipes"));
        };
        Ok(DevtoolsPipe::new(ChildStdin::from_std(input)?, ChildStdout::from_std(output)?))
    }

    fn kill(&self) {
        // Fails if the group has already exited.
        let _ = kill_process_group(self.group, Signal::KILL);
    }

    /// Whether the browser was waited for.
    pub(super) fn has_exited(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Whether nothing of the group is left to write into the profile.
    fn is_gone(&mut self) -> bool {
        self.has_exited() && !running_browsers::is_alive(self.group)
    }

    /// Waits until `is_over` is true, but no longer than `time`.
    fn wait(&mut self, time: Duration, is_over: fn(&mut Self) -> bool) {
        let until = Instant::now() + time;
        while !is_over(self) && Instant::now() < until {
            std::thread::sleep(EXIT_POLL_INTERVAL);
        }
    }
}

impl Drop for ProcessGroup {
    /// Waits here, and not in the runtime, which may be gone. The profile is removed when no
    /// process can write into it any more.
    fn drop(&mut self) {
        if !self.has_exited() {
            // Fails if it has exited in between.
            let _ = kill_process(self.group, Signal::TERM);
            self.wait(EXIT_TIMEOUT, Self::has_exited);
        }
        self.kill();
        self.wait(KILL_TIMEOUT, Self::is_gone);
        drop(self.profile.take());
        running_browsers::forget(self.group);
    }
}
