//! The table of rules: what each knows, and the forms it has.
//!
//! In each pattern the group named `v` is the value that changes; all around it must stay.

use super::forms::{
    any_date, assigned, build_name, clock, csrf_name, csrf_word, day, duration, iso_date, iso_time,
    meta_name, month, named, nonce_name, own_time_name, page_says, parameters, program, request_name,
    seconds, time_name,
};
use super::pattern::{COSTS, FILES, Looks, META, NONCES, Names, Pattern, REQUESTS, Sign, Stands, TOKENS};
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
    /// A hash in the address of an asset, or of what the page was built from.
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

/// The value of an attribute, whatever its name: that is looked at in the tag.
const ATTRIBUTE: &str = r#"=\s*["']?(?<v>[^"'<>\s]{4,})"#;

/// A token in a script, an object or an address.
const fn token(sign: Sign, form: &'static str) -> Pattern {
    Pattern { sign, form, looks: Looks::Token, stands: Stands::Unshown }
}

/// A value that is all of an attribute.
const fn attribute(sign: Sign, looks: Looks, names: Names) -> Pattern {
    Pattern { sign, form: ATTRIBUTE, looks, stands: Stands::Named(names) }
}

/// Part of the address of a program, style or font of the page's own.
const fn own_asset(looks: Looks, form: &'static str) -> Pattern {
    Pattern { sign: FILES, form, looks, stands: Stands::OwnAsset }
}

/// What a program says in a comment of what a page cost it.
const fn cost(form: &'static str) -> Pattern {
    placed(COSTS, Stands::Comment, form)
}

/// What is known by its form alone.
const fn pattern(sign: Sign, form: &'static str) -> Pattern {
    Pattern { sign, form, looks: Looks::Formed, stands: Stands::Anywhere }
}

/// What is known by its form where it stands.
const fn placed(sign: Sign, stands: Stands, form: &'static str) -> Pattern {
    Pattern { sign, form, looks: Looks::Formed, stands }
}

/// A time as people write it, where its surroundings say that a program wrote it.
const fn written_time(form: &'static str) -> Pattern {
    placed(Sign::Clock, Stands::Made, form)
}

const fn proven(sign: Sign, looks: Looks, stands: Stands, form: &'static str) -> Pattern {
    Pattern { sign, form, looks, stands }
}

