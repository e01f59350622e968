//! Checks everything that can be checked of the index without the silos.
//!
//! What is found is data, not an error: a finding says which file, where and what. It takes no lock and changes nothing.
//! Whether entries lead to the right records, and whether every record has its entry, only the silos can tell; the audit
//! of the store asks them, with [`super::Index::entries`].

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::appendices;
use super::entry::{ENTRY_SIZE, Entry, Place};
use super::error::IndexError;
use super::layout::{BLOCK, HEADER, four};
use super::names::{self, FileName, ShardName, cover};
use super::shard::Shard;
use crate::disk::Disk;

/// How often the folder is listed again because a file went while it was being checked.
const TRIES: usize = 100;

/// What kind of thing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// Bytes are not what was written.
    Damage,
    /// The live appendix ends in something that is no whole batch: a write was interrupted, or is under way. Opening for
    /// writing cuts it off.
    TornTail,
    /// Some ids have no file that could hold them.
    Missing,
    /// A file that is no part of the index.
    Foreign,
    /// A file of a later format, which cannot be checked.
    Unsupported,
}

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind of thing.
    pub kind: FindingKind,
    /// The file, or the folder when a file is missing.
    pub file: PathBuf,
    /// Where the bytes in question start.
    pub offset: u64,
    /// How many bytes are in question.
    pub length: u64,
    /// What is wrong, as a sentence without a full stop.
    pub message: String,
}

/// What [`verify`] saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Everything that is not as it should be.
    pub findings: Vec<Finding>,
    /// Files that were read.
    pub files: u64,
    /// Entries that were read in them.
    pub entries: u64,
}

/// Checks all files of the index in a folder. Fails only when a file cannot be read at all.
pub fn verify(disk: &dyn Disk, folder: &Path) -> Result<Verified, IndexError> {
    let mut outcome = try_verify(disk, folder);
    for _ in 1..TRIES {
        match &outcome {
            Err(IndexError::Disk(error)) if error.is_absent() => outcome = try_verify(disk, folder),
            _ => break,
        }
    }
    outcome
}

fn try_verify(disk: &dyn Disk, folder: &Path) -> Result<Verified, IndexError> {
    let mut verified = Verified::default();
    let mut shards = Vec::new();
    for name in disk.list(folder)? {
        match FileName::parse(&name) {
            FileName::Appendix | FileName::Rotated(_) => verified.appendix(disk, &folder.join(name))?,
            FileName::Sorted(shard) => {
                verified.shard(disk, folder, shard)?;
                shards.push(shard);
            }
            FileName::Unfinished => {}
            FileName::Foreign => {
                verified.find(FindingKind::Foreign, &folder.join(name), 0..0, "it is no part of the index");
            }
        }
    }
    if let Err(first) = cover(&shards) {
        let message = format!("no file holds the ids from {first} on");
        verified.find(FindingKind::Missing, folder, 0..0, message);
    }
    Ok(verified)
}

impl Verified {
    fn find(
        &mut self,
        kind: FindingKind,
        file: &Path,
        bytes: std::ops::Range<u64>,
        message: impl Into<String>,
    ) {
        let (offset, length) = (bytes.start, bytes.end.saturating_sub(bytes.start));
        self.findings.push(Finding {
            kind,
            file: file.to_path_buf(),
            offset,
            length,
            message: message.into(),
        });
    }

    /// Turns damage that kept a file from being opened into a finding.
    fn refused(&mut self, error: IndexError, length: u64) -> Result<(), IndexError> {
        match error {
            IndexError::Damaged { file, offset, what } => {
                let end = if offset < HEADER as u64 { HEADER as u64 } else { length };
                self.find(FindingKind::Damage, &file, offset..end, what);
            }
            IndexError::Unsupported { file, format } => {
                let message = format!("it has format {format}, which this version cannot read");
                self.find(FindingKind::Unsupported, &file, 0..length, message);
            }
            other => return Err(other),
        }
        Ok(())
    }

