//! `varve log`: the versions, or the captures of one URL.

use std::collections::BTreeMap;

use serde::Serialize;
use varve_archive::history::Holdings;
use varve_archive::verbs::cat::{removal_of, version_of};
use varve_archive::verbs::chosen::Chosen;
use varve_archive::verbs::log::{
    CaptureFilter, ListCursor, Removal, VersionFilter, VersionInfo, captures, last_in_version,
    may_end_behind, removals, versions,
};
use varve_archive::{ArchiveError, Capture, Moment, Renderings, VersionId};

use super::{Outcome, Verb};
use crate::clock;
use crate::error::Error;
use crate::graph::Graph;
use crate::printer::{BAD, FAINT, GOOD, STRONG, WARN, counted, visible};
use crate::revision::resolve_version;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve log
  varve log --limit 5 --author ada
  varve log --graph
  varve log https://example.com/
  varve log https://example.com/ --since 2026-01-01 --json
  varve log https://example.com/ --since 2w --author ada
  varve log https://example.com/ --limit 20 --after 0b8af3c1";

/// So many are read at a time.
const PIECE: usize = 200;
/// So many more than are asked for are read, to see whether the version goes on: a page has few spellings.
const BESIDE: usize = 8;
/// So many captures of a layout without versions are shown unless more are asked for: each costs the reading of a body.
const LATEST: usize = 100;

/// Show the versions, newest first, or the captures of a URL
///
/// A URL may be spelled in any way: all its captures are shown, by whichever spelling they were made, and where there are several each says
/// which it was.
///
/// With `--json` there is one object a line. For versions: `id`, `parent`, `message`, `author`, `time`, `captures`,
/// `tags`. For captures of a URL: `url`, `time`, `status`, `body`, `version`, `length`,
/// `renderings` where a browser loaded it: the ids of the document that scripts left and of a picture, for `varve get`; and `damaged`
/// where its record cannot be read.
///
/// What `varve rewrite` took out is shown as that, with who, when and why; with `--json` in `removed`: `record`, `kind`, `who`, `why`,
/// `time`, and `tombstone`, the record that tells of it. An answer of which nothing else is left has a line with `null` in the other fields but `url`.
///
/// A Crystal project keeps no versions: its latest captures are shown, of all URLs, 100 unless `--limit` says otherwise.
///
/// `--author`, `--message` and `--tag` choose versions; of a URL, its captures in such versions. `--since` and `--until` go by the time of what is shown.
///
/// Long lists come in pieces: `--limit N`, then again with `--after` and the id of the last version seen. The captures of a URL go
/// on behind the oldest one in that version, and a piece ends behind such a one alone: it may be longer than N for that, and nothing is
/// missed or shown twice, whatever the order in which versions got their captures.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Log {
    /// Show the captures of this URL
    url: Option<String>,

    /// At most so many
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,

    /// Go on behind this version
    #[arg(long, value_name = "VERSION")]
    after: Option<String>,

    /// Only those made then or later: a time, or how long ago, such as `90m`, `2d` or `1w`
    #[arg(long, value_name = "TIME", value_parser = clock::parse_moment)]
    since: Option<Moment>,

    /// Only those made then or earlier; a day, as in `2026-11-17`, counts to its end, and so does a second
    #[arg(long, value_name = "TIME", value_parser = clock::parse_end)]
    until: Option<Moment>,

    /// Only versions that hold this URL, spelled in any way
    #[arg(long, value_name = "URL", conflicts_with = "url")]
    touching: Option<String>,

    /// Only versions whose author contains this text
    #[arg(long, value_name = "TEXT")]
    author: Option<String>,

    /// Only versions whose message contains this text
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,

    /// Only the version with this tag
    #[arg(long, value_name = "NAME")]
    tag: Option<String>,

    /// Draw how versions descend from each other; where a parent was taken out, the line ends
    #[arg(long, conflicts_with_all = ["url", "json"])]
    graph: bool,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Verb for Log {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let holdings = session.holdings()?;
        match &self.url {
            Some(url) => self.captures(&*holdings, url, session)?,
            None if !holdings.has_versions() => self.latest(&*holdings, session)?,
            None => self.versions(&*holdings, session)?,
        }
        Ok(Outcome::Done)
    }
}

impl Log {
    /// Which versions are asked for.
    fn filter(&self, holdings: &dyn Holdings) -> Result<VersionFilter, Error> {
        if let Some(tag) = &self.tag
            && holdings.catalog().tag(tag).map_err(ArchiveError::from)?.is_none()
        {
            return Err(ArchiveError::NoTag { name: tag.clone() }.into());
        }
        Ok(VersionFilter {
            url: self.touching.clone(),
            since: self.since,
            until: self.until,
            author: self.author.clone(),
            message: self.message.clone(),
            tag: self.tag.clone(),
        })
    }

