//! Which captured URL answers a request that differs only in parameters that do not select content.
//!
//! Scripts add numbers against caches, names of callbacks and session ids to URLs, so a replayed page
//! requests URLs that were never captured. The rules here say which captured URL is meant. They are
//! tried in order, and each ignores more than the one before. A rule never ignores a parameter that
//! may select content, such as a page number: no answer is better than a wrong one.
//!
//! Pure comparison of texts: which URLs are captured, and what is shown, is decided by the caller.

use std::borrow::Cow;

use super::page_identity;
use super::query::unescape;

/// What a match ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FuzzyRule {
    /// A number or a time that keeps caches from answering.
    CacheBuster,
    /// The name of the function that a JSONP response calls.
    Callback,
    /// The id of a session.
    Session,
    /// All parameters of a static file, which is the same with any of them.
    StaticFile,
}

/// All rules, in the order in which they are tried.
const ORDERED_RULES: [FuzzyRule; 4] =
    [FuzzyRule::CacheBuster, FuzzyRule::Callback, FuzzyRule::Session, FuzzyRule::StaticFile];

/// Parameters that only keep caches from answering.
const CACHE_BUSTER_NAMES: [&str; 12] = [
    "_",
    "_dc",
    "_cb",
    "_nocache",
    "cachebust",
    "cachebuster",
    "cache_bust",
    "nocache",
    "no_cache",
    "rand",
    "random",
    "rnd",
];
/// Parameters that keep caches from answering if their value is a number of at least six digits.
const NUMERIC_CACHE_BUSTER_NAMES: [&str; 9] = ["cb", "_t", "_ts", "dt", "ord", "r", "t", "timestamp", "ts"];
/// The shortest value of a [numeric one](NUMERIC_CACHE_BUSTER_NAMES).
const MIN_BUSTER_DIGITS: usize = 6;
/// Parameters with the name of a function.
const CALLBACK_NAMES: [&str; 6] = ["callback", "jsonp", "jsoncallback", "jsonpcallback", "_jsonp", "cb"];
/// Parameters with the id of a session.
const SESSION_NAMES: [&str; 7] =
    ["phpsessid", "jsessionid", "sessionid", "session_id", "cfid", "cftoken", "zenid"];
/// The beginning of a path parameter with the id of a session.
const SESSION_PATH_PARAMETER: &str = ";jsessionid=";
/// The endings of static files.
const STATIC_ENDINGS: [&str; 26] = [
    "avif", "css", "eot", "gif", "htm", "html", "ico", "jpeg", "jpg", "js", "json", "map", "mjs", "mp3",
    "mp4", "otf", "pdf", "png", "svg", "ttf", "txt", "wasm", "webm", "webp", "woff", "woff2",
];
/// The milliseconds of the years 2000 to 2100: a value between them is the time of a request.
const REQUEST_TIMES: std::ops::Range<u64> = 946_684_800_000..4_102_444_800_000;
/// The shortest random fraction that is taken for one, with its `0.`.
const MIN_FRACTION_LENGTH: usize = 8;

impl FuzzyRule {
    /// Its name in headers and explanations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CacheBuster => "fuzzy/cache-buster",
            Self::Callback => "fuzzy/callback",
            Self::Session => "fuzzy/session",
            Self::StaticFile => "fuzzy/static-file",
        }
    }

    /// What it does, as a sentence.
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::CacheBuster => "a captured URL differs only in a number or time against caches",
            Self::Callback => "a captured URL differs only in the name of a callback",
            Self::Session => "a captured URL differs only in the id of a session",
            Self::StaticFile => "a captured URL is the same static file with other parameters",
        }
    }

    /// Whether a match by this rule ignores the parameter.
    fn ignores(self, name: &[u8], value: &[u8]) -> bool {
        let is_one_of =
            |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
        let by_itself = match self {
            Self::CacheBuster => {
                is_one_of(&CACHE_BUSTER_NAMES)
                    || (is_one_of(&NUMERIC_CACHE_BUSTER_NAMES) && is_long_number(value))
                    || is_request_time(value)
                    || is_random_fraction(value)
            }
            Self::Callback => is_one_of(&CALLBACK_NAMES) && is_function_name(value),
            Self::Session => is_one_of(&SESSION_NAMES),
            Self::StaticFile => true,
        };
        by_itself || (self > Self::CacheBuster && self.previous().ignores(name, value))
    }

    fn previous(self) -> Self {
        match self {
            Self::CacheBuster | Self::Callback => Self::CacheBuster,
            Self::Session => Self::Callback,
            Self::StaticFile => Self::Session,
        }
    }
}

