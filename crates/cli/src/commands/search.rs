//! `varve search`: finds pages by their text.

use serde_json::{Value, json};
use varve_archive::Moment;
use varve_archive::history::HistoryReader;
use varve_archive::verbs::search::{
    self, HitHistory, IndexGap, IndexGapCause, OpenedIndex, Report, SearchHit, SearchQuery, SearchScope,
    SeenIn, Snippet, TextKind,
};

use crate::clock;
use crate::printer::{FAINT_STYLE, STRONG_STYLE, counted, quoted, visible};
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_names::resolve_version;
use crate::version_text::short_version_id;

/// Hits unless `--limit` is given.
const DEFAULT_HIT_LIMIT: usize = 20;

/// Find pages by their text, now or at any time
///
/// Finds pages whose text, title or URL has all words of the query. `"two words"` is a phrase,
/// `-word` and `-"two words"` exclude pages, and `gard*` finds words that begin so. Case and
/// diacritics do not matter. Chinese, Japanese, Korean and Thai text is found without spaces. Text of
/// navigation, headers, footers and sidebars is not searched.
///
/// Without `--at` or `--ever`, the state of HEAD is searched: each page as it was captured last,
/// without pages that are gone. `--ever` searches all captures, and reports when each page had the
/// words first and last.
///
/// The best hits come first: rare words, titles and headings count most.
///
/// The index is `search.db` in the archive. A capture adds its version to it, and a search those of
/// commits, so the first search after a large commit takes longer. It may be deleted at any time, and
/// the next search or `varve rebuild` makes it again. Where it cannot be written, and for Moku sites
/// and Crystal projects, a temporary one is built for each search.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve search garden roses
  varve search '\"opening hours\" -sunday'
  varve search tulips --at 2026-03-01
  varve search '\"We will never sell your data\"' --ever
  varve search price --site shop.example.com --since 2w --json

Exit codes:
  0    there are hits
  1    there are none
  2    the search could not run")]
pub(super) struct SearchArgs {
    /// The words to look for; several arguments are one query. An argument that begins with `-` comes after `--`
    #[arg(required = true)]
    query: Vec<String>,

    /// Search the state of a version, or the state at a time
    #[arg(long, value_name = "TIME|VERSION", conflicts_with = "ever")]
    at: Option<String>,

    /// Search all captures, and report when each page had the words
    #[arg(long)]
    ever: bool,

    /// Only pages of this host and its subdomains
    #[arg(long, value_name = "HOST")]
    site: Option<String>,

    /// Only documents of this type
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<DocumentType>,

    /// Only captures from this time on: a time, or an age such as `90m`, `2d` or `1w`
    #[arg(long, value_name = "TIME", value_parser = clock::parse_moment)]
    since: Option<Moment>,

    /// Only captures up to this time; a day such as `2026-11-17` or a second counts to its end
    #[arg(long, value_name = "TIME", value_parser = clock::parse_end)]
    until: Option<Moment>,

    /// At most this number of hits
    #[arg(long, short = 'n', value_name = "N", default_value_t = DEFAULT_HIT_LIMIT)]
    limit: usize,

    /// Print one JSON object per hit; `marks` are ranges of characters in `snippet`
    #[arg(long)]
    json: bool,
}

/// The types of documents that can be searched.
#[derive(Clone, Copy, clap::ValueEnum)]
enum DocumentType {
    /// HTML pages
    Page,
    /// Plain text
    Text,
}

impl From<DocumentType> for TextKind {
    fn from(kind: DocumentType) -> Self {
        match kind {
            DocumentType::Page => Self::Page,
            DocumentType::Text => Self::Plain,
        }
    }
}

impl Verb for SearchArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let query = SearchQuery::parse(&self.query.join(" ")).map_err(|error| {
            clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("{error}\n"))
        })?;
        let history = session.open_reader()?;
        let Some(scope) = self.scope(&history)? else {
            session.printer.say("there are no versions yet");
            return Ok(ExitStatus::NoHits);
        };
        let index = open_index(&history, session)?;
        let request = search::Request {
            query,
            scope,
            site: self.site.as_deref().map(str::to_ascii_lowercase),
            kind: self.kind.map(TextKind::from),
            since: self.since,
            until: self.until,
            limit: self.limit,
        };
        let Report { hits, has_more } = search::search(&history, index.as_read(), &request)?;
        for hit in &hits {
            match self.json {
                true => session.printer.json(&hit_json(hit))?,
                false => print_hit(hit, session)?,
            }
        }
        if hits.is_empty() {
            session.printer.say(self.no_hits_text());
            return Ok(ExitStatus::NoHits);
        }
        if let Some(hint) = hits.first().filter(|_| !self.json).and_then(history_hint) {
            session.printer.hint(&hint);
        }
        if has_more && !self.json {
            session.printer.say(format_args!(
                "these are the best {}; `--limit N` shows more",
                counted(hits.len() as u64, "hit")
            ));
        }
        Ok(ExitStatus::Done)
    }
}

impl SearchArgs {
    /// The texts to search; `None` if there is no version.
    fn scope(&self, history: &HistoryReader) -> Result<Option<SearchScope>, Error> {
        Ok(match &self.at {
            Some(text) => Some(SearchScope::State(resolve_version(history, text)?)),
            None if self.ever => Some(SearchScope::Ever),
            None => history.head()?.map(SearchScope::State),
        })
    }

