//! Takes out of text the values that rules know, so that what is left can be compared.

use super::looks::{is_hash, is_id, is_token, unscrambled};
use super::pages::Pages;
use super::pattern::{Looks, Pattern, Stands};
use super::place::{is_dated_comment, is_in_comment, is_in_state, is_in_tag, is_shown, tells_when_made};
use super::rules::{NoiseRule, RULES};
use super::signs::{Signs, WordSet};
use super::tag::{is_named, is_own_asset};
use regex::bytes::{Regex, RegexBuilder};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

/// Text longer than this is not searched: a caller cuts it to what lies around a change.
pub(super) const MOST_MASKED: usize = 16 << 10;

/// Values from this length on are shortened where the text is too long.
const LONG_VALUE: usize = 1 << 10;

/// A pattern of the table, made ready when a text first shows its sign. All of them together take milliseconds, which a single
/// comparison of small pages would notice.
struct Ready {
    rule: NoiseRule,
    pattern: &'static Pattern,
    words: WordSet,
    regex: OnceLock<Regex>,
}

static PATTERNS: LazyLock<Vec<Ready>> = LazyLock::new(|| {
    let ready = |rule, pattern: &'static Pattern| {
        let words = pattern.sign.word_set();
        Ready { rule, pattern, words, regex: OnceLock::new() }
    };
    RULES.iter().flat_map(|rule| rule.patterns.iter().map(move |pattern| ready(rule.rule, pattern))).collect()
});

/// A value that a rule knows, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Value {
    rule: NoiseRule,
    looks: Looks,
    range: Range<usize>,
}

impl Ready {
    /// The patterns speak of ASCII alone. Told so, they are ready in an eighth of the time.
    fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| {
            RegexBuilder::new(self.pattern.form)
                .unicode(false)
                .build()
                .expect("the patterns of the table are tested")
        })
    }
}

/// The rule that explains why two texts differ: both are the same but for values that rules know. The first of those that
/// have another value, in the order of the table.
pub(super) fn explain(base: &str, head: &str, pages: &Pages<'_>) -> Option<NoiseRule> {
    let (base, head) = (&*shortened(base), &*shortened(head));
    if base.len().max(head.len()) > MOST_MASKED || base.is_empty() || head.is_empty() {
        return None;
    }
    let before = values(base);
    if before.is_empty() {
        return None;
    }
    let after = values(head);
    if before.len() != after.len() {
        return None;
    }
    let (mut at, mut other) = (0, 0);
    let mut changed = Vec::new();
    for (from, to) in before.into_iter().zip(after) {
        let kin = from.rule == to.rule && from.looks == to.looks;
        if !kin || base[at..from.range.start] != head[other..to.range.start] {
            return None;
        }
        (at, other) = (from.range.end, to.range.end);
        let (old, new) = (&base[from.range.clone()], &head[to.range.clone()]);
        if old != new {
            let may_follow = match from.looks {
                Looks::Hash => old.len() == new.len(),
                Looks::Swapped => old.len() == new.len() && pages.swapped(old, new),
                Looks::Address => unscrambled(old).is_some_and(|address| unscrambled(new) == Some(address)),
                _ => true,
            };
            may_follow.then_some(())?;
            changed.push(from);
        }
    }
    (base[at..] == head[other..] && digests_follow(base, &changed)).then_some(())?;
    changed.into_iter().map(|value| value.rule).min()
}

/// A long text with its longest values, such as the state of a form, cut to their ends and a digest: they differ where the values do.
fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= MOST_MASKED {
        return Cow::Borrowed(text);
    }
    let is_of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte);
    let mut short = String::new();
    let mut at = 0;
    for run in text.as_bytes().chunk_by(|one, next| is_of_token(*one) == is_of_token(*next)) {
        let part = &text[at..at + run.len()];
        at += run.len();
        if run.len() >= LONG_VALUE && is_of_token(run[0]) {
            let digest = Sha256::digest(run).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            short.extend([&part[..64], &digest, &part[part.len() - 64..]]);
        } else {
            short.push_str(part);
        }
    }
    Cow::Owned(short)
}

/// Whether anything in a text may be a value that a rule knows. Most lines have none, and need not be looked at in their place.
pub(super) fn may_have_values(text: &str) -> bool {
    let signs = Signs::of(text);
    PATTERNS.iter().any(|ready| signs.show(ready.pattern.sign, ready.words))
}

/// Whether each digest that changed goes with an address that did, in the same tag: alone, it says that an asset was
/// changed in place.
fn digests_follow(base: &str, changed: &[Value]) -> bool {
    changed.iter().enumerate().filter(|(_, value)| value.looks == Looks::Digest).all(|(place, digest)| {
        let in_one_tag = |other: &Value| {
            let between = digest.range.end.min(other.range.end)..digest.range.start.max(other.range.start);
            other.rule == NoiseRule::BuildHash
                && other.looks != Looks::Digest
                && !base.as_bytes()[between].iter().any(|byte| matches!(byte, b'<' | b'>'))
        };
        // Those next to it are enough: what stands further away in a tag is there for other reasons.
        let near = &changed[place.saturating_sub(2)..changed.len().min(place + 3)];
        near.iter().any(in_one_tag)
    })
}

