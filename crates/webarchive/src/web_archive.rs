//! A foreign archive, open for reading.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use varve_core::history::Capture;
use varve_warc::record::RecordType;
use varve_warc::{Format, OwnedRecord, WarcReader};
use varve_wire::{MessageHead, ReadAt};

use crate::error::WebArchiveError;
use crate::finding::ArchiveFinding;
use crate::index_folder::{ArchiveState, CATALOG_FILE, CatalogMaker, find_or_make};
use crate::record_files::list_files;
use crate::record_places::{
    IndexedRecordFile, ReadFile, RecordKind, RecordPlaces, RecordPosition, full_path,
};
use crate::response::{IndexedBodyReader, RecordLocation, decoded_body, payload, read_head};

/// Maximum number of files that are kept open.
const MAX_OPEN_FILES: usize = 32;

/// The bytes of a file of records.
type RecordSource = Arc<dyn ReadAt>;
/// A body or another part of a record.
type PartReader = Box<dyn Read + Send>;

/// Where the index is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexPlace {
    /// In this folder, for the next opening.
    Kept(PathBuf),
    /// In a temporary folder that is removed with the last handle to the archive.
    Temporary,
}

/// Receives what opening an archive does. It may be called by several threads.
pub trait OpenProgress: Sync {
    /// The files have this many bytes, and they have to be read.
    fn begin(&self, bytes: u64);
    /// This many more bytes were read.
    fn advance(&self, bytes: u64);
}

/// No progress.
impl OpenProgress for () {
    fn begin(&self, _: u64) {}
    fn advance(&self, _: u64) {}
}

/// A foreign archive, open for reading. Clones share one opening.
#[derive(Clone)]
pub struct WebArchive(Arc<OpenArchive>);

struct OpenArchive {
    root: PathBuf,
    index: PathBuf,
    places: RecordPlaces,
    files: Vec<ReadFile>,
    record_files: Vec<IndexedRecordFile>,
    /// The sources that were used last, by the number of the file of records.
    sources: Mutex<Vec<(usize, RecordSource)>>,
    /// Removes the index when it is not kept.
    _temporary: Option<tempfile::TempDir>,
}

impl WebArchive {
    /// Opens the file or folder at `root`. Reads all of its records, unless an index of them as they
    /// are is there.
    pub fn open(
        root: &Path,
        place: &IndexPlace,
        maker: &CatalogMaker<'_>,
        progress: &dyn OpenProgress,
    ) -> Result<Self, WebArchiveError> {
        let archive = ArchiveState::of(list_files(root)?)?;
        let cache = match place {
            IndexPlace::Kept(folder) => Some(folder.as_path()),
            IndexPlace::Temporary => None,
        };
        let total: u64 = archive.states.iter().map(|state| state.size).sum();
        let begun = std::sync::Once::new();
        let advance = |bytes| {
            begun.call_once(|| progress.begin(total));
            progress.advance(bytes);
        };
        let index = find_or_make(root, &archive, cache, maker, &advance)?;
        let places = RecordPlaces::open(&index.path)?;
        let (files, record_files) = (places.files()?, places.record_files()?);
        Ok(Self(Arc::new(OpenArchive {
            root: root.to_owned(),
            index: index.path,
            places,
            files,
            record_files,
            sources: Mutex::default(),
            _temporary: index.temporary,
        })))
    }

    /// The file or folder.
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// The path of the catalog.
    pub fn catalog_path(&self) -> PathBuf {
        self.0.index.join(CATALOG_FILE)
    }

    /// The folder of the index, for further caches of the same state of the files.
    pub fn index_folder(&self) -> &Path {
        &self.0.index
    }

    /// The files of records: their names, relative to the archive.
    pub fn record_file_names(&self) -> impl Iterator<Item = &str> {
        self.0.record_files.iter().map(|indexed| indexed.file.name.as_str())
    }

    /// The WACZ files, relative to the archive, with their paths. Packages in packages are not listed.
    pub fn packages(&self) -> Vec<(String, PathBuf)> {
        let mut found: Vec<(String, PathBuf)> = Vec::new();
        for indexed in &self.0.record_files {
            let Some(on_disk) = self.0.files.get(indexed.file.file) else { continue };
            let name = indexed.file.name.split('!').next().unwrap_or_default();
            if indexed.file.package.is_some() && found.last().is_none_or(|(last, _)| last != name) {
                found.push((name.to_owned(), full_path(&self.0.root, &on_disk.relative)));
            }
        }
        found
    }

