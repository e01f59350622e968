//! The reading face of the store: objects by id.
//!
//! A look-up asks the index for candidates and believes none before it has seen the record's own header. Reading never
//! waits for writers: it works on a snapshot of the index, and silos only ever grow.

mod object;
mod open_silos;
mod packed_length;
mod random_access;
mod verify;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use varve_warc::Extent;
use varve_warc::record::Header;
use varve_warc::source::ReadAt;

use crate::error::StoreError;
use crate::index::{Index, Place, Prefix, PrefixRange};
use crate::record::{ids, other_id};
use crate::silo::{SiloError, SiloFiles};

use object::first_record;
pub use object::{Object, ObjectReader};
pub(crate) use open_silos::{OpenSilos, SiloRecord, open_with};
pub(crate) use verify::{Candidate, Standing, fault_of, follows};
use verify::{Candidates, damaged};

/// No description is longer.
const LONGEST_DESCRIPTION: u64 = 1 << 20;
/// So many ids are looked at to say how many share a beginning.
const MOST_CANDIDATES: usize = 1000;

/// More records than this whose ids begin alike are not read to find the one that is damaged.
const MOST_IN_DOUBT: usize = 8;

/// Reads from a store.
pub struct Store {
    silos: Arc<OpenSilos>,
    index: Index,
    /// The names of silos, as far as anybody asked. A name never changes.
    names: Mutex<BTreeMap<u32, String>>,
}

/// Where a record was found.
#[derive(Clone, Debug)]
pub struct Located {
    /// Its place.
    pub place: Place,
    /// Its own id. That of the body it holds may be another.
    pub id: [u8; 32],
    /// Its header.
    pub header: Header,
}

impl Store {
    /// Opens a store for reading.
    pub fn open(files: SiloFiles, index_folder: &Path) -> Result<Self, StoreError> {
        let index = Index::open(&*files.disk, index_folder)?;
        Ok(Self::with_index(Arc::new(OpenSilos::new(files)), index))
    }

    /// Reads from silos that others may read from too.
    pub(crate) fn with_index(silos: Arc<OpenSilos>, index: Index) -> Self {
        Self { silos, index, names: Mutex::default() }
    }

    /// The index.
    pub fn index(&self) -> &Index {
        &self.index
    }

    pub(crate) fn silos(&self) -> &OpenSilos {
        &self.silos
    }

    /// The silo files.
    pub fn files(&self) -> &SiloFiles {
        self.silos.files()
    }

    /// Finds the record of an id: its own, or that of the body it holds. Of several, one that can be read. An id that was
    /// stored and whose record cannot be made out any more is an error.
    pub fn find(&self, id: &[u8; 32]) -> Result<Option<Located>, StoreError> {
        let places = self.index.find(Prefix::of(id))?;
        let Candidates { mut matching, lost } = self.silos.candidates(id, places.iter(), Extent::Header)?;
        match (matching.len(), lost) {
            (0, Some(lost)) => Err(lost),
            (0 | 1, _) => Ok(matching.pop()),
            _ => self.first_sound(matching).map(Some),
        }
    }

    /// As [`find`](Self::find), with the record itself where looking for it left it open: its block can be read on.
    pub(crate) fn find_open(
        &self,
        id: &[u8; 32],
    ) -> Result<Option<(Located, Option<SiloRecord>)>, StoreError> {
        let places = self.index.find(Prefix::of(id))?;
        let mut alone = places.iter();
        if let (Some(place), None) = (alone.next(), alone.next())
            && let Some(record) = self.silos.identified(Prefix::of(id), place)?
            && let (Some(own), body) = ids(record.header())
            && (own == *id || body == Some(*id))
        {
            let header = record.header().clone();
            return Ok(Some((Located { place, id: own, header }, Some(record))));
        }
        Ok(self.find(id)?.map(|located| (located, None)))
    }

    /// The first of several records of one id that is what was written, or the first of all.
    fn first_sound(&self, matching: Vec<Located>) -> Result<Located, StoreError> {
        for located in &matching {
            if self.silos.is_sound(located)? {
                return Ok(located.clone());
            }
        }
        Ok(matching.into_iter().next().expect("there are several"))
    }

    /// Which of many ids are here, in their order. One whose record cannot be made out any more is not.
    pub fn have(&self, wanted: &[[u8; 32]]) -> Result<Vec<bool>, StoreError> {
        let prefixes: Vec<Prefix> = wanted.iter().map(Prefix::of).collect();
        let mut candidates: Vec<(Place, usize)> = Vec::new();
        self.index.find_many(&prefixes, |number, place| candidates.push((place, number)))?;
        // In the order in which they lie, each silo is opened once and read in one direction.
        candidates.sort_unstable();
        let mut have = vec![false; wanted.len()];
        let mut visitor = self.silos.visitor();
        for (place, number) in candidates {
            if !have[number] {
                let candidate = visitor.candidate(&wanted[number], place, Extent::Header)?;
                have[number] = matches!(candidate, Candidate::Match(_));
            }
        }
        Ok(have)
    }

