//! When a revision was downloaded, as far as a project can say.
//!
//! There is no time in a row but the `Date` of the answer. A download that failed has none; it came after the revision
//! before it, so that one's time is the best that can be said, and it keeps lists in their order.

use varve_core::Moment;
use varve_crystal::{Project, Result, Revision, RevisionId};

/// So many older revisions are asked for a time.
const LOOK_BACK: usize = 64;

/// When a revision was downloaded: its own time, or that of the nearest one before it, or the beginning of 1970.
pub fn time_of(project: &Project, revision: &Revision) -> Result<Moment> {
    if let Some(time) = own_time(revision) {
        return Ok(time);
    }
    let before = RevisionId(revision.id.get().saturating_sub(1));
    for older in project.revisions_down_from(before).take(LOOK_BACK) {
        match older {
            Ok(older) => {
                if let Some(time) = own_time(&older) {
                    return Ok(time);
                }
            }
            // A row that cannot be understood says nothing about time.
            Err(varve_crystal::Error::Row(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Moment::from_seconds(0))
}

fn own_time(revision: &Revision) -> Option<Moment> {
    Some(Moment::from_seconds(revision.metadata().ok().flatten()?.fetched_at()?.timestamp()))
}
