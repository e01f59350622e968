//! `varve commit`: makes a version of local files.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;
use varve_archive::history::{HistoryWriter, KeptIntent};
use varve_archive::verbs::commit::{
    CommitSource, FolderSource, NewBody, NewPage, Report, Request, SkippedFile, SkippedFileKind,
    check_version_limit, commit,
};
use varve_archive::verbs::intent;
use varve_archive::{ArchiveError, ByteSize, Headers, Moment, RepositoryError};

use super::checkout::{report_covered_pages, report_kept_pages};
use crate::error_report::one_line;
use crate::input::STDIN_ARGUMENT;
use crate::printer::{Printer, counted, visible, warning_text};
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_names::resolve_version;

/// Valid HTTP statuses.
const STATUS_RANGE: std::ops::Range<u16> = 100..1000;

/// Make a version of local files
///
/// Each page is a file with a URL. All pages of a call become one version, or none do. Bodies that
/// are stored already are not stored again.
///
/// When a folder is committed again, only files are read whose length, times or inode changed, as
/// git does; `--read-all` reads all of them and verifies the stored bodies.
///
/// The version lists the pages of this call that differ from the state of its parent, which is HEAD
/// or `--parent`. Other pages stay as they are; with `--from`, those below `--base-url` that have no
/// file are gone.
///
/// With `--jsonl`, each line is a JSON object: `url`, and one of `body` (text), `body_base64` or
/// `file`; optionally `status`, `headers` (`{name: value}` or `{name: [values]}`) and `time`.
///
/// URLs with a user name or password are rejected. Symbolic links, pipes and devices below a folder
/// are skipped and listed.
///
/// A version of a Moku site has the pages of the call and no others, as in Moku. The working tree
/// then holds them: those that differ from HEAD are written, and those of HEAD that the version
/// does not have are removed, unless their files were changed or their bodies are stored nowhere
/// else. Other files stay. A page that cannot be written is committed all the same; a warning names
/// it, and the exit code is 0.
///
/// With `--json`, prints one object: `version`, `parent`, `captures`, `changed`; `left_out` lists
/// skipped files, each `path` with `why` (`link` or `special`); `unwritten` counts pages that are
/// not in the working tree, and `not_in_tree` lists the first thousand, each `url` with `why`;
/// `covered` counts pages that share the path of another, `removed` and `stayed` pages of HEAD that
/// left the tree or stay there though the version does not have them.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve commit page.html --url https://example.com/ -m 'received by mail'
  varve commit page.html --url https://example.com/ --header 'Content-Type: text/html' --status 200 -m 'received by mail'
  varve commit --from site/ --base-url https://example.com/ -m 'before the relaunch'
  varve commit --from site/ --base-url https://example.com/ --index index.html -m 'before the relaunch'
  varve commit --from upload/ --base-url https://example.com/ -m upload --max-size 10MiB --max-versions 1000
  varve commit --jsonl pages.jsonl -m 'old system' --author 'Ada <ada@example.com>'")]
pub(super) struct CommitArgs {
    /// The page, or several with one `--url` each
    #[arg(value_name = "FILE", required_unless_present_any = ["from", "jsonl"], conflicts_with_all = ["from", "jsonl"])]
    files: Vec<PathBuf>,

    /// The URL of the page; one for each file, in the same order
    #[arg(long = "url", value_name = "URL", requires = "files")]
    urls: Vec<String>,

    /// A response header of the page; may be repeated
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,