    /// The one id that begins with these hex digits; none when there is none. A record that cannot be made out any more
    /// might be the one that is meant: it is an error, unless the same id is found elsewhere.
    pub fn resolve(&self, digits: &str) -> Result<Option<[u8; 32]>, StoreError> {
        let leading: String = digits.chars().take(16).collect();
        let value = u64::from_str_radix(&format!("{leading:0<16}"), 16).unwrap_or(0);
        let range = PrefixRange::leading(value, leading.len() as u32 * 4);
        let mut found: Vec<([u8; 32], Place)> = Vec::new();
        let mut others: Vec<[u8; 32]> = Vec::new();
        let mut lost: Vec<(Prefix, StoreError)> = Vec::new();
        let mut visitor = self.silos.visitor();
        for entry in self.index.entries(range)?.take(MOST_CANDIDATES) {
            let entry = entry?;
            let header = match visitor.identified(entry.prefix, entry.place, Extent::Header)? {
                Ok(header) => header,
                Err(error) => {
                    lost.push((entry.prefix, error));
                    continue;
                }
            };
            let (own, body) = ids(&header);
            let named = own.into_iter().chain(body).filter(|id| Prefix::of(id) == entry.prefix);
            found.extend(named.map(|id| (id, entry.place)));
            let other = other_id(&header).filter(|other| other.digits.starts_with(digits));
            others.extend(other.map(|other| other.target));
        }
        self.leave_damaged(digits, &mut found, &mut lost)?;
        found.retain(|(id, _)| data_encoding::HEXLOWER.encode(id).starts_with(digits));
        for target in others {
            found.extend(self.find(&target)?.map(|located| (target, located.place)));
        }
        found.sort_unstable();
        found.dedup_by_key(|(id, _)| *id);
        lost.retain(|(prefix, _)| !found.iter().any(|(id, _)| Prefix::of(id) == *prefix));
        match (found.as_slice(), lost.into_iter().next()) {
            ([_, _, ..], _) => Err(StoreError::Ambiguous { prefix: digits.to_owned(), count: found.len() }),
            // What was promised and is gone is another thing than what never was.
            (_, Some((_, lost))) => Err(lost),
            (found, None) => Ok(found.first().map(|(id, _)| *id)),
        }
    }

    /// Leaves out what is no answer because its record is damaged. Damage can change an id and all that it follows from in
    /// the same way, and only reading all of the record tells; that is done where it decides, and not for an id that
    /// was given in full and is there.
    fn leave_damaged(
        &self,
        digits: &str,
        found: &mut Vec<([u8; 32], Place)>,
        lost: &mut Vec<(Prefix, StoreError)>,
    ) -> Result<(), StoreError> {
        let fits = |id: &[u8; 32]| data_encoding::HEXLOWER.encode(id).starts_with(digits);
        let is_given_in_full = digits.len() == 64 && found.iter().any(|(id, _)| fits(id));
        if is_given_in_full || found.len() > MOST_IN_DOUBT {
            return Ok(());
        }
        for (id, place) in std::mem::take(found) {
            match self.silos.fault(place)? {
                Some(fault) => lost.push((Prefix::of(&id), damaged(Prefix::of(&id), place, &fault))),
                None => found.push((id, place)),
            }
        }
        Ok(())
    }

    /// Opens an object: a record by its id, with all its segments.
    pub fn object(&self, id: &[u8; 32]) -> Result<Option<Object>, StoreError> {
        let Some(located) = self.find(id)? else { return Ok(None) };
        Object::open(Arc::clone(&self.silos), located).map(Some)
    }

    /// Reads all of an object whose record was found, and may be open already.
    pub(crate) fn read_found(
        &self,
        located: Located,
        record: Option<SiloRecord>,
    ) -> Result<ObjectReader, StoreError> {
        let object = Object::open(Arc::clone(&self.silos), located)?;
        let reader = object.read()?;
        Ok(match record {
            Some(record) => reader.beginning_with(record),
            None => reader,
        })
    }

    /// The name of a silo within the folder of silos; none when it is gone.
    pub fn silo_name(&self, number: u32) -> Result<Option<String>, StoreError> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if !names.contains_key(&number) {
            let silos = self.files().list()?;
            names.extend(silos.into_iter().map(|(number, silo)| (number, silo.name())));
        }
        Ok(names.get(&number).cloned())
    }

    /// The record at a place; none when no record begins there, or the silo is gone.
    pub(crate) fn record_at(&self, place: Place) -> Result<Option<SiloRecord>, StoreError> {
        self.silos.record_at(place)
    }

    pub(crate) fn silo(&self, number: u32) -> Result<Arc<dyn ReadAt>, SiloError> {
        self.silos.silo(number)
    }

    /// The record behind a silo's description, where a segment is.
    pub(crate) fn first_record(&self, silo: u32) -> Result<Option<(Place, Header)>, StoreError> {
        first_record(&self.silos, silo)
    }

    /// The description that a silo begins with, header and block; none when it does not begin with a record.
    pub(crate) fn description_of(&self, number: u32) -> Result<Option<(Header, Vec<u8>)>, StoreError> {
        let Some(mut record) = self.record_at(Place::new(number, 0)?)? else { return Ok(None) };
        let mut block = Vec::new();
        (&mut record)
            .take(LONGEST_DESCRIPTION)
            .read_to_end(&mut block)
            .map_err(|source| StoreError::read(number, varve_warc::Error::Io { offset: 0, source }))?;
        Ok(Some((record.header().clone(), block)))
    }
}
