//! `varve commit`: keeps pages that people hand over, as one version.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use varve_archive::verbs::commit::{
    Below, Committed, LeftOut, NewBody, NewPage, NotAPage, Request, commit, files_below, must_have_room,
};
use varve_archive::{Headers, Moment, RepositoryError, Size};

use super::checkout::say_covered;
use super::{Outcome, Verb};
use crate::error::{Error, report};
use crate::printer::{Printer, WARN, counted, visible};
use crate::revision::resolve_version;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve commit page.html --url https://example.com/ -m 'the page as it was sent to us'
  varve commit page.html --url https://example.com/ --header 'Content-Type: text/html' --status 200 -m mail
  varve commit --from site/ --base-url https://example.com/ -m 'the site before the relaunch'
  varve commit --from site/ --base-url https://example.com/ --index index.html -m 'as a server would show it'
  varve commit --from upload/ --base-url https://example.com/ -m 'by a visitor' --largest 10MiB --most-versions 1000
  varve commit --lines pages.jsonl -m 'from the old system' --author 'Ada <ada@example.com>'";

/// The word that stands for standard input.
const STDIN: &str = "-";
/// What a page may be answered with.
const STATUSES: std::ops::Range<u16> = 100..1000;

/// Keep pages that did not come from the web, as one version
///
/// Each page is a file with the URL it stands for. All pages of a call become one version, or none does. Bodies that
/// are here already are not stored again.
///
/// Of a folder that was committed before, only files are read whose length, times or inode are others now, as git does it;
/// `--read-all` reads every one, and looks whether what is stored is still whole.
///
/// A version holds the pages that are committed in it, and descends from HEAD, or from `--parent`.
///
/// With `--lines` each line is a JSON object: `url`, and `body` (text), `body_base64` or `file`; `status`, `headers`
/// (`{name: value}` or `{name: [values]}`) and `time` if they are known.
///
/// A URL with a name or a password in it is refused.
///
/// In a Moku site the pages are written to the working tree, too. It is a convenience: a page that cannot be written there, because a file of
/// another kind is in the way or the disk is full, is named in a warning. It is committed all the same, and the exit code stays 0.
///
/// No symbolic link below a folder is followed: it may lead out of it. Links, pipes and the like are named, and left out.
///
/// With `--json` the answer is one object: `version`, `parent`, `captures`, how many `changed`, and where something below a folder was
/// `left_out`, each `path` with `why` (`link` or `special`). Where pages could not be written to the working tree, `unwritten` says how many, and
/// `not_in_tree` names the first thousand, each `url` with `why`; `covered` says how many have the path of another, which lies in their place.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Commit {
    /// The page, or several with as many `--url`
    #[arg(value_name = "FILE", required_unless_present_any = ["from", "lines"], conflicts_with_all = ["from", "lines"])]
    files: Vec<PathBuf>,

    /// The URL of the page; once for each file, in their order
    #[arg(long = "url", value_name = "URL", requires = "files")]
    urls: Vec<String>,

    /// A header that the page was answered with
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,

    /// The status that the page was answered with
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(i64::from(STATUSES.start)..i64::from(STATUSES.end)))]
    status: u16,

    /// Every file below this folder is a page
    #[arg(long, value_name = "DIR", requires = "base_url", conflicts_with = "lines")]
    from: Option<PathBuf>,

    /// The URL of that folder, without a query or a fragment
    #[arg(long, value_name = "URL", requires = "from")]
    base_url: Option<String>,

    /// A file of this name is the page of the folder that it is in, as it is with most servers: with `index.html`,
    /// `site/news/index.html` is `https://example.com/news/`
    #[arg(long, value_name = "NAME", requires = "from", value_parser = file_name)]
    index: Option<String>,

    /// Read every file of the folder, also those that have not changed since it was committed last
    #[arg(long, requires = "from")]
    read_all: bool,

    /// Commit nothing if a page is longer than this: `10MiB`
    #[arg(long, value_name = "SIZE")]
    largest: Option<Size>,

    /// Commit nothing if the history has this many versions already
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    most_versions: Option<u64>,

    /// Pages as JSON lines; `-` is standard input
    #[arg(long, value_name = "FILE")]
    lines: Option<PathBuf>,

    /// Why this version is made
    #[arg(short, long)]
    message: String,

    /// Who makes it
    #[arg(long, env = "VARVE_AUTHOR", hide_env_values = true)]
    author: Option<String>,

    /// The version that it descends from, instead of HEAD
    #[arg(long, value_name = "VERSION")]
    parent: Option<String>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Verb for Commit {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let (pages, left_out) = self.pages()?;
        warn(&mut session.printer, &left_out);
        let history = session.open_history()?;
        let parent =
            self.parent.as_deref().map(|text| resolve_version(history.as_holdings(), text)).transpose()?;
        // The plan and the expectations are kept before all else, and not for nothing.
        must_have_room(&*history, self.most_versions)?;
        let intent = session.intent(&*history)?;
        let request = Request {
            intent,
            message: self.message.clone(),
            author: self.author.clone(),
            parent,
            threads: Session::threads(),
            folder: self.from.clone(),
            read_all: self.read_all,
            largest: self.largest.map(|size| size.0),
            most_versions: self.most_versions,
        };
        let progress = session.printer.progress(Some(pages.len() as u64), "pages");
        let mut done = commit(&*history, &request, pages, &|more| progress.inc(more))?;
        drop(progress);
        let not_in_tree = not_in_tree(std::mem::take(&mut done.unwritten.first));
        if done.lacks_diff {
            session.printer.say(format_args!(
                "{WARN}warning:{WARN:#} the diff with the parent is not kept: a body of one of the two is damaged or not here; \
                 `varve audit` names it"
            ));
        }
        warn_of_tree(&mut session.printer, done.unwritten.count, &not_in_tree);
        say_covered(&done.covered, &mut session.printer);
        self.print(session, &Line::of(&done, &left_out, not_in_tree))?;
        Ok(Outcome::Done)
    }
}

