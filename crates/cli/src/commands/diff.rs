//! `varve diff`: what changed between two versions.

mod document;
mod headers;
mod line;
mod notes;
mod summary;

use serde::Serialize;
use varve_archive::RepositoryError;
use varve_archive::history::Holdings;
use varve_archive::verbs::diff::{
    Body, Change, ChunkKind, HunkLine, Mode, Options, PageDiff, Report, Request, Totals, UNENDED, View,
    chunk_place, diff, html,
};
use varve_archive::verbs::show::version;
use varve_archive::{ArchiveError, VersionId};

use super::choosing::Choosing;
use super::show::word;
use super::{Outcome, Verb};
use crate::error::Error;
use crate::printer::{BAD, FAINT, GOOD, Printer, STRONG, WARN, visible};
use crate::revision::resolve_version;
use crate::session::Session;
use crate::troubles::word as word_of_trouble;
use document::Document;
use line::{drawn, letters, node};
use notes::{amount, cut_short, moved, not_compared, status_note};

const EXAMPLES: &str = "\
Examples:
  varve diff
  varve diff HEAD~3
  varve diff 2026-01-01 2026-06-01 --stat
  varve diff before-the-relaunch HEAD --url https://example.com/
  varve diff --mode dom --url https://example.com/
  varve diff --mode letters --url https://example.com/ --json
  varve diff HEAD~2 HEAD~1 --twin HEAD
  varve diff --format html > changes.html";

/// Show what changed between two versions
///
/// Without versions, what changed in HEAD since its parent; with one, since that one. A version may be named by a time as well, and is then the newest that is not
/// after it: of a day, as in `2026-11-17`, its end counts, as it does with `cat --at` and `log --until`. Pages are paired by path, and those of
/// two hosts only where each is the only one with its path, which is told. What only
/// seems to change, such as nonces, clocks, session ids and build hashes, is noise: it is left out, and counted, unless
/// `--all` is given, which shows it with the rule that knows it. A page that was captured twice in a row teaches more: with
/// `--twin VERSION`, what differs between the newer version and that one, which was captured together with it, is noise.
///
/// With `--json` there is one object: `base`, `head`, and `files`, each with `url`, `path`, `change` (added, removed,
/// changed), `status`, `body_diff` and `headers_diff`, which only names headers that are redacted: `redacted_headers` says of each whether it was
/// `added`, `removed` or is on `both` sides, where its values are not compared. A `body_diff` is `truncated` where its chunks do not tell all of it: what lies beyond 4 MiB of changed text is left out, and where very much
/// differs, long stretches are told as replaced without a closer look. A body that was not compared has no chunks at all, and is `truncated`, too: because it is longer than
/// 64 MiB, because it is known and not here (`absent`), because it is `damaged`, or because the system does not let it be read (`unreadable`), each said of
/// the older and of the newer version.
/// An answer that was cut short when it was captured is named in `cut_short`, of the older and of the newer version.
/// Pages that do not count as changed are in `noise`, each with `url`, `path` and its `rules`, and in `alike`, where bytes differ and the text
/// or the nodes are the `same`.
///
/// By letters, bodies are compared as Moku does it, with the place of each chunk in bytes of the body: these are the chunks that rows of
/// `diffs` hold, and that `varve score` counts, from 0 in each page. (Rows count three for each byte of a body that is not UTF-8, as Moku
/// does.) Noise is not looked for then.
///
/// By words, and in the texts of nodes, what went stands in `[-` and `-]` and what came in `{+` and `+}`. With `--format html` there is one page that needs nothing
/// else, with a list of the pages and both sides of every change.
///
/// In a Crystal project two moments are compared, as in `varve diff r5 HEAD` or between two times; `--newest-good` looks past
/// revisions that record failures.
///
/// Diffs can be computed at any time. With `--keep` this one is kept too, until `gc --keep-within` prunes it or `rebuild` makes the catalog again; a Moku site keeps that of
/// every version with its parent by itself.
///
/// With `--exit-code`, the exit code is 1 if anything differs; where a body is damaged or cannot be read, it is 1 in any case, and all other pages are shown.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Diff {
    /// The older version; without it, the parent of the newer one
    base: Option<String>,

    /// The newer version
    head: Option<String>,

    /// Only this page
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// A version that was captured together with the newer one: what differs between those two is noise
    #[arg(long, value_name = "VERSION")]
    twin: Option<String>,

    #[command(flatten)]
    choosing: Choosing,

    /// How to compare: by lines, by words, by nodes of the page, headers alone, or by letters
    #[arg(long, value_name = "MODE", default_value = "lines", value_parser = ["lines", "words", "dom", "headers", "letters"])]
    mode: String,

    /// How to show it
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json", "html"])]
    format: String,

    /// Print one JSON object; the same as `--format json`
    #[arg(long)]
    json: bool,

    /// Only say which pages changed, and how much, in lines for people
    #[arg(long, conflicts_with_all = ["name_only", "json", "format"])]
    stat: bool,

    /// Only say which pages changed, in lines for people
    #[arg(long, conflicts_with_all = ["json", "format"])]
    name_only: bool,

    /// Show noise as well
    #[arg(long)]
    all: bool,

    /// Compare lines without the white space at their ends
    #[arg(long)]
    ignore_trailing_space: bool,

    /// Lines around each change
    #[arg(long, short = 'U', value_name = "N", default_value_t = 3)]
    context: usize,

    /// Keep the diff with the archive as well, in the shape of the history's `diffs`
    #[arg(long, conflicts_with_all = ["url", "all"])]
    keep: bool,

    /// End with 1 if anything differs
    #[arg(long)]
    exit_code: bool,
}

