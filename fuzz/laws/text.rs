//! Laws of the small texts in headers: dates, digests, fields, encoded words.

use varve_warc::date::Date;
use varve_warc::digest::Digest;
use varve_warc::encoded_word;
use varve_wire::{HeaderDefect, Headers};

/// Any of them.
pub(crate) fn text(bytes: &[u8]) {
    date(bytes);
    digest(bytes);
    fields(bytes);
    let text = encoded_word::text(bytes);
    assert!(text.len() <= 2 * bytes.len(), "decoding never makes a text grow but by Latin-1 letters");
}

/// What was read as a date is written so that it is read as the same.
fn date(bytes: &[u8]) {
    if let Some(date) = Date::parse_digits(bytes) {
        let length = bytes.len().min(14);
        assert_eq!(date.digits().as_bytes()[..length], bytes[..length]);
    }
    if let Some(date) = Date::parse(bytes) {
        let written = date.to_string();
        if written.starts_with(['+', '-']) {
            return; // The offset leads out of the four digits of a year.
        }
        let again = Date::parse(written.as_bytes()).unwrap_or_else(|| panic!("{written}"));
        assert_eq!((again.instant, again.precision), (date.instant, date.precision), "{written}");
        assert!(again.well_formed);
        assert_eq!(date.digits().len(), 14);
    }
}

fn digest(bytes: &[u8]) {
    if let Ok(digest) = Digest::parse(bytes) {
        assert_eq!(digest.bytes().len(), digest.algorithm().size());
        assert_eq!(Digest::parse(digest.to_string().as_bytes()), Ok(digest));
    }
}

/// Fields that are written again are read as the same, and nothing is odd about them then.
fn fields(bytes: &[u8]) {
    let mut fields = Headers::new();
    let taken = fields.read(bytes, |_: HeaderDefect, at| assert!(at < bytes.len()));
    assert!(taken <= bytes.len());
    let mut written = Vec::new();
    for (name, value) in fields.iter() {
        assert!(
            !name.is_empty() && !name.contains(&b':') && !name.contains(&b'\n') && !value.contains(&b'\n')
        );
        assert_eq!(fields.get(&String::from_utf8_lossy(name)).is_some(), std::str::from_utf8(name).is_ok());
        if value.contains(&b'\r') || name.contains(&b'\r') {
            return; // A lone CR may come to stand before the line end.
        }
        written.extend_from_slice(&[name, b": ", value, b"\r\n"].concat());
    }
    let again =
        Headers::parse(&written, |defect, at| panic!("{defect:?} at {at} of {}", written.escape_ascii()));
    assert!(again.iter().eq(fields.iter()));
}
