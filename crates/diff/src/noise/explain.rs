//! Why two ranges of two documents differ.

use super::ad_slots::differ_by_advertisement;
use super::document::{BodySyntax, DocumentIndex, SourceDocument, SourceUnit};
use super::pattern::ValueShape;
use super::rules::NoiseRule;
use super::swapped_links::SwappedLinks;
use super::token_shape::unscrambled_address;
use super::value::{MAX_WHOLE_TOKEN_BYTES, NoiseValue, PART_CONTEXT_BYTES};
use crate::text::TextDiff;
use std::cell::Cell;
use std::ops::Range;

/// Maximum number of slots that are parsed in one comparison.
const MAX_PARSED_SLOTS: usize = 1000;

/// Compares two documents.
pub(super) struct DocumentPair<'p, 't, 'd> {
    pub(super) base: SourceDocument<'p>,
    pub(super) head: SourceDocument<'p>,
    pub(super) swapped: &'p SwappedLinks<'t>,
    /// The diff of the lines, by which places are the same on both sides. Without one none are.
    pub(super) diff: Option<&'p TextDiff<'d>>,
    /// Number of slots that were parsed.
    pub(super) parsed_slots: &'p Cell<usize>,
}

/// A token, and the part of it that is compared.
type TokenPart = (usize, Range<usize>);

impl DocumentPair<'_, '_, '_> {
    /// The rule that explains why two ranges differ: they are the same but for values that rules
    /// know and for what advertisements show. If several rules are needed, the first in the order
    /// of the table.
    pub(super) fn explain(&self, base: Range<usize>, head: Range<usize>) -> Option<NoiseRule> {
        let (mut from, mut to) = (self.base.units(base), self.head.units(head));
        let mut explained: Option<NoiseRule> = None;
        loop {
            let rule = match (from.next(), to.next()) {
                (None, None) => return explained,
                (Some(SourceUnit::Token(from, old)), Some(SourceUnit::Token(to, new))) => {
                    if same_text(&self.base.text[old.clone()], &self.head.text[new.clone()]) {
                        continue;
                    }
                    self.explain_tokens((from, old), (to, new))?
                }
                (Some(SourceUnit::Slot(from)), Some(SourceUnit::Slot(to))) => {
                    let (from, to) = (&self.base.slots()[from], &self.head.slots()[to]);
                    if self.base.text[from.range.clone()] == self.head.text[to.range.clone()] {
                        continue;
                    }
                    let is_same_place = self.is_aligned(from.range.start, to.range.start)
                        && self.is_aligned(from.range.end - 1, to.range.end - 1);
                    self.parsed_slots.set(self.parsed_slots.get() + 1);
                    let may_parse = is_same_place && self.parsed_slots.get() <= MAX_PARSED_SLOTS;
                    (may_parse && differ_by_advertisement((self.base, from), (self.head, to)))
                        .then_some(NoiseRule::AdSlot)?
                }
                _ => return None,
            };
            explained = Some(explained.map_or(rule, |known| known.min(rule)));
        }
    }

    /// Whether an offset of the base is in the same line as one of the head, or in the same change.
    fn is_aligned(&self, base: usize, head: usize) -> bool {
        let Some(diff) = self.diff else { return false };
        let changes = diff.changes();
        let next = changes.partition_point(|change| change.base.end <= base);
        if let Some(change) = changes.get(next).filter(|change| change.base.start <= base) {
            return change.head.contains(&head);
        }
        let before = next.checked_sub(1).map(|last| &changes[last]);
        let (base_end, head_end) = before.map_or((0, 0), |change| (change.base.end, change.head.end));
        let is_before_next = changes.get(next).is_none_or(|change| head < change.head.start);
        is_before_next && head.checked_sub(head_end) == Some(base - base_end)
    }

    /// The rule that explains why two tokens differ.
    fn explain_tokens(&self, from: TokenPart, to: TokenPart) -> Option<NoiseRule> {
        if self.base.kind(from.0) != self.head.kind(to.0) {
            return None;
        }
        let (from, to) = self.without_shared_ends(from, to);
        let before = self.base.values(from.0, &from.1);
        if before.is_empty() {
            return None;
        }
        let after = self.head.values(to.0, &to.1);
        if before.len() != after.len() {
            return None;
        }
        let (mut at, mut other) = (from.1.start, to.1.start);
        let mut changed = Vec::new();
        for (old, new) in before.iter().zip(&after) {
            let is_alike = old.rule == new.rule && old.shape == new.shape && old.reason == new.reason;
            let (old_text, new_text) =
                (&self.base.text[at..old.range.start], &self.head.text[other..new.range.start]);
            if !is_alike || !same_text(old_text, new_text) {
                return None;
            }
            (at, other) = (old.range.end, new.range.end);
            if self.base.text[old.range.clone()] != self.head.text[new.range.clone()] {
                self.may_follow(old, new, (from.0, to.0)).then_some(())?;
                changed.push(old.rule);
            }
        }
        same_text(&self.base.text[at..from.1.end], &self.head.text[other..to.1.end]).then_some(())?;
        changed.into_iter().min()
    }

    /// Two parts of long tokens without what they share at both ends, except for a little that
    /// patterns need.
    fn without_shared_ends(&self, from: TokenPart, to: TokenPart) -> (TokenPart, TokenPart) {
        if from.1.len().max(to.1.len()) <= MAX_WHOLE_TOKEN_BYTES {
            return (from, to);
        }
        let (old, new) = (&self.base.text[from.1.clone()], &self.head.text[to.1.clone()]);
        let shared = |one: &mut dyn Iterator<Item = (u8, u8)>| one.take_while(|(a, b)| a == b).count();
        let start = shared(&mut old.bytes().zip(new.bytes())).saturating_sub(PART_CONTEXT_BYTES);
        let start = old.floor_char_boundary(start);
        let end = shared(&mut old[start..].bytes().rev().zip(new[start..].bytes().rev()));
        let end = end.saturating_sub(PART_CONTEXT_BYTES);
        let end = old.len() - old.ceil_char_boundary(old.len() - end);
        let part = |(token, part): TokenPart| (token, part.start + start..part.end - end);
        (part(from), part(to))
    }

    /// Whether a value may have taken the place of another.
    fn may_follow(&self, old: &NoiseValue, new: &NoiseValue, tokens: (usize, usize)) -> bool {
        let (from, to) = (&self.base.text[old.range.clone()], &self.head.text[new.range.clone()]);
        match old.shape {
            ValueShape::Hash => from.len() == to.len(),
            ValueShape::SwappedHash => {
                from.len() == to.len() && self.swapped.contains(&(from.to_owned(), to.to_owned()))
            }
            ValueShape::ScrambledAddress => {
                unscrambled_address(from).is_some_and(|address| unscrambled_address(to) == Some(address))
            }
            ValueShape::AssetDigest => asset_hashes(self.base, tokens.0) != asset_hashes(self.head, tokens.1),
            ValueShape::AsMatched | ValueShape::Token | ValueShape::RequestId => true,
        }
    }
}

