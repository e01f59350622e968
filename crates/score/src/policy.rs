//! Protecting headers: their credits and their weaknesses.
//!
//! In a Content-Security-Policy the first directive of a name counts, as in browsers. If there are
//! several policies, all are in force, and the strictest form of each directive counts,
//! independently of the order of headers.

use crate::rule_id::RuleId;
use crate::rule_pack::RulePack;
use varve_core::headers::HeaderView;

/// The header of the policy.
pub(crate) const CSP_HEADER: &str = "content-security-policy";
/// The header that makes browsers use HTTPS only.
pub(crate) const HSTS_HEADER: &str = "strict-transport-security";
/// Minimum `max-age` of `Strict-Transport-Security`: half a year.
const HSTS_MIN_SECONDS: u64 = 15_552_000;
/// Maximum number of directives, and of policies.
const MAX_POLICY_DIRECTIVES: usize = 512;

/// The credit of a header or directive.
#[derive(Debug, Clone, PartialEq)]
pub struct HardeningCredit {
    /// The header, in lower case.
    pub header: String,
    /// The directive, if the header is a Content-Security-Policy.
    pub directive: Option<String>,
    /// The part of the exposure that it takes off, 0 to 1.
    pub points: f64,
}

/// The credits of the headers of a page. If their sum is above 1, all are scaled down.
pub(crate) fn credits(pack: &RulePack, headers: &HeaderView) -> Vec<HardeningCredit> {
    let mut credits = earned(pack, headers);
    let sum: f64 = credits.iter().map(|credit| credit.points).sum();
    if sum > 1.0 {
        credits.iter_mut().for_each(|credit| credit.points /= sum);
    }
    credits
}

/// The credit of each header and directive, before scaling.
pub(crate) fn earned(pack: &RulePack, headers: &HeaderView) -> Vec<HardeningCredit> {
    let present = pack.headers.iter().filter(|header| headers.get(&header.name).is_some());
    let mut credits: Vec<_> = present
        .map(|header| HardeningCredit { header: header.name.clone(), directive: None, points: header.points })
        .collect();
    let policies = policies(headers.get(CSP_HEADER).unwrap_or_default());
    for directive in &pack.directives {
        let credit = policies.iter().map(|policy| policy.credit(pack, &directive.name)).fold(0.0, f64::max);
        if credit > 0.0 {
            let points = directive.points * credit;
            credits.push(HardeningCredit {
                header: CSP_HEADER.to_owned(),
                directive: Some(directive.name.clone()),
                points,
            });
        }
    }
    credits
}

/// The sum of credits, 0 to 1.
pub(crate) fn hardening(credits: &[HardeningCredit]) -> f64 {
    // Not `sum`, because the sum of no numbers is -0.
    credits.iter().fold(0.0, |sum, credit| sum + credit.points).clamp(0.0, 1.0)
}

/// The maximum credit of a header.
pub(crate) fn full_points(pack: &RulePack, header: &str) -> f64 {
    if header == CSP_HEADER {
        return pack.directives.iter().map(|directive| directive.points).sum();
    }
    pack.headers.iter().find(|known| known.name == header).map_or(0.0, |known| known.points)
}

/// One policy: its directives with their sources, both as written.
struct ContentPolicy<'a>(Vec<(&'a str, Vec<&'a str>)>);

impl ContentPolicy<'_> {
    /// The sources of a directive.
    fn sources(&self, name: &str) -> Option<&[&str]> {
        let found = self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, sources)| sources.as_slice())
    }

    /// The part of its points that a directive earns.
    fn credit(&self, pack: &RulePack, name: &str) -> f64 {
        let Some(sources) = self.sources(name).filter(|sources| !sources.is_empty()) else { return 0.0 };
        let has = |wanted: &str| sources.iter().any(|source| source.eq_ignore_ascii_case(wanted));
        if has("'none'") {
            return 1.0;
        }
        if has("*") {
            return 0.0;
        }
        let unsafe_sources = ["'unsafe-inline'", "'unsafe-eval'"].into_iter().filter(|source| has(source));
        unsafe_sources.fold(1.0, |credit, _| credit * pack.unsafe_credit)
    }
}

/// The policies in the values of a header: a comma separates policies, a semicolon directives.
fn policies(values: &[String]) -> Vec<ContentPolicy<'_>> {
    let policies = values.iter().flat_map(|value| value.split(','));
    policies.take(MAX_POLICY_DIRECTIVES).map(|text| ContentPolicy(directives(text))).collect()
}

/// The directives of one policy.
fn directives(text: &str) -> Vec<(&str, Vec<&str>)> {
    let parts = text.split(';').take(MAX_POLICY_DIRECTIVES);
    let words = parts.map(|part| part.split_whitespace().take(MAX_POLICY_DIRECTIVES).collect::<Vec<_>>());
    words.filter_map(|words| words.split_first().map(|(name, sources)| (*name, sources.to_vec()))).collect()
}

