//! The pages to read: URLs, files and standard input, and the URLs in a CSV file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use varve_archive::pages::PageError;
use varve_archive::{ArchiveError, RepositoryError};

use crate::error::Error;
use crate::input::STDIN_ARGUMENT;

/// Maximum number of bytes of a page that is read from a file.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A page to read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ExtractInput {
    /// A page of the web, now or captured.
    Url(String),
    /// A file, or standard input.
    File(String),
}

/// The pages that arguments name, and then those in a column of a CSV file.
pub(super) fn inputs(words: &[String], csv: Option<(&Path, u16)>) -> Result<Vec<ExtractInput>, Error> {
    let input = |word: &String| match is_url(word) {
        true => ExtractInput::Url(word.clone()),
        false => ExtractInput::File(word.clone()),
    };
    let mut inputs: Vec<ExtractInput> = words.iter().map(input).collect();
    if let Some((path, column)) = csv {
        let unreadable = |source| Error::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(unreadable)?;
        inputs.extend(urls_in_csv(file, column).map_err(unreadable)?.into_iter().map(ExtractInput::Url));
    }
    Ok(inputs)
}

fn is_url(word: &str) -> bool {
    let scheme = word.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https"))
}

/// The URLs in a column of a CSV file, which may have a header.
fn urls_in_csv(file: impl Read, column: u16) -> io::Result<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(file);
    let place = usize::from(column).saturating_sub(1);
    let mut urls = Vec::new();
    for record in reader.byte_records() {
        let record = record.map_err(io::Error::other)?;
        let value = record.get(place).and_then(|value| std::str::from_utf8(value).ok()).map(str::trim);
        urls.extend(value.filter(|value| is_url(value)).map(str::to_owned));
    }
    Ok(urls)
}

/// The body in a file, with the type that its name says.
pub(super) fn read_body(path: &str) -> Result<(Vec<u8>, Option<&'static str>), PageError> {
    let unreadable =
        |source| ArchiveError::from(RepositoryError::Read { path: path.to_owned().into(), source });
    let mut body = Vec::new();
    let content_type = match path {
        STDIN_ARGUMENT => {
            io::stdin().lock().take(MAX_FILE_BYTES).read_to_end(&mut body).map_err(unreadable)?;
            None
        }
        path => {
            let file = File::open(path).map_err(unreadable)?;
            file.take(MAX_FILE_BYTES).read_to_end(&mut body).map_err(unreadable)?;
            let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
            match extension.unwrap_or_default().to_ascii_lowercase().as_str() {
                "html" | "htm" | "xhtml" => Some("text/html"),
                "txt" | "text" => Some("text/plain"),
                _ => None,
            }
        }
    };
    Ok((body, content_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_told_from_files() {
        let words = ["https://e.org/a", "HTTP://e.org/", "page.html", "-", "ftp://e.org/"].map(str::to_owned);
        let inputs = inputs(&words, None).unwrap();
        let files = inputs.iter().filter(|input| matches!(input, ExtractInput::File(_))).count();
        assert_eq!((inputs.len(), files), (5, 3));
    }

    #[test]
    fn a_column_of_a_csv_file_has_urls() {
        let text = "name,link\n\"a, b\",https://e.org/1\nshort\nc, https://e.org/2 ,x\nd,none\n";
        let urls = urls_in_csv(text.as_bytes(), 2).unwrap();
        assert_eq!(urls, ["https://e.org/1", "https://e.org/2"]);
        assert!(urls_in_csv(text.as_bytes(), 9).unwrap().is_empty());
    }
}
