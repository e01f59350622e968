//! Packing records: one gzip member or one group of zstd frames each, or nothing at all.
//!
//! A small record is packed in one pass, header and block together. A block of unknown length
//! cannot be: its header, which must come first, depends on all of it. So it is packed while it
//! streams, into memory and then a temporary file, and the header is packed when it is known. For
//! gzip the pieces join to *one* member, because deflate streams that were flushed to a byte
//! boundary may simply follow one another and their CRCs combine; for zstd each piece is a frame,
//! which the draft for WARC allows. Nothing is decompressed or read twice.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use flate2::{Compress, Compression, FlushCompress};
use libdeflater::{CompressionLvl, Compressor};
use varve_file::{SpooledFile, TemporaryFolder};

use super::draft::{BlockFacts, Draft, DraftError};
use super::record_uri::RecordUri;
use crate::digest::{Algorithm, Hasher};
use crate::member::Dictionary;
use crate::member::gzip::GZIP_HEADER;
use crate::payload::{Payload, PayloadKind, PayloadTracker};
use crate::record::{RecordHeader, WarcVersion};
use varve_wire::Headers;

/// How records are packed.
#[derive(Clone, Debug, Default)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// A gzip member a record, at a deflate level from 1 to 12 (streamed blocks: at most 9).
    #[default]
    Gzip,
    /// A gzip member a record, at that level.
    GzipLevel(u8),
    /// Zstandard frames, at that level, with a dictionary that the file must begin with.
    Zstd {
        /// 1 to 19.
        level: i32,
        /// The dictionary.
        dictionary: Option<Arc<Dictionary>>,
    },
}

/// The default level. libdeflate's level 1 packs web pages to 0.21 of their size; zlib's level 3
/// does so in twice the time. Level 6 packs them to 0.19, also in twice the time.
const GZIP_LEVEL: u8 = 1;
/// The level for small amounts that are kept for long: it packs prose to 0.39 of its size, level 1
/// to 0.41.
const SMALL_GZIP_LEVEL: u8 = 6;
/// Streamed blocks are packed by another compressor, whose lowest levels are poor: it starts here.
const MIN_STREAM_LEVEL: u32 = 3;
/// The size of the zstd frames of a streamed block, uncompressed.
const STREAM_FRAME_BYTES: usize = 1 << 20;
/// The tables of a compressor are enlarged for a dictionary beyond this.
const LARGE_DICTIONARY_BYTES: usize = 256 << 10;
/// A streamed block stays in memory up to this size when packed.
const MAX_SPOOL_MEMORY_BYTES: usize = 1 << 20;
/// Room that [`Packer::pack_in_place`] wants before a block. A longer header costs a copy of the
/// block.
pub const HEADER_ROOM: usize = 4096;
/// Room that it wants after one.
pub const TRAILER_ROOM: usize = RECORD_SEPARATOR.len();
/// Records that may take up to this size when packed are packed into a reused buffer.
const MAX_REUSED_BUFFER_BYTES: usize = 256 << 10;
/// The end of every record.
const RECORD_SEPARATOR: &[u8] = b"\r\n\r\n";
/// The separator as a last, stored deflate block.
const STORED_SEPARATOR: [u8; 9] = [1, 4, 0, 0xfb, 0xff, b'\r', b'\n', b'\r', b'\n'];

