//! The silos that are open for reading, shared by all readers of a store.

use std::any::Any;
use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use varve_warc::record::RecordHeader;
use varve_warc::{DecoderPool, FileDecoders};
use varve_warc::{OwnedRecord, WarcReader};
use varve_wire::ReadAt;

use super::random_access::IdleSiloReaders;
use super::verify::VerifiedPlaces;
use crate::error::StoreError;
use crate::index::SiloPlace;
use crate::silo::{SiloError, SiloFiles};

/// Maximum number of silos kept open.
const MAX_OPEN_SILOS: usize = 64;
/// Maximum length of a silo's description.
const MAX_DESCRIPTION_BYTES: u64 = 1 << 20;

/// A record in a silo, its block unread.
pub(crate) type SiloRecord = OwnedRecord<Arc<dyn ReadAt>>;

/// The open silos, with the decoders, readers and verification results that are reused.
pub(crate) struct OpenSilos {
    files: SiloFiles,
    open: Mutex<VecDeque<(u32, Arc<dyn ReadAt>)>>,
    decoders: Arc<DecoderPool>,
    pub(crate) verified: VerifiedPlaces,
    pub(crate) idle: IdleSiloReaders,
}

impl OpenSilos {
    pub(crate) fn new(files: SiloFiles) -> Self {
        Self::with_decoders(files, Arc::default())
    }

    /// Uses decoders that are shared with other readers.
    pub(crate) fn with_decoders(files: SiloFiles, decoders: Arc<DecoderPool>) -> Self {
        Self {
            files,
            open: Mutex::new(VecDeque::new()),
            decoders,
            verified: VerifiedPlaces::default(),
            idle: IdleSiloReaders::default(),
        }
    }

    pub(crate) fn files(&self) -> &SiloFiles {
        &self.files
    }

    /// The record at a place; `None` when no record begins there or the silo is missing.
    pub(crate) fn record_at(&self, place: SiloPlace) -> Result<Option<SiloRecord>, StoreError> {
        let Some(source) = self.present_silo(place.silo())? else { return Ok(None) };
        let reader = match WarcReader::at(source, place.offset()) {
            Ok(reader) => reader,
            Err(error @ varve_warc::Error::Io { .. }) => return Err(StoreError::read(place.silo(), error)),
            Err(_) => return Ok(None),
        };
        reader.into_record().map_err(|error| StoreError::read(place.silo(), error))
    }

    /// Header and block of the description that a silo begins with; `None` when it does not begin
    /// with a record.
    pub(crate) fn description_of(&self, number: u32) -> Result<Option<(RecordHeader, Vec<u8>)>, StoreError> {
        let Some(mut record) = self.record_at(SiloPlace::new(number, 0)?)? else { return Ok(None) };
        let mut block = Vec::new();
        (&mut record)
            .take(MAX_DESCRIPTION_BYTES)
            .read_to_end(&mut block)
            .map_err(|source| StoreError::read(number, varve_warc::Error::Io { offset: 0, source }))?;
        Ok(Some((record.header().clone(), block)))
    }

    /// A silo; `None` when it is missing.
    pub(crate) fn present_silo(&self, number: u32) -> Result<Option<Arc<dyn ReadAt>>, StoreError> {
        match self.silo(number) {
            Err(SiloError::Missing { .. }) => Ok(None),
            source => Ok(Some(source?)),
        }
    }

    pub(crate) fn silo(&self, number: u32) -> Result<Arc<dyn ReadAt>, SiloError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, source)) = open.iter().find(|(held, _)| *held == number) {
            return Ok(Arc::clone(source));
        }
        let source = open_with_decoders(&self.files, number, &self.decoders)?;
        if open.len() == MAX_OPEN_SILOS {
            open.pop_front();
        }
        open.push_back((number, Arc::clone(&source)));
        Ok(source)
    }
}

/// Opens a silo whose records are unpacked by shared decoders.
pub(crate) fn open_with_decoders(
    files: &SiloFiles,
    number: u32,
    decoders: &Arc<DecoderPool>,
) -> Result<Arc<dyn ReadAt>, SiloError> {
    let decoders = FileDecoders::new(decoders, u64::from(number));
    Ok(Arc::new(OpenedSilo { source: files.open(number)?, decoders }))
}

/// An open silo whose decoders are reused.
struct OpenedSilo {
    source: Arc<dyn ReadAt>,
    decoders: FileDecoders,
}

impl ReadAt for OpenedSilo {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        self.source.read_at(buffer, offset)
    }

    fn size(&self) -> std::io::Result<u64> {
        self.source.size()
    }

    fn reader_state(&self) -> Option<&(dyn Any + Send + Sync)> {
        Some(&self.decoders)
    }
}
