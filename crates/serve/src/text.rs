//! Texts for places that do not take every text: headers, addresses, dates.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use varve_archive::Moment;
pub(crate) use varve_archive::readable;

/// What cannot stand in an address inside a header, whatever the address meant by it.
const UNSAFE: &AsciiSet = &CONTROLS
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

/// What cannot stand in the value of a query parameter.
const UNSAFE_VALUE: &AsciiSet = &UNSAFE.add(b'&').add(b'#').add(b'+').add(b'%').add(b'=').add(b'\'');

/// An address as a header may hold it.
pub(crate) fn header_url(url: &str) -> String {
    utf8_percent_encode(url, UNSAFE).to_string()
}

/// A text as the value of a query parameter.
pub(crate) fn value(text: &str) -> String {
    utf8_percent_encode(text, UNSAFE_VALUE).to_string()
}

/// An instant as HTTP writes it.
pub(crate) fn http_date(time: Moment) -> String {
    time.utc().format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// An instant that HTTP wrote.
pub(crate) fn parse_http_date(text: &str) -> Option<Moment> {
    let parsed = chrono::NaiveDateTime::parse_from_str(text.trim(), "%a, %d %b %Y %H:%M:%S GMT").ok()?;
    Some(Moment::from(parsed.and_utc()))
}

/// A text from outside as it may be shown: what cannot be seen, or turns the direction of what follows, is spelled out.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let is_odd = |letter: char| {
        letter.is_control() && letter != '\t'
            || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for letter in text.chars() {
        match is_odd(letter) {
            true => shown.push_str(&format!("\\u{{{:x}}}", u32::from(letter))),
            false => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

/// A number and its noun.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A number with its thousands apart.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_a_header() {
        assert_eq!(header_url("http://h/a b\r\nX: y>é"), "http://h/a%20b%0D%0AX:%20y%3E%C3%A9");
        assert_eq!(value("a&b=c#d é"), "a%26b%3Dc%23d%20%C3%A9");
    }

    #[test]
    fn dates_are_read_as_they_are_written() {
        let text = "Sun, 06 Nov 1994 08:49:37 GMT";
        let time = parse_http_date(text).unwrap();
        assert_eq!(time.digits(), "19941106084937");
        assert_eq!(http_date(time), text);
        for wrong in ["", "yesterday", "Sun, 31 Feb 1994 08:49:37 GMT", "1994-11-06"] {
            assert_eq!(parse_http_date(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_are_for_people() {
        assert_eq!([grouped(1), grouped(1000), grouped(1_234_567)], ["1", "1,000", "1,234,567"]);
        assert_eq!([readable(999), readable(68_031_581)], ["999 B", "68.0 MB"]);
    }
}