/// A text with marks in place of the values that rules know. None if there are none.
pub(super) fn mask(text: &str) -> Option<String> {
    let values = if text.len() <= MOST_MASKED { values(text) } else { Vec::new() };
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for Value { rule, range, .. } in &values {
        masked.push_str(&text[at..range.start]);
        masked.extend(["\u{0}", rule.name(), "\u{0}"]);
        at = range.end;
    }
    masked.push_str(&text[at..]);
    (!values.is_empty()).then_some(masked)
}

/// The values that rules know in a text, in order. Of two that overlap the one of the earlier rule stays.
fn values(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let signs = Signs::of(text);
    for ready in PATTERNS.iter().filter(|ready| signs.show(ready.pattern.sign, ready.words)) {
        take_values(text, ready, &mut found);
    }
    found.sort_unstable_by_key(|value: &Value| value.range.start);
    found
}

fn take_values(text: &str, ready: &Ready, found: &mut Vec<Value>) {
    let Pattern { looks, stands, .. } = *ready.pattern;
    for captures in ready.regex().captures_iter(text.as_bytes()) {
        let Some(range) = captures.name("v").map(|value| value.range()) else { continue };
        let Some(value) = text.get(range.clone()) else { continue };
        let taken = found.iter().any(|other| other.range.start < range.end && range.start < other.range.end);
        if !taken && looks_right(value, looks) && stands_right(text, &range, stands) {
            found.push(Value { rule: ready.rule, looks, range });
        }
    }
}

fn looks_right(value: &str, looks: Looks) -> bool {
    match looks {
        Looks::Formed | Looks::Digest => true,
        Looks::Token => is_token(value),
        Looks::Hash | Looks::Swapped => is_hash(value),
        Looks::Id => is_id(value),
        Looks::Address => unscrambled(value).is_some(),
    }
}

fn stands_right(text: &str, value: &Range<usize>, stands: Stands) -> bool {
    match stands {
        Stands::Anywhere => true,
        Stands::Tag => is_in_tag(text, value.start),
        Stands::Unshown => !is_shown(text, value.start),
        Stands::Named(names) => is_named(text, value, names),
        Stands::OwnAsset => is_own_asset(text, value),
        Stands::State => is_in_state(text, value.start),
        Stands::Made => tells_when_made(text, value),
        Stands::DatedComment => is_dated_comment(text, value.start),
        Stands::Comment => is_in_comment(text, value.start),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What explains why two texts differ that are no pages.
    fn explain(base: &str, head: &str) -> Option<NoiseRule> {
        super::explain(base, head, &Pages::none())
    }

    fn all_are_explained(cases: &[(&str, &str, &str)]) {
        for (base, head, rule) in cases {
            assert_eq!(explain(base, head).map(NoiseRule::name), Some(*rule), "{base} / {head}");
        }
    }

    #[test]
    fn what_pages_write_by_themselves_is_noise() {
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
    fn a_token_may_be_short_under_a_name_that_says_what_it_is() {
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
    fn rules_explain_what_they_know() {
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
            (r#"data-request-id="0a1b2c3d4e""#, r#"data-request-id="ffffffffff""#, "request-id"),
            (r#"data-cfemail="4223022c6c2d""#, r#"data-cfemail="0160416f2f6e""#, "scrambled-address"),
        ]);
    }

    #[test]
    fn what_people_write_is_not_noise() {
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

    /// The values that are found when every pattern is asked, whatever the text shows.
    fn values_without_signs(text: &str) -> Vec<Value> {
        let mut found = Vec::new();
        for ready in PATTERNS.iter() {
            take_values(text, ready, &mut found);
        }
        found.sort_unstable_by_key(|value: &Value| value.range.start);
        found
    }

    /// Pieces of which texts can be made that each pattern matches.
    const PIECES: &str = "(NONCE=|'nonce-|_wpnonce:|abcdef12345|1234567890|value=\"|content='|\"|'| |<|>|/|&|\\?|CSRF|xsrf|\
        Form_Token|__VIEWSTATE|2026-11-16 10:11:12|Mon, 16 Nov 2026 10:11:12 GMT|>9:59:59<|timestamp:|\"now\":|ts=|<meta |name=\"dc.created\" |<lastBuildDate>|<!--|-->|updated |2024-10-31|integrity=\"sha256-|\"buildId\":\"|_token|Generated in 1.5 s|\
        took 3ms|\\.JS|\\.css|-0a1b2c3d|\\.min\\.js|\\?ver=6.4|/static/|/DIST/|/\\(S\\(abcdefabcdefabcdef\\)\\)/|sid=|PHPSESSID=|name=\"sid\"|\
        request-id=|SpanId:|cf-ray:|0123456789abcdef|data-cfemail=|/cdn-cgi/l/email-protection#|é){0,14}";

    proptest! {
        #[test]
        fn no_sign_hides_a_value(text in PIECES) {
            prop_assert_eq!(values(&text), values_without_signs(&text));
        }

        #[test]
        fn any_letters_are_searched(base in "(nonce=|csrf=\"|value=\"|[é日]{1,9}|\"|x){0,12}", head in "(nonce=|é{8}|\"){0,9}") {
            explain(&base, &head);
            mask(&base);
        }

        #[test]
        fn what_is_new_is_never_explained(before in "[a-z <>=\"0-9:-]{0,40}", after in "[a-z <>=\"0-9:-]{0,40}") {
            let base = format!("{before}{after}");
            let head = format!("{before}<script src=x.js></script>{after}");
            prop_assert_eq!(explain(&base, &head), None);
        }
    }
}
