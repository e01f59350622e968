//! AardWARC stores: their objects, read from their silos.
//!
//! An AardWARC store is a folder of silos with an index of its own, which is not needed here: the silos say everything.
//! Every record is three gzip members, ids are a prefix and the first digits of a SHA-256, large objects are cut into
//! segments that lie in any silos. Two passes: the first notes where segments are, the second gives the objects.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use varve_warc::record::{Header, RecordType};
use varve_warc::{Error, OwnedRecord, Reader};

/// An object of an AardWARC store.
pub struct AardwarcObject {
    /// Header of its first record.
    pub header: Header,
    /// Its content.
    pub content: AardwarcContent,
    /// The silo it was found in, and where.
    pub place: (PathBuf, u64),
}

/// Why a store could not be read.
#[derive(Debug, thiserror::Error)]
pub enum AardwarcError {
    /// A folder or file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A silo cannot be read as WARC.
    #[error("cannot read silo `{}`", path.display())]
    Silo {
        /// Which.
        path: PathBuf,
        /// The cause.
        source: Error,
    },
}

/// Where segments lie: by the first segment's id and the segment's number.
type Segments = HashMap<(Vec<u8>, u64), (usize, u64)>;

/// An AardWARC store.
pub struct Aardwarc {
    silos: Vec<PathBuf>,
    segments: Segments,
}

/// Folders may be nested so deep: the fan-out of a billion silos.
const DEEPEST: usize = 6;

impl Aardwarc {
    /// Opens the store in a folder: `0/`, `1/…` with silos below. None when there is no silo of AardWARC in it.
    pub fn open(folder: &Path) -> Result<Option<Self>, AardwarcError> {
        let mut silos = Vec::new();
        for level in 0..DEEPEST {
            let below = folder.join(level.to_string());
            if below.is_dir() {
                collect(&below, DEEPEST, &mut silos)?;
            }
        }
        silos.sort();
        let is_ours = silos.first().map(|silo| is_aardwarc(silo)).transpose()?.unwrap_or(false);
        if !is_ours {
            return Ok(None);
        }
        let mut store = Self { silos, segments: Segments::new() };
        store.find_segments()?;
        Ok(Some(store))
    }

    /// The silos, in order of their names.
    pub fn silos(&self) -> &[PathBuf] {
        &self.silos
    }

    fn find_segments(&mut self) -> Result<(), AardwarcError> {
        let mut segments = Segments::new();
        for (number, path) in self.silos.iter().enumerate() {
            let failed = |source| AardwarcError::Silo { path: path.clone(), source };
            let mut reader = open_silo(path)?;
            while let Some(record) = reader.next_record().map_err(failed)? {
                let header = record.header();
                if header.record_type() == RecordType::Continuation
                    && let Some(origin) = header.reference("WARC-Segment-Origin-ID")
                    && let Some(segment) = segment_number(header)
                {
                    segments.insert((origin.to_vec(), segment), (number, record.offset()));
                }
            }
        }
        self.segments = segments;
        Ok(())
    }

    /// Gives every resource and metadata record to `visit`, with all its segments, in the order of the silos.
    pub fn objects<E: From<AardwarcError>>(
        &self,
        mut visit: impl FnMut(AardwarcObject) -> Result<(), E>,
    ) -> Result<(), E> {
        for path in &self.silos {
            let failed = |source| AardwarcError::Silo { path: path.clone(), source };
            let mut reader = open_silo(path)?;
            while let Some(record) = reader.next_record().map_err(failed)? {
                if !matches!(record.header().record_type(), RecordType::Resource | RecordType::Metadata) {
                    continue;
                }
                let (header, offset) = (record.header().clone(), record.offset());
                let content = AardwarcContent::new(self.parts(&header, path, offset));
                visit(AardwarcObject { header, content, place: (path.clone(), offset) })?;
            }
        }
        Ok(())
    }

    /// Where the pieces of an object lie.
    fn parts(&self, header: &Header, path: &Path, offset: u64) -> VecDeque<(PathBuf, u64)> {
        let mut parts = VecDeque::from([(path.to_owned(), offset)]);
        let id = header.record_id().unwrap_or_default().to_vec();
        if header.is_segment() {
            let mut number = 2;
            while let Some((silo, offset)) = self.segments.get(&(id.clone(), number)) {
                parts.push_back((self.silos[*silo].clone(), *offset));
                number += 1;
            }
        }
        parts
    }
}

fn segment_number(header: &Header) -> Option<u64> {
    std::str::from_utf8(header.fields.get("WARC-Segment-Number")?).ok()?.parse().ok()
}

fn collect(folder: &Path, depth: usize, silos: &mut Vec<PathBuf>) -> Result<(), AardwarcError> {
    let failed = |source| AardwarcError::Io { path: folder.to_owned(), source };
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            if depth > 0 {
                collect(&path, depth - 1, silos)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "gz") {
            silos.push(path);
        }
    }
    Ok(())
}

/// Whether a file begins with a gzip member that has AardWARC's extra field.
fn is_aardwarc(path: &Path) -> Result<bool, AardwarcError> {
    let failed = |source| AardwarcError::Io { path: path.to_owned(), source };
    let mut beginning = Vec::new();
    File::open(path).map_err(failed)?.take(14).read_to_end(&mut beginning).map_err(failed)?;
    Ok(beginning.starts_with(&[0x1f, 0x8b, 8, 4]) && beginning.ends_with(b"Aa"))
}

fn open_silo(path: &Path) -> Result<Reader<File>, AardwarcError> {
    let file = File::open(path).map_err(|source| AardwarcError::Io { path: path.to_owned(), source })?;
    Reader::new(file).map_err(|source| AardwarcError::Silo { path: path.to_owned(), source })
}

/// The content of an object, from all its segments. A block that ends early is an error.
pub struct AardwarcContent {
    waiting: VecDeque<(PathBuf, u64)>,
    current: Option<(PathBuf, OwnedRecord<File>)>,
}

impl AardwarcContent {
    fn new(waiting: VecDeque<(PathBuf, u64)>) -> Self {
        Self { waiting, current: None }
    }

    fn advance(&mut self) -> io::Result<bool> {
        let Some((path, offset)) = self.waiting.pop_front() else { return Ok(false) };
        let reader = Reader::at(File::open(&path)?, offset).map_err(io::Error::other)?;
        let record = reader.into_record().map_err(io::Error::other)?;
        let record = record.ok_or_else(|| io::Error::other("a record is gone"))?;
        self.current = Some((path, record));
        Ok(true)
    }
}

impl Read for AardwarcContent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some((path, record)) = &mut self.current else {
                if buffer.is_empty() || !self.advance()? {
                    return Ok(0);
                }
                continue;
            };
            let count = record.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            if record.as_record().is_cut() {
                let message = format!("a block in `{}` ends early", path.display());
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            self.current = None;
        }
    }
}
