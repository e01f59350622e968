//! `varve store`: keeps files, and says their ids.

use std::path::{Path, PathBuf};

use serde::Serialize;
use varve_archive::verbs::store::{Kept, Request, Source, Sync, store};
use varve_archive::{ArchiveError, RecordId};

use super::{Outcome, Verb};
use crate::error::{self, Error};
use crate::printer::{Printer, WARN};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve store report.pdf
  varve store --json *.jpg
  pg_dump lake | varve store --mime application/sql -
  varve store --refers-to 2d711642 --mime text/plain note.txt";

/// The word that stands for standard input.
const STDIN: &str = "-";

/// Keep files, and print their ids
///
/// The id of a file is the SHA-256 of its bytes: content that is here already stores nothing and has the same id. The
/// ids come in the order of the files, one a line, each only when its object is safe from a power cut.
///
/// With `--refers-to` the content is metadata about another object, and its id is made from both.
///
/// What is here already is read before it is called so. If it is damaged, it is written anew, and a warning says so.
///
/// With `--json` there is one object a file: `id`, whether it was `new` or `mended`, its `length`, and the `file`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Store {
    /// The files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// What the content is: a thing for itself, or about another one
    #[arg(long = "type", value_name = "TYPE", value_parser = ["resource", "metadata"])]
    kind: Option<String>,

    /// The media type; without it, what the name of the file says, or bytes
    #[arg(long, value_name = "TYPE/SUBTYPE")]
    mime: Option<String>,

    /// What it is about: an id, the beginning of one, or a URI
    #[arg(long, value_name = "ID", required_if_eq("kind", "metadata"))]
    refers_to: Option<String>,

    /// When to make it safe: `batch` waits once for many files, `each` for every single one
    #[arg(long, value_name = "WHEN", default_value = "batch", value_parser = ["each", "batch"])]
    sync: String,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Verb for Store {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        if self.kind.as_deref() == Some("resource") && self.refers_to.is_some() {
            let message = "a resource stands for itself: `--refers-to` is for metadata\n";
            return Err(clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, message).into());
        }
        let request = Request {
            media_type: self.mime.clone(),
            refers_to: self.refers_to.clone(),
            sync: if self.sync == "each" { Sync::Each } else { Sync::Batch },
            threads: Session::threads(),
        };
        let writer = session.open_to_write()?;
        let printer = &mut session.printer;
        let progress = printer.progress_bytes(self.total());
        let mut outcome = Outcome::Done;
        let mut unprinted = None;
        let sources = self.files.iter().map(|file| source(file));
        let result = store(&writer, &request, sources, &|bytes| progress.inc(bytes), |number, result| {
            match self.print(&self.files[number], result, printer) {
                Ok(one) => outcome = outcome.worse(one),
                // What was stored is stored; only nobody hears of it any more.
                Err(failure) => unprinted = unprinted.take().or(Some(failure)),
            }
            Ok(())
        });
        result?;
        unprinted.map_or(Ok(outcome), Err)
    }
}

impl Store {
    /// How many bytes there will be, unless some come from elsewhere than a file.
    fn total(&self) -> Option<u64> {
        let length = |file: &PathBuf| {
            std::fs::metadata(file).ok().filter(|found| found.is_file()).map(|found| found.len())
        };
        self.files.iter().map(length).sum()
    }

    fn print(
        &self,
        file: &Path,
        result: Result<Kept, ArchiveError>,
        printer: &mut Printer,
    ) -> Result<Outcome, Error> {
        match result {
            Ok(Kept { id, new, mended, length }) if self.json => {
                let file = file.to_string_lossy();
                printer.json(&Line { id: digits(id), new, mended, length, file: &file })?;
            }
            Ok(kept) => {
                if kept.mended {
                    printer.say(format_args!(
                        "{WARN}warning{WARN:#} {} was here already, but damaged: it was written anew",
                        digits(kept.id)
                    ));
                }
                printer.line(digits(kept.id))?;
            }
            Err(failure) => {
                printer.report(&error::report(&failure.into()));
                return Ok(Outcome::Incomplete);
            }
        }
        // Whoever reads a pipe may act on an id as soon as it is safe.
        printer.flush()?;
        Ok(Outcome::Done)
    }
}

fn source(file: &Path) -> Source {
    if file.as_os_str() == STDIN {
        Source::Stream(Box::new(std::io::stdin()))
    } else {
        Source::File(file.to_owned())
    }
}

/// The digits of an id, without what is the same for all.
pub(super) fn digits(id: RecordId) -> String {
    let text = id.to_string();
    text.rsplit(':').next().unwrap_or_default().to_owned()
}

#[derive(Serialize)]
struct Line<'a> {
    id: String,
    new: bool,
    mended: bool,
    length: u64,
    file: &'a str,
}
