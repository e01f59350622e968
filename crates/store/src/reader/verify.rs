//! Whether what lies at a place is what was written there.
//!
//! The index says where a record should be; here the record itself is asked. A header that cannot be read, or says
//! another id than the one that led to it, is damage and never an absence: what was promised and is broken is another
//! thing than what never was. Nothing here writes: who finds damage decides what to do about it.

use std::collections::HashSet;
use std::io::BufRead;
use std::sync::{Arc, Mutex, PoisonError};

use varve_warc::digest::Algorithm;
use varve_warc::record::Header;
use varve_warc::source::ReadAt;
use varve_warc::{Extent, Record};

use super::random_access::Visitor;
use super::{Located, Object, OpenSilos, SiloRecord};
use crate::error::StoreError;
use crate::index::{Place, Prefix};
use crate::record::id_it_should_have;
use crate::record::{ids, prefixes};
use crate::silo::SiloError;

/// So many places are remembered as read and right.
const MOST_REMEMBERED: usize = 1 << 16;

/// Places whose records were read and are right. Bounded: when it is full it is forgotten, and they are read again.
#[derive(Default)]
pub(crate) struct SoundPlaces(Mutex<HashSet<Place>>);

impl SoundPlaces {
    fn holds(&self, place: Place) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&place)
    }

    fn remember(&self, place: Place) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= MOST_REMEMBERED {
            places.clear();
        }
        places.insert(place);
    }
}

/// What is at a place that the index gave for an id.
pub(crate) enum Candidate {
    /// The record of that id: its own, or that of the body it holds.
    Match(Located),
    /// The record of another id that begins with the same eight bytes.
    Other,
    /// Nothing that can be made out, and why.
    Lost(StoreError),
}

/// What the places of an id hold.
#[derive(Default)]
pub(crate) struct Candidates {
    /// Records of that id, in order of their places.
    pub(crate) matching: Vec<Located>,
    /// Why a place holds nothing, if one does.
    pub(crate) lost: Option<StoreError>,
}

/// How an id stands.
pub(crate) enum Standing {
    /// Its record is there, was read and is right.
    Sound(Located),
    /// It was stored, and cannot be read any more.
    Damaged,
    /// It was never stored.
    Absent,
}

impl OpenSilos {
    /// Looks at the places that the index gives for an id, as far into their records as `extent` says.
    pub(crate) fn candidates(
        &self,
        id: &[u8; 32],
        places: impl Iterator<Item = Place>,
        extent: Extent,
    ) -> Result<Candidates, StoreError> {
        let mut visitor = self.visitor();
        let mut found = Candidates::default();
        for place in places {
            match visitor.candidate(id, place, extent)? {
                Candidate::Match(located) => found.matching.push(located),
                Candidate::Other => {}
                Candidate::Lost(lost) => found.lost = found.lost.or(Some(lost)),
            }
        }
        Ok(found)
    }

    /// The record at a place that the index gives for ids with that beginning, if its header bears that out.
    pub(crate) fn identified(&self, prefix: Prefix, place: Place) -> Result<Option<SiloRecord>, StoreError> {
        let Some(record) = self.record_at(place)? else { return Ok(None) };
        let objection = self.objection(record.header(), prefix, place)?;
        Ok(objection.is_none().then_some(record))
    }

    /// What speaks against a record at a place that the index gives for ids with that beginning.
    fn objection(
        &self,
        header: &Header,
        prefix: Prefix,
        place: Place,
    ) -> Result<Option<StoreError>, StoreError> {
        if !prefixes(header).any(|named| named == prefix) {
            return Ok(Some(damaged(prefix, place, "its header gives another id")));
        }
        // Reading all of it is dear, and done only where the header looks odd.
        let fault = if follows(header) { None } else { self.fault(place)? };
        Ok(fault.map(|fault| damaged(prefix, place, &fault)))
    }

    /// How an id stands that the index has these places for. Records are read to their ends, each once.
    pub(crate) fn standing(
        self: &Arc<Self>,
        id: &[u8; 32],
        places: impl Iterator<Item = Place>,
    ) -> Result<Standing, StoreError> {
        let Candidates { matching, lost } = self.candidates(id, places, Extent::Record)?;
        let was_stored = lost.is_some() || !matching.is_empty();
        for located in matching {
            if self.is_sound(&located)? {
                return Ok(Standing::Sound(located));
            }
        }
        Ok(if was_stored { Standing::Damaged } else { Standing::Absent })
    }

