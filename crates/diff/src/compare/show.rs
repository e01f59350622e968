//! A comparison as JSON, as text and as a page.

use super::{BinaryBody, BodyComparison, BodySimilarity, CaptureComparison, DomBody, TextBody};
use crate::headers::{HeaderDiff, RedactedSide};
use crate::nodes::{NodeChange, NodeChangeKind, NodeSort};
use crate::noise::NoiseRule;
use crate::text::html::{self, DiffPage, DiffRow, Table};
use crate::text::{BodyDiff, ChunkKind, ChunkPart, DiffChunk, DiffView, Hunk, LineChange, unified_changes};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use varve_core::headers::REDACTED_VALUE;
use varve_page::charset::EncodingSource;
use varve_page::dom::TreeCut;

/// The encoding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ReportedEncoding {
    /// Its encoding.
    pub encoding: &'static str,
    /// The source of the encoding.
    pub decided: EncodingSource,
    /// Whether bytes were replaced. Offsets then are those of the text.
    pub lossy: bool,
}

/// A comparison as JSON: the documented `body_diff` and `headers_diff`, and the fields of varve.
#[derive(Debug, Clone, Serialize)]
pub struct ComparisonReport {
    /// The body.
    pub body_diff: BodyDiff,
    /// The headers.
    pub headers_diff: HeaderDiff,
    /// Whether anything changed that is not noise.
    pub changed: bool,
    /// The number of changes of the body that each rule explains, shown or not.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub noise: BTreeMap<NoiseRule, usize>,
    /// The redacted headers, and the sides that have them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted_headers: BTreeMap<String, RedactedSide>,
    /// The headers that are noise, with the rules.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub header_noise: BTreeMap<String, NoiseRule>,
    /// In which way bodies with different bytes are equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alike: Option<BodySimilarity>,
    /// The limit because of which lines were compared instead of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_by_nodes: Option<TreeCut>,
    /// The encodings of base and head, if they were decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encodings: Option<[ReportedEncoding; 2]>,
}

