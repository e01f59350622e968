//! Two captures of a page compared: bodies, headers, and what of it is noise.
//!
//! The one door to all that this crate knows of differences. Owns the order of things: what the bodies are, which text
//! they hold, how that is compared, which changes rules explain; and only then, as some headers follow from the body,
//! the headers. Does not know where captures come from, and prints nothing: it [answers](Comparison) with values that
//! can be shown as JSON in the documented shape, as text or as a page.

mod show;

pub use show::{Encoded, Report, chunk_place};

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
use varve_page::dom::{Cut, Tree};
use varve_page::kind::Kind;

/// One of two captures.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The version or capture that it is called in the answer. Empty when there is none.
    pub id: &'a str,
    /// Its headers.
    pub headers: &'a HeaderView,
    /// Its body.
    pub body: &'a [u8],
    /// The type of the body, where it is known from elsewhere than the headers.
    pub media_type: Option<&'a str>,
}

/// How bodies are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// By lines.
    #[default]
    Lines,
    /// By words.
    Words,
    /// By nodes, where both are HTML and can be read whole; else by lines.
    Dom,
    /// By letters, as rows of `diffs` hold it, with places in bytes of the bodies: these are the chunks that attributions of a score
    /// count. Nothing is noise.
    Letters,
}

/// What to compare, and what to overlook.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How bodies are compared.
    pub mode: Mode,
    /// What counts as a difference of lines.
    pub text: text::Options,
    /// Whether sensitive headers are hidden.
    pub redaction: Redaction,
    /// What is known to differ each time.
    pub volatile: Volatile,
}

/// How two captures differ.
#[derive(Debug)]
pub struct Comparison<'a> {
    /// The id of the base.
    pub base_id: String,
    /// The id of the head.
    pub head_id: String,
    /// How the bodies differ.
    pub body: Body<'a>,
    /// How the headers differ, noise and all.
    pub headers: HeaderDiff,
    /// The headers whose values are hidden, and on which side each is.
    pub redacted: BTreeMap<String, RedactedSide>,
    /// The headers that are noise, and why.
    pub header_noise: BTreeMap<String, NoiseRule>,
}

/// How two bodies differ.
#[derive(Debug)]
pub enum Body<'a> {
    /// Not in a single byte.
    Same,
    /// At least one is not text.
    Binary(Bytes, Bytes),
    /// By lines or words.
    Text(TextBody<'a>),
    /// By nodes.
    Dom(DomBody),
    /// By letters.
    Letters(BodyDiff),
    /// They differ and were not compared: too long, or not to be had.
    Unread,
}

/// A body that is only weighed and hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes {
    /// How long it is.
    pub length: usize,
    /// Its id.
    pub id: BodyId,
}

/// Bodies compared by lines or words.
#[derive(Debug)]
pub struct TextBody<'a> {
    /// The diff.
    pub diff: TextDiff<'a>,
    /// For each change the rule by which it is noise.
    pub noise: Vec<Option<NoiseRule>>,
    /// Whether it is told by words.
    pub words: bool,
    /// Whether white space at the ends of lines was overlooked.
    pub without_trailing_space: bool,
    /// Why it is not compared by nodes, where it should have been.
    pub not_by_nodes: Option<Cut>,
    /// How each side was read.
    pub encodings: [Encoded; 2],
}

/// Bodies compared by nodes.
#[derive(Debug)]
pub struct DomBody {
    /// The diff.
    pub diff: DomDiff,
    /// For each change the rule by which it is noise.
    pub noise: Vec<Option<NoiseRule>>,
    /// How each side was read.
    pub encodings: [Encoded; 2],
}

/// Compares two captures.
pub fn compare<'a>(base: &Side<'a>, head: &Side<'a>, options: &Options) -> Comparison<'a> {
    with_headers(base, head, compare_bodies(base, head, options), options)
}

/// Compares all but the bodies, of which it is only known whether they are the same.
pub fn compare_heads<'a>(
    base: &Side<'a>,
    head: &Side<'a>,
    same_body: bool,
    options: &Options,
) -> Comparison<'a> {
    let body = if same_body { Body::Same } else { Body::Unread };
    with_headers(base, head, body, options)
}

