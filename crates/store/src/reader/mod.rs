//! The reader of the store: finds records and objects by id.
//!
//! The index yields candidates, and the record's own header confirms each. Readers need no lock on
//! the archive: silos only grow, and index files are never changed in place.

mod object;
mod open_silos;
mod packed_length;
mod random_access;
mod verified_record;
mod verify;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use varve_core::RecordId;
use varve_core::id::IdPrefix;
use varve_warc::Extent;
use varve_warc::record::RecordHeader;
use varve_wire::ReadAt;

use crate::error::StoreError;
use crate::index::{IndexPrefix, IndexReader, PrefixRange, SiloPlace};
use crate::record::{foreign_id, record_and_body_ids};
use crate::silo::{SiloError, SiloFiles};

use object::first_record;
pub use object::{Object, ObjectReader};
pub(crate) use open_silos::{OpenSilos, SiloRecord, open_with_decoders};
pub(crate) use random_access::RandomAccessReader;
pub use verified_record::VerifiedRecord;
use verify::{IdCandidates, damaged_record};
pub(crate) use verify::{IndexCandidate, RecordState, id_matches_header, record_corruption};

/// Maximum number of index entries examined to count the ids with a common beginning.
const MAX_ID_CANDIDATES: usize = 1000;
/// Up to this number of matching records are read in full to detect damage.
const MAX_FULLY_READ_CANDIDATES: usize = 8;

/// Reads from a store.
pub struct StoreReader {
    silos: Arc<OpenSilos>,
    index: IndexReader,
    /// The cached names of silos. A name never changes.
    names: Mutex<BTreeMap<u32, String>>,
    /// Whether an id that an incomplete index does not have is an error.
    distrusts_gaps: bool,
}

/// A record that was found.
#[derive(Clone, Debug)]
pub struct LocatedRecord {
    /// Its place.
    pub place: SiloPlace,
    /// Its own id. The id of the body in it may differ.
    pub id: RecordId,
    /// Its header.
    pub header: RecordHeader,
}

impl StoreReader {
    /// Opens a store for reading.
    pub fn open(files: SiloFiles, index_folder: &Path) -> Result<Self, StoreError> {
        let index = IndexReader::open(&*files.disk, index_folder)?;
        Ok(Self::with_index(files, index))
    }

    /// Opens a store for reading, with an index that may be elsewhere.
    pub fn with_index(files: SiloFiles, index: IndexReader) -> Self {
        Self::sharing(Arc::new(OpenSilos::new(files)), index)
    }

    /// Reads from shared open silos.
    pub(crate) fn sharing(silos: Arc<OpenSilos>, index: IndexReader) -> Self {
        Self { silos, index, names: Mutex::default(), distrusts_gaps: false }
    }

    /// The same store. If entries of its index cannot be read, an id that is not found is an error
    /// and not absent.
    #[must_use]
    pub fn distrusting_gaps(self) -> Self {
        Self { distrusts_gaps: true, ..self }
    }

    /// Fails if an id that was not found may be stored.
    fn absent(&self) -> Result<(), StoreError> {
        match self.index.gap().filter(|_| self.distrusts_gaps) {
            Some(gap) => Err(gap.into()),
            None => Ok(()),
        }
    }

    /// The index.
    pub fn index(&self) -> &IndexReader {
        &self.index
    }

    pub(crate) fn silos(&self) -> &OpenSilos {
        &self.silos
    }

    /// The silo files.
    pub fn files(&self) -> &SiloFiles {
        self.silos.files()
    }

    /// Finds a record by its own id, or a response by the id of a resource with its body. Of
    /// several matches it returns an intact one. A stored id whose record is damaged is an error.
    pub fn find(&self, id: &RecordId) -> Result<Option<LocatedRecord>, StoreError> {
        let places = self.index.find(IndexPrefix::of(id))?;
        let IdCandidates { mut matching, lost } = self.silos.candidates(id, places.iter(), Extent::Header)?;
        match (matching.len(), lost) {
            (0, Some(lost)) => Err(lost),
            (0, None) => self.absent().map(|()| None),
            (1, _) => Ok(matching.pop()),
            _ => self.first_intact(matching).map(Some),
        }
    }

