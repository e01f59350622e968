//! `import`: imports the objects of another store into the archive.
//!
//! This module imports from AardWARC. Contents, types, dates and references are imported. An object
//! keeps its id, because both stores derive ids by SHA-256. An id that was forced on metadata
//! cannot be derived from it: the object gets its derived id. A small record beside it holds the
//! old id, so that both ids find it. Damaged objects are skipped. Importing again adds nothing.

use std::path::{Path, PathBuf};

use varve_core::RecordId;
use varve_store::aardwarc::{Aardwarc, AardwarcError, AardwarcFinding, AardwarcObject};
use varve_store::audit::AuditKind;
use varve_store::record::{FOREIGN_ID_FIELD, foreign_id_digits, record_uri};
use varve_store::{NewObject, StoreError};
use varve_warc::date::Date;
use varve_warc::payload::PayloadKind;
use varve_warc::record::RecordType;
use varve_warc::write::{Draft, Packer};

use crate::error::ArchiveError;
use varve_repository::{ArchiveWriter, RepositoryError};

/// Number of objects per sync.
const RECORDS_PER_SYNC: u64 = 1000;

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Objects read.
    pub objects: u64,
    /// Number of objects that were new.
    pub new: u64,
    /// Total bytes of all objects.
    pub bytes: u64,
    /// Objects whose new id does not begin with their old one: forced ids, or damage.
    pub renumbered: Vec<Renumbered>,
    /// Damage in the source store, and the objects skipped because of it.
    pub findings: Vec<AardwarcFinding>,
}

/// An object whose id changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renumbered {
    /// The old id.
    pub was: String,
    /// The new id.
    pub is: String,
    /// Whether the old id finds it as well.
    pub found_by_both: bool,
    /// The silo it was found in.
    pub silo: PathBuf,
    /// Its byte offset there.
    pub offset: u64,
}

/// Imports the AardWARC store in `folder`. `progress` is called for each object.
pub fn import(
    writer: &ArchiveWriter,
    folder: &Path,
    progress: &dyn Fn(u64),
) -> Result<Imported, ArchiveError> {
    let read = |error| RepositoryError::Aardwarc { path: folder.to_owned(), source: error };
    let source = Aardwarc::open(folder, &|_| {}).map_err(read)?;
    let source = source.ok_or_else(|| ArchiveError::NotImportable(folder.to_owned()))?;
    // An id that does not follow from the content was forced; it is reported as renumbered instead.
    let damage = source.findings().iter().filter(|finding| finding.kind != AuditKind::Id);
    let mut imported = Imported { findings: damage.cloned().collect(), ..Imported::default() };
    let mut packer = writer.store().packer()?;
    let result = source.objects::<Failure>(|object| {
        let new_object = translated(&object, writer)?;
        let stored = writer.store().store_reader(&mut packer, &new_object, &mut object.read())?;
        imported.objects += 1;
        imported.new += u64::from(stored.new);
        imported.bytes += stored.length;
        if let Some(mut renumbered) = renumbered(&object, &stored.id) {
            renumbered.found_by_both =
                keep_other_id(writer, &mut packer, &renumbered, &stored.id, new_object.date)?;
            imported.renumbered.push(renumbered);
        }
        if imported.objects.is_multiple_of(RECORDS_PER_SYNC) {
            writer.store().sync()?;
        }
        progress(1);
        Ok(())
    });
    let left_out = result.map_err(|failure| match failure {
        Failure::Read(error) => read(error),
        Failure::Store(error) => error.into(),
    })?;
    imported.findings.extend(left_out);
    writer.store().sync()?;
    Ok(imported)
}

enum Failure {
    Read(AardwarcError),
    Store(StoreError),
}

impl From<AardwarcError> for Failure {
    fn from(error: AardwarcError) -> Self {
        Self::Read(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Stores the old id of an object. Returns `false` for an id that cannot be looked up.
fn keep_other_id(
    writer: &ArchiveWriter,
    packer: &mut Packer,
    renumbered: &Renumbered,
    id: &RecordId,
    date: Date,
) -> Result<bool, StoreError> {
    if foreign_id_digits(renumbered.was.as_bytes()).is_none() {
        return Ok(false);
    }
    let draft = Draft::new(RecordType::Metadata, &date)
        .refers_to(record_uri(id))
        .content_type("text/plain")
        .field(FOREIGN_ID_FIELD, &format!("<{}>", renumbered.was));
    let record = packer.pack(&draft, PayloadKind::None, renumbered.was.as_bytes())?;
    writer.store().keep(record)?;
    Ok(true)
}

/// Converts an object for this archive. A reference stays as written, because the id of metadata
/// depends on it.
fn translated(object: &AardwarcObject, writer: &ArchiveWriter) -> Result<NewObject, StoreError> {
    let header = object.header();
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let is_metadata = header.record_type() == RecordType::Metadata;
    let refers_to = header.reference("WARC-Refers-To").filter(|_| is_metadata);
    Ok(NewObject {
        date: header.date().unwrap_or_else(|| writer.now()),
        content_type: header
            .fields
            .get("Content-Type")
            .map_or_else(|| "application/octet-stream".to_owned(), text),
        refers_to: refers_to.map(|uri| text(uri).parse()).transpose()?,
        known: None,
    })
}

fn renumbered(object: &AardwarcObject, id: &RecordId) -> Option<Renumbered> {
    let was = String::from_utf8_lossy(object.header().record_id()?).into_owned();
    let is = data_encoding::HEXLOWER.encode(id.as_bytes());
    let digits = was.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let (silo, offset) = object.place();
    let silo = silo.to_owned();
    (digits.is_empty() || !is.starts_with(&digits)).then_some(Renumbered {
        was,
        is,
        found_by_both: false,
        silo,
        offset,
    })
}
