//! From bytes to text: which encoding a body is in, who said so, and its text.
//!
//! A byte order mark beats all, as the Encoding Standard has it, for it cannot be there by chance. Then what the server says,
//! then what the document says in its first kilobyte, then UTF-8 if the bytes are UTF-8, and last a guess from their
//! frequencies. Decoding never fails: what cannot be read is replaced, and that is said.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use std::borrow::Cow;

/// How far a document's own words about its encoding are looked for.
const PRESCAN: usize = 1024;

/// How much of a body a guess is made from.
const SAMPLE: usize = 256 << 10;

/// Who decided on the encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decided {
    /// The byte order mark at its start.
    Mark,
    /// The `charset` of `Content-Type`.
    Header,
    /// A `<meta>` element, an XML declaration or `@charset`.
    Document,
    /// The bytes: they are UTF-8.
    Bytes,
    /// A guess from how often which bytes occur.
    Guess,
}

/// A body as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The text, without a byte order mark.
    pub text: Cow<'a, str>,
    /// The name of the encoding, as the Encoding Standard has it.
    pub encoding: &'static str,
    /// Who decided.
    pub decided: Decided,
    /// Whether bytes were replaced because they mean nothing in that encoding.
    pub lossy: bool,
}

/// Decodes a body. `content_type` is the value of the header, if there was one.
pub fn decode<'a>(body: &'a [u8], content_type: Option<&str>) -> Decoded<'a> {
    let (encoding, decided) = detect(body, content_type);
    let (text, lossy) = encoding.decode_with_bom_removal(body);
    Decoded { text, encoding: encoding.name(), decided, lossy }
}

/// The encoding of a body of which only the beginning is here. A letter that the cut parted does not count against UTF-8.
pub fn of_start(start: &[u8], content_type: Option<&str>) -> &'static Encoding {
    let whole = match std::str::from_utf8(start) {
        Err(error) if error.error_len().is_none() => &start[..error.valid_up_to()],
        _ => start,
    };
    detect(whole, content_type).0
}

/// Which encoding a body is in, and who says so.
fn detect(body: &[u8], content_type: Option<&str>) -> (&'static Encoding, Decided) {
    if let Some((encoding, _)) = Encoding::for_bom(body) {
        return (encoding, Decided::Mark);
    }
    if let Some(encoding) =
        content_type.and_then(charset_of).and_then(|label| Encoding::for_label(label.as_bytes()))
    {
        return (encoding, Decided::Header);
    }
    if let Some(encoding) = declared(&body[..body.len().min(PRESCAN)]) {
        return (encoding, Decided::Document);
    }
    if std::str::from_utf8(body).is_ok() {
        return (UTF_8, Decided::Bytes);
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&body[..body.len().min(SAMPLE)], true);
    (detector.guess(None, Utf8Detection::Allow), Decided::Guess)
}

/// The `charset` parameter of a media type.
fn charset_of(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']))
    })
}

/// What the start of a document says of its encoding. As it could be read at all, it is not UTF-16, whatever it says.
fn declared(start: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(start).to_ascii_lowercase();
    let label = in_xml(&start).or_else(|| in_css(&start)).or_else(|| in_meta(&start))?;
    let encoding = Encoding::for_label(label.as_bytes())?;
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

    fn decided(body: &[u8], content_type: Option<&str>) -> (String, &'static str, Decided) {
        let decoded = decode(body, content_type);
        (decoded.text.into_owned(), decoded.encoding, decoded.decided)
    }

    #[test]
    fn the_first_that_knows_decides() {
        let html = Some("text/html; Charset=\"ISO-8859-1\"");
        assert_eq!(decided(b"caf\xe9", html), ("café".into(), "windows-1252", Decided::Header));
        assert_eq!(decided(b"\xef\xbb\xbfcaf\xc3\xa9", html), ("café".into(), "UTF-8", Decided::Mark));
        assert_eq!(decided(b"\xff\xfea\0", None), ("a".into(), "UTF-16LE", Decided::Mark));
        assert_eq!(decided("é".as_bytes(), Some("text/html")), ("é".into(), "UTF-8", Decided::Bytes));
        assert_eq!(decided(b"", None).2, Decided::Bytes);
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
            assert_eq!((decoded.encoding, decoded.decided), (encoding, Decided::Document));
        }
    }

    #[test]
    fn what_cannot_be_read_is_replaced_and_said() {
        let decoded = decode(b"a\xffb", Some("text/plain; charset=utf-8"));
        assert_eq!((decoded.text.as_ref(), decoded.lossy), ("a\u{fffd}b", true));
    }

    proptest! {
        #[test]
        fn decoding_is_total(body in proptest::collection::vec(any::<u8>(), 0..80), header in proptest::option::of(".{0,30}")) {
            decode(&body, header.as_deref());
        }

        #[test]
        fn documents_never_trip_the_scan(start in "(<meta|<!--|-->|charset|=|\"|é|utf-8| |>|<\\?xml|encoding|'){0,12}") {
            decode(start.as_bytes(), None);
        }
    }
}