    /// The response status of the page
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(i64::from(STATUS_RANGE.start)..i64::from(STATUS_RANGE.end)))]
    status: u16,

    /// Commit every file below this folder
    #[arg(long, value_name = "DIR", requires = "base_url", conflicts_with = "jsonl")]
    from: Option<PathBuf>,

    /// The URL of that folder, without query and fragment
    #[arg(long, value_name = "URL", requires = "from")]
    base_url: Option<String>,

    /// The file name of index pages: with `index.html`, `site/news/index.html` is
    /// `https://example.com/news/`
    #[arg(long, value_name = "NAME", requires = "from", value_parser = file_name)]
    index: Option<String>,

    /// Read every file of the folder, also unchanged ones
    #[arg(long, requires = "from")]
    read_all: bool,

    /// Fail if a page is larger than this: `10MiB`
    #[arg(long, value_name = "SIZE")]
    max_size: Option<ByteSize>,

    /// Fail if the history already has this many versions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_versions: Option<u64>,

    /// Read pages as JSON lines from this file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    jsonl: Option<PathBuf>,

    /// Why this version is made
    #[arg(short, long)]
    message: String,

    /// Who makes this version
    #[arg(long, env = "VARVE_AUTHOR", hide_env_values = true)]
    author: Option<String>,

    /// The parent of the version, instead of HEAD
    #[arg(long, value_name = "VERSION")]
    parent: Option<String>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Verb for CommitArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let root = session.root()?;
        let done = self.commit(session);
        if let Err(Error::Archive(error)) = &done
            && error.is_disk_full()
        {
            say_disk_is_full(&mut session.printer, &root, error);
        }
        done
    }
}

impl CommitArgs {
    fn commit(&self, session: &mut Session) -> Result<ExitStatus, Error> {
        let source = self.source()?;
        let history = session.open_history()?;
        let parent =
            self.parent.as_deref().map(|text| resolve_version(history.as_reader(), text)).transpose()?;
        // Fail before the plan and the expectations are stored.
        check_version_limit(&history, self.max_versions)?;
        let intent = match &history {
            HistoryWriter::Archive(archive) => intent::keep(archive)?,
            HistoryWriter::Moku(_) => KeptIntent::default(),
        };
        let request = Request {
            intent,
            message: self.message.clone(),
            author: self.author.clone(),
            parent,
            threads: Session::threads(),
            covers: self.base_url.clone(),
            read_all: self.read_all,
            largest: self.max_size.map(|size| size.0),
            most_versions: self.max_versions,
        };
        let count = match &source {
            CommitSource::Pages(pages) => Some(pages.len() as u64),
            CommitSource::Folder(_) => None,
        };
        let progress = session.printer.progress(count, "pages");
        let done = commit(&history, &request, source, &|more| progress.inc(more))?;
        drop(progress);
        warn_of_skipped(&mut session.printer, &done.left_out);
        if done.lacks_diff {
            session.printer.warn(
                "the diff with the parent is not stored: a body is damaged or missing; `varve audit` lists it",
            );
        }
        self.print(session, done)?;
        Ok(ExitStatus::Done)
    }

    fn print(&self, session: &mut Session, done: Report) -> Result<(), Error> {
        let why = |error: RepositoryError| one_line(&error.into());
        let unwritten: Vec<_> =
            done.tree.unwritten.first.into_iter().map(|(url, error)| (url, why(error))).collect();
        warn_of_tree(&mut session.printer, done.tree.unwritten.count, &unwritten);
        report_covered_pages(&done.tree.covered, &mut session.printer);
        report_kept_pages(done.tree.stayed, &mut session.printer);
        if self.json {
            let left_out = done.left_out.iter().map(|SkippedFile { path, why }| match why {
                SkippedFileKind::Link => json!({ "path": path.to_string_lossy(), "why": "link" }),
                SkippedFileKind::Special => json!({ "path": path.to_string_lossy(), "why": "special" }),
            });
            let unwritten_pages = unwritten.iter().map(|(url, why)| json!({ "url": url, "why": why }));
            return session.printer.json(&json!({
                "version": done.version,
                "parent": done.parent,
                "captures": done.captures,
                "changed": done.changed,
                "gone": done.gone,
                "left_out": left_out.collect::<Vec<_>>(),
                "unwritten": done.tree.unwritten.count,
                "not_in_tree": unwritten_pages.collect::<Vec<_>>(),
                "covered": done.tree.covered.count,
                "removed": done.tree.removed,
                "stayed": done.tree.stayed,
            }));
        }
        session.printer.line(done.version)?;
        let (pages, changed) = (counted(done.captures, "page"), done.changed);
        let gone = if done.gone > 0 { format!(", {} gone", done.gone) } else { String::new() };
        session.printer.say(format_args!("{pages} committed, {changed} of them new or changed{gone}"));
        Ok(())
    }

