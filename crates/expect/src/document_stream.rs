//! A domain file one document at a time, so that a file of any size needs the memory of one record.
//!
//! Only the usual form is read so: each document begins with a line `---`, the first describes the
//! domain, and records are sorted by path. Files with anything else (the oldest form, directives,
//! `...`, mistakes) are rare and small: [`Streamed::Unusual`] says that the file must be read whole,
//! which also finds the place of a mistake.

use std::io::{self, BufRead, Read, Write};

use super::domain::Domain;
use super::line_end::LineEnd;
use super::read::{domain_of, record_of};
use super::record::Expectation;
use varve_yaml::{Document, Value, comments, emit, parse};

/// Maximum length of one document in bytes.
const MAX_DOCUMENT_BYTES: u64 = 16 << 20;

/// The result of reading a file one document at a time.
pub(crate) enum Streamed<T> {
    /// It has the usual form.
    Usual(T),
    /// It must be read whole.
    Unusual,
}

/// What a pass over a file finds.
pub(crate) struct FileScan {
    /// How its lines end.
    pub(crate) line_end: LineEnd,
    /// Whether the last line has an end.
    pub(crate) ends_with_line_end: bool,
    /// The lines, counted from 1, that have comments.
    pub(crate) comments: Vec<u64>,
}

/// The settings of the domain, from the first document.
pub(crate) fn read_domain(reader: impl BufRead) -> io::Result<Streamed<Domain>> {
    let mut documents = Documents::new(reader);
    let Some(first) = documents.next_document()? else { return Ok(Streamed::Unusual) };
    Ok(first.value().and_then(domain_of).map_or(Streamed::Unusual, Streamed::Usual))
}

/// Reads all documents and calls `each` with the path of each record.
pub(crate) fn scan(reader: impl BufRead, mut each: impl FnMut(&str)) -> io::Result<Streamed<FileScan>> {
    let mut documents = Documents::new(reader);
    let mut found = Vec::new();
    let mut line_end = LineEnd::Lf;
    let mut last: Option<String> = None;
    let mut is_first = true;
    while let Some(document) = documents.next_document()? {
        let Some(value) = document.value() else { return Ok(Streamed::Unusual) };
        if is_first {
            is_first = false;
            if domain_of(value).is_none() {
                return Ok(Streamed::Unusual);
            }
            line_end = LineEnd::of(&document.text);
        } else {
            let Some(record) = record_of(value) else { return Ok(Streamed::Unusual) };
            if last.as_ref().is_some_and(|last| *last >= record.path) {
                return Ok(Streamed::Unusual);
            }
            each(&record.path);
            last = Some(record.path);
        }
        found.extend(comments(&document.text).into_iter().map(|line| document.line + line - 1));
    }
    if is_first || documents.is_unusual {
        return Ok(Streamed::Unusual);
    }
    Ok(Streamed::Usual(FileScan {
        line_end,
        ends_with_line_end: documents.ends_with_line_end,
        comments: found,
    }))
}

/// Copies a file that [`scan`] found usual, in canonical form, with more records at their places.
/// `added` is sorted by path and has no path of the file.
pub(crate) fn copy_with(
    reader: impl BufRead,
    about: &FileScan,
    added: impl IntoIterator<Item = Expectation>,
    output: &mut dyn Write,
) -> io::Result<()> {
    let changed = || io::Error::new(io::ErrorKind::InvalidData, "the file changed while it was read");
    let mut documents = Documents::new(reader);
    let mut writer = DocumentWriter { output, about, held_line_end: false };
    let first =
        documents.next_document()?.and_then(|document| domain_of(document.value()?)).ok_or_else(changed)?;
    writer.write(&first.value())?;
    let mut added = added.into_iter().peekable();
    while let Some(document) = documents.next_document()? {
        let record = document.value().and_then(record_of).ok_or_else(changed)?;
        while let Some(before) = added.next_if(|new| new.path < record.path) {
            writer.write(&before.value())?;
        }
        writer.write(&record.value())?;
    }
    added.try_for_each(|record| writer.write(&record.value()))?;
    writer.finish()
}

/// Writes documents with the line ends of a file.
struct DocumentWriter<'a> {
    output: &'a mut dyn Write,
    about: &'a FileScan,
    /// Whether the last line end was held back, because the file may end without one.
    held_line_end: bool,
}

impl DocumentWriter<'_> {
    fn write(&mut self, value: &Value) -> io::Result<()> {
        let text = emit([value]);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        self.end_line()?;
        self.held_line_end = true;
        match self.about.line_end {
            LineEnd::Lf => self.output.write_all(text.as_bytes()),
            LineEnd::CrLf => self.output.write_all(text.replace('\n', "\r\n").as_bytes()),
        }
    }

    fn end_line(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.held_line_end) {
            return Ok(());
        }
        self.output.write_all(match self.about.line_end {
            LineEnd::Lf => b"\n",
            LineEnd::CrLf => b"\r\n",
        })
    }

    fn finish(mut self) -> io::Result<()> {
        if self.about.ends_with_line_end { self.end_line() } else { Ok(()) }
    }
}

/// One document as it is written, with the line that it begins at.
struct DocumentText {
    line: u64,
    text: String,
}

impl DocumentText {
    /// What is in it; `None` if it is not exactly one document.
    fn document(&self) -> Option<Document> {
        let mut documents = parse(&self.text).ok()?;
        let only = documents.pop()?;
        documents.is_empty().then_some(only)
    }

    fn value(&self) -> Option<Value> {
        self.document().map(|document| document.value)
    }
}

/// The documents of a text in the usual form, each at its place in the text.
pub(crate) struct UsualDocuments<'t> {
    documents: Documents<&'t [u8]>,
}

