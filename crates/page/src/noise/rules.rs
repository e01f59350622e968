//! The table of rules: what each knows, and the forms it has.
//!
//! In each pattern the group named `v` is the value that changes; all around it must stay.

use super::forms::{
    any_date, asset, assigned, clock, day, image, iso_date, iso_time, meta_name, month, program, seconds,
    seconds_name, time_name,
};
use serde::Serialize;
use std::fmt;

/// Why a change is noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseRule {
    /// A number used once, that lets a script run.
    Nonce,
    /// A token against forged requests.
    CsrfToken,
    /// The time at which the page was made.
    Timestamp,
    /// A hash or version in the address of an asset.
    BuildHash,
    /// A session in a link.
    SessionId,
    /// The name of one request, for whoever reads logs.
    RequestId,
    /// An address that is scrambled anew each time.
    ScrambledAddress,
    /// What an advertisement shows.
    AdSlot,
    /// A header that says how a response travelled, or when.
    VolatileHeader,
    /// A header that follows from the body, which did not change.
    FollowsBody,
    /// A cookie with another value, and all else as it was.
    CookieValue,
    /// It differed between two captures taken together.
    Twins,
}

/// A rule, as people read it.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Which it is.
    pub rule: NoiseRule,
    /// Its name.
    pub name: &'static str,
    /// What it explains, in a sentence.
    pub about: &'static str,
    /// The forms of text that it knows. Rules without any look at places instead.
    pub patterns: &'static [Pattern],
}

/// A form of text that a rule knows.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    /// What must stand in a text before it is worth searching.
    pub sign: Sign,
    /// What is searched for.
    pub form: &'static str,
    /// What else must be so.
    pub proof: Proof,
}

/// What must be so beside the form before a value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Nothing: the form says it all.
    Form,
    /// The value looks like a hash, and the other one is as long.
    Hash,
    /// The value is the digest of an asset whose address, in the same tag, has another hash too.
    Digest,
    /// The value stands in a tag.
    Tag,
    /// The value looks like a token: a short one is neither a word nor a number.
    Token,
    /// The value looks like a token and stands in a tag.
    TokenInTag,
    /// The value stands in a comment, or beside words that say that it tells when the page was made.
    Made,
    /// The value stands in a comment that has such words.
    DatedComment,
}

/// What every text has that a pattern can match. Looking for it costs next to nothing, making a pattern ready and searching with
/// it does: most texts have no sign of most patterns.
#[derive(Debug, Clone, Copy)]
pub enum Sign {
    /// One of these words, in small letters; how the text writes them does not matter.
    Words(&'static [&'static str]),
    /// A colon between digits.
    Clock,
    /// Nine decimal digits in a row.
    LongNumber,
    /// Sixteen hexadecimal digits in a row.
    LongHex,
}

const TOKENS: Sign = Sign::Words(&[
    "csrf",
    "xsrf",
    "authenticity_token",
    "requestverificationtoken",
    "form_build_id",
    "form_token",
    "__viewstate",
    "__eventvalidation",
]);
const FILES: Sign = Sign::Words(&[
    ".js", ".mjs", ".css", ".map", ".woff", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico",
]);
const REQUESTS: Sign = Sign::Words(&[
    "requestid",
    "request_id",
    "request-id",
    "traceid",
    "trace_id",
    "trace-id",
    "correlationid",
    "correlation_id",
    "correlation-id",
    "spanid",
    "span_id",
    "span-id",
    "visitorid",
    "visitor_id",
    "visitor-id",
    "renderid",
    "render_id",
    "render-id",
    "pageviewid",
    "pageview_id",
    "pageview-id",
]);

const NONCES: Sign = Sign::Words(&["nonce"]);
const META: Sign = Sign::Words(&["<meta"]);

/// A value under a name that says that it is a token.
const fn token(sign: Sign, form: &'static str) -> Pattern {
    Pattern { sign, form, proof: Proof::Token }
}

const fn pattern(sign: Sign, form: &'static str) -> Pattern {
    Pattern { sign, form, proof: Proof::Form }
}