    fn appendix(&mut self, disk: &dyn Disk, path: &Path) -> Result<(), IndexError> {
        self.files += 1;
        let live = path.file_name() == Some(OsStr::new(names::APPENDIX));
        let (decoded, length) = match appendices::read(disk, path) {
            Ok(Some(read)) => read,
            Ok(None) => return Ok(()),
            Err(error) => return self.refused(error, 0),
        };
        self.entries += decoded.entries.len() as u64;
        for gap in decoded.gaps {
            if live && gap.end == length {
                self.find(FindingKind::TornTail, path, gap, "it ends in an unfinished batch");
            } else {
                self.find(FindingKind::Damage, path, gap, "there is no whole batch here");
            }
        }
        Ok(())
    }

    fn shard(&mut self, disk: &dyn Disk, folder: &Path, name: ShardName) -> Result<(), IndexError> {
        self.files += 1;
        let path = folder.join(name.to_string());
        match Shard::open(disk, folder, name) {
            Ok(shard) => self.open_shard(&shard),
            Err(error) => {
                let length = disk.stat(&path)?.map_or(0, |stat| stat.length);
                self.refused(error, length)?;
            }
        }
        Ok(())
    }

    fn open_shard(&mut self, shard: &Shard) {
        let start = shard.header().geometry.entries_start();
        let tables = &shard.bytes()[HEADER..start];
        let tables_right = crc32fast::hash(tables) == shard.header().tables_check;
        if !tables_right {
            let message = "the checksum of the tables does not match";
            self.find(FindingKind::Damage, shard.path(), HEADER as u64..start as u64, message);
        }
        let mut walk = Walk { shard, before: None, greatest: Place::MIN, bias: Vec::new() };
        let mut blocks_right = true;
        for block in 0..shard.header().geometry.blocks() {
            // If the tables are damaged the checksums are not to be believed, but order still is.
            let right = !tables_right || shard.block_is_right(block);
            if !right {
                self.find(
                    FindingKind::Damage,
                    shard.path(),
                    walk.extent(block),
                    "its checksum does not match",
                );
            } else if let Some(position) = walk.block(block) {
                let offset = (start + position * ENTRY_SIZE) as u64;
                let message = "the entry is out of order or belongs in another file";
                self.find(FindingKind::Damage, shard.path(), offset..offset + ENTRY_SIZE as u64, message);
            }
            blocks_right &= right;
        }
        self.entries += shard.count();
        if tables_right && blocks_right && !walk.agrees() {
            let message = "the header or the bias table does not follow from the entries";
            self.find(FindingKind::Damage, shard.path(), 0..start as u64, message);
        }
    }
}

/// What is learnt from walking through the entries of a shard.
struct Walk<'a> {
    shard: &'a Shard,
    before: Option<Entry>,
    greatest: Place,
    bias: Vec<u32>,
}

impl Walk<'_> {
    /// Where a block stands in the file.
    fn extent(&self, block: usize) -> std::ops::Range<u64> {
        let at = self.shard.header().geometry.entries_start() + block * BLOCK * ENTRY_SIZE;
        let end = (at + BLOCK * ENTRY_SIZE).min(self.shard.bytes().len());
        at as u64..end as u64
    }

    /// The position of the first entry of a block that does not belong where it is.
    fn block(&mut self, block: usize) -> Option<usize> {
        let name = self.shard.name();
        let entries = self.shard.entries();
        let positions = block * BLOCK..entries.len().min((block + 1) * BLOCK);
        let mut wrong = None;
        for position in positions {
            let entry = Entry::from_bytes(&entries[position]);
            let in_order = self.before.is_none_or(|before| before < entry);
            if !in_order || !name.range().contains(entry.prefix) {
                wrong = wrong.or(Some(position));
            }
            let (bucket, _) = self.shard.header().geometry.bucket(name, entry.prefix);
            self.reach(bucket, position);
            self.greatest = self.greatest.max(entry.place);
            self.before = Some(entry);
        }
        wrong
    }

    fn reach(&mut self, bucket: usize, position: usize) {
        if self.bias.len() <= bucket {
            self.bias.resize(bucket + 1, position as u32);
        }
    }

    /// Whether header and bias table say what the entries do.
    fn agrees(mut self) -> bool {
        let geometry = self.shard.header().geometry;
        self.reach(geometry.buckets(), geometry.count as usize);
        let table = |bucket: usize| four(self.shard.bytes(), HEADER + 4 * bucket);
        self.greatest == self.shard.header().greatest
            && self.bias.iter().enumerate().all(|(bucket, bias)| *bias == table(bucket))
    }
}
