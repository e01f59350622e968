//! `varve diff`: shows what changed between two versions.

mod document;
mod headers;
mod line_text;
mod notes;
mod summary;

use serde_json::{Value, json};
use varve_archive::history::HistoryReader;
use varve_archive::verbs::cat::check_named;
use varve_archive::verbs::diff::{
    BodyComparison, ChunkKind, CompareOptions, DiffMode, DiffView, HostPair, HunkLine, NO_NEWLINE_NOTE,
    PageComparison, Request, Totals, chunk_place, diff, diff_evidence, html,
};
use varve_archive::verbs::show::version;
use varve_archive::{ArchiveError, Capture, RepositoryError, VersionId, json_text};

use super::capture_choice::CaptureChoiceArgs;
use crate::body_problems::word as word_of_trouble;
use crate::printer::{
    BAD_STYLE, FAINT_STYLE, GOOD_STYLE, Printer, STRONG_STYLE, WARNING_STYLE, visible, with_fields,
};
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_names::{at, resolve_version};
use crate::version_text::{change_letter, change_word};
use document::DiffDocument;
use line_text::{hunk_line_text, line_width, node_change_text};
use notes::{amount, cut_short, moved, not_compared, older_capture, older_capture_time, status_note};

/// The message for a check without the URL to compare.
const CHECKS_NEED_URL: &str =
    "a check is compared one URL at a time: add `--url URL`, without `--keep` and `--noise-from`";

/// Show what changed between two versions
///
/// Without versions, compares HEAD with its parent; with one, compares HEAD with that one. A
/// version may be named by a time: then it is the newest version that is not later. A day such as
/// `2026-11-17` counts to its end, as in `cat --at` and `log --until`. A page is compared with
/// the page of the same path and host. `--pair-hosts OLD=NEW` also compares pages of the host NEW that
/// the older version does not have with those of OLD, as after a move to another name.
///
/// Changes without meaning, such as nonces, clocks, session ids and build hashes, are noise. Noise
/// is counted and not shown, except in the lines around a change, where it is marked; `--all` shows
/// all of it with the rule that recognised it. `--noise-from VERSION` learns from a second capture
/// made at the same time: differences between the newer version and that one are noise.
///
/// By words, and in text nodes, removed text is shown in `[-` and `-]`, added text in `{+` and
/// `+}`. `--format html` prints one self-contained page with a list of pages and both sides of
/// every change.
///
/// By chars, bodies are compared as Moku does, and each chunk has its position in bytes of the
/// body. The rows of `diffs` hold these chunks, and `varve score` counts them from 0 in each page.
/// (In rows each byte that is not UTF-8 counts three, as in Moku.) Noise is not recognised in this
/// mode.
///
/// Versions of an archive are compared by their states: for each page, what was last known of it up
/// to the version. A page is added, changed, gone (404, 410, or no longer found by a capture that
/// covers it and came to its end), back after it was gone, or unreachable, and then shown as it was.
/// A page that changed is compared with the capture before it, in whichever version that is. If the
/// older version did not make that capture, its time is given. Pages that no version between the two
/// asked about are counted as not asked. `--captures` compares only what the two versions captured
/// themselves, so that other pages are missing, and one that only the older version captured is
/// removed.
///
/// Versions of a Moku site are compared by the pages that they list. There, pages of two hosts are
/// compared where each is the only one with its path, which is noted.
///
/// With `--url`, one side or both may be a check (see `varve log --checks`): the response that
/// decided its verdict on the URL is compared.
///
/// In a Crystal project two moments are compared, as in `varve diff r5 HEAD` or between two times;
/// `--newest-good` skips revisions that are failures.
///
/// With `--keep`, the diff is also stored, until `gc --keep-within` removes it or `rebuild` makes
/// the catalog again. A Moku site stores the diff of every version with its parent.
///
/// With `--exit-code`, the exit code is 1 if anything differs. If a body is damaged or unreadable,
/// it is always 1; all other pages are shown.
///
/// With `--json`, prints one object: `base`, `head`, and `files`, each with `url`, `path`, `change`
/// (added, back, changed, gone, removed, unreachable), the `times` and the `status` of both captures,
/// `body_diff` and `headers_diff`; if the newer version could not reach the page, the `reason`. The
/// `summary` has the number of pages of each kind, those `unchanged`, `not_asked`, with only `noise`
/// and `alike` included. `redacted_headers` lists
/// headers whose values are hidden: `added`, `removed`, or on `both` sides, where the values are
/// not compared. A `body_diff` is `truncated` if it is incomplete: changes beyond 4 MiB of text are
/// left out, and very large differences are reported as replaced. A body that was not compared has
/// no chunks and is `truncated` too: it is larger than 64 MiB, missing (`absent`), `damaged` or
/// `unreadable`, each given for the older and the newer version. `cut_short` marks responses that
/// were truncated when they were captured. Pages that do not count as changed are in `noise`, with
/// `url`, `path` and `rules`, and in `alike`, where bytes differ and the text or the nodes are the
/// `same`.
///
/// The `chunks` of a `body_diff` have a `type` (added, removed, changed, moved) and `content`, and
/// `noise` names the rule. By nodes they also have the `path` of the element, the `part` of it
/// (text, comment, tag, attribute), and the value or place `before` and `after` it changed or
/// moved.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve diff
  varve diff HEAD~3
  varve diff 2026-01-01 2026-06-01 --stat
  varve diff before-the-relaunch HEAD --url https://example.com/
  varve diff HEAD 5f0c2a91 --url https://example.com/
  varve diff --mode dom --url https://example.com/
  varve diff --mode chars --url https://example.com/ --json
  varve diff HEAD~2 HEAD~1 --noise-from HEAD
  varve diff HEAD~1 HEAD --captures --stat
  varve diff before-the-move HEAD --pair-hosts old.example.com=example.com
  varve diff --format html > changes.html")]
