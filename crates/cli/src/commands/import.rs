//! `varve import`: copies what other programs wrote into the archive.

use std::path::{Path, PathBuf};

use serde_json::json;
use varve_archive::history::ArchiveHistoryWriter;
use varve_archive::verbs::doctor;
use varve_archive::verbs::import::aardwarc::{Imported, import as import_objects};
use varve_archive::verbs::import::{FileImported, files_at, web_archive};
use varve_archive::{Layout, detect_layout};

use super::crystal;
use crate::error_report::one_line;
use crate::printer::{Printer, WARNING_STYLE, counted, human_size, visible};
use crate::verb::{Error, ExitStatus, Session, Verb};

/// Findings that are printed for each file.
const MAX_PRINTED_FINDINGS: usize = 20;

/// Copy WARC, ARC and WACZ files, AardWARC stores and Crystal projects into the archive
///
/// From WARC and ARC files, compressed or not, those in WACZ files, and folders of them (of wget,
/// Heritrix, pywb, Browsertrix, ArchiveBox): each part of a file that begins with a `warcinfo` record and has captures
/// becomes a version, with the time of its newest capture. Responses keep their bytes and times, and
/// the header of each record is kept with it. A payload that the archive has is not stored again.
/// Revisits find their originals in the files given and in the archive. Other records are kept as
/// metadata. A version that is older than HEAD does not become HEAD: it descends from the newest
/// version before it.
///
/// Damage is reported with its file and byte offset, everything readable is imported, and the exit
/// code is 1. So it is if records were left out because their URL has a user name or a password.
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
/// The first search after an import takes longer: it adds the new texts to its index.
///
/// Importing again adds nothing, and continues an import that was interrupted.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve import site.warc.gz
  varve import collection.wacz
  varve import crawl-2019/ -m 'the crawl of 2019' --author 'Ada <ada@example.com>'
  varve import /srv/aardwarc
  varve import museum.crystalproj
  varve import /srv/aardwarc --json")]
pub(super) struct ImportArgs {
    /// The files, folders, stores and projects
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Message of the versions made of files (default: the name of the file)
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,

    /// Author of the versions made of files
    #[arg(long, value_name = "NAME")]
    author: Option<String>,

    /// Print one JSON object for each of them
    #[arg(long)]
    json: bool,
}

impl Verb for ImportArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let history = ArchiveHistoryWriter::of(session.open_to_write()?)?;
        let printer = &mut session.printer;
        let mut outcome = ExitStatus::Done;
        let mut files = Vec::new();
        for path in &self.paths {
            match detect_layout(path) {
                Some(Layout::Crystal) => {
                    outcome = outcome.worse(crystal::import::import(&history, path, self.json, printer)?);
                }
                Some(Layout::Aardwarc) => {
                    outcome = outcome.worse(self.import_store(&history, path, printer)?);
                }
                _ => files.extend(files_at(path)?),
            }
        }
        if !files.is_empty() {
            outcome = outcome.worse(self.import_files(&history, files, printer)?);
        }
        Ok(outcome)
    }
}

impl ImportArgs {
    fn import_store(
        &self,
        history: &ArchiveHistoryWriter,
        path: &Path,
        printer: &mut Printer,
    ) -> Result<ExitStatus, Error> {
        let bar = printer.progress(None, "objects");
        let imported = import_objects(history.writer(), path, &|count| bar.inc(count))?;
        for finding in &imported.findings {
            let (silo, offset) = (finding.silo.display(), finding.offset);
            printer.say(format_args!(
                "{WARNING_STYLE}damage{WARNING_STYLE:#} at byte {offset} of {silo}: {}",
                finding.message
            ));
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
            print_store(path, &imported, printer)?;
        }
        Ok(ExitStatus::of_findings(imported.findings.len() as u64))
    }

    fn import_files(
        &self,
        history: &ArchiveHistoryWriter,
        files: Vec<PathBuf>,
        printer: &mut Printer,
    ) -> Result<ExitStatus, Error> {
        // Every file is hashed, then imported.
        let total = files.iter().map(|path| 2 * doctor::size(path)).sum();
        let bar = printer.progress_bytes(Some(total));
        let request =
            web_archive::Request { files, message: self.message.clone(), author: self.author.clone() };
        let results = web_archive::import(history, &request, &|bytes| bar.inc(bytes))?;
        printer.end_progress();
        let mut outcome = ExitStatus::Done;
        for (path, result) in results {
            match result {
                Ok(imported) if self.json => {
                    printer.json(&imported)?;
                    outcome = outcome.worse(ExitStatus::of_findings(imported.complaints()));
                }
                Ok(imported) => {
                    print_file(&path, &imported, printer)?;
                    outcome = outcome.worse(ExitStatus::of_findings(imported.complaints()));
                }
                Err(failure) => {
                    let failure = Error::from(failure);
                    if self.json {
                        let path = path.to_string_lossy();
                        printer.json(&json!({ "path": path, "error": one_line(&failure) }))?;
                    }
                    printer.report(&failure);
                    outcome = ExitStatus::Incomplete;
                }
            }
        }
        Ok(outcome)
    }
}

fn print_store(path: &Path, imported: &Imported, printer: &mut Printer) -> Result<(), Error> {
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

fn print_file(path: &Path, imported: &FileImported, printer: &mut Printer) -> Result<(), Error> {
    let path = visible(&path.to_string_lossy()).into_owned();
    if imported.already {
        return printer.line(format_args!("{path}: already imported"));
    }
    for finding in imported.findings.iter().take(MAX_PRINTED_FINDINGS) {
        printer.say(format_args!(
            "{WARNING_STYLE}damage{WARNING_STYLE:#} at byte {} of {path}: {}",
            finding.offset,
            visible(&finding.message)
        ));
    }
    let unprinted = imported.findings_total.saturating_sub(MAX_PRINTED_FINDINGS as u64);
    if unprinted > 0 {
        printer.say(format_args!("and {} more in {path}", counted(unprinted, "finding")));
    }
    if imported.with_user_info > 0 {
        let records = counted(imported.with_user_info, "record");
        printer.warn(format_args!("{records} with a user name or a password in a URL were not imported"));
    }
    let version = match imported.versions.as_slice() {
        [] => "no version".to_owned(),
        [version] => format!("version {version}"),
        several => counted(several.len() as u64, "version"),
    };
    printer.line(format_args!(
        "{path}: {}, {}, {} of them new, {} other, {}, {version}",
        counted(imported.records, "record"),
        counted(imported.captures, "capture"),
        imported.new,
        imported.other,
        human_size(imported.bytes),
    ))
}