    /// Whether all that an object lies in is there and right.
    pub(crate) fn is_sound(self: &Arc<Self>, located: &Located) -> Result<bool, StoreError> {
        let object = match Object::open(Arc::clone(self), located.clone()) {
            Err(StoreError::SegmentMissing { .. }) => return Ok(false),
            object => object?,
        };
        for place in object.places() {
            if self.fault(place)?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Why the record at a place is not what was written there; none when it is.
    pub(crate) fn fault(&self, place: Place) -> Result<Option<String>, StoreError> {
        self.visitor().fault(place)
    }
}

impl Visitor<'_> {
    /// Looks at one place that the index gives for an id.
    pub(crate) fn candidate(
        &mut self,
        id: &[u8; 32],
        place: Place,
        extent: Extent,
    ) -> Result<Candidate, StoreError> {
        let header = match self.identified(Prefix::of(id), place, extent)? {
            Ok(header) => header,
            Err(lost) => return Ok(Candidate::Lost(lost)),
        };
        match ids(&header) {
            (Some(own), body) if own == *id || body == Some(*id) => {
                Ok(Candidate::Match(Located { place, id: own, header }))
            }
            // Two ids that share eight bytes are rarer than a damaged one.
            _ => Ok(match self.fault(place)? {
                Some(fault) => Candidate::Lost(damaged(Prefix::of(id), place, &fault)),
                None => Candidate::Other,
            }),
        }
    }

    /// The header of the record at a place that the index gives for ids with that beginning, if it bears that out; else
    /// why it does not. Where all of the record is read and is right, that is remembered.
    pub(crate) fn identified(
        &mut self,
        prefix: Prefix,
        place: Place,
        extent: Extent,
    ) -> Result<Result<Header, StoreError>, StoreError> {
        let silos = self.silos;
        if let Err(error) = silos.silo(place.silo()) {
            let is_missing = matches!(error, SiloError::Missing { .. });
            return if is_missing { Ok(Err(error.into())) } else { Err(error.into()) };
        }
        let extent = if silos.sound.holds(place) { Extent::Header } else { extent };
        let Some(mut record) = self.record(place, extent)? else {
            return Ok(Err(damaged(prefix, place, "no record begins here")));
        };
        let header = record.header().clone();
        if extent == Extent::Record && fault_of(&mut record, place)?.is_none() {
            silos.sound.remember(place);
        }
        Ok(silos.objection(&header, prefix, place)?.map_or(Ok(header), Err))
    }

    /// Why the record at a place is not what was written there; none when it is.
    fn fault(&mut self, place: Place) -> Result<Option<String>, StoreError> {
        let silos = self.silos;
        if silos.sound.holds(place) {
            return Ok(None);
        }
        let Some(mut record) = self.record(place, Extent::Record)? else {
            return Ok(Some("no record begins here".to_owned()));
        };
        let fault = fault_of(&mut record, place)?;
        if fault.is_none() {
            silos.sound.remember(place);
        }
        Ok(fault)
    }
}

/// Reads a record to its end: why it is not what was written, or none when it is.
pub(crate) fn fault_of<S: ReadAt>(
    record: &mut Record<'_, S>,
    place: Place,
) -> Result<Option<String>, StoreError> {
    let failed =
        |source| StoreError::read(place.silo(), varve_warc::Error::Io { offset: place.offset(), source });
    let mut hasher = Algorithm::Sha256.hasher();
    loop {
        let bytes = record.fill_buf().map_err(failed)?;
        if bytes.is_empty() {
            break;
        }
        hasher.update(bytes);
        let length = bytes.len();
        record.consume(length);
    }
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

/// Damage at a place of which all that is known is how an id there begins.
pub(crate) fn damaged(prefix: Prefix, place: Place, message: &str) -> StoreError {
    StoreError::Damaged {
        id: format!("{:016x}…", prefix.0),
        silo: place.silo(),
        offset: place.offset(),
        message: message.to_owned(),
    }
}

/// Whether the id of a record follows from the rest of its header, as that of every record does.
pub(crate) fn follows(header: &Header) -> bool {
    let Some(Ok(block)) = header.block_digest() else { return false };
    header.record_id().is_some() && id_it_should_have(header, &block).is_none()
}
