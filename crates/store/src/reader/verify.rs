//! Verifies that the record at a place is the one that was written.
//!
//! The index states where a record should be, and the record's own header confirms it. An
//! unreadable header or a different id is damage, never an absence. Nothing here writes; the caller
//! decides what to do about damage.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use varve_core::RecordId;
use varve_warc::digest::Algorithm;
use varve_warc::record::RecordHeader;
use varve_warc::{Extent, Record};
use varve_wire::ReadAt;

use super::random_access::RandomAccessReader;
use super::{LocatedRecord, Object, OpenSilos, SiloRecord};
use crate::error::StoreError;
use crate::index::{IndexPrefix, SiloPlace};
use crate::record::expected_record_id;
use crate::record::{index_prefixes, record_and_body_ids};
use crate::silo::SiloError;

/// Maximum number of cached places.
const MAX_VERIFIED_PLACES: usize = 1 << 16;

/// A bounded cache of places whose records were read and verified. A full cache is cleared.
#[derive(Default)]
pub(crate) struct VerifiedPlaces(Mutex<HashSet<SiloPlace>>);

impl VerifiedPlaces {
    fn holds(&self, place: SiloPlace) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&place)
    }

    fn remember(&self, place: SiloPlace) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= MAX_VERIFIED_PLACES {
            places.clear();
        }
        places.insert(place);
    }
}

/// The record at a place that the index returned for an id.
pub(crate) enum IndexCandidate {
    /// A record with this record id or body id.
    Match(LocatedRecord),
    /// A record of another id with the same eight leading bytes.
    Other,
    /// A damaged or missing record, and why.
    Lost(StoreError),
}

/// The records at the places of an id.
#[derive(Default)]
pub(crate) struct IdCandidates {
    /// The records of that id, in order of their places.
    pub(crate) matching: Vec<LocatedRecord>,
    /// The first damaged or missing record, if any.
    pub(crate) lost: Option<StoreError>,
}

/// The state of the record with an id.
pub(crate) enum RecordState {
    /// Stored, read and verified.
    Intact(LocatedRecord),
    /// Stored, but damaged.
    Damaged,
    /// Never stored.
    Absent,
}

impl OpenSilos {
    /// Reads the records at the places that the index returned for an id, to the given extent.
    pub(crate) fn candidates(
        &self,
        id: &RecordId,
        places: impl Iterator<Item = SiloPlace>,
        extent: Extent,
    ) -> Result<IdCandidates, StoreError> {
        let mut visitor = self.random_access();
        let mut found = IdCandidates::default();
        for place in places {
            match visitor.candidate(id, place, extent)? {
                IndexCandidate::Match(located) => found.matching.push(located),
                IndexCandidate::Other => {}
                IndexCandidate::Lost(lost) => found.lost = found.lost.or(Some(lost)),
            }
        }
        Ok(found)
    }

    /// The record at a place that the index returned for `prefix`, if its header confirms it.
    pub(crate) fn identified(
        &self,
        prefix: IndexPrefix,
        place: SiloPlace,
    ) -> Result<Option<SiloRecord>, StoreError> {
        let Some(record) = self.record_at(place)? else { return Ok(None) };
        let objection = self.header_mismatch(record.header(), prefix, place)?;
        Ok(objection.is_none().then_some(record))
    }

    /// Why a header does not match the index entry that led to it, if it does not.
    fn header_mismatch(
        &self,
        header: &RecordHeader,
        prefix: IndexPrefix,
        place: SiloPlace,
    ) -> Result<Option<StoreError>, StoreError> {
        if !index_prefixes(header).any(|named| named == prefix) {
            return Ok(Some(misdirected(prefix, place, "its header gives another id")));
        }
        // Reading the whole record is expensive, so it happens only for a suspicious header.
        let fault = if id_matches_header(header) { None } else { self.corruption(place)? };
        Ok(fault.map(|fault| damaged_record(prefix, place, &fault)))
    }

    /// The state of an id that the index has these places for. Records are read in full; verified
    /// places are cached.
    pub(crate) fn record_state(
        self: &Arc<Self>,
        id: &RecordId,
        places: impl Iterator<Item = SiloPlace>,
    ) -> Result<RecordState, StoreError> {
        let IdCandidates { matching, lost } = self.candidates(id, places, Extent::Record)?;
        let was_stored = lost.is_some() || !matching.is_empty();
        for located in matching {
            if self.is_intact(&located)? {
                return Ok(RecordState::Intact(located));
            }
        }
        Ok(if was_stored { RecordState::Damaged } else { RecordState::Absent })
    }

