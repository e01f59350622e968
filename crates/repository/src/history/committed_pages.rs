//! The pages of a commit, sorted by path and URL, in bounded memory.
//!
//! Pages arrive in the order of files or of a list, and are compared with a state in the order of
//! paths. A limited number is held; beyond it they are sorted in parts, which go to a temporary file
//! and are merged when they are read.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use varve_core::fact::ManifestPage;

use crate::error::RepositoryError;

/// Number of pages in memory.
const MAX_HELD_PAGES: usize = 20_000;
/// Number of bytes that are read of a part at a time.
const PART_BUFFER_BYTES: usize = 32 << 10;

/// What a commit says about a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommittedPage {
    /// It has this page.
    Page(ManifestPage),
    /// The file of the page is not there any more.
    Missing {
        /// Its URL.
        url: String,
        /// Its path.
        path: String,
    },
}

impl CommittedPage {
    /// The path of the page.
    pub fn path(&self) -> &str {
        self.place().0
    }

    /// The path and the URL; a page comes before a missing one.
    fn place(&self) -> (&str, &str, bool) {
        match self {
            Self::Page(page) => (&page.path, &page.url, false),
            Self::Missing { url, path } => (path, url, true),
        }
    }
}

/// The pages of a commit, in any order.
#[derive(Default)]
pub struct CommittedPages {
    held: Vec<CommittedPage>,
    parts: Vec<SortedPart>,
    file: Option<BufWriter<File>>,
    /// The end of the used part of the file.
    end: u64,
    /// The number of pages in the file.
    written: u64,
}

/// The place of a sorted part in the file.
#[derive(Clone, Copy)]
struct SortedPart {
    start: u64,
    end: u64,
}

impl CommittedPages {
    /// The number of pages.
    pub fn count(&self) -> u64 {
        self.written + self.held.len() as u64
    }

    /// Adds a page.
    pub fn add(&mut self, page: CommittedPage) -> Result<(), RepositoryError> {
        self.held.push(page);
        if self.held.len() < MAX_HELD_PAGES {
            return Ok(());
        }
        self.write_part().map_err(RepositoryError::write(&std::env::temp_dir()))
    }

    fn sort(&mut self) {
        self.held.sort_by(|one, other| one.place().cmp(&other.place()));
    }

    fn write_part(&mut self) -> io::Result<()> {
        self.sort();
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(BufWriter::new(tempfile::tempfile()?)),
        };
        let start = self.end;
        self.written += self.held.len() as u64;
        for page in self.held.drain(..) {
            let json = serde_json::to_vec(&page)?;
            let length = u32::try_from(json.len()).map_err(io::Error::other)?;
            file.write_all(&length.to_le_bytes())?;
            file.write_all(&json)?;
            self.end += u64::from(length) + size_of::<u32>() as u64;
        }
        self.parts.push(SortedPart { start, end: self.end });
        Ok(())
    }

    /// The pages by path and URL.
    pub fn sorted(mut self) -> Result<SortedPages, RepositoryError> {
        self.sort();
        let file = self.file.map(|file| file.into_inner().map_err(io::IntoInnerError::into_error));
        let file = file.transpose().map_err(RepositoryError::write(&std::env::temp_dir()))?.map(Rc::new);
        let reader = |part: &SortedPart| file.clone().map(|file| PartReader::new(file, *part));
        let readers: Vec<PartReader> = self.parts.iter().filter_map(reader).collect();
        let mut sorted = SortedPages { held: self.held.into_iter(), readers, next: BinaryHeap::new() };
        for source in 0..=sorted.readers.len() {
            sorted.advance(source)?;
        }
        Ok(sorted)
    }
}

/// The pages of a commit, by path and URL.
pub struct SortedPages {
    held: std::vec::IntoIter<CommittedPage>,
    readers: Vec<PartReader>,
    /// The next page of each source. The last source is `held`.
    next: BinaryHeap<Reverse<NextPage>>,
}

struct NextPage {
    page: CommittedPage,
    source: usize,
}

impl NextPage {
    fn order(&self) -> ((&str, &str, bool), usize) {
        (self.page.place(), self.source)
    }
}

impl Ord for NextPage {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for NextPage {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for NextPage {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for NextPage {}

impl SortedPages {
    fn advance(&mut self, source: usize) -> Result<(), RepositoryError> {
        let page = match self.readers.get_mut(source) {
            Some(part) => part.read().map_err(RepositoryError::read(&std::env::temp_dir()))?,
            None => self.held.next(),
        };
        self.next.extend(page.map(|page| Reverse(NextPage { page, source })));
        Ok(())
    }

    fn fetch(&mut self) -> Result<Option<CommittedPage>, RepositoryError> {
        let Some(Reverse(NextPage { page, source })) = self.next.pop() else { return Ok(None) };
        self.advance(source)?;
        Ok(Some(page))
    }
}

impl Iterator for SortedPages {
    type Item = Result<CommittedPage, RepositoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.fetch().transpose()
    }
}

/// Reads a sorted part of the file.
struct PartReader(io::Take<BufReader<FileFrom>>);

/// A file from a place on.
struct FileFrom {
    file: Rc<File>,
    place: u64,
}

impl Read for FileFrom {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.place)?;
        self.place += count as u64;
        Ok(count)
    }
}

impl PartReader {
    fn new(file: Rc<File>, part: SortedPart) -> Self {
        let from = FileFrom { file, place: part.start };
        Self(BufReader::with_capacity(PART_BUFFER_BYTES, from).take(part.end - part.start))
    }

    fn read(&mut self) -> io::Result<Option<CommittedPage>> {
        if self.0.limit() == 0 {
            return Ok(None);
        }
        let mut length = [0; size_of::<u32>()];
        self.0.read_exact(&mut length)?;
        let mut json = vec![0; u32::from_le_bytes(length) as usize];
        self.0.read_exact(&mut json)?;
        Ok(Some(serde_json::from_slice(&json)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(number: usize) -> CommittedPage {
        CommittedPage::Missing { url: format!("https://e.org/{number}"), path: format!("/{number:08}") }
    }

    #[test]
    fn any_number_of_pages_comes_out_in_order() {
        for count in [0, 1, MAX_HELD_PAGES, 3 * MAX_HELD_PAGES + 1] {
            let mut pages = CommittedPages::default();
            // A step that shares no factor with the count visits each number once.
            let numbers = (0..count).map(|number| number * 7_919 % count);
            numbers.for_each(|number| pages.add(missing(number)).expect("room"));
            assert!(pages.held.len() < MAX_HELD_PAGES);
            let sorted: Vec<_> = pages.sorted().expect("merged").map(|page| page.expect("read")).collect();
            assert_eq!(sorted, (0..count).map(missing).collect::<Vec<_>>());
        }
    }
}
