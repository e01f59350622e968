//! The table of noise rules.
//!
//! In each form the groups are the values that may change; the text around it must stay. Names in
//! braces stand for [parts](super::pattern) that several forms share. A form with the position
//! `Attribute` is matched with each attribute of a tag, written as `name=value`, and with each
//! field of a form or of metadata, written as `element name=value`.

use super::pattern::Position::{self, *};
use super::pattern::ValueShape::{self, *};
use super::pattern::{NoisePattern, SignWords};
use serde::Serialize;
use std::fmt;

/// Why a change is noise. If two rules explain a change, the first is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseRule {
    /// A nonce in a policy, in an attribute or field of that name, or under a name of CSP,
    /// WordPress, AJAX or REST.
    Nonce,
    /// A CSRF token under its own name in a form, a meta element, a link or a script.
    CsrfToken,
    /// The time at which the page was made, or how long that took: in a comment, under such a name,
    /// or after such words.
    Timestamp,
    /// A hash in the address of a script, style or font on the page's own host, the digest that
    /// follows it, and the build of the page.
    BuildHash,
    /// A session id in a link or a hidden field, under the name of a session or in several links at
    /// once.
    SessionId,
    /// The id of one request in a comment, a script or an attribute of that name.
    RequestId,
    /// The same mail address, scrambled with another key.
    ScrambledAddress,
    /// The content of an advertisement from an origin that the same slot named before, and the id
    /// of the slot.
    AdSlot,
    /// A header about the time or the route of the response.
    VolatileHeader,
    /// The tag, date or length of a body that changed only by noise.
    FollowsBody,
    /// Another value of a cookie that is a token, with the same name and attributes.
    CookieValue,
    /// A difference like one between two captures that were taken together.
    Learned,
}

/// The names of the rules, in the order of [`NoiseRule`].
#[rustfmt::skip]
const RULE_NAMES: [&str; 12] = [
    "nonce", "csrf-token", "timestamp", "build-hash", "session-id", "request-id", "scrambled-address", "ad-slot",
    "volatile-header", "follows-body", "cookie-value", "learned",
];

impl NoiseRule {
    /// The name in JSON and in reports.
    pub const fn name(self) -> &'static str {
        RULE_NAMES[self as usize]
    }
}

impl fmt::Display for NoiseRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const NONCE_WORDS: SignWords = &["nonce"];
const ASSET_WORDS: SignWords = &[".js", ".mjs", ".css", ".map", ".woff", ".ttf", ".otf"];
const TIME_WORDS: SignWords = &["time", "now", "date", "rendered", "cached", "generated", "created", "built"];
const MADE_WORDS: SignWords =
    &["generated", "rendered", "served", "created", "loaded", "executed", "processed", "built", "took"];
const BUILD_WORDS: SignWords = &["build", "deploy"];
const SESSION_WORDS: SignWords =
    &["sessid", "jsessionid", "aspsessionid", "asp.net_sessionid", "cfid", "cftoken", "/(s("];
#[rustfmt::skip]
const CSRF_WORDS: SignWords = &[
    "csrf", "xsrf", "requestverificationtoken", "form_build_id", "__viewstate", "__eventvalidation", "_token",
];
#[rustfmt::skip]
const REQUEST_WORDS: SignWords = &[
    "requestid", "request_id", "request-id", "traceid", "trace_id", "trace-id", "correlationid", "correlation_id",
    "correlation-id", "spanid", "span_id", "span-id", "visitorid", "visitor_id", "visitor-id", "renderid", "render_id",
    "render-id", "pageviewid", "pageview_id", "pageview-id",
];

/// A pattern of the table.
const fn pattern(
    rule: NoiseRule,
    sign: SignWords,
    shape: ValueShape,
    position: Position,
    forms: &'static [&'static str],
) -> NoisePattern {
    NoisePattern { rule, sign, shape, position, forms }
}