/// The hashes in the addresses of a tag. A digest follows them: alone, it says that the asset was
/// changed in place.
fn asset_hashes(document: SourceDocument<'_>, token: usize) -> Vec<&str> {
    let values = document.values(token, &document.range(token));
    let is_hash =
        |value: &&NoiseValue| value.rule == NoiseRule::BuildHash && value.shape != ValueShape::AssetDigest;
    values.iter().filter(is_hash).map(|value| &document.text[value.range.clone()]).collect()
}

/// Whether two texts are the same but for the kind of line endings.
fn same_text(one: &str, other: &str) -> bool {
    let unix = |text: &str| text.replace("\r\n", "\n");
    one == other || ((one.contains('\r') || other.contains('\r')) && unix(one) == unix(other))
}

/// The rule that explains why two fragments differ.
pub(super) fn explain_fragments(
    base: &str,
    head: &str,
    syntax: BodySyntax,
    swapped: &SwappedLinks<'_>,
) -> Option<NoiseRule> {
    let [from, to] = [DocumentIndex::of_fragment(syntax), DocumentIndex::of_fragment(syntax)];
    let pair = DocumentPair {
        base: SourceDocument { text: base, index: &from },
        head: SourceDocument { text: head, index: &to },
        swapped,
        diff: None,
        parsed_slots: &Cell::default(),
    };
    pair.explain(0..base.len(), 0..head.len())
}

#[cfg(test)]
mod tests {
    use super::super::swapped_links::swapped_links;
    use super::*;
    use proptest::prelude::*;

