//! The download time of a revision, as far as a project records it.
//!
//! The only time in a row is the `Date` header of the response. A failed download has none. It came
//! after the revision before it, so the time of that revision is the best estimate, and it
//! preserves the order of lists.

use varve_core::Moment;
use varve_crystal::{Project, ResponseMetadata, Result, Revision, RevisionId};

/// Maximum number of older revisions searched for a time.
const LOOK_BACK: usize = 64;

/// The download time of a revision: its own time, that of the nearest earlier revision, or the
/// start of 1970.
pub fn time_of(project: &Project, revision: &Revision) -> Result<Moment> {
    time_with(project, revision, revision.metadata().ok().flatten().as_ref())
}

/// The same, where the metadata of the revision was read before.
pub(super) fn time_with(
    project: &Project,
    revision: &Revision,
    metadata: Option<&ResponseMetadata>,
) -> Result<Moment> {
    if let Some(time) = metadata.and_then(stated_time) {
        return Ok(time);
    }
    // One row at a time: the first one nearly always has a time.
    let mut before = revision.id;
    for _ in 0..LOOK_BACK {
        match project.revision_before(before) {
            Ok(Some(older)) => match own_time(&older) {
                Some(time) => return Ok(time),
                None => before = older.id,
            },
            Ok(None) => break,
            // An unreadable row has no time.
            Err(varve_crystal::Error::Row(row)) => before = RevisionId(row.id.min(before.get() - 1)),
            Err(error) => return Err(error),
        }
    }
    Ok(Moment::from_seconds(0))
}

/// The time that the response itself states.
pub(super) fn own_time(revision: &Revision) -> Option<Moment> {
    stated_time(&revision.metadata().ok().flatten()?)
}

fn stated_time(metadata: &ResponseMetadata) -> Option<Moment> {
    Some(Moment::from_seconds(metadata.fetched_at()?.timestamp()))
}
