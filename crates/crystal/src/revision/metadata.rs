//! Status and headers of a revision, as the JSON in its row has them.
//!
//! Crystal reads header bytes as Latin-1, so that each character of a value is one byte that was on
//! the wire; a folded header keeps its line end inside the value. There is no time of the download
//! but the `Date` header, which Crystal appends where the server sent none.

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use varve_core::headers::Headers;

use super::python_json;
use crate::format_error::JsonProblem;

const WRONG_METADATA_FORM: JsonProblem =
    JsonProblem::WrongForm("it is neither null nor an object with version, status, reason and headers");

/// Status and headers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseMetadata {
    /// 10 for HTTP/1.0, 11 for HTTP/1.1.
    pub http_version: i64,
    /// The status code.
    pub status_code: i64,
    /// The reason, which may be empty.
    pub reason_phrase: String,
    /// Name and value of each header in their order, with duplicates; each character stands for a
    /// byte.
    pub headers: Vec<(String, String)>,
}

impl ResponseMetadata {
    /// What an HTTP exchange said, with a `Date` appended if the server sent none.
    pub fn new(
        http_version: i64,
        status_code: i64,
        reason: &[u8],
        headers: &Headers,
        now: DateTime<Utc>,
    ) -> Self {
        let latin = |bytes: &[u8]| bytes.iter().copied().map(char::from).collect::<String>();
        let headers = headers.iter().map(|(name, value)| (latin(name), latin(value))).collect();
        let mut metadata = Self { http_version, status_code, reason_phrase: latin(reason), headers };
        if metadata.header("Date").is_none() {
            metadata.headers.push(("Date".to_owned(), http_date(now)));
        }
        metadata
    }

    /// Reads the text of the `metadata` column: nothing where it is `null`.
    pub fn read(text: &str) -> Result<Option<Self>, JsonProblem> {
        serde_json::from_str(text).map_err(|_| match JsonProblem::parse(text) {
            Ok(_) => WRONG_METADATA_FORM,
            Err(problem) => problem,
        })
    }

    /// The text for the `metadata` column.
    pub fn to_json(&self) -> String {
        python_json::to_text(self)
    }

    /// The value of the first header of that name, in any letter case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let named = |header: &&(String, String)| header.0.eq_ignore_ascii_case(name);
        self.headers.iter().find(named).map(|(_, value)| value.as_str())
    }

    /// The headers as the bytes that were on the wire.
    pub fn wire_headers(&self) -> Headers {
        self.headers.iter().map(|(name, value)| (wire_bytes(name), wire_bytes(value))).collect()
    }

    /// The announced length of the body. A chunked response has none, also if it has a
    /// `Content-Length`.
    pub fn promised_length(&self) -> Option<u64> {
        let has_body = !matches!(self.status_code, 100..=199 | 204 | 304);
        let is_framed = self.header("Transfer-Encoding").is_none();
        self.header("Content-Length").filter(|_| has_body && is_framed)?.trim().parse().ok()
    }

    /// When the answer was made: its `Date`, later by its `Age`. Only exact dates count.
    pub fn fetched_at(&self) -> Option<DateTime<Utc>> {
        let date = parse_http_date(self.header("Date")?)?;
        let age = self.header("Age").and_then(|age| age.trim().parse::<u32>().ok()).unwrap_or(0);
        date.checked_add_signed(TimeDelta::seconds(age.into()))
    }
}

/// The bytes of a text in which each character is a byte; one that cannot be so is given as UTF-8.
fn wire_bytes(text: &str) -> Vec<u8> {
    let bytes: Option<Vec<u8>> = text.chars().map(|character| u8::try_from(character).ok()).collect();
    bytes.unwrap_or_else(|| text.as_bytes().to_vec())
}

const HTTP_DATE: &str = "%a, %d %b %Y %H:%M:%S GMT";

/// A time as headers write it.
pub(crate) fn http_date(time: DateTime<Utc>) -> String {
    time.format(HTTP_DATE).to_string()
}

