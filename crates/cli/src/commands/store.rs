//! `varve store`: stores files and prints their ids.

use std::path::{Path, PathBuf};

use serde_json::json;
use varve_archive::ArchiveError;
use varve_archive::verbs::store::{NewObjectSource, Request, StoredContent, SyncPolicy, store};

use crate::input::STDIN_ARGUMENT;
use crate::printer::Printer;
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_text::record_digits;

/// Store files, and print their ids
///
/// The id of a file is the SHA-256 of its bytes: content that is stored already has the same id and
/// is not stored again. Ids are printed in the order of the files, one per line, each when its
/// object is synced to disk.
///
/// With `--refers-to`, the content is metadata about another object, and its id is derived from
/// both.
///
/// Content that is stored already is read to verify it. If it is damaged, it is written again, with
/// a warning.
///
/// With `--json`, prints one object per file: `id`, whether it was `new` or `mended`, its `length`,
/// and the `file`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve store report.pdf
  varve store --json *.jpg
  pg_dump lake | varve store --mime application/sql -
  varve store --refers-to 2d711642 --mime text/plain note.txt")]
pub(super) struct StoreArgs {
    /// The files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Store a file itself, or metadata about another object
    #[arg(long = "type", value_name = "TYPE", value_parser = ["resource", "metadata"])]
    kind: Option<String>,

    /// The media type [default: by the file name, or application/octet-stream]
    #[arg(long, value_name = "TYPE/SUBTYPE")]
    mime: Option<String>,

    /// The object that the metadata is about: an id, its first digits, or a URI
    #[arg(long, value_name = "ID", required_if_eq("kind", "metadata"))]
    refers_to: Option<String>,

    /// When to sync to disk: `batch` once for many files, `each` after every file
    #[arg(long, value_name = "WHEN", default_value = "batch", value_parser = ["each", "batch"])]
    sync: String,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Verb for StoreArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        if self.kind.as_deref() == Some("resource") && self.refers_to.is_some() {
            let message = "`--refers-to` is for metadata, not for a resource\n";
            return Err(clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, message).into());
        }
        let request = Request {
            media_type: self.mime.clone(),
            refers_to: self.refers_to.clone(),
            sync: if self.sync == "each" { SyncPolicy::Each } else { SyncPolicy::Batch },
            threads: Session::threads(),
        };
        let writer = session.open_to_write()?;
        let printer = &mut session.printer;
        let progress = printer.progress_bytes(self.total());
        let mut outcome = ExitStatus::Done;
        let mut unprinted = None;
        let sources = self.files.iter().map(|file| source(file));
        let result = store(&writer, &request, sources, &|bytes| progress.inc(bytes), |number, result| {
            match self.print(&self.files[number], result, printer) {
                Ok(one) => outcome = outcome.worse(one),
                // The file is stored; only its id could not be printed.
                Err(failure) => unprinted = unprinted.take().or(Some(failure)),
            }
            Ok(())
        });
        result?;
        unprinted.map_or(Ok(outcome), Err)
    }
}

impl StoreArgs {
    /// The number of bytes to read, if all inputs are regular files.
    fn total(&self) -> Option<u64> {
        let length = |file: &PathBuf| {
            std::fs::metadata(file).ok().filter(|found| found.is_file()).map(|found| found.len())
        };
        self.files.iter().map(length).sum()
    }

    fn print(
        &self,
        file: &Path,
        result: Result<StoredContent, ArchiveError>,
        printer: &mut Printer,
    ) -> Result<ExitStatus, Error> {
        match result {
            Ok(StoredContent { id, new, mended, length }) if self.json => {
                let (id, file) = (record_digits(id), file.to_string_lossy());
                let row = json!({ "id": id, "new": new, "mended": mended, "length": length, "file": file });
                printer.json(&row)?;
            }
            Ok(kept) => {
                if kept.mended {
                    let id = record_digits(kept.id);
                    printer.warn(format_args!("{id} was damaged and has been written again"));
                }
                printer.line(record_digits(kept.id))?;
            }
            Err(failure) => {
                printer.report(&failure.into());
                return Ok(ExitStatus::Incomplete);
            }
        }
        // A program that reads the pipe may rely on an id as soon as it is synced.
        printer.flush()?;
        Ok(ExitStatus::Done)
    }
}

fn source(file: &Path) -> NewObjectSource {
    if file.as_os_str() == STDIN_ARGUMENT {
        NewObjectSource::Stream(Box::new(std::io::stdin()))
    } else {
        NewObjectSource::File(file.to_owned())
    }
}
