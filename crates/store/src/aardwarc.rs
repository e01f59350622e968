//! AardWARC stores: their objects, read from their silos.
//!
//! An AardWARC store is a folder of silos with an index of its own, which is not needed here: the silos say everything.
//! Every record is three gzip members, ids are a prefix and the first digits of a SHA-256, large objects are cut into
//! segments that lie in any silos. Two passes: the first checks every record and notes where segments are, the second
//! gives the objects that are whole. What is damaged is said and left out: kept here, it would pass for good.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use varve_warc::check::{Checker, Verdict};
use varve_warc::record::{Header, RecordType};
use varve_warc::rule::{Finding, Severity};
use varve_warc::{Error, OwnedRecord, Reader, Record};

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

/// Something in a store that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AardwarcFinding {
    /// The silo.
    pub silo: PathBuf,
    /// Where in it.
    pub offset: u64,
    /// What is wrong.
    pub message: String,
}

/// A segment that is not the first of its object.
struct Segment {
    silo: usize,
    offset: u64,
    length: u64,
    /// The length of the object, on its last segment.
    total: Option<u64>,
}

/// Where segments lie: by the first segment's id and the segment's number.
type Segments = HashMap<(Vec<u8>, u64), Segment>;

/// An AardWARC store.
pub struct Aardwarc {
    silos: Vec<PathBuf>,
    segments: Segments,
    /// Records that are not as they were written: silo and offset.
    damaged: HashSet<(usize, u64)>,
    findings: Vec<AardwarcFinding>,
}

/// Folders may be nested so deep: the fan-out of a billion silos.
const DEEPEST: usize = 6;
/// The settings of a store, which say where its silos are.
const SETTINGS: &str = "aardwarc.conf";
/// No settings are longer.
const LONGEST_SETTINGS: u64 = 1 << 20;

impl Aardwarc {
    /// Opens the store in a folder: `0/`, `1/…` with silos below, or `aardwarc.conf`, which says where they are. None when
    /// there is no silo of AardWARC in it. All silos are read, and every digest is checked.
    pub fn open(folder: &Path) -> Result<Option<Self>, AardwarcError> {
        let folder = silo_folder(folder)?;
        let mut silos = Vec::new();
        for level in 0..DEEPEST {
            let below = folder.join(level.to_string());
            if below.is_dir() {
                collect(&below, DEEPEST, &mut silos)?;
            }
        }
        silos.sort();
        // Any of them may be damaged at its beginning.
        let mut is_ours = false;
        for silo in &silos {
            is_ours = is_ours || is_aardwarc(silo)?;
        }
        if !is_ours {
            return Ok(None);
        }
        let (segments, damaged) = (Segments::new(), HashSet::new());
        let mut store = Self { silos, segments, damaged, findings: Vec::new() };
        for number in 0..store.silos.len() {
            store.examine(number)?;
        }
        Ok(Some(store))
    }

    /// The silos, in order of their names.
    pub fn silos(&self) -> &[PathBuf] {
        &self.silos
    }

    /// What is not as it was written, in order of the silos.
    pub fn findings(&self) -> &[AardwarcFinding] {
        &self.findings
    }

    /// Reads a silo, notes where segments are, and holds every record against its digests.
    fn examine(&mut self, number: usize) -> Result<(), AardwarcError> {
        let path = self.silos[number].clone();
        let failed = |source| AardwarcError::Silo { path: path.clone(), source };
        let Some(mut reader) = open_silo(&path)? else {
            self.find(number, 0, "it cannot be read as a silo");
            return Ok(());
        };
        let mut checker = Checker::default();
        while let Some(mut record) = reader.next_record().map_err(failed)? {
            let offset = record.offset();
            let verdict = checker.check(&mut record, false).map_err(failed)?;
            let is_cut = record.is_cut();
            self.note_segment(number, &record);
            reader.finish_record().map_err(failed)?;
            let found = checker.take_findings().chain(reader.take_findings());
            let found: Vec<Finding> = found.filter(is_damage).collect();
            let is_wrong = verdict.block != Verdict::Right || verdict.payload == Verdict::Wrong || is_cut;
            if is_wrong || found.iter().any(|finding| finding.offset == offset) {
                self.damaged.insert((number, offset));
                if found.is_empty() {
                    self.find(number, offset, "nothing shows that this record is what was written");
                }
            }
            found.iter().for_each(|finding| self.find(number, finding.offset, &finding.message));
        }
        let rest = reader.take_findings();
        rest.iter().filter(|finding| is_damage(finding)).for_each(|finding| {
            self.find(number, finding.offset, &finding.message);
        });
        Ok(())
    }

    fn find(&mut self, silo: usize, offset: u64, message: &str) {
        let silo = self.silos[silo].clone();
        self.findings.push(AardwarcFinding { silo, offset, message: message.to_owned() });
    }

