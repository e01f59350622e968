//! `varve open`: shows an archive in a browser window.

mod museum;

use std::path::{Path, PathBuf};

use self::museum::MuseumArgs;
pub(super) use self::museum::parse_replay_time;
use super::capture_choice::CaptureChoiceArgs;
use crate::verb::{Error, ExitStatus, Session, Verb};

/// Show the archive in a browser window, as pages were at a time
///
/// Opens Chromium on a fresh profile behind a proxy that answers from the archive. The browser gets the original URLs and
/// the original bytes; nothing is rewritten. No request leaves the archive: what was not captured is a page that says
/// so. Closing the window ends the program and removes the profile.
///
/// Each URL is shown by its capture nearest to the time; without `--at` by its newest good capture. Only captures of
/// `GET` requests can be shown.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve open
  varve open crawl.wacz
  varve open crawls/ https://example.com/
  varve open https://example.com/
  varve open https://example.com/ --at 2024-05-01
  varve open https://example.com/ --at 20240501120000")]
pub(super) struct OpenArgs {
    /// The page to show [default: a list of pages], or a WARC, ARC or WACZ file, a folder of them or an
    /// archive to show
    #[arg(value_name = "URL|PATH")]
    target: Option<String>,

    /// The page to show, after a path
    #[arg(value_name = "URL")]
    url: Option<String>,

    #[command(flatten)]
    choosing: CaptureChoiceArgs,

    #[command(flatten)]
    museum: MuseumArgs,
}

impl Verb for OpenArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let url = self.page(session);
        let history = session.open_reader_choosing(self.choosing.choice())?;
        self.museum.show(session, history, url.as_deref())
    }
}

impl OpenArgs {
    /// The page to show. A first argument that is a file or folder is the archive.
    fn page(&self, session: &mut Session) -> Option<String> {
        match &self.target {
            Some(target) if self.url.is_some() || Path::new(target).exists() => {
                session.use_archive(PathBuf::from(target));
                self.url.clone()
            }
            page => page.clone(),
        }
    }
}
