//! The table of noise rules.
//!
//! In each pattern the group named `v` is the value that may change; the text around it must stay. Names in braces stand
//! for [parts](super::pattern) that several patterns share.

use super::pattern::Position::{
    Anywhere, Comment, DatedComment, FrameworkState, Named, OwnAsset, PageTime, Program, Tag, Unshown,
};
use super::pattern::ValueName::{AmbiguousSession, Csrf, Nonce, Request, Session, Trace, ViewState};
use super::pattern::ValueShape::{
    AsMatched, AssetDigest, Hash, RequestId, ScrambledAddress, SwappedHash, Token,
};
use super::pattern::{NoisePattern, PatternSign, pattern};
use serde::Serialize;
use std::fmt;

/// Why a change is noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseRule {
    /// A nonce that allows a script to run.
    Nonce,
    /// A CSRF token.
    CsrfToken,
    /// The time at which the page was made.
    Timestamp,
    /// A hash in the address of an asset, or the build of the page.
    BuildHash,
    /// A session in a link.
    SessionId,
    /// The id of one request.
    RequestId,
    /// A mail address scrambled with another key.
    ScrambledAddress,
    /// The content of an advertisement.
    AdSlot,
    /// A header about the time or the route of the response.
    VolatileHeader,
    /// A header that follows from a body that did not change.
    FollowsBody,
    /// Another value of a cookie.
    CookieValue,
    /// A difference between two captures taken together.
    Twins,
}

/// A rule.
#[derive(Debug, Clone, Copy)]
pub struct NoiseRuleSpec {
    /// The reason that it gives.
    pub rule: NoiseRule,
    /// Its name.
    pub name: &'static str,
    /// What it explains, for users.
    pub about: &'static str,
    /// The patterns of its values. Rules without patterns are decided by place or by header name.
    pub patterns: &'static [NoisePattern],
}

/// The value of any attribute. The name of the attribute is checked by its position.
const ATTRIBUTE_VALUE: &str = r#"=\s*["']?(?<v>[^"'<>\s]{4,})"#;

const NONCE_WORDS: PatternSign = PatternSign::Words(&["nonce"]);
const META_WORDS: PatternSign = PatternSign::Words(&["<meta"]);
const ASSET_WORDS: PatternSign =
    PatternSign::Words(&[".js", ".mjs", ".css", ".map", ".woff", ".ttf", ".otf"]);
#[rustfmt::skip]
const CSRF_WORDS: PatternSign = PatternSign::Words(&[
    "csrf", "xsrf", "requestverificationtoken", "form_build_id", "__viewstate", "__eventvalidation", "_token",
]);
/// Words in comments of programs about the cost of a page.
#[rustfmt::skip]
const COST_WORDS: PatternSign = PatternSign::Words(&[
    "time usage:", "memory usage:", "cached time:", "parsed by ", "caching ", "cached@", "and timestamp ", "served in ",
]);
#[rustfmt::skip]
const REQUEST_WORDS: PatternSign = PatternSign::Words(&[
    "requestid", "request_id", "request-id", "traceid", "trace_id", "trace-id", "correlationid", "correlation_id",
    "correlation-id", "spanid", "span_id", "span-id", "visitorid", "visitor_id", "visitor-id", "renderid", "render_id",
    "render-id", "pageviewid", "pageview_id", "pageview-id",
]);

