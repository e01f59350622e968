//! Rules for the software of particular sites, which has several URLs for one page.
//!
//! The rules are data: a site is a name and a list of rules, of which the first that applies
//! decides. Projects that exist were made with the built-in ones, so these decide what their
//! resources are called.

use super::loose::LooseParts;
use serde::{Deserialize, Serialize};
use varve_core::url::query::{UrlQuery, unescape};

/// Sites in the order in which they are tried; each may change the URL once. Empty by default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SiteRules(
    /// The sites.
    pub Vec<KnownSite>,
);

/// The rules for one kind of site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownSite {
    /// The name of the site or its software.
    pub name: String,
    /// The rules, of which the first that applies decides.
    pub rules: Vec<SiteRule>,
}

/// A rule that gives a web URL another form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "rule")]
pub enum SiteRule {
    /// Drops a parameter, if it is the only one.
    DropSole {
        /// Only URLs that begin with this; empty for all.
        prefix: String,
        /// The parameter.
        name: String,
        /// The required class of its value.
        value: ValueClass,
        /// Whether a slash may follow the value.
        slash: bool,
    },
    /// Keeps nothing of the query but the parameters that choose the page.
    KeepParameters {
        /// The exact path.
        path: String,
        /// A parameter that must have this value.
        fixed: Option<(String, String)>,
        /// The parameter that must be there, with an integer.
        number: String,
        /// An offset, and the size of a page to a multiple of which it is rounded down.
        offset: Option<(String, i64)>,
    },
    /// Drops a parameter of 32 hex digits at the end of the query of a script at the root.
    DropSession {
        /// The parameter.
        name: String,
        /// How the path of the script ends.
        extension: String,
    },
    /// Unescapes the slashes after the value of a parameter, if it is the only one.
    UnescapeSlashes {
        /// The parameter.
        name: String,
    },
    /// Replaces the parts of the base64 JSON payload of a firehose request that change with each
    /// request by fixed values.
    PinFirehose {
        /// The exact path.
        path: String,
    },
}

/// The characters of a value. It has at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueClass {
    /// Digits.
    Digits,
    /// Lower-case letters.
    LowerCase,
}

impl SiteRules {
    /// The rules that Crystal has built in.
    pub fn built_in() -> Self {
        let site = |name: &str, rules| KnownSite { name: name.to_owned(), rules };
        Self(vec![
            site("minimalist-baker", minimalist_baker()),
            site("phpbb", phpbb()),
            site("substack", vec![SiteRule::PinFirehose { path: "/api/v1/firehose".to_owned() }]),
            site("wordpress", wordpress()),
        ])
    }
}

fn minimalist_baker() -> Vec<SiteRule> {
    let drop = |name: &str, value| SiteRule::DropSole {
        prefix: "https://minimalistbaker.com/".to_owned(),
        name: name.to_owned(),
        value,
        slash: false,
    };
    vec![drop("tp_image_id", ValueClass::Digits), drop("omhide", ValueClass::LowerCase)]
}

fn phpbb() -> Vec<SiteRule> {
    let keep = |path: &str, mode: Option<&str>, number: &str, size: Option<i64>| SiteRule::KeepParameters {
        path: path.to_owned(),
        fixed: mode.map(|mode| ("mode".to_owned(), mode.to_owned())),
        number: number.to_owned(),
        offset: size.map(|size| ("start".to_owned(), size)),
    };
    vec![
        keep("/viewforum.php", None, "f", Some(25)),
        keep("/viewtopic.php", None, "t", Some(20)),
        keep("/viewtopic.php", None, "p", Some(20)),
        keep("/memberlist.php", Some("viewprofile"), "u", None),
        keep("/memberlist.php", Some("group"), "g", None),
        SiteRule::DropSession { name: "sid".to_owned(), extension: ".php".to_owned() },
    ]
}

fn wordpress() -> Vec<SiteRule> {
    let reply = "replytocom".to_owned();
    vec![
        SiteRule::DropSole { prefix: String::new(), name: reply, value: ValueClass::Digits, slash: true },
        SiteRule::UnescapeSlashes { name: "post_type".to_owned() },
    ]
}

impl KnownSite {
    /// The URL as the first rule that applies makes it.
    pub fn apply(&self, url: &str) -> Option<String> {
        self.rules.iter().find_map(|rule| rule.apply(url))
    }
}

impl SiteRule {
    /// The URL as the rule makes it, if it applies.
    pub fn apply(&self, url: &str) -> Option<String> {
        let after_scheme = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))?;
        match self {
            Self::DropSole { prefix, name, value, slash } => {
                let (before, given) = sole_value(url, name)?;
                let given = if *slash { given.strip_suffix('/').unwrap_or(given) } else { given };
                (url.starts_with(prefix) && value.is_of(given)).then(|| before.to_owned())
            }
            Self::KeepParameters { path, fixed, number, offset } => {
                let mut parts = at_path(url, path)?;
                parts.query = kept_parameters(&parts.query, fixed.as_ref(), number, offset.as_ref())?;
                Some(parts.to_string())
            }
            Self::DropSession { name, extension } => {
                let kept = without_session(after_scheme, name, extension)?;
                Some(url[..url.len() - after_scheme.len() + kept].to_owned())
            }
            Self::UnescapeSlashes { name } => {
                let (_, value) = sole_value(url, name)?;
                let slashes =
                    value.trim_start_matches(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
                let plain = slashes.replace("%2F", "/");
                let only_slashes = plain.bytes().all(|byte| byte == b'/');
                only_slashes.then(|| format!("{}{plain}", &url[..url.len() - slashes.len()]))
            }
            Self::PinFirehose { path } => super::firehose::pin(at_path(url, path)?),
        }
    }
}

