//! The reading face of the store: objects by id.
//!
//! A look-up asks the index for candidates and believes none before it has seen the record's own header. Reading never
//! waits for writers: it works on a snapshot of the index, and silos only ever grow.

use std::collections::VecDeque;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use varve_warc::record::Header;
use varve_warc::source::ReadAt;
use varve_warc::{OwnedRecord, Reader};

use crate::error::StoreError;
use crate::index::{Index, Place, Prefix, PrefixRange};
use crate::object::Object;
use crate::silo::{SiloError, SiloFiles, ids};

/// So many silos are kept open.
const OPEN_SILOS: usize = 64;
/// No description is longer.
const LONGEST_DESCRIPTION: u64 = 1 << 20;
/// So many ids are looked at to say how many share a beginning.
const MOST_CANDIDATES: usize = 1000;

/// A record as it lies in a silo, its block unread.
pub(crate) type SiloRecord = OwnedRecord<Arc<dyn ReadAt>>;

/// Reads from a store.
pub struct Store {
    silos: Arc<OpenSilos>,
    index: Index,
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
        Ok(Self::with_index(files, index))
    }

    pub(crate) fn with_index(files: SiloFiles, index: Index) -> Self {
        Self { silos: Arc::new(OpenSilos { files, open: Mutex::new(VecDeque::new()) }), index }
    }

    /// The index.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The silo files.
    pub fn files(&self) -> &SiloFiles {
        &self.silos.files
    }

    /// Finds the record of an id: its own, or that of the body it holds.
    pub fn find(&self, id: &[u8; 32]) -> Result<Option<Located>, StoreError> {
        for place in self.index.find(Prefix::of(id))?.iter() {
            let Some(record) = self.record_at(place)? else { continue };
            let (own, body) = ids(record.header());
            if let Some(own) = own
                && (own == *id || body == Some(*id))
            {
                return Ok(Some(Located { place, id: own, header: record.header().clone() }));
            }
        }
        Ok(None)
    }

    /// Which of many ids are here, in their order.
    pub fn have(&self, wanted: &[[u8; 32]]) -> Result<Vec<bool>, StoreError> {
        let prefixes: Vec<Prefix> = wanted.iter().map(Prefix::of).collect();
        let mut candidates: Vec<bool> = vec![false; wanted.len()];
        self.index.find_many(&prefixes, |number, _| candidates[number] = true)?;
        let mut have = candidates;
        for (number, id) in wanted.iter().enumerate() {
            if have[number] {
                have[number] = self.find(id)?.is_some();
            }
        }
        Ok(have)
    }

    /// The one id that begins with these hex digits; none when there is none.
    pub fn resolve(&self, digits: &str) -> Result<Option<[u8; 32]>, StoreError> {
        let leading: String = digits.chars().take(16).collect();
        let value = u64::from_str_radix(&format!("{leading:0<16}"), 16).unwrap_or(0);
        let range = PrefixRange::leading(value, leading.len() as u32 * 4);
        let mut found: Vec<[u8; 32]> = Vec::new();
        let mut lost = None;
        for entry in self.index.entries(range)?.take(MOST_CANDIDATES) {
            let entry = entry?;
            let Some(record) = self.record_at(entry.place)? else {
                lost = lost.or(self.missing(entry.place));
                continue;
            };
            let (own, body) = ids(record.header());
            for id in own.into_iter().chain(body) {
                let matches = data_encoding::HEXLOWER.encode(&id).starts_with(digits);
                if matches && Prefix::of(&id) == entry.prefix && !found.contains(&id) {
                    found.push(id);
                }
            }
        }
        match found.as_slice() {
            // What was promised and is gone is another thing than what never was.
            [] => lost.map_or(Ok(None), |lost| Err(lost.into())),
            [one] => Ok(Some(*one)),
            several => Err(StoreError::Ambiguous { prefix: digits.to_owned(), count: several.len() }),
        }
    }

    /// Opens an object: a record by its id, with all its segments.
    pub fn object(&self, id: &[u8; 32]) -> Result<Option<Object>, StoreError> {
        let Some(located) = self.find(id)? else {
            let lost = self.index.find(Prefix::of(id))?.iter().find_map(|place| self.missing(place));
            return lost.map_or(Ok(None), |lost| Err(lost.into()));
        };
        Object::open(Arc::clone(&self.silos), located).map(Some)
    }

    /// The record at a place; none when no record begins there, or the silo is gone.
    pub(crate) fn record_at(&self, place: Place) -> Result<Option<SiloRecord>, StoreError> {
        self.silos.record_at(place)
    }

    /// That the silo of a place is gone, if it is.
    fn missing(&self, place: Place) -> Option<SiloError> {
        self.silo(place.silo()).err().filter(|error| matches!(error, SiloError::Missing { .. }))
    }

    pub(crate) fn silo(&self, number: u32) -> Result<Arc<dyn ReadAt>, SiloError> {
        self.silos.silo(number)
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

/// The silos that are open for reading, shared by all who read from them.
pub(crate) struct OpenSilos {
    files: SiloFiles,
    open: Mutex<VecDeque<(u32, Arc<dyn ReadAt>)>>,
}

impl OpenSilos {
    /// The record at a place; none when no record begins there, or the silo is gone.
    pub(crate) fn record_at(&self, place: Place) -> Result<Option<SiloRecord>, StoreError> {
        let source = match self.silo(place.silo()) {
            Ok(source) => source,
            Err(SiloError::Missing { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let reader = match Reader::at(source, place.offset()) {
            Ok(reader) => reader,
            Err(error @ varve_warc::Error::Io { .. }) => return Err(StoreError::read(place.silo(), error)),
            Err(_) => return Ok(None),
        };
        reader.into_record().map_err(|error| StoreError::read(place.silo(), error))
    }

    pub(crate) fn silo(&self, number: u32) -> Result<Arc<dyn ReadAt>, SiloError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, source)) = open.iter().find(|(held, _)| *held == number) {
            return Ok(Arc::clone(source));
        }
        let source = self.files.open(number)?;
        if open.len() == OPEN_SILOS {
            open.pop_front();
        }
        open.push_back((number, Arc::clone(&source)));
        Ok(source)
    }
}
