//! The file that lists every URL that a run skips, a line each: the rule, a tab, the URL.
//!
//! A run that goes on goes on with its list: what is there stays there, each line once, but for what is captured after all.
//! So a run that was stopped has the list of one that was not.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use varve_archive::verbs::capture::{CapturedPage, CrawlEvent};

use crate::error::Error;

/// The list.
pub(super) struct List {
    path: PathBuf,
    file: BufWriter<File>,
    /// The lines of earlier processes of the same run.
    before: HashSet<String>,
    /// The URLs in them.
    listed: HashSet<String>,
    /// Those that were captured now.
    captured: HashSet<String>,
}

impl List {
    /// Opens a list, empty or behind what is there.
    pub(super) fn open(path: &Path, goes_on: bool) -> Result<Self, Error> {
        let failed = |source| Error::Write { path: path.to_owned(), source };
        let text = match fs::read_to_string(path) {
            _ if !goes_on => String::new(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text.map_err(failed)?,
        };
        // A process that was killed may have left half a line.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let mut file = BufWriter::new(File::create(path).map_err(failed)?);
        file.write_all(whole.as_bytes()).and_then(|()| file.flush()).map_err(failed)?;
        let before = whole.lines().map(str::to_owned).collect();
        let listed = whole.lines().filter_map(url_in).map(str::to_owned).collect();
        Ok(Self { path: path.to_owned(), file, before, listed, captured: HashSet::new() })
    }

    /// Lists what is skipped.
    pub(super) fn see(&mut self, event: &CrawlEvent<'_>) -> Result<(), Error> {
        let done = match event {
            CrawlEvent::Skipped { url, rule, .. } => self.add(url, &rule.to_string()),
            CrawlEvent::Captured(CapturedPage { url, .. }) => {
                self.captured.extend(self.listed.take(*url));
                Ok(())
            }
            // What is settled by then is not told again.
            CrawlEvent::Checkpoint { .. } => self.file.flush(),
            _ => Ok(()),
        };
        done.map_err(|source| Error::Write { path: self.path.clone(), source })
    }

    fn add(&mut self, url: &str, rule: &str) -> io::Result<()> {
        let line = format!("{rule}\t{url}");
        if self.before.contains(&line) { Ok(()) } else { writeln!(self.file, "{line}") }
    }

    /// Ends the list.
    pub(super) fn end(mut self) -> Result<(), Error> {
        let ended = self.file.flush().and_then(|()| self.take_out_captured());
        ended.map_err(|source| Error::Write { path: self.path, source })
    }

    /// Takes out what was captured after all: another link led there, once the run went on.
    fn take_out_captured(&self) -> io::Result<()> {
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
