//! `varve record`: records what a browser window shows.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use varve_archive::verbs::proxy::{
    BrowserWindow, CertificateAuthority, RecordedProgram, RecordingStart, TemporaryFolder, WindowOptions,
    page_url,
};
use varve_archive::{ArchiveError, CrawlError};

use super::capture::find_chromium;
use super::proxy::{Recording, RecordingArgs};
use crate::duration;
use crate::verb::{Error, ExitStatus, Session, Verb};

/// Record what you do in a browser window, as one version
///
/// Opens Chromium on a fresh profile whose requests all go through `varve proxy`. Closing the window ends the recording
/// and makes a version. The profile is removed: cookies and passwords of the session are not kept. The browser trusts
/// the certificates of this recording only; nothing is installed.
///
/// `varve help proxy` describes the limits of a recording. A recording that was interrupted is ended with
/// `varve proxy --finish`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve record
  varve record https://example.com/ -m 'the shop, with a full basket'
  varve record https://intranet.example/ --allow-private
  varve record https://example.com/ --headless --for 20s")]
pub(super) struct RecordArgs {
    /// The page to begin with
    #[arg(value_name = "URL")]
    url: Option<String>,

    #[command(flatten)]
    recording: RecordingArgs,

    #[command(flatten)]
    window: WindowArgs,
}

/// How the browser is opened.
#[derive(clap::Args)]
#[command(next_help_heading = "Browser")]
pub(super) struct WindowArgs {
    /// Path of Chromium [default: looked for in PATH]
    #[arg(long, value_name = "FILE", env = "VARVE_CHROMIUM")]
    chromium: Option<PathBuf>,

    /// Display no window; needs `--for`
    #[arg(long, requires = "open_time")]
    headless: bool,

    /// Close the window after this time
    #[arg(long = "for", id = "open_time", value_name = "TIME", value_parser = duration::parse)]
    open_time: Option<Duration>,
}

/// A window that is opened when the proxy listens.
pub(super) struct ProxiedWindow {
    options: WindowOptions,
    open_time: Option<Duration>,
    window: Option<(BrowserWindow, Instant)>,
    /// Holds the profile.
    _folder: tempfile::TempDir,
}

impl WindowArgs {
    /// A window that trusts an authority.
    pub(super) fn window(
        &self,
        url: Option<String>,
        authority: &CertificateAuthority,
    ) -> Result<ProxiedWindow, Error> {
        let executable = self.chromium.clone().or_else(find_chromium).ok_or(CrawlError::NoBrowser)?;
        let folder = tempfile::Builder::new().prefix("varve-").tempdir().map_err(Error::Temporary)?;
        let options = WindowOptions {
            executable,
            folder: TemporaryFolder::from(folder.path()),
            proxy: SocketAddr::from(([127, 0, 0, 1], 0)),
            key_fingerprint: authority.key_fingerprint().to_owned(),
            url,
            is_headless: self.headless,
        };
        Ok(ProxiedWindow { options, open_time: self.open_time, window: None, _folder: folder })
    }
}

impl RecordedProgram for ProxiedWindow {
    fn start(&mut self, address: SocketAddr) -> Result<(), ArchiveError> {
        self.options.proxy = address;
        let window = BrowserWindow::open(&self.options).map_err(ArchiveError::Browser)?;
        self.window = Some((window, Instant::now()));
        Ok(())
    }

    fn has_ended(&mut self) -> bool {
        let Some((window, opened)) = &mut self.window else { return false };
        let is_over = self.open_time.is_some_and(|time| opened.elapsed() >= time);
        if is_over || window.has_ended() {
            // Dropping it closes the window.
            self.window = None;
            return true;
        }
        false
    }
}

impl Verb for RecordArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let url = self.url.as_deref().map(page_url).transpose()?;
        let authority = Arc::new(CertificateAuthority::for_session().map_err(ArchiveError::from)?);
        let mut window = self.window.window(url.clone(), &authority)?;
        let message =
            url.map_or_else(|| "recorded in a browser".to_owned(), |url| format!("recorded from {url}"));
        let recording = Recording {
            start: RecordingStart::New(Box::new(self.recording.settings(&message))),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            authority,
            idle_exit: None,
        };
        self.recording.record(session, recording, &mut window)
    }
}