/// Why a record was not packed.
#[derive(Debug, thiserror::Error)]
pub enum RecordPackError {
    /// The draft is invalid.
    #[error(transparent)]
    Draft(#[from] DraftError),
    /// The temporary file could not be written, or the compressor failed.
    #[error("cannot pack a record")]
    Io(#[from] io::Error),
}

impl Packing {
    fn gzip_level(&self) -> u8 {
        match self {
            Self::GzipLevel(level) => (*level).clamp(1, 12),
            _ => GZIP_LEVEL,
        }
    }

    /// The same packing at a slower level that makes records smaller; a chosen level stays.
    #[must_use]
    pub fn smaller(&self) -> Self {
        match self {
            Self::Gzip => Self::GzipLevel(SMALL_GZIP_LEVEL),
            chosen => chosen.clone(),
        }
    }

    /// The bytes that a file must begin with: for zstd with a dictionary, the frame that holds it.
    pub fn preamble(&self) -> Vec<u8> {
        match self {
            Self::Zstd { dictionary: Some(dictionary), .. } => {
                let mut frame = crate::member::zstd::DICTIONARY_MAGIC.to_vec();
                let stored = dictionary.stored();
                frame.extend_from_slice(&u32::try_from(stored.len()).unwrap_or(u32::MAX).to_le_bytes());
                frame.extend_from_slice(stored);
                frame
            }
            _ => Vec::new(),
        }
    }
}

/// A compressor whose tables reach all of its dictionary. The default tables of a level are made
/// for some hundred kilobytes, and earlier content would not be found. The compressor uses the
/// dictionary's tables in place; by default it would copy megabytes for every page above 32 KiB,
/// which takes ten times as long as packing it.
fn with_dictionary(level: i32, dictionary: &Dictionary) -> io::Result<zstd::bulk::Compressor<'static>> {
    use zstd::zstd_safe::CParameter::{ForceAttachDict, HashLog};
    use zstd::zstd_safe::DictAttachPref::ForceAttach;
    let plain = dictionary.plain()?;
    let mut compressor = zstd::bulk::Compressor::new(level)?;
    if plain.len() > LARGE_DICTIONARY_BYTES {
        // zstd uses eight bytes of a dictionary for each entry of the table.
        compressor.set_parameter(HashLog((plain.len() / 8).next_power_of_two().ilog2().max(17)))?;
        compressor.set_parameter(ForceAttachDict(ForceAttach))?;
    }
    compressor.set_dictionary(level, plain)?;
    Ok(compressor)
}

/// Packs records. One for each thread.
pub struct Packer {
    packing: Packing,
    deflater: Option<Compressor>,
    zstd: Option<zstd::bulk::Compressor<'static>>,
    scratch: Vec<u8>,
    packed: Vec<u8>,
    tracker: PayloadTracker,
    temporary: Option<TemporaryFolder>,
}

/// A record, ready to be appended to a file.
pub struct PackedRecord {
    /// Its id.
    pub id: RecordUri,
    /// Length and digests of its block.
    pub block: BlockFacts,
    pub(super) header: Vec<u8>,
    pub(super) head: Vec<u8>,
    pub(super) middle: Option<SpooledFile>,
    pub(super) tail: Vec<u8>,
    pub(super) length: u64,
}

impl PackedRecord {
    /// The header as a reader will see it.
    pub fn header(&self) -> RecordHeader {
        let line_end = memchr::memchr(b'\n', &self.header).map_or(0, |at| at + 1);
        RecordHeader {
            version: WarcVersion::V1_1,
            fields: Headers::parse(&self.header[line_end..], |_, _| {}),
        }
    }

    /// Its length in the file.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Appends it.
    pub fn write_to(mut self, output: &mut (impl Write + ?Sized)) -> io::Result<()> {
        output.write_all(&self.head)?;
        if let Some(middle) = &mut self.middle {
            middle.seek(SeekFrom::Start(0))?;
            io::copy(middle, output)?;
        }
        output.write_all(&self.tail)
    }
}

impl Packer {
    /// A packer for that packing. Large streamed blocks go to temporary files in `temporary`, or in
    /// the system's folder.
    pub fn new(packing: Packing, temporary: Option<TemporaryFolder>) -> io::Result<Self> {
        let mut packer = Self {
            packing,
            deflater: None,
            zstd: None,
            scratch: Vec::new(),
            packed: Vec::new(),
            tracker: PayloadTracker::new(),
            temporary,
        };
        match &packer.packing {
            Packing::Plain => {}
            Packing::Gzip | Packing::GzipLevel(_) => {
                let level = CompressionLvl::new(i32::from(packer.packing.gzip_level())).unwrap_or_default();
                packer.deflater = Some(Compressor::new(level));
            }
            Packing::Zstd { level, dictionary } => {
                let mut zstd = match dictionary {
                    Some(dictionary) => with_dictionary(*level, dictionary)?,
                    None => zstd::bulk::Compressor::new(*level)?,
                };
                zstd.include_checksum(true)?;
                zstd.include_contentsize(true)?;
                packer.zstd = Some(zstd);
            }
        }
        Ok(packer)
    }

