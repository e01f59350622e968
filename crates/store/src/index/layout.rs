//! The layout of a sorted shard file, and its header.
//!
//! ```text
//! 0        64                                               start (multiple of 4096)
//! +--------+---------------------+----------------+---------+----------------------------------+
//! | header | bias: u32 a bucket  | CRC: u32 a     | zeros   | entries, 16 bytes each, sorted   |
//! |        | and one behind all  | block          |         | in blocks of 256                 |
//! +--------+---------------------+----------------+---------+----------------------------------+
//! ```
//!
//! Every position follows from the count of entries, so a reader needs only the header. The file is
//! a function of the set of its entries: equal sets give equal bytes.
//!
//! A block of 4096 bytes is aligned to a page, so reading a block touches one page.

use super::entry::{ENTRY_SIZE, IndexPrefix, SiloPlace};
use super::file_names::ShardName;

pub(super) const SHARD_FORMAT: u32 = 1;
pub(super) const SHARD_HEADER_BYTES: usize = 64;
/// Entries with a common checksum.
pub(super) const ENTRIES_PER_BLOCK: usize = 256;
const SHARD_MAGIC: [u8; 8] = *b"VVSORTED";
const PAGE_BYTES: usize = 4096;
/// Maximum number of entries in a bucket when prefixes are spread evenly. Fewer would improve the
/// first guess little and grow the table beyond one percent of the file.
const MAX_ENTRIES_PER_BUCKET: u64 = 64;

/// The positions in a shard with `count` entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShardGeometry {
    pub(super) count: u64,
    /// The shard has two to this power buckets.
    pub(super) bucket_bits: u32,
}

impl ShardGeometry {
    /// The greatest count whose positions still fit the bias table.
    pub(super) const GREATEST_COUNT: u64 = u32::MAX as u64;

    pub(super) fn of(count: u64) -> Self {
        let buckets = count.div_ceil(MAX_ENTRIES_PER_BUCKET).next_power_of_two();
        Self { count, bucket_bits: buckets.trailing_zeros() }
    }

    pub(super) fn buckets(self) -> usize {
        1 << self.bucket_bits
    }

    /// The bucket of a prefix in the shard `name`.
    pub(super) fn bucket(self, name: ShardName, prefix: IndexPrefix) -> usize {
        bucket_of(name, prefix, self.bucket_bits).0
    }

    pub(super) fn blocks(self) -> usize {
        (self.count as usize).div_ceil(ENTRIES_PER_BLOCK)
    }

    pub(super) fn checks_start(self) -> usize {
        SHARD_HEADER_BYTES + 4 * (self.buckets() + 1)
    }

    pub(super) fn entries_start(self) -> usize {
        (self.checks_start() + 4 * self.blocks()).next_multiple_of(PAGE_BYTES)
    }

    pub(super) fn length(self) -> u64 {
        self.entries_start() as u64 + self.count * ENTRY_SIZE as u64
    }
}

/// The bucket of a prefix when the shard `name` is divided into two to the power of `bits` buckets,
/// and its position in the bucket as a fraction of 2^64.
pub(super) fn bucket_of(name: ShardName, prefix: IndexPrefix, bits: u32) -> (usize, u64) {
    let inside = prefix.0 << name.bits();
    let bucket = inside.checked_shr(64 - bits).unwrap_or(0);
    (bucket as usize, inside << bits)
}

/// The first 64 bytes of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShardHeader {
    pub(super) name: ShardName,
    pub(super) geometry: ShardGeometry,
    /// The greatest place of all entries; zero without entries.
    pub(super) greatest: SiloPlace,
    /// The CRC of the bytes between header and entries.
    pub(super) tables_check: u32,
}

/// Why 64 bytes are not a shard header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShardHeaderError {
    Damaged { offset: u64, what: &'static str },
    Unsupported(u32),
}

impl ShardHeader {
    pub(super) fn to_bytes(self) -> [u8; SHARD_HEADER_BYTES] {
        let mut bytes = [0; SHARD_HEADER_BYTES];
        bytes[..8].copy_from_slice(&SHARD_MAGIC);
        bytes[8..12].copy_from_slice(&SHARD_FORMAT.to_be_bytes());
        bytes[12..14].copy_from_slice(&u16::from(self.name.digits()).to_be_bytes());
        bytes[14..16].copy_from_slice(&self.name.value().to_be_bytes());
        bytes[16..24].copy_from_slice(&self.geometry.count.to_be_bytes());
        bytes[24..32].copy_from_slice(&self.greatest.number().to_be_bytes());
        bytes[32..36].copy_from_slice(&self.geometry.bucket_bits.to_be_bytes());
        bytes[36..40].copy_from_slice(&self.tables_check.to_be_bytes());
        bytes[40..48].copy_from_slice(&(self.geometry.entries_start() as u64).to_be_bytes());
        let check = crc32fast::hash(&bytes[..SHARD_HEADER_BYTES - 4]);
        bytes[SHARD_HEADER_BYTES - 4..].copy_from_slice(&check.to_be_bytes());
        bytes
    }