impl ValueClass {
    fn is_of(self, value: &str) -> bool {
        let fits: fn(&u8) -> bool = match self {
            Self::Digits => u8::is_ascii_digit,
            Self::LowerCase => u8::is_ascii_lowercase,
        };
        !value.is_empty() && value.as_bytes().iter().all(fits)
    }
}

/// The text before the query, and the value of the parameter, if the query begins with it.
fn sole_value<'a>(url: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let (before, query) = url.split_once('?')?;
    Some((before, query.strip_prefix(name)?.strip_prefix('=')?))
}

/// The parts of the URL, if its path, but for parameters behind a `;`, is this.
fn at_path(url: &str, path: &str) -> Option<LooseParts> {
    let parts = LooseParts::of(url);
    let rest = parts.path.strip_prefix(path)?;
    (rest.is_empty() || rest.starts_with(';') && !rest.contains('/')).then_some(parts)
}

/// The query with nothing but the parameters that choose the page.
fn kept_parameters(
    query: &str,
    fixed: Option<&(String, String)>,
    number: &str,
    offset: Option<&(String, i64)>,
) -> Option<String> {
    let mut kept = Vec::new();
    if let Some((name, value)) = fixed {
        single_value(query, name).filter(|given| given == value)?;
        kept.push((name.as_str(), value.clone()));
    }
    kept.push((number, integer(query, number)?.to_string()));
    if let Some((name, size)) = offset {
        let start = integer(query, name).map_or(0, |start| start - start.rem_euclid((*size).max(1)));
        if start != 0 {
            kept.push((name, start.to_string()));
        }
    }
    Some(UrlQuery::from_pairs(&kept).encode())
}

/// The value of a parameter that comes once and is not empty.
pub(super) fn single_value(query: &str, name: &str) -> Option<String> {
    let pieces = query.split('&').filter_map(|piece| piece.split_once('='));
    let mut values =
        pieces.filter(|(given, value)| !value.is_empty() && *unescape(given) == *name.as_bytes());
    let (_, value) = values.next()?;
    values.next().is_none().then(|| String::from_utf8_lossy(&unescape(value)).into_owned())
}

/// The value of a parameter that is an integer. Spaces around it, a sign and leading zeroes are
/// nothing to it.
pub(super) fn integer(query: &str, name: &str) -> Option<i64> {
    single_value(query, name)?.trim().parse().ok()
}

/// How much of what follows the scheme stays without the session parameter at the end.
fn without_session(after_scheme: &str, name: &str, extension: &str) -> Option<usize> {
    let slash = after_scheme.find('/').filter(|host| *host > 0)?;
    let script = after_scheme.find(&format!("{extension}?")).filter(|script| *script > slash + 1)?;
    let session = after_scheme.len().checked_sub(name.len() + 34)?;
    let tail =
        after_scheme.get(session..)?.strip_prefix(['?', '&'])?.strip_prefix(name)?.strip_prefix('=')?;
    let is_hex = tail.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let at_root = !after_scheme[slash + 1..script].contains('/');
    (is_hex && at_root && session >= script + extension.len()).then_some(session)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(url: &str) -> Option<String> {
        SiteRules::built_in().0.iter().find_map(|site| site.apply(url))
    }

    #[test]
    fn rules_that_change_something() {
        let session = "0123456789abcdef0123456789abcdef";
        for (url, expected) in [
            (
                "http://f.com/viewforum.php?f=+3&start=30".to_owned(),
                "http://f.com/viewforum.php?f=3&start=25",
            ),
            (
                "http://f.com/viewforum.php?f=3&start=-30".to_owned(),
                "http://f.com/viewforum.php?f=3&start=-50",
            ),
            ("http://f.com/viewtopic.php?t=x&p=7".to_owned(), "http://f.com/viewtopic.php?p=7"),
            ("http://f.com/viewtopic.php;a=b?t=1&x".to_owned(), "http://f.com/viewtopic.php;a=b?t=1"),
            (format!("http://f.com/x.php?sid={session}"), "http://f.com/x.php"),
            ("https://wp.com/?replytocom=1/".to_owned(), "https://wp.com/"),
            ("https://wp.com/?post_type=a_b%2F/%2F".to_owned(), "https://wp.com/?post_type=a_b///"),
        ] {
            assert_eq!(applied(&url).as_deref(), Some(expected), "{url}");
        }
    }

    #[test]
    fn rules_that_do_not_apply() {
        let session = "0123456789abcdef0123456789abcdef";
        for url in [
            "http://f.com/viewforum.php?f=3&f=4".to_owned(),
            "http://f.com/viewforum.php?f=&start=1".to_owned(),
            "ftp://f.com/viewforum.php?f=3".to_owned(),
            format!("http://f.com/a/x.php?sid={session}"),
            format!("http://f.com/x.php?sid={}", session.to_uppercase()),
            format!("http://f.com/x.php?xsid={session}"),
            "http://minimalistbaker.com/?omhide=true".to_owned(),
            "https://minimalistbaker.com/?tp_image_id=".to_owned(),
            "https://wp.com/?replytocom=1&x".to_owned(),
        ] {
            assert_eq!(applied(&url), None, "{url}");
        }
    }

    #[test]
    fn rules_are_data() {
        let json = serde_json::to_string(&SiteRules::built_in()).unwrap();
        assert!(json.contains(r#"{"rule":"pin-firehose","path":"/api/v1/firehose"}"#), "{json}");
        assert_eq!(serde_json::from_str::<SiteRules>(&json).unwrap(), SiteRules::built_in());
    }
}
