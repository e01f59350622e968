//! Reads an index file line by line: CDXJ, or CDX with a first line that names its columns.

use std::io::{self, BufRead, Read};

use crate::columns::CdxColumns;
use crate::entry::{CdxEntry, CdxEntryError};

/// Maximum length of a line.
const MAX_LINE_BYTES: usize = 1 << 20;

/// A line of an index file is no entry, or the file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CdxReadError {
    /// The line is no entry. The next line can be read.
    #[error("line {line} at byte {offset}: {error}")]
    Line {
        /// The number of the line, from 1.
        line: u64,
        /// Where it begins.
        offset: u64,
        /// What is wrong with it.
        error: CdxEntryError,
    },
    /// Reading failed.
    #[error("cannot read at byte {offset}")]
    Io {
        /// Where.
        offset: u64,
        /// The cause.
        source: io::Error,
    },
}

/// Reads the entries of an index file. Lines that are empty, and those that begin with `!` or `@`,
/// which some formats have at their beginning, are passed over.
pub struct CdxFileReader<R> {
    input: R,
    columns: Option<CdxColumns>,
    line: u64,
    offset: u64,
    bytes: Vec<u8>,
    ended: bool,
}

impl<R: BufRead> CdxFileReader<R> {
    /// Reads from the beginning of an index file.
    pub fn new(input: R) -> Self {
        Self { input, columns: None, line: 0, offset: 0, bytes: Vec::new(), ended: false }
    }

    /// The columns of the file, if one of its lines so far named them.
    pub fn columns(&self) -> Option<&CdxColumns> {
        self.columns.as_ref()
    }

    /// Reads the next line. Returns where it begins, or `None` at the end.
    fn read_line(&mut self) -> Result<Option<u64>, CdxReadError> {
        self.bytes.clear();
        let begin = self.offset;
        let failed = |source| CdxReadError::Io { offset: begin, source };
        let mut limited = (&mut self.input).take(MAX_LINE_BYTES as u64 + 1);
        let count = limited.read_until(b'\n', &mut self.bytes).map_err(failed)?;
        if count == 0 {
            return Ok(None);
        }
        self.line += 1;
        self.offset += count as u64;
        if self.bytes.len() > MAX_LINE_BYTES {
            self.offset += skip_line(&mut self.input).map_err(failed)?;
            return Err(self.wrong(begin, CdxEntryError::TooLong { limit: MAX_LINE_BYTES }));
        }
        while matches!(self.bytes.last(), Some(b'\n' | b'\r')) {
            self.bytes.pop();
        }
        Ok(Some(begin))
    }

    fn wrong(&self, offset: u64, error: CdxEntryError) -> CdxReadError {
        CdxReadError::Line { line: self.line, offset, error }
    }

    fn entry(&mut self) -> Result<Option<CdxEntry>, CdxReadError> {
        loop {
            let Some(begin) = self.read_line()? else { return Ok(None) };
            let Ok(text) = str::from_utf8(&self.bytes) else {
                return Err(self.wrong(begin, CdxEntryError::Encoding));
            };
            if text.is_empty() || text.starts_with(['!', '@']) {
                continue;
            }
            // Concatenated files repeat the first line.
            if let Some(columns) = CdxColumns::parse(text) {
                self.columns = Some(columns);
                continue;
            }
            let entry = match &self.columns {
                Some(columns) => columns.parse_line(text),
                None => CdxEntry::parse_cdxj(text),
            };
            return entry.map(Some).map_err(|error| self.wrong(begin, error));
        }
    }
}

/// Passes over the rest of a line. Returns its length.
fn skip_line(input: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let bytes = input.fill_buf()?;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(bytes.len(), |end| end + 1);
        input.consume(count);
        skipped += count as u64;
        if end.is_some() || count == 0 {
            return Ok(skipped);
        }
    }
}

impl<R: BufRead> Iterator for CdxFileReader<R> {
    type Item = Result<CdxEntry, CdxReadError>;

    /// The next entry. After an error of the file there is no other.
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.entry().transpose();
        self.ended = matches!(next, None | Some(Err(CdxReadError::Io { .. })));
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Vec<Result<String, String>> {
        let reader = CdxFileReader::new(text);
        reader.map(|entry| entry.map(|entry| entry.url).map_err(|error| error.to_string())).collect()
    }

    #[test]
    fn both_formats_are_read_and_bad_lines_have_a_place() {
        let text =
            b"!meta 0 {\"format\": \"x\"}\r\nk 2026 {\"url\": \"a\"}\r\n\nbad\n\xff\nk 2027 {\"url\": \"b\"}";
        let expected: [Result<&str, &str>; 4] = [
            Ok("a"),
            Err("line 4 at byte 47: the line has 1 of 3 parts"),
            Err("line 5 at byte 51: the line is not UTF-8"),
            Ok("b"),
        ];
        let read_back = read(text);
        assert_eq!(read_back.len(), 4, "{read_back:?}");
        for (found, expected) in read_back.iter().zip(expected) {
            assert_eq!(found.as_deref().map_err(String::as_str), expected);
        }
        assert_eq!(read(b" CDX N b a\nk 2026 u\n CDX a b N\nv 2026 k\n"), [Ok("u".into()), Ok("v".into())]);
    }

    #[test]
    fn a_line_without_end_is_an_error_and_takes_little_memory() {
        let long = io::repeat(b'x').take(100 << 20);
        let text = io::BufReader::new(long.chain(&b"\nk 2026 {\"url\": \"a\"}"[..]));
        let mut reader = CdxFileReader::new(text);
        let error = reader.next().unwrap().unwrap_err().to_string();
        assert_eq!(error, "line 1 at byte 0: the line is longer than 1048576 bytes");
        assert_eq!(reader.next().unwrap().unwrap().url, "a");
        assert!(reader.next().is_none());
        assert!(reader.bytes.capacity() <= 4 << 20);
    }
}
