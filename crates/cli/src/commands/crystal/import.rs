//! `varve import` of a Crystal project: progress and result.

use std::path::Path;

use serde_json::json;
use varve_archive::history::ArchiveHistoryWriter;
use varve_archive::verbs::crystal::import::{ProjectImported, import as import_project};
use varve_archive::verbs::crystal::verify::revisions_at_most;

use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::printer::{Printer, counted, human_size, visible, with_fields};
use crate::version_text::UNINDEXED_TEXT;

/// Imports a project and prints the result.
pub(in crate::commands) fn import(
    history: &ArchiveHistoryWriter,
    path: &Path,
    json: bool,
    printer: &mut Printer,
) -> Result<ExitStatus, Error> {
    let bar = printer.progress(Some(revisions_at_most(path)?), "revisions");
    let imported = import_project(history, path, &|count| bar.inc(count))?;
    if imported.is_unindexed {
        printer.warn(UNINDEXED_TEXT);
    }
    let path = path.to_string_lossy();
    if json {
        printer.json(&with_fields(json!({ "path": path }), &imported))?;
    } else {
        print(&visible(&path), &imported, printer)?;
    }
    Ok(ExitStatus::of_findings(imported.left_behind + imported.with_user_info))
}

fn print(path: &str, imported: &ProjectImported, printer: &mut Printer) -> Result<(), Error> {
    let version = imported.version.map(|version| version.to_string()).unwrap_or_default();
    if imported.already {
        return printer.line(format_args!("{path}: already imported, as version {version}"));
    }
    if imported.missing > 0 {
        let missing = counted(imported.missing, "revision");
        printer.warn(format_args!("{missing} had no body"));
    }
    if imported.left_behind > 0 {
        let rows = counted(imported.left_behind, "row");
        printer.warn(format_args!("{rows} could not be parsed and were not imported"));
    }
    if imported.with_user_info > 0 {
        let rows = counted(imported.with_user_info, "row");
        printer.warn(format_args!("{rows} with a user name or a password in a URL were not imported"));
    }
    printer.line(format_args!(
        "{path}: {}, {} of them new, {} failed, {}, version {version}",
        counted(imported.revisions, "revision"),
        imported.new,
        imported.errors,
        human_size(imported.bytes),
    ))
}
