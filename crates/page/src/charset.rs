//! From bytes to text: the encoding of a body, its source, and the decoded text.
//!
//! The encoding comes from the first of these that names one: the byte order mark, the
//! `Content-Type` header, the first kilobyte of the document, valid UTF-8, and a guess from byte
//! frequencies. Decoding never fails: unreadable bytes are replaced and reported. The caller
//! chooses the replacement: U+FFFD as in browsers, or the windows-1252 letters that such bytes
//! usually are.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use std::borrow::Cow;

/// Number of bytes in which the document may name its encoding.
const PRESCAN_BYTES: usize = 1024;

/// Number of bytes from which the encoding is guessed.
const GUESS_BYTES: usize = 256 << 10;

/// The source of an encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EncodingSource {
    /// The byte order mark at its start.
    Mark,
    /// The `charset` of `Content-Type`.
    Header,
    /// A `<meta>` element, an XML declaration or `@charset`.
    Document,
    /// The bytes: they are UTF-8.
    Bytes,
    /// A guess from byte frequencies.
    Guess,
}

/// A body as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedText<'a> {
    /// The text, without a byte order mark.
    pub text: Cow<'a, str>,
    /// The name of the encoding in the Encoding Standard.
    pub encoding: &'static str,
    /// The source of the encoding.
    pub decided: EncodingSource,
    /// Whether bytes were replaced because they are invalid in that encoding.
    pub lossy: bool,
}

/// Decodes a body. `content_type` is the value of the header, if there was one. Bytes that cannot
/// be read become U+FFFD.
pub fn decode<'a>(body: &'a [u8], content_type: Option<&str>) -> DecodedText<'a> {
    let (encoding, decided) = detect(body, content_type);
    let (text, lossy) = encoding.decode_with_bom_removal(body);
    DecodedText { text, encoding: encoding.name(), decided, lossy }
}

/// Decodes a body with the windows-1252 letters of unreadable bytes, which usually are Latin-1
/// served as UTF-8. No two bytes become the same letter.
pub fn decode_by_letters<'a>(body: &'a [u8], content_type: Option<&str>) -> DecodedText<'a> {
    let decoded = decode(body, content_type);
    if !decoded.lossy {
        return decoded;
    }
    let encoding = Encoding::for_label(decoded.encoding.as_bytes()).unwrap_or(UTF_8);
    DecodedText { text: Cow::Owned(with_letters(body, encoding)), ..decoded }
}

/// Decodes with letters in place of invalid bytes.
fn with_letters(body: &[u8], encoding: &'static Encoding) -> String {
    let mut decoder = encoding.new_decoder_with_bom_removal();
    let most = decoder.max_utf8_buffer_length_without_replacement(body.len()).unwrap_or(body.len());
    let mut text = String::with_capacity(most);
    let mut at = 0;
    loop {
        let (result, read) = decoder.decode_to_string_without_replacement(&body[at..], &mut text, true);
        at += read;
        match result {
            DecoderResult::InputEmpty => return text,
            DecoderResult::OutputFull => text.reserve(body.len() - at + 16),
            DecoderResult::Malformed(length, behind) => {
                let end = at.saturating_sub(usize::from(behind));
                let start = end.saturating_sub(usize::from(length));
                text.push_str(&WINDOWS_1252.decode_without_bom_handling(&body[start..end]).0);
            }
        }
    }
}

/// The encoding of a body of which only the beginning is given. A character cut at the end is still
/// valid UTF-8.
pub fn of_start(start: &[u8], content_type: Option<&str>) -> &'static Encoding {
    let whole = match std::str::from_utf8(start) {
        Err(error) if error.error_len().is_none() => &start[..error.valid_up_to()],
        _ => start,
    };
    detect(whole, content_type).0
}

/// The encoding of a body, and its source.
fn detect(body: &[u8], content_type: Option<&str>) -> (&'static Encoding, EncodingSource) {
    if let Some((encoding, _)) = Encoding::for_bom(body) {
        return (encoding, EncodingSource::Mark);
    }
    if let Some(encoding) = content_type.and_then(|content_type| in_header(content_type, body)) {
        return (encoding, EncodingSource::Header);
    }
    if let Some(encoding) = declared(&body[..body.len().min(PRESCAN_BYTES)]) {
        return (encoding, EncodingSource::Document);
    }
    if std::str::from_utf8(body).is_ok() {
        return (UTF_8, EncodingSource::Bytes);
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&body[..body.len().min(GUESS_BYTES)], true);
    (detector.guess(None, Utf8Detection::Allow), EncodingSource::Guess)
}

