//! `varve show`: one version, page by page.

use serde::Serialize;
use varve_archive::history::{Holdings, Pair};
use varve_archive::verbs::show::{Change, pages, version};

use super::choosing::Choosing;
use super::log::{VersionLine, describe, gone_parent, status};
use super::{Outcome, Verb};
use crate::error::Error;
use crate::printer::{BAD, FAINT, GOOD, WARN, visible};
use crate::revision::resolve_version;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve show
  varve show HEAD~1
  varve show 0b8af3c1 --json
  varve show before-the-relaunch --all";

/// Show one version, and what became of its pages
///
/// A version is named by HEAD, a tag, its id or the beginning of it, or a time; `~1` behind any of them is its parent.
/// Pages that are as they were in the parent are only counted, unless `--all` is given.
///
/// In a Crystal project a version is how the project was when one revision was its newest, named by a time or by `r` and the
/// revision's number. A page is shown by its newest revision then, even if that records a failure; `--newest-good` looks past
/// those.
///
/// With `--json` the first object is the version, as `log` has it; then there is one for each page: `url`, `path`,
/// `change` (added, removed, changed, unchanged), `status`, `body`, `length`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Show {
    #[arg(default_value = "HEAD", help = crate::revision::NAMES)]
    version: String,

    #[command(flatten)]
    choosing: Choosing,

    /// Name unchanged pages too
    #[arg(long)]
    all: bool,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Verb for Show {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let holdings = self.choosing.holdings(session)?;
        let id = resolve_version(&*holdings, &self.version)?;
        let info = version(&*holdings, &id)?;
        if self.json {
            session.printer.json(&VersionLine::of(&info))?;
        } else {
            for line in describe(&info, holdings.head()?).into_iter().chain(gone_parent(&*holdings, &info)?) {
                session.printer.line(line)?;
            }
            session.printer.line("")?;
        }
        let (pairs, mut unchanged) = pages(&*holdings, &info, self.json || self.all)?;
        for pair in pairs {
            let pair = pair?;
            if self.json {
                session.printer.json(&PageLine::of(&*holdings, &pair)?)?;
            } else if pair.lasting_change() == Change::Unchanged && !self.all {
                unchanged += 1;
            } else {
                session.printer.line(line(&pair))?;
            }
        }
        if unchanged > 0 {
            session.printer.line(format_args!("{FAINT}{unchanged} unchanged{FAINT:#}"))?;
        }
        Ok(Outcome::Done)
    }
}

fn line(pair: &Pair) -> String {
    let page = pair.any();
    let (letter, style) = match pair.lasting_change() {
        Change::Added => ('A', GOOD),
        Change::Removed => ('D', BAD),
        Change::Changed => ('M', WARN),
        Change::Unchanged => (' ', FAINT),
    };
    let length = page.length.map_or(String::new(), |length| length.to_string());
    let cut = if page.truncated { format!("  {WARN}cut short{WARN:#}") } else { String::new() };
    format!("{style}{letter}{style:#} {} {length:>10}  {}{cut}", status(page.status), visible(&page.url))
}

/// The word for a change.
pub(super) fn word(change: Change) -> &'static str {
    match change {
        Change::Added => "added",
        Change::Removed => "removed",
        Change::Changed => "changed",
        Change::Unchanged => "unchanged",
    }
}

#[derive(Serialize)]
struct PageLine<'a> {
    url: &'a str,
    path: &'a str,
    change: &'static str,
    status: u16,
    body: String,
    length: Option<u64>,
    truncated: bool,
}

impl<'a> PageLine<'a> {
    fn of(holdings: &dyn Holdings, pair: &'a Pair) -> Result<Self, Error> {
        let page = pair.any();
        Ok(Self {
            url: &page.url,
            path: &page.path,
            change: word(pair.lasting_change()),
            status: page.status,
            body: holdings.name_body(page)?.to_string(),
            length: page.length,
            truncated: page.truncated,
        })
    }
}
