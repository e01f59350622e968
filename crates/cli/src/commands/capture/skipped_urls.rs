//! The file of `--skipped`: one line for each skipped URL, with the rule, a tab and the URL.
//!
//! A resumed run appends to the file: each line stands there once, and URLs that are captured later
//! are removed. So a run that was stopped has the same list as one that was not.
//!
//! Links beyond the number that is followed from one page are reported when the page is read. So they
//! may come again from other pages, and may be captured later by way of them.

use std::collections::HashSet;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use varve_archive::verbs::capture::{CapturedPage, CrawlEvent, SkipRule};

use crate::error::Error;

/// The file.
pub(super) struct SkippedUrlFile {
    path: PathBuf,
    file: BufWriter<File>,
    /// Lines of earlier processes of the run.
    before: HashSet<String>,
    /// URLs in those lines.
    listed: HashSet<String>,
    /// Hashes of URLs that this process listed as beyond the limit of links per page.
    over_limit: HashSet<u64>,
    hasher: RandomState,
    /// The listed URLs that this process captured.
    captured: HashSet<String>,
}

impl SkippedUrlFile {
    /// Opens the file, and keeps its lines if the run is resumed.
    pub(super) fn open(path: &Path, append: bool) -> Result<Self, Error> {
        let failed = |source| Error::Write { path: path.to_owned(), source };
        let text = match fs::read_to_string(path) {
            _ if !append => String::new(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text.map_err(failed)?,
        };
        // A killed process may have left a partial line.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let mut file = BufWriter::new(File::create(path).map_err(failed)?);
        file.write_all(whole.as_bytes()).and_then(|()| file.flush()).map_err(failed)?;
        let before = whole.lines().map(str::to_owned).collect();
        let listed = whole.lines().filter_map(url_in).map(str::to_owned).collect();
        let (over_limit, hasher, captured) = (HashSet::new(), RandomState::new(), HashSet::new());
        Ok(Self { path: path.to_owned(), file, before, listed, over_limit, hasher, captured })
    }

    /// Adds a skipped URL.
    pub(super) fn see(&mut self, event: &CrawlEvent<'_>) -> Result<(), Error> {
        let done = match event {
            CrawlEvent::Skipped { url, rule: SkipRule::LinksPerPage, .. }
                if !self.over_limit.insert(self.hasher.hash_one(url)) =>
            {
                Ok(())
            }
            CrawlEvent::Skipped { url, rule, .. } => self.add(url, &rule.to_string()),
            CrawlEvent::Captured(CapturedPage { url, .. }) => {
                self.captured.extend(self.listed.take(*url));
                if self.over_limit.contains(&self.hasher.hash_one(url)) {
                    self.captured.insert((*url).to_owned());
                }
                Ok(())
            }
            // A resumed run does not report URLs again that were decided before a checkpoint.
            CrawlEvent::Checkpoint { .. } => self.file.flush(),
            _ => Ok(()),
        };
        done.map_err(|source| Error::Write { path: self.path.clone(), source })
    }

    fn add(&mut self, url: &str, rule: &str) -> io::Result<()> {
        let line = format!("{rule}\t{url}");
        if self.before.contains(&line) { Ok(()) } else { writeln!(self.file, "{line}") }
    }

    /// Completes the file.
    pub(super) fn end(mut self) -> Result<(), Error> {
        let ended = self.file.flush().and_then(|()| self.remove_captured());
        ended.map_err(|source| Error::Write { path: self.path, source })
    }

    /// Removes URLs that were captured after the run was resumed.
    fn remove_captured(&self) -> io::Result<()> {
        if self.captured.is_empty() {
            return Ok(());
        }
        let is_captured = |line: &str| url_in(line).is_some_and(|url| self.captured.contains(url));
        let text = fs::read_to_string(&self.path)?;
        let left: String =
            text.lines().filter(|line| !is_captured(line)).map(|line| format!("{line}\n")).collect();
        fs::write(&self.path, left)
    }
}

/// The URL in a line.
fn url_in(line: &str) -> Option<&str> {
    line.split_once('\t').map(|(_, url)| url)
}