    /// The rule that explains two fragments: of a page if both begin with a tag, else of a program.
    fn explain(base: &str, head: &str) -> Option<NoiseRule> {
        let is_page = base.starts_with('<') && head.starts_with('<');
        let syntax = if is_page { BodySyntax::Html } else { BodySyntax::Program };
        explain_fragments(base, head, syntax, &swapped_links(Default::default))
    }

    fn all_are_explained(cases: &[(&str, &str, &str)]) {
        for (base, head, rule) in cases {
            assert_eq!(explain(base, head).map(NoiseRule::name), Some(*rule), "{base} / {head}");
        }
    }

    #[test]
    fn values_that_pages_generate_are_noise() {
        all_are_explained(&[
            ("<p>Page loaded at <b>10:11:12</b>", "<p>Page loaded at <b>10:11:13</b>", "timestamp"),
            (
                "<!-- Generated by javadoc (17) on Thu Oct 31 10:11:12 UTC 2024 -->",
                "<!-- Generated by javadoc (17) on Fri Nov 01 09:08:07 CET 2024 -->",
                "timestamp",
            ),
            (
                "<!-- Generated by Doxia at 2024-10-31 -->",
                "<!-- Generated by Doxia at 2024-11-30 -->",
                "timestamp",
            ),
            (
                r#"<meta name="dc.created" content="2024-10-31">"#,
                r#"<meta name="dc.created" content="2024-11-01">"#,
                "timestamp",
            ),
            (
                r#"<div data-generated-at="2024-10-31 10:00:00">"#,
                r#"<div data-generated-at="2024-11-01 11:00:00">"#,
                "timestamp",
            ),
            ("var now = 1700000000;", "var now = 1700000009;", "timestamp"),
            ("<p>Page generated in 0.123 seconds</p>", "<p>Page generated in 0.45 seconds</p>", "timestamp"),
            (
                r#"<input type="hidden" name="_token" value="a1B2c3D4e5F6g7H8">"#,
                r#"<input type="hidden" name="_token" value="h8G7f6E5d4C3b2A1">"#,
                "csrf-token",
            ),
            (
                r#"<input value="a1B2c3D4e5F6g7H8" name="_token">"#,
                r#"<input value="h8G7f6E5d4C3b2A1" name="_token">"#,
                "csrf-token",
            ),
            (r#"{"ajax_nonce":"1a2b3c4d5e"}"#, r#"{"ajax_nonce":"5e4d3c2b1a"}"#, "nonce"),
            ("<script nonce=aaaaaaaa1>", "<script nonce=bbbbbbbb2>", "nonce"),
            (
                r#"<script src="/en.a.min.3f1e3aaf261f960b.js" integrity="sha256-Px46r&#43;Y="></script>"#,
                r#"<script src="/en.a.min.9c26da0e9ac4703f.js" integrity="sha256-nCbaDprEc="></script>"#,
                "build-hash",
            ),
            (
                r#"<link integrity="sha384-aaaa" rel=stylesheet href="/a.css?v=1a2b3c4d">"#,
                r#"<link integrity="sha384-bbbb" rel=stylesheet href="/a.css?v=9f8e7d6c">"#,
                "build-hash",
            ),
            (
                "<script src=/a.js?x=1&amp;t=1700000000>",
                "<script src=/a.js?x=1&amp;t=1700000009>",
                "build-hash",
            ),
            (
                "<script src=/_next/static/kq3JrZt9XbV2mN8pL0wYs/_ssgManifest.js>",
                "<script src=/_next/static/Zt9XbVkq3Jr2mN8pL0wYs/_ssgManifest.js>",
                "build-hash",
            ),
        ]);
    }

    #[test]
    fn short_tokens_count_under_the_name_of_a_token() {
        all_are_explained(&[
            ("<script nonce=abc123>", "<script nonce=x9y8z7>", "nonce"),
            (r#"<script nonce="a1b2">"#, r#"<script nonce="longer-than-before-77">"#, "nonce"),
            ("script-src 'nonce-r4nd'", "script-src 'nonce-0m99'", "nonce"),
            (
                r#"<input type="hidden" name="csrf" value="abc123">"#,
                r#"<input type="hidden" name="csrf" value="def456">"#,
                "csrf-token",
            ),
            ("<input name=_token value=abc123>", "<input name=_token value=def456>", "csrf-token"),
            (
                r#"<a href="/out?csrf_token=abc123&x=1">"#,
                r#"<a href="/out?csrf_token=d4e5&x=1">"#,
                "csrf-token",
            ),
            ("<form data-csrf=abc123>", "<form data-csrf=def456>", "csrf-token"),
            (r#"{"csrf":"ab12"}"#, r#"{"csrf":"cd34"}"#, "csrf-token"),
        ]);
    }

    #[test]
    fn rules_explain_their_values() {
        all_are_explained(&[
            (r#"<script nonce="abcd1234efgh">"#, r#"<script nonce="zzzz9999yyyy">"#, "nonce"),
            (r#"script-src 'nonce-aGVsbG8x'"#, r#"script-src 'nonce-d29ybGQy'"#, "nonce"),
            (
                r#"<input type=hidden name="csrf_token" value="a1b2c3d4e5">"#,
                r#"<input type=hidden name="csrf_token" value="f6g7h8i9j0">"#,
                "csrf-token",
            ),
            (
                r#"<meta content="tok-11111111" name="csrf-token">"#,
                r#"<meta content="tok-22222222" name="csrf-token">"#,
                "csrf-token",
            ),
            (
                "<input type=hidden name=csrf_token value=a1b2c3d4e5>",
                "<input type=hidden name=csrf_token value=f6g7h8i9j0>",
                "csrf-token",
            ),
            (
                "<input value=a1b2c3d4e5 type=hidden name=csrf_token>",
                "<input value=f6g7h8i9j0 type=hidden name=csrf_token>",
                "csrf-token",
            ),
            ("<script nonce=abcd1234>", "<script nonce=efgh5678>", "nonce"),
            (r#"{"csrfToken":"abcdefgh1"}"#, r#"{"csrfToken":"abcdefgh2"}"#, "csrf-token"),
            ("<!-- cached 2024-05-01 10:11:12 -->", "<!-- cached 2024-05-02 09:08:07 -->", "timestamp"),
            (
                "<!-- Page generated in 0.123 seconds -->",
                "<!-- Page generated in 0.2 seconds -->",
                "timestamp",
            ),
            ("<script src=/app.1a2b3c4d.js>", "<script src=/app.99aa7766.js>", "build-hash"),
            (
                "<script src=/assets/index-BfK3x9aQ.js>",
                "<script src=/assets/index-C0ffee12.js>",
                "build-hash",
            ),
            (
                "<a href=/x;jsessionid=0123456789ABCDEF>",
                "<a href=/x;jsessionid=FEDCBA9876543210>",
                "session-id",
            ),
            (r#"<p data-request-id="0a1b2c3d4e">"#, r#"<p data-request-id="ffffffffff">"#, "request-id"),
            (r#"<a data-cfemail="4223022c6c2d">"#, r#"<a data-cfemail="0160416f2f6e">"#, "scrambled-address"),
        ]);
    }

    #[test]
    fn values_that_people_write_are_not_noise() {
        for (base, head) in [
            ("The price is 1700000000 euro", "The price is 1700000001 euro"),
            ("Published 2024-05-01", "Published 2024-05-02"),
            ("He won in 1:23:45", "He won in 1:23:44"),
            ("12 comments", "13 comments"),
            ("<script src=/a.js>", "<script src=/b.js>"),
            ("<script src=/jquery-ui-core.js>", "<script src=/jquery-ui-base.js>"),
            ("<script src=//good.example/app.1a2b3c4d.js>", "<script src=//evil.example/app.99aa7766.js>"),
            (r#"<script nonce="abcd1234efgh">a()"#, r#"<script nonce="zzzz9999yyyy">b()"#),
            ("", "<!-- 2024-05-01 10:11:12 -->"),
            ("<p>Concert on 2026-05-01 19:30", "<p>Concert on 2026-06-02 20:00"),
            ("<p>The updated show: 2026-05-01 19:30", "<p>The updated show: 2026-06-02 20:00"),
            (r#"<time datetime="2026-05-01T10:00:00Z">"#, r#"<time datetime="2026-09-01T10:00:00Z">"#),
            ("<td>1:23:45</td>", "<td>1:22:01</td>"),
            ("<b>10:11:12</b>", "<b>10:11:13</b>"),
            (r#"<script src="/js/bootstrap336.js">"#, r#"<script src="/js/coinhive22.js">"#),
            (r#"<script src="/js/my-bootstrap336.js">"#, r#"<script src="/js/my-coinhives22.js">"#),
            (r#"<script src="/js/app.20240501.js">"#, r#"<script src="/js/app.20260611.js">"#),
            (r#"<script src="/js/one.1a2b3c4d.js">"#, r#"<script src="/js/two.4d3c2b1a.js">"#),
            (r#"<script src="/js/a.1a2b3c4d.js">"#, r#"<script src="/js/a.4d3c2b1a99.js">"#),
            (r#"<script src="/js/a.1a2b3c4d.js">"#, r#"<script src="/js/a.4d3c2b1a.mjs">"#),
            (r#"<img src="/photos/20240501.jpg">"#, r#"<img src="/photos/20260611.jpg">"#),
            (r#"<img src="/photos/3f1e3aaf261f960b.jpg">"#, r#"<img src="/photos/9c26da0e9ac4703f.jpg">"#),
            ("/p/product-12345678.png", "/p/product-87654321.png"),
            (r#"<a href="/dist/20260101/">"#, r#"<a href="/dist/20260601/">"#),
            (r#"<a href="/dist/1a2b3c4d/">"#, r#"<a href="/dist/4d3c2b1a/">"#),
            ("Order nonce: 12345678", "Order nonce: 99999999"),
            ("<p>Order nonce: \"12345678\"</p>", "<p>Order nonce: \"99999999\"</p>"),
            (r#"{"startTime":1700000000}"#, r#"{"startTime":1700009999}"#),
            ("<a href=/day?time=1700000000>", "<a href=/day?time=1700009999>"),
            ("<a href=/talks?session=keynote2026>", "<a href=/talks?session=workshop2026>"),
            (
                r#"<meta name="article:published_time" content="2024-10-31">"#,
                r#"<meta name="article:published_time" content="2024-11-01">"#,
            ),
            (r#"<meta name="dc.created" content="by Ann">"#, r#"<meta name="dc.created" content="by Bob">"#),
            ("<time data-timestamp=1700000000>", "<time data-timestamp=1700009999>"),
            ("<div data-time=1700000000>", "<div data-time=1700009999>"),
            ("<p>Event time = 1700000000</p>", "<p>Event time = 1700009999</p>"),
            ("<p>The church was built 2026-05-01 10:00", "<p>The church was built 2026-05-02 10:00"),
            ("<p>The record was created in 9.58 seconds", "<p>The record was created in 9.49 seconds"),
            (
                r#"<script src="/a.js" integrity="sha256-aaaa">"#,
                r#"<script src="/a.js" integrity="sha256-bbbb">"#,
            ),
            (
                r#"<script src="/a.js" integrity="sha256-aaaa"></script><script src="/b.11aa22bb.js">"#,
                r#"<script src="/a.js" integrity="sha256-bbbb"></script><script src="/b.33cc44dd.js">"#,
            ),
            // What is short under such a name and no token is a setting, or what people write.
            (r#"<script nonce="none">"#, r#"<script nonce="some">"#),
            (r#"<meta name="csrf-mode" content="lax">"#, r#"<meta name="csrf-mode" content="strict">"#),
            (r#"<form data-csrf-lifetime="3600">"#, r#"<form data-csrf-lifetime="7200">"#),
            (r#"<meta name="csrf" content="off">"#, r#"<meta name="csrf" content="on">"#),
            (r#"<a href="/x?token=gold">"#, r#"<a href="/x?token=silver">"#),
            ("<p>csrf=abc123 is what we saw</p>", "<p>csrf=def456 is what we saw</p>"),
            (r#"<input name=q value="something">"#, r#"<input name=q value="otherthing">"#),
        ] {
            assert_eq!(explain(base, head), None, "{base} / {head}");
        }
    }

    proptest! {
        #[test]
        fn fragments_of_any_letters_are_compared(
            base in "(nonce=|csrf=\"|value=\"|<p |>|[é日]{1,9}|\"|x){0,12}", head in "(nonce=|<p |é{8}|\"){0,9}",
        ) {
            explain(&base, &head);
        }

        #[test]
        fn new_content_is_never_explained(before in "[a-z <>=\"0-9:-]{0,40}", after in "[a-z <>=\"0-9:-]{0,40}") {
            let base = format!("{before}{after}");
            let head = format!("{before}<script src=x.js></script>{after}");
            prop_assert_eq!(explain(&base, &head), None);
        }
    }
}
