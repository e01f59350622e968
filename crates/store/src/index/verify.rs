//! Verifies the index files without the silos.
//!
//! Findings are data, not errors: each has a file, a byte range and a message. Takes no lock and
//! changes nothing. The audit of the store compares the entries with the silos, using
//! [`super::IndexReader::entries`].

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::appendices;
use super::entry::{ENTRY_SIZE, IndexEntry, SiloPlace};
use super::error::IndexError;
use super::file_names::{self, IndexFileName, ShardName, cover};
use super::layout::{ENTRIES_PER_BLOCK, SHARD_HEADER_BYTES};
use super::shard::Shard;
use super::shard_tables::NUMBERS_PER_PAGE;
use crate::disk::Disk;

/// Maximum number of listings when files vanish during the check.
const MAX_LISTINGS: usize = 100;

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexFindingKind {
    /// Damaged bytes.
    Damage,
    /// The live appendix ends with an invalid batch: a write was interrupted or is in progress.
    /// Opening for writing cuts it off.
    TornTail,
    /// A range of ids has no sorted file.
    Missing,
    /// A file that does not belong to the index.
    Foreign,
    /// A file of a later format, which cannot be checked.
    Unsupported,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexFinding {
    /// Its kind.
    pub kind: IndexFindingKind,
    /// The file, or the folder when a file is missing.
    pub file: PathBuf,
    /// The start of the affected bytes.
    pub offset: u64,
    /// The number of affected bytes.
    pub length: u64,
    /// The message, without a full stop.
    pub message: String,
}

/// The result of [`verify`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexVerification {
    /// All findings.
    pub findings: Vec<IndexFinding>,
    /// Files read.
    pub files: u64,
    /// Entries read.
    pub entries: u64,
}

/// Checks all files of the index in a folder. Fails only when a file cannot be read at all.
pub fn verify(disk: &dyn Disk, folder: &Path) -> Result<IndexVerification, IndexError> {
    let mut outcome = try_verify(disk, folder);
    for _ in 1..MAX_LISTINGS {
        match &outcome {
            Err(IndexError::Disk(error)) if error.is_absent() => outcome = try_verify(disk, folder),
            _ => break,
        }
    }
    outcome
}

fn try_verify(disk: &dyn Disk, folder: &Path) -> Result<IndexVerification, IndexError> {
    let mut verified = IndexVerification::default();
    let mut shards = Vec::new();
    for name in disk.list(folder)? {
        match IndexFileName::parse(&name) {
            IndexFileName::Appendix | IndexFileName::Rotated(_) => {
                verified.appendix(disk, &folder.join(name))?
            }
            IndexFileName::Sorted(shard) => {
                verified.shard(disk, folder, shard)?;
                shards.push(shard);
            }
            IndexFileName::Unfinished => {}
            IndexFileName::Foreign => {
                verified.find(
                    IndexFindingKind::Foreign,
                    &folder.join(name),
                    0..0,
                    "it is no part of the index",
                );
            }
        }
    }
    if let Err(first) = cover(&shards) {
        let message = format!("no file holds the ids from {first} on");
        verified.find(IndexFindingKind::Missing, folder, 0..0, message);
    }
    Ok(verified)
}

impl IndexVerification {
    fn find(
        &mut self,
        kind: IndexFindingKind,
        file: &Path,
        bytes: std::ops::Range<u64>,
        message: impl Into<String>,
    ) {
        let (offset, length) = (bytes.start, bytes.end.saturating_sub(bytes.start));
        self.findings.push(IndexFinding {
            kind,
            file: file.to_path_buf(),
            offset,
            length,
            message: message.into(),
        });
    }

    /// Turns damage that prevents opening a file into a finding.
    fn refused(&mut self, error: IndexError, length: u64) -> Result<(), IndexError> {
        match error {
            IndexError::Damaged { file, offset, what } => {
                let end = if offset < SHARD_HEADER_BYTES as u64 { SHARD_HEADER_BYTES as u64 } else { length };
                self.find(IndexFindingKind::Damage, &file, offset..end, what);
            }
            IndexError::Unsupported { file, format } => {
                let message = format!("it has format {format}, which this version cannot read");
                self.find(IndexFindingKind::Unsupported, &file, 0..length, message);
            }
            other => return Err(other),
        }
        Ok(())
    }

    fn appendix(&mut self, disk: &dyn Disk, path: &Path) -> Result<(), IndexError> {
        self.files += 1;
        let live = path.file_name() == Some(OsStr::new(file_names::APPENDIX_FILE));
        let (decoded, length) = match appendices::read(disk, path) {
            Ok(Some(read)) => read,
            Ok(None) => return Ok(()),
            Err(error) => return self.refused(error, 0),
        };
        self.entries += decoded.entries.len() as u64;
        for gap in decoded.gaps {
            if live && gap.end == length {
                self.find(IndexFindingKind::TornTail, path, gap, "it ends in an unfinished batch");
            } else {
                self.find(IndexFindingKind::Damage, path, gap, "there is no whole batch here");
            }
        }
        Ok(())
    }