    /// The bytes of the file of records with this name.
    pub fn open_record_file(&self, name: &str) -> Result<Option<Arc<dyn ReadAt>>, WebArchiveError> {
        let found = self.0.record_files.iter().position(|indexed| indexed.file.name == name);
        found.map(|file| self.0.source(file)).transpose()
    }

    /// What was wrong with the files when the index was made.
    pub fn findings(&self) -> Result<Vec<ArchiveFinding>, WebArchiveError> {
        Ok(self.0.places.findings()?)
    }

    /// Opens the body of a capture, with its codings removed. Reading it to the end verifies it.
    pub fn open_body(&self, capture: &Capture) -> Result<PartReader, WebArchiveError> {
        let place = self.0.holder(capture)?;
        let body = self.0.open_part(&place, RecordPart::Body)?;
        Ok(Box::new(IndexedBodyReader::new(body, capture.body)))
    }

    /// Opens the content of a response as it was received, with its content codings.
    pub fn open_payload(&self, capture: &Capture) -> Result<Option<PartReader>, WebArchiveError> {
        let place = self.0.holder(capture)?;
        self.0.open_part(&place, RecordPart::Payload).map(Some)
    }

    /// Opens the response as it was received, with its head and its framing. `None` for a resource,
    /// which has none.
    pub fn open_wire(&self, capture: &Capture) -> Result<Option<PartReader>, WebArchiveError> {
        let place = self.0.holder(capture)?;
        if !place.form.has_head {
            return Ok(None);
        }
        self.0.open_part(&place, RecordPart::Block).map(Some)
    }

