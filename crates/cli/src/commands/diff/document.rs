//! A diff as one HTML document.
//!
//! Its beginning lists all pages, and which they are is known only at the end. So sections are set aside as they come, in
//! memory while they are few and in a temporary file beyond: a diff of a thousand pages is never held at once.

use std::io::{BufRead, BufReader, Seek, Write};

use tempfile::SpooledTempFile;
use varve_archive::VersionId;
use varve_archive::history::Holdings;
use varve_archive::verbs::diff::{Quiet, Totals, html};
use varve_archive::verbs::show;

use super::super::log::short;
use super::summary::{rules, sameness};
use crate::error::Error;
use crate::printer::Printer;

/// So many bytes of sections are kept in memory.
const IN_MEMORY: usize = 8 << 20;

/// No more pages than this are listed that do not count as changed.
const MOST_LISTED: usize = 1000;

/// Why a version is held against nothing: it is the first, or what it descends from is gone.
fn nothing(holdings: &dyn Holdings, head: VersionId) -> String {
    let parent = holdings.catalog().version(&head).ok().flatten().and_then(|info| info.version.parent);
    match parent {
        Some(parent) => format!("nothing: its parent {} is not here any more", short(&parent)),
        None => "nothing".to_owned(),
    }
}

/// A document of which the beginning is still to be written.
pub(super) struct Document {
    title: String,
    notes: Vec<String>,
    /// What the older and the newer side are called above their lines.
    sides: [String; 2],
    /// What the pages so far are called.
    titles: Vec<String>,
    sections: SpooledTempFile,
}

impl Document {
    pub(super) fn new(holdings: &dyn Holdings, base: Option<VersionId>, head: VersionId) -> Self {
        let (older, newer) = (base.map(|base| Named::of(holdings, base)), Named::of(holdings, head));
        let from = older.as_ref().map_or("nothing", |older| &older.name);
        let title = format!("Changes from {from} to {}", newer.name);
        let side = |named: Option<&Named>| named.map_or("nothing", |named| &named.side).to_owned();
        let sides = [side(older.as_ref()), side(Some(&newer))];
        let older = older.map_or_else(|| nothing(holdings, head), |older| older.about);
        let notes = vec![format!("Older: {older}"), format!("Newer: {}", newer.about)];
        Self { title, notes, sides, titles: Vec::new(), sections: tempfile::spooled_tempfile(IN_MEMORY) }
    }

    /// Adds a section, which `make` writes, given its title, what both sides are called, and its number.
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

    /// Prints all of it.
    pub(super) fn print(mut self, totals: &Totals, printer: &mut Printer) -> Result<(), Error> {
        printer.text(&(html::open(&self.title) + &html::heading(&self.title, &self.notes)))?;
        printer.text(&html::contents(self.titles.iter().map(String::as_str)))?;
        printer.text(&quiet_lists(totals))?;
        self.sections.rewind().map_err(Error::Temporary)?;
        let mut sections = BufReader::new(self.sections);
        let mut line = String::new();
        while sections.read_line(&mut line).map_err(Error::Temporary)? > 0 {
            printer.text(&line)?;
            line.clear();
        }
        printer.text(html::CLOSE)
    }
}

/// A version as the head of a document names it.
struct Named {
    /// In few words.
    name: String,
    /// Above a column of lines: which version, when, and the beginning of why.
    side: String,
    /// In a sentence.
    about: String,
}

impl Named {
    /// Layouts without versions know only the name of the moment, which then is all that is said.
    fn of(holdings: &dyn Holdings, id: VersionId) -> Self {
        let Ok(info) = show::version(holdings, &id) else {
            return Self { name: id.to_string(), side: id.to_string(), about: id.to_string() };
        };
        let (version, time) = (&info.version, info.version.time.for_people());
        let author = version.author.as_deref().filter(|author| !author.trim().is_empty());
        let author = author.map(|author| format!(" by {author}")).unwrap_or_default();
        let about = format!("“{}”{author}, {time}, version {id}", version.message.trim());
        let side = format!("{}, {time}, “{}”", short(&id), beginning(&version.message));
        Self { name: time, side, about }
    }
}

/// The beginning of a message: its first line, and of a long one not all.
fn beginning(message: &str) -> String {
    const LETTERS: usize = 60;
    let line = message.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

/// The pages that do not count as changed, and why.
fn quiet_lists(totals: &Totals) -> String {
    let noise = |page: &&Quiet| page.alike.is_none();
    let of_noise =
        totals.quiet.iter().filter(noise).map(|page| format!("{}: {}", page.url, rules(&page.rules)));
    let alike = totals.quiet.iter().filter_map(|page| Some((page, page.alike?)));
    let of_alike = alike.map(|(page, alike)| format!("{}: {}", page.url, sameness(alike)));
    let same = totals.same_text + totals.same_nodes;
    listed("Noise alone", of_noise, totals.noise) + &listed("Only written otherwise", of_alike, same)
}

fn listed(title: &str, lines: impl Iterator<Item = String>, count: u64) -> String {
    let mut lines: Vec<String> = lines.take(MOST_LISTED).collect();
    let more = count.saturating_sub(lines.len() as u64);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    html::list(title, lines.iter().map(String::as_str))
}
