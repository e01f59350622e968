//! The table of rules: what each knows, and the forms it has.
//!
//! In each pattern the group named `v` is the value that changes; all around it must stay.

use super::forms::{
    any_date, asset, assigned, build_name, clock, csrf_name, day, duration, image, iso_date, iso_time,
    meta_name, month, named, nonce_name, page_says, program, request_name, seconds, seconds_name, time_name,
};
use super::pattern::{FILES, Looks, META, NONCES, Names, Pattern, REQUESTS, Sign, Stands, TOKENS};
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
    /// A hash or version in the address of an asset, or of what the page was built from.
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

/// Part of the address of something that is loaded.
const fn loaded(looks: Looks, form: &'static str) -> Pattern {
    Pattern { sign: FILES, form, looks, stands: Stands::Loaded }
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
        about: "a number used once, under a name that says so, or in a policy",
        patterns: &[
            proven(NONCES, Looks::Token, Stands::Tag, r#"(?i)\bnonce\s*=\s*["']?(?<v>[A-Za-z0-9+/_=-]{4,})"#),
            attribute(NONCES, Looks::Token, Names::Nonce),
            token(
                NONCES,
                concat!("(?i)", named!(), nonce_name!(), r#"\s*[=:]\s*["'](?<v>[A-Za-z0-9+/_=-]{4,})["']"#),
            ),
            token(
                NONCES,
                concat!(r#"(?i)["']"#, nonce_name!(), r#"["']\s*:\s*["'](?<v>[A-Za-z0-9+/_=-]{4,})["']"#),
            ),
            proven(NONCES, Looks::Token, Stands::Anywhere, r#"'nonce-(?<v>[A-Za-z0-9+/_=-]{4,})'"#),
            placed(NONCES, Stands::Unshown, r#"(?i)\b_wpnonce["']?\s*[=:]\s*["']?(?<v>[0-9a-f]{10})\b"#),
        ],
    },
    Rule {
        rule: NoiseRule::CsrfToken,
        name: "csrf-token",
        about: "a token against forged requests, in a form, a meta element, a link or a script",
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
                concat!("(?i)[?&;]", csrf_name!(), "=(?<v>[A-Za-z0-9+/_=.~%-]{4,})"),
            ),
            // Tokens are also what money and designs are made of: by this name alone, only what looks like a hash is one.
            proven(
                Sign::Words(&["token="]),
                Looks::Hash,
                Stands::Tag,
                r#"(?i)[?&;]_?token=(?<v>[A-Za-z0-9_-]{4,})"#,
            ),
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
                concat!(r"(?i)<lastBuildDate>\s*(?<v>", any_date!(), r")\s*</lastBuildDate>"),
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
            placed(
                Sign::Clock,
                Stands::Tag,
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
            placed(
                Sign::LongNumber,
                Stands::Tag,
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
            placed(
                Sign::Words(&["generated", "rendered", "updated", "built", "cached", "compiled"]),
                Stands::DatedComment,
                concat!(r"\b(?<v>", iso_date!(), r")\b"),
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
            // Behind the time when it was made, as a sentence by itself.
            placed(
                Sign::Words(&["generated", "rendered"]),
                Stands::Anywhere,
                concat!(
                    r"(?i)(?:^|[>|(])\s{0,8}(?:(?:this |the )?(?:page|document) (?:was )?)?(?:generated|rendered)(?: at| on|:)? ",
                    r"[\w ,./:+-]{4,40}?\d:\d\d[\w .:+]{0,16}? in ",
                    duration!(),
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
        about: "a hash or version in the address of a script, style, font or image, the digest that goes with it, and the name of what a page was built from",
        patterns: &[
            loaded(Looks::Hash, concat!(r"[\w)][._-](?<v>[A-Za-z0-9]{8,64})", program!())),
            // What one bundler writes has dashes in it.
            loaded(Looks::Hash, concat!(r"\w-(?<v>[A-Za-z0-9_-]{8})", program!())),
            // A name that is all hash has nothing that could stay, so it must be a long one. Not so of images: they are shown.
            loaded(Looks::Hash, concat!(r"/(?<v>[0-9a-f]{16,64})", program!())),
            loaded(Looks::Hash, concat!(r"\w\.(?<v>[0-9a-f]{8,64})", image!())),
            // Behind a dash it may be the name of a picture that somebody put there, unless it lies where programs put theirs.
            loaded(
                Looks::Hash,
                concat!(
                    r#"/(?:assets|build|dist|packs|static)/(?:[^"'<>\s?]{0,120}?/)?[\w.]{1,80}[_-](?<v>[0-9a-f]{16,64})"#,
                    image!()
                ),
            ),
            loaded(
                Looks::Version,
                concat!(
                    asset!(),
                    r#"\?(?:[^"'<>\s?]{0,80}?&(?:amp;)?)?(?:v|ver|version|hash|rev|cb|build|_)=(?<v>[\w.-]{1,64})"#
                ),
            ),
            loaded(
                Looks::Formed,
                concat!(asset!(), r#"\?(?:[^"'<>\s?]{0,80}?&(?:amp;)?)?(?:t|ts|time)=(?<v>\d{8,14})\b"#),
            ),
            loaded(Looks::Formed, concat!(asset!(), r"\?(?<v>\d{8,14})\b")),
            loaded(Looks::Hash, concat!(asset!(), r"\?(?:h=)?(?<v>[A-Za-z0-9]{8,64})\b")),
            loaded(
                Looks::Hash,
                concat!(
                    r#"/(?:static|assets|build|dist)/(?<v>[0-9a-f]{8,64}|[A-Za-z0-9_-]{20,24})/[^"'<>\s]{1,120}?"#,
                    asset!(),
                    r"\b"
                ),
            ),
            proven(
                Sign::Words(&["buildid"]),
                Looks::Hash,
                Stands::Unshown,
                r#""buildId"\s*:\s*"(?<v>[A-Za-z0-9_-]{8,40})""#,
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
        about: "a session in a link or a hidden field",
        patterns: &[
            token(
                Sign::Words(&["sessid", "jsessionid", "aspsessionid"]),
                r"(?i)[?&;](?:phpsessid|jsessionid|aspsessionid\w{0,40})=(?<v>[A-Za-z0-9._!-]{8,})",
            ),
            placed(
                Sign::Words(&["cfid=", "cftoken="]),
                Stands::Unshown,
                r"(?i)[?&;](?:cfid|cftoken)=(?<v>(?:[0-9a-f]{16}-)?[0-9A-F-]{6,50})\b",
            ),
            // Sessions are also what conferences have, and a `sid` may be that of a student.
            proven(
                Sign::Words(&["session=", "sid=", "sessionid=", "session_id="]),
                Looks::Hash,
                Stands::Unshown,
                r"(?i)[?&;](?:session(?:_?id)?|sid)=(?<v>[A-Za-z0-9]{8,})",
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
            placed(
                Sign::LongHex,
                Stands::Unshown,
                r#"(?i)(?:["'](?:cf-ray|rayid|__cf_chl_tk)["']\s*:\s*|__CF\$cv\$params\s*=\s*\{\s*r\s*:\s*)["'](?<v>[0-9a-f]{16,20})["']"#,
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
        about: "what an element shows that says it is an advertisement, unless it runs or loads something, or leads to a new place",
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
