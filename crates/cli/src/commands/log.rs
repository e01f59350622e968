//! `varve log`: lists versions, or the captures of a URL.

mod checks;

use serde_json::{Value, json};
use varve_archive::history::{CrystalHistoryReader, HistoryReader};
use varve_archive::verbs::cat::{removal_of, version_of};
use varve_archive::verbs::crystal::RevisionSearch;
use varve_archive::verbs::log::{
    CaptureFilter, ListCursor, Removal, VersionFilter, VersionInfo, captures, last_in_version,
    may_end_behind, removals, versions,
};
use varve_archive::verbs::version_membership::VersionMembership;
use varve_archive::{ArchiveError, Capture, Moment, Renderings, RepositoryError, VersionId};

use crate::clock;
use crate::printer::{BAD_STYLE, FAINT_STYLE, STRONG_STYLE, WARNING_STYLE, visible};
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_graph::VersionGraph;
use crate::version_names::resolve_version;
use crate::version_text::{
    declaring_page_text, describe_version, missing_parent_note, status_text, version_json,
    version_of_capture_text,
};

/// Rows read at a time.
const READ_BATCH_SIZE: usize = 200;
/// Captures read beyond the limit, to see whether the version has more: a page has few spellings.
const EXTRA_CAPTURES_READ: usize = 8;
/// Captures shown of a layout without versions, unless `--limit` is given: each one reads a body.
const DEFAULT_CAPTURE_LIMIT: usize = 100;

const CAPTURES_NEED_URL: &str =
    "`--errors`, `--status` and `--without-cookie` select captures: name a URL, or a Crystal project";
const COOKIES_NEED_PROJECT: &str = "only a Crystal project records whether a request had a cookie";

/// List versions, newest first, or the captures of a URL
///
/// A URL may be given in any spelling: all captures of the page are listed, and if they have
/// several spellings, each shows its own.
///
/// Content that `varve purge` removed is marked, with who, when and why. A Crystal project keeps no
/// versions: its latest captures are listed, 100 unless `--limit` is given.
///
/// `--author`, `--message` and `--tag` select versions; with a URL, its captures in those versions.
/// `--since` and `--until` compare the times of the listed items.
///
/// To page through a long list, use `--limit N`, then add `--after` with the id of the last
/// version. Captures of a URL continue after the oldest one in that version. A page of the list
/// ends only there, so it may be longer than N, and nothing is missed or repeated.
///
/// Checks make no versions: `--checks` lists them, and with a URL the verdicts on it. `varve cat URL
/// --at CHECK` prints the response that decided, and `varve diff VERSION CHECK --url URL` compares it.
///
/// With `--json`, prints one object per line. Versions: `id`, `parent`, `message`, `author`,
/// `time`, `captures`, `tags`. Captures: `url`, `time`, `status`, `body`, `version`, `length`,
/// `damaged` if the record cannot be read, `renderings` (ids of the rendered document and the
/// screenshot, for `varve get`), and `removed` after a purge: `record`, `kind`, `who`, `why`,
/// `time`, `tombstone`. A capture that was removed completely has `null` in the other fields except
/// `url`. Captures of a Crystal project also have `error` (`type` and `message`, or `null`),
/// `has_cookie`, and `time_is_invented` if the response had no date: the time is then that of the
/// download before. Checks: `check`, `time`, `message`, `author`, `summary` (the number of URLs by
/// verdict), `record`. Verdicts: `url`, `time`, `verdict`, `status`, `expected`, `got`, `warning`,
/// `redirects`, `capture`, `check`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve log
  varve log --limit 5 --author ada
  varve log --graph
  varve log https://example.com/
  varve log https://example.com/ --since 2026-01-01 --json
  varve log https://example.com/ --since 2w --author ada
  varve log https://example.com/ --limit 20 --after 0b8af3c1
  varve log https://example.com/ --errors
  varve log --checks
  varve log https://example.com/ --checks --limit 10
  varve -C museum.crystalproj log --status 404
  varve -C museum.crystalproj log --without-cookie --json")]
pub(super) struct LogArgs {
    /// List the captures of this URL
    url: Option<String>,

    /// List at most N
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,

    /// Continue after this version
    #[arg(long, value_name = "VERSION")]
    after: Option<String>,

    /// Only from this time on: a time, or an age such as `90m`, `2d` or `1w`
    #[arg(long, value_name = "TIME", value_parser = clock::parse_moment)]
    since: Option<Moment>,

    /// Only up to this time; a day such as `2026-11-17` or a second counts to its end
    #[arg(long, value_name = "TIME", value_parser = clock::parse_end)]
    until: Option<Moment>,

    /// Only versions that contain this URL, in any spelling
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

    /// Only captures that failed: no response, or a status of 400 or more
    #[arg(long)]
    errors: bool,

