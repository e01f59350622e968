//! `varve crystal save-as`: a copy that is whole or not there.

use std::path::PathBuf;

use serde::Serialize;
use varve_archive::verbs::crystal::save_as::save_as;

use super::super::Outcome;
use crate::error::Error;
use crate::printer::{counted, readable};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve crystal save-as museum.crystalproj /backup/museum.crystalproj";

/// Copy a project, so that the copy is whole or is not there
///
/// It is built as `….crystalproj-partial`, made durable, and named in the end. The original may be in use meanwhile, and
/// may lie on a medium that cannot be written; its log is merged in the copy.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SaveAs {
    /// The project
    #[arg(value_name = "SRC")]
    source: PathBuf,

    /// The folder of the copy, whose name ends with `.crystalproj`
    #[arg(value_name = "DEST")]
    target: PathBuf,

    /// Print one JSON object: `path`, `files`, `bytes`
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Line {
    path: String,
    files: u64,
    bytes: u64,
}

impl SaveAs {
    pub(super) fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let printer = &mut session.printer;
        let bar = printer.progress_bytes(None);
        let saved = save_as(&self.source, &self.target, &|bytes| bar.inc(bytes))?;
        if self.json {
            let path = saved.path.to_string_lossy().into_owned();
            printer.json(&Line { path, files: saved.files, bytes: saved.bytes })?;
        } else {
            let files = counted(saved.files, "file");
            printer.line(format_args!("{}: {files}, {}", saved.path.display(), readable(saved.bytes)))?;
        }
        Ok(Outcome::Done)
    }
}