pub(super) struct DiffArgs {
    /// The older version [default: the parent of the newer one]
    base: Option<String>,

    /// The newer version [default: HEAD]
    head: Option<String>,

    /// Compare this page only
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// Treat differences between the newer version and this one, captured at the same time, as
    /// noise
    #[arg(long, value_name = "VERSION")]
    noise_from: Option<String>,

    /// Compare only what the two versions captured themselves
    #[arg(long)]
    captures: bool,

    /// Also compare pages of the host NEW with those of the host OLD; can be repeated
    #[arg(long, value_name = "OLD=NEW", value_parser = host_pair)]
    pair_hosts: Vec<HostPair>,

    #[command(flatten)]
    choosing: CaptureChoiceArgs,

    #[command(flatten)]
    output: DiffOutputArgs,

    /// Ignore white space at the ends of lines
    #[arg(long)]
    ignore_trailing_space: bool,

    /// Also store the diff with the archive
    #[arg(long, conflicts_with_all = ["url", "all", "captures", "pair_hosts"])]
    keep: bool,

    /// Exit with 1 if anything differs
    #[arg(long)]
    exit_code: bool,
}

/// The versions to compare, and the form of the output.
#[derive(clap::Args)]
struct DiffOutputArgs {
    /// Compare by lines, words, DOM nodes, headers only, or characters
    #[arg(long, value_name = "MODE", default_value = "lines", value_parser = ["lines", "words", "dom", "headers", "chars"])]
    mode: String,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json", "html"])]
    format: String,

    /// Print one JSON object; the same as `--format json`
    #[arg(long)]
    json: bool,

    /// Show only which pages changed, and by how much
    #[arg(long, conflicts_with_all = ["name_only", "json", "format"])]
    stat: bool,

    /// Show only which pages changed
    #[arg(long, conflicts_with_all = ["json", "format"])]
    name_only: bool,

    /// Show noise as well
    #[arg(long)]
    all: bool,

    /// Lines of context around each change
    #[arg(long, short = 'U', value_name = "N", default_value_t = 3)]
    context: usize,
}

/// The options of an excerpt: lines, as text.
impl Default for DiffOutputArgs {
    fn default() -> Self {
        let (mode, format) = ("lines".to_owned(), "text".to_owned());
        Self { mode, format, json: false, stat: false, name_only: false, all: false, context: 3 }
    }
}

impl DiffOutputArgs {
    fn is_html(&self) -> bool {
        self.format == "html" && !self.json
    }

    fn is_json(&self) -> bool {
        self.json || self.format == "json"
    }
}