/// A weakness of a header: the rule, the header, and a note.
pub(crate) type Weakness = (RuleId, &'static str, String);

/// The weaknesses of the present headers.
pub(crate) fn weaknesses(headers: &HeaderView) -> Vec<Weakness> {
    let mut found = policy_weaknesses(headers.get(CSP_HEADER).unwrap_or_default());
    let mut look = |rule, name, is_weak: fn(&str) -> bool| {
        let weak = headers.get(name).unwrap_or_default().iter().find(|value| is_weak(value));
        found.extend(weak.map(|value| (rule, name, crate::text::cut(value, 200).to_owned())));
    };
    look(RuleId::CspReportOnly, "content-security-policy-report-only", |_| true);
    look(RuleId::HstsOff, HSTS_HEADER, |value| max_age(value).unwrap_or_default() == 0);
    look(RuleId::HstsWeak, HSTS_HEADER, |value| {
        max_age(value).is_some_and(|age| (1..HSTS_MIN_SECONDS).contains(&age))
    });
    look(RuleId::XfoInvalid, "x-frame-options", |value| {
        !["deny", "sameorigin"].iter().any(|known| value.eq_ignore_ascii_case(known))
    });
    look(RuleId::XctoInvalid, "x-content-type-options", |value| !value.eq_ignore_ascii_case("nosniff"));
    look(RuleId::ReferrerPolicyUnsafe, "referrer-policy", last_policy_is_unsafe);
    look(RuleId::CorsAnyOrigin, "access-control-allow-origin", |value| value == "*");
    look(RuleId::SoftwareVersion, "server", |value| value.contains(|letter: char| letter.is_ascii_digit()));
    look(RuleId::SoftwareVersion, "x-powered-by", |_| true);
    if headers.get(CSP_HEADER).is_some() {
        found.retain(|(rule, ..)| *rule != RuleId::CspReportOnly);
    }
    found
}

/// The weaknesses of the policies in force.
fn policy_weaknesses(values: &[String]) -> Vec<Weakness> {
    let sources = [
        (RuleId::CspUnsafeInline, "'unsafe-inline'"),
        (RuleId::CspUnsafeEval, "'unsafe-eval'"),
        (RuleId::CspWildcard, "*"),
    ];
    let policies = policies(values);
    let mut found = Vec::new();
    for (rule, source) in sources {
        let allows = |sources: &[&str]| sources.iter().any(|known| known.eq_ignore_ascii_case(source));
        let all = policies.iter().flat_map(|policy| &policy.0);
        let names: Vec<_> =
            all.filter(|(_, sources)| allows(sources)).map(|(name, _)| *name).take(8).collect();
        if !names.is_empty() {
            found.push((rule, CSP_HEADER, crate::text::cut(&names.join(", "), 200).to_owned()));
        }
    }
    found
}

/// The `max-age` of `Strict-Transport-Security` in seconds.
fn max_age(value: &str) -> Option<u64> {
    let pairs = value.split(';').filter_map(|part| part.split_once('='));
    let age =
        pairs.filter(|(key, _)| key.trim().eq_ignore_ascii_case("max-age")).map(|(_, age)| age).next()?;
    let digits = age.trim().trim_matches('"');
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    // A number that is too large for the type is the maximum.
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// The duration and the scope of `Strict-Transport-Security`.
pub(crate) fn transport(headers: &HeaderView) -> (u64, bool) {
    let values = headers.get(HSTS_HEADER).unwrap_or_default();
    let names_all =
        |value: &String| value.split(';').any(|part| part.trim().eq_ignore_ascii_case("includesubdomains"));
    let age = values.iter().filter_map(|value| max_age(value)).max().unwrap_or_default();
    (age, age > 0 && values.iter().any(names_all))
}

/// Whether the policy in force, which is the last known one, sends whole addresses.
fn last_policy_is_unsafe(value: &str) -> bool {
    let last = value.rsplit(',').next().unwrap_or_default().trim();
    ["unsafe-url", "no-referrer-when-downgrade"].iter().any(|known| last.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_core::headers::Redaction;

    fn hardening_of(pairs: &[(&str, &str)]) -> f64 {
        let view = HeaderView::from_pairs(pairs.iter().copied(), Redaction::Off);
        hardening(&credits(RulePack::exposure_1(), &view))
    }

    fn is_near(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-9
    }

    #[test]
    fn the_first_directive_counts_and_the_strictest_policy() {
        let policy = |text| hardening_of(&[("Content-Security-Policy", text)]);
        assert!(is_near(policy("script-src *; SCRIPT-SRC 'none'"), 0.0));
        assert!(is_near(policy("script-src *, script-src 'self' 'unsafe-inline'"), 0.1));
        assert!(is_near(policy("script-src"), 0.0));
        let two = hardening_of(&[
            ("content-security-policy", "script-src *"),
            ("CSP", "x"),
            (CSP_HEADER, "script-src 'self'"),
        ]);
        assert!(is_near(two, 0.2));
    }

    #[test]
    fn weaknesses_are_named() {
        let said = |name, value| {
            let view = HeaderView::from_pairs([(name, value)], Redaction::Off);
            weaknesses(&view)
                .into_iter()
                .map(|(rule, _, what)| format!("{} {what}", rule.name()))
                .collect::<Vec<_>>()
        };
        assert_eq!(said("Strict-Transport-Security", "max-age=100"), ["hsts_weak max-age=100"]);
        assert_eq!(said("Strict-Transport-Security", "max-age=0"), ["hsts_off max-age=0"]);
        assert_eq!(said("Strict-Transport-Security", "preload"), ["hsts_off preload"]);
        assert!(said("Strict-Transport-Security", "includeSubDomains; max-age=\"31536000\"").is_empty());
        assert!(said("Strict-Transport-Security", "max-age=99999999999999999999999").is_empty());
        assert_eq!(said("X-Frame-Options", "ALLOWALL"), ["xfo_invalid ALLOWALL"]);
        assert_eq!(
            said("Referrer-Policy", "no-referrer, unsafe-url"),
            ["referrer_policy_unsafe no-referrer, unsafe-url"]
        );
        let policy = "default-src *; script-src 'unsafe-EVAL' 'unsafe-inline'; style-src 'unsafe-inline'";
        let expected = [
            "csp_unsafe_inline script-src, style-src",
            "csp_unsafe_eval script-src",
            "csp_wildcard default-src",
        ];
        assert_eq!(said(CSP_HEADER, policy), expected);
    }
}
