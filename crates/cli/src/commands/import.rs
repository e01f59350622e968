//! `varve import`: what another store holds, brought into the archive.

use std::path::PathBuf;

use serde::Serialize;
use varve_archive::history::{ArchiveHistory, Kind, kind_of};
use varve_archive::verbs::import::{Imported, import};

use super::{Outcome, Verb, crystal};
use crate::error::Error;
use crate::printer::{Printer, WARN, counted};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve import /srv/aardwarc
  varve import museum.crystalproj
  varve import /srv/aardwarc --json";

/// Bring what another store or project holds into the archive
///
/// Reads AardWARC stores: the folder that holds its silos, or `aardwarc.conf`. Contents, types, dates and references come
/// along, and each object keeps its number, except for metadata whose number was forced: it gets the number that follows
/// from it, is found by both, and a warning says which. What is damaged is named and left out; the others come, and the
/// exit code is 1.
///
/// Reads Crystal projects: each becomes one version, its revisions the captures of it, with their times. Roots, groups,
/// aliases, properties, errors and cookies are written down with it, cookies sealed with a key that lies in `secret.key`
/// and in no silo, so that `varve export --format crystal` makes the project again.
///
/// Importing again adds nothing.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Import {
    /// The stores and projects
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Print one JSON object for each of them
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    path: &'a str,
    objects: u64,
    new: u64,
    bytes: u64,
    renumbered: u64,
    findings: u64,
}

impl Verb for Import {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let history = ArchiveHistory::of(session.open_to_write()?)?;
        let printer = &mut session.printer;
        let mut outcome = Outcome::Done;
        for path in &self.paths {
            if kind_of(path) == Some(Kind::Crystal) {
                crystal::import::import(&history, path, self.json, printer)?;
                continue;
            }
            let bar = printer.progress(None, "objects");
            let writer = history.writer();
            let imported = import(writer, path, &|count| bar.inc(count))?;
            for finding in &imported.findings {
                let (silo, offset) = (finding.silo.display(), finding.offset);
                printer.say(format_args!(
                    "{WARN}damage{WARN:#} at byte {offset} of {silo}: {}",
                    finding.message
                ));
            }
            if !imported.findings.is_empty() {
                outcome = outcome.worse(Outcome::Findings);
            }
            if self.json {
                printer.json(&Line {
                    path: &path.to_string_lossy(),
                    objects: imported.objects,
                    new: imported.new,
                    bytes: imported.bytes,
                    renumbered: imported.renumbered.len() as u64,
                    findings: imported.findings.len() as u64,
                })?;
            } else {
                print(path, &imported, printer)?;
            }
        }
        Ok(outcome)
    }
}

fn print(path: &std::path::Path, imported: &Imported, printer: &mut Printer) -> Result<(), Error> {
    for object in &imported.renumbered {
        printer.say(format_args!(
            "{WARN}warning{WARN:#} `{}` has the number {} here{} (byte {} of {})",
            object.was,
            object.is,
            if object.found_by_both { ", and is found by both" } else { "" },
            object.offset,
            object.silo.display()
        ));
    }
    printer.line(format_args!(
        "{}: {}, {} of them new, {}",
        path.display(),
        counted(imported.objects, "object"),
        imported.new,
        counted(imported.bytes, "byte"),
    ))
}