impl Verb for DiffArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        if self.keep {
            session.require_writable()?;
        }
        let history = self.choosing.open_reader(session)?;
        if let Some(sides) = self.evidence_sides(&history)? {
            return self.compare_evidence(&history, sides, session);
        }
        let (base, head) = self.versions(&history, &mut session.printer)?;
        let noise_from =
            self.noise_from.as_deref().map(|version| resolve_version(&history, version)).transpose()?;
        let request = Request { base, head: Some(head), noise_from, ..self.request() };
        let document = self.output.is_html().then(|| DiffDocument::new(&history, base, head));
        let printer = &mut session.printer;
        let mut show = DiffPrinter { document, base, ..DiffPrinter::new(&self.output, printer) };
        show.begin(base.map(|base| base.to_string()).as_deref(), &head.to_string())?;
        let totals = diff(&history, &request, |page| show.page(page))?;
        show.end(&totals)?;
        if self.keep {
            drop(history);
            let history = session.open_history()?;
            varve_archive::verbs::diff::keep(&history, base, head)?;
        }
        Ok(self.exit_status(&totals))
    }
}

impl DiffArgs {
    /// The options of the comparison, without the versions.
    fn request(&self) -> Request {
        let mode = match self.output.mode.as_str() {
            "words" => DiffMode::Words,
            "dom" => DiffMode::Dom,
            "chars" => DiffMode::Letters,
            _ => DiffMode::Lines,
        };
        Request {
            url: self.url.clone(),
            captures_only: self.captures,
            host_pairs: self.pair_hosts.clone(),
            options: self.options(mode),
            all: self.output.all,
            names_only: self.output.name_only,
            headers_only: self.output.mode == "headers",
            ..Request::default()
        }
    }

    fn exit_status(&self, totals: &Totals) -> ExitStatus {
        let is_finding = totals.unread > 0 || (self.exit_code && totals.differ());
        if is_finding { ExitStatus::Findings } else { ExitStatus::Done }
    }

    /// Both sides, if at least one of them is a check.
    fn evidence_sides(&self, history: &HistoryReader) -> Result<Option<[&str; 2]>, Error> {
        let (Some(base), head) = (self.base.as_deref(), self.head.as_deref().unwrap_or("HEAD")) else {
            return Ok(None);
        };
        let is_check = check_named(history, base)?.is_some() || check_named(history, head)?.is_some();
        Ok(is_check.then_some([base, head]))
    }

    /// Compares the responses of one URL in a check and in a version or another check.
    fn compare_evidence(
        &self,
        history: &HistoryReader,
        names: [&str; 2],
        session: &mut Session,
    ) -> Result<ExitStatus, Error> {
        if self.url.is_none() || self.keep || self.noise_from.is_some() {
            return Err(clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, CHECKS_NEED_URL).into());
        }
        let [base, head] = names.map(|name| at(history, name));
        let (base, head) = (base?, head?);
        let document = self.output.is_html().then(|| DiffDocument::between(names));
        let printer = &mut session.printer;
        let mut show = DiffPrinter { document, ..DiffPrinter::new(&self.output, printer) };
        show.begin(Some(names[0]), names[1])?;
        let totals = diff_evidence(history, &self.request(), [&base, &head], |page| show.page(page))?;
        show.end(&totals)?;
        Ok(self.exit_status(&totals))
    }

    fn versions(
        &self,
        history: &HistoryReader,
        printer: &mut Printer,
    ) -> Result<(Option<VersionId>, VersionId), Error> {
        let head = resolve_version(history, self.head.as_deref().unwrap_or("HEAD"))?;
        let base = match &self.base {
            Some(text) => Some(resolve_version(history, text)?),
            None if !history.has_versions() => return Err(ArchiveError::KeepsNoVersions.into()),
            None => match version(history, &head)?.version.parent.map(|parent| version(history, &parent)) {
                Some(Ok(parent)) => Some(parent.version.id),
                Some(Err(
                    gone @ (RepositoryError::VersionRemoved { .. } | RepositoryError::NoVersion { .. }),
                )) => {
                    printer.say(format_args!("its parent is missing, so all pages count as added: {gone}"));
                    None
                }
                Some(Err(error)) => return Err(error.into()),
                None => None,
            },
        };
        Ok((base, head))
    }

    fn options(&self, mode: DiffMode) -> CompareOptions {
        let mut options = CompareOptions { mode, ..CompareOptions::default() };
        options.text.ignore_trailing_whitespace = self.ignore_trailing_space;
        options
    }
}

/// Parses `OLD=NEW`.
fn host_pair(text: &str) -> Result<HostPair, String> {
    let is_host = |host: &&str| !host.is_empty() && !host.contains(['/', '?', '#', '@', '=', ' ']);
    let hosts = text.split_once('=').map(|(older, newer)| (older.trim(), newer.trim()));
    match hosts.filter(|(older, newer)| is_host(older) && is_host(newer)) {
        Some((older, newer)) => Ok(HostPair { older: older.to_owned(), newer: newer.to_owned() }),
        None => Err("give two hosts, as in `old.example.com=example.com`".to_owned()),
    }
}

