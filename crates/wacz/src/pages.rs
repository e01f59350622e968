//! Lists of pages: `pages/pages.jsonl` and `pages/extraPages.jsonl`.
//!
//! One JSON object a line; the first describes the list. A line that is too long or not JSON is
//! given as such with its number, and the lines after it are read.

use std::io::{self, BufRead, BufReader, Read};

use serde_json::Value;

/// Longest line. The text of a page may be part of it.
const MAX_LINE_BYTES: usize = 32 << 20;

/// What the first line says of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageListHeader {
    /// `id`.
    pub id: Option<String>,
    /// `title`.
    pub title: Option<String>,
    /// Whether pages may have their text.
    pub has_text: bool,
}

/// A page of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageEntry {
    /// Its URL.
    pub url: String,
    /// When it was captured, as it is written: RFC 3339, or milliseconds of early files.
    pub timestamp: Option<String>,
    /// `title`.
    pub title: Option<String>,
    /// `id`.
    pub id: Option<String>,
    /// `text`.
    pub text: Option<String>,
    /// Whether the crawl began here. Files without the field do not say.
    pub is_seed: Option<bool>,
}

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageListItem {
    /// The description of the list.
    Header(PageListHeader),
    /// A page.
    Page(Box<PageEntry>),
    /// A line that is none of both.
    Unreadable {
        /// The number of the line, from 1.
        line: u64,
        /// Why.
        what: String,
    },
}

/// Reads a list, line by line.
pub struct PageList<R> {
    lines: BufReader<R>,
    line: Vec<u8>,
    number: u64,
}

impl<R: Read> PageList<R> {
    /// Reads the list from its first byte.
    pub fn new(bytes: R) -> Self {
        Self { lines: BufReader::new(bytes), line: Vec::new(), number: 0 }
    }

    /// Reads a line. False at the end; `None` when the line was too long.
    fn next_line(&mut self) -> io::Result<Option<bool>> {
        self.line.clear();
        let most = MAX_LINE_BYTES as u64 + 1;
        let read = self.lines.by_ref().take(most).read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(Some(false));
        }
        self.number += 1;
        if self.line.len() <= MAX_LINE_BYTES {
            return Ok(Some(true));
        }
        self.line.clear();
        let is_ended = |bytes: &[u8]| bytes.contains(&b'\n');
        loop {
            let bytes = self.lines.fill_buf()?;
            let (length, ended) = (bytes.len(), bytes.is_empty() || is_ended(bytes));
            let newline = bytes.iter().position(|byte| *byte == b'\n');
            self.lines.consume(newline.map_or(length, |at| at + 1));
            if ended {
                return Ok(None);
            }
        }
    }
}

impl<R: Read> Iterator for PageList<R> {
    type Item = io::Result<PageListItem>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = self.number + 1;
            match self.next_line() {
                Err(error) => return Some(Err(error)),
                Ok(Some(false)) => return None,
                Ok(None) => {
                    let what = format!("longer than {MAX_LINE_BYTES} bytes");
                    return Some(Ok(PageListItem::Unreadable { line, what }));
                }
                Ok(Some(true)) if self.line.trim_ascii().is_empty() => {}
                Ok(Some(true)) => return Some(Ok(read_item(&self.line, line))),
            }
        }
    }
}

fn read_item(text: &[u8], line: u64) -> PageListItem {
    let fields: Value = match serde_json::from_slice(text) {
        Ok(fields) => fields,
        Err(error) => return PageListItem::Unreadable { line, what: error.to_string() },
    };
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    if let Some(url) = text("url") {
        let number = || fields.get("ts").and_then(Value::as_i64).map(|millis| millis.to_string());
        return PageListItem::Page(Box::new(PageEntry {
            url,
            timestamp: text("ts").or_else(number),
            title: text("title"),
            id: text("id"),
            text: text("text"),
            is_seed: fields.get("seed").and_then(Value::as_bool),
        }));
    }
    if fields.get("format").is_some() {
        let has_text = ["hasText", "hasText:", "has_text"]
            .iter()
            .any(|name| matches!(fields.get(*name), Some(Value::Bool(true))));
        return PageListItem::Header(PageListHeader { id: text("id"), title: text("title"), has_text });
    }
    PageListItem::Unreadable { line, what: "neither a page nor the description of a list".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_does_not_hide_the_next() {
        let list = b"{\"format\":\"json-pages-1.0\",\"id\":\"pages\",\"title\":\"All\"}\n\n{oops\n\
            {\"url\":\"https://a.example/\",\"ts\":\"2026-01-01T00:00:00Z\",\"title\":\"A\",\"seed\":true}\n[]\n\
            {\"url\":\"https://b.example/\",\"ts\":1600000000000}";
        let items: Vec<_> = PageList::new(list.as_slice()).map(Result::unwrap).collect();
        assert_eq!(items.len(), 5);
        assert!(matches!(&items[0], PageListItem::Header(header) if header.title.as_deref() == Some("All")));
        assert!(matches!(items[1], PageListItem::Unreadable { line: 3, .. }));
        assert!(matches!(&items[2], PageListItem::Page(page) if page.is_seed == Some(true)));
        assert!(matches!(items[3], PageListItem::Unreadable { line: 5, .. }));
        assert!(
            matches!(&items[4], PageListItem::Page(page) if page.timestamp.as_deref() == Some("1600000000000"))
        );
    }

    #[test]
    fn a_line_without_end_is_passed_in_bounded_memory() {
        let list =
            io::repeat(b'x').take(MAX_LINE_BYTES as u64 * 2).chain(b"\n{\"url\":\"u:a\"}\n".as_slice());
        let mut list = PageList::new(list);
        assert!(matches!(list.next(), Some(Ok(PageListItem::Unreadable { line: 1, .. }))));
        assert!(matches!(list.next(), Some(Ok(PageListItem::Page(_)))));
        assert!(list.line.capacity() <= MAX_LINE_BYTES * 2 + 2);
        assert!(list.next().is_none());
    }
}
