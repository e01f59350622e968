//! `varve import` of a Crystal project: progress and result.

use std::path::Path;

use serde::Serialize;
use varve_archive::history::ArchiveHistoryWriter;
use varve_archive::verbs::crystal::import::{ProjectImported, import as import_project};
use varve_archive::verbs::crystal::verify::revisions_at_most;

use crate::error::Error;
use crate::printer::{Printer, WARNING_STYLE, counted, human_size, visible};

#[derive(Serialize)]
struct ProjectImportRow<'a> {
    path: &'a str,
    version: Option<String>,
    already: bool,
    revisions: u64,
    new: u64,
    errors: u64,
    missing: u64,
    cookies: u64,
    bytes: u64,
    left_behind: u64,
}

/// Imports a project and prints the result.
pub(in crate::commands) fn import(
    history: &ArchiveHistoryWriter,
    path: &Path,
    json: bool,
    printer: &mut Printer,
) -> Result<(), Error> {
    let bar = printer.progress(Some(revisions_at_most(path)?), "revisions");
    let imported = import_project(history, path, &|count| bar.inc(count))?;
    let path = path.to_string_lossy();
    if !json {
        return print(&visible(&path), &imported, printer);
    }
    printer.json(&ProjectImportRow {
        path: &path,
        version: imported.version.map(|version| version.to_string()),
        already: imported.already,
        revisions: imported.revisions,
        new: imported.new,
        errors: imported.errors,
        missing: imported.missing,
        cookies: imported.cookies,
        bytes: imported.bytes,
        left_behind: imported.left_behind,
    })
}

fn print(path: &str, imported: &ProjectImported, printer: &mut Printer) -> Result<(), Error> {
    let version = imported.version.map(|version| version.to_string()).unwrap_or_default();
    if imported.already {
        return printer.line(format_args!("{path}: already imported, as version {version}"));
    }
    if imported.missing > 0 {
        let missing = counted(imported.missing, "revision");
        printer.say(format_args!("{WARNING_STYLE}warning:{WARNING_STYLE:#} {missing} had no body"));
    }
    if imported.left_behind > 0 {
        let rows = counted(imported.left_behind, "row");
        printer.say(format_args!(
            "{WARNING_STYLE}warning:{WARNING_STYLE:#} {rows} could not be parsed and were not imported"
        ));
    }
    printer.line(format_args!(
        "{path}: {}, {} of them new, {} failed, {}, version {version}",
        counted(imported.revisions, "revision"),
        imported.new,
        imported.errors,
        human_size(imported.bytes),
    ))
}