    /// Whether versions are chosen by what they say.
    fn asks_of_versions(&self) -> bool {
        [&self.author, &self.message, &self.tag].into_iter().any(Option::is_some)
    }

    fn versions(&self, holdings: &dyn Holdings, session: &mut Session) -> Result<(), Error> {
        let filter = self.filter(holdings)?;
        let mut after = self.after.as_deref().map(|text| resolve_version(holdings, text)).transpose()?;
        let is_rest = after.is_some();
        let head = session.readable_head(holdings)?;
        let mut shown = 0;
        let mut graph = self.graph.then(Graph::default);
        let mut left = self.limit.unwrap_or(usize::MAX);
        while left > 0 {
            let found = versions(holdings, &filter, ListCursor { after, limit: left.min(PIECE) })?;
            for info in &found {
                match &mut graph {
                    Some(graph) => print_beside(graph, holdings, info, head, session)?,
                    None => self.print_version(info, head, session)?,
                }
            }
            (left, shown) = (left - found.len(), shown + found.len());
            match found.last() {
                Some(last) if found.len() == PIECE => after = Some(last.version.id),
                _ => break,
            }
        }
        if shown == 0 && self.limit != Some(0) && !is_rest {
            let is_all = filter == VersionFilter::default();
            session.printer.say(if is_all { "there are no versions yet" } else { "no version is like that" });
        }
        if let Some(since) = holdings.unfinished_since()?.filter(|_| !self.json) {
            session.printer.say(format_args!(
                "the capture of {} is not finished: `varve capture --resume` goes on with it, unless it is going on",
                since.for_people()
            ));
        }
        Ok(())
    }

    fn print_version(
        &self,
        info: &VersionInfo,
        head: Option<VersionId>,
        session: &mut Session,
    ) -> Result<(), Error> {
        if self.json {
            return session.printer.json(&VersionLine::of(info));
        }
        for line in describe(info, head) {
            session.printer.line(line)?;
        }
        session.printer.line("")
    }

    /// The captures of a layout that keeps no versions.
    fn latest(&self, holdings: &dyn Holdings, session: &mut Session) -> Result<(), Error> {
        let asks = [&self.after, &self.touching, &self.author, &self.message, &self.tag];
        if self.graph || asks.into_iter().any(Option::is_some) {
            return Err(ArchiveError::KeepsNoVersions.into());
        }
        session.printer.say("a Crystal project keeps no versions; these are its latest captures");
        let filter = CaptureFilter { since: self.since, until: self.until, ..CaptureFilter::default() };
        let mut left = self.limit.unwrap_or(LATEST);
        let mut last: Option<Capture> = None;
        while left > 0 {
            let limit = left.min(PIECE);
            let found = holdings.latest_captures(&filter, ListCursor { after: last.as_ref(), limit })?;
            for capture in &found {
                self.print_capture(holdings, capture, Columns { body: false, url: true }, session)?;
            }
            left -= found.len();
            if found.len() < limit {
                break;
            }
            last = found.into_iter().last();
        }
        Ok(())
    }

    fn captures(&self, holdings: &dyn Holdings, url: &str, session: &mut Session) -> Result<(), Error> {
        let is_chosen = self.asks_of_versions();
        if is_chosen && !holdings.has_versions() {
            return Err(ArchiveError::KeepsNoVersions.into());
        }
        let of_versions = self.filter(holdings)?;
        let mut chosen = Chosen::new(holdings, &of_versions);
        let filter = CaptureFilter { since: self.since, until: self.until, ..CaptureFilter::default() };
        let mut left = self.limit.unwrap_or(usize::MAX);
        let after = self.after.as_deref().map(|text| resolve_version(holdings, text)).transpose()?;
        let mut last = after.map(|version| last_in_version(holdings, url, version)).transpose()?;
        let (is_rest, mut shown) = (last.is_some(), 0);
        let mut is_more = left > 0;
        while is_more {
            // How many of them are of such versions is only known when they are here.
            let limit = if is_chosen { PIECE } else { left.saturating_add(BESIDE).min(PIECE) };
            let found = captures(holdings, url, &filter, ListCursor { after: last.as_ref(), limit })?;
            // Which spelling it was is said where there are several.
            let columns =
                Columns { body: true, url: found.iter().any(|capture| capture.url != found[0].url) };
            is_more = found.len() == limit;
            for capture in &found {
                if is_chosen && !chosen.takes(capture)? {
                    continue;
                }
                self.print_capture(holdings, capture, columns, session)?;
                (left, shown) = (left.saturating_sub(1), shown + 1);
                if left == 0 && may_end_behind(holdings, url, capture)? {
                    is_more = false;
                    break;
                }
            }
            last = found.into_iter().last();
        }
        if is_chosen && shown == 0 && !is_rest && self.limit != Some(0) {
            session.printer.say(format_args!("no version like that has a capture of {}", visible(url)));
        }
        // What was taken out belongs to no version any more.
        if self.after.is_none() && !is_chosen {
            let removals = removals(holdings, url, left)?;
            if shown == 0 && removals.is_empty() && self.limit != Some(0) {
                session.printer.say(format_args!("nothing was captured of {}", visible(url)));
            }
            self.print_removals(&removals, session)?;
        }
        Ok(())
    }