    /// Packs a record whose block is in memory.
    pub fn pack(
        &mut self,
        draft: &Draft,
        kind: PayloadKind,
        block: &[u8],
    ) -> Result<PackedRecord, RecordPackError> {
        let digest = Algorithm::Sha256.digest(block);
        let payload = match kind {
            PayloadKind::None | PayloadKind::Revisit => None,
            PayloadKind::Block => Some(digest),
            PayloadKind::Request | PayloadKind::Response => {
                self.tracker.begin(kind, Some(Algorithm::Sha256.hasher()));
                self.tracker.push(block);
                self.tracker.finish().digest
            }
        };
        self.pack_known(draft, BlockFacts { length: block.len() as u64, digest, payload }, block)
    }

    /// Packs a record whose block is in memory and whose digests are known.
    pub fn pack_known(
        &mut self,
        draft: &Draft,
        facts: BlockFacts,
        block: &[u8],
    ) -> Result<PackedRecord, RecordPackError> {
        let mut plain = std::mem::take(&mut self.scratch);
        plain.clear();
        let header = draft.header(&facts)?;
        plain.extend_from_slice(&header);
        plain.extend_from_slice(block);
        plain.extend_from_slice(RECORD_SEPARATOR);
        let packed = self.pack_bytes(&plain);
        self.scratch = plain;
        let head = packed?;
        let length = head.len() as u64;
        Ok(PackedRecord {
            id: draft.record_id(&facts),
            block: facts,
            header,
            head,
            middle: None,
            tail: Vec::new(),
            length,
        })
    }

    /// Packs a record whose digests are known and whose block stands in a buffer with room around
    /// it, [`HEADER_ROOM`] bytes before and [`TRAILER_ROOM`] after it: header and end are put
    /// there, and no byte of the block is copied.
    pub fn pack_in_place(
        &mut self,
        draft: &Draft,
        facts: BlockFacts,
        buffer: &mut [u8],
    ) -> Result<PackedRecord, RecordPackError> {
        let header = draft.header(&facts)?;
        let end = buffer.len() - TRAILER_ROOM;
        let Some(start) = HEADER_ROOM.checked_sub(header.len()) else {
            return self.pack_known(draft, facts, &buffer[HEADER_ROOM..end]);
        };
        buffer[start..HEADER_ROOM].copy_from_slice(&header);
        buffer[end..].copy_from_slice(RECORD_SEPARATOR);
        let head = self.pack_bytes(&buffer[start..])?;
        let (id, length) = (draft.record_id(&facts), head.len() as u64);
        Ok(PackedRecord { id, block: facts, header, head, middle: None, tail: Vec::new(), length })
    }

