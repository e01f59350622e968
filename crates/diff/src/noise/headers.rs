//! Which changed headers are noise: by name, or by the values that changed.

use super::document::BodySyntax;
use super::explain::explain_fragments;
use super::learned_noise::Volatile;
use super::rules::NoiseRule;
use super::swapped_links::swapped_links;
use super::token_shape::is_token;
use crate::headers::{HeaderChange, HeaderDiff, RedactedSide};
use chrono::NaiveDateTime;
use std::collections::BTreeMap;

/// Headers that follow from the body. They are noise if the body changed only by noise.
#[rustfmt::skip]
const BODY_HEADERS: [&str; 9] = [
    "content-length", "content-md5", "digest", "etag", "last-modified", "repr-digest", "x-goog-generation",
    "x-goog-hash", "x-goog-stored-content-length",
];

/// Headers that differ in every response: clocks, caches, tracing and routes, sorted. Prefixes such
/// as `x-amz-` and `cf-` are not enough: they also have redirects, encryption and metadata of
/// users.
#[rustfmt::skip]
const VOLATILE_HEADERS: [&str; 55] = [
    "accept-ranges", "age", "cf-cache-status", "cf-ray", "cf-request-id", "connection", "date",
    "keep-alive", "ratelimit-remaining", "ratelimit-reset", "server-timing", "traceparent", "tracestate",
    "transfer-encoding", "x-akamai-request-id", "x-amz-apigw-id", "x-amz-cf-id", "x-amz-cf-pop",
    "x-amz-id-2", "x-amz-request-id", "x-amzn-requestid", "x-amzn-trace-id", "x-b3-flags",
    "x-b3-parentspanid", "x-b3-sampled", "x-b3-spanid", "x-b3-traceid", "x-backend-server", "x-cache",
    "x-cache-hits", "x-cache-status", "x-cdn-cache", "x-cdn-cache-status", "x-cdn-pop", "x-cdn-pop-ip",
    "x-cdn-request-id", "x-cloud-trace-context", "x-correlation-id", "x-envoy-upstream-service-time",
    "x-github-request-id", "x-goog-request-id", "x-guploader-uploadid", "x-nf-request-id",
    "x-ratelimit-remaining", "x-ratelimit-reset", "x-request-id", "x-request-time", "x-response-time",
    "x-runtime", "x-served-by", "x-timer", "x-trace-id", "x-varnish", "x-vercel-cache", "x-vercel-id",
];

/// Maximum difference between the time from one response to the next and the time from one expiry
/// to the next, in seconds. A larger one is another lifetime.
const MAX_LIFETIME_CHANGE: i64 = 60 * 60;

/// 2001-01-01 in seconds. An earlier expiry means that a response has expired already.
const EXPIRED_BEFORE: i64 = 978_307_200;

/// For each changed header that is noise the rule that explains it. `body_is_same` is set if the
/// body changed only by noise.
pub fn classify_headers(
    diff: &HeaderDiff,
    body_is_same: bool,
    volatile: &Volatile,
) -> BTreeMap<String, NoiseRule> {
    let rule = |name: &String| {
        let by_values = || rule_of_values(name, diff.changed.get(name)?, diff);
        rule_of_name(name, body_is_same, volatile).or_else(by_values)
    };
    let names = diff.added.keys().chain(diff.removed.keys()).chain(diff.changed.keys());
    names.filter_map(|name| Some((name.clone(), rule(name)?))).collect()
}

/// The redacted headers that only some responses have.
pub fn classify_redacted(
    redacted: &BTreeMap<String, RedactedSide>,
    volatile: &Volatile,
) -> BTreeMap<String, NoiseRule> {
    let comes_and_goes =
        |(name, side): &(&String, &RedactedSide)| side.is_change() && volatile.has_header(name);
    redacted.iter().filter(comes_and_goes).map(|(name, _)| (name.clone(), NoiseRule::Learned)).collect()
}

fn rule_of_name(name: &str, body_is_same: bool, volatile: &Volatile) -> Option<NoiseRule> {
    if BODY_HEADERS.contains(&name) {
        return body_is_same.then_some(NoiseRule::FollowsBody);
    }
    if VOLATILE_HEADERS.binary_search(&name).is_ok() {
        return Some(NoiseRule::VolatileHeader);
    }
    volatile.has_header(name).then_some(NoiseRule::Learned)
}

