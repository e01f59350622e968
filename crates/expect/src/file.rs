//! One file of a URL database, from text to text.
//!
//! A file keeps the line ends it has, and whether its last line has one. Comments and layout are
//! lost when it is written; [`DomainFile::comments`] says where there are any.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::document_stream::UsualDocuments;
use super::domain::Domain;
use super::error::DomainFileError;
use super::line_end::LineEnd;
use super::read::read;
use super::record::Expectation;
use varve_yaml::{Place, comments, emit, parse};

/// A domain and its expectations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainFile {
    /// The domain's name, perhaps with a port: the name of the file without `.yaml`.
    pub name: String,
    /// The settings for all its URLs.
    pub domain: Domain,
    /// The records, in the order of the file.
    pub records: Vec<Expectation>,
    /// How its lines end.
    pub line_end: LineEnd,
    /// Whether the last line has an end.
    pub ends_with_line_end: bool,
    /// The lines, counted from 1, whose comments are lost when it is written.
    pub comments: Vec<u64>,
    /// Where each record begins in the text that was read.
    places: Vec<Place>,
}

/// A remark on a file that is valid but unusual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Where the record begins.
    pub place: Place,
    /// The path of the record; `None` for the domain itself.
    pub path: Option<String>,
    /// The remark.
    pub message: Cow<'static, str>,
}

impl DomainFile {
    /// A file for a domain without expectations.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            domain: Domain::default(),
            records: Vec::new(),
            line_end: LineEnd::Lf,
            ends_with_line_end: true,
            comments: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Reads the text of the file for the domain `name`.
    pub fn parse(name: impl Into<String>, text: &str) -> Result<Self, DomainFileError> {
        let mut usual = UsualDocuments::of(text);
        let (domain, records) = match read(&mut usual) {
            Ok(file) if !usual.is_unusual() => file,
            // Read whole, which also finds the place of a mistake.
            _ => read(parse(text)?)?,
        };
        let (places, records) = records.into_iter().unzip();
        Ok(Self {
            name: name.into(),
            domain,
            records,
            line_end: LineEnd::of(text),
            ends_with_line_end: text.is_empty() || text.ends_with('\n'),
            comments: comments(text),
            places,
        })
    }

    /// The text of the file, with its records sorted by path.
    pub fn text(&self) -> String {
        let records: BTreeMap<&str, &Expectation> =
            self.records.iter().map(|record| (record.path.as_str(), record)).collect();
        // One value at a time: those of all records would be many times the text.
        let values = records.into_values().map(Expectation::value);
        let mut text = emit(std::iter::once(self.domain.value()).chain(values));
        if !self.ends_with_line_end {
            text.truncate(text.trim_end_matches('\n').len());
        }
        match self.line_end {
            LineEnd::Lf => text,
            LineEnd::CrLf => text.replace('\n', "\r\n"),
        }
    }

    /// The same file in canonical form: as [`Self::text`] writes it, with sorted aliases and an end to
    /// the last line.
    ///
    /// Categories keep their order, which may be intended. [`Self::remarks`] names those that are not
    /// sorted.
    pub fn canonical(mut self) -> Self {
        self.ends_with_line_end = true;
        if let Some(names) = &mut self.domain.cnames {
            names.sort();
        }
        self
    }

    /// Where the record of that number begins in the text; `None` after records were removed.
    pub fn place(&self, number: usize) -> Option<Place> {
        self.places.get(number).copied()
    }

    /// Fails if a path has a fragment: such a file can be formatted, and not used.
    pub(crate) fn without_fragments(self) -> Result<Self, DomainFileError> {
        match self.records.iter().position(Expectation::has_fragment) {
            None => Ok(self),
            Some(number) => {
                let place = self.place(number).unwrap_or(Place::START);
                Err(DomainFileError::Fragment { place, path: self.records[number].path.clone() })
            }
        }
    }

    /// The record for `path`.
    pub fn find(&self, path: &str) -> Option<&Expectation> {
        self.records.iter().find(|record| record.path == path)
    }

    /// Adds a record in place of any for its path, with its categories sorted.
    pub fn insert(&mut self, mut record: Expectation) {
        self.remove(&record.path);
        record.sort_categories();
        self.records.push(record);
    }

    /// Removes the record for `path` and returns it.
    pub fn remove(&mut self, path: &str) -> Option<Expectation> {
        let found = self.find(path).cloned();
        self.records.retain(|record| record.path != path);
        self.places.clear();
        found
    }

    /// The URL of a record.
    pub fn url(&self, record: &Expectation) -> String {
        self.url_at(&self.name, record)
    }

    /// The URL of a record on another host: an alias, or a machine that stands in for the domain.
    pub fn url_at(&self, host: &str, record: &Expectation) -> String {
        format!("{}://{host}{}", self.domain.scheme(), record.path)
    }

