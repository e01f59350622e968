//! Which changed headers are noise.

use super::learn::Volatile;
use super::mask::explain;
use super::rules::NoiseRule;
use std::collections::BTreeMap;
use varve_core::headers::{Change, HeaderDiff, RedactedSide, is_benign};

/// Headers that follow from the body. They are noise only if the body is the same but for noise.
const OF_THE_BODY: [&str; 6] =
    ["content-length", "content-md5", "digest", "etag", "last-modified", "repr-digest"];

/// Headers that are called benign elsewhere and yet say something about the site.
const TELLING: [&str; 4] = ["content-encoding", "server", "vary", "via"];

/// Further headers that differ each time.
const VOLATILE: [&str; 9] = [
    "expires",
    "x-akamai-request-id",
    "x-cache-status",
    "x-github-request-id",
    "x-nf-request-id",
    "x-request-time",
    "x-trace-id",
    "x-varnish",
    "x-vercel-id",
];

/// For each changed header that is noise the rule that explains it. `body_is_same` says whether the body changed by no more
/// than noise.
pub fn classify_headers(
    diff: &HeaderDiff,
    body_is_same: bool,
    volatile: &Volatile,
) -> BTreeMap<String, NoiseRule> {
    let by_name = |name: &String| -> Option<(String, NoiseRule)> {
        Some((name.clone(), rule_of_name(name, body_is_same, volatile)?))
    };
    let mut noise: BTreeMap<_, _> =
        diff.added.keys().chain(diff.removed.keys()).filter_map(by_name).collect();
    for (name, change) in &diff.changed {
        if let Some(rule) =
            rule_of_name(name, body_is_same, volatile).or_else(|| rule_of_values(name, change))
        {
            noise.insert(name.clone(), rule);
        }
    }
    noise
}

/// The redacted headers that come and go each time.
pub fn classify_redacted(
    redacted: &BTreeMap<String, RedactedSide>,
    volatile: &Volatile,
) -> BTreeMap<String, NoiseRule> {
    let comes_and_goes =
        |(name, side): &(&String, &RedactedSide)| side.is_change() && volatile.has_header(name);
    redacted.iter().filter(comes_and_goes).map(|(name, _)| (name.clone(), NoiseRule::Twins)).collect()
}

fn rule_of_name(name: &str, body_is_same: bool, volatile: &Volatile) -> Option<NoiseRule> {
    if OF_THE_BODY.contains(&name) {
        return body_is_same.then_some(NoiseRule::FollowsBody);
    }
    if (is_benign(name) && !TELLING.contains(&name)) || VOLATILE.contains(&name) {
        return Some(NoiseRule::VolatileHeader);
    }
    volatile.has_header(name).then_some(NoiseRule::Twins)
}

fn rule_of_values(name: &str, change: &Change) -> Option<NoiseRule> {
    if name == "set-cookie" {
        let bare =
            |values: &[String]| -> Vec<String> { values.iter().map(|value| without_value(value)).collect() };
        return (bare(&change.from) == bare(&change.to)).then_some(NoiseRule::CookieValue);
    }
    let (from, to) = (change.from.join("\n"), change.to.join("\n"));
    let named = |value: &str| format!("\"{name}\":\"{value}\"");
    explain(&from, &to).or_else(|| explain(&named(&from), &named(&to)))
}

/// A cookie's name and what it is bound to, without its value and without when it ends.
fn without_value(cookie: &str) -> String {
    let mut parts = cookie.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().split('=').next().unwrap_or_default();
    let bound = parts.filter(|part| !part.to_ascii_lowercase().starts_with("expires="));
    std::iter::once(name).chain(bound).collect::<Vec<_>>().join(";")
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
    fn times_are_noise_under_a_name_that_says_so() {
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
}