/// All rules. Where two fit, the first explains.
pub const RULES: &[Rule] = &[
    Rule {
        rule: NoiseRule::Nonce,
        name: "nonce",
        about: "a number used once: in a policy, in an attribute or field of that name, or under a name that says for what",
        patterns: &[
            attribute(NONCES, Looks::Token, Names::Nonce),
            token(
                NONCES,
                concat!("(?i)", named!(), nonce_name!(), r#"\s*[=:]\s*["'](?<v>[A-Za-z0-9+/_=-]{4,})["']"#),
            ),
            token(
                NONCES,
                concat!(r#"(?i)["']"#, nonce_name!(), r#"["']\s*:\s*["'](?<v>[A-Za-z0-9+/_=-]{4,})["']"#),
            ),
            proven(NONCES, Looks::Token, Stands::Unshown, r#"'nonce-(?<v>[A-Za-z0-9+/_=-]{4,})'"#),
            placed(NONCES, Stands::Unshown, r#"(?i)\b_wpnonce["']?\s*[=:]\s*["']?(?<v>[0-9a-f]{10})\b"#),
        ],
    },
    Rule {
        rule: NoiseRule::CsrfToken,
        name: "csrf-token",
        about: "a token against forged requests, under a name that is one's, in a form, a meta element, a link or a script",
        patterns: &[
            attribute(TOKENS, Looks::Token, Names::Csrf),
            token(TOKENS, concat!(r#"(?i)["']"#, csrf_name!(), r#"["']\s*:\s*["'](?<v>[^"'<>\s]{4,})["']"#)),
            token(
                TOKENS,
                concat!("(?i)", named!(), csrf_name!(), r#"\s*[:=]\s*["'](?<v>[^"'<>\s]{4,})["']"#),
            ),
            proven(
                TOKENS,
                Looks::Token,
                Stands::Tag,
                concat!("(?i)[?&;](?:_token|", csrf_word!(), ")=(?<v>[A-Za-z0-9+/_=.~%-]{4,})"),
            ),
            // What a form had been. It is scrambled, or only a number that says where it is kept.
            Pattern {
                sign: Sign::Words(&["faces.viewstate"]),
                form: ATTRIBUTE,
                looks: Looks::Formed,
                stands: Stands::Named(Names::ViewState),
            },
            placed(
                Sign::Words(&["data-drupal-selector"]),
                Stands::Tag,
                r#"(?i)\sdata-drupal-selector\s*=\s*["']form-(?<v>[\w-]{30,60})["']"#,
            ),
            // One system has its token as the name of a field that says 1.
            placed(
                Sign::LongHex,
                Stands::Tag,
                r#"(?i)<input type=["']?hidden["']? name=["']?(?<v>[0-9a-f]{32})["']? value=["']?1["']?\s?/?>"#,
            ),
        ],
    },
    Rule {
        rule: NoiseRule::Timestamp,
        name: "timestamp",
        about: "when the page was made, and what it cost: in a comment, under a name that says so, or behind words that do",
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
                concat!(r"(?i)<lastBuildDate>\s*(?<v>", any_date!(), r")\s*</lastBuildDate>"),
            ),
            // Names: quoted before a colon, assigned to, as an attribute, or as one of several fields of an object.
            pattern(
                Sign::Clock,
                concat!(r#"(?i)["']"#, time_name!(), r#"["']\s*:\s*["'](?<v>"#, iso_time!(), r#")["']"#),
            ),
            pattern(
                Sign::Clock,
                concat!(
                    "(?i)",
                    assigned!(),
                    own_time_name!(),
                    r#"\s*=\s*["'](?<v>"#,
                    iso_time!(),
                    r#")["']"#
                ),
            ),
            placed(
                Sign::Clock,
                Stands::Tag,
                concat!(r"(?i)\s", time_name!(), r#"\s*=\s*["']?(?<v>"#, iso_time!(), ")"),
            ),
            pattern(
                Sign::LongNumber,
                concat!(r#"(?i)["']"#, time_name!(), r#"["']\s*:\s*["']?(?<v>"#, seconds!(), ")"),
            ),
            pattern(
                Sign::LongNumber,
                concat!("(?i)", assigned!(), own_time_name!(), r#"\s*=\s*["']?(?<v>"#, seconds!(), ")"),
            ),
            placed(
                Sign::LongNumber,
                Stands::Tag,
                concat!(r"(?i)\s", time_name!(), r#"\s*=\s*["']?(?<v>"#, seconds!(), ")"),
            ),
            pattern(
                Sign::LongNumber,
                concat!(
                    r#"(?im)(?:^|[{,])\s*"#,
                    time_name!(),
                    r#"\s*:\s*["']?(?<v>"#,
                    seconds!(),
                    r#")["']?\s*[,}]"#
                ),
            ),
            placed(
                Sign::LongNumber,
                Stands::Tag,
                r"(?i)[?&;](?:rnd|rand|random|cachebuster)=(?<v>\d{9,13})\b",
            ),
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
            placed(
                Sign::Words(&["generated", "rendered", "built", "cached", "compiled"]),
                Stands::DatedComment,
                concat!(r"\b(?<v>", iso_date!(), r")\b"),
            ),
            // What programs say of themselves in comments, and how many questions they asked of a database.
            cost(r"(?i)\b(?:CPU|Real|Lua) time usage: (?<v>\d{1,6}\.\d{1,6})"),
            cost(r"(?i)\bLua memory usage: (?<v>\d{1,12})/"),
            cost(r"(?i)\b(?:Cached time:|and timestamp) (?<v>20\d{12})\b"),
            cost(r"(?im)^Parsed by (?<v>[^\s<>]{1,80})\s*$"),
            cost(r"(?i)\b(?:Object|Fragment|Page) Caching (?<v>\d{1,7}/\d{1,7}) objects"),
            cost(r"(?i)\bDatabase Caching (?<v>\d{1,7}/\d{1,7} queries in \d{1,6}\.\d{1,6} seconds)"),
            cost(r"\bcached@(?<v>1\d{9})\b"),
            cost(r"(?i)\bserved in (?<v>\d{1,7}(?:\.\d{1,6})? ?m?s by [\w.-]{1,60})\s*(?:$|-->)"),
            placed(
                Sign::Words(&["served in "]),
                Stands::Anywhere,
                r"(?i)<footer[^<>]{0,200}>\s{0,40}(?:page )?served in (?<v>\d{1,7}(?:\.\d{1,6})? ?m?s by [\w.-]{1,60}?)\.?\s{0,40}</footer>",
            ),
            placed(
                Sign::Words(&["%  "]),
                Stands::Comment,
                r"(?m)^(?<v>[ ]{0,4}\d{1,3}\.\d\d%[ ]{1,8}\d{1,7}\.\d{3}[ ]{1,8})\d{1,7} ",
            ),
            placed(
                Sign::Words(&["queries"]),
                Stands::Comment,
                r"(?i)\b(?<v>\d{1,6} (?:db |database |sql )?queries(?: in|\.|,)? \d{1,5}(?:[.,]\d{1,9})? ?(?:ms|s|secs?|seconds))\b",
            ),
            placed(
                Sign::Words(&["queries"]),
                Stands::Anywhere,
                r"(?i)<footer[^<>]{0,200}>\s{0,40}(?<v>\d{1,6} (?:db |database |sql )?queries(?: in|\.|,)? \d{1,5}(?:[.,]\d{1,9})? ?(?:ms|s|secs?|seconds))\.?\s{0,40}</footer>",
            ),
            placed(
                Sign::Words(&["wgbackendresponsetime"]),
                Stands::Unshown,
                r#""wgBackendResponseTime"\s*:\s*(?<v>\d{1,7})\b"#,
            ),
            // How long it took: in a comment, or as a sentence by itself that begins with the page.
            placed(
                Sign::Words(&[
                    "generated",
                    "rendered",
                    "served",
                    "created",
                    "loaded",
                    "executed",
                    "processed",
                    "built",
                    "took",
                ]),
                Stands::Comment,
                concat!(
                    r"(?i)\b(?:generated|rendered|served|created|loaded|executed|processed|built|took)\b[\w ,:]{0,30}?[ :]{1,3}",
                    duration!()
                ),
            ),
            placed(
                Sign::Words(&["page", "document"]),
                Stands::Anywhere,
                concat!(
                    "(?i)",
                    page_says!(),
                    r"(?: was| has been)? (?:generated|rendered|served|created|loaded|processed|built)(?: by [\w. -]{1,40}?)? in:? ",
                    duration!(),
                    r"\.?\s*(?:$|[<|)]|(?:with|using) \d)",
                ),
            ),
            // With the time when it was made, as a sentence by itself.
            placed(
                Sign::Words(&["generated", "rendered"]),
                Stands::Anywhere,
                concat!(
                    r"(?i)(?:^|[>|(])\s{0,8}(?:(?:this |the )?(?:page|document) (?:was )?)?(?:generated|rendered)(?: at| on|:)? ",
                    r"(?<v>[\w ,./:+-]{4,40}?\d:\d\d[\w .:+]{0,16}? in \d{1,9}(?:\.\d{1,9})?)\s?(?:ms|s|secs?|seconds?|milliseconds?)",
                    r"\.?\s*(?:$|[<|)])",
                ),
            ),
            placed(
                Sign::Words(&["page"]),
                Stands::Anywhere,
                concat!(
                    "(?i)",
                    page_says!(),
                    r" (?:generation|rendering|execution) (?:time|took):? ",
                    duration!(),
                    r"\.?\s*(?:$|[<|)])",
                ),
            ),
        ],
    },
    Rule {
        rule: NoiseRule::BuildHash,
        name: "build-hash",
        about: "a hash in the address of a script, style or font of the page's own, the digest that goes with it, and the name of what the page was built from",
        patterns: &[
            // The file keeps its name around the hash. A name that is all hash has nothing that stays.
            own_asset(Looks::Hash, concat!(r"[\w)][._-](?<v>[A-Za-z0-9]{8,64})", program!())),
            // What one bundler writes has dashes in it.
            own_asset(Looks::Hash, concat!(r"\w-(?<v>[A-Za-z0-9_-]{8})", program!())),
            // Numbers of versions are told: somebody chose another one.
            own_asset(
                Looks::Hash,
                concat!(
                    program!(),
                    parameters!(),
                    r"(?:v|ver|version|hash|h|rev|cb|build|_)=(?<v>[A-Za-z0-9_-]{7,64})\b"
                ),
            ),
            own_asset(
                Looks::Formed,
                concat!(
                    program!(),
                    parameters!(),
                    r"(?:v|ver|version|rev|cb|build|_|t|ts|time)=(?<v>1\d{9}(?:\d{3})?)\b"
                ),
            ),
            own_asset(Looks::Formed, concat!(program!(), r"\?(?<v>1\d{9}(?:\d{3})?)\b")),
            own_asset(Looks::Hash, concat!(program!(), r"\?(?<v>[A-Za-z0-9]{8,64})\b")),
            own_asset(
                Looks::Hash,
                concat!(
                    r#"/(?:static|assets|build|dist)/(?<v>[0-9a-f]{8,64}|[A-Za-z0-9_-]{20,24})/[^"'<>\s]{1,120}?\w"#,
                    program!()
                ),
            ),
            // Of the many things that have builds, the page itself: at the top of the state that a framework keeps.
            proven(
                Sign::Words(&["buildid"]),
                Looks::Hash,
                Stands::State,
                r#""buildId"\s*:\s*"(?<v>[A-Za-z0-9_-]{8,40})""#,
            ),
            proven(
                Sign::Words(&["buildid"]),
                Looks::Id,
                Stands::Unshown,
                r#"\bapp["']?\s*:\s*\{\s*["']?baseURL["']?\s*:\s*["'][^"'<>]{0,80}["']\s*,\s*["']?buildId["']?\s*:\s*["'](?<v>[A-Za-z0-9-]{8,40})["']"#,
            ),
            // Where a page speaks of itself: what it lists may have builds of its own.
            proven(
                Sign::Words(&["build", "deploy"]),
                Looks::Hash,
                Stands::Tag,
                concat!(
                    r#"(?i)<meta\s{1,8}name\s?=\s?["']?"#,
                    build_name!(),
                    r#"["']?\s{1,8}content\s?=\s?["']?(?<v>[0-9a-f]{7,64})\b"#
                ),
            ),
            proven(
                Sign::Words(&["build", "deploy"]),
                Looks::Hash,
                Stands::Unshown,
                concat!(r"(?i)\bwindow\.", build_name!(), r#"\s?=\s?["'](?<v>[A-Za-z0-9_-]{7,64})["']"#),
            ),
            proven(
                Sign::Words(&["integrity"]),
                Looks::Digest,
                Stands::Tag,
                r#"(?i)\sintegrity\s*=\s*["']?sha(?:256|384|512)-(?<v>[A-Za-z0-9+/=&#;_-]{2,200})"#,
            ),
        ],
    },
    Rule {
        rule: NoiseRule::SessionId,
        name: "session-id",
        about: "a session in a link or a hidden field: under a name that is a session's, or in several links at once",
        patterns: &[
            token(
                Sign::Words(&["sessid", "jsessionid", "aspsessionid", "asp.net_sessionid"]),
                r"(?i)[?&;](?:phpsessid|jsessionid|aspsessionid\w{0,40}|asp\.net_sessionid)=(?<v>[A-Za-z0-9._!-]{8,})",
            ),
            placed(
                Sign::Words(&["cfid=", "cftoken="]),
                Stands::Unshown,
                r"(?i)[?&;](?:cfid|cftoken)=(?<v>(?:[0-9a-f]{16}-)?[0-9A-F-]{6,50})\b",
            ),
            proven(
                Sign::Words(&["sessionid="]),
                Looks::Hash,
                Stands::Unshown,
                r"(?i)[?&;]sessionid=(?<v>[A-Za-z0-9]{8,})",
            ),
            // Sessions are also what conferences have, and a `sid` may be that of a student: but not the same one in all links.
            proven(
                Sign::Words(&["session=", "sid=", "session_id="]),
                Looks::Swapped,
                Stands::Tag,
                r"(?i)[?&;](?:session(?:_id)?|sid)=(?<v>[A-Za-z0-9]{8,64})\b",
            ),
            token(Sign::Words(&["/(s("]), r"(?i)/\(S\((?<v>[a-z0-9]{16,})\)\)/"),
            attribute(
                Sign::Words(&["sessid", "jsessionid", "aspsessionid", "cfid", "cftoken"]),
                Looks::Token,
                Names::Session,
            ),
            attribute(Sign::Words(&["sessionid", "session_id", "sid"]), Looks::Hash, Names::AnySession),
        ],
    },
    Rule {
        rule: NoiseRule::RequestId,
        name: "request-id",
        about: "the name of one request, in a comment, a script or an attribute that says so",
        patterns: &[
            attribute(REQUESTS, Looks::Id, Names::Request),
            proven(
                Sign::Words(&["traceparent", "sentry-trace"]),
                Looks::Formed,
                Stands::Named(Names::Trace),
                r#"=\s*["']?(?<v>(?:00-)?[0-9a-f]{32}-[0-9a-f]{16}(?:-[0-9a-f]{1,2})?)\b"#,
            ),
            proven(
                REQUESTS,
                Looks::Id,
                Stands::Unshown,
                concat!(r#"(?i)["']"#, request_name!(), r#"["']\s*:\s*["']?(?<v>[A-Za-z0-9-]{8,})"#),
            ),
            proven(
                REQUESTS,
                Looks::Id,
                Stands::Unshown,
                concat!("(?i)", named!(), request_name!(), r#"\s*[:=]\s*["'](?<v>[A-Za-z0-9-]{8,})["']"#),
            ),
            proven(
                REQUESTS,
                Looks::Id,
                Stands::Comment,
                r#"(?i)\b(?:request|trace|correlation|span|render)[_-]?id["']?\s*[:=]\s*["']?(?<v>[A-Za-z0-9-]{8,})"#,
            ),
            // A proxy's own: what it calls a request, and when that was.
            placed(
                Sign::LongHex,
                Stands::Unshown,
                r#"(?i)(?:(?:["']|&quot;)(?:cf-ray|rayid|__cf_chl_tk)(?:["']|&quot;)\s*:\s*(?:["']|&quot;)|__CF\$cv\$params\s*=\s*\{\s*r\s*:\s*["'])(?<v>[0-9a-f]{16,20})\b"#,
            ),
            placed(
                Sign::Words(&["__cf$cv$params"]),
                Stands::Unshown,
                r#"__CF\$cv\$params\s*=\s*\{\s*r\s*:\s*["'][0-9a-f]{16,20}["']\s*,\s*t\s*:\s*["'](?<v>[A-Za-z0-9+/=]{8,40})["']"#,
            ),
            placed(
                Sign::Words(&["ray id:"]),
                Stands::Anywhere,
                r"(?i)\bRay ID:\s{0,8}(?:<[^<>]{1,80}>\s{0,8}){0,2}(?<v>[0-9a-f]{16})\b",
            ),
        ],
    },
    Rule {
        rule: NoiseRule::ScrambledAddress,
        name: "scrambled-address",
        about: "the same mail address, which a proxy scrambles anew each time",
        patterns: &[
            proven(
                Sign::Words(&["data-cfemail"]),
                Looks::Address,
                Stands::Anywhere,
                r#"data-cfemail\s*=\s*["'](?<v>[0-9a-f]{8,})["']"#,
            ),
            proven(
                Sign::Words(&["/cdn-cgi/l/email-protection#"]),
                Looks::Address,
                Stands::Anywhere,
                r"/cdn-cgi/l/email-protection#(?<v>[0-9a-f]{8,})",
            ),
        ],
    },
    Rule {
        rule: NoiseRule::AdSlot,
        name: "ad-slot",
        about: "what the slot of an advertisement shows, from hosts that the same slot named before, and what it is called; not what runs, is filled in, comes from elsewhere, names a number or a place, or may be words of the page's own",
        patterns: &[placed(Sign::Words(&["div-gpt-ad-"]), Stands::Unshown, r"\bdiv-gpt-ad-(?<v>1\d{12})\b")],
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
        about: "a cookie with another value that is no word, its name and all it is bound to as before",
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