    fn shard(&mut self, disk: &dyn Disk, folder: &Path, name: ShardName) -> Result<(), IndexError> {
        self.files += 1;
        let path = folder.join(name.to_string());
        match Shard::open(disk, folder, name) {
            Ok(shard) => self.open_shard(&shard)?,
            Err(error) => {
                let length = disk.stat(&path)?.map_or(0, |stat| stat.length);
                self.refused(error, length)?;
            }
        }
        Ok(())
    }

    fn open_shard(&mut self, shard: &Shard) -> Result<(), IndexError> {
        let start = shard.header().geometry.entries_start() as u64;
        let tables_right = shard.tables_match_check()?;
        if !tables_right {
            let message = "the checksum of the tables does not match";
            self.find(IndexFindingKind::Damage, shard.path(), SHARD_HEADER_BYTES as u64..start, message);
        }
        let (mut walk, mut entries) = (ShardWalk::new(shard), Vec::new());
        let mut blocks_right = true;
        for block in 0..shard.header().geometry.blocks() {
            shard.read_unverified(block, &mut entries)?;
            // If the tables are damaged the checksums are not to be believed, but order still is.
            let right = !tables_right || shard.matches_check(block, &entries)?;
            let extent = shard.block_extent(block);
            if !right {
                self.find(IndexFindingKind::Damage, shard.path(), extent, "its checksum does not match");
            } else if let Some(position) = walk.block(block, &entries)? {
                let offset = extent.start + (position * ENTRY_SIZE) as u64;
                let message = "the entry is out of order or belongs in another file";
                let entry = offset..offset + ENTRY_SIZE as u64;
                self.find(IndexFindingKind::Damage, shard.path(), entry, message);
            }
            blocks_right &= right;
        }
        self.entries += shard.count();
        if tables_right && blocks_right && !walk.agrees()? {
            let message = "the header or the bias table does not follow from the entries";
            self.find(IndexFindingKind::Damage, shard.path(), 0..start, message);
        }
        Ok(())
    }
}

/// Walks the entries of a shard and compares the bias table with them.
struct ShardWalk<'a> {
    shard: &'a Shard,
    before: Option<IndexEntry>,
    greatest: SiloPlace,
    /// The first bucket that no entry has reached.
    next_bucket: usize,
    /// The page of the bias table with the bucket that was compared last.
    bias_page: Vec<u32>,
    bias_agrees: bool,
}

impl<'a> ShardWalk<'a> {
    fn new(shard: &'a Shard) -> Self {
        Self {
            shard,
            before: None,
            greatest: SiloPlace::MIN,
            next_bucket: 0,
            bias_page: Vec::new(),
            bias_agrees: true,
        }
    }

    /// The position in its block of the first misplaced entry.
    fn block(&mut self, block: usize, entries: &[[u8; ENTRY_SIZE]]) -> Result<Option<usize>, IndexError> {
        let name = self.shard.name();
        let mut wrong = None;
        for (position, entry) in entries.iter().map(IndexEntry::from_bytes).enumerate() {
            let in_order = self.before.is_none_or(|before| before < entry);
            if !in_order || !name.range().contains(entry.prefix) {
                wrong = wrong.or(Some(position));
            }
            let bucket = self.shard.header().geometry.bucket(name, entry.prefix);
            self.reach(bucket, block * ENTRIES_PER_BLOCK + position)?;
            self.greatest = self.greatest.max(entry.place);
            self.before = Some(entry);
        }
        Ok(wrong)
    }

    /// Compares the biases of all buckets up to `bucket` that were not reached before: their entries
    /// begin at `position`.
    fn reach(&mut self, bucket: usize, position: usize) -> Result<(), IndexError> {
        while self.next_bucket <= bucket {
            let within = self.next_bucket % NUMBERS_PER_PAGE;
            if within == 0 {
                self.bias_page = self.shard.read_bias_page(self.next_bucket / NUMBERS_PER_PAGE)?;
            }
            self.bias_agrees &= self.bias_page[within] as usize == position;
            self.next_bucket += 1;
        }
        Ok(())
    }

    /// Whether header and bias table agree with the entries.
    fn agrees(mut self) -> Result<bool, IndexError> {
        let geometry = self.shard.header().geometry;
        self.reach(geometry.buckets(), geometry.count as usize)?;
        Ok(self.bias_agrees && self.greatest == self.shard.header().greatest)
    }
}
