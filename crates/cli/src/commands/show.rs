//! `varve show`: shows one version, page by page, or one check, URL by URL.

mod checked_urls;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use varve_archive::history::{CapturePair, HistoryReader};
use varve_archive::verbs::cat::check_named;
use varve_archive::verbs::show::{PageChange, VersionInfo, pages, source, state, version};
use varve_archive::{CaptureOwner, Coverage, CoverageScope, VersionId};

use super::capture_choice::CaptureChoiceArgs;
use crate::printer::{FAINT_STYLE, Printer, WARNING_STYLE, counted, visible};
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_names::resolve_version;
use crate::version_text::{
    change_letter, change_word, describe_version, missing_parent_note, status_text, version_json,
};

/// Show a version: what it captured, its state and its changes; or a check
///
/// A version is named by HEAD, a tag, its id or the first digits of it, or a time; `~1` after any
/// of them is its parent.
///
/// What the version captured comes first: the number of captures, what its run or commit covered,
/// and whether it came to its end. Then comes its state: the number of pages that are present,
/// unreachable (the last request failed, and the page is shown as it was) and gone, captured in this
/// version or before. Then the pages that differ from the state of its parent, with `A` for added,
/// `B` for back after it was gone, `M` for changed, `U` for unreachable and `D` for gone or removed.
/// Pages that are the same are only counted, unless `--all` is given, and so are those that the
/// version did not ask about. `varve diff` shows the changes themselves.
///
/// A check is named by its id, as `varve log --checks` prints it, or the first digits of it. Its URLs
/// that did not answer as expected are listed, each with the record of the response, which `varve get`
/// prints; with `--all`, all of its URLs.
///
/// In a Crystal project, a version is the state of the project at one revision, named by a time or
/// by `r` and the number of the revision. A page is shown by its newest revision at that point,
/// even if that is a failure; `--newest-good` skips failures.
///
/// With `--json`, the first object is the version, as in `log`, with its `coverage` (`scope`,
/// `complete`), its `state` (`present`, `unreachable`, `gone`) and, if it was imported, its `source`
/// (`file`, `sha256`, `offset`); then one object per page: `url`,
/// `path`, `change` (as in `varve diff`, or unchanged), whether the version `captured` it, the `time`
/// of the capture shown, `status`, `body`, `length`. The last object is the `summary`: the number of
/// pages by change, and of those `not_asked`. Of a check, the first object is the check, as in
/// `log --checks`; then comes one object per URL, as in `log URL --checks`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve show
  varve show HEAD~1
  varve show 0b8af3c1 --json
  varve show 5d41402a
  varve show before-the-relaunch --all")]
pub(super) struct ShowArgs {
    /// The version: HEAD, a tag, an id or its first digits, `HEAD~2`, or a time (a day or a second
    /// counts to its end); or the id of a check
    #[arg(default_value = "HEAD")]
    version: String,

    #[command(flatten)]
    choosing: CaptureChoiceArgs,

    /// List unchanged pages too; of a check, all URLs
    #[arg(long)]
    all: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Verb for ShowArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let history = self.choosing.open_reader(session)?;
        if let Some(check) = check_named(&history, &self.version)? {
            return self.print_check(&history, &check, &mut session.printer);
        }
        let id = resolve_version(&history, &self.version)?;
        let info = version(&history, &id)?;
        self.print_version(&history, &info, &mut session.printer)?;
        let mut pairs = pages(&history, &info, self.json || self.all)?;
        let mut without_event = 0;
        let mut counts = BTreeMap::<&'static str, u64>::new();
        for pair in &mut pairs {
            let pair = pair?;
            let change = pair.lasting_change();
            match change == PageChange::Unchanged && pair.is_from_same_event() {
                true => without_event += 1,
                false => *counts.entry(change_word(change)).or_default() += 1,
            }
            if self.json {
                session.printer.json(&page_json(&history, &pair, id)?)?;
            } else if change != PageChange::Unchanged || self.all {
                session.printer.line(line(&pair))?;
            }
        }
        without_event += pairs.left_out();
        let unlisted =
            info.version.coverage.as_ref().map_or(0, |coverage| coverage.unchanged).min(without_event);
        *counts.entry(change_word(PageChange::Unchanged)).or_default() += unlisted;
        let not_asked = without_event - unlisted;
        if self.json {
            let mut summary = json!(counts);
            summary["not_asked"] = json!(not_asked);
            session.printer.json(&json!({ "summary": summary }))?;
            return Ok(ExitStatus::Done);
        }
        let unchanged = counts.get(change_word(PageChange::Unchanged)).copied().unwrap_or(0);
        let same =
            [(unchanged, "unchanged"), (not_asked, "not asked")].map(|(count, word)| counted_as(count, word));
        let same: Vec<String> = same.into_iter().flatten().collect();
        if !same.is_empty() {
            session.printer.line(format_args!("{FAINT_STYLE}{}{FAINT_STYLE:#}", same.join(", ")))?;
        }
        Ok(ExitStatus::Done)
    }
}