    fn pack_bytes(&mut self, plain: &[u8]) -> io::Result<Vec<u8>> {
        if let Some(deflater) = &mut self.deflater {
            let bound = deflater.gzip_compress_bound(plain.len());
            // A small record goes through a buffer that is there already; a large one is not
            // copied.
            let mut room =
                if bound <= MAX_REUSED_BUFFER_BYTES { std::mem::take(&mut self.packed) } else { Vec::new() };
            room.resize(room.len().max(bound), 0);
            let length = deflater.gzip_compress(plain, &mut room).map_err(io::Error::other)?;
            // One header for all members, from either compressor, so that a changed bit in it can
            // be detected.
            room[..GZIP_HEADER.len()].copy_from_slice(&GZIP_HEADER);
            if bound > MAX_REUSED_BUFFER_BYTES {
                room.truncate(length);
                return Ok(room);
            }
            let packed = room[..length].to_vec();
            self.packed = room;
            return Ok(packed);
        }
        match &mut self.zstd {
            Some(zstd) => zstd.compress(plain),
            None => Ok(plain.to_vec()),
        }
    }

    /// Begins a block of unknown length.
    pub fn stream(&mut self, kind: PayloadKind) -> BlockStream<'_> {
        let level = Compression::new(u32::from(self.packing.gzip_level()).clamp(MIN_STREAM_LEVEL, 9));
        let deflate = self.deflater.is_some().then(|| Compress::new(level, false));
        let mut tracker = std::mem::take(&mut self.tracker);
        // Where the block is the payload, one digest is both.
        let payload_hasher = (kind != PayloadKind::Block).then(|| Algorithm::Sha256.hasher());
        tracker.begin(kind, payload_hasher);
        let spool = spool(self.temporary.as_ref());
        BlockStream {
            packer: self,
            spool,
            spooled: 0,
            deflate,
            pending: Vec::new(),
            crc: crc32fast::Hasher::new(),
            hasher: Algorithm::Sha256.hasher(),
            tracker,
            payload_is_block: kind == PayloadKind::Block,
            length: 0,
        }
    }
}

/// Packed bytes, in memory or, if they are many, in a file.
pub(super) fn spool(temporary: Option<&TemporaryFolder>) -> SpooledFile {
    SpooledFile::new(MAX_SPOOL_MEMORY_BYTES, temporary.cloned())
}

/// A block that is packed while it streams. Bytes written to it are hashed, packed and buffered.
pub struct BlockStream<'a> {
    packer: &'a mut Packer,
    spool: SpooledFile,
    spooled: u64,
    deflate: Option<Compress>,
    /// Plain bytes that wait to fill a zstd frame, or packed bytes that wait for the spool.
    pending: Vec<u8>,
    crc: crc32fast::Hasher,
    hasher: Hasher,
    tracker: PayloadTracker,
    payload_is_block: bool,
    length: u64,
}

impl Write for BlockStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hasher.update(bytes);
        self.tracker.push(bytes);
        self.length += bytes.len() as u64;
        if let Some(deflate) = &mut self.deflate {
            self.crc.update(bytes);
            let spooled = run_deflate(deflate, bytes, FlushCompress::None, &mut self.spool)?;
            self.spooled += spooled;
        } else if let Some(zstd) = &mut self.packer.zstd {
            self.pending.extend_from_slice(bytes);
            let mut taken = 0;
            while self.pending.len() - taken > STREAM_FRAME_BYTES {
                let frame = zstd.compress(&self.pending[taken..taken + STREAM_FRAME_BYTES])?;
                self.spool.write_all(&frame)?;
                self.spooled += frame.len() as u64;
                taken += STREAM_FRAME_BYTES;
            }
            self.pending.drain(..taken);
        } else {
            self.spool.write_all(bytes)?;
            self.spooled += bytes.len() as u64;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BlockStream<'_> {
    /// Bytes of the block so far.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The approximate size of the packed block so far.
    pub fn packed_length(&self) -> u64 {
        self.spooled + self.pending.len() as u64
    }

    /// Ends the block. Its digests are known from here on.
    pub fn finish(mut self) -> io::Result<FinishedBlock> {
        if let Some(deflate) = &mut self.deflate {
            self.spooled += run_deflate(deflate, &[], FlushCompress::Sync, &mut self.spool)?;
        }
        let mut payload = self.tracker.finish();
        self.packer.tracker = self.tracker;
        let digest = self.hasher.clone().finish();
        if self.payload_is_block {
            payload.digest = Some(digest);
        }
        let facts = BlockFacts { length: self.length, digest, payload: payload.digest };
        let BlockStream { spool, spooled, pending, crc, hasher, .. } = self;
        Ok(FinishedBlock { spool, spooled, last: pending, crc, hasher, facts, payload })
    }
}