/// A captured URL that answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FuzzyMatch<'a> {
    /// The captured URL.
    pub url: &'a str,
    /// The rule that found it.
    pub rule: FuzzyRule,
}

/// The beginnings of URLs that may answer `url`: the URL before its parameters, as it is and followed
/// by each sign that begins parameters. The first one is meant exactly.
pub fn candidate_prefixes(url: &str) -> [String; 3] {
    let bare = before_parameters(url);
    [bare.to_owned(), format!("{bare}?"), format!("{bare}{SESSION_PATH_PARAMETER}")]
}

/// The captured URL that answers a request for `wanted`, by the strictest rule that finds one; of
/// several, the one that shares most parameters with it.
pub fn fuzzy_match<'a>(wanted: &str, captured: &'a [String]) -> Option<FuzzyMatch<'a>> {
    let wanted = ParsedUrl::parse(wanted)?;
    let parsed: Vec<(&str, ParsedUrl)> = captured
        .iter()
        .filter_map(|url| ParsedUrl::parse(url).map(|parsed| (url.as_str(), parsed)))
        .filter(|(_, parsed)| parsed.bare == wanted.bare)
        .collect();
    for rule in ORDERED_RULES {
        if rule == FuzzyRule::StaticFile && !is_static_file(&wanted.bare) {
            continue;
        }
        let kept = wanted.kept_by(rule);
        let found = parsed.iter().filter(|(_, other)| other.kept_by(rule) == kept);
        if let Some((url, _)) = found.max_by_key(|(_, other)| other.shared_with(&wanted)) {
            return Some(FuzzyMatch { url, rule });
        }
    }
    None
}

/// The value of the callback parameter of a URL: the function that its JSONP response calls.
pub fn callback_name(url: &str) -> Option<String> {
    let (_, query) = url.split('#').next()?.split_once('?')?;
    let pieces = query.split('&').map(|piece| piece.split_once('=').unwrap_or((piece, "")));
    let is_callback =
        |name: &[u8]| CALLBACK_NAMES.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
    let mut values =
        pieces.filter(|(name, _)| is_callback(&unescape(name))).map(|(_, value)| unescape(value));
    let value = values.find(|value| is_function_name(value))?;
    String::from_utf8(value.into_owned()).ok()
}

/// A URL divided into what comes before its parameters, and these.
struct ParsedUrl {
    bare: String,
    parameters: Vec<(Vec<u8>, Vec<u8>)>,
}

impl ParsedUrl {
    fn parse(url: &str) -> Option<Self> {
        let identity = page_identity(url)?;
        let query = identity.split_once('?').map_or("", |(_, query)| query);
        let parameter = |piece: &str| {
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            (unescape(name).into_owned(), unescape(value).into_owned())
        };
        let parameters = query.split('&').filter(|piece| !piece.is_empty()).map(parameter).collect();
        Some(Self { bare: before_parameters(&identity).to_owned(), parameters })
    }

    /// The parameters that a rule compares.
    fn kept_by(&self, rule: FuzzyRule) -> Vec<&(Vec<u8>, Vec<u8>)> {
        self.parameters.iter().filter(|(name, value)| !rule.ignores(name, value)).collect()
    }

    fn shared_with(&self, other: &Self) -> usize {
        self.parameters.iter().filter(|parameter| other.parameters.contains(parameter)).count()
    }
}

/// A URL without query, fragment and the session id in its path.
fn before_parameters(url: &str) -> &str {
    let bare = url.split(['?', '#']).next().unwrap_or_default();
    let session = bare.to_ascii_lowercase().find(SESSION_PATH_PARAMETER);
    session.map_or(bare, |at| &bare[..at])
}

fn is_static_file(bare: &str) -> bool {
    let path = bare.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
    let name = path.rsplit('/').next().unwrap_or_default();
    let Some((_, ending)) = name.rsplit_once('.') else { return false };
    STATIC_ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known))
}

fn is_long_number(value: &[u8]) -> bool {
    value.len() >= MIN_BUSTER_DIGITS && value.iter().all(u8::is_ascii_digit)
}

fn is_request_time(value: &[u8]) -> bool {
    let number =
        std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    number.and_then(|text| text.parse().ok()).is_some_and(|millis: u64| REQUEST_TIMES.contains(&millis))
}

fn is_random_fraction(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"0.").filter(|_| value.len() >= MIN_FRACTION_LENGTH);
    digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
}