    /// Where the pages come from.
    fn source(&self) -> Result<CommitSource, Error> {
        if let Some(file) = &self.jsonl {
            return Ok(read_lines(file)?.into());
        }
        let (status, headers) = (self.status, parse_headers(&self.headers)?);
        if let (Some(folder), Some(base_url)) = (&self.from, &self.base_url) {
            let (folder, base_url, index) = (folder.clone(), base_url.clone(), self.index.clone());
            return Ok(FolderSource { folder, base_url, index, status, headers }.into());
        }
        let page = |url: String, file: PathBuf| NewPage {
            url,
            time: None,
            status,
            headers: headers.clone(),
            body: NewBody::File(file),
        };
        if self.urls.len() != self.files.len() {
            let [files, urls] = [(&self.files.len(), "file"), (&self.urls.len(), "URL")]
                .map(|(count, one)| counted(*count as u64, one));
            let message = format!("{files} and {urls}: each file needs its `--url`\n");
            return Err(clap::Error::raw(clap::error::ErrorKind::WrongNumberOfValues, message).into());
        }
        let pages = self.urls.iter().cloned().zip(self.files.iter().cloned());
        Ok(pages.map(|(url, file)| page(url, file)).collect::<Vec<_>>().into())
    }
}

/// Reports a full disk, and whether the version exists. The error names the file.
fn say_disk_is_full(printer: &mut Printer, root: &Path, error: &ArchiveError) {
    let kept = match error {
        ArchiveError::Repository(RepositoryError::HalfEntered { version, .. }) => {
            format!("version {version} is stored, and the next verb that writes enters it")
        }
        _ => {
            "no version was made, and earlier ones are complete; a new attempt uses the bodies stored so far"
                .to_owned()
        }
    };
    printer.say(format_args!("the disk of `{}` is full: {kept}", root.display()));
}

/// Lists skipped files with the reason.
fn warn_of_skipped(printer: &mut Printer, left_out: &[SkippedFile]) {
    if left_out.is_empty() {
        return;
    }
    let count = left_out.len() as u64;
    let item = |SkippedFile { path, why }: &SkippedFile| {
        format!("{}: {}", visible(&path.to_string_lossy()), reason(*why))
    };
    let heading = warning_text(format_args!("{} below the folder skipped", counted(count, "name")));
    printer.say_list(heading, left_out.iter().map(item), count);
}

/// Lists pages that are in the version but not in the working tree, each with the reason.
fn warn_of_tree(printer: &mut Printer, count: u64, pages: &[(String, String)]) {
    if count == 0 {
        return;
    }
    let pages_text = counted(count, "page");
    let heading = warning_text(format_args!(
        "{pages_text} committed, but not written to the working tree; `varve checkout HEAD` tries again"
    ));
    let item = |(url, why): &(String, String)| format!("{}: {}", visible(url), visible(why));
    printer.say_list(heading, pages.iter().map(item), count);
}

const fn reason(why: SkippedFileKind) -> &'static str {
    match why {
        SkippedFileKind::Link => "a symbolic link, which is not followed",
        SkippedFileKind::Special => "neither a file nor a folder",
    }
}

/// Accepts a file name and rejects a path.
fn file_name(text: &str) -> Result<String, &'static str> {
    match text {
        "" | "." | ".." => Err("not a file name"),
        _ if text.contains('/') => Err("a file name is expected, not a path"),
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
struct CommitInput {
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
    let input: Box<dyn BufRead> = if file.as_os_str() == STDIN_ARGUMENT {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(BufReader::new(
            File::open(file).map_err(|source| Error::Read { path: file.to_owned(), source })?,
        ))
    };
    let mut pages = Vec::new();
    for (number, line) in serde_json::Deserializer::from_reader(input).into_iter::<CommitInput>().enumerate()
    {
        let wrong = |what| Error::Object { file: file.to_owned(), number: number + 1, what };
        pages.push(line.map_err(|error| wrong(error.to_string()))?.page().map_err(wrong)?);
    }
    Ok(pages)
}

impl CommitInput {
    fn page(self) -> Result<NewPage, String> {
        if !STATUS_RANGE.contains(&self.status) {
            return Err(format!("the status {} is not between 100 and 999", self.status));
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