    /// As [`find`](Self::find), and returns the open record where the lookup opened it.
    pub(crate) fn find_open(
        &self,
        id: &RecordId,
    ) -> Result<Option<(LocatedRecord, Option<SiloRecord>)>, StoreError> {
        let places = self.index.find(IndexPrefix::of(id))?;
        let mut alone = places.iter();
        if let (Some(place), None) = (alone.next(), alone.next())
            && let Some(record) = self.silos.identified(IndexPrefix::of(id), place)?
            && let (Some(own), body) = record_and_body_ids(record.header())
            && (own == *id || body == Some(id.body()))
        {
            let header = record.header().clone();
            return Ok(Some((LocatedRecord { place, id: own, header }, Some(record))));
        }
        Ok(self.find(id)?.map(|located| (located, None)))
    }

    /// The first intact record of several with one id, else the first of all.
    fn first_intact(&self, matching: Vec<LocatedRecord>) -> Result<LocatedRecord, StoreError> {
        for located in &matching {
            if self.silos.is_intact(located)? {
                return Ok(located.clone());
            }
        }
        Ok(matching.into_iter().next().expect("there are several"))
    }

    /// Which of the ids are stored, in their order. A damaged record counts as absent.
    pub fn have(&self, wanted: &[RecordId]) -> Result<Vec<bool>, StoreError> {
        let prefixes: Vec<IndexPrefix> = wanted.iter().map(IndexPrefix::of).collect();
        self.have_where(&prefixes, |number, header| {
            let (own, body) = record_and_body_ids(header);
            Ok(own == Some(wanted[number]) || body == Some(wanted[number].body()))
        })
    }

    /// Which of the beginnings of ids are those of stored ids, in their order. Foreign ids count.
    /// Each beginning has at least [`MIN_LOOKUP_DIGITS`](crate::MIN_LOOKUP_DIGITS) digits. A damaged
    /// record counts as absent.
    pub fn have_beginnings(&self, wanted: &[IdPrefix]) -> Result<Vec<bool>, StoreError> {
        let prefixes: Vec<IndexPrefix> = wanted.iter().map(IndexPrefix::leading).collect();
        self.have_where(&prefixes, |number, header| {
            let (own, body) = record_and_body_ids(header);
            let mut ids = own.into_iter().chain(body.map(RecordId::of_body));
            if ids.any(|id| wanted[number].matches_record(&id)) {
                return Ok(true);
            }
            let digits = wanted[number].to_string();
            match foreign_id(header).filter(|other| other.digits.starts_with(&digits)) {
                Some(other) => Ok(self.have(&[other.target])?.contains(&true)),
                None => Ok(false),
            }
        })
    }

    /// For each index prefix, whether a record that it finds satisfies a condition on its header.
    fn have_where(
        &self,
        prefixes: &[IndexPrefix],
        is_match: impl Fn(usize, &RecordHeader) -> Result<bool, StoreError>,
    ) -> Result<Vec<bool>, StoreError> {
        let mut candidates: Vec<(SiloPlace, usize)> = Vec::new();
        self.index.find_many(prefixes, |number, place| candidates.push((place, number)))?;
        // In the order of places each silo is opened once and read forward.
        candidates.sort_unstable();
        let mut have = vec![false; prefixes.len()];
        let mut visitor = self.silos.random_access();
        for (place, number) in candidates {
            if !have[number]
                && let Ok(header) = visitor.identified(prefixes[number], place, Extent::Header)?
            {
                have[number] = is_match(number, &header)?;
            }
        }
        if have.contains(&false) {
            self.absent()?;
        }
        Ok(have)
    }

