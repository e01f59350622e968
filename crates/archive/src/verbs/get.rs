//! `get`: reads an object, whole or in part, and verifies it on the way.
//!
//! The id of a record gives its block, as stored in the silo. The id of a body inside a response
//! gives the body: without the head of the message, and with its transfer and content codings
//! decoded.
//!
//! Objects of an AardWARC store are read in the same way, in place.
//!
//! A file gets its final name only after the object is verified. A stream has received the bytes by
//! then, and the error follows at the end.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use varve_repository::RepositoryError;

use varve_core::RecordId;
use varve_core::body::BodySource;
use varve_store::Object;
use varve_store::aardwarc::AardwarcObject;

use crate::error::ArchiveError;
use varve_file::NewFile;
use varve_repository::archive::{Archive, hex_digits};
use varve_repository::objects::{Objects, aardwarc_object};

/// A range of bytes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteRange {
    /// From the first up to and including the last, counted from 0; to the end if there is no last.
    From(u64, Option<u64>),
    /// This many bytes at the end.
    Last(u64),
}

/// A requested object.
pub struct FoundObject<'a>(FoundObjectSource<'a>);

enum FoundObjectSource<'a> {
    Archive { archive: &'a Archive, object: Object, id: RecordId },
    Aardwarc(AardwarcObject),
}

/// Finds the object of an archive that a user's text names.
pub fn find<'a>(archive: &'a Archive, id: &str) -> Result<FoundObject<'a>, ArchiveError> {
    let id = archive.resolve(id).map_err(|error| taken_out(archive, &error).unwrap_or(error))?;
    Ok(FoundObject(FoundObjectSource::Archive { archive, object: archive.object(id)?, id }))
}

/// The error for an object that was removed; `None` if no removal is known.
fn taken_out(archive: &Archive, error: &RepositoryError) -> Option<RepositoryError> {
    let RepositoryError::Absent { id } = error else { return None };
    let record: RecordId = id.parse().ok()?;
    let catalog = archive.backends().read_catalog().ok()?;
    let removal = catalog.rows.removals_of(&record).ok()?.into_iter().next()?;
    Some(RepositoryError::Removed { url: id.clone(), removal: Box::new(removal) })
}

/// Finds the object that a user's text names, in an archive or an AardWARC store.
pub fn find_in<'a>(objects: &'a Objects, id: &str) -> Result<FoundObject<'a>, ArchiveError> {
    match objects {
        Objects::Archive(archive) => find(archive, id),
        Objects::Aardwarc(store) => Ok(FoundObject(FoundObjectSource::Aardwarc(aardwarc_object(store, id)?))),
    }
}

