//! `varve blame`: shows which version brought each passage of a page.

use serde_json::json;
use varve_archive::verbs::blame::{self, Attributed, BlameOrigin, BlameUnit, Passage, PassageKind, Report};

use crate::printer::{FAINT_STYLE, STRONG_STYLE, counted, visible};
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_names::resolve_version;
use crate::version_text::{declaring_page_text, short_version_id};

/// The number of characters of an author's name that are shown.
const AUTHOR_WIDTH: usize = 16;

/// Show which version brought each passage of a page
///
/// Each passage of the text (a title, heading, paragraph, list item or cell) is shown with the
/// version, time and author that first had it. A passage that was moved, or was removed and came back,
/// keeps its first version. With `--html`, lines of the source are shown instead.
///
/// With `--json`, one object per passage: `version`, `time`, `author`, `type` and `text`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve blame https://example.com/
  varve blame https://example.com/terms --at 2026-03-01
  varve blame https://example.com/ --html --json")]
pub(super) struct BlameArgs {
    /// The URL
    url: String,

    /// Show the page in the state of a version, or in the state at a time
    #[arg(long, value_name = "TIME|VERSION", default_value = "HEAD")]
    at: String,

    /// Show passages of the text (the default)
    #[arg(long)]
    text: bool,

    /// Show lines of the source
    #[arg(long, conflicts_with = "text")]
    html: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Verb for BlameArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let history = session.open_reader()?;
        let version = resolve_version(&history, &self.at)?;
        let unit = if self.html { BlameUnit::Lines } else { BlameUnit::Passages };
        let request = blame::Request { url: self.url, version, unit };
        let Report { capture, origins, items, unreadable } = blame::blame(&history, &request)?;
        let other = declaring_page_text(&request.url, &capture.url);
        other.iter().for_each(|other| session.printer.say(other));
        for Attributed { item, origin } in &items {
            let Some(origin) = origins.get(*origin) else { continue };
            match self.json {
                true => session.printer.json(&item_json(item, origin))?,
                false => session.printer.line(item_line(item, origin))?,
            }
        }
        if !unreadable.is_empty() {
            session.printer.warn(format_args!(
                "{} of this page cannot be read: passages may be older than shown",
                counted(unreadable.len() as u64, "earlier capture")
            ));
        }
        if items.is_empty() {
            session.printer.say("this page has no text");
        }
        Ok(ExitStatus::Done)
    }
}

fn author_of(origin: &BlameOrigin) -> Option<&str> {
    origin.version.as_ref()?.author.as_deref()
}

fn item_line(item: &Passage, origin: &BlameOrigin) -> String {
    let version = origin.version.as_ref().map(|version| short_version_id(&version.id));
    let author: String = author_of(origin).unwrap_or_default().chars().take(AUTHOR_WIDTH).collect();
    let author = if author.is_empty() { String::new() } else { format!("  {}", visible(&author)) };
    let time = origin.capture.time.for_people();
    let text = visible(&item.text);
    let text = match item.kind {
        PassageKind::Text => text.into_owned(),
        PassageKind::Title | PassageKind::Heading => format!("{STRONG_STYLE}{text}{STRONG_STYLE:#}"),
    };
    format!("{}  {FAINT_STYLE}{time}{author}{FAINT_STYLE:#}  {text}", version.unwrap_or_default())
}

fn item_json(item: &Passage, origin: &BlameOrigin) -> serde_json::Value {
    let kind = match item.kind {
        PassageKind::Title => "title",
        PassageKind::Heading => "heading",
        PassageKind::Text => "text",
    };
    json!({
        "version": origin.version.as_ref().map(|version| version.id),
        "time": origin.capture.time,
        "author": author_of(origin),
        "type": kind,
        "text": item.text,
    })
}
