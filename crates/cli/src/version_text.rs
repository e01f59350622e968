//! Versions, statuses and ids as text, shared by the verbs that print them.

use serde_json::{Value, json};
use varve_archive::history::HistoryReader;
use varve_archive::verbs::log::{VersionInfo, is_of_declaring_page};
use varve_archive::verbs::show::PageChange;
use varve_archive::{ArchiveError, Capture, CaptureOwner, RecordId, VersionId};

use crate::error::Error;
use crate::printer::{BAD_STYLE, FAINT_STYLE, GOOD_STYLE, STRONG_STYLE, WARNING_STYLE, counted, visible};

/// The warning that a new version is not in the search index.
pub(crate) const UNINDEXED_TEXT: &str =
    "the search index could not be updated; the next search tries again, and reports why";

/// Says that captures are those of another page than the requested one, if they are.
pub(crate) fn declaring_page_text(url: &str, captured_url: &str) -> Option<String> {
    is_of_declaring_page(url, captured_url).then(|| {
        format!("found as `{}`, which declared this URL as its canonical URL", visible(captured_url))
    })
}

/// The first eight digits of a version id, which are enough to name it.
pub(crate) fn short_version_id(version: &VersionId) -> String {
    version.to_string().chars().take(8).collect()
}

/// The short version id of a capture, or what its run is instead of a version.
pub(crate) fn version_of_capture_text(history: &HistoryReader, capture: &Capture) -> Result<String, Error> {
    Ok(match capture.owner {
        CaptureOwner::Version(version) => short_version_id(&version),
        CaptureOwner::Run(run) if history.is_unfinished(run)? => "(unfinished)".to_owned(),
        CaptureOwner::Run(_) => "(no version)".to_owned(),
    })
}

/// The hex digits of a record id, without the prefix.
pub(crate) fn record_digits(id: RecordId) -> String {
    let text = id.to_string();
    text.rsplit(':').next().unwrap_or_default().to_owned()
}

/// An HTTP status in colour; dashes where there is none.
pub(crate) fn status_text(status: u16) -> String {
    let style = if (200..400).contains(&status) { GOOD_STYLE } else { WARNING_STYLE };
    match status {
        0 => format!("{WARNING_STYLE}---{WARNING_STYLE:#}"),
        _ => format!("{style}{status}{style:#}"),
    }
}

/// The word for a change, as JSON has it.
pub(crate) fn change_word(change: PageChange) -> &'static str {
    change.word()
}

/// The letter for a change, in colour, as git has it.
pub(crate) fn change_letter(change: PageChange) -> String {
    let (letter, style) = match change {
        PageChange::Added => ('A', GOOD_STYLE),
        PageChange::Back => ('B', GOOD_STYLE),
        PageChange::Gone | PageChange::Removed => ('D', BAD_STYLE),
        PageChange::Unreachable => ('U', BAD_STYLE),
        PageChange::Changed => ('M', WARNING_STYLE),
        PageChange::Unchanged => (' ', FAINT_STYLE),
    };
    format!("{style}{letter}{style:#}")
}

/// Id, tags, time, author and message of a version, one line each.
pub(crate) fn describe_version(info: &VersionInfo, head: Option<VersionId>) -> Vec<String> {
    let version = &info.version;
    let mut names = Vec::new();
    if head == Some(version.id) {
        names.push("HEAD".to_owned());
    }
    names.extend(info.tags.iter().cloned());
    let names = if names.is_empty() {
        String::new()
    } else {
        format!(" {GOOD_STYLE}({}){GOOD_STYLE:#}", names.join(", "))
    };
    let author = version.author.as_deref().filter(|author| !author.trim().is_empty());
    let author = author.map(|author| format!(", {}", visible(author))).unwrap_or_default();
    let mut lines = vec![
        format!("{STRONG_STYLE}{}{STRONG_STYLE:#}{names}", version.id),
        format!("{}{author}, {}", version.time.for_people(), counted(info.captures, "capture")),
    ];
    lines.extend(version.message.lines().map(|line| format!("    {}", visible(line))));
    lines
}

/// A note, if the parent of a version was removed or lost.
pub(crate) fn missing_parent_note(
    history: &HistoryReader,
    info: &VersionInfo,
) -> Result<Option<String>, Error> {
    let Some(id) = info.version.parent else { return Ok(None) };
    let is_gone = history.catalog().version(&id).map_err(ArchiveError::from)?.is_none();
    Ok(is_gone
        .then(|| format!("{FAINT_STYLE}its parent {} is missing{FAINT_STYLE:#}", short_version_id(&id))))
}

/// A version as JSON.
pub(crate) fn version_json(info: &VersionInfo) -> Value {
    let VersionInfo { version, captures, tags } = info;
    json!({
        "id": version.id,
        "parent": version.parent,
        "message": version.message,
        "author": version.author,
        "time": version.time,
        "captures": captures,
        "tags": tags,
    })
}