impl FoundObject<'_> {
    /// The hexadecimal digits of its id.
    pub fn digits(&self) -> String {
        match &self.0 {
            FoundObjectSource::Archive { id, .. } => hex_digits(*id),
            FoundObjectSource::Aardwarc(object) => {
                String::from_utf8_lossy(object.header().record_id().unwrap_or_default()).into_owned()
            }
        }
    }

    /// Whether it is the body of a response rather than a record.
    pub fn is_body(&self) -> bool {
        matches!(&self.0, FoundObjectSource::Archive { object, id, .. } if object.id() != *id)
    }

    /// Its length; `None` for a body, whose length is known only after reading it.
    pub fn length(&self) -> Option<u64> {
        match &self.0 {
            _ if self.is_body() => None,
            FoundObjectSource::Archive { object, .. } => Some(object.length()),
            FoundObjectSource::Aardwarc(object) => Some(object.length()),
        }
    }

    /// The fields of its record's header, with names and values as written.
    pub fn header(&self) -> impl Iterator<Item = (String, String)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let header = match &self.0 {
            FoundObjectSource::Archive { object, .. } => object.header(),
            FoundObjectSource::Aardwarc(object) => object.header(),
        };
        header.fields.iter().map(move |(name, value)| (text(name), text(value)))
    }

    /// Writes all of it, or a range, to `output`. Returns the number of bytes. Whole objects are
    /// verified.
    pub fn write_to(
        &self,
        range: Option<ByteRange>,
        output: &mut dyn Write,
        progress: &dyn Fn(u64),
    ) -> Result<u64, GetError> {
        let mut content = self.content(range)?;
        let mut buffer = vec![0; 128 << 10];
        let mut written = 0;
        loop {
            let count = content.read(&mut buffer).map_err(|source| self.unreadable(source))?;
            if count == 0 {
                return Ok(written);
            }
            output.write_all(&buffer[..count]).map_err(GetError::Output)?;
            written += count as u64;
            progress(count as u64);
        }
    }

    /// Writes it to a file, which appears complete or not at all.
    pub fn write_to_file(
        &self,
        range: Option<ByteRange>,
        path: &Path,
        overwrite: bool,
        progress: &dyn Fn(u64),
    ) -> Result<u64, ArchiveError> {
        if path.is_dir() {
            return Err(ArchiveError::Folder(path.to_owned()));
        }
        if !overwrite && path.symlink_metadata().is_ok() {
            return Err(ArchiveError::Exists(path.to_owned()));
        }
        let unwritten = |source| ArchiveError::write(path)(source);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut draft = NewFile::new_in(folder).map_err(unwritten)?;
        let written = self.write_to(range, &mut draft, progress).map_err(|error| match error {
            GetError::Archive(error) => error,
            GetError::Output(source) => unwritten(source),
        })?;
        draft.as_file().sync_all().map_err(unwritten)?;
        match overwrite {
            true => draft.persist(path),
            false => draft.persist_noclobber(path),
        }
        .map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => ArchiveError::Exists(path.to_owned()),
            _ => unwritten(error.error),
        })?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(unwritten)?;
        Ok(written)
    }

    /// The requested bytes.
    fn content(&self, range: Option<ByteRange>) -> Result<Box<dyn Read>, ArchiveError> {
        if let Some(length) = self.length() {
            let (start, end) = self.bounds(range, length)?;
            return Ok(match &self.0 {
                FoundObjectSource::Archive { object, .. } => Box::new(object.read_range(start, end)?),
                FoundObjectSource::Aardwarc(object) => {
                    Box::new(object.read_range(start, end).map_err(|source| self.unreadable(source))?)
                }
            });
        }
        let Some(range) = range else { return self.body() };
        let counted = |source| self.unreadable(source);
        let length = io::copy(&mut self.body()?, &mut io::sink()).map_err(counted)?;
        let (start, end) = self.bounds(Some(range), length)?;
        let mut body = self.body()?;
        io::copy(&mut (&mut body).take(start), &mut io::sink()).map_err(counted)?;
        Ok(Box::new(body.take(end - start)))
    }

    fn body(&self) -> Result<Box<dyn Read>, ArchiveError> {
        let body = match &self.0 {
            FoundObjectSource::Archive { archive, id, .. } => {
                archive.ask(|store| Ok(store.open_body(&id.body())?))
            }
            // An object of an AardWARC store is never a body inside another.
            FoundObjectSource::Aardwarc(_) => Ok(None),
        };
        let body = body.map_err(|error| self.unreadable(io::Error::other(error)))?;
        Ok(body.ok_or_else(|| RepositoryError::Absent { id: self.digits() })?)
    }

    /// The requested range: from the first byte up to, but not including, the last.
    fn bounds(&self, range: Option<ByteRange>, length: u64) -> Result<(u64, u64), ArchiveError> {
        match range {
            None => Ok((0, length)),
            Some(ByteRange::Last(count)) => Ok((length.saturating_sub(count), length)),
            Some(ByteRange::From(start, _)) if start >= length && start > 0 => {
                Err(ArchiveError::Range { id: self.digits(), length, start })
            }
            Some(ByteRange::From(start, last)) => {
                let end = last.map_or(length, |last| last.saturating_add(1)).min(length);
                Ok((start, end.max(start)))
            }
        }
    }

    fn unreadable(&self, source: io::Error) -> ArchiveError {
        RepositoryError::ReadObject { id: self.digits(), source }.into()
    }
}

/// Why an object was not written to a stream.
#[derive(Debug, thiserror::Error)]
pub enum GetError {
    /// It could not be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// It could not be written.
    #[error("could not write the object")]
    Output(#[source] io::Error),
}