/// All rules. If two rules explain a change, the first is reported.
#[rustfmt::skip]
pub const NOISE_RULES: &[NoiseRuleSpec] = &[
    NoiseRuleSpec {
        rule: NoiseRule::Nonce,
        name: "nonce",
        about: "a nonce in a policy, in an attribute or field of that name, or under a name of CSP, WordPress, AJAX or REST",
        patterns: &[
            pattern(NONCE_WORDS, Token, Named(Nonce), ATTRIBUTE_VALUE),
            pattern(NONCE_WORDS, Token, Unshown,
                r#"(?i){named_value}{nonce_name}\s*[=:]\s*["'](?<v>[A-Za-z0-9+/_=-]{4,})["']"#),
            pattern(NONCE_WORDS, Token, Unshown,
                r#"(?i)["']{nonce_name}["']\s*:\s*["'](?<v>[A-Za-z0-9+/_=-]{4,})["']"#),
            pattern(NONCE_WORDS, Token, Unshown, "'nonce-(?<v>[A-Za-z0-9+/_=-]{4,})'"),
            pattern(NONCE_WORDS, AsMatched, Unshown,
                r#"(?i)\b_wpnonce["']?\s*[=:]\s*["']?(?<v>[0-9a-f]{10})\b"#),
        ],
    },
    NoiseRuleSpec {
        rule: NoiseRule::CsrfToken,
        name: "csrf-token",
        about: "a CSRF token under its own name in a form, a meta element, a link or a script",
        patterns: &[
            pattern(CSRF_WORDS, Token, Named(Csrf), ATTRIBUTE_VALUE),
            pattern(CSRF_WORDS, Token, Unshown,
                r#"(?i)["']{csrf_name}["']\s*:\s*["'](?<v>[^"'<>\s]{4,})["']"#),
            pattern(CSRF_WORDS, Token, Unshown,
                r#"(?i){named_value}{csrf_name}\s*[:=]\s*["'](?<v>[^"'<>\s]{4,})["']"#),
            pattern(CSRF_WORDS, Token, Tag, "(?i)[?&;](?:_token|{csrf_word})=(?<v>[A-Za-z0-9+/_=.~%-]{4,})"),
            // The state of a form in JSF: encrypted, or the number of a state that the server keeps.
            pattern(PatternSign::Words(&["faces.viewstate"]), AsMatched, Named(ViewState), ATTRIBUTE_VALUE),
            pattern(PatternSign::Words(&["data-drupal-selector"]), AsMatched, Tag,
                r#"(?i)\sdata-drupal-selector\s*=\s*["']form-(?<v>[\w-]{30,60})["']"#),
            // Joomla: the token is the name of a field whose value is 1.
            pattern(PatternSign::LongHex, AsMatched, Tag,
                r#"(?i)<input type=["']?hidden["']? name=["']?(?<v>[0-9a-f]{32})["']? value=["']?1["']?\s?/?>"#),
        ],
    },
    NoiseRuleSpec {
        rule: NoiseRule::Timestamp,
        name: "timestamp",
        about: "the time at which the page was made, or how long that took: in a comment, under such a name, or after such words",
        patterns: &[
            pattern(META_WORDS, AsMatched, Anywhere,
                r#"(?i)<meta\b[^<>]{0,120}?\b(?:name|property|http-equiv|itemprop)=["']?{meta_time_name}["']?\s[^<>]{0,120}?\bcontent=["']?(?<v>{any_date})["'\s>/]"#),
            pattern(META_WORDS, AsMatched, Anywhere,
                r#"(?i)<meta\b[^<>]{0,120}?\bcontent=["']?(?<v>{any_date})["']?\s[^<>]{0,120}?\b(?:name|property|http-equiv|itemprop)=["']?{meta_time_name}["'\s>/]"#),
            pattern(PatternSign::Words(&["<lastbuilddate>"]), AsMatched, Anywhere,
                r"(?i)<lastBuildDate>\s*(?<v>{any_date})\s*</lastBuildDate>"),
            // By name: quoted before a colon, assigned, as an attribute, or as a field of an object.
            pattern(PatternSign::Clock, AsMatched, Anywhere,
                r#"(?i)["']{time_name}["']\s*:\s*["'](?<v>{iso_time})["']"#),
            pattern(PatternSign::Clock, AsMatched, Program,
                r#"(?i){assignment}{own_time_name}\s*=\s*["'](?<v>{iso_time})["']"#),
            pattern(PatternSign::Clock, AsMatched, Tag, r#"(?i)\s{time_name}\s*=\s*["']?(?<v>{iso_time})"#),
            pattern(PatternSign::LongNumber, AsMatched, Anywhere,
                r#"(?i)["']{time_name}["']\s*:\s*["']?(?<v>{unix_time})"#),
            pattern(PatternSign::LongNumber, AsMatched, Program,
                r#"(?i){assignment}{own_time_name}\s*=\s*["']?(?<v>{unix_time})"#),
            pattern(PatternSign::LongNumber, AsMatched, Tag, r#"(?i)\s{time_name}\s*=\s*["']?(?<v>{unix_time})"#),
            pattern(PatternSign::LongNumber, AsMatched, Anywhere,
                r#"(?im)(?:^|[{,])\s*{time_name}\s*:\s*["']?(?<v>{unix_time})["']?\s*[,}]"#),
            pattern(PatternSign::LongNumber, AsMatched, Tag,
                r"(?i)[?&;](?:rnd|rand|random|cachebuster)=(?<v>\d{9,13})\b"),
            // Written times, if the words before them say that the page was made then.
            pattern(PatternSign::Clock, AsMatched, PageTime, r"\b(?<v>{iso_date}(?:T| |, | at ){clock})"),
            pattern(PatternSign::Clock, AsMatched, PageTime,
                r"(?i)\b(?<v>{day}\d{1,2}\.?[ -]{month}[ -]\d{4},?(?: at| -)? {clock})"),
            pattern(PatternSign::Clock, AsMatched, PageTime,
                r"(?i)\b(?<v>{day}{month} {1,2}\d{1,2},? \d{4},?(?: at| -)? {clock})"),
            pattern(PatternSign::Clock, AsMatched, PageTime,
                r"\b(?<v>{day}{month} {1,2}\d{1,2} \d\d:\d\d:\d\d (?:[A-Z]{2,5} )?(?:19|20)\d\d)\b"),
            pattern(PatternSign::Clock, AsMatched, PageTime,
                r"\b(?<v>\d{1,4}[./]\d{1,2}[./]\d{1,4},?(?: at| -)? {clock})"),
            pattern(PatternSign::Clock, AsMatched, PageTime,
                r"\b(?<v>[0-2]?\d:[0-5]\d:[0-6]\d(?:\.\d{1,9})?(?:\s?[AaPp][Mm]\b)?)"),
            pattern(PatternSign::Words(&["generated", "rendered", "built", "cached", "compiled"]), AsMatched, DatedComment,
                r"\b(?<v>{iso_date})\b"),
            // Statistics of a program in a comment, and the number of its database queries.
            pattern(COST_WORDS, AsMatched, Comment,
                r"(?i)\b(?:CPU|Real|Lua) time usage: (?<v>\d{1,6}\.\d{1,6})"),
            pattern(COST_WORDS, AsMatched, Comment, r"(?i)\bLua memory usage: (?<v>\d{1,12})/"),
            pattern(COST_WORDS, AsMatched, Comment, r"(?i)\b(?:Cached time:|and timestamp) (?<v>20\d{12})\b"),
            pattern(COST_WORDS, AsMatched, Comment, r"(?im)^Parsed by (?<v>[^\s<>]{1,80})\s*$"),
            pattern(COST_WORDS, AsMatched, Comment,
                r"(?i)\b(?:Object|Fragment|Page) Caching (?<v>\d{1,7}/\d{1,7}) objects"),
            pattern(COST_WORDS, AsMatched, Comment,
                r"(?i)\bDatabase Caching (?<v>\d{1,7}/\d{1,7} queries in \d{1,6}\.\d{1,6} seconds)"),
            pattern(COST_WORDS, AsMatched, Comment, r"\bcached@(?<v>1\d{9})\b"),
            pattern(COST_WORDS, AsMatched, Comment,
                r"(?i)\bserved in (?<v>\d{1,7}(?:\.\d{1,6})? ?m?s by [\w.-]{1,60})\s*(?:$|-->)"),
            pattern(PatternSign::Words(&["served in "]), AsMatched, Anywhere,
                r"(?i)<footer[^<>]{0,200}>\s{0,40}(?:page )?served in (?<v>\d{1,7}(?:\.\d{1,6})? ?m?s by [\w.-]{1,60}?)\.?\s{0,40}</footer>"),
            pattern(PatternSign::Words(&["%  "]), AsMatched, Comment,
                r"(?m)^(?<v>[ ]{0,4}\d{1,3}\.\d\d%[ ]{1,8}\d{1,7}\.\d{3}[ ]{1,8})\d{1,7} "),
            pattern(PatternSign::Words(&["queries"]), AsMatched, Comment,
                r"(?i)\b(?<v>\d{1,6} (?:db |database |sql )?queries(?: in|\.|,)? \d{1,5}(?:[.,]\d{1,9})? ?(?:ms|s|secs?|seconds))\b"),
            pattern(PatternSign::Words(&["queries"]), AsMatched, Anywhere,
                r"(?i)<footer[^<>]{0,200}>\s{0,40}(?<v>\d{1,6} (?:db |database |sql )?queries(?: in|\.|,)? \d{1,5}(?:[.,]\d{1,9})? ?(?:ms|s|secs?|seconds))\.?\s{0,40}</footer>"),
            pattern(PatternSign::Words(&["wgbackendresponsetime"]), AsMatched, Unshown,
                r#""wgBackendResponseTime"\s*:\s*(?<v>\d{1,7})\b"#),
            // Duration: in a comment, or in a sentence about the page.
            pattern(PatternSign::Words(&["generated", "rendered", "served", "created", "loaded", "executed", "processed", "built", "took"]), AsMatched, Comment,
                r"(?i)\b(?:generated|rendered|served|created|loaded|executed|processed|built|took)\b[\w ,:]{0,30}?[ :]{1,3}{duration}"),
            pattern(PatternSign::Words(&["page", "document"]), AsMatched, Anywhere,
                r"(?i){page_sentence}(?: was| has been)? (?:generated|rendered|served|created|loaded|processed|built)(?: by [\w. -]{1,40}?)? in:? {duration}\.?\s*(?:$|[<|)]|(?:with|using) \d)"),
            // Time and duration, in a sentence about the page.
            pattern(PatternSign::Words(&["generated", "rendered"]), AsMatched, Anywhere,
                r"(?i)(?:^|[>|(])\s{0,8}(?:(?:this |the )?(?:page|document) (?:was )?)?(?:generated|rendered)(?: at| on|:)? (?<v>[\w ,./:+-]{4,40}?\d:\d\d[\w .:+]{0,16}? in \d{1,9}(?:\.\d{1,9})?)\s?(?:ms|s|secs?|seconds?|milliseconds?)\.?\s*(?:$|[<|)])"),
            pattern(PatternSign::Words(&["page"]), AsMatched, Anywhere,
                r"(?i){page_sentence} (?:generation|rendering|execution) (?:time|took):? {duration}\.?\s*(?:$|[<|)])"),
        ],
    },
    NoiseRuleSpec {
        rule: NoiseRule::BuildHash,
        name: "build-hash",
        about: "a hash in the address of a script, style or font on the page's own host, the digest that follows it, and the build of the page",
        patterns: &[
            // The name of the file around the hash stays. A name that is only a hash is another file.
            pattern(ASSET_WORDS, Hash, OwnAsset, r"[\w)][._-](?<v>[A-Za-z0-9]{8,64}){asset_file}"),
            // Vite: the hash may have dashes.
            pattern(ASSET_WORDS, Hash, OwnAsset, r"\w-(?<v>[A-Za-z0-9_-]{8}){asset_file}"),
            // Version numbers are not noise: a person chose another version.
            pattern(ASSET_WORDS, Hash, OwnAsset,
                r"{asset_file}{asset_parameters}(?:v|ver|version|hash|h|rev|cb|build|_)=(?<v>[A-Za-z0-9_-]{7,64})\b"),
            pattern(ASSET_WORDS, AsMatched, OwnAsset,
                r"{asset_file}{asset_parameters}(?:v|ver|version|rev|cb|build|_|t|ts|time)=(?<v>1\d{9}(?:\d{3})?)\b"),
            pattern(ASSET_WORDS, AsMatched, OwnAsset, r"{asset_file}\?(?<v>1\d{9}(?:\d{3})?)\b"),
            pattern(ASSET_WORDS, Hash, OwnAsset, r"{asset_file}\?(?<v>[A-Za-z0-9]{8,64})\b"),
            pattern(ASSET_WORDS, Hash, OwnAsset,
                r#"/(?:static|assets|build|dist)/(?<v>[0-9a-f]{8,64}|[A-Za-z0-9_-]{20,24})/[^"'<>\s]{1,120}?\w{asset_file}"#),
            // The build of the page itself, at the top of the state of a framework.
            pattern(PatternSign::Words(&["buildid"]), Hash, FrameworkState,
                r#""buildId"\s*:\s*"(?<v>[A-Za-z0-9_-]{8,40})""#),
            pattern(PatternSign::Words(&["buildid"]), RequestId, Unshown,
                r#"\bapp["']?\s*:\s*\{\s*["']?baseURL["']?\s*:\s*["'][^"'<>]{0,80}["']\s*,\s*["']?buildId["']?\s*:\s*["'](?<v>[A-Za-z0-9-]{8,40})["']"#),
            // The build of the page in its head. Items of a list may have builds of their own.
            pattern(PatternSign::Words(&["build", "deploy"]), Hash, Tag,
                r#"(?i)<meta\s{1,8}name\s?=\s?["']?{build_name}["']?\s{1,8}content\s?=\s?["']?(?<v>[0-9a-f]{7,64})\b"#),
            pattern(PatternSign::Words(&["build", "deploy"]), Hash, Unshown,
                r#"(?i)\bwindow\.{build_name}\s?=\s?["'](?<v>[A-Za-z0-9_-]{7,64})["']"#),
            pattern(PatternSign::Words(&["integrity"]), AssetDigest, Tag,
                r#"(?i)\sintegrity\s*=\s*["']?sha(?:256|384|512)-(?<v>[A-Za-z0-9+/=&#;_-]{2,200})"#),
        ],
    },
    NoiseRuleSpec {
        rule: NoiseRule::SessionId,
        name: "session-id",
        about: "a session id in a link or a hidden field, under the name of a session or in several links at once",
        patterns: &[
            pattern(PatternSign::Words(&["sessid", "jsessionid", "aspsessionid", "asp.net_sessionid"]), Token, Unshown,
                r"(?i)[?&;](?:phpsessid|jsessionid|aspsessionid\w{0,40}|asp\.net_sessionid)=(?<v>[A-Za-z0-9._!-]{8,})"),
            pattern(PatternSign::Words(&["cfid=", "cftoken="]), AsMatched, Unshown,
                r"(?i)[?&;](?:cfid|cftoken)=(?<v>(?:[0-9a-f]{16}-)?[0-9A-F-]{6,50})\b"),
            pattern(PatternSign::Words(&["sessionid="]), Hash, Unshown, "(?i)[?&;]sessionid=(?<v>[A-Za-z0-9]{8,})"),
            // Conferences have sessions and students have a `sid`, but not the same one in all links.
            pattern(PatternSign::Words(&["session=", "sid=", "session_id="]), SwappedHash, Tag,
                r"(?i)[?&;](?:session(?:_id)?|sid)=(?<v>[A-Za-z0-9]{8,64})\b"),
            pattern(PatternSign::Words(&["/(s("]), Token, Unshown, r"(?i)/\(S\((?<v>[a-z0-9]{16,})\)\)/"),
            pattern(PatternSign::Words(&["sessid", "jsessionid", "aspsessionid", "cfid", "cftoken"]), Token, Named(Session),
                ATTRIBUTE_VALUE),
            pattern(PatternSign::Words(&["sessionid", "session_id", "sid"]), Hash, Named(AmbiguousSession),
                ATTRIBUTE_VALUE),
        ],
    },
    NoiseRuleSpec {
        rule: NoiseRule::RequestId,
        name: "request-id",
        about: "the id of one request in a comment, a script or an attribute of that name",
        patterns: &[
            pattern(REQUEST_WORDS, RequestId, Named(Request), ATTRIBUTE_VALUE),
            pattern(PatternSign::Words(&["traceparent", "sentry-trace"]), AsMatched, Named(Trace),
                r#"=\s*["']?(?<v>(?:00-)?[0-9a-f]{32}-[0-9a-f]{16}(?:-[0-9a-f]{1,2})?)\b"#),
            pattern(REQUEST_WORDS, RequestId, Unshown,
                r#"(?i)["']{request_name}["']\s*:\s*["']?(?<v>[A-Za-z0-9-]{8,})"#),
            pattern(REQUEST_WORDS, RequestId, Unshown,
                r#"(?i){named_value}{request_name}\s*[:=]\s*["'](?<v>[A-Za-z0-9-]{8,})["']"#),
            pattern(REQUEST_WORDS, RequestId, Comment,
                r#"(?i)\b(?:request|trace|correlation|span|render)[_-]?id["']?\s*[:=]\s*["']?(?<v>[A-Za-z0-9-]{8,})"#),
            // Cloudflare: the id and the time of the request.
            pattern(PatternSign::LongHex, AsMatched, Unshown,
                r#"(?i)(?:(?:["']|&quot;)(?:cf-ray|rayid|__cf_chl_tk)(?:["']|&quot;)\s*:\s*(?:["']|&quot;)|__CF\$cv\$params\s*=\s*\{\s*r\s*:\s*["'])(?<v>[0-9a-f]{16,20})\b"#),
            pattern(PatternSign::Words(&["__cf$cv$params"]), AsMatched, Unshown,
                r#"__CF\$cv\$params\s*=\s*\{\s*r\s*:\s*["'][0-9a-f]{16,20}["']\s*,\s*t\s*:\s*["'](?<v>[A-Za-z0-9+/=]{8,40})["']"#),
            pattern(PatternSign::Words(&["ray id:"]), AsMatched, Anywhere,
                r"(?i)\bRay ID:\s{0,8}(?:<[^<>]{1,80}>\s{0,8}){0,2}(?<v>[0-9a-f]{16})\b"),
        ],
    },
    NoiseRuleSpec {
        rule: NoiseRule::ScrambledAddress,
        name: "scrambled-address",
        about: "the same mail address, scrambled with another key",
        patterns: &[
            pattern(PatternSign::Words(&["data-cfemail"]), ScrambledAddress, Anywhere,
                r#"data-cfemail\s*=\s*["'](?<v>[0-9a-f]{8,})["']"#),
            pattern(PatternSign::Words(&["/cdn-cgi/l/email-protection#"]), ScrambledAddress, Anywhere,
                "/cdn-cgi/l/email-protection#(?<v>[0-9a-f]{8,})"),
        ],
    },
    NoiseRuleSpec {
        rule: NoiseRule::AdSlot,
        name: "ad-slot",
        about: "the content of an advertisement from an origin that the same slot named before, and the id of the slot",
        patterns: &[
            pattern(PatternSign::Words(&["div-gpt-ad-"]), AsMatched, Unshown, r"\bdiv-gpt-ad-(?<v>1\d{12})\b"),
        ],
    },
    NoiseRuleSpec {
        rule: NoiseRule::VolatileHeader,
        name: "volatile-header",
        about: "a header about the time or the route of the response",
        patterns: &[],
    },
    NoiseRuleSpec {
        rule: NoiseRule::FollowsBody,
        name: "follows-body",
        about: "the tag, date or length of a body that changed only by noise",
        patterns: &[],
    },
    NoiseRuleSpec {
        rule: NoiseRule::CookieValue,
        name: "cookie-value",
        about: "another value of a cookie that is a token, with the same name and attributes",
        patterns: &[],
    },
    NoiseRuleSpec {
        rule: NoiseRule::Twins,
        name: "twins",
        about: "a difference between two captures that were taken together",
        patterns: &[],
    },
];

impl NoiseRule {
    /// The name in JSON and in reports.
    pub fn name(self) -> &'static str {
        NOISE_RULES.iter().find(|rule| rule.rule == self).map_or("", |rule| rule.name)
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
    fn names_are_unique_and_those_of_the_json() {
        let mut names: Vec<_> = NOISE_RULES.iter().map(|rule| rule.name).collect();
        for rule in NOISE_RULES {
            assert_eq!(serde_json::to_value(rule.rule).unwrap(), rule.name);
            assert_eq!(rule.rule.name(), rule.name);
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), NOISE_RULES.len());
    }
}