/// Runs bytes through deflate into the spool; returns how many came out.
fn run_deflate(
    deflate: &mut Compress,
    mut input: &[u8],
    flush: FlushCompress,
    spool: &mut impl Write,
) -> io::Result<u64> {
    let mut output = [0; 32 << 10];
    let mut spooled = 0;
    loop {
        let (before_in, before_out) = (deflate.total_in(), deflate.total_out());
        deflate.compress(input, &mut output, flush).map_err(io::Error::other)?;
        input = &input[(deflate.total_in() - before_in) as usize..];
        let given = (deflate.total_out() - before_out) as usize;
        spool.write_all(&output[..given])?;
        spooled += given as u64;
        // A full buffer means that there may be more to come.
        if input.is_empty() && given < output.len() {
            return Ok(spooled);
        }
    }
}

/// A packed block without its header.
pub struct FinishedBlock {
    spool: SpooledFile,
    spooled: u64,
    /// Plain bytes that did not fill a zstd frame.
    last: Vec<u8>,
    crc: crc32fast::Hasher,
    hasher: Hasher,
    facts: BlockFacts,
    payload: Payload,
}

impl FinishedBlock {
    /// Length and digests.
    pub fn facts(&self) -> &BlockFacts {
        &self.facts
    }

    /// The running digest of the block, for a caller that adds the bytes after the block.
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    /// The facts about the payload.
    pub fn payload(&self) -> &Payload {
        &self.payload
    }

    /// Adds the header. `packer` must have the packing of the block.
    pub fn seal(self, packer: &mut Packer, draft: &Draft) -> Result<PackedRecord, RecordPackError> {
        let header = draft.header(&self.facts)?;
        let id = draft.record_id(&self.facts);
        let (head, tail) = if packer.deflater.is_some() {
            self.gzip_ends(&header)?
        } else if let Some(zstd) = &mut packer.zstd {
            let mut last = self.last;
            last.extend_from_slice(RECORD_SEPARATOR);
            (zstd.compress(&header)?, zstd.compress(&last)?)
        } else {
            (header.clone(), RECORD_SEPARATOR.to_vec())
        };
        let length = head.len() as u64 + self.spooled + tail.len() as u64;
        Ok(PackedRecord { id, block: self.facts, header, head, middle: Some(self.spool), tail, length })
    }

    /// Beginning and end of the one gzip member around the packed block.
    fn gzip_ends(&self, header: &[u8]) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let mut head = GZIP_HEADER.to_vec();
        let mut deflate = Compress::new(Compression::new(6), false);
        run_deflate(&mut deflate, header, FlushCompress::Sync, &mut head)?;
        let mut crc = crc32fast::Hasher::new();
        crc.update(header);
        crc.combine(&self.crc);
        crc.update(RECORD_SEPARATOR);
        let plain = header.len() as u64 + self.facts.length + RECORD_SEPARATOR.len() as u64;
        let mut tail = STORED_SEPARATOR.to_vec();
        tail.extend_from_slice(&crc.finalize().to_le_bytes());
        tail.extend_from_slice(&(plain as u32).to_le_bytes());
        Ok((head, tail))
    }
}

/// Copies all of `block` into a record.
pub fn pack_reader(
    packer: &mut Packer,
    draft: &Draft,
    kind: PayloadKind,
    block: &mut impl Read,
) -> Result<PackedRecord, RecordPackError> {
    let mut stream = packer.stream(kind);
    io::copy(block, &mut stream)?;
    let finished = stream.finish()?;
    finished.seal(packer, draft)
}