impl Commit {
    fn print(&self, session: &mut Session, done: &Line) -> Result<(), Error> {
        if self.json {
            return session.printer.json(done);
        }
        session.printer.line(&done.version)?;
        let (pages, changed) = (counted(done.captures, "page"), done.changed);
        session.printer.say(format_args!("{pages} committed, {changed} of them new or changed"));
        Ok(())
    }

    /// The pages, and what was met that is none.
    fn pages(&self) -> Result<(Vec<NewPage>, Vec<LeftOut>), Error> {
        if let Some(file) = &self.lines {
            return Ok((read_lines(file)?, Vec::new()));
        }
        let headers = parse_headers(&self.headers)?;
        let page = |url: String, file: PathBuf| NewPage {
            url,
            time: None,
            status: self.status,
            headers: headers.clone(),
            body: NewBody::File(file),
        };
        if let (Some(folder), Some(base)) = (&self.from, &self.base_url) {
            let Below { files, left_out } = files_below(folder, base, self.index.as_deref())?;
            return Ok((files.into_iter().map(|(url, file)| page(url, file)).collect(), left_out));
        }
        if self.urls.len() != self.files.len() {
            let [files, urls] = [(&self.files.len(), "file"), (&self.urls.len(), "URL")]
                .map(|(count, one)| counted(*count as u64, one));
            let message = format!("{files} and {urls}: each file needs its `--url`\n");
            return Err(clap::Error::raw(clap::error::ErrorKind::WrongNumberOfValues, message).into());
        }
        let pages = self.urls.iter().cloned().zip(self.files.iter().cloned());
        Ok((pages.map(|(url, file)| page(url, file)).collect(), Vec::new()))
    }
}

/// So many names are told to people.
const NAMED: usize = 10;

/// Names what was left out of a folder, with the reason.
fn warn(printer: &mut Printer, left_out: &[LeftOut]) {
    if left_out.is_empty() {
        return;
    }
    let count = counted(left_out.len() as u64, "name");
    printer.say(format_args!("{WARN}warning:{WARN:#} {count} below the folder left out"));
    for LeftOut { path, why } in left_out.iter().take(NAMED) {
        printer.say(format_args!("  {}: {}", visible(&path.display().to_string()), reason(*why)));
    }
    if left_out.len() > NAMED {
        printer.say(format_args!("  and {} more; `--json` names them all", left_out.len() - NAMED));
    }
}

/// Pages that could not be written to the working tree, with the reasons in words.
fn not_in_tree(pages: Vec<(String, RepositoryError)>) -> Vec<NotInTree> {
    let told = |(url, why): (_, RepositoryError)| NotInTree { url, why: report(&why.into()).one_line() };
    pages.into_iter().map(told).collect()
}

/// Names pages that are in the version and not in the working tree.
fn warn_of_tree(printer: &mut Printer, count: u64, pages: &[NotInTree]) {
    if count == 0 {
        return;
    }
    let told = counted(count, "page");
    printer.say(format_args!(
        "{WARN}warning:{WARN:#} {told} committed, but not written to the working tree; when nothing is in the way any more, `varve checkout HEAD` does that"
    ));
    for NotInTree { url, why } in pages.iter().take(NAMED) {
        printer.say(format_args!("  {}: {}", visible(url), visible(why)));
    }
    let more = count.saturating_sub(NAMED as u64);
    if more > 0 {
        printer.say(format_args!("  and {more} more"));
    }
}