/// A time as people write it, where its surroundings say that a program wrote it.
const fn written_time(form: &'static str) -> Pattern {
    proven(Sign::Clock, Proof::Made, form)
}

const fn proven(sign: Sign, proof: Proof, form: &'static str) -> Pattern {
    Pattern { sign, form, proof }
}

/// All rules. Where two fit, the first explains.
pub const RULES: &[Rule] = &[
    Rule {
        rule: NoiseRule::Nonce,
        name: "nonce",
        about: "a number used once, in an attribute or a policy",
        patterns: &[
            proven(NONCES, Proof::TokenInTag, r#"(?i)\bnonce\s*=\s*["']?(?<v>[A-Za-z0-9+/_=-]{4,})"#),
            token(NONCES, r#"(?i)nonce\s*=\s*["'](?<v>[A-Za-z0-9+/_=-]{4,})["']"#),
            token(NONCES, r#"(?i)nonce["']\s*:\s*["'](?<v>[A-Za-z0-9+/_=-]{4,})["']"#),
            token(NONCES, r#"(?i)[{,]\s*\w{0,40}nonce\s*:\s*["'](?<v>[A-Za-z0-9+/_=-]{4,})["']"#),
            token(NONCES, r#"'nonce-(?<v>[A-Za-z0-9+/_=-]{4,})'"#),
            token(NONCES, r#"(?i)_wpnonce["']?\s*[=:]\s*["']?(?<v>[0-9a-f]{4,})"#),
            token(
                NONCES,
                r#"(?i)name=["']?[\w-]{0,40}nonce["']?\s[^<>]{0,120}?value=["']?(?<v>[A-Za-z0-9+/_=-]{4,})"#,
            ),
        ],
    },
    Rule {
        rule: NoiseRule::CsrfToken,
        name: "csrf-token",
        about: "a token against forged requests, in a form, a meta element, a link or a script",
        patterns: &[
            token(
                TOKENS,
                r#"(?i)(?:csrf|xsrf|authenticity_token|requestverificationtoken|form_build_id|form_token|__viewstate\w*|__eventvalidation)[^<>]{0,120}?(?:value|content)\s*=\s*["'](?<v>[^"'<>\s]{4,})["']"#,
            ),
            token(
                TOKENS,
                r#"(?i)(?:value|content)\s*=\s*["'](?<v>[^"'<>\s]{4,})["'][^<>]{0,120}?(?:csrf|xsrf|authenticity_token|requestverificationtoken|form_build_id|form_token|__viewstate|__eventvalidation)"#,
            ),
            // In a tag a value needs no quotes: it ends with white space or with the tag.
            proven(
                TOKENS,
                Proof::TokenInTag,
                r#"(?i)(?:csrf|xsrf|authenticity_token|requestverificationtoken|form_build_id|form_token|__viewstate\w*|__eventvalidation)[^<>]{0,120}?\s(?:value|content)=(?<v>[^"'<>\s]{4,})"#,
            ),
            proven(
                TOKENS,
                Proof::TokenInTag,
                r#"(?i)\s(?:value|content)=(?<v>[^"'<>\s]{4,})\s[^<>]{0,120}?(?:csrf|xsrf|authenticity_token|requestverificationtoken|form_build_id|form_token|__viewstate|__eventvalidation)"#,
            ),
            token(
                Sign::Words(&["_token"]),
                r#"(?i)name=["']?_token["']?\s[^<>]{0,120}?value=["']?(?<v>[^"'<>\s]{4,})"#,
            ),
            token(
                Sign::Words(&["_token"]),
                r#"(?i)value=["']?(?<v>[^"'<>\s]{4,})["']?\s[^<>]{0,120}?name=["']?_token["'\s>]"#,
            ),
            token(
                Sign::Words(&["csrf", "xsrf"]),
                r#"(?i)["']?[\w-]*(?:csrf|xsrf)[\w-]*["']?\s*[:=]\s*["'](?<v>[^"'<>\s]{4,})["']"#,
            ),
            // In a link, and as an attribute without quotes.
            proven(
                TOKENS,
                Proof::TokenInTag,
                r#"(?i)[\s?&;](?:[\w-]{0,40}(?:csrf|xsrf)[\w-]{0,40}|authenticity_token|form_token|form_build_id)=(?<v>[A-Za-z0-9+/_=.~%-]{4,})"#,
            ),
            // Tokens are also what money and designs are made of: by this name alone, only what looks like a hash is one.
            proven(Sign::Words(&["token="]), Proof::Hash, r#"(?i)[?&;]_?token=(?<v>[A-Za-z0-9_-]{4,})"#),
        ],
    },
    Rule {
        rule: NoiseRule::Timestamp,
        name: "timestamp",
        about: "when the page was made: in a comment, under a name that says so, or beside words that do",
        patterns: &[
            pattern(
                META,
                concat!(
                    r#"(?i)<meta\b[^<>]{0,120}?\b(?:name|property|http-equiv|itemprop)=["']?"#,
                    meta_name!(),
                    r#"["']?\s[^<>]{0,120}?\bcontent=["']?(?<v>"#,
                    any_date!(),
                    r#")["'\s>/]"#,
                ),
            ),
            pattern(
                META,
                concat!(
                    r#"(?i)<meta\b[^<>]{0,120}?\bcontent=["']?(?<v>"#,
                    any_date!(),
                    r#")["']?\s[^<>]{0,120}?\b(?:name|property|http-equiv|itemprop)=["']?"#,
                    meta_name!(),
                    r#"["'\s>/]"#,
                ),
            ),
            pattern(
                Sign::Words(&["<lastbuilddate>"]),
                r"(?i)<lastBuildDate>\s*(?<v>[\w:,+ -]{8,40}?)\s*</lastBuildDate>",
            ),
            // Names: quoted before a colon, assigned to, as an attribute, or as one of several fields of an object.
            pattern(
                Sign::Clock,
                concat!(r#"(?i)["']"#, time_name!(), r#"["']\s*:\s*["'](?<v>"#, iso_time!(), r#")["']"#),
            ),
            pattern(
                Sign::Clock,
                concat!("(?i)", assigned!(), time_name!(), r#"\s*=\s*["'](?<v>"#, iso_time!(), r#")["']"#),
            ),
            proven(
                Sign::Clock,
                Proof::Tag,
                concat!(r"(?i)\s", time_name!(), r#"\s*=\s*["']?(?<v>"#, iso_time!(), ")"),
            ),
            pattern(
                Sign::LongNumber,
                concat!(r#"(?i)["']"#, seconds_name!(), r#"["']\s*:\s*["']?(?<v>"#, seconds!(), ")"),
            ),
            pattern(
                Sign::LongNumber,
                concat!("(?i)", assigned!(), seconds_name!(), r#"\s*=\s*["']?(?<v>"#, seconds!(), ")"),
            ),
            proven(
                Sign::LongNumber,
                Proof::Tag,
                concat!(r"(?i)\s", time_name!(), r#"\s*=\s*["']?(?<v>"#, seconds!(), ")"),
            ),
            pattern(
                Sign::LongNumber,
                concat!(
                    r#"(?im)(?:^|[{,])\s*"#,
                    seconds_name!(),
                    r#"\s*:\s*["']?(?<v>"#,
                    seconds!(),
                    r#")["']?\s*[,}]"#
                ),
            ),
            pattern(Sign::LongNumber, r"[?&;](?:_|cb|rnd|rand|cachebuster)=(?<v>\d{9,13})\b"),
            // Times as people write them, where their surroundings say so.
            written_time(concat!(r"\b(?<v>", iso_date!(), "(?:T| |, | at )", clock!(), ")")),
            written_time(concat!(
                r"(?i)\b(?<v>",
                day!(),
                r"\d{1,2}\.?[ -]",
                month!(),
                r"[ -]\d{4},?(?: at| -)? ",
                clock!(),
                ")"
            )),
            written_time(concat!(
                r"(?i)\b(?<v>",
                day!(),
                month!(),
                r" {1,2}\d{1,2},? \d{4},?(?: at| -)? ",
                clock!(),
                ")"
            )),
            written_time(concat!(
                r"\b(?<v>",
                day!(),
                month!(),
                r" {1,2}\d{1,2} \d\d:\d\d:\d\d (?:[A-Z]{2,5} )?(?:19|20)\d\d)\b"
            )),
            written_time(concat!(r"\b(?<v>\d{1,4}[./]\d{1,2}[./]\d{1,4},?(?: at| -)? ", clock!(), ")")),
            written_time(r"\b(?<v>[0-2]?\d:[0-5]\d:[0-6]\d(?:\.\d{1,9})?(?:\s?[AaPp][Mm]\b)?)"),
            proven(
                Sign::Words(&["generated", "rendered", "updated", "built", "cached", "compiled"]),
                Proof::DatedComment,
                concat!(r"\b(?<v>", iso_date!(), r")\b"),
            ),
            // How long it took.
            pattern(
                Sign::Words(&["generated", "rendered"]),
                r"(?i)\b(?:generated|rendered)\b[\w ,:]{0,30}?\b(?:in|took)\b[ :]*(?<v>\d{1,9}(?:\.\d{1,9})?)\s*(?:ms|s|secs?|seconds?|milliseconds?)\b",
            ),
            pattern(
                Sign::Words(&["page", "document", "request", "script", "server"]),
                r"(?i)\b(?:page|document|request|script|server)\b[\w ,:.-]{0,40}?\b(?:served|cached|created|loaded|executed|processed|built|took)\b[\w ,:]{0,30}?(?:\b(?:in|took)\b)?[ :]{1,3}(?<v>\d{1,9}(?:\.\d{1,9})?)\s*(?:ms|s|secs?|seconds?|milliseconds?)\b",
            ),
        ],
    },
    Rule {
        rule: NoiseRule::BuildHash,
        name: "build-hash",
        about: "a hash or version in the address of a script, style, font or image, and the digest that goes with it",
        patterns: &[
            proven(FILES, Proof::Hash, concat!(r"[\w)][._-](?<v>[A-Za-z0-9]{8,64})", program!())),
            // What one bundler writes has dashes in it.
            proven(FILES, Proof::Hash, concat!(r"\w-(?<v>[A-Za-z0-9_-]{8})", program!())),
            // A name that is all hash has nothing that could stay, so it must be a long one. Not so of images: they are shown.
            proven(FILES, Proof::Hash, concat!(r"/(?<v>[0-9a-f]{16,64})", program!())),
            proven(FILES, Proof::Hash, concat!(r"\w\.(?<v>[0-9a-f]{8,64})", image!())),
            proven(FILES, Proof::Hash, concat!(r"\w[_-](?<v>[0-9a-f]{16,64})", image!())),
            pattern(
                FILES,
                concat!(
                    asset!(),
                    r#"\?(?:[^"'<>\s?]{0,80}?&(?:amp;)?)?(?:v|ver|version|hash|rev|cb|build|_)=(?<v>[\w.-]{1,64})"#
                ),
            ),
            pattern(
                FILES,
                concat!(asset!(), r#"\?(?:[^"'<>\s?]{0,80}?&(?:amp;)?)?(?:t|ts|time)=(?<v>\d{8,14})\b"#),
            ),
            pattern(FILES, concat!(asset!(), r"\?(?<v>\d{8,14})\b")),
            proven(FILES, Proof::Hash, concat!(asset!(), r"\?(?:h=)?(?<v>[A-Za-z0-9]{8,64})\b")),
            proven(
                FILES,
                Proof::Hash,
                concat!(
                    r#"/(?:static|assets|build|dist)/(?<v>[0-9a-f]{8,64}|[A-Za-z0-9_-]{20,24})/[^"'<>\s]{1,120}?"#,
                    asset!(),
                    r"\b"
                ),
            ),
            proven(Sign::Words(&["buildid"]), Proof::Hash, r#""buildId"\s*:\s*"(?<v>[A-Za-z0-9_-]{8,40})""#),
            proven(
                Sign::Words(&["integrity"]),
                Proof::Digest,
                r#"(?i)\sintegrity\s*=\s*["']?sha(?:256|384|512)-(?<v>[A-Za-z0-9+/=&#;_-]{2,200})"#,
            ),
        ],
    },
    Rule {
        rule: NoiseRule::SessionId,
        name: "session-id",
        about: "a session in a link or a hidden field",
        patterns: &[
            pattern(
                Sign::Words(&["sessid", "sessionid", "session_id", "cfid=", "cftoken="]),
                r"(?i)[?&;](?:phpsessid|jsessionid|aspsessionid\w{0,40}|sessionid|session_id|cfid|cftoken)=(?<v>[A-Za-z0-9._!-]{8,})",
            ),
            // Sessions are also what conferences have.
            proven(
                Sign::Words(&["session=", "sid="]),
                Proof::Hash,
                r"(?i)[?&;](?:session|sid)=(?<v>[A-Za-z0-9]{8,})",
            ),
            pattern(Sign::Words(&["/(s("]), r"(?i)/\(S\((?<v>[a-z0-9]{16,})\)\)/"),
            pattern(
                Sign::Words(&["sess", "sid"]),
                r#"(?i)name=["'](?:phpsessid|jsessionid|sessionid|session_id|sid)["'][^<>]{0,60}?value=["'](?<v>[^"'<>\s]{8,})["']"#,
            ),
        ],
    },
    Rule {
        rule: NoiseRule::RequestId,
        name: "request-id",
        about: "the name of one request, under a name that says so",
        patterns: &[
            pattern(
                REQUESTS,
                r#"(?i)(?:request|trace|correlation|span|visitor|render|pageview)[_-]?id["']?\s*[:=]\s*["']?(?<v>[A-Za-z0-9-]{8,})"#,
            ),
            pattern(
                Sign::LongHex,
                r#"(?i)\b(?:cf-ray|data-cf-beacon|__cf_chl_tk|r)["']?\s*[:=]\s*["'](?<v>[0-9a-f]{16,20})["']"#,
            ),
        ],
    },
    Rule {
        rule: NoiseRule::ScrambledAddress,
        name: "scrambled-address",
        about: "a mail address that a proxy scrambles anew each time",
        patterns: &[
            pattern(Sign::Words(&["data-cfemail"]), r#"data-cfemail\s*=\s*["'](?<v>[0-9a-f]{8,})["']"#),
            pattern(
                Sign::Words(&["/cdn-cgi/l/email-protection#"]),
                r"/cdn-cgi/l/email-protection#(?<v>[0-9a-f]{8,})",
            ),
        ],
    },
    Rule {
        rule: NoiseRule::AdSlot,
        name: "ad-slot",
        about: "what an element shows that says it is an advertisement, unless it runs or loads something",
        patterns: &[],
    },
    Rule {
        rule: NoiseRule::VolatileHeader,
        name: "volatile-header",
        about: "a header that says how a response travelled, or when",
        patterns: &[],
    },
    Rule {
        rule: NoiseRule::FollowsBody,
        name: "follows-body",
        about: "the tag, date or length of a body that is the same but for noise",
        patterns: &[],
    },
    Rule {
        rule: NoiseRule::CookieValue,
        name: "cookie-value",
        about: "a cookie with another value, its name and all it is bound to as before",
        patterns: &[],
    },
    Rule {
        rule: NoiseRule::Twins,
        name: "twins",
        about: "it differed between two captures that were taken together",
        patterns: &[],
    },
];

impl NoiseRule {
    /// The name, as people see it.
    pub fn name(self) -> &'static str {
        RULES.iter().find(|rule| rule.rule == self).map_or("", |rule| rule.name)
    }
}

impl fmt::Display for NoiseRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_json_and_none_twice() {
        let mut names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
        for rule in RULES {
            assert_eq!(serde_json::to_value(rule.rule).unwrap(), rule.name);
            assert_eq!(rule.rule.name(), rule.name);
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
    }
}
