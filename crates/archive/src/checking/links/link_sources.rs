//! Reads links: from the pages of an archive, from HTML and Markdown files, and from text.

use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use varve_core::headers::Headers;
use varve_core::history::Capture;
use varve_core::url::{page_identity, resolve};
use varve_page::links::{LinkFormat, LinkLimits, LinkPlace, LinkRole, PageLink, extract};
use varve_page::markdown::link_html;

use super::LinkCollection;
use crate::error::ArchiveError;
use varve_repository::RepositoryError;
use varve_repository::history::{HistoryReader, StatePages};

/// Maximum size of a file whose links are read.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// The URL that stands for the root of the file system while references of a file are resolved.
const FILE_BASE: &str = "http://file.invalid";

/// The bytes of a path that a URL cannot have.
const PATH_ESCAPES: percent_encoding::AsciiSet =
    percent_encoding::NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

/// The format of a text with links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkTextFormat {
    /// HTML.
    Html,
    /// Markdown.
    Markdown,
}

impl LinkTextFormat {
    /// The format of a file, by the end of its name.
    pub fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "html" | "htm" | "xhtml" => Some(Self::Html),
            "md" | "markdown" | "mkd" | "mdown" => Some(Self::Markdown),
            _ => None,
        }
    }

    /// The format of a text: HTML begins with a tag.
    pub fn of_text(text: &[u8]) -> Self {
        if text.trim_ascii_start().starts_with(b"<") { Self::Html } else { Self::Markdown }
    }
}

/// Why links could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LinkSourceError {
    /// A file cannot be read.
    #[error("could not read `{}`", path.display())]
    ReadFile {
        /// The file.
        path: PathBuf,
        /// The error.
        source: std::io::Error,
    },
    /// A file is too long.
    #[error("`{}` has more than 64 MiB", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// The base is no URL of the web.
    #[error("`{}` is no URL of a site", base.escape_debug())]
    NoBase {
        /// The text that the user gave.
        base: String,
    },
}

impl LinkCollection {
    /// Adds the links of the pages in the state of HEAD. If `below` has URLs, only of these pages and
    /// those below them. Returns the number of pages.
    pub fn add_archive(&mut self, history: &HistoryReader, below: &[String]) -> Result<u64, ArchiveError> {
        let head = history.head()?.ok_or(RepositoryError::NoVersions)?;
        let below: Vec<String> =
            below.iter().map(|url| page_identity(url).unwrap_or_else(|| url.clone())).collect();
        let before = self.pages_read();
        for page in StatePages::new(history.catalog(), Some(head)) {
            let Some(capture) = page?.into_shown() else { continue };
            let identity = page_identity(&capture.url).unwrap_or_else(|| capture.url.clone());
            if below.is_empty() || below.iter().any(|prefix| is_below(&identity, prefix)) {
                self.add_capture(history, &capture)?;
            }
        }
        Ok(self.pages_read() - before)
    }

    fn add_capture(&mut self, history: &HistoryReader, capture: &Capture) -> Result<(), ArchiveError> {
        let content_type = capture.headers.get("content-type").and_then(|values| values.first());
        let kind = LinkFormat::of(content_type.map(String::as_str), &capture.url);
        if kind != LinkFormat::Html || !capture.is_good() {
            return Ok(());
        }
        let mut headers = Headers::new();
        for (name, value) in capture.headers.pairs() {
            headers.push(name, value);
        }
        self.begin_page(&capture.url);
        let body = match history.open_body(capture) {
            Err(error) if error.body_failure().is_some() => {
                self.add_unreadable();
                return Ok(());
            }
            body => body?,
        };
        let limits = LinkLimits::default();
        // A page that cannot be read to its end has the links up to there.
        let read = extract(kind, &capture.url, &headers, body, limits, &mut |link| {
            if is_checked(&link) {
                self.add_url(&link.target);
            }
        });
        if read.is_err() {
            self.add_unreadable();
        }
        Ok(())
    }

