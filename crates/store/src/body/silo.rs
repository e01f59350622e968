//! Bodies in silos: resources, and what responses hold once their codings are undone.

use std::io::{self, BufRead, Read};

use varve_core::BodyId;
use varve_core::body::{BodyError, BodySource, BodyStore, KeptBody};
use varve_warc::digest::{Algorithm, Hasher};
use varve_warc::http::{BodyLimits, HeadParser, open_body};
use varve_warc::record::RecordType;

use crate::exchange::field;
use crate::keep::NewObject;
use crate::store::{SiloRecord, Store};
use crate::writer::StoreWriter;

/// The type of a body of which nothing else is known.
const UNKNOWN_TYPE: &str = "application/octet-stream";

impl BodySource for Store {
    fn open_body(&self, id: &BodyId) -> Result<Option<Box<dyn Read + Send>>, BodyError> {
        let bytes = *id.as_bytes();
        let Some(located) = self.find(&bytes).map_err(BodyError::new)? else { return Ok(None) };
        if located.header.record_type() != RecordType::Response || located.id == bytes {
            let object = self.object(&bytes).map_err(BodyError::new)?;
            let Some(object) = object else { return Ok(None) };
            return Ok(Some(Box::new(object.read().map_err(BodyError::new)?)));
        }
        let Some(record) = self.record_at(located.place).map_err(BodyError::new)? else { return Ok(None) };
        let body = response_body(record).map_err(BodyError::new)?;
        Ok(Some(Box::new(Checked { body, hasher: Some(Algorithm::Sha256.hasher()), id: *id })))
    }

    fn have_bodies(&self, ids: &[BodyId]) -> Result<Vec<bool>, BodyError> {
        let ids: Vec<[u8; 32]> = ids.iter().map(|id| *id.as_bytes()).collect();
        self.have(&ids).map_err(BodyError::new)
    }
}

/// The body of the HTTP response that a record holds. Content codings are undone where the record says that the body is
/// another than the payload: elsewhere they could not be.
fn response_body(mut record: SiloRecord) -> io::Result<impl Read> {
    let is_decoded = record.header().fields.get(field::BODY_DIGEST).is_some();
    let mut parser = HeadParser::new();
    loop {
        let bytes = record.fill_buf()?;
        if bytes.is_empty() {
            break;
        }
        let (taken, complete) = parser.push(bytes);
        record.consume(taken);
        if complete {
            break;
        }
    }
    let mut head = parser
        .head()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the record holds no HTTP response"))?;
    if !is_decoded {
        head.forget_content_codings();
    }
    open_body(&head, record, BodyLimits::default())
}

/// A body that is checked at its end.
struct Checked<R> {
    body: R,
    hasher: Option<Hasher>,
    id: BodyId,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.body.read(buffer)?;
        if count > 0 {
            if let Some(hasher) = &mut self.hasher {
                hasher.update(&buffer[..count]);
            }
        } else if !buffer.is_empty()
            && let Some(hasher) = self.hasher.take()
        {
            let found = super::loose::body_id(hasher.finish());
            if found != self.id {
                let message = format!("body {} is damaged: its SHA-256 is {found}", self.id);
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        }
        Ok(count)
    }
}

impl BodySource for StoreWriter {
    fn open_body(&self, id: &BodyId) -> Result<Option<Box<dyn Read + Send>>, BodyError> {
        // What is not synced cannot be read from the silo yet.
        self.sync().map_err(BodyError::new)?;
        self.reader().open_body(id)
    }

    fn have_bodies(&self, ids: &[BodyId]) -> Result<Vec<bool>, BodyError> {
        self.sync().map_err(BodyError::new)?;
        self.reader().have_bodies(ids)
    }
}

impl BodyStore for StoreWriter {
    fn keep_body(&self, content: &mut dyn Read) -> Result<KeptBody, BodyError> {
        let mut packer = self.packer().map_err(BodyError::new)?;
        let date = (self.settings().clock)();
        let object = NewObject { date, content_type: UNKNOWN_TYPE.to_owned(), refers_to: None, known: None };
        let stored = self.store_reader(&mut packer, &object, content).map_err(BodyError::new)?;
        Ok(KeptBody { id: BodyId::new(stored.id), length: stored.length, new: stored.new })
    }

    fn sync_bodies(&self) -> Result<(), BodyError> {
        self.sync().map_err(BodyError::new)
    }
}