    /// The remarks on the file.
    pub fn remarks(&self) -> Vec<Remark> {
        let mut remarks = Vec::new();
        let mut of_domain = |message: String| {
            remarks.push(Remark { place: Place::START, path: None, message: message.into() })
        };
        let names = self.domain.cnames();
        if !names.is_sorted() {
            of_domain("the aliases are not sorted".to_owned());
        }
        for (number, name) in names.iter().enumerate() {
            let is_same = |other: &String| other.eq_ignore_ascii_case(name);
            if is_same(&self.name) {
                of_domain(format!("the alias `{name}` is the domain itself"));
            } else if names[..number].iter().any(is_same) {
                of_domain(format!("the alias `{name}` is listed twice"));
            }
        }
        for (record, place) in self.records.iter().zip(&self.places) {
            let mut remark = |message: &'static str| {
                remarks.push(Remark {
                    place: *place,
                    path: Some(record.path.clone()),
                    message: message.into(),
                });
            };
            if record.has_fragment() {
                remark("a path has no fragment: remove `#` and what follows");
            }
            if !record.is_below_host() {
                remark("a path begins with `/`");
            }
            if !record.categories.is_sorted() {
                remark("the categories are not sorted");
            }
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "fd3589aa8a72beb48939de884e3ee5324b510c145003f375c77cd4ecb1a79672";

    fn read(text: &str) -> DomainFile {
        DomainFile::parse("example.com", text).unwrap()
    }

    fn refused(text: &str) -> String {
        DomainFile::parse("example.com", text).unwrap_err().to_string()
    }

    #[test]
    fn the_smallest_file_says_one_path() {
        let file = read("---\n---\n_path: /\n");
        assert_eq!(file.records, [Expectation::new("/")]);
        assert_eq!(file.url(&file.records[0]), "http://example.com/");
        assert_eq!(file.text(), "--- {}\n---\n_path: /\n");
    }

    #[test]
    fn every_form_that_files_have_had_is_read() {
        let oldest = read("path: /b\n---\npath: /a\n");
        assert_eq!(oldest.text(), "--- {}\n---\n_path: /a\n---\n_path: /b\n");
        let second = read("---\ncnames: [www.example.com]\n---\npath: /\n");
        assert_eq!(second.domain.cnames(), ["www.example.com"]);
        let seed = read(&format!(
            "---\ncnames:\n- www.example.com\n---\n_path: /m51.txt\ncontent-length: 1650240\ncontent-sha256: {DIGEST}\n"
        ));
        assert_eq!(seed.records[0].length, Some(1_650_240));
        assert!(seed.records[0].is_static() && seed.records[0].media_type.is_none());
        let late = read(
            "---\nhttps: yes\ncase-sensitive-paths: no\n---\n_path: /x\ncontent-type: text/html\ncategories: [a, b, yes]\n",
        );
        assert_eq!(late.url(&late.records[0]), "https://example.com/x");
        assert!(!late.domain.has_case_sensitive_paths());
        assert_eq!(late.records[0].categories.iter().collect::<Vec<_>>(), ["a", "b", "yes"]);
    }

    #[test]
    fn words_are_taken_as_they_were_spelled() {
        let digits = "1".repeat(64);
        let file = read(&format!("---\n---\n_path: 0777\ncontent-sha256: {digits}\ncontent-type: yes\n"));
        assert_eq!(file.records[0].path, "0777");
        assert_eq!(file.records[0].media_type.as_deref(), Some("yes"));
        assert_eq!(file.records[0].sha256.unwrap().to_string(), digits);
    }

    #[test]
    fn line_ends_are_kept_and_comments_noticed() {
        let file = read("---\r\n---\r\n_path: /b # why\r\n---\r\n_path: /a\r\n");
        assert_eq!(file.comments, [3]);
        assert_eq!(file.text(), "--- {}\r\n---\r\n_path: /a\r\n---\r\n_path: /b\r\n");
        let file = read("---\n---\n_path: /");
        assert_eq!(file.text(), "--- {}\n---\n_path: /");
        assert_eq!(file.canonical().text(), "--- {}\n---\n_path: /\n");
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        assert_eq!(refused("---\nhttps: maybe\n"), "line 2, column 1: `https` must be `true` or `false`");
        assert_eq!(
            refused("---\n---\n_path: /\ncontent-length: -5\n"),
            "line 4, column 1: `content-length` must be a whole number of bytes"
        );
        assert_eq!(
            refused("---\n---\n_path: /\ncontent-sha256: abc\n"),
            "line 4, column 1: `content-sha256` must be 64 hexadecimal digits"
        );
        assert_eq!(refused("---\n---\nx: 1\n"), "line 2, column 1: the record has no `_path`");
        assert_eq!(refused("---\n---\n- 1\n"), "line 2, column 1: a record must be a mapping");
        assert_eq!(refused("---\ncnames: x\n"), "line 2, column 1: `cnames` must be a list of words");
    }

    #[test]
    fn oddities_are_remarked_and_kept() {
        let file = read("---\n---\n_path: /a\ncategories: [b, a]\n---\n_path: c\nx: 1\n");
        let remarks: Vec<u64> = file.remarks().iter().map(|remark| remark.place.line).collect();
        assert_eq!(remarks, [2, 5]);
        assert_eq!(file.text(), "--- {}\n---\n_path: /a\ncategories:\n- b\n- a\n---\n_path: c\nx: 1\n");
    }

    #[test]
    fn two_records_of_one_path_and_a_fragment_are_errors() {
        assert_eq!(
            refused("---\n---\n_path: /a\n---\n_path: /b\n---\n_path: /a\nx: 1\n"),
            "line 6, column 1: the path `/a` has a record at line 2, column 1 already"
        );
        let file = read("---\n---\n_path: /a#top\n");
        assert_eq!(file.remarks()[0].message, "a path has no fragment: remove `#` and what follows");
        assert_eq!(
            file.without_fragments().unwrap_err().to_string(),
            "line 2, column 1: the path `/a#top` has a fragment; remove `#` and what follows"
        );
    }

    #[test]
    fn aliases_are_sorted_and_their_mistakes_remarked() {
        let file = read("---\ncnames: [www.example.com, Example.com, a.org, a.org]\n---\n_path: /\n");
        let remarks: Vec<String> = file.remarks().iter().map(|remark| remark.message.to_string()).collect();
        assert_eq!(
            remarks,
            [
                "the aliases are not sorted",
                "the alias `Example.com` is the domain itself",
                "the alias `a.org` is listed twice"
            ]
        );
        let sorted = file.canonical().text();
        assert!(sorted.starts_with("---\ncnames:\n- Example.com\n- a.org\n- a.org\n- www.example.com\n"));
    }
}
