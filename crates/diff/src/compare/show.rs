//! A comparison as JSON, as text and as a page.

use super::{Alike, Body, Bytes, Comparison, DomBody, TextBody};
use crate::headers::{HeaderDiff, RedactedSide};
use crate::nodes::{NodeChange, What};
use crate::noise::NoiseRule;
use crate::text::html::{self, Page, Row, Table};
use crate::text::{BodyDiff, Change, Chunk, ChunkKind, Hunk, View, unified_changes};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use varve_core::headers::REDACTED;
use varve_page::charset::Decided;
use varve_page::dom::Cut;

/// How a body was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Encoded {
    /// Its encoding.
    pub encoding: &'static str,
    /// Who decided on it.
    pub decided: Decided,
    /// Whether bytes were replaced. Offsets then are those of the text.
    pub lossy: bool,
}

/// A comparison as JSON: the documented `body_diff` and `headers_diff`, and what varve adds.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The body.
    pub body_diff: BodyDiff,
    /// The headers.
    pub headers_diff: HeaderDiff,
    /// Whether anything changed that is not noise.
    pub changed: bool,
    /// How many changes of the body each rule explains, whether they are shown or not.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub noise: BTreeMap<NoiseRule, usize>,
    /// The headers that are redacted, and whether each came, went or is on both sides.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted_headers: BTreeMap<String, RedactedSide>,
    /// The headers that are noise, and why.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub header_noise: BTreeMap<String, NoiseRule>,
    /// In what the bodies are the same, though their bytes differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alike: Option<Alike>,
    /// Why lines are told and not nodes, where nodes were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_by_nodes: Option<Cut>,
    /// How the base and the head were read, if they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encodings: Option<[Encoded; 2]>,
}