    /// Only captures with this status
    #[arg(long, value_name = "CODE", value_parser = clap::value_parser!(u16).range(1..))]
    status: Option<u16>,

    /// Only captures that were requested without a cookie; for Crystal projects
    #[arg(long)]
    without_cookie: bool,

    /// List checks instead of versions; with a URL, the verdicts on it
    #[arg(long, conflicts_with_all = ["graph", "touching", "tag", "errors", "status", "without_cookie"])]
    checks: bool,

    /// Draw the ancestry of versions; the line ends where a parent was removed
    #[arg(long, conflicts_with_all = ["url", "json"])]
    graph: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Verb for LogArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let history = session.open_reader()?;
        match (&self.url, &history) {
            (_, HistoryReader::Moku(_) | HistoryReader::Crystal(_) | HistoryReader::WebArchive(_))
                if self.checks =>
            {
                return Err(RepositoryError::NotAnArchive { path: session.root()? }.into());
            }
            (Some(url), _) if self.checks => checks::list_verdicts(&self, &history, url, session)?,
            (None, _) if self.checks => checks::list(&self, &history, session)?,
            (Some(url), _) => self.captures(&history, url, session)?,
            (None, HistoryReader::Crystal(project)) => self.latest(&history, project, session)?,
            (None, _) if self.asks_of_captures() => {
                return Err(
                    clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, CAPTURES_NEED_URL).into()
                );
            }
            (None, HistoryReader::Archive(_) | HistoryReader::Moku(_) | HistoryReader::WebArchive(_)) => {
                self.versions(&history, session)?;
            }
        }
        Ok(ExitStatus::Done)
    }
}

