//! Writes the content of an index as lines, in an order that depends only on the captures. Two indexes
//! find the same if their dumps are equal, however they were made.

use data_encoding::HEXLOWER;
use varve_core::history::ListCursor;
use varve_core::search_index::SearchIndexRead;

use super::page_parts::texts_of_records;
use crate::error::RepositoryError;

/// Number of pages that are read at once.
const PAGES_PER_QUERY: usize = 500;

/// Calls `each` with every text of every page.
pub fn dump_search_index(
    index: &dyn SearchIndexRead,
    each: &mut dyn FnMut(&str),
) -> Result<(), RepositoryError> {
    let mut after: Option<String> = None;
    loop {
        let cursor = ListCursor { after: after.as_deref(), limit: PAGES_PER_QUERY };
        let pages = index.pages(cursor)?;
        let Some(last) = pages.last() else { return Ok(()) };
        for page in &pages {
            let records = index.page(page)?.map(|page| page.records).unwrap_or_default();
            let mut lines = Vec::new();
            for texts in texts_of_records(&records)? {
                lines.extend(texts.texts().iter().map(|text| {
                    let passages: Vec<_> = texts.passages_of(text).collect();
                    format!("{page} {} {:?} {passages:?}", HEXLOWER.encode(&text.key), text.kind)
                }));
            }
            let declared = index.declarations_of(page)?;
            lines.extend(declared.iter().map(|one| format!("{page} {:?} {}", one.kind, one.target)));
            lines.sort();
            lines.iter().for_each(|line| each(line));
        }
        after = Some(last.clone());
    }
}