impl Comparison<'_> {
    /// The comparison as JSON. Noise is left out, or with `all` marked.
    pub fn report(&self, all: bool) -> Report {
        let encodings = match &self.body {
            Body::Text(text) => Some(text.encodings),
            Body::Dom(dom) => Some(dom.encodings),
            Body::Same | Body::Binary(..) | Body::Letters(_) | Body::Unread => None,
        };
        let mut noise = BTreeMap::new();
        for rule in self.body_noise().iter().flatten() {
            *noise.entry(*rule).or_default() += 1;
        }
        Report {
            body_diff: self.body_diff(all),
            headers_diff: self.headers_diff(all),
            changed: self.is_changed(),
            noise,
            redacted_headers: self.redacted.clone(),
            header_noise: self.header_noise.clone(),
            alike: self.body.alike(),
            not_by_nodes: match &self.body {
                Body::Text(text) => text.not_by_nodes,
                _ => None,
            },
            encodings,
        }
    }

    /// The body in the documented shape.
    pub fn body_diff(&self, all: bool) -> BodyDiff {
        let body = BodyDiff::new(&self.base_id, &self.head_id);
        match &self.body {
            Body::Same => body,
            Body::Binary(from, to) => BodyDiff { chunks: vec![binary_chunk(from, to)], ..body },
            Body::Text(text) => text.tell(body, all),
            Body::Dom(dom) => dom.tell(body, all),
            Body::Letters(diff) => diff.clone(),
            Body::Unread => BodyDiff { truncated: true, ..body },
        }
    }

    /// The headers in the documented shape.
    pub fn headers_diff(&self, all: bool) -> HeaderDiff {
        let mut headers = self.headers.clone();
        if !all {
            headers.added.retain(|name, _| !self.header_noise.contains_key(name));
            headers.removed.retain(|name, _| !self.header_noise.contains_key(name));
            headers.changed.retain(|name, _| !self.header_noise.contains_key(name));
        }
        headers
    }

    /// The changed lines with some around them. Nothing unless bodies were compared by lines or words.
    pub fn hunks(&self, view: &View, all: bool) -> Vec<Hunk<'_>> {
        match &self.body {
            Body::Text(text) => {
                let noise = |change: &Change| text.rule(change).map(NoiseRule::name);
                unified_changes(&text.diff, &text.shown(all), view, noise)
            }
            _ => Vec::new(),
        }
    }

    /// How many lines came and how many went. None unless bodies were compared by lines or words.
    pub fn lines_changed(&self, all: bool) -> Option<(usize, usize)> {
        let Body::Text(text) = &self.body else { return None };
        let shown = text.shown(all);
        let count = |lines: fn(&Change) -> usize| shown.iter().map(lines).sum();
        Some((count(|change| change.head_lines.len()), count(|change| change.base_lines.len())))
    }

    /// The comparison as a page that needs nothing else.
    pub fn html(&self, title: &str, view: &View, all: bool) -> String {
        html::page(&self.page(title, all), &self.hunks(view, all))
    }

    /// The comparison as one section of such a page, with what the base and the head are called in it, and with what else is to be
    /// said first; `number` is its own.
    pub fn html_section(
        &self,
        title: &str,
        [base, head]: [&str; 2],
        notes: Vec<String>,
        view: &View,
        all: bool,
        number: usize,
    ) -> String {
        let mut page = Page { base, head, ..self.page(title, all) };
        page.notes.splice(0..0, notes);
        html::section(&page, &self.hunks(view, all), number)
    }

    fn page<'p>(&'p self, title: &'p str, all: bool) -> Page<'p> {
        let tables = vec![self.header_table(all), self.node_table(all), self.chunk_table()];
        Page { title, base: &self.base_id, head: &self.head_id, notes: self.notes(all), tables }
    }

    /// For each change of the body the rule by which it is noise.
    pub fn body_noise(&self) -> &[Option<NoiseRule>] {
        match &self.body {
            Body::Text(text) => &text.noise,
            Body::Dom(dom) => &dom.noise,
            Body::Same | Body::Binary(..) | Body::Letters(_) | Body::Unread => &[],
        }
    }

    /// How many changes of the body and of headers each rule explains.
    pub fn rules(&self) -> BTreeMap<&'static str, usize> {
        let mut rules = BTreeMap::new();
        for rule in self.body_noise().iter().flatten().chain(self.header_noise.values()) {
            *rules.entry(rule.name()).or_default() += 1;
        }
        rules
    }

    /// Sentences about what the lines and tables do not say.
    pub fn notes(&self, all: bool) -> Vec<String> {
        let mut notes = Vec::new();
        match &self.body {
            Body::Same => notes.push("The bodies are the same, byte for byte.".to_owned()),
            Body::Binary(from, to) => {
                notes.push(format!("The body is not text: {} became {}.", weigh(from), weigh(to)))
            }
            Body::Text(text) => text.note(&mut notes),
            Body::Dom(_) if self.body.alike().is_some() => {
                notes.push(
                    "The nodes are the same: the bytes differ only in how they are written.".to_owned(),
                );
            }
            Body::Dom(dom) => {
                notes.extend(dom.diff.truncated.then(|| "There are more changes than are shown.".to_owned()));
            }
            Body::Letters(diff) if diff.truncated => {
                notes.push("There are more changes than are shown.".to_owned());
            }
            Body::Letters(diff) if diff.chunks.is_empty() => {
                notes.push("The bodies differ only in white space.".to_owned());
            }
            // Why that is knows whoever did not read them.
            Body::Letters(_) | Body::Unread => {}
        }
        notes.extend(self.note_of_noise(all));
        notes
    }

    fn note_of_noise(&self, all: bool) -> Option<String> {
        let rules = || self.body_noise().iter().flatten().chain(self.header_noise.values());
        let names: Vec<&str> = rules().collect::<BTreeSet<_>>().into_iter().map(|rule| rule.name()).collect();
        let done = if all { "marked" } else { "left out" };
        let told = || format!("{} {done} as noise: {}.", count(rules().count(), "change"), names.join(", "));
        (!names.is_empty()).then(told)
    }

    fn header_table(&self, all: bool) -> Table {
        let shown = self.headers_diff(all);
        let row = |what: &str, name: &String, from: &[String], to: &[String]| Row {
            what: what.to_owned(),
            place: name.clone(),
            from: from.join("\n"),
            to: to.join("\n"),
            noise: self.header_noise.get(name).map(ToString::to_string),
        };
        let mut rows: Vec<Row> =
            shown.changed.iter().map(|(name, c)| row("changed", name, &c.from, &c.to)).collect();
        rows.extend(shown.added.iter().map(|(name, to)| row("added", name, &[], to)));
        rows.extend(shown.removed.iter().map(|(name, from)| row("removed", name, from, &[])));
        rows.extend(self.redacted_rows(all));
        Table { title: "Headers".to_owned(), rows }
    }

    /// Redacted headers, each with the marker on the sides that have it.
    fn redacted_rows(&self, all: bool) -> impl Iterator<Item = Row> {
        let row = |(name, side): (&str, RedactedSide)| {
            let (what, [from, to]) = match side {
                RedactedSide::Added => ("added", ["", REDACTED]),
                RedactedSide::Removed => ("removed", [REDACTED, ""]),
                RedactedSide::Both => ("redacted", [REDACTED; 2]),
            };
            let noise = self.header_noise.get(name).map(ToString::to_string);
            Row {
                what: what.to_owned(),
                place: name.to_owned(),
                from: from.to_owned(),
                to: to.to_owned(),
                noise,
            }
        };
        let both = self.redacted_on_both().map(|name| (name, RedactedSide::Both));
        self.redacted_changes(all).chain(both).map(row)
    }

    fn chunk_table(&self) -> Table {
        let Body::Letters(diff) = &self.body else { return Table::default() };
        let row = |(number, chunk): (usize, &Chunk)| {
            let (place, text) = (chunk_place(number, chunk), chunk.content.clone());
            match chunk.kind {
                ChunkKind::Removed => Row { what: "removed".to_owned(), place, from: text, ..Row::default() },
                _ => Row { what: "added".to_owned(), place, to: text, ..Row::default() },
            }
        };
        Table { title: "Chunks".to_owned(), rows: diff.chunks.iter().enumerate().map(row).collect() }
    }

    fn node_table(&self, all: bool) -> Table {
        let Body::Dom(dom) = &self.body else { return Table::default() };
        let row = |(change, rule): (&NodeChange, &Option<NoiseRule>)| {
            let [from, to] = change.quoted().map(|side| side.unwrap_or_default().into_owned());
            let (what, place) = (name_of(&change.what), change.selector.clone());
            Row { what, place, from, to, noise: rule.map(|rule| rule.to_string()) }
        };
        Table { title: "Nodes".to_owned(), rows: dom.shown(all).map(row).collect() }
    }
}

