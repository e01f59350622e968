//! `varve import`: what another store holds, brought into the archive.

use std::path::PathBuf;

use serde::Serialize;
use varve_archive::verbs::import::{Imported, import};

use super::{Outcome, Verb};
use crate::error::Error;
use crate::printer::{Printer, WARN, counted};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve import /srv/aardwarc
  varve import /srv/aardwarc --json";

/// Bring the objects of another store into the archive
///
/// Reads AardWARC stores: the folder that holds its silos. Contents, types, dates and references come along, and each
/// object keeps its number. Importing again adds nothing.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Import {
    /// The stores
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Print one JSON object for each store
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
}

impl Verb for Import {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let writer = session.open_to_write()?;
        let printer = &mut session.printer;
        let bar = printer.progress(None, "objects");
        for path in &self.paths {
            let imported = import(&writer, path, &|count| bar.inc(count))?;
            if self.json {
                printer.json(&Line {
                    path: &path.to_string_lossy(),
                    objects: imported.objects,
                    new: imported.new,
                    bytes: imported.bytes,
                    renumbered: imported.renumbered.len() as u64,
                })?;
            } else {
                print(path, &imported, printer)?;
            }
        }
        Ok(Outcome::Done)
    }
}

fn print(path: &std::path::Path, imported: &Imported, printer: &mut Printer) -> Result<(), Error> {
    for object in &imported.renumbered {
        printer.say(format_args!(
            "{WARN}warning{WARN:#} `{}` has the number {} here (byte {} of {})",
            object.was,
            object.is,
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
