//! The table of rules: what each knows, and the forms it has.
//!
//! In each pattern the group named `v` is the value that changes; all around it must stay.

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

const fn pattern(sign: Sign, form: &'static str) -> Pattern {
    Pattern { sign, form }
}

/// All rules. Where two fit, the first explains.
pub const RULES: &[Rule] = &[
    Rule {
        rule: NoiseRule::Nonce,
        name: "nonce",
        about: "a number used once, in an attribute or a policy",
        patterns: &[
            pattern(Sign::Words(&["nonce"]), r#"(?i)\bnonce\s*[=:]\s*["']?(?<v>[A-Za-z0-9+/_=-]{8,})"#),
            pattern(Sign::Words(&["nonce"]), r#"'nonce-(?<v>[A-Za-z0-9+/_=-]{8,})'"#),
            pattern(Sign::Words(&["nonce"]), r#"(?i)_wpnonce["']?\s*[=:]\s*["']?(?<v>[0-9a-f]{8,})"#),
        ],
    },
    Rule {
        rule: NoiseRule::CsrfToken,
        name: "csrf-token",
        about: "a token against forged requests, in a form, a meta element or a script",
        patterns: &[
            pattern(
                TOKENS,
                r#"(?i)(?:csrf|xsrf|authenticity_token|requestverificationtoken|form_build_id|form_token|__viewstate\w*|__eventvalidation)[^<>]{0,120}?(?:value|content)\s*=\s*["'](?<v>[^"'<>\s]{8,})["']"#,
            ),
            pattern(
                TOKENS,
                r#"(?i)(?:value|content)\s*=\s*["'](?<v>[^"'<>\s]{8,})["'][^<>]{0,120}?(?:csrf|xsrf|authenticity_token|requestverificationtoken|form_build_id|form_token|__viewstate|__eventvalidation)"#,
            ),
            pattern(
                Sign::Words(&["csrf", "xsrf"]),
                r#"(?i)["']?[\w-]*(?:csrf|xsrf)[\w-]*["']?\s*[:=]\s*["'](?<v>[^"'<>\s]{8,})["']"#,
            ),
        ],
    },
    Rule {
        rule: NoiseRule::Timestamp,
        name: "timestamp",
        about: "a date with the time of day, a clock, or seconds since 1970 under a name that says so",
        patterns: &[
            pattern(
                Sign::Clock,
                r"\b(?<v>(?:19|20)\d\d-[01]\d-[0-3]\d[T ][0-2]\d:[0-5]\d(?::[0-6]\d(?:\.\d+)?)?(?:Z|\s?[+-][0-2]\d:?[0-5]\d)?)",
            ),
            pattern(
                Sign::Clock,
                r"\b(?<v>(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d(?: GMT| UTC| [+-]\d{4})?)",
            ),
            pattern(Sign::Clock, r"(?i)>\s*(?<v>[0-2]?\d:[0-5]\d:[0-5]\d(?:\s?[ap]m)?)\s*<"),
            pattern(
                Sign::LongNumber,
                r#"(?i)["']?\b(?:[\w-]*time(?:stamp)?|ts|now|generated(?:_?at)?|rendered(?:_?at)?|expires|server_?date)["']?\s*[:=]\s*["']?(?<v>1\d{9}(?:\d{3}|\.\d+)?)\b"#,
            ),
            pattern(Sign::LongNumber, r"[?&](?:_|t|ts|time|cb|rnd|rand|cachebuster)=(?<v>\d{9,13})\b"),
            pattern(
                Sign::Words(&["generated", "rendered", "served", "cached", "created", "took"]),
                r"(?i)(?:generated|rendered|served|cached|created|took)[\w ,:]{0,30}?\b(?:in|took)\b[ :]*(?<v>\d+(?:\.\d+)?)\s*(?:ms|s|sec|seconds|milliseconds)\b",
            ),
        ],
    },
    Rule {
        rule: NoiseRule::BuildHash,
        name: "build-hash",
        about: "a hash or version in the address of a script, style, font or image",
        patterns: &[
            pattern(
                FILES,
                r"[./_-](?<v>[0-9a-f]{8,64})(?:\.min|\.chunk|\.bundle)?\.(?:js|mjs|css|map|woff2?|png|jpe?g|gif|svg|webp|ico)\b",
            ),
            pattern(FILES, r"[./_-](?<v>[A-Za-z0-9_-]{8,32})\.(?:js|mjs|css)\b"),
            pattern(
                FILES,
                r"\.(?:js|mjs|css|map|woff2?|png|jpe?g|gif|svg|webp|ico)\?(?:(?:v|ver|version|hash|h|rev|cb|build|_)=)?(?<v>[\w.-]{1,64})",
            ),
            pattern(
                Sign::Words(&["/static/", "/assets/", "/build/", "/dist/"]),
                r"/(?:static|assets|build|_next/static|dist)/(?<v>[0-9a-f]{8,64}|[A-Za-z0-9_-]{20,24})/",
            ),
        ],
    },
    Rule {
        rule: NoiseRule::SessionId,
        name: "session-id",
        about: "a session in a link or a hidden field",
        patterns: &[
            pattern(
                Sign::Words(&["sess", "sid=", "cfid=", "cftoken="]),
                r"(?i)[?&;](?:phpsessid|jsessionid|aspsessionid\w*|sessionid|session_id|session|sid|cfid|cftoken)=(?<v>[A-Za-z0-9._!-]{8,})",
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
