//! Compares two captures of a page: bodies, headers and noise.
//!
//! The entry point of this crate. Owns the order of the steps: kind and text of the bodies,
//! comparison, noise, and then the headers, some of which follow from the body. Does not know where
//! captures come from, and prints nothing. The [result](CaptureComparison) can be written as JSON
//! in the documented form, as text or as a page.

mod show;

pub use show::{ComparisonReport, ReportedEncoding, chunk_place};

use crate::headers::{HeaderDiff, RedactedSide};
use crate::nodes::DomDiff;
use crate::noise::{
    BodySyntax, NoiseRule, Volatile, classify_headers, classify_lines, classify_nodes, classify_redacted,
};
use crate::text::{self, BodyDiff, TextDiff, moku};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use varve_core::BodyId;
use varve_core::headers::{HeaderView, Redaction};
use varve_page::charset;
use varve_page::dom::{HtmlTree, TreeCut};
use varve_page::kind::BodyKind;

/// One of two captures.
#[derive(Debug, Clone, Copy)]
pub struct CaptureSide<'a> {
    /// The version or capture id for the result. Empty if there is none.
    pub id: &'a str,
    /// Its headers.
    pub headers: &'a HeaderView,
    /// Its body.
    pub body: &'a [u8],
    /// The media type of the body, if it is known apart from the headers.
    pub media_type: Option<&'a str>,
}

impl CaptureSide<'_> {
    fn is_absent(&self) -> bool {
        self.headers.is_empty() && self.body.is_empty()
    }
}

/// How bodies are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiffMode {
    /// By lines.
    #[default]
    Lines,
    /// By words.
    Words,
    /// By nodes, if both are HTML and within the limits; else by lines.
    Dom,
    /// By letters as in rows of `diffs`, with offsets in bytes of the bodies: the chunks of score
    /// attributions. Nothing is noise.
    Letters,
}

/// Options of a comparison.
#[derive(Debug, Clone, Default)]
pub struct CompareOptions {
    /// How bodies are compared.
    pub mode: DiffMode,
    /// What counts as a difference of lines.
    pub text: text::LineOptions,
    /// Whether sensitive headers are hidden.
    pub redaction: Redaction,
    /// Noise learned from two captures taken together.
    pub volatile: Volatile,
}

/// The result of comparing two captures.
#[derive(Debug)]
pub struct CaptureComparison<'a> {
    /// The id of the base.
    pub base_id: String,
    /// The id of the head.
    pub head_id: String,
    /// The comparison of the bodies.
    pub body: BodyComparison<'a>,
    /// The diff of the headers, noise included.
    pub headers: HeaderDiff,
    /// The redacted headers, and the sides that have them.
    pub redacted: BTreeMap<String, RedactedSide>,
    /// The headers that are noise, with the rules.
    pub header_noise: BTreeMap<String, NoiseRule>,
    /// Whether one of the sides has neither headers nor a body, so that the page is new or gone.
    /// Then no header is noise.
    pub is_one_sided: bool,
}

/// The comparison of two bodies.
#[derive(Debug)]
pub enum BodyComparison<'a> {
    /// They are equal.
    Same,
    /// At least one is not text.
    Binary(BinaryBody, BinaryBody),
    /// By lines or words.
    Text(TextBody<'a>),
    /// By nodes.
    Dom(DomBody),
    /// By letters.
    Letters(BodyDiff),
    /// They differ and were not compared: too long, or not available.
    Unread,
}

/// Length and id of a binary body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinaryBody {
    /// Its length in bytes.
    pub length: usize,
    /// Its id.
    pub id: BodyId,
}

/// Bodies compared by lines or words.
#[derive(Debug)]
pub struct TextBody<'a> {
    /// The diff.
    pub diff: TextDiff<'a>,
    /// For each change the rule that explains it.
    pub noise: Vec<Option<NoiseRule>>,
    /// Whether it is reported by words.
    pub words: bool,
    /// Whether white space at the ends of lines was ignored.
    pub without_trailing_space: bool,
    /// The limit because of which nodes were not compared.
    pub not_by_nodes: Option<TreeCut>,
    /// The encoding of each side.
    pub encodings: [ReportedEncoding; 2],
}

/// Bodies compared by nodes.
#[derive(Debug)]
pub struct DomBody {
    /// The diff.
    pub diff: DomDiff,
    /// For each change the rule that explains it.
    pub noise: Vec<Option<NoiseRule>>,
    /// The encoding of each side.
    pub encodings: [ReportedEncoding; 2],
}

/// Compares two captures.
pub fn compare<'a>(
    base: &CaptureSide<'a>,
    head: &CaptureSide<'a>,
    options: &CompareOptions,
) -> CaptureComparison<'a> {
    with_headers(base, head, compare_bodies(base, head, options), options)
}

/// Compares the headers of captures whose bodies are only known to be equal or not.
pub fn compare_heads<'a>(
    base: &CaptureSide<'a>,
    head: &CaptureSide<'a>,
    same_body: bool,
    options: &CompareOptions,
) -> CaptureComparison<'a> {
    let body = if same_body { BodyComparison::Same } else { BodyComparison::Unread };
    with_headers(base, head, body, options)
}

