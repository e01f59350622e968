//! `varve export`: a version, in the form of another program.

use std::path::PathBuf;

use serde::Serialize;
use varve_archive::history::{ArchiveHoldings, resolve_version};
use varve_archive::verbs::crystal::export::{ProjectExported, export};

use super::{Outcome, Verb};
use crate::error::Error;
use crate::printer::{Printer, counted, visible};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve export --format crystal museum.crystalproj
  varve export --format crystal old.crystalproj --version HEAD~3 --json";

/// Write a version in the form of another program
///
/// `--format crystal` makes a Crystal project. A version that is the import of one becomes that project again, every row
/// with its id and every body to its byte; any other becomes a project of its captures. What the format cannot hold is
/// named. The project is there as a whole, or not at all.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Export {
    /// What to make: a Crystal project
    #[arg(long, value_name = "FORMAT", value_parser = ["crystal"])]
    format: String,

    /// Where to; nothing may be there yet
    #[arg(value_name = "DEST")]
    target: PathBuf,

    /// Which version
    #[arg(long, value_name = "VERSION", default_value = "HEAD")]
    version: String,

    /// Print one JSON object: `path`, `version`, `restored`, `resources`, `revisions`, `left_behind`
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    path: String,
    version: String,
    restored: bool,
    resources: u64,
    revisions: u64,
    left_behind: Vec<Left<'a>>,
}

#[derive(Serialize)]
struct Left<'a> {
    what: &'a str,
    count: u64,
}

impl Verb for Export {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let holdings = ArchiveHoldings::open(&session.root()?)?;
        let version = resolve_version(&holdings, &self.version)?;
        let printer = &mut session.printer;
        let bar = printer.progress(None, "revisions");
        let exported = export(&holdings, &version, &self.target, &|count| bar.inc(count))?;
        if !self.json {
            print(&exported, printer)?;
            return Ok(Outcome::Done);
        }
        let left = exported.left_behind.iter();
        printer.json(&Line {
            path: exported.path.to_string_lossy().into_owned(),
            version: version.to_string(),
            restored: exported.restored,
            resources: exported.resources,
            revisions: exported.revisions,
            left_behind: left.map(|(what, count)| Left { what, count: *count }).collect(),
        })?;
        Ok(Outcome::Done)
    }
}

fn print(exported: &ProjectExported, printer: &mut Printer) -> Result<(), Error> {
    for (what, count) in &exported.left_behind {
        printer.say(format_args!("left behind: {what} ({count})"));
    }
    let how = if exported.restored { "as it was imported" } else { "of captures" };
    printer.line(format_args!(
        "{}: a project {how}, {}, {}",
        visible(&exported.path.to_string_lossy()),
        counted(exported.resources, "resource"),
        counted(exported.revisions, "revision"),
    ))
}
