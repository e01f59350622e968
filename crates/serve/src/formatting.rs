//! Texts as headers, query strings and HTML pages need them: escaped URLs, HTTP dates, readable
//! numbers.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use varve_archive::Moment;
pub(crate) use varve_archive::{grouped, human_size, visible_line as visible};

/// Bytes that a URL in a header must have escaped.
const URL_ESCAPES: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Bytes that the value of a query parameter must have escaped.
const QUERY_VALUE_ESCAPES: &AsciiSet =
    &URL_ESCAPES.add(b'&').add(b'#').add(b'+').add(b'%').add(b'=').add(b'\'');

/// A URL as a header may hold it.
pub(crate) fn header_url(url: &str) -> String {
    utf8_percent_encode(url, URL_ESCAPES).to_string()
}

/// A text as the value of a query parameter.
pub(crate) fn query_value(text: &str) -> String {
    utf8_percent_encode(text, QUERY_VALUE_ESCAPES).to_string()
}

/// A time in the format of HTTP headers.
pub(crate) fn http_date(time: Moment) -> String {
    time.utc().format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// Parses a time in the format of HTTP headers.
pub(crate) fn parse_http_date(text: &str) -> Option<Moment> {
    let parsed = chrono::NaiveDateTime::parse_from_str(text.trim(), "%a, %d %b %Y %H:%M:%S GMT").ok()?;
    Some(Moment::from(parsed.and_utc()))
}

/// A number with its noun, in singular or plural.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_values_are_escaped() {
        assert_eq!(header_url("http://h/a b\r\nX: y>é"), "http://h/a%20b%0D%0AX:%20y%3E%C3%A9");
        assert_eq!(query_value("a&b=c#d é"), "a%26b%3Dc%23d%20%C3%A9");
    }

    #[test]
    fn http_dates_are_parsed_and_written() {
        let text = "Sun, 06 Nov 1994 08:49:37 GMT";
        let time = parse_http_date(text).unwrap();
        assert_eq!(time.digits(), "19941106084937");
        assert_eq!(http_date(time), text);
        for wrong in ["", "yesterday", "Sun, 31 Feb 1994 08:49:37 GMT", "1994-11-06"] {
            assert_eq!(parse_http_date(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!([grouped(1), grouped(1000), grouped(1_234_567)], ["1", "1,000", "1,234,567"]);
        assert_eq!([human_size(999), human_size(68_031_581)], ["999 B", "68.0 MB"]);
    }
}