fn with_headers<'a>(
    base: &CaptureSide<'a>,
    head: &CaptureSide<'a>,
    body: BodyComparison<'a>,
    options: &CompareOptions,
) -> CaptureComparison<'a> {
    let (headers, redacted) = compare_headers(base, head, options);
    let is_one_sided = base.is_absent() != head.is_absent();
    let mut header_noise = BTreeMap::new();
    if !is_one_sided {
        header_noise = classify_headers(&headers, !body.is_changed(), &options.volatile);
        header_noise.extend(classify_redacted(&redacted, &options.volatile));
    }
    let (base_id, head_id) = (base.id.to_owned(), head.id.to_owned());
    CaptureComparison { base_id, head_id, body, headers, redacted, header_noise, is_one_sided }
}

/// Learns from two captures taken together what differs in every capture.
pub fn learn(one: &CaptureSide<'_>, other: &CaptureSide<'_>, options: &CompareOptions) -> Volatile {
    let mut volatile = options.volatile.clone();
    let (headers, redacted) = compare_headers(one, other, options);
    volatile.learn_headers(&headers, &redacted);
    for mode in [DiffMode::Lines, DiffMode::Dom] {
        match compare_bodies(one, other, &CompareOptions { mode, ..options.clone() }) {
            BodyComparison::Text(text) => {
                volatile.learn_lines(&text.diff, [kind(one), kind(other)].map(BodySyntax::from));
            }
            BodyComparison::Dom(dom) => volatile.learn_nodes(&dom.diff.changes),
            BodyComparison::Same
            | BodyComparison::Binary(..)
            | BodyComparison::Letters(_)
            | BodyComparison::Unread => {}
        }
    }
    volatile
}

fn compare_headers(
    base: &CaptureSide<'_>,
    head: &CaptureSide<'_>,
    options: &CompareOptions,
) -> (HeaderDiff, BTreeMap<String, RedactedSide>) {
    let [base, head] = [base, head].map(|side| side.headers.with_redaction(options.redaction));
    let headers = HeaderDiff::between(&base, &head);
    let redacted = headers.redacted_sides(&base, &head);
    (headers, redacted)
}

fn compare_bodies<'a>(
    base: &CaptureSide<'a>,
    head: &CaptureSide<'a>,
    options: &CompareOptions,
) -> BodyComparison<'a> {
    if base.body == head.body {
        return BodyComparison::Same;
    }
    let kinds = [kind(base), kind(head)];
    if kinds.contains(&BodyKind::Binary) {
        return BodyComparison::Binary(BinaryBody::of(base.body), BinaryBody::of(head.body));
    }
    if options.mode == DiffMode::Letters {
        return BodyComparison::Letters(by_letters(base, head));
    }
    let read = |decode: Decode, side: &CaptureSide<'a>| decode(side.body, side.content_type());
    let texts = [base, head].map(|side| read(charset::decode_by_letters, side));
    let is_lossy = texts.iter().any(|text| text.lossy);
    let body = compare_texts(texts, kinds, options);
    if !is_lossy || body.is_changed() {
        return body;
    }
    // An invalid byte may be a letter that is now encoded correctly. Readers saw U+FFFD, so that is
    // a change.
    let shown = compare_texts([base, head].map(|side| read(charset::decode, side)), kinds, options);
    if shown.is_changed() { shown } else { body }
}

type Decode = for<'b> fn(&'b [u8], Option<&str>) -> charset::DecodedText<'b>;

/// Compares as the original tracker does. It decodes every body as UTF-8, so all invalid bytes are
/// equal to it. If they differ, the chunks are incomplete.
fn by_letters(base: &CaptureSide<'_>, head: &CaptureSide<'_>) -> BodyDiff {
    let diff = moku::body_diff(base.id, head.id, base.body, head.body);
    let mut diff = moku::in_bytes(diff, base.body, head.body);
    let gone = diff.chunks.iter().map(|chunk| (chunk.base_start, chunk.base_len));
    let come = diff.chunks.iter().map(|chunk| (chunk.head_start, chunk.head_len));
    let differ = !unread_bytes(base.body, gone).eq(unread_bytes(head.body, come));
    diff.truncated |= differ;
    diff
}

/// The bytes that are not UTF-8, outside of these ranges, which are in order.
fn unread_bytes<'b>(
    body: &'b [u8],
    told: impl Iterator<Item = (usize, usize)> + 'b,
) -> impl Iterator<Item = u8> + 'b {
    let mut told = told.map(|(start, length)| start..start + length).peekable();
    let mut at = 0;
    let unread = body.utf8_chunks().flat_map(move |chunk| {
        let start = at + chunk.valid().len();
        at = start + chunk.invalid().len();
        (start..).zip(chunk.invalid().iter().copied())
    });
    unread.filter_map(move |(place, byte)| {
        while told.next_if(|stretch| stretch.end <= place).is_some() {}
        told.peek().is_none_or(|stretch| place < stretch.start).then_some(byte)
    })
}