/// The encoding that a media type names. The `replacement` encoding would leave nothing to compare,
/// so the body decides instead. The byte order of UTF-16 is taken from the zero bytes of the
/// markup.
fn in_header(content_type: &str, body: &[u8]) -> Option<&'static Encoding> {
    let label = charset_of(content_type)?;
    let encoding = Encoding::for_label_no_replacement(label.as_bytes())?;
    let is_open = encoding == UTF_16LE && !label.eq_ignore_ascii_case("utf-16le");
    let zeros = |first: usize| {
        body[..body.len().min(PRESCAN_BYTES)].iter().skip(first).step_by(2).filter(|byte| **byte == 0).count()
    };
    Some(if is_open && zeros(0) > zeros(1) { UTF_16BE } else { encoding })
}

/// Whether a media type says that a body is UTF-16.
pub(crate) fn says_utf_16(content_type: &str) -> bool {
    let encoding = charset_of(content_type).and_then(|label| Encoding::for_label(label.as_bytes()));
    encoding.is_some_and(|encoding| encoding == UTF_16LE || encoding == UTF_16BE)
}

/// The `charset` parameter of a media type.
fn charset_of(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']))
    })
}

/// The encoding that the start of a document names. A document whose start could be read as ASCII
/// is not UTF-16.
fn declared(start: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(start).to_ascii_lowercase();
    let label = in_xml(&start).or_else(|| in_css(&start)).or_else(|| in_meta(&start))?;
    let encoding = Encoding::for_label_no_replacement(label.as_bytes())?;
    Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

fn in_xml(start: &str) -> Option<&str> {
    let declaration = start.trim_start().strip_prefix("<?xml")?.split("?>").next()?;
    quoted(declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start())
}

fn in_css(start: &str) -> Option<&str> {
    quoted(start.strip_prefix("@charset ")?)
}

/// The charset of the first `<meta>` that names one, outside of comments.
fn in_meta(start: &str) -> Option<&str> {
    let mut rest = start;
    loop {
        let place = rest.find('<')?;
        rest = &rest[place..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = &comment[comment.find("-->")?..];
        } else if let Some(meta) = rest.strip_prefix("<meta") {
            let tag = meta.split('>').next().unwrap_or(meta);
            if let Some(label) = label_in(tag) {
                return Some(label);
            }
            rest = meta;
        } else {
            rest = &rest[1..];
        }
    }
}

/// The word after `charset=`, quoted or not; so both forms of `<meta>` are read.
fn label_in(tag: &str) -> Option<&str> {
    let value = tag.split_once("charset")?.1.trim_start().strip_prefix('=')?.trim_start();
    let value = value.trim_start_matches(['"', '\'']);
    let end = value
        .find(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | ';' | '/'))
        .unwrap_or(value.len());
    (end > 0).then(|| &value[..end])
}

fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    text[1..].split_once(quote).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decided(body: &[u8], content_type: Option<&str>) -> (String, &'static str, EncodingSource) {
        let decoded = decode(body, content_type);
        (decoded.text.into_owned(), decoded.encoding, decoded.decided)
    }

    #[test]
    fn the_first_that_knows_decides() {
        let html = Some("text/html; Charset=\"ISO-8859-1\"");
        assert_eq!(decided(b"caf\xe9", html), ("café".into(), "windows-1252", EncodingSource::Header));
        assert_eq!(decided(b"\xef\xbb\xbfcaf\xc3\xa9", html), ("café".into(), "UTF-8", EncodingSource::Mark));
        assert_eq!(decided(b"\xff\xfea\0", None), ("a".into(), "UTF-16LE", EncodingSource::Mark));
        assert_eq!(decided("é".as_bytes(), Some("text/html")), ("é".into(), "UTF-8", EncodingSource::Bytes));
        assert_eq!(decided(b"", None).2, EncodingSource::Bytes);
        let russian =
            encoding_rs::WINDOWS_1251.encode("Съешь ещё этих мягких французских булок, да выпей чаю").0;
        assert_eq!(decided(&russian, None).1, "windows-1251");
    }

    #[test]
    fn documents_speak_for_themselves() {
        for (body, encoding) in [
            (&b"<!-- <meta charset=utf-8> --><META CharSet='koi8-r'>\xc1"[..], "KOI8-R"),
            (b"<meta http-equiv=content-type content=\"text/html; charset=shift_jis\">\x82", "Shift_JIS"),
            (b"<?xml version=\"1.0\" encoding='iso-8859-2'?>\xe1", "ISO-8859-2"),
            (b"@charset \"windows-1250\";\xe1", "windows-1250"),
            (b"<meta charset=utf-16le>abc", "UTF-8"),
        ] {
            let decoded = decode(body, None);
            assert_eq!((decoded.encoding, decoded.decided), (encoding, EncodingSource::Document));
        }
    }

    #[test]
    fn invalid_bytes_are_replaced_and_reported() {
        let decoded = decode(b"a\xffb", Some("text/plain; charset=utf-8"));
        assert_eq!((decoded.text.as_ref(), decoded.lossy), ("a\u{fffd}b", true));
    }

    #[test]
    fn invalid_bytes_can_be_decoded_as_letters() {
        for (body, charset, text) in [
            (&b"Preis: 100 \xa3, F\xfcnf \xc3\xa9"[..], "utf-8", "Preis: 100 £, Fünf é"),
            (b"a\xe2\x82b\xff", "utf-8", "aâ‚bÿ"),
            (b"a\x82", "shift_jis", "a‚"),
            (b"\x80x", "euc-jp", "€x"),
            (b"a\0\0\xd8b\0", "utf-16le", "a\0Øb"),
        ] {
            let decoded = decode_by_letters(body, Some(&format!("text/plain; charset={charset}")));
            assert_eq!((decoded.text.as_ref(), decoded.lossy), (text, true), "{charset}");
        }
        assert!(!decode_by_letters("é".as_bytes(), None).lossy);
    }

    #[test]
    fn an_unsupported_encoding_is_not_used() {
        for charset in ["iso-2022-kr", "hz-gb-2312", "replacement"] {
            let header = format!("text/html; charset={charset}");
            assert_eq!(decode(b"<p>one", Some(&header)).text, "<p>one");
        }
    }

    #[test]
    fn the_order_of_utf_16_is_seen() {
        let little = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        let big = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
        for (body, charset) in [
            (little("<p>é€"), "utf-16le"),
            (little("<p>é€"), "utf-16"),
            (big("<p>é€"), "utf-16be"),
            (big("<p>é€"), "UTF-16"),
        ] {
            let header = format!("text/html; charset={charset}");
            assert_eq!(decode(&body, Some(&header)).text, "<p>é€", "{charset}");
        }
    }

    proptest! {
        #[test]
        fn decoding_is_total(body in proptest::collection::vec(any::<u8>(), 0..80), header in proptest::option::of(".{0,30}")) {
            decode(&body, header.as_deref());
            decode_by_letters(&body, header.as_deref());
        }

        #[test]
        fn different_bytes_decode_differently_in_one_of_two_ways(
            base in proptest::collection::vec(prop_oneof![Just(0xe9), Just(0xc3), Just(0xa9), Just(b'a'), any::<u8>()], 0..6),
            head in proptest::collection::vec(prop_oneof![Just(0xe9), Just(0xc3), Just(0xa9), Just(b'a'), any::<u8>()], 0..6),
        ) {
            let header = Some("text/html; charset=utf-8");
            let [one, other] = [&base, &head].map(|body| (decode(body, header), decode_by_letters(body, header)));
            let have_marks = [&base, &head].map(|body| Encoding::for_bom(body).is_some());
            let same = one.0.text == other.0.text && one.1.text == other.1.text;
            prop_assert!(have_marks.contains(&true) || same == (base == head));
        }

        #[test]
        fn documents_never_trip_the_scan(start in "(<meta|<!--|-->|charset|=|\"|é|utf-8| |>|<\\?xml|encoding|'){0,12}") {
            decode(start.as_bytes(), None);
        }
    }
}