    /// The head of the response as it was received. That of a revisit, if it has one that says more
    /// than that nothing changed.
    pub fn wire_head(&self, capture: &Capture) -> Result<Option<Vec<u8>>, WebArchiveError> {
        let Some(own) = capture.record else { return Ok(None) };
        let Some(place) = self.0.places.find(&own)? else { return Ok(None) };
        let is_own = match place.kind {
            RecordKind::Full => true,
            RecordKind::Revisit { is_not_modified, .. } => !is_not_modified,
        };
        if is_own && place.form.has_head {
            return self.0.head_at(&place);
        }
        match place.kind {
            RecordKind::Revisit { original: Some(original), .. } => match self.0.places.find(&original)? {
                Some(place) if place.form.has_head => self.0.head_at(&place),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// Where the record of a capture is.
    pub fn location(&self, capture: &Capture) -> Result<Option<RecordLocation>, WebArchiveError> {
        let Some(record) = capture.record else { return Ok(None) };
        let Some(place) = self.0.places.find(&record)? else { return Ok(None) };
        let indexed = self.0.record_files.get(place.file);
        Ok(indexed.map(|indexed| RecordLocation { file: indexed.file.name.clone(), offset: place.offset }))
    }

    /// Sort keys for captures: their bodies are read fastest in ascending order.
    pub fn read_order(&self, captures: &[&Capture]) -> Result<Vec<u64>, WebArchiveError> {
        let key = |capture: &&Capture| {
            let Ok(place) = self.0.holder(capture) else { return Ok(0) };
            // Files in their order, and offsets in theirs as far as they fit.
            Ok((place.file as u64) << 40 | place.offset.min((1 << 40) - 1))
        };
        captures.iter().map(key).collect()
    }
}

/// A part of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordPart {
    Block,
    Payload,
    Body,
}

impl OpenArchive {
    /// The record that holds the body of a capture.
    fn holder(&self, capture: &Capture) -> Result<RecordPosition, WebArchiveError> {
        let absent = || WebArchiveError::NoOriginal { url: capture.url.clone() };
        let record = capture.record.ok_or_else(absent)?;
        let place = self.places.find(&record)?.ok_or_else(absent)?;
        match place.kind {
            RecordKind::Full => Ok(place),
            RecordKind::Revisit { original, .. } => {
                let original = original.ok_or_else(absent)?;
                self.places.find(&original)?.ok_or_else(absent)
            }
        }
    }

    fn open_part(&self, place: &RecordPosition, part: RecordPart) -> Result<PartReader, WebArchiveError> {
        let mut block = self.open_record(place)?;
        let failed = |source| WebArchiveError::Read { path: self.path_of(place), source };
        if !place.form.has_head || part == RecordPart::Block {
            return Ok(Box::new(block));
        }
        let Some((head, _)) = read_head(&mut block).map_err(failed)? else {
            return Err(self.gone(place));
        };
        open_entity(&head, block, part == RecordPart::Body && place.form.decodes).map_err(failed)
    }

    fn head_at(&self, place: &RecordPosition) -> Result<Option<Vec<u8>>, WebArchiveError> {
        let mut block = self.open_record(place)?;
        let head = read_head(&mut block);
        let head = head.map_err(|source| WebArchiveError::Read { path: self.path_of(place), source })?;
        Ok(head.map(|(_, bytes)| bytes))
    }

    /// Opens the record at a place.
    fn open_record(&self, place: &RecordPosition) -> Result<OwnedRecord<RecordSource>, WebArchiveError> {
        let source = self.source(place.file)?;
        let indexed = self.record_files.get(place.file).ok_or_else(|| self.gone(place))?;
        let failed = |source| WebArchiveError::Records { path: self.path_of(place), source };
        let mut reader = match (indexed.format, place.ordinal) {
            (Format::Warc, 0) => WarcReader::at(source, place.offset).map_err(failed)?,
            // The columns of an ARC record depend on the version of its file.
            _ => WarcReader::resume(source, place.offset, indexed.format).map_err(failed)?,
        };
        for _ in 0..place.ordinal {
            reader.next_record().map_err(failed)?;
        }
        let record = reader.into_record().map_err(failed)?.ok_or_else(|| self.gone(place))?;
        let kind = record.header().record_type();
        let is_capture = matches!(kind, RecordType::Response | RecordType::Resource | RecordType::Revisit);
        if is_capture { Ok(record) } else { Err(self.gone(place)) }
    }

    fn gone(&self, place: &RecordPosition) -> WebArchiveError {
        WebArchiveError::RecordGone { path: self.path_of(place), offset: place.offset }
    }

    /// The path of the file of a record, with the member of a package.
    fn path_of(&self, place: &RecordPosition) -> PathBuf {
        let name = self.record_files.get(place.file).map(|indexed| indexed.file.name.clone());
        let parent = if self.root.is_dir() { Some(self.root.as_path()) } else { self.root.parent() };
        parent.unwrap_or(Path::new("")).join(name.unwrap_or_default())
    }

    /// The bytes of a file of records. A file that has changed since is refused.
    fn source(&self, number: usize) -> Result<RecordSource, WebArchiveError> {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = sources.iter().position(|(known, _)| *known == number) {
            let used = sources.remove(at);
            let source = Arc::clone(&used.1);
            sources.push(used);
            return Ok(source);
        }
        let unknown = || WebArchiveError::Changed { path: self.root.clone() };
        let indexed = self.record_files.get(number).ok_or_else(unknown)?;
        let on_disk = self.files.get(indexed.file.file).ok_or_else(unknown)?;
        let path = full_path(&self.root, &on_disk.relative);
        let file = File::open(&path).map_err(WebArchiveError::read(&path))?;
        if !on_disk.state.may_be(&file).map_err(WebArchiveError::read(&path))? {
            return Err(WebArchiveError::Changed { path });
        }
        let opened = indexed.file.bytes.open(file, &self.index);
        let source = opened.map_err(WebArchiveError::read(&path))?;
        if sources.len() >= MAX_OPEN_FILES {
            sources.remove(0);
        }
        sources.push((number, Arc::clone(&source)));
        Ok(source)
    }
}

/// Opens what follows the head in a block: the body, or the payload.
fn open_entity(head: &MessageHead, block: OwnedRecord<RecordSource>, decode: bool) -> io::Result<PartReader> {
    if !decode {
        return Ok(Box::new(payload(head, block)?));
    }
    let unknown = || io::Error::new(io::ErrorKind::InvalidData, "a content coding cannot be removed");
    Ok(Box::new(BufReader::new(decoded_body(head, block)?.ok_or_else(unknown)?)))
}