fn compare_texts<'a>(
    [from, to]: [charset::DecodedText<'a>; 2],
    kinds: [BodyKind; 2],
    options: &CompareOptions,
) -> BodyComparison<'a> {
    let encodings = [ReportedEncoding::of(&from), ReportedEncoding::of(&to)];
    let mut not_by_nodes = None;
    if options.mode == DiffMode::Dom && kinds == [BodyKind::Html; 2] {
        match compare_nodes([&from.text, &to.text], &options.volatile) {
            Ok((diff, noise)) => return BodyComparison::Dom(DomBody { diff, noise, encodings }),
            Err(cut) => not_by_nodes = Some(cut),
        }
    }
    let mut diff = TextDiff::between(from.text, to.text, options.text);
    let noise = classify_lines(&mut diff, kinds.map(BodySyntax::from), &options.volatile);
    let (words, without_trailing_space) =
        (options.mode == DiffMode::Words, options.text.ignore_trailing_whitespace);
    BodyComparison::Text(TextBody { diff, noise, words, without_trailing_space, not_by_nodes, encodings })
}

/// Compares two pages by nodes. If a tree reaches a limit, that limit is the error.
fn compare_nodes(
    [from, to]: [&str; 2],
    volatile: &Volatile,
) -> Result<(DomDiff, Vec<Option<NoiseRule>>), TreeCut> {
    let base = HtmlTree::parse(from);
    if let Some(cut) = base.cut() {
        return Err(cut);
    }
    let head = HtmlTree::parse(to);
    let diff = DomDiff::between(&base, &head);
    match diff.cut {
        Some(cut) => Err(cut),
        None => {
            let noise = classify_nodes(&base, &head, &diff.changes, volatile);
            Ok((diff, noise))
        }
    }
}

/// The kind of a side. An empty body is text, which is compatible with every other kind.
fn kind(side: &CaptureSide<'_>) -> BodyKind {
    if side.body.is_empty() { BodyKind::Text } else { BodyKind::of(side.body, side.content_type()) }
}

impl CaptureSide<'_> {
    fn content_type(&self) -> Option<&str> {
        self.media_type.or_else(|| self.headers.get("content-type")?.first().map(String::as_str))
    }
}

impl BinaryBody {
    fn of(body: &[u8]) -> Self {
        Self { length: body.len(), id: BodyId::new(Sha256::digest(body).into()) }
    }
}

impl ReportedEncoding {
    fn of(decoded: &charset::DecodedText<'_>) -> Self {
        Self { encoding: decoded.encoding, decided: decoded.decided, lossy: decoded.lossy }
    }
}

impl BodyComparison<'_> {
    /// Whether anything changed that is not noise.
    pub fn is_changed(&self) -> bool {
        let is_edit = |rule: &Option<NoiseRule>| rule.is_none();
        match self {
            Self::Same => false,
            Self::Binary(..) | Self::Unread => true,
            Self::Text(text) => text.noise.iter().any(is_edit),
            Self::Dom(dom) => dom.diff.truncated || dom.noise.iter().any(is_edit),
            Self::Letters(diff) => diff.truncated || !diff.chunks.is_empty(),
        }
    }
}

/// In which way two bodies with different bytes are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BodySimilarity {
    /// All lines are equal.
    Text,
    /// All nodes are equal.
    Nodes,
}

impl BodyComparison<'_> {
    /// In which way the bodies are equal, if their bytes differ and there is no change, not even
    /// noise.
    pub fn alike(&self) -> Option<BodySimilarity> {
        match self {
            Self::Text(text) if text.diff.is_empty() => Some(BodySimilarity::Text),
            Self::Dom(dom) if dom.diff.changes.is_empty() && !dom.diff.truncated => {
                Some(BodySimilarity::Nodes)
            }
            _ => None,
        }
    }
}

impl CaptureComparison<'_> {
    /// Whether anything changed that is not noise. Redacted headers count only if they were added
    /// or removed.
    pub fn is_changed(&self) -> bool {
        self.body.is_changed() || self.headers_changed(false) > 0
    }

    /// The number of changed, added and removed headers; with `all` noise is included.
    pub fn headers_changed(&self, all: bool) -> usize {
        let headers = &self.headers;
        let names = headers.changed.keys().chain(headers.added.keys()).chain(headers.removed.keys());
        let told = names.filter(|name| all || !self.header_noise.contains_key(*name)).count();
        told + self.redacted_changes(all).count()
    }

    /// The redacted headers that were added or removed; with `all` noise is included.
    pub fn redacted_changes(&self, all: bool) -> impl Iterator<Item = (&str, RedactedSide)> {
        let changes = self.redacted.iter().filter(|(_, side)| side.is_change());
        let shown = changes.filter(move |(name, _)| all || !self.header_noise.contains_key(*name));
        shown.map(|(name, side)| (name.as_str(), *side))
    }

    /// The redacted headers of both sides. Their changes are not reported.
    pub fn redacted_on_both(&self) -> impl Iterator<Item = &str> {
        self.redacted.iter().filter(|(_, side)| !side.is_change()).map(|(name, _)| name.as_str())
    }
}