    fn note_segment(&mut self, silo: usize, record: &Record<'_, File>) {
        let header = record.header();
        if header.record_type() == RecordType::Continuation
            && let Some(origin) = header.reference("WARC-Segment-Origin-ID")
            && let Some(segment) = number_in(header, "WARC-Segment-Number")
        {
            let (length, offset) = (record.declared_length(), record.offset());
            let total = number_in(header, "WARC-Segment-Total-Length");
            self.segments.insert((origin.to_vec(), segment), Segment { silo, offset, length, total });
        }
    }

    /// Gives every resource and metadata record to `visit`, with all its segments, in the order of the silos. What is not
    /// whole is left out; the answer says what that is, besides what [`Self::findings`] says.
    pub fn objects<E: From<AardwarcError>>(
        &self,
        mut visit: impl FnMut(AardwarcObject) -> Result<(), E>,
    ) -> Result<Vec<AardwarcFinding>, E> {
        let mut left_out = Vec::new();
        for (number, path) in self.silos.iter().enumerate() {
            let failed = |source| AardwarcError::Silo { path: path.clone(), source };
            let Some(mut reader) = open_silo(path)? else { continue };
            while let Some(record) = reader.next_record().map_err(failed)? {
                if !matches!(record.header().record_type(), RecordType::Resource | RecordType::Metadata) {
                    continue;
                }
                let (header, offset) = (record.header().clone(), record.offset());
                match self.parts(&header, record.declared_length(), (number, offset)) {
                    Ok(parts) => {
                        let content = AardwarcContent::new(parts);
                        visit(AardwarcObject { header, content, place: (path.clone(), offset) })?;
                    }
                    Err(why) => {
                        let id = String::from_utf8_lossy(header.record_id().unwrap_or_default()).into_owned();
                        let message = format!("`{id}` is left out: {why}");
                        left_out.push(AardwarcFinding { silo: path.clone(), offset, message });
                    }
                }
            }
        }
        Ok(left_out)
    }

    /// Where the pieces of an object lie, if all are there and right; else why not.
    fn parts(
        &self,
        header: &Header,
        length: u64,
        first: (usize, u64),
    ) -> Result<VecDeque<(PathBuf, u64)>, String> {
        let mut parts = VecDeque::from([(self.silos[first.0].clone(), first.1)]);
        if self.damaged.contains(&first) {
            return Err("its record is damaged".to_owned());
        }
        if !header.is_segment() {
            return Ok(parts);
        }
        let id = header.record_id().unwrap_or_default().to_vec();
        let (mut sum, mut number) = (length, 2);
        loop {
            let segment = self.segments.get(&(id.clone(), number));
            let segment = segment.ok_or_else(|| format!("its segment {number} is missing"))?;
            if self.damaged.contains(&(segment.silo, segment.offset)) {
                return Err(format!("its segment {number} is damaged"));
            }
            parts.push_back((self.silos[segment.silo].clone(), segment.offset));
            sum = sum.saturating_add(segment.length);
            match segment.total {
                Some(total) if total == sum => return Ok(parts),
                Some(total) => return Err(format!("its segments have {sum} bytes, and it has {total}")),
                None => number += 1,
            }
        }
    }
}

/// Whether a finding means that bytes are not what they were. That a record is spread over members is how AardWARC writes.
fn is_damage(finding: &Finding) -> bool {
    finding.rule.severity() == Severity::Error
}

fn number_in(header: &Header, name: &str) -> Option<u64> {
    std::str::from_utf8(header.fields.get(name)?).ok()?.parse().ok()
}

/// The folder with the silos of a store: that which the settings name, where there are any.
fn silo_folder(folder: &Path) -> Result<PathBuf, AardwarcError> {
    let path = folder.join(SETTINGS);
    let failed = |source| AardwarcError::Io { path: path.clone(), source };
    let mut text = Vec::new();
    match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(folder.to_owned()),
        file => file.map_err(failed)?.take(LONGEST_SETTINGS).read_to_end(&mut text).map_err(failed)?,
    };
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut words = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(str::split_whitespace)
        .skip_while(|word| *word != "silo.directory:");
    Ok(words.nth(1).map_or_else(|| folder.to_owned(), |named| folder.join(named)))
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

/// Opens a silo; none when it is nothing of the kind.
fn open_silo(path: &Path) -> Result<Option<Reader<File>>, AardwarcError> {
    let file = File::open(path).map_err(|source| AardwarcError::Io { path: path.to_owned(), source })?;
    match Reader::new(file) {
        Ok(reader) => Ok(Some(reader)),
        Err(source @ Error::Io { .. }) => Err(AardwarcError::Silo { path: path.to_owned(), source }),
        Err(_) => Ok(None),
    }
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