impl CaptureComparison<'_> {
    /// The comparison as JSON. Noise is left out; with `all` it is included and marked.
    pub fn report(&self, all: bool) -> ComparisonReport {
        let encodings = match &self.body {
            BodyComparison::Text(text) => Some(text.encodings),
            BodyComparison::Dom(dom) => Some(dom.encodings),
            BodyComparison::Same
            | BodyComparison::Binary(..)
            | BodyComparison::Letters(_)
            | BodyComparison::Unread => None,
        };
        let mut noise = BTreeMap::new();
        for rule in self.body_noise().iter().flatten() {
            *noise.entry(*rule).or_default() += 1;
        }
        ComparisonReport {
            body_diff: self.body_diff(all),
            headers_diff: self.headers_diff(all),
            changed: self.is_changed(),
            noise,
            redacted_headers: self.redacted.clone(),
            header_noise: self.header_noise.clone(),
            alike: self.body.alike(),
            not_by_nodes: match &self.body {
                BodyComparison::Text(text) => text.not_by_nodes,
                _ => None,
            },
            encodings,
        }
    }

    /// The body in the documented form.
    pub fn body_diff(&self, all: bool) -> BodyDiff {
        let body = BodyDiff::new(&self.base_id, &self.head_id);
        match &self.body {
            BodyComparison::Same => body,
            BodyComparison::Binary(from, to) => BodyDiff { chunks: vec![binary_chunk(from, to)], ..body },
            BodyComparison::Text(text) => text.tell(body, all),
            BodyComparison::Dom(dom) => dom.tell(body, all),
            BodyComparison::Letters(diff) => diff.clone(),
            BodyComparison::Unread => BodyDiff { truncated: true, ..body },
        }
    }

    /// The headers in the documented form.
    pub fn headers_diff(&self, all: bool) -> HeaderDiff {
        let mut headers = self.headers.clone();
        if !all {
            headers.added.retain(|name, _| !self.header_noise.contains_key(name));
            headers.removed.retain(|name, _| !self.header_noise.contains_key(name));
            headers.changed.retain(|name, _| !self.header_noise.contains_key(name));
        }
        headers
    }

    /// The changed lines with context. Empty unless bodies were compared by lines or words.
    pub fn hunks(&self, view: &DiffView, all: bool) -> Vec<Hunk<'_>> {
        match &self.body {
            BodyComparison::Text(text) => {
                let noise = |change: &LineChange| text.rule(change).map(NoiseRule::name);
                unified_changes(&text.diff, &text.shown(all), view, noise)
            }
            _ => Vec::new(),
        }
    }

    /// The numbers of added and removed lines. `None` unless bodies were compared by lines or
    /// words.
    pub fn lines_changed(&self, all: bool) -> Option<(usize, usize)> {
        let BodyComparison::Text(text) = &self.body else { return None };
        let shown = text.shown(all);
        let count = |lines: fn(&LineChange) -> usize| shown.iter().map(lines).sum();
        Some((count(|change| change.head_lines.len()), count(|change| change.base_lines.len())))
    }

    /// The comparison as a self-contained page.
    pub fn html(&self, title: &str, view: &DiffView, all: bool) -> String {
        html::page(&self.page(title, all), &self.hunks(view, all))
    }

    /// The comparison as one section of such a page, with the names of base and head, sentences
    /// that come first, and the number of the section.
    pub fn html_section(
        &self,
        title: &str,
        [base, head]: [&str; 2],
        notes: Vec<String>,
        view: &DiffView,
        all: bool,
        number: usize,
    ) -> String {
        let mut page = DiffPage { base, head, ..self.page(title, all) };
        page.notes.splice(0..0, notes);
        html::section(&page, &self.hunks(view, all), number)
    }

    fn page<'p>(&'p self, title: &'p str, all: bool) -> DiffPage<'p> {
        let (notes, tables) = (self.notes(), self.tables(all));
        DiffPage { title, base: &self.base_id, head: &self.head_id, notes, tables }
    }

    /// The changes that are not lines: headers, nodes, and chunks by letters.
    pub fn tables(&self, all: bool) -> Vec<Table> {
        vec![self.header_table(all), self.node_table(all), self.chunk_table()]
    }

    /// For each change of the body the rule that explains it.
    pub fn body_noise(&self) -> &[Option<NoiseRule>] {
        match &self.body {
            BodyComparison::Text(text) => &text.noise,
            BodyComparison::Dom(dom) => &dom.noise,
            BodyComparison::Same
            | BodyComparison::Binary(..)
            | BodyComparison::Letters(_)
            | BodyComparison::Unread => &[],
        }
    }

    /// The number of changes of the body and of headers that each rule explains.
    pub fn rules(&self) -> BTreeMap<&'static str, usize> {
        let mut rules = BTreeMap::new();
        for rule in self.body_noise().iter().flatten().chain(self.header_noise.values()) {
            *rules.entry(rule.name()).or_default() += 1;
        }
        rules
    }

    /// Sentences about facts that lines and tables do not show.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        match &self.body {
            BodyComparison::Same => notes.push("The bodies are the same, byte for byte.".to_owned()),
            BodyComparison::Binary(from, to) if self.is_one_sided => {
                let body = if from.length == 0 { to } else { from };
                notes.push(format!("The body is not text: {}.", weigh(body)));
            }
            BodyComparison::Binary(from, to) => {
                notes.push(format!("The body is not text: {} became {}.", weigh(from), weigh(to)))
            }
            BodyComparison::Text(text) => text.note(&mut notes),
            BodyComparison::Dom(_) if self.body.alike().is_some() => {
                notes.push(
                    "The nodes are the same: the bytes differ only in how they are written.".to_owned(),
                );
            }
            BodyComparison::Dom(dom) => {
                notes.extend(dom.diff.truncated.then(|| "There are more changes than are shown.".to_owned()));
            }
            BodyComparison::Letters(diff) if diff.truncated => {
                notes.push("There are more changes than are shown.".to_owned());
            }
            BodyComparison::Letters(diff) if diff.chunks.is_empty() => {
                notes.push("The bodies differ only in white space.".to_owned());
            }
            // The caller knows why they were not read.
            BodyComparison::Letters(_) | BodyComparison::Unread => {}
        }
        notes.extend(self.note_of_noise());
        notes
    }

    fn note_of_noise(&self) -> Option<String> {
        let rules = || self.body_noise().iter().flatten().chain(self.header_noise.values());
        let names: Vec<&str> = rules().collect::<BTreeSet<_>>().into_iter().map(|rule| rule.name()).collect();
        let number = rules().count();
        let verb = if number == 1 { "is" } else { "are" };
        (number > 0).then(|| format!("{} {verb} noise: {}.", count(number, "change"), names.join(", ")))
    }

    fn header_table(&self, all: bool) -> Table {
        let shown = self.headers_diff(all);
        let row = |what: &str, name: &String, from: &[String], to: &[String]| DiffRow {
            what: what.to_owned(),
            place: name.clone(),
            from: from.join("\n"),
            to: to.join("\n"),
            noise: self.header_noise.get(name).map(ToString::to_string),
        };
        let mut rows: Vec<DiffRow> =
            shown.changed.iter().map(|(name, c)| row("changed", name, &c.from, &c.to)).collect();
        rows.extend(shown.added.iter().map(|(name, to)| row("added", name, &[], to)));
        rows.extend(shown.removed.iter().map(|(name, from)| row("removed", name, from, &[])));
        rows.extend(self.redacted_rows(all));
        Table { title: "Headers".to_owned(), rows }
    }

    /// Redacted headers, with the marker on the sides that have them.
    fn redacted_rows(&self, all: bool) -> impl Iterator<Item = DiffRow> {
        let row = |(name, side): (&str, RedactedSide)| {
            let (what, [from, to]) = match side {
                RedactedSide::Added => ("added", ["", REDACTED_VALUE]),
                RedactedSide::Removed => ("removed", [REDACTED_VALUE, ""]),
                RedactedSide::Both => ("redacted", [REDACTED_VALUE; 2]),
            };
            let noise = self.header_noise.get(name).map(ToString::to_string);
            DiffRow {
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
        let BodyComparison::Letters(diff) = &self.body else { return Table::default() };
        let row = |(number, chunk): (usize, &DiffChunk)| {
            let (place, text) = (chunk_place(number, chunk), chunk.content.clone());
            let what = chunk.kind.word().to_owned();
            match chunk.kind {
                ChunkKind::Removed => DiffRow { what, place, from: text, ..DiffRow::default() },
                _ => DiffRow { what, place, to: text, ..DiffRow::default() },
            }
        };
        Table { title: "Chunks".to_owned(), rows: diff.chunks.iter().enumerate().map(row).collect() }
    }

    fn node_table(&self, all: bool) -> Table {
        let BodyComparison::Dom(dom) = &self.body else { return Table::default() };
        let row = |(change, rule): (&NodeChange, &Option<NoiseRule>)| {
            let [from, to] = change.quoted().map(|side| side.unwrap_or_default().into_owned());
            let place = match &change.content {
                Some(content) => format!("{}: {content}", change.place()),
                None => change.place(),
            };
            let what = change.what.chunk_kind().word().to_owned();
            DiffRow { what, place, from, to, noise: rule.map(|rule| rule.to_string()) }
        };
        Table { title: "Nodes".to_owned(), rows: dom.shown(all).map(row).collect() }
    }
}

impl TextBody<'_> {
    fn shown(&self, all: bool) -> Vec<LineChange> {
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

    /// The rule that explains a change.
    fn rule(&self, change: &LineChange) -> Option<NoiseRule> {
        let start = |change: &LineChange| (change.base_lines.start, change.head_lines.start);
        let place = self.diff.changes().binary_search_by_key(&start(change), start);
        place.ok().and_then(|place| self.noise[place])
    }

    fn tell(&self, body: BodyDiff, all: bool) -> BodyDiff {
        let rule = |change: &LineChange| self.rule(change).map(|rule| rule.to_string());
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

/// A node in the documented form: added and removed nodes with their HTML, changed nodes with the
/// values of both sides, moved nodes with their HTML and both places.
fn node_chunk(change: &NodeChange, rule: Option<NoiseRule>) -> DiffChunk {
    let [before, after] = change.quoted().map(|side| side.map(|text| text.into_owned()));
    let kind = change.what.chunk_kind();
    let chunk = match kind {
        ChunkKind::Added => DiffChunk::new(kind, after.unwrap_or_default()),
        ChunkKind::Removed => DiffChunk::new(kind, before.unwrap_or_default()),
        ChunkKind::Changed | ChunkKind::Moved => {
            let content = change.content.clone().unwrap_or_default();
            DiffChunk { before, after, ..DiffChunk::new(kind, content) }
        }
    };
    let attribute = match &change.what {
        NodeChangeKind::Attribute(name) => Some(name.clone()),
        _ => None,
    };
    let (path, noise) = (Some(change.selector.clone()), rule.map(|rule| rule.to_string()));
    DiffChunk { path, part: part_of(change), attribute, noise, ..chunk }
}

/// The part of its element that a change is about.
const fn part_of(change: &NodeChange) -> Option<ChunkPart> {
    match (&change.what, change.sort) {
        (NodeChangeKind::Attribute(_), _) => Some(ChunkPart::Attribute),
        (NodeChangeKind::Tag, _) => Some(ChunkPart::Tag),
        (_, NodeSort::Comment) => Some(ChunkPart::Comment),
        (NodeChangeKind::Text, _) | (_, NodeSort::Text) => Some(ChunkPart::Text),
        (_, NodeSort::Element) => None,
    }
}

/// The number of a chunk, and its offset in its side.
pub fn chunk_place(number: usize, chunk: &DiffChunk) -> String {
    let start = if chunk.kind == ChunkKind::Removed { chunk.base_start } else { chunk.head_start };
    format!("chunk {number} at byte {start}")
}

fn binary_chunk(from: &BinaryBody, to: &BinaryBody) -> DiffChunk {
    let (before, after) = (Some(weigh(from)), Some(weigh(to)));
    DiffChunk { before, after, ..DiffChunk::new(ChunkKind::Changed, "") }
}

fn weigh(bytes: &BinaryBody) -> String {
    format!("{} bytes sha256:{}", bytes.length, bytes.id)
}

/// Why a page cannot be compared by nodes.
const fn reason(cut: TreeCut) -> &'static str {
    match cut {
        TreeCut::Length => "it is too long",
        TreeCut::Depth => "its elements nest too deep",
        TreeCut::Nodes => "it has too many nodes",
        TreeCut::Attributes => "an element has too many attributes",
    }
}

fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}