    /// Adds the links of a file, which is shown under `name`. References are relative to `base`, or
    /// without one to the file itself, whose path must be absolute.
    pub fn add_file_links(
        &mut self,
        path: &Path,
        name: &str,
        base: Option<&str>,
    ) -> Result<(), LinkSourceError> {
        let failed = |source| LinkSourceError::ReadFile { path: path.to_owned(), source };
        let mut text = Vec::new();
        let file = fs::File::open(path).map_err(failed)?;
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut text).map_err(failed)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(LinkSourceError::TooLong { path: path.to_owned() });
        }
        let format = LinkTextFormat::of_path(path).unwrap_or_else(|| LinkTextFormat::of_text(&text));
        match base {
            Some(base) => self.add_text(&text, format, name, base),
            None => {
                self.begin_page(name);
                let folder = path.parent().unwrap_or(path);
                let base = format!("{FILE_BASE}/{}", encoded(&path.to_string_lossy()));
                read(&text, format, &base, &mut |link| match link.target.strip_prefix(FILE_BASE) {
                    None => self.add_url(&link.target),
                    Some(_) => self.add_relative(path, folder, &link.reference),
                })
            }
        }
    }

    /// Adds the links of a text, which is shown under `name`. References are relative to `base`.
    pub fn add_text(
        &mut self,
        text: &[u8],
        format: LinkTextFormat,
        name: &str,
        base: &str,
    ) -> Result<(), LinkSourceError> {
        self.begin_page(name);
        read(text, format, base, &mut |link| self.add_url(&link.target))
    }

    /// Adds the links of a text without a base: those that name a site.
    pub fn add_text_without_base(
        &mut self,
        text: &[u8],
        format: LinkTextFormat,
        name: &str,
    ) -> Result<(), LinkSourceError> {
        self.begin_page(name);
        read(text, format, FILE_BASE, &mut |link| match link.target.starts_with(FILE_BASE) {
            true => self.add_without_base(),
            false => self.add_url(&link.target),
        })
    }

    /// Adds a reference of a file to another one, or to itself.
    fn add_relative(&mut self, file: &Path, folder: &Path, reference: &str) {
        let (path, fragment) =
            reference.split_once('#').map_or((reference, None), |(path, part)| (path, Some(part)));
        let path = path.split('?').next().unwrap_or_default();
        if path.starts_with(['/', '\\']) {
            return self.add_without_base();
        }
        let decoded = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
        let target = if path.is_empty() { file.to_owned() } else { without_dots(&folder.join(&*decoded)) };
        self.add_file(target, fragment);
    }
}

/// A path with its `..` resolved by text, as those of a URL are.
fn without_dots(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(resolved.pop()),
            Component::CurDir => {}
            part => resolved.push(part),
        }
    }
    resolved
}

/// Whether a page is `prefix` itself or below it.
fn is_below(page: &str, prefix: &str) -> bool {
    page.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || prefix.ends_with('/') || rest.starts_with(['/', '?']))
}

fn read(
    text: &[u8],
    format: LinkTextFormat,
    base: &str,
    each: &mut dyn FnMut(&PageLink<'_>),
) -> Result<(), LinkSourceError> {
    let html = match format {
        LinkTextFormat::Html => text.to_vec(),
        LinkTextFormat::Markdown => link_html(&String::from_utf8_lossy(text)).into_bytes(),
    };
    let headers = Headers::new();
    let mut sink = |link: PageLink<'_>| {
        if is_checked(&link) {
            each(&link);
        }
    };
    let no_base = || LinkSourceError::NoBase { base: base.to_owned() };
    resolve(base, "").map_err(|_| no_base())?;
    extract(LinkFormat::Html, base, &headers, &*html, LinkLimits::default(), &mut sink)
        .map(drop)
        .map_err(|_| no_base())
}

/// Whether a link must lead somewhere. Guesses and requests that only browsers make need not, and a
/// page of an error names its own address as the canonical one.
fn is_checked(link: &PageLink<'_>) -> bool {
    !link.guessed && link.place != LinkPlace::Implied && link.role != LinkRole::Canonical
}

/// A path as it stands in a URL.
fn encoded(path: &str) -> String {
    percent_encoding::utf8_percent_encode(path.trim_start_matches('/'), &PATH_ESCAPES).to_string()
}