/// Characters of a line in an excerpt.
const MAX_EXCERPT_LINE_CHARS: usize = 400;

/// Prints the beginning of the changes of a page, and the command that shows the rest.
pub(super) fn print_excerpt(
    page: &PageComparison<'_>,
    beginning: DiffExcerpt<'_>,
    printer: &mut Printer,
) -> Result<(), Error> {
    let output = DiffOutputArgs::default();
    let mut show = DiffPrinter::new(&output, printer);
    show.beginning = Some(beginning);
    show.page(page)
}

/// How much of the changes of a page to print.
pub(super) struct DiffExcerpt<'a> {
    /// Number of lines.
    pub(super) lines: usize,
    /// The command that shows everything.
    pub(super) whole: &'a str,
}

/// Prints pages one after another.
struct DiffPrinter<'a> {
    output: &'a DiffOutputArgs,
    printer: &'a mut Printer,
    /// The older version.
    base: Option<VersionId>,
    /// Number of pages so far.
    pages: usize,
    /// The HTML document, with `--format html`.
    document: Option<DiffDocument>,
    /// How much to print of a page, in an excerpt.
    beginning: Option<DiffExcerpt<'a>>,
}

impl<'a> DiffPrinter<'a> {
    fn new(output: &'a DiffOutputArgs, printer: &'a mut Printer) -> Self {
        Self { output, printer, base: None, pages: 0, document: None, beginning: None }
    }

    fn begin(&mut self, base: Option<&str>, head: &str) -> Result<(), Error> {
        if !self.output.is_json() {
            return Ok(());
        }
        let (base, head) = (json!(base), json!(head));
        self.printer.text(&format!("{{\"base\":{base},\"head\":{head},\"files\":["))
    }

    fn page(&mut self, page: &PageComparison<'_>) -> Result<(), Error> {
        if self.output.is_json() {
            return self.json(page);
        }
        if self.document.is_some() {
            return self.html(page);
        }
        if self.output.name_only {
            return self.printer.line(title(page));
        }
        if self.output.stat {
            let since = older_capture_time(page, self.base);
            let since = since.map_or_else(String::new, |time| format!(", since {}", time.for_people()));
            let amount = amount(page, self.output.all);
            return self.printer.line(format_args!("{} {amount}{since}", title(page)));
        }
        self.printer.line(format_args!("{STRONG_STYLE}{}{STRONG_STYLE:#}", title(page)))?;
        let headers_only = self.output.mode == "headers";
        headers::draw(page, headers_only, self.output.all, self.printer)?;
        if let Some(note) = older_capture(page, self.base) {
            self.printer.line(format_args!("{FAINT_STYLE}{note}{FAINT_STYLE:#}"))?;
        }
        for note in moved(page).into_iter().chain(cut_short(page)) {
            self.printer.line(format_args!("{WARNING_STYLE}{note}{WARNING_STYLE:#}"))?;
        }
        if self.output.mode != "headers" {
            self.body(page)?;
        }
        self.printer.line("")
    }

    fn json(&mut self, page: &PageComparison<'_>) -> Result<(), Error> {
        if self.pages > 0 {
            self.printer.text(",")?;
        }
        self.pages += 1;
        let row = page_diff_json(page, self.output.all);
        self.printer.text(&json_text(&row).map_err(|error| Error::Output(error.into()))?)
    }

    fn html(&mut self, page: &PageComparison<'_>) -> Result<(), Error> {
        let (view, all, base) = (self.view(), self.output.all, self.base);
        let Some(document) = &mut self.document else { return Ok(()) };
        let title = format!("{} ({})", page.pair.any().url, change_word(page.change));
        let mut notes: Vec<String> = older_capture(page, base).into_iter().collect();
        notes.extend([moved, status_note, cut_short, not_compared].iter().filter_map(|note| note(page)));
        document.add(title, |title, sides, number| match page.comparison {
            Some(comparison) => comparison.html_section(title, sides, notes, &view, all, number),
            None => html::section(&html::DiffPage { title, notes, ..html::DiffPage::default() }, &[], number),
        })
    }

    fn view(&self) -> DiffView {
        let view = DiffView { context: self.output.context, ..DiffView::default() };
        match &self.beginning {
            Some(beginning) => DiffView { most: beginning.lines, ..view },
            None => view,
        }
    }