impl LogArgs {
    /// Which versions to list.
    fn filter(&self, history: &HistoryReader) -> Result<VersionFilter, Error> {
        if let Some(tag) = &self.tag
            && history.catalog().tag(tag).map_err(ArchiveError::from)?.is_none()
        {
            return Err(ArchiveError::NoTag(tag.clone()).into());
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

    /// Whether captures are selected by their responses.
    fn asks_of_captures(&self) -> bool {
        self.errors || self.status.is_some() || self.without_cookie
    }

    fn search(&self) -> RevisionSearch {
        let (errors, without_cookie) = (self.errors, self.without_cookie);
        RevisionSearch { errors, without_cookie, status: self.status.map(i64::from) }
    }

    /// Whether a capture of a URL has the wanted response.
    fn takes(&self, history: &HistoryReader, capture: &Capture) -> Result<bool, Error> {
        let is_error = capture.status == 0 || capture.status >= 400;
        if (self.errors && !is_error) || self.status.is_some_and(|status| status != capture.status) {
            return Ok(false);
        }
        match (self.without_cookie, history) {
            (true, HistoryReader::Crystal(project)) => Ok(!project.download_facts(capture)?.has_cookie),
            _ => Ok(true),
        }
    }

    /// Whether versions are selected by author, message or tag.
    fn asks_of_versions(&self) -> bool {
        [&self.author, &self.message, &self.tag].into_iter().any(Option::is_some)
    }

    fn versions(&self, history: &HistoryReader, session: &mut Session) -> Result<(), Error> {
        let filter = self.filter(history)?;
        let mut after = self.after.as_deref().map(|text| resolve_version(history, text)).transpose()?;
        let is_rest = after.is_some();
        let head = session.readable_head(history)?;
        let mut shown = 0;
        let mut graph = self.graph.then(VersionGraph::default);
        let mut left = self.limit.unwrap_or(usize::MAX);
        while left > 0 {
            let found = versions(history, &filter, ListCursor { after, limit: left.min(READ_BATCH_SIZE) })?;
            for info in &found {
                match &mut graph {
                    Some(graph) => print_beside(graph, history, info, head, session)?,
                    None => self.print_version(info, head, session)?,
                }
            }
            (left, shown) = (left - found.len(), shown + found.len());
            match found.last() {
                Some(last) if found.len() == READ_BATCH_SIZE => after = Some(last.version.id),
                _ => break,
            }
        }
        if shown == 0 && self.limit != Some(0) && !is_rest {
            let is_all = filter == VersionFilter::default();
            session.printer.say(if is_all { "there are no versions yet" } else { "no version matches" });
        }
        if let Some(since) = history.unfinished_since()?.filter(|_| !self.json) {
            session.printer.say(format_args!(
                "the capture of {} is not finished: unless it is still running, `varve capture --resume` continues it",
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
            return session.printer.json(&version_json(info));
        }
        for line in describe_version(info, head) {
            session.printer.line(line)?;
        }
        session.printer.line("")
    }

    /// Lists the latest captures of a project, which keeps no versions.
    fn latest(
        &self,
        history: &HistoryReader,
        project: &CrystalHistoryReader,
        session: &mut Session,
    ) -> Result<(), Error> {
        let asks = [&self.after, &self.touching, &self.author, &self.message, &self.tag];
        if self.graph || asks.into_iter().any(Option::is_some) {
            return Err(ArchiveError::KeepsNoVersions.into());
        }
        session.printer.say("a Crystal project keeps no versions; these are its latest captures");
        let filter = CaptureFilter { since: self.since, until: self.until, ..CaptureFilter::default() };
        let mut left = self.limit.unwrap_or(DEFAULT_CAPTURE_LIMIT);
        let mut last: Option<Capture> = None;
        while left > 0 {
            let limit = left.min(READ_BATCH_SIZE);
            let page = ListCursor { after: last.as_ref(), limit };
            let found = project.search_captures(&filter, self.search(), page)?;
            for capture in &found {
                self.print_capture(history, capture, CaptureColumns { body: false, url: true }, session)?;
            }
            left -= found.len();
            if found.len() < limit {
                break;
            }
            last = found.into_iter().last();
        }
        Ok(())
    }

    fn captures(&self, history: &HistoryReader, url: &str, session: &mut Session) -> Result<(), Error> {
        let is_chosen = self.asks_of_versions();
        if is_chosen && !history.has_versions() {
            return Err(ArchiveError::KeepsNoVersions.into());
        }
        if self.without_cookie && !matches!(history, HistoryReader::Crystal(_)) {
            return Err(
                clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, COOKIES_NEED_PROJECT).into()
            );
        }
        let of_versions = self.filter(history)?;
        let mut chosen = VersionMembership::new(history, &of_versions);
        let filter = CaptureFilter { since: self.since, until: self.until, ..CaptureFilter::default() };
        let mut left = self.limit.unwrap_or(usize::MAX);
        let after = self.after.as_deref().map(|text| resolve_version(history, text)).transpose()?;
        let mut last = after.map(|version| last_in_version(history, url, version)).transpose()?;
        let (is_rest, mut shown) = (last.is_some(), 0);
        let mut is_more = left > 0;
        while is_more {
            // Only after reading is it known which of them are in selected versions.
            let limit = if is_chosen || self.asks_of_captures() {
                READ_BATCH_SIZE
            } else {
                left.saturating_add(EXTRA_CAPTURES_READ).min(READ_BATCH_SIZE)
            };
            let found = captures(history, url, &filter, ListCursor { after: last.as_ref(), limit })?;
            if let Some(first) = found.first().filter(|_| last.is_none() && !self.json) {
                let other = declaring_page_text(url, &first.url);
                other.iter().for_each(|other| session.printer.say(other));
            }
            // Show the URL of each capture if there are several spellings.
            let columns =
                CaptureColumns { body: true, url: found.iter().any(|capture| capture.url != found[0].url) };
            is_more = found.len() == limit;
            for capture in &found {
                if (is_chosen && !chosen.takes(capture)?) || !self.takes(history, capture)? {
                    continue;
                }
                self.print_capture(history, capture, columns, session)?;
                (left, shown) = (left.saturating_sub(1), shown + 1);
                if left == 0 && may_end_behind(history, url, capture)? {
                    is_more = false;
                    break;
                }
            }
            last = found.into_iter().last();
        }
        if is_chosen && shown == 0 && !is_rest && self.limit != Some(0) {
            session.printer.say(format_args!("no matching version has a capture of {}", visible(url)));
        }
        // Removed captures belong to no version, and have no response.
        if self.after.is_none() && !is_chosen && !self.asks_of_captures() {
            let removals = removals(history, url, left)?;
            if shown == 0 && removals.is_empty() && self.limit != Some(0) {
                session.printer.say(format_args!("there is no capture of {}", visible(url)));
            }
            self.print_removals(&removals, session)?;
        }
        Ok(())
    }

    /// Prints captures that were removed completely. Their time is not known.
    fn print_removals(&self, removals: &[Removal], session: &mut Session) -> Result<(), Error> {
        for removal in removals {
            if self.json {
                session.printer.json(&json!({
                    "url": removal.tombstone.url,
                    "time": null,
                    "status": null,
                    "body": null,
                    "version": null,
                    "length": null,
                    "removed": removal_json(removal),
                }))?;
            } else {
                session.printer.line(removed(removal))?;
            }
        }
        Ok(())
    }

    /// Prints a capture. A list of all URLs shows no body ids, except as JSON: bodies may have to be
    /// read for them.
    fn print_capture(
        &self,
        history: &HistoryReader,
        capture: &Capture,
        columns: CaptureColumns,
        session: &mut Session,
    ) -> Result<(), Error> {
        let removal = removal_of(history, capture)?;
        let (renderings, damage) = match history.renderings(capture) {
            Ok(renderings) => (renderings, None),
            // A damaged capture does not stop the list.
            Err(error) => match error.body_failure() {
                Some(trouble) => (Renderings::default(), Some(trouble)),
                None => return Err(error.into()),
            },
        };
        let facts = match history {
            HistoryReader::Crystal(project) => Some(project.download_facts(capture)?),
            HistoryReader::Archive(_) | HistoryReader::Moku(_) | HistoryReader::WebArchive(_) => None,
        };
        if self.json {
            let mut row = capture_json(history, capture, &renderings, removal.as_ref(), damage.is_some())?;
            if let Some(facts) = &facts {
                row["error"] = json!(facts.error);
                row["has_cookie"] = json!(facts.has_cookie);
                row["time_is_invented"] = json!(facts.time_is_invented);
            }
            return session.printer.json(&row);
        }
        let version = version_of_capture_text(history, capture)?;
        let length = capture.length.map_or("?".to_owned(), |length| length.to_string());
        let body = match columns.body {
            true => history.body_id(capture)?.to_string().chars().take(12).collect(),
            false => String::new(),
        };
        let is_time_invented = facts.is_some_and(|facts| facts.time_is_invented);
        let marks = capture_marks(capture, damage.is_some(), is_time_invented);
        let url = if columns.url { format!("  {}", visible(&capture.url)) } else { String::new() };
        session.printer.line(format_args!(
            "{}  {}  {length:>10}  {FAINT_STYLE}{body}{FAINT_STYLE:#}  {STRONG_STYLE}{version}{STRONG_STYLE:#}{marks}{url}",
            capture.time.for_people(),
            status_text(capture.status),
        ))?;
        if let Some(removal) = &removal {
            session.printer.line(format_args!("    {}", removed(removal)))?;
        }
        for (name, id) in renderings.named() {
            session.printer.line(format_args!("    {name} {FAINT_STYLE}{id}{FAINT_STYLE:#}"))?;
        }
        Ok(())
    }
}

/// The notes behind a capture in a list.
fn capture_marks(capture: &Capture, is_damaged: bool, is_time_invented: bool) -> String {
    let mut marks = match (capture.truncated, capture.length) {
        (true, Some(_)) => format!(" {WARNING_STYLE}truncated{WARNING_STYLE:#}"),
        (true, None) => format!(" {WARNING_STYLE}body lost{WARNING_STYLE:#}"),
        (false, _) => String::new(),
    };
    if is_damaged {
        marks += &format!(" {BAD_STYLE}its record is damaged: see `varve audit`{BAD_STYLE:#}");
    }
    if is_time_invented {
        marks += &format!(" {FAINT_STYLE}time unknown{FAINT_STYLE:#}");
    }
    marks
}

/// A capture as JSON.
fn capture_json(
    history: &HistoryReader,
    capture: &Capture,
    renderings: &Renderings,
    removal: Option<&Removal>,
    is_damaged: bool,
) -> Result<Value, Error> {
    let mut row = json!({
        "url": capture.url,
        "time": capture.time,
        "status": capture.status,
        "body": history.body_id(capture)?,
        "version": version_of(capture),
        "length": capture.length,
        "truncated": capture.truncated,
    });
    for (name, id) in renderings.named() {
        row["renderings"][name] = json!(id);
    }
    if let Some(removal) = removal {
        row["removed"] = removal_json(removal);
    }
    if is_damaged {
        row["damaged"] = json!(true);
    }
    Ok(row)
}

/// Prints a version with the graph on its left. The line of descent ends where the parent was
/// purged or its row is lost.
fn print_beside(
    graph: &mut VersionGraph,
    history: &HistoryReader,
    info: &VersionInfo,
    head: Option<VersionId>,
    session: &mut Session,
) -> Result<(), Error> {
    let mut lines = describe_version(info, head);
    let gone = missing_parent_note(history, info)?;
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

/// Optional columns in the list of captures.
#[derive(Clone, Copy)]
struct CaptureColumns {
    body: bool,
    url: bool,
}

/// A removal in one line.
fn removed(removal: &Removal) -> String {
    let Removal { tombstone_record, tombstone } = removal;
    let (time, who, why) = (tombstone.time.for_people(), visible(&tombstone.who), visible(&tombstone.why));
    format!(
        "{WARNING_STYLE}removed{WARNING_STYLE:#} {time} by {who}: {why}  {FAINT_STYLE}{}, tombstone {tombstone_record}{FAINT_STYLE:#}",
        tombstone.kind.name()
    )
}

/// A removal as JSON.
fn removal_json(removal: &Removal) -> Value {
    let Removal { tombstone_record, tombstone } = removal;
    json!({
        "record": tombstone.record,
        "kind": tombstone.kind,
        "who": tombstone.who,
        "why": tombstone.why,
        "time": tombstone.time,
        "tombstone": tombstone_record,
    })
}