    /// Answers of which nothing is left but that they were taken out. When they came nobody knows any more.
    fn print_removals(&self, removals: &[Removal], session: &mut Session) -> Result<(), Error> {
        for removal in removals {
            if self.json {
                session.printer.json(&RemovedLine::of(removal))?;
            } else {
                session.printer.line(removed(removal))?;
            }
        }
        Ok(())
    }

    /// A list of the captures of all URLs shows no ids of bodies, unless machines ask: they may have to be read for it.
    fn print_capture(
        &self,
        holdings: &dyn Holdings,
        capture: &Capture,
        columns: Columns,
        session: &mut Session,
    ) -> Result<(), Error> {
        let version = version_of(capture);
        let removal = removal_of(holdings, capture)?;
        let (renderings, damage) = match holdings.renderings(capture) {
            Ok(renderings) => (renderings, None),
            // One that cannot be read keeps nobody from the others.
            Err(error) => match error.body_trouble() {
                Some(trouble) => (Renderings::default(), Some(trouble)),
                None => return Err(error.into()),
            },
        };
        if self.json {
            return session.printer.json(&CaptureLine {
                url: &capture.url,
                time: capture.time,
                status: capture.status,
                body: holdings.name_body(capture)?.to_string(),
                version: version.map(|version| version.to_string()),
                length: capture.length,
                truncated: capture.truncated,
                renderings: renderings.named().map(|(name, id)| (name, id.to_string())).collect(),
                removed: removal.as_ref().map(Removed::of),
                damaged: damage.is_some(),
            });
        }
        let version = version.map_or("(unfinished)".to_owned(), |version| short(&version));
        let length = capture.length.map_or("?".to_owned(), |length| length.to_string());
        let body = match columns.body {
            true => holdings.name_body(capture)?.to_string().chars().take(12).collect(),
            false => String::new(),
        };
        let cut = match (capture.truncated, capture.length) {
            (true, Some(_)) => format!(" {WARN}cut short{WARN:#}"),
            (true, None) => format!(" {WARN}body lost{WARN:#}"),
            (false, _) => String::new(),
        };
        let cut = match damage {
            Some(_) => format!("{cut} {BAD}its record cannot be read: `varve audit` names the damage{BAD:#}"),
            None => cut,
        };
        let url = if columns.url { format!("  {}", visible(&capture.url)) } else { String::new() };
        session.printer.line(format_args!(
            "{}  {}  {length:>10}  {FAINT}{body}{FAINT:#}  {STRONG}{version}{STRONG:#}{cut}{url}",
            capture.time.for_people(),
            status(capture.status),
        ))?;
        if let Some(removal) = &removal {
            session.printer.line(format_args!("    {}", removed(removal)))?;
        }
        for (name, id) in renderings.named() {
            session.printer.line(format_args!("    {name} {FAINT}{id}{FAINT:#}"))?;
        }
        Ok(())
    }
}

/// A version beside the drawing of where it comes from. The line of descent ends where the parent is gone: it was taken out by a
/// rewrite, or its row is lost, and nothing below could meet that line.
fn print_beside(
    graph: &mut Graph,
    holdings: &dyn Holdings,
    info: &VersionInfo,
    head: Option<VersionId>,
    session: &mut Session,
) -> Result<(), Error> {
    let mut lines = describe(info, head);
    let gone = gone_parent(holdings, info)?;
    let parent = info.version.parent.filter(|_| gone.is_none());
    lines.extend(gone);
    let drawn = graph.step(info.version.id, parent);
    let width = drawn.node.len().max(drawn.below.len());
    for (number, line) in lines.into_iter().chain([String::new()]).enumerate() {
        let margin = if number == 0 { &drawn.node } else { &drawn.below };
        session.printer.line(format!("{margin:width$} {line}").trim_end())?;
    }
    for line in drawn.joins {
        session.printer.line(line)?;
    }
    Ok(())
}

