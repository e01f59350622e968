//! `varve import`: copies another store into the archive.

use std::path::PathBuf;

use serde_json::json;
use varve_archive::history::ArchiveHistoryWriter;
use varve_archive::verbs::import::{Imported, import};
use varve_archive::{Layout, detect_layout};

use super::crystal;
use crate::printer::{Printer, WARNING_STYLE, counted};
use crate::verb::{Error, ExitStatus, Session, Verb};

/// Copy AardWARC stores and Crystal projects into the archive
///
/// From an AardWARC store (the folder of its silos, or `aardwarc.conf`), imports contents, types,
/// dates and references. Each object keeps its id, except metadata with a forced id: it gets its
/// derived id, is found by both, and a warning lists it. Damaged objects are reported and skipped,
/// and the exit code is 1.
///
/// From a Crystal project, makes one version with its revisions as captures. Roots, groups,
/// aliases, properties, errors and cookies are stored with it, so that `varve export --format
/// crystal` restores the project. Cookies are encrypted with the key in `secret.key`, which is
/// stored in no silo. Rows about URLs with a user name or a password, and unreadable rows, are
/// counted and left out, and the exit code is 1.
///
/// Importing again adds nothing.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve import /srv/aardwarc
  varve import museum.crystalproj
  varve import /srv/aardwarc --json")]
pub(super) struct ImportArgs {
    /// The stores and projects
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Print one JSON object for each of them
    #[arg(long)]
    json: bool,
}

impl Verb for ImportArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let history = ArchiveHistoryWriter::of(session.open_to_write()?)?;
        let printer = &mut session.printer;
        let mut outcome = ExitStatus::Done;
        for path in &self.paths {
            if detect_layout(path) == Some(Layout::Crystal) {
                outcome = outcome.worse(crystal::import::import(&history, path, self.json, printer)?);
                continue;
            }
            let bar = printer.progress(None, "objects");
            let writer = history.writer();
            let imported = import(writer, path, &|count| bar.inc(count))?;
            for finding in &imported.findings {
                let (silo, offset) = (finding.silo.display(), finding.offset);
                printer.say(format_args!(
                    "{WARNING_STYLE}damage{WARNING_STYLE:#} at byte {offset} of {silo}: {}",
                    finding.message
                ));
            }
            if !imported.findings.is_empty() {
                outcome = outcome.worse(ExitStatus::Findings);
            }
            if self.json {
                printer.json(&json!({
                    "path": path.to_string_lossy(),
                    "objects": imported.objects,
                    "new": imported.new,
                    "bytes": imported.bytes,
                    "renumbered": imported.renumbered.len(),
                    "findings": imported.findings.len(),
                }))?;
            } else {
                print(path, &imported, printer)?;
            }
        }
        Ok(outcome)
    }
}

fn print(path: &std::path::Path, imported: &Imported, printer: &mut Printer) -> Result<(), Error> {
    for object in &imported.renumbered {
        printer.warn(format_args!(
            "`{}` has the id {} here{} (byte {} of {})",
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
