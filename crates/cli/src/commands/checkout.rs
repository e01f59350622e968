//! `varve checkout`: the pages of a version as files.

use std::path::PathBuf;

use serde::Serialize;
use varve_archive::verbs::checkout::{CheckedOut, Covered, checkout, export};

use super::log::short;
use super::{Outcome, Verb};
use crate::error::Error;
use crate::printer::{Printer, counted, visible};
use crate::revision::resolve_version;
use crate::session::Session;
use crate::troubles::{self, word};

const EXAMPLES: &str = "\
Examples:
  varve checkout HEAD --to /tmp/now
  varve checkout 2026-03-01 --to /tmp/march
  varve checkout before-the-relaunch";

/// Write the pages of a version as files, or move HEAD to it
///
/// With `--to`, the pages are written to a folder: a new one, an empty one, or one that an earlier checkout made, whose
/// other pages then go. What an archive has for itself, such as its `warc` and `tmp`, is no such folder. Each page is a folder of its own with `.page_body` and `.page_headers.json` in it. Bodies are held against
/// their digests as they are written. Files are not synced to the disk one by one: they can be written again at any time. A folder whose
/// checkout did not come to its end says `unfinished` in its `.varve-checkout`, and the next checkout to it brings it to one.
///
/// A page whose body is not here, is damaged or cannot be read is left out and named, all others are written, and the exit code is 1 then. So it is where several
/// pages have the same path, on different hosts or with and without a slash at the end: a tree has one place for them.
///
/// Without `--to`, HEAD moves to the version: the next one will descend from it. In a Moku site the working tree follows: pages of the last HEAD that the version does not have go, unless
/// somebody changed their files or their bodies are nowhere else, which is counted; all others are written over. Pages that earlier commits left in the tree stay. HEAD moves also where a page
/// had to be left out, since it says what comes next and not what lies in the tree. If a file cannot be written, HEAD and the tree go back to what they were.
///
/// With `--json` there is one object: `version`, how many pages were `written` and `removed`, how many of those `stayed`, how many have bodies that are `absent`, `damaged` or
/// `unreadable`, how many are `covered` by another, and `left_out`, the first thousand of each kind with their `url` and what is the matter with the `body`, or the page that
/// it is `covered_by`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Checkout {
    #[arg(help = crate::revision::NAMES)]
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
            let line = Line::of(version.to_string(), &done);
            session.printer.json(&line)?;
        } else if self.to.is_some() || done.written > 0 || done.removed > 0 {
            let pages = counted(done.written.saturating_sub(done.covered.count), "page");
            let removed = match done.removed {
                0 => String::new(),
                removed => format!("; {} of the last one removed", counted(removed, "page")),
            };
            session.printer.say(format_args!("{pages} of {} written{removed}", short(&version)));
        }
        troubles::say(&done.left_out, "left out", &mut session.printer);
        say_covered(&done.covered, &mut session.printer);
        if done.stayed > 0 {
            let stayed = counted(done.stayed, "page");
            session.printer.say(format_args!(
                "left in the tree, though not in the version: {stayed} with changed files or lost bodies"
            ));
        }
        if self.to.is_none() {
            session.printer.say(format_args!("HEAD is {}", short(&version)));
        }
        let left_out = done.left_out.count(|_| true) + done.covered.count;
        Ok(if left_out > 0 { Outcome::Findings } else { Outcome::Done })
    }
}

/// Names pages that have the path of another, as far as that can be read.
pub(super) fn say_covered(covered: &Covered, printer: &mut Printer) {
    if covered.count == 0 {
        return;
    }
    let mut told = format!(
        "{} left out of the tree: another with the same path is in the place; `varve cat URL` prints any",
        counted(covered.count, "page")
    );
    for (url, by) in covered.first.iter().take(troubles::NAMED) {
        told.push_str(&format!("\n  {}, in whose place is {}", visible(url), visible(by)));
    }
    let more = covered.count.saturating_sub(troubles::NAMED as u64);
    if more > 0 {
        told.push_str(&format!("\n  and {more} more"));
    }
    printer.say(told);
}

#[derive(Serialize)]
struct Line<'a> {
    version: String,
    written: u64,
    removed: u64,
    absent: u64,
    damaged: u64,
    unreadable: u64,
    covered: u64,
    stayed: u64,
    left_out: Vec<LeftOut<'a>>,
}

#[derive(Serialize)]
struct LeftOut<'a> {
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    covered_by: Option<&'a str>,
}

impl<'a> Line<'a> {
    fn of(version: String, done: &'a CheckedOut) -> Self {
        let count = |wanted: &str| done.left_out.count(|trouble| word(trouble) == wanted);
        let named = done.left_out.iter().flat_map(|(trouble, pages)| {
            pages.urls.iter().map(move |url| LeftOut { url, body: Some(word(trouble)), covered_by: None })
        });
        let covered = &done.covered;
        let named = named.chain(covered.first.iter().map(|(url, by)| LeftOut {
            url,
            body: None,
            covered_by: Some(by),
        }));
        Self {
            version,
            written: done.written.saturating_sub(covered.count),
            removed: done.removed,
            absent: count("absent"),
            damaged: count("damaged"),
            unreadable: count("unreadable"),
            covered: covered.count,
            stayed: done.stayed,
            left_out: named.collect(),
        }
    }
}