impl Verb for Diff {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        if self.keep {
            session.must_write()?;
        }
        let holdings = self.choosing.holdings(session)?;
        let (base, head) = self.versions(&*holdings, &mut session.printer)?;
        let mode = match self.mode.as_str() {
            "words" => Mode::Words,
            "dom" => Mode::Dom,
            "letters" => Mode::Letters,
            _ => Mode::Lines,
        };
        let twin = self.twin.as_deref().map(|twin| resolve_version(&*holdings, twin)).transpose()?;
        let request = Request {
            base,
            head: Some(head),
            twin,
            url: self.url.clone(),
            options: self.options(mode),
            all: self.all,
            names_only: self.name_only,
            headers_only: self.mode == "headers",
        };
        let document = self.is_html().then(|| Document::new(&*holdings, base, head));
        let printer = &mut session.printer;
        let mut show = Show { verb: &self, printer, pages: 0, document, beginning: None };
        show.begin(base, head)?;
        let totals = diff(&*holdings, &request, |page| show.page(page))?;
        show.end(&totals)?;
        if self.keep {
            drop(holdings);
            let history = session.open_history()?;
            varve_archive::verbs::diff::keep(&*history, base, head)?;
        }
        let is_finding = totals.unread > 0 || (self.exit_code && totals.differ());
        Ok(if is_finding { Outcome::Findings } else { Outcome::Done })
    }
}

impl Diff {
    fn versions(
        &self,
        holdings: &dyn Holdings,
        printer: &mut Printer,
    ) -> Result<(Option<VersionId>, VersionId), Error> {
        let head = resolve_version(holdings, self.head.as_deref().unwrap_or("HEAD"))?;
        let base = match &self.base {
            Some(text) => Some(resolve_version(holdings, text)?),
            None if !holdings.has_versions() => return Err(ArchiveError::KeepsNoVersions.into()),
            None => match version(holdings, &head)?.version.parent.map(|parent| version(holdings, &parent)) {
                Some(Ok(parent)) => Some(parent.version.id),
                Some(Err(
                    gone @ (RepositoryError::VersionRemoved { .. } | RepositoryError::NoVersion { .. }),
                )) => {
                    printer.say(format_args!(
                        "its parent is not here, so that all pages count as added: {gone}"
                    ));
                    None
                }
                Some(Err(error)) => return Err(error.into()),
                None => None,
            },
        };
        Ok((base, head))
    }

    fn options(&self, mode: Mode) -> Options {
        let mut options = Options { mode, ..Options::default() };
        options.text.ignore_trailing_whitespace = self.ignore_trailing_space;
        options
    }

    fn is_html(&self) -> bool {
        self.format == "html" && !self.json
    }

    fn is_json(&self) -> bool {
        self.json || self.format == "json"
    }
}

/// A line is shown up to so many letters, where only the beginning of a change is shown.
const LONGEST_LINE: usize = 400;

