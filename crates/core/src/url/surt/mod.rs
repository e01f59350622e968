//! Sort-friendly keys: the host turned round, so that all pages of a domain lie together in a
//! sorted index.
//!
//! There are several flavours, and keys of two flavours must never be mixed in one index. Each has
//! a name here:
//!
//! | flavour | `HTTPS://www.Example.com:443/Path/?b=1&A=2#top` becomes |
//! | --- | --- |
//! | [`Flavour::Ia`] | `com,example)/path?a=2&b=1` |
//! | [`Flavour::Spec`] | `com,example,www:443)/path/?b=1&a=2#top` |
//! | [`Flavour::Exact`] | `com,example,www:443)/Path/?b=1&A=2#top!https` |
//!
//! URLs that name no host (`dns:`, `urn:`, `warcinfo:`) have nothing to turn round and pass
//! through.

mod exact;
pub mod ia;

pub use exact::from_exact;

use super::UrlError;
use serde::{Deserialize, Serialize};

/// The key of an empty text.
const EMPTY_URL_KEY: &str = "-";

/// A flavour of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// The key of the Internet Archive's Python code and of pywb, used by most indexes. It drops
    /// scheme, user information, `www.`, default port, fragment, session ids and a trailing slash.
    /// It lower-cases everything, sorts the parameters, and decodes escapes until none are left.
    Ia,
    /// The key of the published CDXJ specification: lower-cased, scheme dropped, host reversed,
    /// nothing else. An empty path becomes `/`.
    Spec,
    /// A key from which the URL can be made again: only the case of scheme and host is lost. Sorts
    /// by host, then by path and query, then by scheme, which stands last.
    Exact,
}

/// The key of a URL. An empty text has the key `-`.
///
/// ```
/// # use varve_core::url::surt::{surt, Flavour};
/// assert_eq!(surt("http://www.archive.org/goo/?b&a", Flavour::Ia).as_deref(), Ok("org,archive)/goo?a&b"));
/// ```
pub fn surt(url: &str, flavour: Flavour) -> Result<String, UrlError> {
    match flavour {
        Flavour::Ia => ia::key(url, &ia::KeyOptions::default()),
        Flavour::Spec => Ok(exact::spec(url)),
        Flavour::Exact => exact::exact(url),
    }
}

/// The [`Flavour::Ia`] keys under which indexes may hold a URL, the most likely first. Most indexes
/// reverse IPv4 addresses like host names, although their parts are not labels. Some do not.
pub fn look_up_keys(url: &str) -> Result<Vec<String>, UrlError> {
    let turned = ia::key(url, &ia::KeyOptions::default())?;
    let plain = ia::key(url, &ia::KeyOptions { reverse_address: false, ..ia::KeyOptions::default() })?;
    Ok(if turned == plain { vec![turned] } else { vec![turned, plain] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_three_flavours_differ_as_documented() {
        let url = "HTTPS://www.Example.com:443/Path/?b=1&A=2#top";
        let key = |flavour| surt(url, flavour).unwrap();
        assert_eq!(key(Flavour::Ia), "com,example)/path?a=2&b=1");
        assert_eq!(key(Flavour::Spec), "com,example,www:443)/path/?b=1&a=2#top");
        assert_eq!(key(Flavour::Exact), "com,example,www:443)/Path/?b=1&A=2#top!https");
    }

    #[test]
    fn addresses_are_looked_up_both_ways() {
        assert_eq!(look_up_keys("http://195.127.0.11/").unwrap(), ["11,0,127,195)/", "195.127.0.11)/"]);
        assert_eq!(look_up_keys("http://example.com/").unwrap(), ["com,example)/"]);
    }

    #[test]
    fn what_has_no_host_passes_through() {
        for url in ["dns:archive.org", "urn:uuid:1", "warcinfo:foo.warc.gz"] {
            assert_eq!(surt(url, Flavour::Ia).as_deref(), Ok(url));
            assert_eq!(surt(url, Flavour::Spec).as_deref(), Ok(url));
        }
        for flavour in [Flavour::Ia, Flavour::Spec] {
            assert_eq!(surt("", flavour).as_deref(), Ok("-"));
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(url in ".{0,40}") {
            for flavour in [Flavour::Ia, Flavour::Spec, Flavour::Exact] {
                let _ = surt(&url, flavour);
            }
        }
    }
}