const fn reason(why: NotAPage) -> &'static str {
    match why {
        NotAPage::Link => "a symbolic link, which is not followed: it may lead anywhere",
        NotAPage::Special => "neither a file nor a folder",
    }
}

/// The name of a file, and not a way to one.
fn file_name(text: &str) -> Result<String, &'static str> {
    match text {
        "" | "." | ".." => Err("it is the name of no file"),
        _ if text.contains('/') => Err("it is a path, and the name of a file is meant"),
        _ => Ok(text.to_owned()),
    }
}

fn parse_headers(texts: &[String]) -> Result<Headers, Error> {
    let mut headers = Headers::new();
    for text in texts {
        match text.split_once(':') {
            Some((name, value)) if !name.trim().is_empty() => headers.push(name.trim(), value.trim()),
            _ => {
                let message = format!("`{text}` is not a header: write 'Name: value'\n");
                return Err(clap::Error::raw(clap::error::ErrorKind::InvalidValue, message).into());
            }
        }
    }
    Ok(headers)
}

/// A page as a line of JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PageLine {
    url: String,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    body_base64: Option<String>,
    #[serde(default)]
    file: Option<PathBuf>,
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    headers: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    time: Option<Moment>,
}

fn ok() -> u16 {
    200
}

fn read_lines(file: &Path) -> Result<Vec<NewPage>, Error> {
    let input: Box<dyn BufRead> = if file.as_os_str() == STDIN {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(BufReader::new(
            File::open(file).map_err(|source| Error::Read { path: file.to_owned(), source })?,
        ))
    };
    let mut pages = Vec::new();
    for (number, line) in serde_json::Deserializer::from_reader(input).into_iter::<PageLine>().enumerate() {
        let wrong = |what| Error::Object { file: file.to_owned(), number: number + 1, what };
        pages.push(line.map_err(|error| wrong(error.to_string()))?.page().map_err(wrong)?);
    }
    Ok(pages)
}

impl PageLine {
    fn page(self) -> Result<NewPage, String> {
        if !STATUSES.contains(&self.status) {
            return Err(format!("the status {} is none: they are from 100 to 999", self.status));
        }
        let body = match (self.body, self.body_base64, self.file) {
            (Some(text), None, None) => NewBody::Bytes(text.into_bytes()),
            (None, Some(text), None) => NewBody::Bytes(
                data_encoding::BASE64
                    .decode(text.as_bytes())
                    .map_err(|error| format!("`body_base64`: {error}"))?,
            ),
            (None, None, Some(file)) => NewBody::File(file),
            _ => return Err("a page needs one of `body`, `body_base64` and `file`".to_owned()),
        };
        let mut headers = Headers::new();
        for (name, value) in self.headers {
            let values = match value {
                serde_json::Value::Array(many) => many,
                one => vec![one],
            };
            for value in values {
                let serde_json::Value::String(value) = value else {
                    return Err(format!("the header `{name}` is neither a text nor a list of texts"));
                };
                headers.push(name.as_bytes(), value);
            }
        }
        Ok(NewPage { url: self.url, time: self.time, status: self.status, headers, body })
    }
}

#[derive(Serialize)]
struct Line {
    version: String,
    parent: Option<String>,
    captures: u64,
    changed: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOutLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unwritten: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_in_tree: Vec<NotInTree>,
    #[serde(skip_serializing_if = "Option::is_none")]
    covered: Option<u64>,
}

#[derive(Serialize)]
struct NotInTree {
    url: String,
    why: String,
}

#[derive(Serialize)]
struct LeftOutLine {
    path: String,
    why: &'static str,
}

impl Line {
    fn of(done: &Committed, left_out: &[LeftOut], not_in_tree: Vec<NotInTree>) -> Self {
        let left_out = left_out.iter().map(|LeftOut { path, why }| LeftOutLine {
            path: path.display().to_string(),
            why: match why {
                NotAPage::Link => "link",
                NotAPage::Special => "special",
            },
        });
        Self {
            version: done.version.to_string(),
            parent: done.parent.map(|parent| parent.to_string()),
            captures: done.captures,
            changed: done.changed,
            left_out: left_out.collect(),
            unwritten: Some(done.unwritten.count).filter(|count| *count > 0),
            not_in_tree,
            covered: Some(done.covered.count).filter(|count| *count > 0),
        }
    }
}