fn rule_of_values(name: &str, change: &HeaderChange, diff: &HeaderDiff) -> Option<NoiseRule> {
    let is_volatile = match name {
        "set-cookie" => return cookies_follow(change).then_some(NoiseRule::CookieValue),
        "expires" => expires_with_the_clock(change, diff),
        "via" => route(&change.from) == route(&change.to),
        "report-to" | "reporting-endpoints" => {
            without_signature(&change.from.join("\n")) == without_signature(&change.to.join("\n"))
        }
        _ => return rule_of_text(name, &change.from.join("\n"), &change.to.join("\n")),
    };
    is_volatile.then_some(NoiseRule::VolatileHeader)
}

/// The rule that explains two values, alone or as the field of that name.
fn rule_of_text(name: &str, from: &str, to: &str) -> Option<NoiseRule> {
    let swapped = swapped_links(Default::default);
    let explain = |from: &str, to: &str| explain_fragments(from, to, BodySyntax::Program, &swapped);
    let named = |value: &str| format!("\"{name}\":\"{value}\"");
    explain(from, to).or_else(|| explain(&named(from), &named(to)))
}

/// Whether only the values of cookies changed. A value that is a word, empty or zero is a setting.
fn cookies_follow(change: &HeaderChange) -> bool {
    let follows = |(from, to): (&String, &String)| {
        let ([name, value, bound], [new_name, new_value, new_bound]) = (read_cookie(from), read_cookie(to));
        let is_same = value == new_value || !(is_setting(&value) || is_setting(&new_value));
        name == new_name && bound == new_bound && is_same
    };
    change.from.len() == change.to.len() && change.from.iter().zip(&change.to).all(follows)
}

fn is_setting(value: &str) -> bool {
    let is_word = value.bytes().all(|byte| byte.is_ascii_alphabetic() || b"-_.".contains(&byte));
    let is_address = value.contains('/') || value.to_ascii_lowercase().contains("%2f");
    value == "0" || ((is_word || is_address) && !is_token(value))
}

/// The name and value of a cookie, and its attributes without its expiry.
fn read_cookie(cookie: &str) -> [String; 3] {
    let mut parts = cookie.split(';').map(str::trim);
    let (name, value) = parts.next().unwrap_or_default().split_once('=').unwrap_or_default();
    let ends = |part: &str| part.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("expires="));
    let bound: Vec<_> = parts.filter(|part| !ends(part)).collect();
    [name.to_owned(), value.trim_matches('"').to_owned(), bound.join(";")]
}

/// Whether both responses have the same lifetime. Without a `Date` header any two expiries count,
/// unless one of them has always passed.
fn expires_with_the_clock(change: &HeaderChange, diff: &HeaderDiff) -> bool {
    let dates = |change: &HeaderChange| {
        let [from, to] = [&change.from, &change.to].map(|values| match values.as_slice() {
            [value] => seconds(value),
            _ => None,
        });
        Some((from?, to?))
    };
    let Some((from, to)) = dates(change) else { return false };
    match diff.changed.get("date").and_then(dates) {
        Some((then, now)) => ((to - from) - (now - then)).abs() <= MAX_LIFETIME_CHANGE,
        None => from.min(to) >= EXPIRED_BEFORE,
    }
}

/// A date of a header in seconds. The day of the week is ignored.
fn seconds(date: &str) -> Option<i64> {
    let date = date.split_once(',').map_or(date, |(_, date)| date).trim();
    let date = NaiveDateTime::parse_from_str(date, "%d %b %Y %H:%M:%S GMT").ok()?;
    Some(date.and_utc().timestamp())
}

/// The words of each hop of a route, the second of which names the node.
fn route(hops: &[String]) -> Vec<Vec<String>> {
    let words = hops.iter().flat_map(|hop| hop.split(',')).map(str::split_whitespace);
    let masked = |(number, word)| if number == 1 { masked_node(word) } else { word.to_owned() };
    words.map(|words| words.enumerate().map(masked).collect()).collect()
}

/// The name of a node without what nodes of one route differ by: a number, or the code of an
/// airport.
fn masked_node(node: &str) -> String {
    let masked = |part: &str| match part {
        part if part.bytes().any(|byte| byte.is_ascii_digit()) => "0".to_owned(),
        part if part.len() == 3 && part.bytes().all(|byte| byte.is_ascii_uppercase()) => "A".to_owned(),
        part => part.to_owned(),
    };
    node.split(['.', '-', '_', ':']).map(masked).collect::<Vec<_>>().join(".")
}

