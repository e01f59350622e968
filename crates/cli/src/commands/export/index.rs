//! `varve export --format cdxj`, `cdx` and `zipnum`.

use serde_json::json;
use varve_archive::history::HistoryReader;
use varve_archive::verbs::export::cdx::{
    CdxExported, CdxFinding, CdxFormat, CdxSources, bytes_to_index, export,
};
use varve_archive::{Layout, detect_layout};

use super::{ExportArgs, with_target};
use crate::printer::{BAD_STYLE, Printer, counted, human_size, visible};
use crate::session::Session;
use crate::verb::{Error, ExitStatus};

impl ExportArgs {
    /// Indexes WARC files, or the silos of the archive, or the files of a web archive.
    pub(super) fn index(&self, format: CdxFormat, session: &mut Session) -> Result<ExitStatus, Error> {
        if !self.from.is_empty() {
            return self.index_of(&CdxSources::Files(&self.from), format, session);
        }
        if detect_layout(&session.root()?) == Some(Layout::WebArchive)
            && let HistoryReader::WebArchive(archive) = session.open_reader()?
        {
            return self.index_of(&CdxSources::WebArchive(archive.files()), format, session);
        }
        let archive = session.open_archive()?;
        self.index_of(&CdxSources::Silos(&archive), format, session)
    }

    fn index_of(
        &self,
        sources: &CdxSources<'_>,
        format: CdxFormat,
        session: &mut Session,
    ) -> Result<ExitStatus, Error> {
        let printer = &mut session.printer;
        let bar = printer.progress_bytes(Some(bytes_to_index(sources)?));
        let exported = with_target(self.target(), printer, |target| {
            Ok(export(sources, format, target, &|bytes| bar.inc(bytes))?)
        })?;
        printer.end_progress();
        for CdxFinding { file, finding } in &exported.findings {
            let place = format!("{}, byte {}", file.display(), finding.offset);
            let text = format!("{place}: {}", finding.message);
            printer.warn(format_args!("{BAD_STYLE}{}{BAD_STYLE:#}", visible(&text)));
        }
        self.print_index(&exported, printer)?;
        Ok(ExitStatus::of_findings(exported.finding_count + exported.unaddressable))
    }

    fn print_index(&self, exported: &CdxExported, printer: &mut Printer) -> Result<(), Error> {
        let CdxExported { path, files, lines, unaddressable, bytes, finding_count, .. } = exported;
        let path = path.to_string_lossy();
        if self.json {
            return printer.json(&json!({
                "path": path,
                "files": files,
                "lines": lines,
                "unaddressable": unaddressable,
                "findings": finding_count,
                "bytes": bytes,
            }));
        }
        if *unaddressable > 0 {
            printer.warn(format_args!(
                "{} not indexed, because they begin inside a compressed member: `varve doctor --repair` gives \
                 each record one of its own",
                counted(*unaddressable, "record")
            ));
        }
        let what = format!("{} of {}", counted(*lines, "line"), counted(*files, "file"));
        let text = format!("{}: {what}, {}", visible(&path), human_size(*bytes));
        self.say_written(text, printer)
    }
}
