//! Converts a revision to a capture, and the id of a capture back to its revision.
//!
//! Ids are derived only from the number of the revision, lowest digits first, so the visible part
//! of an id is the number in hex. They are the same each time a project is opened, and have no
//! meaning outside of it.

use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::{Capture, CaptureOwner, uuid_of};
use varve_core::{BodyId, CaptureId, VersionId};
use varve_crystal::{ResponseMetadata, Result, Revision, RevisionId};

use super::CrystalReaderState;
use super::body::{EMPTY_BODY_ID, has_content_codings};
use super::moment::time_with;

/// The status with which Crystal itself serves a response without one, such as that of an FTP
/// server.
const NO_STATUS: u16 = 200;
/// The status of a response that says that nothing changed.
const NOT_MODIFIED: i64 = 304;

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

/// The revision whose number stands for the id of a body; none for the id of a body that was read.
fn revision_of_body(body: &BodyId) -> Option<RevisionId> {
    let bytes: &[u8; 16] = body.as_bytes().first_chunk()?;
    let revision = number(bytes);
    (revision.get() > 0 && number_as_body(revision) == *body).then_some(revision)
}

/// The body of a revision, as far as it was looked at.
#[derive(Default)]
struct ExaminedBody {
    /// The id and the length of the body that is shown for the revision.
    facts: Option<(BodyId, u64)>,
    /// The length of the revision's own body, as it is stored.
    length: Option<u64>,
}

impl CrystalReaderState {
    /// Converts a revision to a capture without reading its body. The body gets the number of its
    /// revision as id, which [`named`](Self::named) replaces by the real one.
    pub(super) fn unread_capture(&mut self, url: &str, revision: Revision) -> Result<Capture> {
        let metadata = revision.metadata().ok().flatten();
        let mut found = ExaminedBody::default();
        let mut has_codings = false;
        if revision.has_body() {
            let is_not_modified = metadata.as_ref().is_some_and(|found| found.status_code == NOT_MODIFIED);
            let id = match is_not_modified {
                true => {
                    let meant = self.project.resolve(revision.clone())?;
                    has_codings = meant.metadata.as_ref().is_some_and(has_content_codings);
                    meant.revision.id
                }
                false => {
                    has_codings = metadata.as_ref().is_some_and(has_content_codings);
                    revision.id
                }
            };
            let length = self.project.body_length(id)?;
            found.facts = length.map(|length| (number_as_body(id), length));
            found.length = length.filter(|_| !is_not_modified);
        }
        let mut capture = self.described(url, &revision, metadata, &found)?;
        // The decoded length is known only after reading the body.
        capture.length = capture.length.filter(|_| !has_codings);
        Ok(capture)
    }

    /// The id of a capture's body, computed from its bytes.
    pub(super) fn named(&mut self, capture: &Capture) -> Result<BodyId> {
        let Some(id) = revision_of_body(&capture.body) else { return Ok(capture.body) };
        let Some(revision) = self.project.revision(id)? else { return Ok(capture.body) };
        Ok(self.examine(revision)?.map_or(BodyId::new(EMPTY_BODY_ID), |facts| facts.id))
    }

    /// Gives two captures the real ids of their bodies, unless it is known without reading them
    /// whether these are the same.
    pub(super) fn identify(&mut self, base: &mut Capture, head: &mut Capture) -> Result<()> {
        let lengths_differ = matches!((base.length, head.length), (Some(one), Some(other)) if one != other);
        if base.body == head.body || lengths_differ {
            return Ok(());
        }
        base.body = self.named(base)?;
        head.body = self.named(head)?;
        Ok(())
    }

    /// Converts a revision to a capture. Its body is read unless it is cached.
    pub(super) fn capture(&mut self, url: &str, revision: Revision) -> Result<Capture> {
        let metadata = revision.metadata().ok().flatten();
        let facts = self.examine(revision.clone())?.map(|facts| (facts.id, facts.length));
        let is_promised = metadata.as_ref().is_some_and(|found| found.promised_length().is_some());
        let length = match is_promised && revision.has_body() {
            true => self.project.body_length(revision.id)?,
            false => None,
        };
        self.described(url, &revision, metadata, &ExaminedBody { facts, length })
    }

    fn described(
        &self,
        url: &str,
        revision: &Revision,
        metadata: Option<ResponseMetadata>,
        body: &ExaminedBody,
    ) -> Result<Capture> {
        let status = match &metadata {
            _ if !revision.has_body() => 0,
            Some(metadata) => u16::try_from(metadata.status_code).unwrap_or(0),
            None => NO_STATUS,
        };
        let promised = metadata.as_ref().and_then(ResponseMetadata::promised_length);
        let is_cut_short = promised.zip(body.length).is_some_and(|(promised, length)| length < promised);
        let (id, time) = (revision.id, time_with(&self.project, revision, metadata.as_ref())?);
        let headers = metadata.map(|metadata| metadata.wire_headers()).unwrap_or_default();
        let is_lost = body.facts.is_none() && status != 0;
        Ok(Capture {
            id: CaptureId::new(uuid_of(&digest(id))),
            owner: CaptureOwner::Version(version_at(id)),
            url: url.to_owned(),
            path: url.to_owned(),
            time,
            status,
            headers: HeaderView::of(&headers, Redaction::On),
            body: body.facts.map_or(BodyId::new(EMPTY_BODY_ID), |(id, _)| id),
            length: body.facts.map(|(_, length)| length),
            record: None,
            truncated: is_lost || is_cut_short,
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