impl TextBody<'_> {
    fn shown(&self, all: bool) -> Vec<Change> {
        self.diff.changes_without(|place| !all && self.noise[place].is_some())
    }

    fn note(&self, notes: &mut Vec<String>) {
        if let Some(cut) = self.not_by_nodes {
            let cut = reason(cut);
            notes.push(format!("The page is compared by lines and not by nodes: {cut}."));
        }
        if self.diff.is_empty() {
            let what =
                if self.without_trailing_space { "line endings, trailing space" } else { "line endings" };
            notes.push(format!("The text is the same: only {what} or the encoding differ."));
            return;
        }
        let spaces = self.diff.changes().iter().filter(|change| change.whitespace_only).count();
        notes.extend((spaces > 0).then(|| format!("{} of white space alone.", count(spaces, "change"))));
        if self.diff.truncated() {
            notes.push("The bodies were too long to be compared in full.".to_owned());
        }
    }

    /// The rule by which a change is noise, if it is.
    fn rule(&self, change: &Change) -> Option<NoiseRule> {
        let start = |change: &Change| (change.base_lines.start, change.head_lines.start);
        let place = self.diff.changes().binary_search_by_key(&start(change), start);
        place.ok().and_then(|place| self.noise[place])
    }

    fn tell(&self, body: BodyDiff, all: bool) -> BodyDiff {
        let rule = |change: &Change| self.rule(change).map(|rule| rule.to_string());
        body.with_changes(&self.diff, &self.shown(all), self.words, rule)
    }
}

impl DomBody {
    /// The changes that are shown, each with its rule.
    pub fn shown(&self, all: bool) -> impl Iterator<Item = (&NodeChange, &Option<NoiseRule>)> {
        self.diff.changes.iter().zip(&self.noise).filter(move |(_, rule)| all || rule.is_none())
    }

    fn tell(&self, body: BodyDiff, all: bool) -> BodyDiff {
        let chunks = self.shown(all).map(|(change, rule)| node_chunk(change, *rule)).collect();
        BodyDiff { chunks, truncated: self.diff.truncated, ..body }
    }
}

/// A node in the documented shape: what came and went as it is, everything else as a sentence.
fn node_chunk(change: &NodeChange, rule: Option<NoiseRule>) -> Chunk {
    let [from, to] = change.quoted();
    let (from, to) = (from.as_deref(), to.as_deref());
    let or_nothing = |value: Option<&str>| value.unwrap_or_default().to_owned();
    let (kind, content) = match &change.what {
        What::Inserted => (ChunkKind::Added, or_nothing(to)),
        What::Removed => (ChunkKind::Removed, or_nothing(from)),
        What::Moved => (ChunkKind::Modified, format!("moved from {}", or_nothing(from))),
        What::Text => (ChunkKind::Modified, format!("{} → {}", or_nothing(from), or_nothing(to))),
        What::Attribute(name) => {
            let side =
                |value: Option<&str>| value.map_or_else(|| "none".to_owned(), |value| format!("\"{value}\""));
            (ChunkKind::Modified, format!("{name}: {} → {}", side(from), side(to)))
        }
    };
    // In a field of its own, for in the content a page's text may say the same.
    let moved_from = (change.what == What::Moved).then(|| change.from.clone()).flatten();
    let (path, noise) = (Some(change.selector.clone()), rule.map(|rule| rule.to_string()));
    Chunk { path, noise, moved_from, ..Chunk::new(kind, content) }
}

/// The number of a chunk, and at which byte of its side it begins.
pub fn chunk_place(number: usize, chunk: &Chunk) -> String {
    let start = if chunk.kind == ChunkKind::Removed { chunk.base_start } else { chunk.head_start };
    format!("chunk {number} at byte {start}")
}

fn binary_chunk(from: &Bytes, to: &Bytes) -> Chunk {
    Chunk::new(ChunkKind::Modified, format!("binary: {} → {}", weigh(from), weigh(to)))
}

fn weigh(bytes: &Bytes) -> String {
    format!("{} bytes sha256:{}", bytes.length, bytes.id)
}

fn name_of(what: &What) -> String {
    match what {
        What::Inserted => "inserted".to_owned(),
        What::Removed => "removed".to_owned(),
        What::Moved => "moved".to_owned(),
        What::Text => "text".to_owned(),
        What::Attribute(name) => format!("attribute {name}"),
    }
}

/// Why a page cannot be compared by nodes.
const fn reason(cut: Cut) -> &'static str {
    match cut {
        Cut::Length => "it is too long",
        Cut::Depth => "its elements nest too deep",
        Cut::Nodes => "it has too many nodes",
        Cut::Attributes => "an element has too many attributes",
    }
}

fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}