/// The patterns of all rules, in the order of [`NoiseRule`]. Of two values that overlap the first
/// stays.
#[rustfmt::skip]
pub(super) const NOISE_PATTERNS: &[NoisePattern] = &[
    pattern(NoiseRule::Nonce, NONCE_WORDS, Token, Attribute, &[
        "^(?:(?:data-)?nonce|{nonce_name})={attribute_value}",
        r"^\S+ {form_prefix}{form_nonce_name}\]?={attribute_value}",
    ]),
    pattern(NoiseRule::Nonce, NONCE_WORDS, Token, Unshown, &[
        r#"{named_value}{nonce_name}\s*[=:]\s*["']([A-Za-z0-9+/_=-]{4,})["']"#,
        r#"["']{nonce_name}["']\s*:\s*["']([A-Za-z0-9+/_=-]{4,})["']"#,
        "'nonce-([A-Za-z0-9+/_=-]{4,})'",
    ]),
    pattern(NoiseRule::Nonce, NONCE_WORDS, AsMatched, Unshown, &[
        r#"\b_wpnonce["']?\s*[=:]\s*["']?([0-9a-f]{10})\b"#,
    ]),
    pattern(NoiseRule::CsrfToken, CSRF_WORDS, Token, Attribute, &[
        r"^(?:\S+ )?{form_prefix}(?:_token|{csrf_name})\]?={attribute_value}",
    ]),
    pattern(NoiseRule::CsrfToken, CSRF_WORDS, Token, Unshown, &[
        r#"["']{csrf_name}["']\s*:\s*["']([^"'<>\s]{4,})["']"#,
        r#"{named_value}{csrf_name}\s*[:=]\s*["']([^"'<>\s]{4,})["']"#,
    ]),
    pattern(NoiseRule::CsrfToken, CSRF_WORDS, Token, Tag, &["[?&;](?:_token|{csrf_word})=([A-Za-z0-9+/_=.~%-]{4,})"]),
    // The state of a form in JSF: encrypted, or the number of a state that the server keeps.
    pattern(NoiseRule::CsrfToken, &["faces.viewstate", "data-drupal-selector"], AsMatched, Attribute, &[
        r"^\S+ (?:javax|jakarta)\.faces\.ViewState={attribute_value}",
        r"^data-drupal-selector=form-([\w-]{30,60})$",
    ]),
    // Joomla: the token is the name of a field whose value is 1.
    pattern(NoiseRule::CsrfToken, &["hidden"], AsMatched, Tag, &[
        r#"<input type=["']?hidden["']? name=["']?([0-9a-f]{32})["']? value=["']?1["']?\s?/?>"#,
    ]),
    // By name: metadata, an attribute, quoted before a colon, a field of an object, or assigned.
    pattern(NoiseRule::Timestamp, TIME_WORDS, AsMatched, Attribute, &[
        "^meta {meta_time_name}=({any_date})$",
        "^{time_name}=({iso_time}|{unix_time})",
    ]),
    pattern(NoiseRule::Timestamp, TIME_WORDS, AsMatched, Anywhere, &[
        r"<lastBuildDate>\s*({any_date})\s*</lastBuildDate>",
        r#"["']{time_name}["']\s*:\s*["']?({iso_time}|{unix_time})"#,
        r#"(?m:^|[{,])\s*{time_name}\s*:\s*["']?({unix_time})["']?\s*[,}]"#,
    ]),
    pattern(NoiseRule::Timestamp, TIME_WORDS, AsMatched, Program, &[
        r#"{assignment}{own_time_name}\s*=\s*["']?({iso_time}|{unix_time})"#,
    ]),
    pattern(NoiseRule::Timestamp, &["rnd=", "rand=", "random=", "cachebuster="], AsMatched, Tag, &[
        r"[?&;](?:rnd|rand|random|cachebuster)=(\d{9,13})\b",
    ]),
    // Written times, if the words before them say that the page was made then; and dates in
    // comments.
    pattern(NoiseRule::Timestamp, &[":"], AsMatched, PageTime, &[
        r"\b({iso_date}(?:T| |, | at ){clock})",
        r"\b({day}\d{1,2}\.?[ -]{month}[ -]\d{4},?(?: at| -)? {clock})",
        r"\b({day}{month} {1,2}\d{1,2},? \d{4},?(?: at| -)? {clock})",
        r"\b({day}{month} {1,2}\d{1,2} \d\d:\d\d:\d\d (?:[A-Z]{2,5} )?(?:19|20)\d\d)\b",
        r"\b(\d{1,4}[./]\d{1,2}[./]\d{1,4},?(?: at| -)? {clock})",
        r"\b([0-2]?\d:[0-5]\d:[0-6]\d(?:\.\d{1,9})?(?:\s?[ap]m\b)?)",
    ]),
    pattern(NoiseRule::Timestamp, &["generated", "rendered", "built", "cached", "compiled"], AsMatched, PageDate, &[r"\b({iso_date})\b"]),
    // Statistics of a program in a comment: time, memory, caches and database queries.
    pattern(NoiseRule::Timestamp, &["usage:", "cached", "parsed by ", "caching ", "timestamp ", "served in ", "%  "], AsMatched, Comment, &[
        r"\b(?:CPU|Real|Lua) time usage: (\d{1,6}\.\d{1,6})",
        r"\bLua memory usage: (\d{1,12})/",
        r"\b(?:Cached time:|and timestamp) (20\d{12})\b",
        r"(?m)^Parsed by ([^\s<>]{1,80})\s*$",
        r"\b(?:Object|Fragment|Page) Caching (\d{1,7}/\d{1,7}) objects",
        r"\bDatabase Caching (\d{1,7}/\d{1,7} queries in \d{1,6}\.\d{1,6} seconds)",
        r"\bcached@(1\d{9})\b",
        r"\b{served_by}\s*(?:$|-->)",
        r"(?m)^([ ]{0,4}\d{1,3}\.\d\d%[ ]{1,8}\d{1,7}\.\d{3}[ ]{1,8})\d{1,7} ",
    ]),
    pattern(NoiseRule::Timestamp, &["queries"], AsMatched, Comment, &[r"\b({queries})\b"]),
    pattern(NoiseRule::Timestamp, &["wgbackendresponsetime"], AsMatched, Unshown, &[
        r#""wgBackendResponseTime"\s*:\s*(\d{1,7})\b"#,
    ]),
    // Duration: in a comment, or in a sentence about the page, also with the time.
    pattern(NoiseRule::Timestamp, MADE_WORDS, AsMatched, Comment, &[
        r"\b(?:generated|rendered|served|created|loaded|executed|processed|built|took)\b[\w ,:]{0,30}?[ :]{1,3}{duration}",
    ]),
    pattern(NoiseRule::Timestamp, &["page", "document", "generated", "rendered", "<footer"], AsMatched, Anywhere, &[
        r"<footer[^<>]{0,200}>\s{0,40}(?:page )?{served_by}\.?\s{0,40}</footer>",
        r"<footer[^<>]{0,200}>\s{0,40}({queries})\.?\s{0,40}</footer>",
        r"{page_sentence}(?: was| has been)? (?:generated|rendered|served|created|loaded|processed|built)(?: by [\w. -]{1,40}?)? in:? {duration}\.?\s*(?:$|[<|)]|(?:with|using) \d)",
        r"{page_sentence} (?:generation|rendering|execution) (?:time|took):? {duration}\.?\s*(?:$|[<|)])",
        r"(?:^|[>|(])\s{0,8}(?:(?:this |the )?(?:page|document) (?:was )?)?(?:generated|rendered)(?: at| on|:)? ([\w ,./:+-]{4,40}?\d:\d\d[\w .:+]{0,16}? in \d{1,9}(?:\.\d{1,9})?)\s?{time_unit}\.?\s*(?:$|[<|)])",
    ]),
    // The name of the file around the hash stays. A name that is only a hash is another file. In
    // names of Vite the hash may have dashes. Version numbers are not noise: a person chose another
    // version.
    pattern(NoiseRule::BuildHash, ASSET_WORDS, Hash, OwnAsset, &[
        r"[\w)][._-]([A-Za-z0-9]{8,64}){asset_file}",
        r"\w-([A-Za-z0-9_-]{8}){asset_file}",
    ]),
    pattern(NoiseRule::BuildHash, ASSET_WORDS, Hash, OwnAsset, &[
        r"{asset_file}{asset_parameters}(?:v|ver|version|hash|h|rev|cb|build|_)=([A-Za-z0-9_-]{7,64})\b",
        r"{asset_file}\?([A-Za-z0-9]{8,64})\b",
    ]),
    pattern(NoiseRule::BuildHash, ASSET_WORDS, AsMatched, OwnAsset, &[
        r"{asset_file}{asset_parameters}(?:v|ver|version|rev|cb|build|_|t|ts|time)=(1\d{9}(?:\d{3})?)\b",
        r"{asset_file}\?(1\d{9}(?:\d{3})?)\b",
    ]),
    pattern(NoiseRule::BuildHash, ASSET_WORDS, Hash, OwnAsset, &[
        r#"/(?:static|assets|build|dist)/([0-9a-f]{8,64}|[A-Za-z0-9_-]{20,24})/[^"'<>\s]{1,120}?\w{asset_file}"#,
    ]),
    // The build of the page itself: in the state of a framework, in its head, or as a variable.
    pattern(NoiseRule::BuildHash, BUILD_WORDS, Hash, FrameworkState, &[r#""buildId"\s*:\s*"([A-Za-z0-9_-]{8,40})""#]),
    pattern(NoiseRule::BuildHash, BUILD_WORDS, RequestId, Unshown, &[
        r#"\bapp["']?\s*:\s*\{\s*["']?baseURL["']?\s*:\s*["'][^"'<>]{0,80}["']\s*,\s*["']?buildId["']?\s*:\s*["']([A-Za-z0-9-]{8,40})["']"#,
        r#"\bwindow\.{build_name}\s?=\s?["']([A-Za-z0-9_-]{7,64})["']"#,
    ]),
    pattern(NoiseRule::BuildHash, BUILD_WORDS, Hash, Attribute, &[r"^meta {build_name}=([0-9a-f]{7,64})\b"]),
    pattern(NoiseRule::BuildHash, &["integrity"], AssetDigest, Attribute, &[
        r"^integrity=sha(?:256|384|512)-([A-Za-z0-9+/=&#;_-]{2,200})",
    ]),
    pattern(NoiseRule::SessionId, SESSION_WORDS, Token, Unshown, &[
        r"[?&;](?:phpsessid|jsessionid|aspsessionid\w{0,40}|asp\.net_sessionid)=([A-Za-z0-9._!-]{8,})",
        r"/\(S\(([a-z0-9]{16,})\)\)/",
    ]),
    pattern(NoiseRule::SessionId, SESSION_WORDS, AsMatched, Unshown, &[
        r"[?&;](?:cfid|cftoken)=((?:[0-9a-f]{16}-)?[0-9A-F-]{6,50})\b",
    ]),
    pattern(NoiseRule::SessionId, SESSION_WORDS, Token, Attribute, &[
        r"^(?:\S+ )?(?:phpsessid|jsessionid|aspsessionid\w{0,40}|cfid|cftoken)={attribute_value}",
    ]),
    pattern(NoiseRule::SessionId, &["sessionid="], Hash, Unshown, &["[?&;]sessionid=([A-Za-z0-9]{8,})"]),
    // Conferences have sessions and students have a `sid`, but not the same one in all links.
    pattern(NoiseRule::SessionId, &["session=", "sid=", "session_id="], SwappedHash, Tag, &[
        r"[?&;](?:session(?:_id)?|sid)=([A-Za-z0-9]{8,64})\b",
    ]),
    pattern(NoiseRule::SessionId, &["sessionid", "session_id", "sid"], Hash, Attribute, &[
        r"^\S+ (?:session_?id|sid)={attribute_value}",
    ]),
    pattern(NoiseRule::RequestId, REQUEST_WORDS, RequestId, Attribute, &[r"^(?:\S+ )?{request_name}={attribute_value}"]),
    pattern(NoiseRule::RequestId, &["traceparent", "sentry-trace"], Token, Attribute, &[
        r"^\S+ (?:traceparent|sentry-trace)=((?:00-)?[0-9a-f]{32}-[0-9a-f]{16}(?:-[0-9a-f]{1,2})?)$",
    ]),
    pattern(NoiseRule::RequestId, REQUEST_WORDS, RequestId, Unshown, &[
        r#"["']{request_name}["']\s*:\s*["']?([A-Za-z0-9-]{8,})"#,
        r#"{named_value}{request_name}\s*[:=]\s*["']([A-Za-z0-9-]{8,})["']"#,
    ]),
    pattern(NoiseRule::RequestId, REQUEST_WORDS, RequestId, Comment, &[
        r#"\b(?:request|trace|correlation|span|render)[_-]?id["']?\s*[:=]\s*["']?([A-Za-z0-9-]{8,})"#,
    ]),
    // Cloudflare: the id and the time of the request.
    pattern(NoiseRule::RequestId, &["cf-ray", "rayid", "__cf"], AsMatched, Unshown, &[
        r#"(?:["']|&quot;)(?:cf-ray|rayid|__cf_chl_tk)(?:["']|&quot;)\s*:\s*(?:["']|&quot;)([0-9a-f]{16,20})\b"#,
        r#"__CF\$cv\$params\s*=\s*\{\s*r\s*:\s*["']([0-9a-f]{16,20})["'](?:\s*,\s*t\s*:\s*["']([A-Za-z0-9+/=]{8,40})["'])?"#,
    ]),
    pattern(NoiseRule::RequestId, &["ray id:"], AsMatched, Anywhere, &[
        r"\bRay ID:\s{0,8}(?:<[^<>]{1,80}>\s{0,8}){0,2}([0-9a-f]{16})\b",
    ]),
    pattern(NoiseRule::ScrambledAddress, &["data-cfemail", "/cdn-cgi/l/email-protection#"], ScrambledAddress, Anywhere, &[
        r#"data-cfemail\s*=\s*["']([0-9a-f]{8,})["']"#,
        "/cdn-cgi/l/email-protection#([0-9a-f]{8,})",
    ]),
    pattern(NoiseRule::AdSlot, &["div-gpt-ad-"], AsMatched, Unshown, &[r"\bdiv-gpt-ad-(1\d{12})\b"]),
];

#[cfg(test)]
mod tests {
    use super::{NoiseRule, RULE_NAMES};

    #[test]
    fn names_are_unique_and_those_of_the_json() {
        use NoiseRule::*;
        let rules = [
            Nonce,
            CsrfToken,
            Timestamp,
            BuildHash,
            SessionId,
            RequestId,
            ScrambledAddress,
            AdSlot,
            VolatileHeader,
            FollowsBody,
            CookieValue,
            Learned,
        ];
        for (rule, name) in rules.into_iter().zip(RULE_NAMES) {
            assert_eq!((serde_json::to_value(rule).unwrap(), rule.name()), (name.into(), name));
        }
    }
}
