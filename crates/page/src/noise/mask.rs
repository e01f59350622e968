//! Takes out of text the values that rules know, so that what is left can be compared.

use super::rules::{NoiseRule, Pattern, RULES, Sign};
use regex::bytes::{Regex, RegexBuilder};
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

/// Text longer than this is not searched: a caller cuts it to what lies around a change.
pub(super) const MOST_MASKED: usize = 16 << 10;

/// A pattern of the table, made ready when a text first shows its sign. All of them together take 6 ms, which a single
/// comparison of small pages would notice.
struct Ready {
    rule: NoiseRule,
    pattern: &'static Pattern,
    regex: OnceLock<Regex>,
}

static PATTERNS: LazyLock<Vec<Ready>> = LazyLock::new(|| {
    let ready = |rule, pattern| Ready { rule, pattern, regex: OnceLock::new() };
    RULES.iter().flat_map(|rule| rule.patterns.iter().map(move |pattern| ready(rule.rule, pattern))).collect()
});

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

/// What a text shows of signs.
struct Signs {
    small: Vec<u8>,
    clock: bool,
    decimal: bool,
    hex: bool,
}

impl Signs {
    fn of(text: &str) -> Self {
        let small = text.as_bytes().to_ascii_lowercase();
        let is_digit = |place: usize| small.get(place).is_some_and(u8::is_ascii_digit);
        let clock =
            memchr::memchr_iter(b':', &small).any(|at| at > 0 && is_digit(at - 1) && is_digit(at + 1));
        let decimal = has_run(&small, 9, u8::is_ascii_digit);
        let hex = has_run(&small, 16, u8::is_ascii_hexdigit);
        Self { clock, decimal, hex, small }
    }

    fn show(&self, sign: Sign) -> bool {
        match sign {
            Sign::Words(words) => {
                words.iter().any(|word| memchr::memmem::find(&self.small, word.as_bytes()).is_some())
            }
            Sign::Clock => self.clock,
            Sign::LongNumber => self.decimal,
            Sign::LongHex => self.hex,
        }
    }
}

/// Whether so many bytes of a kind stand in a row.
fn has_run(text: &[u8], length: usize, kind: fn(&u8) -> bool) -> bool {
    text.split(|byte| !kind(byte)).any(|run| run.len() >= length)
}

/// The rule that explains why two texts differ: both are the same but for values that rules know. The first of those that
/// have another value, in the order of the table.
pub(super) fn explain(base: &str, head: &str) -> Option<NoiseRule> {
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
    let mut rules = Vec::new();
    for ((rule, from), (same, to)) in before.iter().zip(&after) {
        if rule != same || base[at..from.start] != head[other..to.start] {
            return None;
        }
        if base[from.clone()] != head[to.clone()] {
            rules.push(*rule);
        }
        (at, other) = (from.end, to.end);
    }
    if base[at..] != head[other..] {
        return None;
    }
    rules.into_iter().min()
}

/// A text with marks in place of the values that rules know. None if there are none.
pub(super) fn mask(text: &str) -> Option<String> {
    let values = if text.len() <= MOST_MASKED { values(text) } else { Vec::new() };
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for (rule, value) in &values {
        masked.push_str(&text[at..value.start]);
        masked.extend(["\u{0}", rule.name(), "\u{0}"]);
        at = value.end;
    }
    masked.push_str(&text[at..]);
    (!values.is_empty()).then_some(masked)
}

/// The values that rules know in a text, in order. Of two that overlap the one of the earlier rule stays.
fn values(text: &str) -> Vec<(NoiseRule, Range<usize>)> {
    let mut found: Vec<(NoiseRule, Range<usize>)> = Vec::new();
    let signs = Signs::of(text);
    for ready in PATTERNS.iter().filter(|ready| signs.show(ready.pattern.sign)) {
        take_values(text, ready.rule, ready.regex(), &mut found);
    }
    found.sort_unstable_by_key(|(_, value)| value.start);
    found
}

