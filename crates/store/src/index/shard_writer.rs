//! Writes one sorted shard in bounded memory.
//!
//! The count must be known first, because it decides where the entries start. The header is written
//! last, so an unfinished file has no magic number. The caller renames the file into place, because
//! it knows what must happen before and after.

use std::path::{Path, PathBuf};

use super::entry::{ENTRY_SIZE, IndexEntry, SiloPlace};
use super::error::IndexError;
use super::file_names::{self, ShardName};
use super::layout::{ENTRIES_PER_BLOCK, SHARD_HEADER_BYTES, ShardGeometry, ShardHeader};
use crate::disk::{Disk, DiskFile};

const WRITE_BUFFER_BYTES: usize = 256 * ENTRIES_PER_BLOCK * ENTRY_SIZE;

pub(super) struct ShardWriter {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    name: ShardName,
    geometry: ShardGeometry,
    tables: ShardTables,
    buffer: Vec<u8>,
    /// Where the buffer goes.
    offset: u64,
}

/// The tables, collected while the entries pass.
struct ShardTables {
    bias: Vec<u32>,
    checks: Vec<u32>,
    greatest: SiloPlace,
    written: u64,
}

/// Writes the shard `name` of exactly `count` entries under its temporary name, and syncs it.
pub(super) fn write_shard(
    disk: &dyn Disk,
    folder: &Path,
    (name, count): (ShardName, u64),
    entries: &mut dyn Iterator<Item = Result<IndexEntry, IndexError>>,
) -> Result<(), IndexError> {
    let mut writer = ShardWriter::create(disk, folder, name, count)?;
    for _ in 0..count {
        match entries.next() {
            Some(entry) => writer.push(entry?)?,
            None => break,
        }
    }
    writer.finish()
}

impl ShardWriter {
    fn create(disk: &dyn Disk, folder: &Path, name: ShardName, count: u64) -> Result<Self, IndexError> {
        let path = folder.join(file_names::unfinished(&name));
        if count > ShardGeometry::GREATEST_COUNT {
            return Err(IndexError::TooMany { file: path, count });
        }
        if disk.stat(&path)?.is_some() {
            disk.remove(&path)?;
        }
        let geometry = ShardGeometry::of(count);
        let file = disk.create_new(&path)?;
        let tables = ShardTables {
            bias: Vec::with_capacity(geometry.buckets() + 1),
            checks: Vec::with_capacity(geometry.blocks()),
            greatest: SiloPlace::MIN,
            written: 0,
        };
        let buffer = Vec::with_capacity(WRITE_BUFFER_BYTES.min(count as usize * ENTRY_SIZE));
        Ok(Self { file, path, name, geometry, tables, buffer, offset: geometry.entries_start() as u64 })
    }

    fn push(&mut self, entry: IndexEntry) -> Result<(), IndexError> {
        let bucket = self.geometry.bucket(self.name, entry.prefix);
        self.tables.reach(bucket);
        self.tables.greatest = self.tables.greatest.max(entry.place);
        self.tables.written += 1;
        self.buffer.extend_from_slice(&entry.to_bytes());
        if self.buffer.len() == WRITE_BUFFER_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), IndexError> {
        self.tables.checks.extend(self.buffer.chunks(ENTRIES_PER_BLOCK * ENTRY_SIZE).map(crc32fast::hash));
        self.file.write_at(&self.buffer, self.offset)?;
        self.offset += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<(), IndexError> {
        if !self.buffer.is_empty() {
            self.flush()?;
        }
        if self.tables.written != self.geometry.count {
            return Err(IndexError::damaged(
                &self.path,
                0,
                "its entries changed between counting and writing",
            ));
        }
        self.tables.reach(self.geometry.buckets());
        self.file.write_at(&self.head(), 0)?;
        self.file.sync()?;
        Ok(())
    }

    fn head(&self) -> Vec<u8> {
        let mut head = vec![0; SHARD_HEADER_BYTES];
        let tables = self.tables.bias.iter().chain(&self.tables.checks);
        head.extend(tables.flat_map(|number| number.to_be_bytes()));
        head.resize(self.geometry.entries_start(), 0);
        let header = ShardHeader {
            name: self.name,
            geometry: self.geometry,
            greatest: self.tables.greatest,
            tables_check: crc32fast::hash(&head[SHARD_HEADER_BYTES..]),
        };
        head[..SHARD_HEADER_BYTES].copy_from_slice(&header.to_bytes());
        head
    }
}

impl ShardTables {
    /// Starts all buckets up to this one at the next entry, unless they have started.
    fn reach(&mut self, bucket: usize) {
        while self.bias.len() <= bucket {
            self.bias.push(self.written as u32);
        }
    }
}
