//! Converts a revision to a capture, and the id of a capture back to its revision.
//!
//! Ids are derived only from the number of the revision, lowest digits first, so the visible part
//! of an id is the number in hex. They are the same each time a project is opened, and have no
//! meaning outside of it.

use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::{Capture, CaptureOwner, uuid_of};
use varve_core::{BodyId, CaptureId, VersionId};
use varve_crystal::{Result, Revision, RevisionId};

use super::CrystalReaderState;
use super::body::{EMPTY_BODY_ID, has_content_codings};
use super::moment::time_of;

/// The status with which Crystal itself serves a response without one, such as that of an FTP
/// server.
const NO_STATUS: u16 = 200;

/// The version for the state of the project when this revision was its newest.
pub(super) fn version_at(revision: RevisionId) -> VersionId {
    VersionId::new(uuid_of(&digest(revision)))
}

/// The newest revision of a version. `None` if the id was not made by [`version_at`].
pub(super) fn newest_in(version: &VersionId) -> Option<RevisionId> {
    let revision = number(version.as_bytes());
    (version_at(revision) == *version && revision.get() > 0).then_some(revision)
}

/// The revision of a capture.
pub(super) fn revision_of(capture: &CaptureId) -> RevisionId {
    number(capture.as_bytes())
}

/// Spreads the number around bytes 6 and 8, which hold the version and variant bits of a UUID.
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

/// A placeholder for the id of a body that was not read. No known digest has this form, a number
/// followed by zeros.
fn number_as_body(revision: RevisionId) -> BodyId {
    BodyId::new(digest(revision))
}

impl CrystalReaderState {
    /// Converts a revision to a capture without reading its body, unless the body must be compared.
    /// The only revision of a URL gets its own number as body id, since it has nothing to be
    /// compared with. [`named`](Self::named) computes the real id.
    pub(super) fn unread_capture(&mut self, url: &str, revision: Revision) -> Result<Capture> {
        let has_others = revision.has_body() && !self.project.is_only_revision(&revision)?;
        self.unread_capture_among(url, revision, has_others)
    }

    /// The same, where it is known whether the URL has other revisions.
    pub(super) fn unread_capture_among(
        &mut self,
        url: &str,
        revision: Revision,
        has_others: bool,
    ) -> Result<Capture> {
        if revision.has_body() && !has_others {
            let (id, has_codings) = (revision.id, has_content_codings(&revision));
            let facts = self.project.body_length(id)?.map(|length| (number_as_body(id), length));
            let mut capture = self.described(url, revision, facts)?;
            // The decoded length is known only after reading the body.
            capture.length = capture.length.filter(|_| !has_codings);
            return Ok(capture);
        }
        self.capture(url, revision)
    }

    /// The id of a capture's body, computed from its bytes.
    pub(super) fn named(&mut self, capture: &Capture) -> Result<BodyId> {
        let id = revision_of(&capture.id);
        if capture.body != number_as_body(id) {
            return Ok(capture.body);
        }
        let Some(revision) = self.project.revision(id)? else { return Ok(capture.body) };
        Ok(self.examine(revision)?.map_or(BodyId::new(EMPTY_BODY_ID), |facts| facts.id))
    }

    /// Converts a revision to a capture. Its body is read unless it is cached.
    pub(super) fn capture(&mut self, url: &str, revision: Revision) -> Result<Capture> {
        let facts = self.examine(revision.clone())?.map(|facts| (facts.id, facts.length));
        self.described(url, revision, facts)
    }

    fn described(&self, url: &str, revision: Revision, facts: Option<(BodyId, u64)>) -> Result<Capture> {
        let metadata = revision.metadata().ok().flatten();
        let status = match &metadata {
            _ if !revision.has_body() => 0,
            Some(metadata) => u16::try_from(metadata.status_code).unwrap_or(0),
            None => NO_STATUS,
        };
        let headers = metadata.map(|metadata| metadata.wire_headers()).unwrap_or_default();
        let (id, time) = (revision.id, time_of(&self.project, &revision)?);
        let is_lost = facts.is_none() && status != 0;
        Ok(Capture {
            id: CaptureId::new(uuid_of(&digest(id))),
            owner: CaptureOwner::Version(version_at(id)),
            url: url.to_owned(),
            path: url.to_owned(),
            time,
            status,
            headers: HeaderView::of(&headers, Redaction::On),
            body: facts.map_or(BodyId::new(EMPTY_BODY_ID), |(id, _)| id),
            length: facts.map(|(_, length)| length),
            record: None,
            truncated: is_lost || self.project.is_cut_short(&revision)?,
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