/// Shows the beginning of how one page changed, to people, and how to see the rest.
pub(super) fn draw(
    page: &PageDiff<'_>,
    beginning: Beginning<'_>,
    printer: &mut Printer,
) -> Result<(), Error> {
    let verb = Diff {
        base: None,
        head: None,
        url: None,
        twin: None,
        choosing: Choosing::default(),
        mode: "lines".to_owned(),
        format: "text".to_owned(),
        json: false,
        stat: false,
        name_only: false,
        all: false,
        ignore_trailing_space: false,
        keep: false,
        context: 3,
        exit_code: false,
    };
    Show { verb: &verb, printer, pages: 0, document: None, beginning: Some(beginning) }.page(page)
}

/// How much of a page's change is shown.
pub(super) struct Beginning<'a> {
    /// So many lines.
    pub(super) lines: usize,
    /// The command that shows all.
    pub(super) whole: &'a str,
}

/// How one page changed, for programs.
pub(super) fn told(page: &PageDiff<'_>) -> serde_json::Value {
    serde_json::to_value(FileLine::of(page, false)).expect("a diff can be written as JSON")
}

/// Shows pages one after another.
struct Show<'a> {
    verb: &'a Diff,
    printer: &'a mut Printer,
    /// How many pages there were so far.
    pages: usize,
    /// Where there is to be a document, what there is of it.
    document: Option<Document>,
    /// Where not all of a page is to be shown, how much.
    beginning: Option<Beginning<'a>>,
}

impl Show<'_> {
    fn begin(&mut self, base: Option<VersionId>, head: VersionId) -> Result<(), Error> {
        if !self.verb.is_json() {
            return Ok(());
        }
        let base = base.map_or("null".to_owned(), |base| format!("\"{base}\""));
        self.printer.text(&format!("{{\"base\":{base},\"head\":\"{head}\",\"files\":["))
    }

    fn page(&mut self, page: &PageDiff<'_>) -> Result<(), Error> {
        if self.verb.is_json() {
            return self.json(page);
        }
        if self.document.is_some() {
            return self.html(page);
        }
        if self.verb.name_only {
            return self.printer.line(title(page));
        }
        if self.verb.stat {
            return self.printer.line(format_args!("{} {}", title(page), amount(page, self.verb.all)));
        }
        self.printer.line(format_args!("{STRONG}{}{STRONG:#}", title(page)))?;
        let is_asked_for = self.verb.mode == "headers";
        headers::draw(page, is_asked_for, self.verb.all, self.printer)?;
        for note in moved(page).into_iter().chain(cut_short(page)) {
            self.printer.line(format_args!("{WARN}{note}{WARN:#}"))?;
        }
        if self.verb.mode != "headers" {
            self.body(page)?;
        }
        self.printer.line("")
    }

    fn json(&mut self, page: &PageDiff<'_>) -> Result<(), Error> {
        if self.pages > 0 {
            self.printer.text(",")?;
        }
        self.pages += 1;
        let text =
            serde_json::to_string(&FileLine::of(page, self.verb.all)).expect("a diff can be written as JSON");
        self.printer.text(&text)
    }

    fn html(&mut self, page: &PageDiff<'_>) -> Result<(), Error> {
        let (view, all) = (self.view(), self.verb.all);
        let Some(document) = &mut self.document else { return Ok(()) };
        let title = format!("{} ({})", page.pair.any().url, word(page.change));
        let notes: Vec<String> =
            [moved, status_note, cut_short, not_compared].iter().filter_map(|note| note(page)).collect();
        document.add(title, |title, sides, number| match page.comparison {
            Some(comparison) => comparison.html_section(title, sides, notes, &view, all, number),
            None => html::section(&html::Page { title, notes, ..html::Page::default() }, &[], number),
        })
    }

    fn view(&self) -> View {
        let view = View { context: self.verb.context, ..View::default() };
        match &self.beginning {
            Some(beginning) => View { most: beginning.lines, ..view },
            None => view,
        }
    }

    fn body(&mut self, page: &PageDiff<'_>) -> Result<(), Error> {
        let Some(comparison) = page.comparison else {
            return not_compared(page).map_or(Ok(()), |note| self.printer.line(note));
        };
        if let Body::Dom(dom) = &comparison.body {
            let chunks = comparison.body_diff(self.verb.all).chunks;
            for ((change, _), chunk) in dom.shown(self.verb.all).zip(chunks) {
                self.printer.line(node(change, &chunk))?;
            }
        }
        if let Body::Letters(diff) = &comparison.body {
            for (number, chunk) in diff.chunks.iter().enumerate() {
                let (sign, style) = if chunk.kind == ChunkKind::Removed { ('-', BAD) } else { ('+', GOOD) };
                let (place, content) = (chunk_place(number, chunk), visible(&chunk.content));
                self.printer
                    .line(format_args!("{FAINT}{place}{FAINT:#} {style}{sign} {content}{style:#}"))?;
            }
        }
        let hunks = comparison.hunks(&self.view(), self.verb.all);
        let width = if self.beginning.is_some() { LONGEST_LINE } else { usize::MAX };
        for hunk in &hunks {
            self.printer.line(format_args!("{FAINT}{}{FAINT:#}", hunk.title()))?;
            for line in &hunk.lines {
                self.printer.line(drawn(line, self.verb.mode == "words", width))?;
                if line.unended {
                    self.printer.line(format_args!("{FAINT}{UNENDED}{FAINT:#}"))?;
                }
            }
        }
        let too_wide = |line: &HunkLine<'_>| letters(line) > width;
        let is_cut = hunks.last().is_some_and(|hunk| hunk.cut);
        if is_cut || hunks.iter().flat_map(|hunk| &hunk.lines).any(too_wide) {
            let more = match &self.beginning {
                Some(beginning) => format!("There is more; all of it: {}", beginning.whole),
                None => "There are more lines than are shown; `--stat` counts them.".to_owned(),
            };
            self.printer.line(format_args!("{FAINT}{}{FAINT:#}", visible(&more)))?;
        }
        for note in not_compared(page).into_iter().chain(comparison.notes(self.verb.all)) {
            self.printer.line(format_args!("{FAINT}{note}{FAINT:#}"))?;
        }
        Ok(())
    }

    fn end(&mut self, totals: &Totals) -> Result<(), Error> {
        if self.verb.is_json() {
            let quiet = summary::QuietPages::of(totals);
            let quiet = serde_json::to_string(&quiet).expect("names and counts can be written as JSON");
            return self.printer.line(format_args!("],{}", quiet.trim_start_matches('{')));
        }
        if let Some(document) = self.document.take() {
            document.print(totals, self.printer)?;
        }
        if !self.verb.name_only {
            self.printer.say(summary::sentence(totals));
        }
        Ok(())
    }
}

