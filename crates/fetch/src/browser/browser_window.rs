//! A Chromium window for a person, on a fresh profile behind a proxy of ours.
//!
//! All its requests go to that proxy: it resolves no names, and connects to nothing else. It trusts
//! the certificate authority of the proxy by the fingerprint of its key, so nothing is added to the
//! system or to another profile. When the value is dropped, the process group is ended and the
//! profile removed.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use varve_file::TemporaryFolder;

use super::failed;
use super::launch::{PROFILE_ARGUMENTS, ProcessGroup};
use super::running_browsers;
use crate::error::FetchError;

/// Features that use the network by themselves, or that change the scheme of a page.
const DISABLED_FEATURES: &str = "--disable-features=Translate,OptimizationHints,MediaRouter,\
    HttpsUpgrades,HttpsFirstBalancedMode,HttpsFirstBalancedModeAutoEnable,HttpsFirstModeIncognito,\
    HttpsFirstModeV2,HttpsFirstModeV2ForEngagedSites,HttpsFirstModeV2ForTypicallySecureUsers,\
    AsyncDns,DnsOverHttps,CertificateTransparencyComponentUpdater,NetworkTimeServiceQuerying";

/// Requests of the browser itself, for updates and accounts, which are no part of what a person does.
/// They go to a port that the proxy refuses.
const OWN_REQUESTS: [&str; 4] = [
    "--gaia-url=http://127.0.0.1:9/",
    "--google-apis-url=http://127.0.0.1:9/",
    "--component-updater=url-source=http://127.0.0.1:9/",
    "--disable-component-extensions-with-background-pages",
];

/// How a window is opened.
#[derive(Clone, Debug)]
pub struct WindowOptions {
    /// Chromium.
    pub executable: PathBuf,
    /// The folder for the profile.
    pub folder: TemporaryFolder,
    /// The proxy.
    pub proxy: SocketAddr,
    /// The SHA-256 of the key of the authority of the proxy, in Base64.
    pub key_fingerprint: String,
    /// The page to show.
    pub url: Option<String>,
    /// Whether nothing is displayed.
    pub is_headless: bool,
}

/// A running window.
pub struct BrowserWindow(ProcessGroup);

impl BrowserWindow {
    /// Starts Chromium.
    pub fn open(options: &WindowOptions) -> Result<Self, FetchError> {
        let start = |error: std::io::Error| {
            failed(format!("`{}` cannot be started", options.executable.display())).because(error)
        };
        let command = |profile: &Path| {
            let mut command = Command::new(&options.executable);
            command.args(arguments(options, profile)).stdin(Stdio::null()).stdout(Stdio::null());
            command
        };
        running_browsers::start(|| ProcessGroup::start(&options.folder, command))
            .unwrap_or_else(|| Err(std::io::Error::other("this process is about to end")))
            .map_err(start)
            .map(Self)
    }

    /// Whether the user has closed it.
    pub fn has_ended(&mut self) -> bool {
        self.0.has_exited()
    }
}

fn arguments(options: &WindowOptions, profile: &Path) -> Vec<String> {
    let mut arguments: Vec<String> = PROFILE_ARGUMENTS.map(str::to_owned).into();
    arguments.extend(
        ["--disable-quic", "--disable-background-mode", "--proxy-bypass-list=<-loopback>", DISABLED_FEATURES]
            .map(str::to_owned),
    );
    arguments.extend(OWN_REQUESTS.map(str::to_owned));
    arguments.push(format!("--proxy-server=http://{}", options.proxy));
    arguments.push("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1".to_owned());
    arguments.push("--force-webrtc-ip-handling-policy=disable_non_proxied_udp".to_owned());
    arguments.push(format!("--ignore-certificate-errors-spki-list={}", options.key_fingerprint));
    if options.is_headless {
        arguments.extend(["--headless=new", "--disable-gpu", "--mute-audio"].map(str::to_owned));
    }
    // As root Chromium does not start with its sandbox.
    if rustix::process::geteuid().is_root() {
        arguments.push("--no-sandbox".to_owned());
    }
    arguments.push(format!("--user-data-dir={}", profile.display()));
    arguments.push(options.url.clone().unwrap_or_else(|| "about:blank".to_owned()));
    arguments
}
