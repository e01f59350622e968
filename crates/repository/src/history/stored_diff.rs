//! The diff of two versions as a row of `diffs` holds it: every page of the head, in the shape that Moku reads.
//!
//! It can be computed again at any time, and is kept where people ask for it, and in a Moku site with every version,
//! because Moku does so. Chunks have offsets: attributions of a score count them. Pages that are gone are told as well,
//! which Moku itself leaves out.

use varve_core::VersionId;
use varve_core::headers::{HeaderView, Redaction};
use varve_diff::headers::HeaderDiff;
use varve_diff::text::{BodyDiff, StoredPageDiff, VersionDiff, moku};

use super::MAX_COMPARED_BYTES;
use super::loaded_page::LoadedPage;
use super::{CapturePair, HistoryReader, PageChange};
use crate::error::RepositoryError;

/// The row for two versions whose pages are these pairs. What was kept before `redaction` is hidden in it as well.
pub fn stored_diff(
    holdings: &dyn HistoryReader,
    redaction: Redaction,
    (base, head): (Option<VersionId>, VersionId),
    pairs: impl Iterator<Item = Result<CapturePair, RepositoryError>>,
) -> Result<VersionDiff, RepositoryError> {
    let (base, head) = (base.map(|base| base.to_string()).unwrap_or_default(), head.to_string());
    let names = DiffNames { base, head, redaction, is_whole: false };
    names.diff(holdings, pairs)
}

/// The same where nobody asked for it and it is made by the way; none where a body that it is about is damaged or not here: a
/// diff without it would say that nothing changed, and whoever makes it has other things to do that must not fail for it.
pub fn whole_stored_diff(
    holdings: &dyn HistoryReader,
    redaction: Redaction,
    (base, head): (VersionId, VersionId),
    pairs: impl Iterator<Item = Result<CapturePair, RepositoryError>>,
) -> Result<Option<VersionDiff>, RepositoryError> {
    let names = DiffNames { base: base.to_string(), head: head.to_string(), redaction, is_whole: true };
    match names.diff(holdings, pairs) {
        Err(RepositoryError::Body(_) | RepositoryError::Absent { .. }) => Ok(None),
        made => made.map(Some),
    }
}

/// No more text than this stands in one row: a database is no place for what can be computed, and whoever reads a row reads
/// all of it.
const MOST_TEXT: usize = 16 << 20;

struct DiffNames {
    base: String,
    head: String,
    redaction: Redaction,
    /// A body that is not here is an error.
    is_whole: bool,
}

impl DiffNames {
    fn diff(
        self,
        holdings: &dyn HistoryReader,
        pairs: impl Iterator<Item = Result<CapturePair, RepositoryError>>,
    ) -> Result<VersionDiff, RepositoryError> {
        let (mut files, mut room) = (Vec::new(), MOST_TEXT);
        for pair in pairs {
            let mut page = self.page(holdings, &pair?)?;
            let text = page.body_diff.chunks.iter().map(|chunk| chunk.content.len()).sum();
            match room.checked_sub(text) {
                Some(left) => room = left,
                // Told that it differs, and not how: that can be computed.
                None => {
                    page.body_diff = BodyDiff { truncated: true, ..BodyDiff::new(&*self.base, &*self.head) }
                }
            }
            files.push(page);
        }
        Ok(VersionDiff { base_version_id: self.base, head_version_id: self.head, files })
    }

    fn page(
        &self,
        holdings: &dyn HistoryReader,
        pair: &CapturePair,
    ) -> Result<StoredPageDiff, RepositoryError> {
        let file_path = pair.any().path.clone();
        let nothing = BodyDiff::new(&*self.base, &*self.head);
        if pair.change() == PageChange::Unchanged {
            let headers = pair.head.as_ref().map(|head| self.headers(&head.headers, &head.headers));
            return Ok(StoredPageDiff {
                file_path,
                body_diff: nothing,
                headers_diff: headers.unwrap_or_default(),
            });
        }
        let sides = [&pair.base, &pair.head];
        let base = LoadedPage::of(holdings, pair.base.as_ref(), MAX_COMPARED_BYTES)?;
        let head = LoadedPage::of(holdings, pair.head.as_ref(), MAX_COMPARED_BYTES)?;
        if self.is_whole && (base.is_bodiless() || head.is_bodiless()) {
            return Err(RepositoryError::Absent { id: pair.any().body.to_string() });
        }
        let is_long = sides.into_iter().flatten().any(|page| page.length.unwrap_or(0) > MAX_COMPARED_BYTES);
        let body_diff = match is_long || base.is_bodiless() || head.is_bodiless() {
            true => BodyDiff { truncated: true, ..nothing },
            false => moku::body_diff(&self.base, &self.head, &base.body, &head.body),
        };
        Ok(StoredPageDiff { file_path, body_diff, headers_diff: self.headers(&base.headers, &head.headers) })
    }

    fn headers(&self, base: &HeaderView, head: &HeaderView) -> HeaderDiff {
        HeaderDiff::between(&base.shown(self.redaction), &head.shown(self.redaction))
    }
}
