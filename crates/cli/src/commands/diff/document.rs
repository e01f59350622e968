//! A diff as one HTML document.
//!
//! The document begins with a list of all pages, which is known only at the end. Sections are
//! therefore spooled, in memory while they are small and in a temporary file beyond: a large diff
//! is never held in memory.

use std::io::{BufRead, BufReader, Seek, Write};

use tempfile::SpooledTempFile;
use varve_archive::VersionId;
use varve_archive::history::HistoryReader;
use varve_archive::verbs::diff::{InsignificantChange, Totals, html};
use varve_archive::verbs::show;

use super::summary::{rules, sameness, sentence};
use crate::error::Error;
use crate::printer::Printer;
use crate::version_text::short_version_id;

/// Sections up to this size are kept in memory.
const MAX_MEMORY_BYTES: usize = 8 << 20;

/// Pages listed that do not count as changed.
const MAX_LISTED_PAGES: usize = 1000;

/// Why a version is compared with nothing: it is the first, or its parent is missing.
fn nothing(history: &HistoryReader, head: VersionId) -> String {
    let parent = history.catalog().version(&head).ok().flatten().and_then(|info| info.version.parent);
    match parent {
        Some(parent) => format!("nothing: its parent {} is missing", short_version_id(&parent)),
        None => "nothing".to_owned(),
    }
}

/// A document whose beginning is not written yet.
pub(super) struct DiffDocument {
    title: String,
    notes: Vec<String>,
    /// The headings of the older and the newer side.
    sides: [String; 2],
    /// The titles of the pages so far.
    titles: Vec<String>,
    sections: SpooledTempFile,
}

impl DiffDocument {
    pub(super) fn new(history: &HistoryReader, base: Option<VersionId>, head: VersionId) -> Self {
        let (older, newer) =
            (base.map(|base| VersionTitle::of(history, base)), VersionTitle::of(history, head));
        let from = older.as_ref().map_or("nothing", |older| &older.name);
        let title = format!("Changes from {from} to {}", newer.name);
        let side = |named: Option<&VersionTitle>| named.map_or("nothing", |named| &named.side).to_owned();
        let sides = [side(older.as_ref()), side(Some(&newer))];
        let older = older.map_or_else(|| nothing(history, head), |older| older.about);
        let notes = vec![format!("Older: {older}"), format!("Newer: {}", newer.about)];
        Self::empty(title, notes, sides)
    }

    /// A document about two sides that are known by their names.
    pub(super) fn between([older, newer]: [&str; 2]) -> Self {
        let sides = [older.to_owned(), newer.to_owned()];
        Self::empty(format!("Changes from {older} to {newer}"), Vec::new(), sides)
    }

    fn empty(title: String, notes: Vec<String>, sides: [String; 2]) -> Self {
        let sections = tempfile::spooled_tempfile(MAX_MEMORY_BYTES);
        Self { title, notes, sides, titles: Vec::new(), sections }
    }

    /// Adds a section, which `make` writes from its title, the headings of both sides, and its
    /// number.
    pub(super) fn add(
        &mut self,
        title: String,
        make: impl FnOnce(&str, [&str; 2], usize) -> String,
    ) -> Result<(), Error> {
        let [older, newer] = &self.sides;
        let section = make(&title, [older, newer], self.titles.len() + 1);
        self.titles.push(title);
        self.sections.write_all(section.as_bytes()).map_err(Error::Temporary)
    }

    /// Prints the document.
    pub(super) fn print(mut self, totals: &Totals, printer: &mut Printer) -> Result<(), Error> {
        self.notes.push(format!("Pages: {}", sentence(totals)));
        printer.text(&(html::open(&self.title) + &html::heading(&self.title, &self.notes)))?;
        printer.text(&html::contents(self.titles.iter().map(String::as_str)))?;
        printer.text(&insignificant_lists(totals))?;
        self.sections.rewind().map_err(Error::Temporary)?;
        let mut sections = BufReader::new(self.sections);
        let mut line = String::new();
        while sections.read_line(&mut line).map_err(Error::Temporary)? > 0 {
            printer.text(&line)?;
            line.clear();
        }
        printer.text(html::PAGE_END)
    }
}

/// A version as the document names it.
struct VersionTitle {
    /// The time.
    name: String,
    /// The heading of a side: id, time and the beginning of the message.
    side: String,
    /// A sentence with message, author, time and id.
    about: String,
}

impl VersionTitle {
    /// A layout without versions knows only the name of the moment.
    fn of(history: &HistoryReader, id: VersionId) -> Self {
        let Ok(info) = show::version(history, &id) else {
            return Self { name: id.to_string(), side: id.to_string(), about: id.to_string() };
        };
        let (version, time) = (&info.version, info.version.time.for_people());
        let author = version.author.as_deref().filter(|author| !author.trim().is_empty());
        let author = author.map(|author| format!(" by {author}")).unwrap_or_default();
        let about = format!("“{}”{author}, {time}, version {id}", version.message.trim());
        let side = format!("{}, {time}, “{}”", short_version_id(&id), beginning(&version.message));
        Self { name: time, side, about }
    }
}

/// The first line of a message, shortened.
fn beginning(message: &str) -> String {
    const MAX_TITLE_CHARS: usize = 60;
    let line = message.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(MAX_TITLE_CHARS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

/// The lists of pages that do not count as changed.
fn insignificant_lists(totals: &Totals) -> String {
    let noise = |page: &&InsignificantChange| page.alike.is_none();
    let of_noise =
        totals.insignificant.iter().filter(noise).map(|page| format!("{}: {}", page.url, rules(&page.rules)));
    let alike = totals.insignificant.iter().filter_map(|page| Some((page, page.alike?)));
    let of_alike = alike.map(|(page, alike)| format!("{}: {}", page.url, sameness(alike)));
    let same = totals.same_text + totals.same_nodes;
    listed("Only noise", of_noise, totals.noise) + &listed("Same content, different markup", of_alike, same)
}

fn listed(title: &str, lines: impl Iterator<Item = String>, count: u64) -> String {
    let mut lines: Vec<String> = lines.take(MAX_LISTED_PAGES).collect();
    let more = count.saturating_sub(lines.len() as u64);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    html::list(title, lines.iter().map(String::as_str))
}
