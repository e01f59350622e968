//! Starts browser processes, and ends them with all their children.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::page_deadline::PageDeadline;
use super::running_browsers::{self, EXIT_POLL_INTERVAL, KILL_TIMEOUT};
use super::{BrowserOptions, failed};
use crate::error::FetchError;

/// Chromium uses descriptors 3 and 4 for the DevTools protocol. Its other output is discarded.
const WITH_PIPES: &str = r#"exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null"#;

/// How long a browser may take to close by itself.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// The path of a socket has 107 bytes at most, of which
/// `/org.chromium.Chromium.XXXXXX/SingletonSocket` takes 45.
const MAX_TEMPORARY_PATH_BYTES: usize = 62;

/// A running browser. When it is dropped its whole process group is killed and waited for.
pub(super) struct BrowserProcess {
    child: Child,
    group: Option<Pid>,
    /// Removed with its content when the process is gone.
    profile: Option<tempfile::TempDir>,
}

/// Starts a browser. Returns its process and both ends of its pipe, the writing one first.
pub(super) fn launch(
    options: &BrowserOptions,
    user_agent: &str,
) -> Result<(BrowserProcess, ChildStdin, ChildStdout), FetchError> {
    let started = running_browsers::start(|| {
        let started = spawn(options, user_agent)?;
        let entry = started.0.entry();
        Ok((started, entry))
    });
    started.unwrap_or_else(|| Err(failed("no browser is started by a process that is about to end")))
}

fn spawn(
    options: &BrowserOptions,
    user_agent: &str,
) -> Result<(BrowserProcess, ChildStdin, ChildStdout), FetchError> {
    let start = |what: &str| failed(format!("`{}` cannot be started: {what}", options.executable.display()));
    let profile = tempfile::Builder::new()
        .prefix("browser-")
        .tempdir_in(&options.folder)
        .map_err(|error| start("there is no place for its profile").because(error))?;
    let mut command = Command::new("/bin/sh");
    if let Some(temporary) = temporary_in(profile.path()) {
        command.env("TMPDIR", temporary);
    }
    let mut child = command
        .arg("-c")
        .arg(WITH_PIPES)
        .arg(&options.executable)
        .args(arguments(options, user_agent, profile.path()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| start("no process").because(error))?;
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(start("no pipes"));
    };
    Ok((BrowserProcess { child, group, profile: Some(profile) }, input, output))
}

/// A folder for temporary files of the browser inside its profile, so that both are removed
/// together. None where the path would be too long for the socket that the browser makes there.
fn temporary_in(profile: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(profile.join("tmp")).ok()?;
    let fits = folder.as_os_str().len() <= MAX_TEMPORARY_PATH_BYTES;
    (fits && std::fs::create_dir(&folder).is_ok()).then_some(folder)
}

fn arguments(options: &BrowserOptions, user_agent: &str, profile: &Path) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "--headless=new",
        "--remote-debugging-pipe",
        "--no-first-run",
        "--no-default-browser-check",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-domain-reliability",
        "--disable-extensions",
        "--disable-sync",
        "--disable-client-side-phishing-detection",
        "--metrics-recording-only",
        "--mute-audio",
        "--hide-scrollbars",
        "--password-store=basic",
        // Frames of other sites stay in the process of the page, where their requests are stopped
        // with its own.
        "--disable-site-isolation-trials",
        "--disable-features=IsolateOrigins,site-per-process,Translate,OptimizationHints,MediaRouter",
        // Requests that are not intercepted fail: no name resolves, and all of them go to a proxy
        // that does not exist.
        "--proxy-server=http://nowhere.invalid:9",
        "--proxy-bypass-list=<-loopback>",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    ]
    .map(str::to_owned)
    .into();
    if !options.sandbox {
        arguments.push("--no-sandbox".to_owned());
    }
    arguments.push(format!("--user-agent={user_agent}"));
    arguments.push(format!("--window-size={},{}", options.window.0, options.window.1));
    arguments.push(format!("--user-data-dir={}", profile.display()));
    arguments.push("about:blank".to_owned());
    arguments
}

impl BrowserProcess {
    /// What others must know to end it.
    fn entry(&self) -> Option<(Pid, PathBuf)> {
        Some((self.group?, self.profile.as_ref()?.path().to_owned()))
    }

    /// Waits for a browser that was asked to close, then kills what is left of it.
    pub(super) async fn end(mut self, hours: PageDeadline) {
        // It may have been told in vain: then it is killed below, and waited for.
        let _ = tokio::time::timeout(hours.at_most(CLOSE_TIMEOUT), self.child.wait()).await;
        self.kill();
        let _ = self.child.wait().await;
    }

    fn kill(&self) {
        if let Some(group) = self.group {
            // Fails if the group has already exited.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// Whether the browser was waited for and nothing of its group is left to write into the
    /// profile.
    fn is_gone(&mut self) -> bool {
        let waited_for = !matches!(self.child.try_wait(), Ok(None));
        waited_for && self.group.is_none_or(|group| !running_browsers::is_alive(group))
    }
}

impl Drop for BrowserProcess {
    /// Waits here, and not in the runtime: a runtime reaps a dropped child at the next child that
    /// ends, which may never come, and a profile is only empty for good when nobody writes into it
    /// any more.
    fn drop(&mut self) {
        self.kill();
        let until = Instant::now() + KILL_TIMEOUT;
        while !self.is_gone() && Instant::now() < until {
            std::thread::sleep(EXIT_POLL_INTERVAL);
        }
        drop(self.profile.take());
        if let Some(group) = self.group {
            running_browsers::forget(group);
        }
    }
}

/// Whether this process is run by root.
pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
