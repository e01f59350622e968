//! `varve export`: a version, in the form of another program.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use varve_archive::ArchiveError;
use varve_archive::history::{ArchiveHoldings, Kind, kind_of};
use varve_archive::verbs::crystal::export::{ProjectExported, export};
use varve_archive::verbs::crystal::info::info;
use varve_archive::verbs::crystal::save_as::save_as;
use varve_archive::verbs::crystal::verify::revisions_at_most;
use varve_archive::verbs::crystal::warc::{self, Description, WarcExported};

use super::{Outcome, Verb};
use crate::clock;
use crate::error::Error;
use crate::printer::{Printer, WARN, counted, readable, visible};
use crate::revision::resolve_version;
use crate::session::{SOFTWARE, Session};

/// The version that is meant where none is named.
const HEAD: &str = "HEAD";

const EXAMPLES: &str = "\
Examples:
  varve export --format crystal museum.crystalproj
  varve export --format crystal old.crystalproj --version HEAD~3 --json
  varve -C museum.crystalproj export --format warc -o museum.warc.gz";

/// Write a version in the form of another program
///
/// `--format crystal` makes a Crystal project. A version that is the import of one becomes that project again, every row
/// with its id and every body to its byte; any other becomes a project of its captures. What the format cannot hold is
/// named. The project is there as a whole, or not at all. Of a Crystal project it makes a copy, as `crystal save-as` does.
///
/// `--format warc` writes all revisions of a Crystal project into one WARC file, packed if its name ends with `.gz`. Cookies
/// that were sent stay in the project. With `--json` there is one object: `path`, `records`, `revisits`, `failures`,
/// `missing`, `left_behind`, `bytes`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Export {
    /// What to make: a Crystal project of a version; a WARC file of a Crystal project
    #[arg(long, value_name = "FORMAT", value_parser = ["crystal", "warc"])]
    format: String,

    /// Where to; nothing may be there yet
    #[arg(value_name = "DEST", required_unless_present = "output", conflicts_with = "output")]
    target: Option<PathBuf>,

    /// The same
    #[arg(short, long, value_name = "DEST")]
    output: Option<PathBuf>,

    /// Which version
    #[arg(long, value_name = "VERSION", default_value = HEAD)]
    version: String,

    /// Print one JSON object: `path`, `version`, `restored`, `resources`, `revisions`, `left_behind`
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    path: String,
    version: Option<String>,
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
        let target = self.target.as_ref().or(self.output.as_ref()).expect("clap asks for one of them");
        if self.format == "warc" {
            return self.warc(target, session);
        }
        let root = session.root()?;
        if kind_of(&root) == Some(Kind::Crystal) {
            return self.copy(&root, target, session);
        }
        let holdings = ArchiveHoldings::open(&root)?;
        let version = resolve_version(&holdings, &self.version)?;
        let printer = &mut session.printer;
        let bar = printer.progress(None, "revisions");
        let exported = export(&holdings, &version, target, &|count| bar.inc(count))?;
        if !self.json {
            print(&exported, printer)?;
            return Ok(Outcome::Done);
        }
        let left = exported.left_behind.iter();
        printer.json(&Line {
            path: exported.path.to_string_lossy().into_owned(),
            version: Some(version.to_string()),
            restored: exported.restored,
            resources: exported.resources,
            revisions: exported.revisions,
            left_behind: left.map(|(what, count)| Left { what, count: *count }).collect(),
        })?;
        Ok(Outcome::Done)
    }
}

#[derive(Serialize)]
struct WarcLine {
    path: String,
    records: u64,
    revisits: u64,
    failures: u64,
    missing: u64,
    left_behind: u64,
    bytes: u64,
}

impl Export {
    /// A project as a project: all of it, as it is.
    fn copy(&self, root: &Path, target: &Path, session: &mut Session) -> Result<Outcome, Error> {
        if self.version != HEAD {
            return Err(ArchiveError::KeepsNoVersions.into());
        }
        let printer = &mut session.printer;
        let bar = printer.progress_bytes(None);
        let path = save_as(root, target, &|bytes| bar.inc(bytes))?.path;
        let about = info(&path)?.info;
        let (resources, revisions) = (about.resources, about.revisions);
        let path = path.to_string_lossy().into_owned();
        if self.json {
            let left_behind = Vec::new();
            printer.json(&Line { path, version: None, restored: true, resources, revisions, left_behind })?;
        } else {
            let what = format!("{}, {}", counted(resources, "resource"), counted(revisions, "revision"));
            printer.line(format_args!("{}: the project as it is, {what}", visible(&path)))?;
        }
        Ok(Outcome::Done)
    }

    /// A project as one WARC file.
    fn warc(&self, target: &Path, session: &mut Session) -> Result<Outcome, Error> {
        let root = session.root()?;
        let about = Description { software: SOFTWARE, clock: Arc::new(clock::now) };
        let printer = &mut session.printer;
        let bar = printer.progress(Some(revisions_at_most(&root)?), "revisions");
        let done = warc::export(&root, target, &about, &|count| bar.inc(count))?;
        let path = done.path.to_string_lossy().into_owned();
        let WarcExported { records, revisits, failures, missing, left_behind, bytes, .. } = done;
        if self.json {
            printer.json(&WarcLine { path, records, revisits, failures, missing, left_behind, bytes })?;
        } else {
            if missing + left_behind > 0 {
                let text = format!(
                    "{missing} without their bodies, {left_behind} with URLs that no record can name"
                );
                printer.say(format_args!("{WARN}warning:{WARN:#} revisions left behind: {text}"));
            }
            let records = counted(records, "record");
            let what = format!("{records}, {revisits} of them revisits, {failures} of failures");
            printer.line(format_args!("{}: {what}, {}", visible(&path), readable(bytes)))?;
        }
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
