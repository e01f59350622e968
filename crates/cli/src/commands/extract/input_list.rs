//! The pages to read: URLs, files and standard input, and the URLs in a CSV file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use varve_archive::pages::PageError;
use varve_archive::{ArchiveError, RepositoryError};

use crate::error::Error;
use crate::input::STDIN_ARGUMENT;
use crate::printer::visible;

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

/// The pages that arguments name. A word is refused before anything is fetched if it is no URL and no
/// file has that name: most likely its scheme is missing.
pub(super) fn of_words(words: &[String]) -> Result<Vec<ExtractInput>, Error> {
    let input = |word: &String| match is_url(word) {
        true => Ok(ExtractInput::Url(word.clone())),
        false if word == STDIN_ARGUMENT || Path::new(word).exists() => Ok(ExtractInput::File(word.clone())),
        false => {
            let message = format!(
                "`{}` is no file, and no URL: a URL begins with `https://` or `http://`\n",
                visible(word)
            );
            Err(clap::Error::raw(clap::error::ErrorKind::ValueValidation, message).into())
        }
    };
    words.iter().map(input).collect()
}

/// Inputs that are read together.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputGroup<'a> {
    Urls(Vec<&'a str>),
    File(&'a str),
}

/// Inputs in their order, with at most `limit` consecutive URLs in a group.
pub(super) fn in_groups(inputs: &[ExtractInput], limit: usize) -> Vec<InputGroup<'_>> {
    let mut groups: Vec<InputGroup<'_>> = Vec::new();
    for input in inputs {
        match (input, groups.last_mut()) {
            (ExtractInput::Url(url), Some(InputGroup::Urls(urls))) if urls.len() < limit => urls.push(url),
            (ExtractInput::Url(url), _) => groups.push(InputGroup::Urls(vec![url])),
            (ExtractInput::File(path), _) => groups.push(InputGroup::File(path)),
        }
    }
    groups
}

/// The URLs in a column of a CSV file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CsvColumn {
    pub(super) urls: Vec<String>,
    /// Number of lines whose value is no URL.
    pub(super) passed_over: u64,
}

/// Reads a column of a CSV file, counted from 1.
pub(super) fn csv_column(path: &Path, column: u16) -> Result<CsvColumn, Error> {
    let unreadable = |source| Error::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    urls_in_csv(file, column).map_err(unreadable)
}

fn is_url(word: &str) -> bool {
    let scheme = word.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https"))
}

/// The file may have a header.
fn urls_in_csv(file: impl Read, column: u16) -> io::Result<CsvColumn> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(file);
    let place = usize::from(column).saturating_sub(1);
    let mut found = CsvColumn { urls: Vec::new(), passed_over: 0 };
    for record in reader.byte_records() {
        let record = record.map_err(io::Error::other)?;
        let value = record.get(place).and_then(|value| std::str::from_utf8(value).ok()).map(str::trim);
        match value.filter(|value| is_url(value)) {
            Some(url) => found.urls.push(url.to_owned()),
            None => found.passed_over += 1,
        }
    }
    Ok(found)
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
        let file = tempfile::NamedTempFile::new().unwrap();
        let words =
            ["https://e.org/a", "HTTP://e.org/", file.path().to_str().unwrap(), "-"].map(str::to_owned);
        let inputs = of_words(&words).unwrap();
        let files = inputs.iter().filter(|input| matches!(input, ExtractInput::File(_))).count();
        assert_eq!((inputs.len(), files), (4, 2));
        for word in ["example.com/a", "ftp://e.org/", "no such file"] {
            let message = of_words(&[word.to_owned()]).unwrap_err().to_string();
            assert!(message.contains(word) && message.contains("https://"), "{message}");
        }
    }

    #[test]
    fn groups_keep_the_order_and_have_a_limit() {
        let url = |name: &str| ExtractInput::Url(name.to_owned());
        let inputs = [url("a"), url("b"), url("c"), ExtractInput::File("f".to_owned()), url("d")];
        let urls = |names: &[&'static str]| InputGroup::Urls(names.to_vec());
        let wanted = [urls(&["a", "b"]), urls(&["c"]), InputGroup::File("f"), urls(&["d"])];
        assert_eq!(in_groups(&inputs, 2), wanted);
    }

    #[test]
    fn a_column_of_a_csv_file_has_urls() {
        let text = "name,link\n\"a, b\",https://e.org/1\nshort\nc, https://e.org/2 ,x\nd,none\n";
        let urls = ["https://e.org/1", "https://e.org/2"].map(str::to_owned).to_vec();
        assert_eq!(urls_in_csv(text.as_bytes(), 2).unwrap(), CsvColumn { urls, passed_over: 3 });
        assert!(urls_in_csv(text.as_bytes(), 9).unwrap().urls.is_empty());
    }
}