    fn no_hits_text(&self) -> &'static str {
        let is_narrowed =
            self.site.is_some() || self.kind.is_some() || self.since.is_some() || self.until.is_some();
        match (self.ever, &self.at) {
            (true, _) if is_narrowed => "no capture matches; without the filters there may be some",
            (true, _) => "no capture matches",
            (false, Some(_)) => "no page matched then; `--ever` searches all captures",
            (false, None) => "no page matches now; `--ever` searches all captures",
        }
    }
}

/// Opens the index, and completes it where that is possible.
pub(super) fn open_index(history: &HistoryReader, session: &mut Session) -> Result<OpenedIndex, Error> {
    let holder = session.optional_holder();
    let index =
        search::open_search_index(history, holder.as_deref()).map_err(varve_archive::ArchiveError::from)?;
    if let Some(IndexGap { versions, cause }) = index.gap() {
        let cause = match cause {
            IndexGapCause::AnotherWriter => "another process is writing to the archive",
            IndexGapCause::ReadOnly => "the archive may not be written here",
            IndexGapCause::DiskFull => "the disk is full",
        };
        session.printer.warn(format_args!(
            "{} cannot be searched: the search index does not have them yet, and {cause}",
            counted(versions, "version")
        ));
    }
    Ok(index)
}

fn print_hit(hit: &SearchHit, session: &mut Session) -> Result<(), Error> {
    let SearchHit { capture, title, snippet, history, .. } = hit;
    if let Some(title) = title {
        session.printer.line(format_args!("{STRONG_STYLE}{}{STRONG_STYLE:#}", visible(title)))?;
    }
    let time = capture.time.for_people();
    session.printer.line(format_args!("{}  {FAINT_STYLE}{time}{FAINT_STYLE:#}", visible(&capture.url)))?;
    if let Some(snippet) = snippet {
        session.printer.line(format_args!("    {}", marked_text(snippet)))?;
    }
    if let Some(history) = history {
        for line in history_lines(history) {
            session.printer.line(format_args!("    {line}"))?;
        }
    }
    session.printer.line("")
}

/// The snippet with its hits in brackets.
fn marked_text(snippet: &Snippet) -> String {
    let Snippet { text, hits } = snippet;
    let (mut marked, mut at) = (String::new(), 0);
    for hit in hits {
        marked.push_str(&visible(&text[at..hit.start]));
        let word = visible(&text[hit.clone()]);
        marked.push_str(&format!("{STRONG_STYLE}[{word}]{STRONG_STYLE:#}"));
        at = hit.end;
    }
    marked + &visible(&text[at..])
}

/// When a page had the words, in the order of time.
fn history_lines(history: &HitHistory) -> Vec<String> {
    let HitHistory { first, last, is_current, changes } = history;
    let now = if *is_current { ", still there" } else { "" };
    // At one instant, a page has the words again before it was seen last.
    let mut lines = vec![
        (first.time, 0, format!("first seen {}", seen_text(first))),
        (last.time, 2, format!("last seen  {}{now}", seen_text(last))),
    ];
    // The first appearance is the first line.
    for change in changes.iter().skip_while(|change| change.appeared && change.seen == *first) {
        let (rank, word) = if change.appeared { (1, "back") } else { (3, "gone") };
        lines.push((change.seen.time, rank, format!("{word}       {}", seen_text(&change.seen))));
    }
    lines.sort_by_key(|(time, rank, _)| (*time, *rank));
    lines.into_iter().map(|(_, _, line)| line).collect()
}

/// The commands that show how a page looked when it had the words, and what it said instead.
fn history_hint(hit: &SearchHit) -> Option<String> {
    let history = hit.history.as_ref()?;
    let url = quoted(&hit.capture.url);
    let last = short_version_id(&history.last.version?);
    let gone = history.changes.iter().rev().find(|change| !change.appeared)?;
    let gone = short_version_id(&gone.seen.version?);
    Some(format!(
        "`varve extract {url} --at {last}` shows the page as it was; `varve diff {gone}~1 {gone} --mode dom --url {url}` \
         shows what replaced it"
    ))
}

fn seen_text(seen: &SeenIn) -> String {
    let version = seen.version.map(|version| format!(" in {}", short_version_id(&version)));
    format!("{}{}", seen.time.for_people(), version.unwrap_or_default())
}

fn hit_json(hit: &SearchHit) -> Value {
    let SearchHit { capture, kind, title, snippet, score, history } = hit;
    let marks = snippet.as_ref().map(|snippet| {
        let count = |end: usize| snippet.text[..end].chars().count();
        snippet.hits.iter().map(|hit| [count(hit.start), count(hit.end)]).collect::<Vec<_>>()
    });
    let mut value = json!({
        "url": capture.url,
        "title": title,
        "type": kind.name(),
        "time": capture.time,
        "version": varve_archive::verbs::cat::version_of(capture),
        "body": capture.body,
        "snippet": snippet.as_ref().map(|snippet| &snippet.text),
        "marks": marks.unwrap_or_default(),
        "score": score,
    });
    if let (Some(history), Some(fields)) = (history, value.as_object_mut()) {
        let change = |change: &search::HitChange| {
            let event = if change.appeared { "appeared" } else { "vanished" };
            json!({ "event": event, "version": change.seen.version, "time": change.seen.time })
        };
        fields.insert("first_seen".to_owned(), seen_json(&history.first));
        fields.insert("last_seen".to_owned(), seen_json(&history.last));
        fields.insert("current".to_owned(), json!(history.is_current));
        fields.insert("changes".to_owned(), history.changes.iter().map(change).collect());
    }
    value
}

fn seen_json(seen: &SeenIn) -> Value {
    json!({ "version": seen.version, "time": seen.time })
}
