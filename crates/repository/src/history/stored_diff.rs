//! The diff of two versions as a row of `diffs` holds it: every page of the head, in the format
//! that Moku reads.
//!
//! A diff can be recomputed at any time. It is stored where a user asks for it, and in a Moku site
//! with every version, because Moku does so. Chunks have offsets, which the attributions of a score
//! refer to. Removed pages are included, although Moku itself leaves them out.

use std::borrow::Borrow;

use varve_core::VersionId;
use varve_core::headers::{HeaderView, Redaction};
use varve_diff::headers::HeaderDiff;
use varve_diff::text::{BodyDiff, StoredPageDiff, VersionDiff, moku};

use super::MAX_COMPARED_BYTES;
use super::loaded_page::LoadedPage;
use super::{CapturePair, HistoryReader, PageChange};
use crate::error::RepositoryError;

/// Builds the row for two versions whose pages are these pairs. Sensitive values stored before
/// `redaction` was switched on are redacted as well.
pub fn stored_diff(
    history: &HistoryReader,
    redaction: Redaction,
    (base, head): (Option<VersionId>, VersionId),
    pairs: impl Iterator<Item = Result<impl Borrow<CapturePair>, RepositoryError>>,
) -> Result<VersionDiff, RepositoryError> {
    let (base, head) = (base.map(|base| base.to_string()).unwrap_or_default(), head.to_string());
    let names = DiffNames { base, head, redaction, is_whole: false };
    names.diff(history, pairs)
}

/// Like [`stored_diff`], for a diff that is made as a side effect. Returns `None` if a body is
/// damaged or missing: a diff without it would report no change. The caller's own operation must
/// not fail because of the diff.
pub fn whole_stored_diff(
    history: &HistoryReader,
    redaction: Redaction,
    (base, head): (VersionId, VersionId),
    pairs: impl Iterator<Item = Result<impl Borrow<CapturePair>, RepositoryError>>,
) -> Result<Option<VersionDiff>, RepositoryError> {
    let names = DiffNames { base: base.to_string(), head: head.to_string(), redaction, is_whole: true };
    match names.diff(history, pairs) {
        Err(RepositoryError::Body(_) | RepositoryError::Absent { .. }) => Ok(None),
        made => made.map(Some),
    }
}

/// Maximum text in one row. Diffs can be recomputed, and a reader of a row always loads all of it.
const MAX_DIFF_TEXT_BYTES: usize = 16 << 20;

struct DiffNames {
    base: String,
    head: String,
    redaction: Redaction,
    /// A missing body is an error.
    is_whole: bool,
}

impl DiffNames {
    fn diff(
        self,
        history: &HistoryReader,
        pairs: impl Iterator<Item = Result<impl Borrow<CapturePair>, RepositoryError>>,
    ) -> Result<VersionDiff, RepositoryError> {
        let (mut files, mut room) = (Vec::new(), MAX_DIFF_TEXT_BYTES);
        for pair in pairs {
            let mut page = self.page(history, pair?.borrow())?;
            let text = page.body_diff.chunks.iter().map(|chunk| chunk.content.len()).sum();
            match room.checked_sub(text) {
                Some(left) => room = left,
                // The row states that the page differs, but not how: that can be recomputed.
                None => {
                    page.body_diff = BodyDiff { truncated: true, ..BodyDiff::new(&*self.base, &*self.head) }
                }
            }
            files.push(page);
        }
        Ok(VersionDiff { base_version_id: self.base, head_version_id: self.head, files })
    }

    fn page(&self, history: &HistoryReader, pair: &CapturePair) -> Result<StoredPageDiff, RepositoryError> {
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
        let base = LoadedPage::of(history, pair.base.as_ref(), MAX_COMPARED_BYTES)?;
        let head = LoadedPage::of(history, pair.head.as_ref(), MAX_COMPARED_BYTES)?;
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