/// The time that a header says, if it is written in exactly the one way that is written today.
fn parse_http_date(text: &str) -> Option<DateTime<Utc>> {
    let time = NaiveDateTime::parse_from_str(text, HTTP_DATE).ok()?.and_utc();
    (http_date(time) == text).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noon() -> DateTime<Utc> {
        "2022-07-29T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn headers_are_written_as_crystal_writes_them() {
        let headers = Headers::from_iter([
            (&b"X-L"[..], &b"\xe9\xff"[..]),
            (b"X-Fold", b"a\r\n  b"),
            (b"X", b"1"),
            (b"X", b"2"),
        ]);
        let metadata = ResponseMetadata::new(11, 200, b"Caf\xe9", &headers, noon());
        let text = concat!(
            r#"{"http_version": 11, "status_code": 200, "reason_phrase": "Caf\u00e9", "headers": "#,
            r#"[["X-L", "\u00e9\u00ff"], ["X-Fold", "a\r\n  b"], ["X", "1"], ["X", "2"], "#,
            r#"["Date", "Fri, 29 Jul 2022 12:00:00 GMT"]]}"#
        );
        assert_eq!(metadata.to_json(), text);
        let back = ResponseMetadata::read(text).unwrap().unwrap();
        assert_eq!(back, metadata);
        let wire = back.wire_headers();
        let without_date: Headers = wire.iter().filter(|(name, _)| *name != b"Date").collect();
        assert_eq!(without_date, headers);
    }

    #[test]
    fn a_date_that_was_sent_stays_the_only_one() {
        let headers = Headers::from_iter([("date", "sometime")]);
        let metadata = ResponseMetadata::new(10, 204, b"", &headers, noon());
        assert_eq!(metadata.headers, [("date".to_owned(), "sometime".to_owned())]);
        assert_eq!(metadata.fetched_at(), None);
    }

    #[test]
    fn the_time_of_a_download_is_its_date_and_age() {
        let at = |headers: &[(&str, &str)]| {
            let headers = headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            ResponseMetadata { http_version: 11, status_code: 200, reason_phrase: String::new(), headers }
                .fetched_at()
        };
        let date = ("Date", "Fri, 29 Jul 2022 12:00:00 GMT");
        assert_eq!(at(&[date]), Some(noon()));
        assert_eq!(at(&[date, ("age", "60")]), Some(noon() + TimeDelta::seconds(60)));
        assert_eq!(at(&[date, ("age", "-60")]), Some(noon()));
        for wrong in ["Sat, 29 Jul 2022 12:00:00 GMT", "Fri, 29 Jul 2022 12:00:00 +0000", "29 Jul 2022", ""] {
            assert_eq!(at(&[("Date", wrong)]), None, "{wrong}");
        }
    }

    #[test]
    fn a_length_is_expected_of_bodies_without_transfer_coding() {
        let promised = |status_code, headers: &[(&str, &str)]| {
            let headers = headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            ResponseMetadata { http_version: 11, status_code, reason_phrase: String::new(), headers }
                .promised_length()
        };
        let length = ("content-length", " 9 ");
        assert_eq!(promised(200, &[length]), Some(9));
        assert_eq!(promised(304, &[length]), None);
        assert_eq!(promised(204, &[length]), None);
        assert_eq!(promised(200, &[("Transfer-Encoding", "chunked"), length]), None);
        assert_eq!(promised(200, &[("Content-Length", "9, 9")]), None);
        assert_eq!(promised(200, &[]), None);
    }

    #[test]
    fn hostile_texts_are_problems_and_not_panics() {
        let deep = "[".repeat(100_000);
        for text in ["", "{}", "[]", "1", "nul", "{\"headers\": 1}", deep.as_str(), "\"\\ud800\""] {
            assert!(ResponseMetadata::read(text).is_err(), "{}", &text[..text.len().min(20)]);
        }
        let odd = r#"{"http_version":11,"status_code":200,"reason_phrase":"","headers":[["a"]]}"#;
        assert_eq!(ResponseMetadata::read(odd), Err(WRONG_METADATA_FORM));
    }
}