impl ShowArgs {
    /// Prints the version, what it captured and its state.
    fn print_version(
        &self,
        history: &HistoryReader,
        info: &VersionInfo,
        printer: &mut Printer,
    ) -> Result<(), Error> {
        let (counts, coverage) = (state(history, &info.version.id)?, info.version.coverage.as_ref());
        let source = source(history, info)?;
        if self.json {
            let mut row = version_json(info);
            row["coverage"] = json!(coverage.map(|coverage| {
                json!({ "scope": coverage.scope.name(), "complete": coverage.complete })
            }));
            row["state"] = json!({
                "present": counts.present, "unreachable": counts.unreachable, "gone": counts.gone,
            });
            row["source"] = json!(source);
            return printer.json(&row);
        }
        let head = history.head()?;
        for line in describe_version(info, head).into_iter().chain(missing_parent_note(history, info)?) {
            printer.line(line)?;
        }
        if let Some(source) = &source {
            let (file, digest, offset) = (visible(&source.file), &source.sha256, source.offset);
            printer.line(format_args!(
                "{FAINT_STYLE}from byte {offset} of {file}, sha256:{digest}{FAINT_STYLE:#}"
            ))?;
        }
        printer.line("")?;
        let covered = coverage.map_or_else(String::new, |coverage| format!(" ({})", coverage_text(coverage)));
        printer.line(format_args!("captured: {}{covered}", counted(info.captures, "page")))?;
        let parts = [
            Some(format!("{} present", counts.present)),
            counted_as(counts.unreachable, "unreachable"),
            counted_as(counts.gone, "gone"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        printer.line(format_args!("state:    {}", parts.join(", ")))?;
        printer.line("")
    }
}

/// A number with its word; `None` for 0.
fn counted_as(count: u64, word: &str) -> Option<String> {
    (count > 0).then(|| format!("{count} {word}"))
}

/// What a run or commit covered, in words.
fn coverage_text(coverage: &Coverage) -> String {
    let scope = match coverage.scope {
        CoverageScope::Pages => "the pages that were named",
        CoverageScope::Prefix => "all pages below a URL",
        CoverageScope::Host => "all pages of a host",
        CoverageScope::Domain => "all pages of a domain",
        CoverageScope::Plan => "the pages of the plan",
        CoverageScope::Folder => "all files of a folder",
    };
    let end = if coverage.complete { "" } else { ", not all of them reached" };
    format!("{scope}{end}")
}

fn line(pair: &CapturePair) -> String {
    let page = pair.any();
    let letter = change_letter(pair.lasting_change());
    let length = page.length.map_or(String::new(), |length| length.to_string());
    let cut =
        if page.truncated { format!("  {WARNING_STYLE}truncated{WARNING_STYLE:#}") } else { String::new() };
    format!("{letter} {} {length:>10}  {}{cut}", status_text(page.status), visible(&page.url))
}

fn page_json(history: &HistoryReader, pair: &CapturePair, version: VersionId) -> Result<Value, Error> {
    let page = pair.any();
    Ok(json!({
        "url": page.url,
        "path": page.path,
        "change": change_word(pair.lasting_change()),
        "captured": page.owner == CaptureOwner::Version(version),
        "time": page.time,
        "status": page.status,
        "body": history.body_id(page)?,
        "length": page.length,
        "truncated": page.truncated,
    }))
}
