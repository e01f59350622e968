//! Copies records to new silos with their ids.

use std::io::{BufRead, Read};

use varve_core::RecordId;
use varve_warc::payload::PayloadKind;
use varve_warc::record::{RecordHeader, RecordType};
use varve_warc::write::{Draft, OWN_FIELDS, RecordUri, RecordUriError, pack_reader};

use super::SiloRewriter;
use crate::error::{StoreError, parse_record_uri};
use crate::exchange::is_fact;
use crate::record::{parse_id, record_uri};
use crate::writer::NewObject;

pub(super) const CONCURRENT_TO_FIELD: &str = "WARC-Concurrent-To";

impl SiloRewriter<'_> {
    /// Copies an object with all its segments.
    pub(super) fn copy_object(&mut self, header: &RecordHeader, id: RecordId) -> Result<(), StoreError> {
        let Some(object) = self.source.object(&id)? else {
            return Err(StoreError::Content(invalid_record("an object cannot be found", id)));
        };
        let new = NewObject {
            date: header
                .date()
                .ok_or_else(|| StoreError::Content(invalid_record("a record has no date", id)))?,
            content_type: text(header.fields.get("Content-Type").unwrap_or_default()),
            refers_to: header.reference("WARC-Refers-To").map(uri).transpose()?,
            known: None,
        };
        let mut content = object.read()?;
        let stored = if is_fact(header) {
            // A fact is always one record.
            let mut json = Vec::new();
            content.read_to_end(&mut json).map_err(StoreError::Content)?;
            self.target.store_bytes(&mut self.object_packer, &new, &json)?
        } else {
            self.target.store_reader(&mut self.object_packer, &new, &mut content)?
        };
        check(id, stored.id)
    }

    /// Copies a record of an exchange or the description of a run. A reference to a replaced record
    /// is updated.
    pub(super) fn copy_event(
        &mut self,
        header: &RecordHeader,
        block: &mut impl BufRead,
    ) -> Result<(), StoreError> {
        let mut draft = draft_of(header.record_type(), header, &|name| {
            !is_own(name) && !name.eq_ignore_ascii_case(CONCURRENT_TO_FIELD)
        })?;
        if let Some(refers_to) = header.reference("WARC-Refers-To") {
            draft = draft.refers_to(uri(refers_to)?);
        }
        if let Some(other) = header.reference(CONCURRENT_TO_FIELD) {
            let replaced = parse_id(other).and_then(|id| self.replaced.get(&id));
            draft = draft.concurrent_to(&replaced.map_or_else(|| uri(other), |id| Ok(record_uri(id)))?);
        }
        self.pack(header, draft, block)
    }

    /// Packs the block and checks that the id is unchanged.
    pub(super) fn pack(
        &mut self,
        header: &RecordHeader,
        mut draft: Draft,
        block: &mut impl BufRead,
    ) -> Result<(), StoreError> {
        if let (Some(digest), RecordType::Revisit) =
            (header.fields.get("WARC-Payload-Digest"), header.record_type())
        {
            draft = draft.field("WARC-Payload-Digest", &text(digest));
        }
        let says_payload = header.fields.get("WARC-Payload-Digest").is_some();
        let kind = if says_payload { PayloadKind::of(header) } else { PayloadKind::None };
        let record = pack_reader(&mut self.packer, &draft, kind, block)?;
        let was = header.record_id().and_then(parse_id);
        if let Some(was) = was {
            check(was, parse_record_uri(&record.id)?)?;
        }
        self.target.keep(record)?;
        Ok(())
    }
}

/// A draft of the record with a header, to write it again with the same id. References to the record
/// `renamed.0` become references to `renamed.1`.
pub fn copied_draft(
    header: &RecordHeader,
    renamed: Option<(RecordId, &RecordUri)>,
) -> Result<Draft, StoreError> {
    let mut draft = draft_of(header.record_type(), header, &|name| {
        !is_own(name) && !name.eq_ignore_ascii_case(CONCURRENT_TO_FIELD)
    })?;
    let reference = |other: &[u8]| match renamed {
        Some((was, is)) if parse_id(other) == Some(was) => Ok(is.clone()),
        _ => uri(other),
    };
    if let Some(refers_to) = header.reference("WARC-Refers-To") {
        draft = draft.refers_to(reference(refers_to)?);
    }
    if let Some(other) = header.reference(CONCURRENT_TO_FIELD) {
        draft = draft.concurrent_to(&reference(other)?);
    }
    if let (Some(digest), RecordType::Revisit) =
        (header.fields.get("WARC-Payload-Digest"), header.record_type())
    {
        draft = draft.field("WARC-Payload-Digest", &text(digest));
    }
    Ok(match header.record_id() {
        Some(id) => draft.id(uri(id)?),
        None => draft,
    })
}

/// A draft of a revisit in place of the response with this header. What it repeats is to be added.
pub fn draft_of_revisit(header: &RecordHeader) -> Result<Draft, StoreError> {
    draft_of(RecordType::Revisit, header, &|name| !is_own(name))
}

/// A draft of a record of that type with the wanted fields of a header.
pub(super) fn draft_of(
    record_type: RecordType,
    header: &RecordHeader,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Draft, StoreError> {
    let date = header.date().ok_or_else(|| {
        StoreError::Content(std::io::Error::new(std::io::ErrorKind::InvalidData, "a record has no date"))
    })?;
    let mut draft = Draft::new(record_type, &date)
        .content_type(&text(header.fields.get("Content-Type").unwrap_or_default()));
    if let Some(target) = header.target_uri() {
        draft = draft.target_uri(&text(target));
    }
    for (name, value) in header.fields.iter() {
        let name = text(name);
        if wanted(&name) {
            draft = draft.field(&name, &text(value));
        }
    }
    Ok(draft)
}

/// Whether the draft writes this field itself.
pub(super) fn is_own(name: &str) -> bool {
    OWN_FIELDS.iter().any(|own| own.eq_ignore_ascii_case(name))
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The URI in a field of a header.
fn uri(bytes: &[u8]) -> Result<RecordUri, RecordUriError> {
    text(bytes).parse()
}

/// Fails when a copy has another id than the original.
fn check(was: RecordId, is: RecordId) -> Result<(), StoreError> {
    if was == is {
        Ok(())
    } else {
        Err(StoreError::Content(invalid_record("a record is not what its id says", was)))
    }
}

pub(super) fn invalid_record(what: &str, id: RecordId) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, format!("{what}: {id}"))
}
