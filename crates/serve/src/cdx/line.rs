//! One capture as a line of CDX.
//!
//! `filename`, `offset` and `length` locate the record in the silos: these bytes of that file are a
//! WARC file with one record. Other layouts have no such fields, and very long records have no
//! `length`.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::io::{self, Write};

use serde_json::{Map, Value};
use varve_archive::Capture;
use varve_archive::history::{HistoryReader, RecordPlace};
use varve_core::url::surt::{Flavour, surt};

use super::query::{CdxOutput, CdxQuery};

/// Default fields of CDXJ lines after key and time.
const CDXJ_FIELDS: [&str; 8] = ["url", "mime", "status", "digest", "length", "offset", "filename", "record"];
/// Default fields of text lines.
const TEXT_FIELDS: [&str; 9] =
    ["urlkey", "timestamp", "url", "mime", "status", "digest", "length", "offset", "filename"];

/// A capture as fields.
pub(crate) struct CdxLine<'c> {
    history: &'c HistoryReader,
    capture: &'c Capture,
    /// Where its record lies, looked up on first use.
    place: OnceCell<Option<RecordPlace>>,
}

impl<'c> CdxLine<'c> {
    pub(crate) fn new(history: &'c HistoryReader, capture: &'c Capture) -> Self {
        Self { history, capture, place: OnceCell::new() }
    }

    /// Where its record lies. A record that cannot be found has no location here: finding damage is
    /// the work of `audit`.
    fn place(&self) -> Option<&RecordPlace> {
        self.place.get_or_init(|| self.history.record_place(self.capture).ok().flatten()).as_ref()
    }

    /// A field by its name in pywb or in the Wayback Machine.
    pub(crate) fn field(&self, name: &str) -> Option<Cow<'c, str>> {
        let capture = self.capture;
        Some(match name {
            "urlkey" => Cow::Owned(surt(&capture.url, Flavour::Ia).unwrap_or_else(|_| capture.url.clone())),
            "timestamp" => Cow::Owned(capture.time.digits()),
            "url" | "original" => Cow::Borrowed(&capture.url),
            "mime" | "mimetype" => Cow::Owned(self.mime()),
            "status" | "statuscode" => Cow::Owned(self.status()),
            "digest" => Cow::Owned(format!("sha256:{}", capture.body)),
            "length" => Cow::Owned(self.place()?.length?.to_string()),
            "offset" => Cow::Owned(self.place()?.offset.to_string()),
            "filename" => {
                let file = &self.place()?.file;
                Cow::Owned(file.rsplit('/').next().unwrap_or(file).to_owned())
            }
            "bodylength" => Cow::Owned(capture.length?.to_string()),
            "record" => Cow::Owned(capture.record.as_ref()?.to_string()),
            _ => return None,
        })
    }

    fn mime(&self) -> String {
        let declared = self.capture.headers.get("content-type").and_then(|values| values.first());
        let essence = declared.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
        if essence.is_empty() { "unk".to_owned() } else { essence.to_ascii_lowercase() }
    }

    fn status(&self) -> String {
        if self.capture.status == 0 { "-".to_owned() } else { self.capture.status.to_string() }
    }

    /// Writes the line.
    pub(crate) fn write(&self, query: &CdxQuery, output: &mut dyn Write) -> io::Result<()> {
        match query.output {
            CdxOutput::Text => self.write_text(&query.fields, output),
            CdxOutput::Json => {
                let all = ["urlkey", "timestamp"].into_iter().chain(CDXJ_FIELDS);
                writeln!(output, "{}", self.object(&query.fields, all))
            }
            CdxOutput::Cdxj => {
                let (key, time) = (self.field("urlkey").unwrap_or_default(), self.capture.time.digits());
                writeln!(output, "{} {time} {}", one_word(&key), self.object(&query.fields, CDXJ_FIELDS))
            }
        }
    }

    fn write_text(&self, fields: &[String], output: &mut dyn Write) -> io::Result<()> {
        let names: Vec<&str> = match fields.is_empty() {
            true => TEXT_FIELDS.to_vec(),
            false => fields.iter().map(String::as_str).collect(),
        };
        for (place, name) in names.iter().enumerate() {
            let value = self.field(name).unwrap_or(Cow::Borrowed("-"));
            write!(output, "{}{}", if place == 0 { "" } else { " " }, one_word(&value))?;
        }
        writeln!(output)
    }

    /// The requested fields, or `all` if none are requested. Unknown fields are left out.
    fn object<'n>(&self, fields: &'n [String], all: impl IntoIterator<Item = &'n str>) -> Value {
        let names: Vec<&str> = match fields.is_empty() {
            true => all.into_iter().collect(),
            false => fields.iter().map(String::as_str).collect(),
        };
        let pairs = names.into_iter().filter_map(|name| {
            let value = self.field(name)?;
            Some((name.to_owned(), Value::String(value.into_owned())))
        });
        Value::Object(Map::from_iter(pairs))
    }
}

/// A value without spaces, as part of a line.
fn one_word(text: &str) -> String {
    crate::formatting::header_url(text)
}
