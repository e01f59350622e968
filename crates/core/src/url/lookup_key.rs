//! The key of a URL: 63 bits by which rows are found and partitioned.
//!
//! ```text
//!  bit 63   0, so that the key fits a signed column
//!  62…56    the sum of the bytes of the host name, modulo 128: URLs of one host lie together
//!  55…0     FNV-1a 64 of the URL as `Reference` prints it, its top byte folded into its lowest
//! ```
//!
//! Host and text are those of [`Reference`]. Two URLs may share a key, so a reader that looks up by
//! key must compare the URL itself. The text is hashed while it is written, and never allocated.

use super::escape::{EscapeSink, PercentDecoded};
use super::{Reference, UrlError};
use crate::UrlKey;
use serde::{Serialize, Serializer};

const HASH_BITS: u64 = (1 << 56) - 1;

/// The key of a URL as it is, not cleaned.
pub fn key(url: &str) -> Result<UrlKey, UrlError> {
    Reference::parse(url).map(|reference| reference.key())
}

/// The key of an absolute URL that [`Reference`] prints as it is, and its host without escapes.
pub(super) fn key_of_normal(url: &str, host: &str) -> UrlKey {
    let mut hash = Fnv::new();
    hash.text(url);
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    joined(sum(host.bytes()) & 0x7f, hash)
}

impl Reference<'_> {
    /// The [key](self) of this reference.
    pub fn key(&self) -> UrlKey {
        let mut hash = Fnv::new();
        self.write(&mut hash);
        self.key_of_hash(hash)
    }

    /// The seven bits of the key that come from the host.
    pub fn domain_checksum(&self) -> u8 {
        let host = self.hostname_text().as_bytes();
        let sum = if memchr::memchr(b'%', host).is_some() {
            sum(PercentDecoded(host))
        } else {
            sum(host.iter().copied())
        };
        sum & 0x7f
    }

    /// The key of the cleaned URL, which is `clean`.
    fn key_of_clean(&self, clean: &str) -> UrlKey {
        let mut hash = Fnv::new();
        hash.text(clean);
        self.key_of_hash(hash)
    }

    fn key_of_hash(&self, hash: Fnv) -> UrlKey {
        joined(self.domain_checksum(), hash)
    }
}

fn joined(domain_checksum: u8, hash: Fnv) -> UrlKey {
    let folded = (hash.0 >> 56) ^ (hash.0 & HASH_BITS);
    let bits = u64::from(domain_checksum) << 56 | folded;
    UrlKey::new(bits).expect("seven bits above fifty-six leave the top bit empty")
}

fn sum(bytes: impl Iterator<Item = u8>) -> u8 {
    bytes.fold(0, u8::wrapping_add)
}

/// FNV-1a with 64 bits.
struct Fnv(u64);

impl Fnv {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl EscapeSink for Fnv {
    fn byte(&mut self, ascii: u8) {
        self.0 = (self.0 ^ u64::from(ascii)).wrapping_mul(0x0100_0000_01b3);
    }

    fn text(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.byte(byte));
    }
}

/// A URL with its keys. In JSON the keys are strings of decimal digits: they have up to 63 bits, and
/// many readers of JSON keep 53.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyReport {
    /// The URL as it was given.
    pub url: String,
    /// The URL cleaned.
    pub clean: String,
    /// The key of the URL as it was given.
    #[serde(serialize_with = "serialize_digits")]
    pub key: UrlKey,
    /// The key of the cleaned URL, under which the archive finds it.
    #[serde(serialize_with = "serialize_digits")]
    pub clean_key: UrlKey,
}

fn serialize_digits<S: Serializer>(key: &UrlKey, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&key.get())
}

impl KeyReport {
    /// Parses a URL and computes its keys.
    pub fn of(url: &str) -> Result<Self, UrlError> {
        let reference = Reference::parse(url)?;
        let clean = reference.clean();
        let clean_key = reference.key_of_clean(&clean);
        Ok(Self { url: url.to_owned(), clean, key: reference.key(), clean_key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_are_strings_in_json_however_small() {
        let report = KeyReport {
            url: String::new(),
            clean: String::new(),
            key: UrlKey::ZERO,
            clean_key: UrlKey::ZERO,
        };
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(json, r#"{"url":"","clean":"","key":"0","clean_key":"0"}"#);
    }

    #[test]
    fn the_report_has_keys_as_strings() {
        let report = KeyReport::of("https://example.com?utm_source=foo").unwrap();
        assert_eq!(
            serde_json::to_string(&report).unwrap(),
            "{\"url\":\"https://example.com?utm_source=foo\",\"clean\":\"https://example.com\",\
             \"key\":\"6453937586277447328\",\"clean_key\":\"6447794946650030128\"}"
        );
    }

    /// Each of these is read otherwise by a parser that normalises: an empty path, capital letters
    /// in the host, a bare question mark, letters beyond ASCII, dots, doubled slashes, a raw space.
    #[test]
    fn keys_of_urls_that_parsers_disagree_about() {
        for (url, expected) in [
            ("https://example.com", 6_447_794_946_650_030_128),
            ("https://EXAMPLE.com/", 8_724_573_582_163_572_858),
            ("https://example.com/?", 6_442_961_340_825_785_365),
            ("https://bücher.example/straße", 2_149_035_651_465_895_693),
            ("https://example.com/a/../b/./c", 6_432_298_254_130_311_279),
            ("https://example.com//double//slash", 6_434_204_010_176_711_035),
            ("https://example.com/?q=a b", 6_442_770_770_508_551_429),
            ("mailto:someone@example.com", 66_787_055_717_338_088),
            ("/relative/path?utm_source=x", 21_700_904_922_861_207),
        ] {
            assert_eq!(key(url).unwrap().get(), expected, "{url}");
        }
    }

    #[test]
    fn escapes_in_a_host_count_as_the_bytes_they_hide() {
        let plain = Reference::parse("https://bücher.example/").unwrap();
        let escaped = Reference::parse("https://b%C3%BCcher.example/").unwrap();
        assert_eq!(plain.key(), escaped.key());
        assert_eq!(plain.domain_checksum(), 29);
    }

    proptest! {
        #[test]
        fn a_key_is_that_of_the_printed_text(url in "(https?://)?[a-z%0-9.@:/?#é ]{0,30}") {
            if let Ok(reference) = Reference::parse(&url) {
                prop_assert_eq!(reference.key(), reference.key_of_clean(&reference.to_string()));
            }
        }
    }
}
