//! Record ids that are derived from the record: writing the same content twice gives the same id.
//!
//! All ids are `urn:sha256:` and 64 lower-case hex digits. The hashed text depends on the record:
//!
//! | record | SHA-256 of |
//! | --- | --- |
//! | resource, warcinfo, continuation | the block (for the first segment of an object, the whole object) |
//! | metadata | `<` refers-to `>` LF, hex SHA-256 of the block, LF |
//! | response, revisit, request, conversion | type LF, target URI LF, date LF, hex SHA-256 of the block, LF |
//!
//! The first two rows are AardWARC's, so that an object has the same number in both; the third must tell apart two
//! captures of the same bytes.

use crate::digest::{Algorithm, Digest};

/// The id of content that is identified by its bytes.
pub fn of_content(content: &Digest) -> String {
    urn(content)
}

/// The id of metadata about another record.
pub fn of_metadata(refers_to: &str, block: &Digest) -> String {
    urn(&Algorithm::Sha256.digest(format!("<{refers_to}>\n{}\n", hex(block)).as_bytes()))
}

/// The id of an event at a time.
pub fn of_event(record_type: &str, target_uri: &str, date: &str, block: &Digest) -> String {
    let text = format!("{record_type}\n{target_uri}\n{date}\n{}\n", hex(block));
    urn(&Algorithm::Sha256.digest(text.as_bytes()))
}

fn urn(digest: &Digest) -> String {
    let mut urn = String::with_capacity(11 + 64);
    urn.push_str("urn:sha256:");
    data_encoding::HEXLOWER.encode_append(digest.bytes(), &mut urn);
    urn
}

fn hex(digest: &Digest) -> String {
    data_encoding::HEXLOWER.encode(digest.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha256(text: &str) -> Digest {
        Algorithm::Sha256.digest(text.as_bytes())
    }

    /// The numbers that AardWARC itself gave, at 128 bits.
    #[test]
    fn object_ids_are_those_of_aardwarc() {
        assert!(of_content(&sha256("x")).starts_with("urn:sha256:2d711642b726b04401627ca9fbac32f5"));
        let about = of_metadata(
            "https://varve.example/aa/2d711642b726b04401627ca9fbac32f5",
            &sha256("{\"note\":\"one\"}\n"),
        );
        assert!(about.starts_with("urn:sha256:5c2aeb6d93602f966822bf7926792678"), "{about}");
    }

    #[test]
    fn events_differ_by_each_of_their_parts() {
        let block = sha256("b");
        let base = of_event("response", "http://a/", "2026", &block);
        assert_eq!(base, of_event("response", "http://a/", "2026", &block));
        assert_ne!(base, of_event("request", "http://a/", "2026", &block));
        assert_ne!(base, of_event("response", "http://b/", "2026", &block));
        assert_ne!(base, of_event("response", "http://a/", "2027", &block));
        assert_ne!(base, of_event("response", "http://a/", "2026", &sha256("c")));
    }
}
