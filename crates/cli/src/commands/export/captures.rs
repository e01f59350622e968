//! `varve export --format warc` and `wacz`.

use std::sync::Arc;

use serde_json::json;
use varve_archive::history::HistoryReader;
use varve_archive::verbs::export::wacz::{self, WaczExported, WaczRequest};
use varve_archive::verbs::export::warc::{
    CapturesExported, ExportFinding, RevisitHandling, WarcRequest, export,
};
use varve_archive::verbs::export::{ExportPages, ExportScope, ExportSelection};
use varve_archive::verbs::search::{self, SearchQuery, SearchScope};
use varve_archive::{Layout, detect_layout};

use super::{ExportArgs, HEAD_NAME, with_target};
use crate::clock;
use crate::commands::search::open_index;
use crate::printer::{Printer, counted, human_size, visible};
use crate::session::{SOFTWARE_NAME, Session};
use crate::verb::{Error, ExitStatus};
use crate::version_names::resolve_version;

/// Maximum number of pages that a search selects.
const MAX_SEARCH_HITS: usize = 100_000;

impl ExportArgs {
    /// Writes captures into a WARC file.
    pub(super) fn captures(&self, session: &mut Session) -> Result<ExitStatus, Error> {
        let is_whole = !self.has_selection() && !self.all && self.version == HEAD_NAME && !self.is_stream();
        if is_whole && detect_layout(&session.root()?) == Some(Layout::Crystal) {
            return self.project_as_warc(session);
        }
        let history = session.open_reader()?;
        let revisits = match (self.closed, self.dedupe) {
            (true, _) => RevisitHandling::Closed,
            (_, true) => RevisitHandling::Deduplicated,
            _ => RevisitHandling::AsStored,
        };
        let request = self.request(&history, revisits, session)?;
        let printer = &mut session.printer;
        let bar = printer.progress(None, "captures");
        let exported = with_target(self.target(), printer, |target| {
            Ok(export(&history, &request, target, &|count| bar.inc(count))?)
        })?;
        printer.end_progress();
        self.print_captures(&exported, printer)?;
        Ok(ExitStatus::of_findings(exported.finding_count))
    }

    /// Writes captures into a WACZ file.
    pub(super) fn package(&self, session: &mut Session) -> Result<ExitStatus, Error> {
        let history = session.open_reader()?;
        let revisits = if self.closed { RevisitHandling::Closed } else { RevisitHandling::Deduplicated };
        let request =
            WaczRequest { records: self.request(&history, revisits, session)?, title: self.title.clone() };
        let printer = &mut session.printer;
        let bar = printer.progress(None, "captures");
        let exported = with_target(self.target(), printer, |target| {
            Ok(wacz::export(&history, &request, target, &|count| bar.inc(count))?)
        })?;
        printer.end_progress();
        self.print_package(&exported, printer)?;
        Ok(ExitStatus::of_findings(exported.records.finding_count))
    }

    fn request(
        &self,
        history: &HistoryReader,
        revisits: RevisitHandling,
        session: &mut Session,
    ) -> Result<WarcRequest<'static>, Error> {
        let selection = self.selection(history, session)?;
        Ok(WarcRequest {
            selection,
            revisits,
            software: SOFTWARE_NAME,
            clock: Arc::new(clock::now),
            with_proof: self.proof,
        })
    }

    fn print_package(&self, exported: &WaczExported, printer: &mut Printer) -> Result<(), Error> {
        let WaczExported { records, pages, extra_pages, lines, bytes } = exported;
        warn_of_findings(records, printer);
        let path = records.path.to_string_lossy();
        if self.json {
            return printer.json(&json!({
                "path": path,
                "captures": records.captures,
                "records": records.records,
                "revisits": records.revisits,
                "pages": pages,
                "extra_pages": extra_pages,
                "lines": lines,
                "findings": records.finding_count,
                "with_user_info": records.with_user_info,
                "bytes": bytes,
            }));
        }
        let pages = counted(pages + extra_pages, "page");
        let what = format!("{}, {pages}", counted(records.captures, "capture"));
        self.say_written(format!("{}: {what}, {}", visible(&path), human_size(*bytes)), printer)
    }

    /// Prints what was written; to standard error if the export is on standard output.
    pub(super) fn say_written(&self, text: String, printer: &mut Printer) -> Result<(), Error> {
        if !self.is_stream() {
            return printer.line(text);
        }
        printer.say(text);
        Ok(())
    }

    fn selection(&self, history: &HistoryReader, session: &mut Session) -> Result<ExportSelection, Error> {
        let scope = match (self.all, self.captures) {
            (true, _) => ExportScope::Ever,
            (false, true) => ExportScope::Captures(resolve_version(history, &self.version)?),
            (false, false) => ExportScope::State(resolve_version(history, &self.version)?),
        };
        let pages = match (&self.search, &self.host) {
            (Some(query), _) => ExportPages::Found(found_captures(history, query, scope, session)?),
            (None, Some(host)) => ExportPages::Host(host.to_ascii_lowercase()),
            (None, None) if self.url.is_empty() => ExportPages::All,
            (None, None) if self.with_resources => ExportPages::Documents(self.url.clone()),
            (None, None) => ExportPages::Urls(self.url.clone()),
        };
        Ok(ExportSelection { scope, pages })
    }

    fn print_captures(&self, exported: &CapturesExported, printer: &mut Printer) -> Result<(), Error> {
        warn_of_findings(exported, printer);
        let path = exported.path.to_string_lossy();
        if self.json {
            return printer.json(&json!({
                "path": path,
                "captures": exported.captures,
                "records": exported.records,
                "revisits": exported.revisits,
                "unresolved": exported.unresolved,
                "findings": exported.finding_count,
                "with_user_info": exported.with_user_info,
                "bytes": exported.bytes,
            }));
        }
        if exported.unresolved > 0 {
            printer.say(format_args!(
                "{} of records that are not in the file: `--closed` or `--dedupe` makes it stand alone",
                counted(exported.unresolved, "revisit")
            ));
        }
        let records = counted(exported.records, "record");
        let what = format!("{} in {records}", counted(exported.captures, "capture"));
        self.say_written(format!("{}: {what}, {}", visible(&path), human_size(exported.bytes)), printer)
    }
}

/// Names the captures that were left out.
fn warn_of_findings(exported: &CapturesExported, printer: &mut Printer) {
    for ExportFinding { url, message } in &exported.findings {
        printer.warn(format_args!("not exported: {}: {}", visible(url), visible(message)));
    }
    if exported.with_user_info > 0 {
        printer.warn(format_args!(
            "captures not exported, because their URL has a user name or a password: {}",
            exported.with_user_info
        ));
    }
}

/// The captures that a search finds.
fn found_captures(
    history: &HistoryReader,
    query: &str,
    scope: ExportScope,
    session: &mut Session,
) -> Result<Vec<varve_archive::Capture>, Error> {
    let query = SearchQuery::parse(query)
        .map_err(|error| clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("{error}\n")))?;
    let scope = match scope {
        ExportScope::State(version) | ExportScope::Captures(version) => SearchScope::State(version),
        ExportScope::Ever => SearchScope::Ever,
    };
    let index = open_index(history, session)?;
    let (site, kind, since, until) = (None, None, None, None);
    let request = search::Request { query, scope, site, kind, since, until, limit: MAX_SEARCH_HITS };
    let found = search::search(history, index.as_read(), &request)?;
    Ok(found.hits.into_iter().map(|hit| hit.capture).collect())
}