fn with_headers<'a>(base: &Side<'a>, head: &Side<'a>, body: Body<'a>, options: &Options) -> Comparison<'a> {
    let (headers, redacted) = compare_headers(base, head, options);
    let mut header_noise = classify_headers(&headers, !body.is_changed(), &options.volatile);
    header_noise.extend(classify_redacted(&redacted, &options.volatile));
    let (base_id, head_id) = (base.id.to_owned(), head.id.to_owned());
    Comparison { base_id, head_id, body, headers, redacted, header_noise }
}

/// Learns from two captures taken together what differs each time.
pub fn learn(one: &Side<'_>, other: &Side<'_>, options: &Options) -> Volatile {
    let mut volatile = options.volatile.clone();
    let (headers, redacted) = compare_headers(one, other, options);
    volatile.learn_headers(&headers, &redacted);
    for mode in [Mode::Lines, Mode::Dom] {
        match compare_bodies(one, other, &Options { mode, ..options.clone() }) {
            Body::Text(text) => {
                volatile.learn_lines(&text.diff, [kind(one), kind(other)].map(BodySyntax::from));
            }
            Body::Dom(dom) => volatile.learn_nodes(&dom.diff.changes),
            Body::Same | Body::Binary(..) | Body::Letters(_) | Body::Unread => {}
        }
    }
    volatile
}

fn compare_headers(
    base: &Side<'_>,
    head: &Side<'_>,
    options: &Options,
) -> (HeaderDiff, BTreeMap<String, RedactedSide>) {
    let [base, head] = [base, head].map(|side| side.headers.with_redaction(options.redaction));
    let headers = HeaderDiff::between(&base, &head);
    let redacted = headers.redacted_sides(&base, &head);
    (headers, redacted)
}

fn compare_bodies<'a>(base: &Side<'a>, head: &Side<'a>, options: &Options) -> Body<'a> {
    if base.body == head.body {
        return Body::Same;
    }
    let kinds = [kind(base), kind(head)];
    if kinds.contains(&Kind::Binary) {
        return Body::Binary(Bytes::of(base.body), Bytes::of(head.body));
    }
    if options.mode == Mode::Letters {
        return Body::Letters(by_letters(base, head));
    }
    let read = |decode: Decode, side: &Side<'a>| decode(side.body, side.content_type());
    let texts = [base, head].map(|side| read(charset::decode_by_letters, side));
    let is_lossy = texts.iter().any(|text| text.lossy);
    let body = compare_texts(texts, kinds, options);
    if !is_lossy || body.is_changed() {
        return body;
    }
    // A byte that cannot be read may be the letter that is now written as it should be: readers saw a sign there.
    let shown = compare_texts([base, head].map(|side| read(charset::decode, side)), kinds, options);
    if shown.is_changed() { shown } else { body }
}

type Decode = for<'b> fn(&'b [u8], Option<&str>) -> charset::Decoded<'b>;

/// Compares as the original tracker does. It reads every body as UTF-8, so that all bytes which are none are the same to it: where
/// those differ, the chunks do not tell all.
fn by_letters(base: &Side<'_>, head: &Side<'_>) -> BodyDiff {
    let diff = moku::body_diff(base.id, head.id, base.body, head.body);
    let mut diff = moku::in_bytes(diff, base.body, head.body);
    let gone = diff.chunks.iter().map(|chunk| (chunk.base_start, chunk.base_len));
    let come = diff.chunks.iter().map(|chunk| (chunk.head_start, chunk.head_len));
    let differ = !unread_bytes(base.body, gone).eq(unread_bytes(head.body, come));
    diff.truncated |= differ;
    diff
}

/// The bytes that are no UTF-8 and stand in none of these stretches, which are in order.
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