    fn body(&mut self, page: &PageComparison<'_>) -> Result<(), Error> {
        let Some(comparison) = page.comparison else {
            return not_compared(page).map_or(Ok(()), |note| self.printer.line(note));
        };
        if let BodyComparison::Dom(dom) = &comparison.body {
            let chunks = comparison.body_diff(self.output.all).chunks;
            for ((change, _), chunk) in dom.shown(self.output.all).zip(chunks) {
                self.printer.line(node_change_text(change, &chunk))?;
            }
        }
        if let BodyComparison::Letters(diff) = &comparison.body {
            for (number, chunk) in diff.chunks.iter().enumerate() {
                let (sign, style) =
                    if chunk.kind == ChunkKind::Removed { ('-', BAD_STYLE) } else { ('+', GOOD_STYLE) };
                let (place, content) = (chunk_place(number, chunk), visible(&chunk.content));
                self.printer.line(format_args!(
                    "{FAINT_STYLE}{place}{FAINT_STYLE:#} {style}{sign} {content}{style:#}"
                ))?;
            }
        }
        let hunks = comparison.hunks(&self.view(), self.output.all);
        let width = if self.beginning.is_some() { MAX_EXCERPT_LINE_CHARS } else { usize::MAX };
        for hunk in &hunks {
            self.printer.line(format_args!("{FAINT_STYLE}{}{FAINT_STYLE:#}", hunk.title()))?;
            for line in hunk.lines.iter().flat_map(HunkLine::printed) {
                self.printer.line(hunk_line_text(&line, self.output.mode == "words", width))?;
                if line.unended {
                    self.printer.line(format_args!("{FAINT_STYLE}{NO_NEWLINE_NOTE}{FAINT_STYLE:#}"))?;
                }
            }
        }
        let too_wide = |line: &HunkLine<'_>| line_width(line) > width;
        let is_cut = hunks.last().is_some_and(|hunk| hunk.cut);
        if is_cut || hunks.iter().flat_map(|hunk| &hunk.lines).any(too_wide) {
            let more = match &self.beginning {
                Some(beginning) => format!("There is more: {}", beginning.whole),
                None => "Not all lines are shown; `--stat` counts them.".to_owned(),
            };
            self.printer.line(format_args!("{FAINT_STYLE}{}{FAINT_STYLE:#}", visible(&more)))?;
        }
        for note in not_compared(page).into_iter().chain(comparison.notes()) {
            self.printer.line(format_args!("{FAINT_STYLE}{note}{FAINT_STYLE:#}"))?;
        }
        Ok(())
    }

    fn end(&mut self, totals: &Totals) -> Result<(), Error> {
        if self.output.is_json() {
            let insignificant = json_text(&summary::insignificant_json(totals));
            let insignificant = insignificant.map_err(|error| Error::Output(error.into()))?;
            return self.printer.line(format_args!("],{}", insignificant.trim_start_matches('{')));
        }
        if let Some(document) = self.document.take() {
            document.print(totals, self.printer)?;
        }
        if !self.output.name_only {
            self.printer.say(summary::sentence(totals));
        }
        Ok(())
    }
}

fn title(page: &PageComparison<'_>) -> String {
    format!("{} {}", change_letter(page.change), visible(&page.pair.any().url))
}

/// The changes of one page as JSON.
pub(super) fn page_diff_json(page: &PageComparison<'_>, all: bool) -> Value {
    let any = page.pair.any();
    let mut row = json!({ "url": any.url, "path": any.path });
    if let Some([base, _]) = page.pair.moved() {
        row["was"] = json!(base);
    }
    row["change"] = json!(change_word(page.change));
    let status = |side: &Option<Capture>| side.as_ref().map(|page| page.status);
    row["status"] = json!([status(&page.pair.base), status(&page.pair.head)]);
    let time = |side: &Option<Capture>| side.as_ref().map(|page| page.time.to_string());
    row["times"] = json!([time(&page.pair.base), time(&page.pair.head)]);
    let mut mark = |name: &str, sides: [bool; 2]| {
        if sides.contains(&true) {
            row[name] = json!(sides);
        }
    };
    mark("cut_short", page.cut_short());
    for failure in ["absent", "damaged", "unreadable"] {
        mark(failure, page.trouble.map(|trouble| trouble.map(word_of_trouble) == Some(failure)));
    }
    if let [_, Some(reason)] = page.pair.unreachable() {
        row["reason"] = json!(reason);
    }
    let Some(comparison) = page.comparison else { return row };
    let mut report = comparison.report(all);
    report.changed = page.is_changed().unwrap_or(report.changed);
    with_fields(row, &report)
}
