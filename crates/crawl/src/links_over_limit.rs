//! The links of a response beyond the number that is followed.
//!
//! They are reported one by one and not fetched. A page may have hundreds of thousands, so they are in
//! memory up to a limit and then in a temporary file, which has no name. A link whose URL cannot be
//! written is still counted.

use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};

use varve_file::SpooledFile;

/// URLs that are in memory, in bytes.
const MAX_MEMORY_BYTES: usize = 256 << 10;

/// Links that are counted and, as far as possible, listed.
#[derive(Debug, Default)]
pub(crate) struct LinksOverLimit {
    count: u64,
    /// The URLs, each on a line. A URL has no line break.
    urls: Option<SpooledFile>,
    failure: Option<io::Error>,
}

impl LinksOverLimit {
    /// Adds a link.
    pub(crate) fn push(&mut self, url: &str) {
        self.count += 1;
        if self.failure.is_some() {
            return;
        }
        let urls = self.urls.get_or_insert_with(|| SpooledFile::new(MAX_MEMORY_BYTES, None));
        self.failure = writeln!(urls, "{url}").err();
    }

    /// Adds the links of another part of the same response.
    pub(crate) fn append(&mut self, more: Self) {
        let (count, before) = (more.count, self.count);
        let read = more.for_each(|url| self.push(url));
        self.count = before + count;
        self.failure = self.failure.take().or(read.err());
    }

    /// The number of links.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Calls `each` with the URLs. Fails if some of them could not be kept.
    pub(crate) fn for_each(self, mut each: impl FnMut(&str)) -> io::Result<()> {
        if let Some(mut urls) = self.urls {
            urls.seek(SeekFrom::Start(0))?;
            for url in BufReader::new(urls).lines() {
                each(&url?);
            }
        }
        self.failure.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_come_back_in_order_also_when_they_are_too_many_for_memory() {
        let url = |number: usize| format!("http://h/{number}/{}", "x".repeat(100));
        let (mut all, mut more) = (LinksOverLimit::default(), LinksOverLimit::default());
        (0..3000).for_each(|number| all.push(&url(number)));
        (3000..6000).for_each(|number| more.push(&url(number)));
        all.append(more);
        assert_eq!(all.count(), 6000);
        assert!(all.urls.as_ref().is_some_and(SpooledFile::is_in_file));
        let mut number = 0;
        all.for_each(|found| {
            assert_eq!(found, url(number));
            number += 1;
        })
        .unwrap();
        assert_eq!(number, 6000);
    }
}