fn take_values(text: &str, rule: NoiseRule, regex: &Regex, found: &mut Vec<(NoiseRule, Range<usize>)>) {
    for captures in regex.captures_iter(text.as_bytes()) {
        let Some(value) = captures.name("v").map(|value| value.range()) else { continue };
        let taken = found.iter().any(|(_, other)| other.start < value.end && value.start < other.end);
        let known = |value: &str| rule != NoiseRule::BuildHash || is_build(value);
        if !taken && text.get(value.clone()).is_some_and(known) {
            found.push((rule, value));
        }
    }
}

/// Whether a part of a file's name is a hash or a version and not a word: it has digits, and they are not all of a word's
/// end (`index2`, `jquery-3` are names).
fn is_build(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let mixed = value.bytes().any(|byte| byte.is_ascii_lowercase())
        && value.bytes().any(|byte| byte.is_ascii_uppercase());
    let starts_with_version = value.starts_with(|letter: char| letter.is_ascii_digit());
    digits >= 2
        || (mixed && digits >= 1)
        || starts_with_version
        || (mixed && value.len() >= 8 && !value.contains(['-', '_']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rules_explain_what_they_know() {
        for (base, head, rule) in [
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
            (r#"{"csrfToken":"abcdefgh1"}"#, r#"{"csrfToken":"abcdefgh2"}"#, "csrf-token"),
            ("<!-- cached 2024-05-01 10:11:12 -->", "<!-- cached 2024-05-02 09:08:07 -->", "timestamp"),
            ("<b>10:11:12</b>", "<b>10:11:13</b>", "timestamp"),
            (r#"{"timestamp":1700000000}"#, r#"{"timestamp":1700000001}"#, "timestamp"),
            (
                "<!-- Page generated in 0.123 seconds -->",
                "<!-- Page generated in 0.2 seconds -->",
                "timestamp",
            ),
            ("<script src=/app.1a2b3c4d.js>", "<script src=/app.99887766.js>", "build-hash"),
            (
                "<script src=/assets/index-BfK3x9aQ.js>",
                "<script src=/assets/index-C0ffee12.js>",
                "build-hash",
            ),
            ("<link href=/s.css?ver=6.4.1>", "<link href=/s.css?ver=6.4.2>", "build-hash"),
            (
                "<a href=/x;jsessionid=0123456789ABCDEF>",
                "<a href=/x;jsessionid=FEDCBA9876543210>",
                "session-id",
            ),
            (r#"data-request-id="0a1b2c3d4e""#, r#"data-request-id="ffffffffff""#, "request-id"),
            (r#"data-cfemail="a1b2c3d4e5""#, r#"data-cfemail="0011223344""#, "scrambled-address"),
        ] {
            assert_eq!(explain(base, head).map(NoiseRule::name), Some(rule), "{base} / {head}");
        }
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
            ("<script src=//good.example/app.1a2b3c4d.js>", "<script src=//evil.example/app.99887766.js>"),
            (r#"<script nonce="abcd1234efgh">a()"#, r#"<script nonce="zzzz9999yyyy">b()"#),
            ("", "<!-- 2024-05-01 10:11:12 -->"),
            (r#"<input name=q value="something">"#, r#"<input name=q value="otherthing">"#),
        ] {
            assert_eq!(explain(base, head), None, "{base} / {head}");
        }
    }

    /// The values that are found when every pattern is asked, whatever the text shows.
    fn values_without_signs(text: &str) -> Vec<(NoiseRule, Range<usize>)> {
        let mut found = Vec::new();
        for ready in PATTERNS.iter() {
            take_values(text, ready.rule, ready.regex(), &mut found);
        }
        found.sort_unstable_by_key(|(_, value)| value.start);
        found
    }

    /// Pieces of which texts can be made that each pattern matches.
    const PIECES: &str = "(NONCE=|'nonce-|_wpnonce:|abcdef12345|1234567890|value=\"|content='|\"|'| |<|>|/|&|\\?|CSRF|xsrf|\
        Form_Token|__VIEWSTATE|2026-11-16 10:11:12|Mon, 16 Nov 2026 10:11:12 GMT|>9:59:59<|timestamp:|ts=|Generated in 1.5 s|\
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
