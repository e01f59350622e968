//! Compares the stored diffs of a site with their versions.
//!
//! A diff that varve wrote must equal the one computed now. Moku compares characters slightly
//! differently, times out after a second and omits removed pages. For its diffs, the audit only
//! looks for the text of each chunk at the position that the chunk names.

use std::collections::HashMap;
use varve_repository::RepositoryError;

use varve_core::VersionId;
use varve_core::body::BodySource;
use varve_core::headers::Redaction;
use varve_diff::text::{ChunkKind, DiffChunk, VersionDiff};
use varve_store::audit::{AuditFinding, AuditKind};

use super::finding;
use varve_repository::history::MAX_COMPARED_BYTES;
use varve_repository::history::{
    CapturePair, CapturePairs, HistoryReader, HostPairing, LoadedPage, MokuHistoryReader,
    STATUS_NOT_MODIFIED, stored_diff,
};

/// Checks every diff. Diffs with missing versions are reported with the rows.
pub(super) fn diffs(
    site: &MokuHistoryReader,
    tell: &mut dyn FnMut(AuditFinding),
) -> Result<(), RepositoryError> {
    for number in site.moku().diff_numbers()? {
        let Some(row) = site.moku().diff_row(number)? else { continue };
        let Some((base, head)) = ends(site, &row.base, &row.head)? else { continue };
        let about = AuditedDiff { base, head };
        let wrong = match VersionDiff::parse(&row.json) {
            Err(error) => Some(format!("is not a valid diff: {error}")),
            Ok(kept) => about.contradiction(site, &kept, row.is_ours)?.map(str::to_owned),
        };
        if let Some(wrong) = wrong {
            tell(finding(AuditKind::Derived, Some(&row.head), about.sentence(&wrong)));
        }
    }
    Ok(())
}

/// The versions of a diff; `None` unless both exist.
fn ends(
    site: &MokuHistoryReader,
    base: &str,
    head: &str,
) -> Result<Option<(Option<VersionId>, VersionId)>, RepositoryError> {
    let there = |text: &str| -> Result<Option<VersionId>, RepositoryError> {
        let Ok(id) = text.parse() else { return Ok(None) };
        Ok(site.catalog().version(&id)?.map(|info| info.version.id))
    };
    let Some(head) = there(head)? else { return Ok(None) };
    if base.is_empty() {
        return Ok(Some((None, head)));
    }
    Ok(there(base)?.map(|base| (Some(base), head)))
}

/// The two versions of a diff.
struct AuditedDiff {
    base: Option<VersionId>,
    head: VersionId,
}

impl AuditedDiff {
    /// The finding as a sentence, with the remedy.
    fn sentence(&self, wrong: &str) -> String {
        let Self { base, head } = self;
        match base {
            Some(base) => format!(
                "the diff of {base} and {head} {wrong}; `varve diff {base} {head} --keep` computes it again"
            ),
            None => format!("the diff of nothing and {head} {wrong}; it can be deleted, nothing needs it"),
        }
    }

    /// How the diff contradicts its versions, if it does and all their bodies are present.
    fn contradiction(
        &self,
        site: &MokuHistoryReader,
        kept: &VersionDiff,
        is_ours: bool,
    ) -> Result<Option<&'static str>, RepositoryError> {
        let pairs = CapturePairs::new(site.catalog(), self.base, Some(self.head))
            .with_hosts(HostPairing::OnlyAtPath)
            .collect::<Result<Vec<_>, _>>();
        let judged = pairs.and_then(|pairs| match (is_ours, can_tell(site, &pairs)?) {
            (_, false) => Ok(None),
            (true, true) => {
                let stands = self.is_computed(site, &pairs, kept)?;
                Ok((!stands).then_some("differs from the diff computed now"))
            }
            (false, true) => {
                let stands = stands_there(&site.into(), &pairs, kept)?;
                Ok((!stands).then_some("contains text that is not in its versions"))
            }
        });
        match judged {
            // Damage is reported where it is found.
            Err(RepositoryError::Body(_) | RepositoryError::Catalog(_)) => Ok(None),
            judged => judged,
        }
    }

    /// Whether the diff equals the one computed now, with or without redaction, which may have been
    /// switched since.
    fn is_computed(
        &self,
        site: &MokuHistoryReader,
        pairs: &[CapturePair],
        kept: &VersionDiff,
    ) -> Result<bool, RepositoryError> {
        for redaction in [Redaction::On, Redaction::Off] {
            let pairs = pairs.iter().cloned().map(Ok);
            if stored_diff(&site.into(), redaction, (self.base, self.head), pairs)? == *kept {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether all bodies are present. The headers of a 304 response may belong to a version that was
/// removed.
fn can_tell(site: &MokuHistoryReader, pairs: &[CapturePair]) -> Result<bool, RepositoryError> {
    let pages = || pairs.iter().flat_map(|pair| [&pair.base, &pair.head]).flatten();
    if pages().any(|page| page.status == STATUS_NOT_MODIFIED) {
        return Ok(false);
    }
    let bodies: Vec<_> = pages().map(|page| page.body).collect();
    Ok(site.bodies().have_bodies(&bodies)?.into_iter().all(|is_here| is_here))
}

/// Whether each chunk is found at its position. Skips pages that share a path, which cannot be told
/// apart, and non-ASCII text, whose characters Moku counts differently.
fn stands_there(
    history: &HistoryReader,
    pairs: &[CapturePair],
    kept: &VersionDiff,
) -> Result<bool, RepositoryError> {
    let mut by_path: HashMap<&str, Vec<&CapturePair>> = HashMap::new();
    for pair in pairs {
        by_path.entry(pair.any().path.trim_start_matches('/')).or_default().push(pair);
    }
    for file in &kept.files {
        let Some([pair]) = by_path.get(file.file_path.trim_start_matches('/')).map(Vec::as_slice) else {
            continue;
        };
        let base = LoadedPage::of(history, pair.base.as_ref(), MAX_COMPARED_BYTES)?.body;
        let head = LoadedPage::of(history, pair.head.as_ref(), MAX_COMPARED_BYTES)?.body;
        let is_plain = base.is_ascii() && head.is_ascii();
        if is_plain && !file.body_diff.chunks.iter().all(|chunk| stands(chunk, &base, &head)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn stands(chunk: &DiffChunk, base: &[u8], head: &[u8]) -> bool {
    let (side, start, length) = match chunk.kind {
        ChunkKind::Removed => (base, chunk.base_start, chunk.base_len),
        ChunkKind::Added => (head, chunk.head_start, chunk.head_len),
        ChunkKind::Changed | ChunkKind::Moved => return true,
    };
    // Early diffs have no positions.
    if length == 0 {
        return true;
    }
    let there = start.checked_add(length).and_then(|end| side.get(start..end));
    there.is_some_and(|there| there.starts_with(chunk.content.as_bytes()))
}
