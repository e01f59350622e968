//! What headers take back: the credit of those that protect, and what is weak about them.
//!
//! Within one Content-Security-Policy the first directive of a name counts, as browsers have it; of several policies
//! all are in force, so that each directive counts where it is strictest. The order in which headers came therefore
//! does not matter.

use crate::pack::Pack;
use crate::rule::RuleId;
use varve_core::headers::HeaderView;

/// The header of the policy.
pub(crate) const CSP: &str = "content-security-policy";
/// The header that makes browsers stay with encryption.
pub(crate) const HSTS: &str = "strict-transport-security";
/// Less than half a year in seconds.
const HALF_A_YEAR: u64 = 15_552_000;
/// More directives or policies than these are not read.
const MOST_DIRECTIVES: usize = 512;

/// Something that protects.
#[derive(Debug, Clone, PartialEq)]
pub struct Credit {
    /// The header, in lower case.
    pub header: String,
    /// The directive, if the header is a Content-Security-Policy.
    pub directive: Option<String>,
    /// What it takes off the exposure, as a part of 1.
    pub points: f64,
}

/// The credits of a page's headers. Together they are never above 1: where they would be, each is scaled down alike.
pub(crate) fn credits(pack: &Pack, headers: &HeaderView) -> Vec<Credit> {
    let mut credits = earned(pack, headers);
    let sum: f64 = credits.iter().map(|credit| credit.points).sum();
    if sum > 1.0 {
        credits.iter_mut().for_each(|credit| credit.points /= sum);
    }
    credits
}

/// What each header and directive earns by itself.
pub(crate) fn earned(pack: &Pack, headers: &HeaderView) -> Vec<Credit> {
    let present = pack.headers.iter().filter(|header| headers.get(&header.name).is_some());
    let mut credits: Vec<_> = present
        .map(|header| Credit { header: header.name.clone(), directive: None, points: header.points })
        .collect();
    let policies = policies(headers.get(CSP).unwrap_or_default());
    for directive in &pack.directives {
        let credit = policies.iter().map(|policy| policy.credit(pack, &directive.name)).fold(0.0, f64::max);
        if credit > 0.0 {
            let points = directive.points * credit;
            credits.push(Credit { header: CSP.to_owned(), directive: Some(directive.name.clone()), points });
        }
    }
    credits
}

/// The sum of credits, 0 to 1.
pub(crate) fn hardening(credits: &[Credit]) -> f64 {
    // Adding to nought, not `sum`: the sum of nothing is a nought with a minus before it.
    credits.iter().fold(0.0, |sum, credit| sum + credit.points).clamp(0.0, 1.0)
}

/// The most that a header could take off, with full credit.
pub(crate) fn full_points(pack: &Pack, header: &str) -> f64 {
    if header == CSP {
        return pack.directives.iter().map(|directive| directive.points).sum();
    }
    pack.headers.iter().find(|known| known.name == header).map_or(0.0, |known| known.points)
}

/// One policy: its directives with their sources, both as written.
struct Policy<'a>(Vec<(&'a str, Vec<&'a str>)>);

impl Policy<'_> {
    /// The sources of a directive.
    fn sources(&self, name: &str) -> Option<&[&str]> {
        let found = self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, sources)| sources.as_slice())
    }

    /// How much of its points a directive earns.
    fn credit(&self, pack: &Pack, name: &str) -> f64 {
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
fn policies(values: &[String]) -> Vec<Policy<'_>> {
    let policies = values.iter().flat_map(|value| value.split(','));
    policies.take(MOST_DIRECTIVES).map(|text| Policy(directives(text))).collect()
}

/// The directives of one policy.
fn directives(text: &str) -> Vec<(&str, Vec<&str>)> {
    let parts = text.split(';').take(MOST_DIRECTIVES);
    let words = parts.map(|part| part.split_whitespace().take(MOST_DIRECTIVES).collect::<Vec<_>>());
    words.filter_map(|words| words.split_first().map(|(name, sources)| (*name, sources.to_vec()))).collect()
}

/// A weakness of a header: the rule, the header, and what of it.
pub(crate) type Weakness = (RuleId, &'static str, String);

/// What is weak about the headers that are there.
pub(crate) fn weaknesses(headers: &HeaderView) -> Vec<Weakness> {
    let mut found = policy_weaknesses(headers.get(CSP).unwrap_or_default());
    let mut look = |rule, name, is_weak: fn(&str) -> bool| {
        let weak = headers.get(name).unwrap_or_default().iter().find(|value| is_weak(value));
        found.extend(weak.map(|value| (rule, name, crate::text::cut(value, 200).to_owned())));
    };
    look(RuleId::CspReportOnly, "content-security-policy-report-only", |_| true);
    look(RuleId::HstsOff, HSTS, |value| max_age(value).unwrap_or_default() == 0);
    look(RuleId::HstsWeak, HSTS, |value| max_age(value).is_some_and(|age| (1..HALF_A_YEAR).contains(&age)));
    look(RuleId::XfoInvalid, "x-frame-options", |value| {
        !["deny", "sameorigin"].iter().any(|known| value.eq_ignore_ascii_case(known))
    });
    look(RuleId::XctoInvalid, "x-content-type-options", |value| !value.eq_ignore_ascii_case("nosniff"));
    look(RuleId::ReferrerPolicyUnsafe, "referrer-policy", last_policy_is_unsafe);
    look(RuleId::CorsAnyOrigin, "access-control-allow-origin", |value| value == "*");
    look(RuleId::SoftwareVersion, "server", |value| value.contains(|letter: char| letter.is_ascii_digit()));
    look(RuleId::SoftwareVersion, "x-powered-by", |_| true);
    if headers.get(CSP).is_some() {
        found.retain(|(rule, ..)| *rule != RuleId::CspReportOnly);
    }
    found
}

/// What is weak about the policies that are in force.
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
            found.push((rule, CSP, crate::text::cut(&names.join(", "), 200).to_owned()));
        }
    }
    found
}

/// How long `Strict-Transport-Security` lasts, in seconds.
fn max_age(value: &str) -> Option<u64> {
    let pairs = value.split(';').filter_map(|part| part.split_once('='));
    let age =
        pairs.filter(|(key, _)| key.trim().eq_ignore_ascii_case("max-age")).map(|(_, age)| age).next()?;
    let digits = age.trim().trim_matches('"');
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    // A number too great for the type lasts longer than anyone will look.
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// For how long and how widely browsers stay with encryption; nothing is the least.
pub(crate) fn transport(headers: &HeaderView) -> (u64, bool) {
    let values = headers.get(HSTS).unwrap_or_default();
    let names_all =
        |value: &String| value.split(';').any(|part| part.trim().eq_ignore_ascii_case("includesubdomains"));
    let age = values.iter().filter_map(|value| max_age(value)).max().unwrap_or_default();
    (age, age > 0 && values.iter().any(names_all))
}

/// Whether the policy that browsers take, the last one they know, tells whole addresses.
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
        hardening(&credits(Pack::exposure_1(), &view))
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
            (CSP, "script-src 'self'"),
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
        assert_eq!(said(CSP, policy), expected);
    }
}