/// Whether a text is the name of a function in a script, such as `jQuery.cb_1`.
fn is_function_name(value: &[u8]) -> bool {
    let text: Cow<'_, str> = String::from_utf8_lossy(value);
    let is_letter = |letter: char| letter.is_alphabetic() || matches!(letter, '_' | '$');
    !text.is_empty()
        && text.split('.').all(|part| {
            part.starts_with(is_letter) && part.chars().all(|letter| is_letter(letter) || letter.is_numeric())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matched(wanted: &str, captured: &[&str]) -> Option<(String, FuzzyRule)> {
        let captured: Vec<String> = captured.iter().map(|url| (*url).to_owned()).collect();
        fuzzy_match(wanted, &captured).map(|found| (found.url.to_owned(), found.rule))
    }

    #[test]
    fn each_rule_ignores_what_it_names() {
        use FuzzyRule::{CacheBuster, Callback, Session, StaticFile};
        for (wanted, captured, rule) in [
            ("http://h/a?_=1700000000001&q=x", "http://h/a?_=1600000000001&q=x", CacheBuster),
            ("http://h/a?q=x&rnd=7", "http://h/a?q=x", CacheBuster),
            ("http://h/a?q=x", "http://h/a?q=x&ts=1600000000", CacheBuster),
            ("http://h/a?u=0.8234792834", "http://h/a?u=0.11198273", CacheBuster),
            ("http://h/a?callback=jQuery1_2&id=3", "http://h/a?callback=jQuery9_8&id=3", Callback),
            ("http://h/a?callback=f&_=2", "http://h/a?callback=g&_=1", Callback),
            ("http://h/a?PHPSESSID=abc&p=1", "http://h/a?PHPSESSID=def&p=1", Session),
            ("http://h/a;jsessionid=1?p=1", "http://h/a;jsessionid=2?p=1", CacheBuster),
            ("http://h/search.html?q=word", "http://h/search.html", StaticFile),
            ("http://h/app.js?v=4", "http://h/app.js?v=3", StaticFile),
            ("http://h/app.js", "http://h/app.js?v=3", StaticFile),
        ] {
            assert_eq!(matched(wanted, &[captured]), Some((captured.to_owned(), rule)), "{wanted}");
        }
    }

    #[test]
    fn what_may_select_content_is_compared() {
        for (wanted, captured) in [
            ("http://h/a?page=2", "http://h/a?page=1"),
            ("http://h/a?t=2", "http://h/a?t=3"),
            ("http://h/a.php?q=x", "http://h/a.php"),
            ("http://h/a?callback=1+1", "http://h/a?callback=f"),
            ("http://h/a?id=123456", "http://h/a?id=123457"),
            ("http://h/a.js", "http://h/b.js"),
            ("http://h/a?q=x", "http://other/a?q=x"),
            ("http://h.js?q=x", "http://h.js"),
            ("mailto:a@h", "mailto:a@h"),
        ] {
            assert_eq!(matched(wanted, &[captured]), None, "{wanted}");
        }
    }

    #[test]
    fn the_strictest_rule_and_then_the_nearest_url_wins() {
        let captured = ["http://h/a.js", "http://h/a.js?v=1&w=2", "http://h/a.js?v=1&_=5"];
        assert_eq!(
            matched("http://h/a.js?v=1&_=6", &captured),
            Some((captured[2].to_owned(), FuzzyRule::CacheBuster))
        );
        assert_eq!(
            matched("http://h/a.js?v=2&w=2", &captured),
            Some((captured[1].to_owned(), FuzzyRule::StaticFile))
        );
    }

    #[test]
    fn the_callback_of_a_request_is_found() {
        assert_eq!(callback_name("http://h/a?x=1&callback=a.b_1#c").as_deref(), Some("a.b_1"));
        assert_eq!(callback_name("http://h/a?callback=alert(1)"), None);
        assert_eq!(callback_name("http://h/a"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_accepted(wanted in "\\PC{0,40}", captured in "\\PC{0,40}") {
            fuzzy_match(&wanted, &[captured]);
            candidate_prefixes(&wanted);
            callback_name(&wanted);
        }

        #[test]
        fn a_match_shares_its_place(query in "[a-z0-9=&_.]{0,20}", other in "[a-z0-9=&_.]{0,20}") {
            let captured = vec![format!("http://h/p?{other}"), format!("http://h/q?{query}")];
            let found = fuzzy_match(&format!("http://h/p?{query}"), &captured);
            prop_assert!(found.is_none_or(|found| found.url == captured[0]));
        }
    }
}
