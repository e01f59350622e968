//! `varve export --format crystal`, and the WARC file of a Crystal project.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use varve_archive::verbs::crystal::export::{ProjectExported, export, export_all};
use varve_archive::verbs::crystal::project::{info, save_as};
use varve_archive::verbs::crystal::verify::revisions_at_most;
use varve_archive::verbs::crystal::warc::{self, Description, WarcExported};
use varve_archive::{ArchiveError, Layout, VersionId, detect_layout};

use super::{ExportArgs, HEAD_NAME};
use crate::clock;
use crate::printer::{Printer, counted, human_size, visible};
use crate::session::{SOFTWARE_NAME, Session};
use crate::verb::{Error, ExitStatus};
use crate::version_names::resolve_version;

impl ExportArgs {
    /// Writes a version, or all of them, as a project.
    pub(super) fn project(&self, session: &mut Session) -> Result<ExitStatus, Error> {
        let target = self.target();
        let root = session.root()?;
        if detect_layout(&root) == Some(Layout::Crystal) {
            return self.copy_project(&root, target, session);
        }
        let history = session.open_archive_reader()?;
        let version = match self.all {
            true => None,
            false => Some(resolve_version(&(&history).into(), &self.version)?),
        };
        let printer = &mut session.printer;
        let bar = printer.progress(None, "revisions");
        let progress = |count| bar.inc(count);
        let exported = match &version {
            Some(version) => export(&history, version, target, &progress)?,
            None => export_all(&history, target, &progress)?,
        };
        if !self.json {
            print(&exported, printer)?;
            return Ok(ExitStatus::Done);
        }
        printer.json(&project_json(&exported, version))?;
        Ok(ExitStatus::Done)
    }

    /// Copies a project.
    fn copy_project(&self, root: &Path, target: &Path, session: &mut Session) -> Result<ExitStatus, Error> {
        if self.version != HEAD_NAME {
            return Err(ArchiveError::KeepsNoVersions.into());
        }
        let printer = &mut session.printer;
        let bar = printer.progress_bytes(None);
        let path = save_as(root, target, &|bytes| bar.inc(bytes))?.path;
        let about = info(&path, true)?.info;
        let (resources, revisions) = (about.resources, about.revisions);
        if self.json {
            let copied =
                ProjectExported { path, restored: true, resources, revisions, left_behind: Vec::new() };
            printer.json(&project_json(&copied, None))?;
        } else {
            let what = format!("{}, {}", counted(resources, "resource"), counted(revisions, "revision"));
            let path = path.to_string_lossy();
            printer.line(format_args!("{}: the project as it is, {what}", visible(&path)))?;
        }
        Ok(ExitStatus::Done)
    }

    /// Writes a project as one WARC file.
    pub(super) fn project_as_warc(&self, session: &mut Session) -> Result<ExitStatus, Error> {
        let (target, root) = (self.target(), session.root()?);
        let about = Description { software: SOFTWARE_NAME, clock: Arc::new(clock::now) };
        let printer = &mut session.printer;
        let bar = printer.progress(Some(revisions_at_most(&root)?), "revisions");
        let done = warc::export(&root, target, &about, &|count| bar.inc(count))?;
        let path = done.path.to_string_lossy().into_owned();
        let WarcExported { records, revisits, failures, missing, left_behind, with_user_info, bytes, .. } =
            done;
        if self.json {
            printer.json(&json!({
                "path": path,
                "records": records,
                "revisits": revisits,
                "failures": failures,
                "missing": missing,
                "left_behind": left_behind,
                "with_user_info": with_user_info,
                "bytes": bytes,
            }))?;
        } else {
            let left_out = [
                (missing, "without bodies"),
                (left_behind, "with URLs that WARC cannot express"),
                (with_user_info, "with a user name or a password in the URL"),
            ];
            let texts = left_out.iter().filter(|(count, _)| *count > 0);
            let texts: Vec<String> = texts.map(|(count, why)| format!("{count} {why}")).collect();
            if !texts.is_empty() {
                printer.warn(format_args!("revisions not exported: {}", texts.join(", ")));
            }
            let records = counted(records, "record");
            let what = format!("{records}, {revisits} of them revisits, {failures} of failures");
            printer.line(format_args!("{}: {what}, {}", visible(&path), human_size(bytes)))?;
        }
        Ok(ExitStatus::Done)
    }
}

fn project_json(exported: &ProjectExported, version: Option<VersionId>) -> Value {
    let dropped = exported.left_behind.iter().map(|(what, count)| json!({ "what": what, "count": count }));
    json!({
        "path": exported.path.to_string_lossy(),
        "version": version,
        "restored": exported.restored,
        "resources": exported.resources,
        "revisions": exported.revisions,
        "left_behind": dropped.collect::<Vec<_>>(),
    })
}

fn print(exported: &ProjectExported, printer: &mut Printer) -> Result<(), Error> {
    for (what, count) in &exported.left_behind {
        printer.say(format_args!("not exported: {what} ({count})"));
    }
    let how = if exported.restored { "as it was imported" } else { "of captures" };
    printer.line(format_args!(
        "{}: a project {how}, {}, {}",
        visible(&exported.path.to_string_lossy()),
        counted(exported.resources, "resource"),
        counted(exported.revisions, "revision"),
    ))
}