    /// The only id that begins with these hex digits. A damaged record could be the one meant, so
    /// it is an error unless the same id is found elsewhere.
    pub fn resolve(&self, digits: &str) -> Result<Option<RecordId>, StoreError> {
        let leading: String = digits.chars().take(16).collect();
        let value = u64::from_str_radix(&format!("{leading:0<16}"), 16).unwrap_or(0);
        let range = PrefixRange::leading(value, leading.len() as u32 * 4);
        let mut found: Vec<(RecordId, SiloPlace)> = Vec::new();
        let mut others: Vec<RecordId> = Vec::new();
        let mut lost: Vec<(IndexPrefix, StoreError)> = Vec::new();
        let mut visitor = self.silos.random_access();
        for entry in self.index.entries(range)?.take(MAX_ID_CANDIDATES) {
            let entry = entry?;
            let header = match visitor.identified(entry.prefix, entry.place, Extent::Header)? {
                Ok(header) => header,
                Err(error) => {
                    lost.push((entry.prefix, error));
                    continue;
                }
            };
            let (own, body) = record_and_body_ids(&header);
            let named = own
                .into_iter()
                .chain(body.map(RecordId::of_body))
                .filter(|id| IndexPrefix::of(id) == entry.prefix);
            found.extend(named.map(|id| (id, entry.place)));
            let other = foreign_id(&header).filter(|other| other.digits.starts_with(digits));
            others.extend(other.map(|other| other.target));
        }
        self.exclude_damaged(digits, &mut found, &mut lost)?;
        found.retain(|(id, _)| begins_with(id, digits));
        for target in others {
            found.extend(self.find(&target)?.map(|located| (target, located.place)));
        }
        found.sort_unstable();
        found.dedup_by_key(|(id, _)| *id);
        lost.retain(|(prefix, _)| !found.iter().any(|(id, _)| IndexPrefix::of(id) == *prefix));
        match (found.as_slice(), lost.into_iter().next()) {
            ([_, _, ..], _) => Err(StoreError::Ambiguous { prefix: digits.to_owned(), count: found.len() }),
            // A damaged record is an error, not an absence.
            (_, Some((_, lost))) => Err(lost),
            ([], None) => self.absent().map(|()| None),
            (found, None) => Ok(found.first().map(|(id, _)| *id)),
        }
    }

    /// Moves matches with a damaged record from `found` to `lost`. Damage can change an id and its
    /// header consistently, and only reading the whole record detects that. Skipped for an id that
    /// was given in full.
    fn exclude_damaged(
        &self,
        digits: &str,
        found: &mut Vec<(RecordId, SiloPlace)>,
        lost: &mut Vec<(IndexPrefix, StoreError)>,
    ) -> Result<(), StoreError> {
        let is_given_in_full = digits.len() == 64 && found.iter().any(|(id, _)| begins_with(id, digits));
        if is_given_in_full || found.len() > MAX_FULLY_READ_CANDIDATES {
            return Ok(());
        }
        for (id, place) in std::mem::take(found) {
            match self.silos.corruption(place)? {
                Some(fault) => {
                    lost.push((IndexPrefix::of(&id), damaged_record(IndexPrefix::of(&id), place, &fault)))
                }
                None => found.push((id, place)),
            }
        }
        Ok(())
    }

    /// Opens the object with this record id, with all its segments.
    pub fn object(&self, id: &RecordId) -> Result<Option<Object>, StoreError> {
        let Some(located) = self.find(id)? else { return Ok(None) };
        Object::open(Arc::clone(&self.silos), located).map(Some)
    }

    /// Reads a found object, starting with `record` if it is open.
    pub(crate) fn read_found(
        &self,
        located: LocatedRecord,
        record: Option<SiloRecord>,
    ) -> Result<ObjectReader, StoreError> {
        let object = Object::open(Arc::clone(&self.silos), located)?;
        let reader = object.read()?;
        Ok(match record {
            Some(record) => reader.beginning_with(record),
            None => reader,
        })
    }

    /// The name of a silo relative to the folder of silos; `None` when it is missing.
    pub fn silo_name(&self, number: u32) -> Result<Option<String>, StoreError> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if !names.contains_key(&number) {
            let silos = self.files().list()?;
            names.extend(silos.into_iter().map(|(number, silo)| (number, silo.name())));
        }
        Ok(names.get(&number).cloned())
    }

    /// The record at a place; `None` when no record begins there or the silo is missing.
    pub(crate) fn record_at(&self, place: SiloPlace) -> Result<Option<SiloRecord>, StoreError> {
        self.silos.record_at(place)
    }

    pub(crate) fn silo(&self, number: u32) -> Result<Arc<dyn ReadAt>, SiloError> {
        self.silos.silo(number)
    }

    /// The first record after a silo's description, which is where a segment is.
    pub(crate) fn first_record(&self, silo: u32) -> Result<Option<(SiloPlace, RecordHeader)>, StoreError> {
        first_record(&self.silos, silo)
    }

    /// Header and block of the description that a silo begins with; `None` when it does not begin
    /// with a record.
    pub(crate) fn description_of(&self, number: u32) -> Result<Option<(RecordHeader, Vec<u8>)>, StoreError> {
        self.silos.description_of(number)
    }
}

fn begins_with(id: &RecordId, digits: &str) -> bool {
    data_encoding::HEXLOWER.encode(id.as_bytes()).starts_with(digits)
}
