//! From a revision to a capture, and back from a capture's id to its revision.
//!
//! Ids are made from the number of the revision alone, lowest digits first, so that what people see of an id is the number
//! in hex. They are the same whenever a project is opened, and name nothing outside of it.

use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::{Belongs, Capture, uuid_of};
use varve_core::{BodyId, CaptureId, VersionId};
use varve_crystal::{Result, Revision, RevisionId};

use super::Inner;
use super::body::EMPTY;
use super::moment::time_of;

/// What Crystal itself serves an answer with that had no status, as those of FTP servers.
const NO_STATUS: u16 = 200;

/// The version that a project was when this revision was its newest.
pub(super) fn version_at(revision: RevisionId) -> VersionId {
    VersionId::new(uuid_of(&digest(revision)))
}

/// The revision that was the newest then; none if the id is not one that is made here.
pub(super) fn newest_in(version: &VersionId) -> Option<RevisionId> {
    let revision = number(version.as_bytes());
    (version_at(revision) == *version && revision.get() > 0).then_some(revision)
}

/// The revision that a capture stands for.
pub(super) fn revision_of(capture: &CaptureId) -> RevisionId {
    number(capture.as_bytes())
}

/// The bits of a UUID that say what kind it is are in bytes 6 and 8; the number goes around them.
fn digest(revision: RevisionId) -> [u8; 32] {
    let [a, b, c, d, e, f, g, h] = revision.get().to_be_bytes();
    let mut bytes = [0; 32];
    bytes[..6].copy_from_slice(&[e, f, g, h, c, d]);
    bytes[9..11].copy_from_slice(&[a, b]);
    bytes
}

fn number(bytes: &[u8; 16]) -> RevisionId {
    let [e, f, g, h, c, d, _, _, _, a, b, ..] = *bytes;
    RevisionId(i64::from_be_bytes([a, b, c, d, e, f, g, h]))
}

impl Inner {
    /// A revision as a capture. Its body is read, unless that was done a moment ago.
    pub(super) fn capture(&mut self, url: &str, revision: Revision) -> Result<Capture> {
        let metadata = revision.metadata().ok().flatten();
        let status = match &metadata {
            _ if !revision.has_body() => 0,
            Some(metadata) => u16::try_from(metadata.status_code).unwrap_or(0),
            None => NO_STATUS,
        };
        let headers = metadata.map(|metadata| metadata.wire_headers()).unwrap_or_default();
        let (id, time) = (revision.id, time_of(&self.project, &revision)?);
        let facts = self.examine(revision)?;
        Ok(Capture {
            id: CaptureId::new(uuid_of(&digest(id))),
            belongs: Belongs::Version(version_at(id)),
            url: url.to_owned(),
            path: url.to_owned(),
            time,
            status,
            headers: HeaderView::of(&headers, Redaction::On),
            body: facts.map_or(BodyId::new(EMPTY), |facts| facts.id),
            length: facts.map(|facts| facts.length),
            record: None,
            truncated: facts.is_none() && status != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_number_is_what_people_see_first() {
        assert_eq!(version_at(RevisionId(0x35)).to_string(), "00000035-0000-8000-8000-000000000000");
    }

    proptest! {
        #[test]
        fn ids_lead_back_to_their_revisions(number in 1..i64::MAX) {
            let revision = RevisionId(number);
            prop_assert_eq!(newest_in(&version_at(revision)), Some(revision));
            prop_assert_eq!(revision_of(&CaptureId::new(uuid_of(&digest(revision)))), revision);
        }

        #[test]
        fn other_ids_are_no_versions_here(bytes: [u8; 32]) {
            let version = VersionId::new(uuid_of(&bytes));
            prop_assert_eq!(newest_in(&version).map(version_at).unwrap_or(version), version);
        }
    }
}