/// The addresses of reports without the signatures of Cloudflare.
fn without_signature(value: &str) -> String {
    let mut pieces = value.split("?s=");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |made, piece| {
        let end = piece.find(['"', '&', '\\', ';', ',']).unwrap_or(piece.len());
        let rest = if is_token(&piece[..end]) { &piece[end..] } else { piece };
        made + "?s=" + rest
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_core::headers::{HeaderView, Redaction};

    fn noise(base: &[(&str, &str)], head: &[(&str, &str)], same: bool) -> Vec<(String, &'static str)> {
        let view = |pairs: &[(&str, &str)]| HeaderView::from_pairs(pairs.iter().copied(), Redaction::Off);
        let diff = HeaderDiff::between(&view(base), &view(head));
        classify_headers(&diff, same, &Volatile::default())
            .into_iter()
            .map(|(name, rule)| (name, rule.name()))
            .collect()
    }

    #[test]
    fn clocks_are_noise_and_policies_are_not() {
        let base =
            [("Date", "1"), ("X-Frame-Options", "DENY"), ("ETag", "a"), ("Server", "a"), ("cf-ray", "1")];
        let head = [("Date", "2"), ("X-Frame-Options", "ALLOW"), ("ETag", "b"), ("Server", "b")];
        let always = vec![("cf-ray".to_owned(), "volatile-header"), ("date".to_owned(), "volatile-header")];
        assert_eq!(noise(&base, &head, false), always);
        assert_eq!(noise(&base, &head, true)[2], ("etag".to_owned(), "follows-body"));
    }

    #[test]
    fn nonces_in_policies_are_noise_and_sources_are_not() {
        let policy = |nonce: &str, source: &str| format!("script-src 'nonce-{nonce}' {source}");
        let told = |source: &str| {
            let (base, head) = (policy("aaaaaaaa1", "a.example"), policy("bbbbbbbb2", source));
            noise(&[("Content-Security-Policy", &base)], &[("Content-Security-Policy", &head)], true)
        };
        assert_eq!(told("a.example"), [("content-security-policy".to_owned(), "nonce")]);
        assert_eq!(told("evil.example"), []);
    }

    #[test]
    fn times_are_noise_under_the_name_of_a_render_time() {
        let told =
            |name: &str| noise(&[(name, "2026-05-01T10:00:00Z")], &[(name, "2026-05-02T10:00:00Z")], true);
        assert_eq!(told("X-Generated-At"), [("x-generated-at".to_owned(), "timestamp")]);
        assert_eq!(told("X-Sale-Ends"), []);
    }

    #[test]
    fn cookies_may_change_their_value_only() {
        let told =
            |head: &str| noise(&[("Set-Cookie", "id=1; Secure; HttpOnly")], &[("Set-Cookie", head)], true);
        assert_eq!(told("id=2; Secure; HttpOnly").len(), 1);
        assert_eq!(told("id=2; HttpOnly"), []);
        assert_eq!(told("other=1; Secure; HttpOnly"), []);
    }

    #[test]
    fn the_names_are_sorted() {
        assert!(VOLATILE_HEADERS.is_sorted());
    }

    #[test]
    fn settings_in_cookies_are_changes() {
        let told = |from: &str, to: &str| noise(&[("Set-Cookie", from)], &[("Set-Cookie", to)], true).len();
        for (from, to) in [
            ("role=user", "role=admin"),
            ("consent=denied", "consent=granted"),
            ("debug=0", "debug=1"),
            ("next=https%3A%2F%2Fgood.example%2F1", "next=https%3A%2F%2Fevil.example%2F1"),
            ("id=1; Secure", "id="),
            ("id=a1b2c3d4; Domain=good.example", "id=d4c3b2a1; Domain=evil.example"),
            ("id=a1b2c3d4; Max-Age=60", "id=d4c3b2a1; Max-Age=99999999"),
        ] {
            assert_eq!(told(from, to), 0, "{from} / {to}");
        }
        assert_eq!(
            told(
                "id=a1b2; Expires=Thu, 01 Jan 2026 00:00:00 GMT",
                "id=b2c3; Expires=Fri, 02 Jan 2026 00:00:00 GMT"
            ),
            1
        );
    }

    #[test]
    fn an_expiry_that_moves_with_the_clock_is_noise() {
        let told = |date: [&str; 2], expires: [&str; 2]| {
            let headers = |side: usize| [("Date", date[side]), ("Expires", expires[side])];
            noise(&headers(0), &headers(1), true).iter().any(|(name, _)| name == "expires")
        };
        let clock = ["Fri, 01 May 2026 10:00:00 GMT", "Sun, 01 Nov 2026 10:00:00 GMT"];
        assert!(told(clock, ["Fri, 01 May 2026 11:00:00 GMT", "Sun, 01 Nov 2026 11:30:00 GMT"]));
        assert!(!told(clock, ["Fri, 01 May 2026 11:00:00 GMT", "Mon, 01 Nov 2027 10:00:00 GMT"]));
        assert!(!told(clock, ["Fri, 01 May 2026 11:00:00 GMT", "Mon, 02 Nov 2026 09:00:00 GMT"]));
        assert!(!told(clock, ["0", "Sun, 01 Nov 2026 11:30:00 GMT"]));
        assert!(!told(clock, ["Thu, 01 Jan 1970 00:00:00 GMT", "Sun, 01 Nov 2026 11:30:00 GMT"]));
    }

    #[test]
    fn an_expiry_is_compared_without_a_date_and_with_a_wrong_weekday() {
        let told = |base: &[(&str, &str)], head: &[(&str, &str)]| noise(base, head, true).len();
        let [may, november] = ["Fri, 01 May 2026 11:00:00 GMT", "Sun, 01 Nov 2026 11:00:00 GMT"];
        assert_eq!(told(&[("Expires", may)], &[("Expires", november)]), 1);
        assert_eq!(told(&[("Expires", "Thu, 19 Nov 1981 08:52:00 GMT")], &[("Expires", november)]), 0);
        assert_eq!(told(&[("Expires", may)], &[("Expires", "soon")]), 0);
        let base = [("Date", "Mon, 01 May 2026 10:00:00 GMT"), ("Expires", "Mon, 01 May 2026 11:00:00 GMT")];
        assert_eq!(
            told(
                &base,
                &[("Date", "Mon, 01 Nov 2026 10:00:00 GMT"), ("Expires", "Mon, 01 Nov 2026 11:00:00 GMT")]
            ),
            2
        );
    }

    #[test]
    fn only_the_nodes_of_a_route_may_differ() {
        let told = |from: &str, to: &str| noise(&[("Via", from)], &[("Via", to)], true).len();
        for (from, to) in [
            ("1.1 varnish, 1.1 cache-eddf8230041-FRA", "1.1 varnish, 1.1 cache-eddf8230099-AMS"),
            ("1.1 2afae0d4.cloudfront.net (CloudFront)", "1.1 9bfae0d4.cloudfront.net (CloudFront)"),
            ("1.1 web-03", "1.1 web-11"),
        ] {
            assert_eq!(told(from, to), 1, "{from}");
        }
        for (from, to) in [
            ("1.1 varnish", "1.1 squid"),
            ("1.1 web-03", "1.1 web-03, 1.1 evil-1"),
            ("1.1 a1.good.example", "1.1 a1.evil.example"),
            ("1.1 web-03 (a)", "1.1 web-03 (b)"),
            ("1.1 web-03", "1.0 web-03"),
        ] {
            assert_eq!(told(from, to), 0, "{to}");
        }
    }

    #[test]
    fn only_the_signature_of_a_report_address_may_differ() {
        let to = |host: &str, sign: &str| {
            format!(r#"{{"endpoints":[{{"url":"https:\/\/{host}\/report\/v4?s={sign}"}}],"group":"cf-nel"}}"#)
        };
        let told = |one: &str, other: &str| noise(&[("Report-To", one)], &[("Report-To", other)], true).len();
        let base = to("a.nel.cloudflare.com", "a1B2c3%2BD4e5F6g7H8i9J0%3D");
        assert_eq!(told(&base, &to("a.nel.cloudflare.com", "d4C3b2%2FA1e5F6g7H8i9J0%3D")), 1);
        assert_eq!(told(&base, &to("a.nel.evil.example", "d4C3b2%2FA1e5F6g7H8i9J0%3D")), 0);
    }

    #[test]
    fn prefixes_of_headers_are_no_noise() {
        for name in [
            "x-amz-website-redirect-location",
            "x-amz-meta-owner",
            "x-amz-server-side-encryption",
            "x-amz-storage-class",
            "x-goog-meta-owner",
            "x-goog-storage-class",
            "x-cdn-origin",
            "cf-mitigated",
            "cf-edge-cache",
            "server",
            "via",
            "vary",
            "content-encoding",
            "x-csrf-mode",
            "x-powered-by",
        ] {
            assert_eq!(noise(&[(name, "/a1")], &[(name, "/b2")], true), [], "{name}");
            assert_eq!(noise(&[], &[(name, "/b2")], true), [], "{name}");
        }
        assert_eq!(noise(&[("expires", "0")], &[], true), []);
        assert_eq!(noise(&[("x-csrf-token", "a1b2c3")], &[("x-csrf-token", "d4e5f6")], true).len(), 1);
        assert_eq!(noise(&[("x-csrf-mode", "disabled")], &[("x-csrf-mode", "required")], true), []);
    }
}
