//! `varve crystal save-as`: copies a project.

use std::path::PathBuf;

use serde_json::json;
use varve_archive::verbs::crystal::project::save_as;

use crate::printer::{counted, human_size};
use crate::verb::{Error, ExitStatus, Session};

/// Copy a project, completely or not at all
///
/// The copy is built as `….crystalproj-partial`, synced, and renamed. The original may be in use,
/// and may be on a read-only medium; its write-ahead log is merged in the copy.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve crystal save-as museum.crystalproj /backup/museum.crystalproj")]
pub(super) struct CrystalSaveAsArgs {
    /// The project
    #[arg(value_name = "SRC")]
    source: PathBuf,

    /// The folder of the copy; its name ends with `.crystalproj`
    #[arg(value_name = "DEST")]
    target: PathBuf,

    /// Print one JSON object: `path`, `files`, `bytes`
    #[arg(long)]
    json: bool,
}

impl CrystalSaveAsArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let printer = &mut session.printer;
        let bar = printer.progress_bytes(None);
        let saved = save_as(&self.source, &self.target, &|bytes| bar.inc(bytes))?;
        if self.json {
            let path = saved.path.to_string_lossy();
            printer.json(&json!({ "path": path, "files": saved.files, "bytes": saved.bytes }))?;
        } else {
            let files = counted(saved.files, "file");
            printer.line(format_args!("{}: {files}, {}", saved.path.display(), human_size(saved.bytes)))?;
        }
        Ok(ExitStatus::Done)
    }
}