    /// Decodes a header. It must equal the output of [`ShardHeader::to_bytes`] byte for byte.
    pub(super) fn from_bytes(bytes: &[u8; SHARD_HEADER_BYTES]) -> Result<Self, ShardHeaderError> {
        let damaged = |offset, what| Err(ShardHeaderError::Damaged { offset, what });
        if bytes[..8] != SHARD_MAGIC {
            return damaged(0, "it does not begin like a sorted shard");
        }
        if u32_at(bytes, SHARD_HEADER_BYTES - 4) != crc32fast::hash(&bytes[..SHARD_HEADER_BYTES - 4]) {
            return damaged(0, "the checksum of the header does not match");
        }
        if u32_at(bytes, 8) != SHARD_FORMAT {
            return Err(ShardHeaderError::Unsupported(u32_at(bytes, 8)));
        }
        let (digits, value) = (u32_at(bytes, 12) >> 16, u32_at(bytes, 12) as u16);
        let Some(name) = u8::try_from(digits).ok().and_then(|digits| ShardName::new(digits, value)) else {
            return damaged(12, "it names no shard");
        };
        if u64_at(bytes, 16) > ShardGeometry::GREATEST_COUNT {
            return damaged(16, "it counts more entries than a shard can hold");
        }
        let header = Self {
            name,
            geometry: ShardGeometry::of(u64_at(bytes, 16)),
            greatest: SiloPlace::from_number(u64_at(bytes, 24)),
            tables_check: u32_at(bytes, 36),
        };
        if header.to_bytes() != *bytes {
            return damaged(32, "its positions do not follow from the count of entries");
        }
        Ok(header)
    }
}

/// The big-endian number at an offset of a header.
fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[offset..offset + 4]);
    u32::from_be_bytes(four)
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from(u32_at(bytes, offset)) << 32 | u64::from(u32_at(bytes, offset + 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(count: u64) -> ShardHeader {
        let name = ShardName::new(2, 0xa3).unwrap();
        ShardHeader {
            name,
            geometry: ShardGeometry::of(count),
            greatest: SiloPlace::from_number(9),
            tables_check: 7,
        }
    }

    #[test]
    fn the_bytes_of_a_header_are_as_documented() {
        let bytes = header(1000).to_bytes();
        let expected = [
            b"VVSORTED".as_slice(),          // magic
            &[0, 0, 0, 1],                   // format
            &[0, 2, 0, 0xa3],                // shard a3
            &[0, 0, 0, 0, 0, 0, 0x03, 0xe8], // count
            &[0, 0, 0, 0, 0, 0, 0, 9],       // greatest place
            &[0, 0, 0, 4],                   // 16 buckets
            &[0, 0, 0, 7],                   // CRC of the tables
            &[0, 0, 0, 0, 0, 0, 0x10, 0],    // entries start at 4096
            &[0; 12],                        // zeros
        ]
        .concat();
        assert_eq!(bytes[..60], expected);
        assert_eq!(bytes[60..], crc32fast::hash(&expected).to_be_bytes());
    }

    #[test]
    fn headers_come_back_and_no_flipped_bit_passes() {
        let bytes = header(12345).to_bytes();
        assert_eq!(ShardHeader::from_bytes(&bytes), Ok(header(12345)));
        for bit in 0..SHARD_HEADER_BYTES * 8 {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(
                matches!(ShardHeader::from_bytes(&damaged), Err(ShardHeaderError::Damaged { .. })),
                "{bit}"
            );
        }
    }

    #[test]
    fn a_header_that_lies_with_a_right_checksum_is_refused() {
        for (offset, value) in [(12, 9), (16, 1), (32, 31), (40, 1), (48, 1)] {
            let mut bytes = header(5).to_bytes();
            bytes[offset + 1] ^= value;
            let check = crc32fast::hash(&bytes[..60]);
            bytes[60..].copy_from_slice(&check.to_be_bytes());
            assert!(
                matches!(ShardHeader::from_bytes(&bytes), Err(ShardHeaderError::Damaged { .. })),
                "{offset}"
            );
        }
        let mut later = header(5).to_bytes();
        later[11] = 2;
        let check = crc32fast::hash(&later[..60]);
        later[60..].copy_from_slice(&check.to_be_bytes());
        assert_eq!(ShardHeader::from_bytes(&later), Err(ShardHeaderError::Unsupported(2)));
    }

    #[test]
    fn the_overhead_stays_under_one_percent() {
        for count in [1_000_000, 4_194_305, 10_000_000, 16_777_216, 100_000_000] {
            let length = ShardGeometry::of(count).length() as f64;
            assert!(length / (count * 16) as f64 <= 1.01, "{count}");
        }
        assert_eq!(ShardGeometry::of(0).length(), 4096);
    }
}
