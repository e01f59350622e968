//! `varve checkout`: the pages of a version as files.

use std::path::PathBuf;

use serde::Serialize;
use varve_archive::verbs::checkout::{CheckedOut, checkout, export};

use super::log::short;
use super::{Outcome, Verb};
use crate::error::Error;
use crate::printer::counted;
use crate::revision::resolve_version;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve checkout HEAD --to /tmp/now
  varve checkout 2026-03-01 --to /tmp/march
  varve checkout before-the-relaunch";

/// Write the pages of a version as files, or move HEAD to it
///
/// With `--to`, the pages are written to a folder: a new one, an empty one, or one that an earlier checkout made, whose
/// other pages then go. Each page is a folder of its own with `.page_body` and `.page_headers.json` in it. Bodies are held against
/// their digests as they are written. Files are not synced to the disk one by one: they can be written again at any time. A folder whose
/// checkout did not come to its end says `unfinished` in its `.varve-checkout`, and the next checkout to it brings it to one.
///
/// A page whose body is not here, taken out or lost, is left out and counted, as is with `--to` one whose body is damaged, and the exit code is 1 then; so is one of several
/// pages with the same path, on different hosts or with and without a slash at the end: a tree has one place for them.
///
/// Without it, HEAD moves to the version: the next one will descend from it. In a Moku site the working tree follows.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Checkout {
    /// The version
    version: String,

    /// Write the pages here, and leave HEAD alone
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Verb for Checkout {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let (version, done) = if let Some(folder) = &self.to {
            let holdings = session.holdings()?;
            let version = resolve_version(&*holdings, &self.version)?;
            let progress = session.printer.progress(None, "pages");
            (version, export(&*holdings, version, folder, &mut |more| progress.inc(more))?)
        } else {
            let history = session.open_history()?;
            let version = resolve_version(history.as_holdings(), &self.version)?;
            let progress = session.printer.progress(None, "pages");
            (version, checkout(&*history, version, &mut |more| progress.inc(more))?)
        };
        if self.json {
            let CheckedOut { written, removed, absent, damaged, covered } = done;
            let line = Line {
                version: version.to_string(),
                written: written.saturating_sub(covered),
                removed,
                absent,
                damaged,
                covered,
            };
            session.printer.json(&line)?;
        } else if self.to.is_some() || done.written > 0 {
            let pages = counted(done.written.saturating_sub(done.covered), "page");
            session.printer.say(format_args!("{pages} of {} written", short(&version)));
        }
        if done.absent > 0 {
            let absent = counted(done.absent, "page");
            session
                .printer
                .say(format_args!("{absent} left out: the bodies are not here; `varve audit` says why"));
        }
        if done.damaged > 0 {
            let damaged = counted(done.damaged, "page");
            session.printer.say(format_args!(
                "{damaged} left out: the bodies cannot be read; `varve audit` names the damage"
            ));
        }
        if done.covered > 0 {
            let covered = counted(done.covered, "page");
            session.printer.say(format_args!(
                "{covered} left out: another with the same path is in the place; `varve cat URL` prints any"
            ));
        }
        if self.to.is_none() {
            session.printer.say(format_args!("HEAD is {}", short(&version)));
        }
        Ok(if done.absent + done.damaged + done.covered > 0 { Outcome::Findings } else { Outcome::Done })
    }
}

#[derive(Serialize)]
struct Line {
    version: String,
    written: u64,
    removed: u64,
    absent: u64,
    damaged: u64,
    covered: u64,
}