fn compare_texts<'a>([from, to]: [charset::Decoded<'a>; 2], kinds: [Kind; 2], options: &Options) -> Body<'a> {
    let encodings = [Encoded::of(&from), Encoded::of(&to)];
    let mut not_by_nodes = None;
    if options.mode == Mode::Dom && kinds == [Kind::Html; 2] {
        match compare_nodes([&from.text, &to.text], &options.volatile) {
            Ok((diff, noise)) => return Body::Dom(DomBody { diff, noise, encodings }),
            Err(cut) => not_by_nodes = Some(cut),
        }
    }
    let mut diff = TextDiff::between(from.text, to.text, options.text);
    let noise = classify_lines(&mut diff, kinds.map(BodySyntax::from), &options.volatile);
    let (words, without_trailing_space) =
        (options.mode == Mode::Words, options.text.ignore_trailing_whitespace);
    Body::Text(TextBody { diff, noise, words, without_trailing_space, not_by_nodes, encodings })
}

/// Compares two pages by their nodes, if both can be read whole; else says why not. Where the first cannot, the second is not read.
fn compare_nodes(
    [from, to]: [&str; 2],
    volatile: &Volatile,
) -> Result<(DomDiff, Vec<Option<NoiseRule>>), Cut> {
    let base = Tree::parse(from);
    if let Some(cut) = base.cut() {
        return Err(cut);
    }
    let head = Tree::parse(to);
    let diff = DomDiff::between(&base, &head);
    match diff.cut {
        Some(cut) => Err(cut),
        None => {
            let noise = classify_nodes(&base, &head, &diff.changes, volatile);
            Ok((diff, noise))
        }
    }
}

/// What a side is. An empty body is whatever the other one is.
fn kind(side: &Side<'_>) -> Kind {
    if side.body.is_empty() { Kind::Text } else { Kind::of(side.body, side.content_type()) }
}

impl Side<'_> {
    fn content_type(&self) -> Option<&str> {
        self.media_type.or_else(|| self.headers.get("content-type")?.first().map(String::as_str))
    }
}

impl Bytes {
    fn of(body: &[u8]) -> Self {
        Self { length: body.len(), id: BodyId::new(Sha256::digest(body).into()) }
    }
}

impl Encoded {
    fn of(decoded: &charset::Decoded<'_>) -> Self {
        Self { encoding: decoded.encoding, decided: decoded.decided, lossy: decoded.lossy }
    }
}

impl Body<'_> {
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

/// In what two bodies are the same, though their bytes are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Alike {
    /// Every line says the same.
    Text,
    /// Every node is the same.
    Nodes,
}

impl Body<'_> {
    /// In what the bodies are the same, where bytes differ and no change was found: not even noise.
    pub fn alike(&self) -> Option<Alike> {
        match self {
            Self::Text(text) if text.diff.is_empty() => Some(Alike::Text),
            Self::Dom(dom) if dom.diff.changes.is_empty() && !dom.diff.truncated => Some(Alike::Nodes),
            _ => None,
        }
    }
}

impl Comparison<'_> {
    /// Whether anything changed that is not noise. Of redacted headers only that they came or went can be known.
    pub fn is_changed(&self) -> bool {
        self.body.is_changed() || self.headers_changed(false) > 0
    }

    /// How many headers changed, came or went; those that are noise only count with `all`.
    pub fn headers_changed(&self, all: bool) -> usize {
        let headers = &self.headers;
        let names = headers.changed.keys().chain(headers.added.keys()).chain(headers.removed.keys());
        let told = names.filter(|name| all || !self.header_noise.contains_key(*name)).count();
        told + self.redacted_changes(all).count()
    }

    /// The redacted headers that came or went; those that are noise only with `all`.
    pub fn redacted_changes(&self, all: bool) -> impl Iterator<Item = (&str, RedactedSide)> {
        let changes = self.redacted.iter().filter(|(_, side)| side.is_change());
        let shown = changes.filter(move |(name, _)| all || !self.header_noise.contains_key(*name));
        shown.map(|(name, side)| (name.as_str(), *side))
    }

    /// The redacted headers that are on both sides, of which it is not told whether they changed.
    pub fn redacted_on_both(&self) -> impl Iterator<Item = &str> {
        self.redacted.iter().filter(|(_, side)| !side.is_change()).map(|(name, _)| name.as_str())
    }
}