impl<'t> UsualDocuments<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self { documents: Documents::new(text.as_bytes()) }
    }

    /// Whether the documents so far are not all there are, because the text has another form.
    pub(crate) fn is_unusual(&self) -> bool {
        self.documents.is_unusual
    }
}

impl Iterator for UsualDocuments<'_> {
    type Item = Document;

    fn next(&mut self) -> Option<Document> {
        let text =
            self.documents.next_document().inspect_err(|_| self.documents.is_unusual = true).ok()??;
        let Some(mut document) = text.document() else {
            self.documents.is_unusual = true;
            return None;
        };
        document.place.line += text.line - 1;
        Some(document)
    }
}

/// The documents of a text.
struct Documents<R> {
    reader: R,
    /// The number of lines read.
    lines: u64,
    /// The line that begins the next document, already read.
    next: Vec<u8>,
    ends_with_line_end: bool,
    is_unusual: bool,
}

impl<R: BufRead> Documents<R> {
    fn new(reader: R) -> Self {
        Self { reader, lines: 0, next: Vec::new(), ends_with_line_end: true, is_unusual: false }
    }

    /// The next document; `None` at the end, and where the text is unusual.
    fn next_document(&mut self) -> io::Result<Option<DocumentText>> {
        let mut text = std::mem::take(&mut self.next);
        let line = self.lines.max(1);
        let mut is_begun = !text.is_empty();
        while !self.is_unusual {
            let start = text.len();
            let limit = MAX_DOCUMENT_BYTES.saturating_sub(start as u64);
            let read = self.reader.by_ref().take(limit).read_until(b'\n', &mut text)?;
            if read == 0 {
                self.is_unusual |= limit == 0;
                break;
            }
            self.lines += 1;
            self.ends_with_line_end = text.ends_with(b"\n");
            let kind = LineKind::of(&text[start..]);
            if kind == LineKind::Begins && is_begun {
                self.next = text.split_off(start);
                break;
            }
            is_begun |= kind == LineKind::Begins;
            // Before the first document there may be comments and blank lines.
            self.is_unusual |= kind == LineKind::Unusual || (!is_begun && kind == LineKind::Content);
        }
        if self.is_unusual || !is_begun {
            self.is_unusual |= !text.is_empty();
            return Ok(None);
        }
        let text = String::from_utf8(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
        text.map(|text| Some(DocumentText { line, text }))
    }
}

/// What a line is for the division into documents.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    /// It begins a document.
    Begins,
    /// A comment or nothing.
    Blank,
    /// A part of a document.
    Content,
    /// A directive, the end of a document without a next one, or an odd line end.
    Unusual,
}

impl LineKind {
    fn of(line: &[u8]) -> Self {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        // YAML also ends lines at these, where this reader does not.
        let has_other_end = text.contains(&b'\r');
        let is_marker = |marker: &[u8]| {
            text.strip_prefix(marker)
                .is_some_and(|rest| rest.first().is_none_or(|next| b" \t".contains(next)))
        };
        match text.first() {
            _ if has_other_end || is_marker(b"...") => Self::Unusual,
            Some(b'%') => Self::Unusual,
            _ if is_marker(b"---") => Self::Begins,
            None | Some(b'#') => Self::Blank,
            Some(_) => Self::Content,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DomainFile;
    use proptest::prelude::*;

    /// The text with records added one document at a time; `None` if the text is unusual.
    fn streamed(text: &str, mut added: Vec<Expectation>) -> Option<String> {
        let found = scan(text.as_bytes(), |path| added.retain(|record| record.path != path)).ok()?;
        let Streamed::Usual(about) = found else { return None };
        let mut output = Vec::new();
        copy_with(text.as_bytes(), &about, added, &mut output).unwrap();
        Some(String::from_utf8(output).unwrap())
    }

    /// The text with records added to the file in memory.
    fn whole(text: &str, added: Vec<Expectation>) -> Option<String> {
        let mut file = DomainFile::parse("example.com", text).ok()?;
        for record in added {
            if file.find(&record.path).is_none() {
                file.insert(record);
            }
        }
        Some(file.text())
    }

    fn records(paths: &[&str]) -> Vec<Expectation> {
        paths.iter().map(|path| Expectation::new(*path)).collect()
    }

    #[test]
    fn records_are_added_at_their_places() {
        for text in [
            "---\n---\n_path: /b\n---\n_path: /d\n",
            "--- {}\n",
            "---\ncnames: [b, a]\n---\n_path: /b",
            "---\r\n---\r\n_path: /b # why\r\n",
            "# first\n\n---\n---\n_path: /b\nx: |\n  a\n  b\n",
        ] {
            let added = records(&["/a", "/b", "/c", "/e"]);
            assert_eq!(streamed(text, added.clone()), whole(text, added), "{text:?}");
        }
    }

    #[test]
    fn unusual_files_are_read_whole() {
        for text in [
            "",
            "path: /b\n---\npath: /a\n",
            "%YAML 1.1\n---\n---\n_path: /\n",
            "---\n---\n_path: /\n...\n",
            "---\n---\n_path: /b\n---\n_path: /a\n",
            "---\n---\n_path: /a\n---\n_path: /a\n",
            "---\n---\nx: 1\n",
        ] {
            assert!(streamed(text, Vec::new()).is_none(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_stream_writes_what_memory_writes(
            text in "(---( \\{\\})?\r?\n|_path: /[a-d]{1,2}\n|x: [a|>'\"#-]{0,3}\n|  y\n|# c\n|\n|\\.\\.\\.\n|cnames: \\[b\\]\n){0,12}",
        ) {
            let added = records(&["/a", "/b", "/bb"]);
            if let Some(written) = streamed(&text, added.clone()) {
                prop_assert_eq!(Some(written), whole(&text, added), "{:?}", text);
            }
        }
    }
}
