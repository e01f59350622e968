//! CDX with columns: the first line of a file names them by letters, the first byte separates them.
//!
//! | letter | column | letter | column |
//! | --- | --- | --- | --- |
//! | `N` | key | `r` | redirect |
//! | `b` | time | `M` | meta tags |
//! | `a` | URL | `S` | length |
//! | `m` | media type | `V`, `v` | offset |
//! | `s` | status | `g` | file |
//! | `k` | digest | | |

use crate::entry::{CdxEntry, CdxEntryError, push_word, said};

/// Maximum number of columns of a file.
const MAX_COLUMNS: usize = 64;

/// The columns of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CdxColumns {
    delimiter: char,
    letters: Vec<char>,
}

impl Default for CdxColumns {
    /// The 11 columns that are written here.
    fn default() -> Self {
        Self { delimiter: ' ', letters: "NbamskrMSVg".chars().collect() }
    }
}

impl CdxColumns {
    /// Parses the first line of a file, without its line end; `None` if it names no columns.
    pub fn parse(line: &str) -> Option<Self> {
        let mut letters = line.chars();
        let delimiter = letters.next()?;
        let mut words = letters.as_str().split(delimiter);
        if words.next() != Some("CDX") {
            return None;
        }
        let letter = |word: &str| {
            let mut letters = word.chars();
            letters.next().filter(|_| letters.next().is_none())
        };
        let letters: Vec<char> = words.map(letter).collect::<Option<_>>()?;
        (!letters.is_empty() && letters.len() <= MAX_COLUMNS).then_some(Self { delimiter, letters })
    }

    /// The first line of a file with these columns, without a line end.
    pub fn header(&self) -> String {
        let mut line = format!("{}CDX", self.delimiter);
        for letter in &self.letters {
            line.extend([self.delimiter, *letter]);
        }
        line
    }

    /// Parses a line without its line end. Columns without a meaning here are left out.
    pub fn parse_line(&self, line: &str) -> Result<CdxEntry, CdxEntryError> {
        let (found, wanted) = (line.split(self.delimiter).count(), self.letters.len());
        if found < wanted {
            return Err(CdxEntryError::TooShort { found, wanted });
        }
        let mut entry = CdxEntry::default();
        for (letter, column) in self.letters.iter().zip(line.split(self.delimiter)) {
            match letter {
                'N' => entry.key = column.to_owned(),
                'b' => entry.timestamp = CdxEntry::time(column)?,
                'a' => entry.url = column.to_owned(),
                'm' => entry.mime = said(column),
                's' => entry.status = said(column),
                'k' => entry.digest = said(column),
                'S' => entry.length = CdxEntry::number("length", column)?,
                'V' | 'v' => entry.offset = CdxEntry::number("offset", column)?,
                'g' => entry.filename = said(column),
                _ => {}
            }
        }
        if entry.timestamp.is_empty() {
            return Err(CdxEntryError::Time(String::new()));
        }
        Ok(entry)
    }

    /// Appends an entry as a line, without a line end. The digest loses the label of its algorithm.
    pub fn write_line(&self, entry: &CdxEntry, line: &mut Vec<u8>) {
        let unlabelled = entry.digest.as_deref().map(|digest| digest.rsplit(':').next().unwrap_or(digest));
        let numbers = [entry.length, entry.offset].map(|number| number.map(|number| number.to_string()));
        let mut delimiter = [0; 4];
        for (number, letter) in self.letters.iter().enumerate() {
            let column = match letter {
                'N' => Some(entry.key.as_str()),
                'b' => Some(entry.timestamp.as_str()),
                'a' => Some(entry.url.as_str()),
                'm' => entry.mime.as_deref(),
                's' => entry.status.as_deref(),
                'k' => unlabelled,
                'S' => numbers[0].as_deref(),
                'V' | 'v' => numbers[1].as_deref(),
                'g' => entry.filename.as_deref(),
                _ => None,
            };
            if number > 0 {
                line.extend_from_slice(self.delimiter.encode_utf8(&mut delimiter).as_bytes());
            }
            push_word(line, column.unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nine_and_eleven_columns_are_read() {
        let eleven = CdxColumns::parse(" CDX N b a m s k r M S V g").unwrap();
        assert_eq!(eleven, CdxColumns::default());
        assert_eq!(eleven.header(), " CDX N b a m s k r M S V g");
        let line = "com,example)/ 20260102030405 http://example.com/ text/html 200 AB - - 12 345 a.warc.gz";
        let entry = eleven.parse_line(line).unwrap();
        assert_eq!(
            (entry.length, entry.offset, entry.filename.as_deref()),
            (Some(12), Some(345), Some("a.warc.gz"))
        );
        let mut written = Vec::new();
        eleven.write_line(&entry, &mut written);
        assert_eq!(written, line.as_bytes());
        let nine = CdxColumns::parse(" CDX N b a m s k r V g").unwrap();
        let entry = nine.parse_line("k 2026 u warc/revisit - AB - 7 f").unwrap();
        assert_eq!((entry.status, entry.length, entry.offset), (None, None, Some(7)));
    }

    #[test]
    fn digests_lose_their_label_and_spaces_are_encoded() {
        let entry = CdxEntry {
            key: "k".into(),
            timestamp: "2026".into(),
            url: "http://a/b c".into(),
            digest: Some("sha1:AB".into()),
            ..CdxEntry::default()
        };
        let mut line = Vec::new();
        CdxColumns::default().write_line(&entry, &mut line);
        assert_eq!(String::from_utf8(line).unwrap(), "k 2026 http://a/b%20c - - AB - - - - -");
    }

    #[test]
    fn other_first_lines_name_no_columns() {
        for line in ["", "CDX N b a", " CDX", " CDX Nb a", " cdx N", "com,example)/ 2026 {}"] {
            assert_eq!(CdxColumns::parse(line), None, "{line}");
        }
        assert_eq!(CdxColumns::parse("\tCDX\tN\tb").map(|columns| columns.letters.len()), Some(2));
        let error = CdxColumns::default().parse_line("k 2026 u").unwrap_err();
        assert_eq!(error, CdxEntryError::TooShort { found: 3, wanted: 11 });
    }

    proptest! {
        #[test]
        fn no_line_panics(header in ".CDX.{0,20}", line in ".{0,60}") {
            for columns in [CdxColumns::parse(&header), Some(CdxColumns::default())].into_iter().flatten() {
                let _ = columns.parse_line(&line);
            }
        }
    }
}