fn title(page: &PageDiff<'_>) -> String {
    let (letter, style) = match page.change {
        Change::Added => ('A', GOOD),
        Change::Removed => ('D', BAD),
        Change::Changed => ('M', WARN),
        Change::Unchanged => (' ', FAINT),
    };
    format!("{style}{letter}{style:#} {}", visible(&page.pair.any().url))
}

#[derive(Serialize)]
struct FileLine<'a> {
    url: &'a str,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    was: Option<&'a str>,
    change: &'static str,
    status: [Option<u16>; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_short: Option<[bool; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<[bool; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged: Option<[bool; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<[bool; 2]>,
    #[serde(flatten)]
    report: Option<Report>,
}

impl<'a> FileLine<'a> {
    fn of(page: &'a PageDiff<'_>, all: bool) -> Self {
        let any = page.pair.any();
        let which = |wanted: &str| {
            let sides = page.trouble.map(|trouble| trouble.map(word_of_trouble) == Some(wanted));
            Some(sides).filter(|sides| sides.contains(&true))
        };
        let mut report = page.comparison.map(|comparison| comparison.report(all));
        if let (Some(report), Some(changed)) = (&mut report, page.is_changed()) {
            report.changed = changed;
        }
        Self {
            url: &any.url,
            path: &any.path,
            was: page.pair.moved().map(|[base, _]| base),
            change: word(page.change),
            status: [&page.pair.base, &page.pair.head].map(|side| side.as_ref().map(|page| page.status)),
            cut_short: Some(page.cut_short()).filter(|sides| sides.contains(&true)),
            absent: which("absent"),
            damaged: which("damaged"),
            unreadable: which("unreadable"),
            report,
        }
    }
}