    /// Whether all segments of an object are present and intact.
    pub(crate) fn is_intact(self: &Arc<Self>, located: &LocatedRecord) -> Result<bool, StoreError> {
        let object = match Object::open(Arc::clone(self), located.clone()) {
            Err(StoreError::SegmentMissing { .. }) => return Ok(false),
            object => object?,
        };
        for place in object.places() {
            if self.corruption(place)?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Why the record at a place is corrupt; `None` when it is intact.
    pub(crate) fn corruption(&self, place: SiloPlace) -> Result<Option<String>, StoreError> {
        self.random_access().corruption(place)
    }
}

impl RandomAccessReader<'_> {
    /// Reads the record at one place that the index returned for an id.
    pub(crate) fn candidate(
        &mut self,
        id: &RecordId,
        place: SiloPlace,
        extent: Extent,
    ) -> Result<IndexCandidate, StoreError> {
        let header = match self.identified(IndexPrefix::of(id), place, extent)? {
            Ok(header) => header,
            Err(lost) => return Ok(IndexCandidate::Lost(lost)),
        };
        match record_and_body_ids(&header) {
            (Some(own), body) if own == *id || body == Some(id.body()) => {
                Ok(IndexCandidate::Match(LocatedRecord { place, id: own, header }))
            }
            // Damage is likelier than two ids with eight common bytes.
            _ => Ok(match self.corruption(place)? {
                Some(fault) => IndexCandidate::Lost(damaged_record(IndexPrefix::of(id), place, &fault)),
                None => IndexCandidate::Other,
            }),
        }
    }

    /// The header of the record at a place that the index returned for `prefix`, or why it does not
    /// match. A record that was read in full and is intact is cached as verified.
    pub(crate) fn identified(
        &mut self,
        prefix: IndexPrefix,
        place: SiloPlace,
        extent: Extent,
    ) -> Result<Result<RecordHeader, StoreError>, StoreError> {
        let silos = self.silos;
        if let Err(error) = silos.silo(place.silo()) {
            let is_unread = matches!(error, SiloError::Missing { .. } | SiloError::Twice { .. });
            return if is_unread { Ok(Err(error.into())) } else { Err(error.into()) };
        }
        let extent = if silos.verified.holds(place) { Extent::Header } else { extent };
        let Some(mut record) = self.record(place, extent)? else {
            return Ok(Err(misdirected(prefix, place, "no record begins here")));
        };
        let header = record.header().clone();
        if extent == Extent::Record && record_corruption(&mut record, place)?.is_none() {
            silos.verified.remember(place);
        }
        Ok(silos.header_mismatch(&header, prefix, place)?.map_or(Ok(header), Err))
    }

    /// Why the record at a place is corrupt; `None` when it is intact.
    fn corruption(&mut self, place: SiloPlace) -> Result<Option<String>, StoreError> {
        let silos = self.silos;
        if silos.verified.holds(place) {
            return Ok(None);
        }
        let Some(mut record) = self.record(place, Extent::Record)? else {
            return Ok(Some("no record begins here".to_owned()));
        };
        let fault = record_corruption(&mut record, place)?;
        if fault.is_none() {
            silos.verified.remember(place);
        }
        Ok(fault)
    }
}

/// Reads a record to its end. Returns why it is corrupt, or `None` when it is intact.
pub(crate) fn record_corruption<S: ReadAt>(
    record: &mut Record<'_, S>,
    place: SiloPlace,
) -> Result<Option<String>, StoreError> {
    let failed =
        |source| StoreError::read(place.silo(), varve_warc::Error::Io { offset: place.offset(), source });
    let mut hasher = Algorithm::Sha256.hasher();
    record.for_each_piece(|bytes| hasher.update(bytes)).map_err(failed)?;
    let found = hasher.finish();
    if !record.is_whole().map_err(failed)? {
        return Ok(Some("its packed bytes are not what was written".to_owned()));
    }
    if let Some(Ok(expected)) = record.header().block_digest()
        && expected != found
    {
        return Ok(Some(format!("its digest is {found}, not {expected}")));
    }
    Ok(None)
}

/// The error for damage where only the id prefix is known.
pub(crate) fn damaged_record(prefix: IndexPrefix, place: SiloPlace, message: &str) -> StoreError {
    StoreError::Damaged {
        id: format!("{:016x}…", prefix.0),
        silo: place.silo(),
        offset: place.offset(),
        message: message.to_owned(),
        misdirected: false,
    }
}

/// The error for an index entry that leads to another record, or to none.
fn misdirected(prefix: IndexPrefix, place: SiloPlace, what: &str) -> StoreError {
    let mut error = damaged_record(prefix, place, what);
    if let StoreError::Damaged { misdirected, .. } = &mut error {
        *misdirected = true;
    }
    error
}

/// Whether the stated id of a record equals the id computed from its header.
pub(crate) fn id_matches_header(header: &RecordHeader) -> bool {
    let Some(Ok(block)) = header.block_digest() else { return false };
    header.record_id().is_some() && expected_record_id(header, &block).is_none()
}