/// That the parent of a version is not here any more, if it is not.
pub(super) fn gone_parent(holdings: &dyn Holdings, info: &VersionInfo) -> Result<Option<String>, Error> {
    let Some(id) = info.version.parent else { return Ok(None) };
    let is_gone = holdings.catalog().version(&id).map_err(ArchiveError::from)?.is_none();
    Ok(is_gone.then(|| format!("{FAINT}its parent {} is not here any more{FAINT:#}", short(&id))))
}

/// What a line about a capture says besides the rest.
#[derive(Clone, Copy)]
struct Columns {
    body: bool,
    url: bool,
}

/// That something was taken out, in a line.
fn removed(removal: &Removal) -> String {
    let Removal { tombstone_record, tombstone } = removal;
    let (time, who, why) = (tombstone.time.for_people(), visible(&tombstone.who), visible(&tombstone.why));
    format!(
        "{WARN}taken out{WARN:#} {time} by {who}: {why}  {FAINT}{}, tombstone {tombstone_record}{FAINT:#}",
        tombstone.kind
    )
}

/// A status for people; what is no HTTP has none.
pub(super) fn status(status: u16) -> String {
    let style = if (200..400).contains(&status) { GOOD } else { WARN };
    match status {
        0 => format!("{WARN}---{WARN:#}"),
        _ => format!("{style}{status}{style:#}"),
    }
}

/// The beginning of a version's id, which is enough to name it.
pub(super) fn short(version: &VersionId) -> String {
    version.to_string().chars().take(8).collect()
}

/// A version in a few lines.
pub(super) fn describe(info: &VersionInfo, head: Option<VersionId>) -> Vec<String> {
    let version = &info.version;
    let mut names = Vec::new();
    if head == Some(version.id) {
        names.push("HEAD".to_owned());
    }
    names.extend(info.tags.iter().cloned());
    let names =
        if names.is_empty() { String::new() } else { format!(" {GOOD}({}){GOOD:#}", names.join(", ")) };
    let author = version.author.as_deref().filter(|author| !author.trim().is_empty());
    let author = author.map(|author| format!(", {}", visible(author))).unwrap_or_default();
    let mut lines = vec![
        format!("{STRONG}{}{STRONG:#}{names}", version.id),
        format!("{}{author}, {}", version.time.for_people(), counted(info.captures, "capture")),
    ];
    lines.extend(version.message.lines().map(|line| format!("    {}", visible(line))));
    lines
}

/// A version as machines see it.
#[derive(Serialize)]
pub(super) struct VersionLine<'a> {
    id: String,
    parent: Option<String>,
    message: &'a str,
    author: Option<&'a str>,
    time: Moment,
    captures: u64,
    tags: &'a [String],
}

impl<'a> VersionLine<'a> {
    pub(super) fn of(info: &'a VersionInfo) -> Self {
        Self {
            id: info.version.id.to_string(),
            parent: info.version.parent.map(|parent| parent.to_string()),
            message: &info.version.message,
            author: info.version.author.as_deref(),
            time: info.version.time,
            captures: info.captures,
            tags: &info.tags,
        }
    }
}

#[derive(Serialize)]
struct CaptureLine<'a> {
    url: &'a str,
    time: Moment,
    status: u16,
    body: String,
    version: Option<String>,
    length: Option<u64>,
    truncated: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    renderings: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<Removed<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    damaged: bool,
}

/// That something was taken out, as machines see it.
#[derive(Serialize)]
struct Removed<'a> {
    record: String,
    kind: &'a str,
    who: &'a str,
    why: &'a str,
    time: Moment,
    tombstone: String,
}

impl<'a> Removed<'a> {
    fn of(removal: &'a Removal) -> Self {
        let Removal { tombstone_record, tombstone } = removal;
        Self {
            record: tombstone.record.to_string(),
            kind: &tombstone.kind,
            who: &tombstone.who,
            why: &tombstone.why,
            time: tombstone.time,
            tombstone: tombstone_record.to_string(),
        }
    }
}

/// An answer of which nothing else is left.
#[derive(Serialize)]
struct RemovedLine<'a> {
    url: Option<&'a str>,
    time: Option<Moment>,
    status: Option<u16>,
    body: Option<String>,
    version: Option<String>,
    length: Option<u64>,
    removed: Removed<'a>,
}

impl<'a> RemovedLine<'a> {
    fn of(removal: &'a Removal) -> Self {
        let url = removal.tombstone.url.as_deref();
        let removed = Removed::of(removal);
        Self { url, time: None, status: None, body: None, version: None, length: None, removed }
    }
}
