//! The head of a 304 response, in a field of its revisit record.
//!
//! A replay program takes the status and the headers of a revisit from its block, and shows nothing
//! for a 304. With an empty block it shows the record that the revisit refers to. The field keeps
//! every byte that the server sent: control characters, `%` and non-ASCII bytes are
//! percent-encoded, and the rest can be read as it is.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode, percent_encode};
use varve_warc::record::{RecordHeader, RecordType};

use crate::record::field;

/// A longer head stays in the block: some programs reject long fields.
const MAX_FIELD_BYTES: usize = 8 << 10;

const ENCODED_BYTES: &AsciiSet = &CONTROLS.add(b'%');

/// The value of [`field::NOT_MODIFIED_HEAD`] for a head; `None` when it is too long.
pub fn not_modified_field(head: &[u8]) -> Option<String> {
    let value = percent_encode(head, ENCODED_BYTES).to_string();
    (value.len() <= MAX_FIELD_BYTES).then_some(value)
}

/// The head of the 304 response in the header of a revisit, if it is there.
pub(crate) fn not_modified_head(header: &RecordHeader) -> Option<Vec<u8>> {
    let value = header.fields.get(field::NOT_MODIFIED_HEAD)?;
    (header.record_type() == RecordType::Revisit).then(|| percent_decode(value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(record_type: &str, value: &str) -> RecordHeader {
        let mut header = RecordHeader::default();
        header.fields.push("WARC-Type", record_type);
        header.fields.push(field::NOT_MODIFIED_HEAD, value);
        header
    }

    #[test]
    fn a_head_is_readable_and_comes_back() {
        let head = b"HTTP/1.1 304 Not Modified\r\nETag: \"50%25\"\r\nX-Odd: \xe9\n folded\r\n\r\n";
        let value = not_modified_field(head).unwrap();
        let shown = "HTTP/1.1 304 Not Modified%0D%0AETag: \"50%2525\"%0D%0AX-Odd: %E9%0A folded%0D%0A%0D%0A";
        assert_eq!(value, shown);
        assert_eq!(not_modified_head(&header("revisit", &value)).as_deref(), Some(&head[..]));
        assert_eq!(not_modified_head(&header("response", &value)), None);
    }

    #[test]
    fn a_long_head_has_no_field() {
        assert!(not_modified_field(&[b'a'; MAX_FIELD_BYTES]).is_some());
        assert!(not_modified_field(&[b'a'; MAX_FIELD_BYTES + 1]).is_none());
        assert!(not_modified_field(&[b'%'; MAX_FIELD_BYTES / 3 + 1]).is_none());
    }

    proptest::proptest! {
        #[test]
        fn every_head_comes_back(head in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let value = not_modified_field(&head).unwrap();
            proptest::prop_assert!(value.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            proptest::prop_assert_eq!(percent_decode(value.as_bytes()).collect::<Vec<u8>>(), head);
        }
    }
}
