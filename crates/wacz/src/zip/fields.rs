//! Little-endian numbers and the signatures of a ZIP archive.

/// `PK\3\4`, before each member.
pub(super) const LOCAL_SIGNATURE: u32 = 0x0403_4b50;
/// `PK\1\2`, before each entry of the directory.
pub(super) const ENTRY_SIGNATURE: u32 = 0x0201_4b50;
/// `PK\5\6`, the end record.
pub(super) const END_SIGNATURE: u32 = 0x0605_4b50;
/// `PK\6\7`, which leads to the end record of ZIP64.
pub(super) const LOCATOR_SIGNATURE: u32 = 0x0706_4b50;
/// `PK\6\6`, the end record of ZIP64.
pub(super) const END64_SIGNATURE: u32 = 0x0606_4b50;

/// The fixed part of a local header.
pub(super) const LOCAL_HEADER_BYTES: usize = 30;
/// The fixed part of an entry of the directory.
pub(super) const ENTRY_BYTES: usize = 46;
/// The fixed part of the end record.
pub(super) const END_BYTES: usize = 22;

/// A 32-bit size or offset with this value stands in the ZIP64 field.
pub(super) const IN_ZIP64_FIELD: u32 = u32::MAX;
/// The id of the ZIP64 extra field.
const ZIP64_FIELD: u16 = 1;

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// Numbers that are in the ZIP64 extra field when the 32-bit field is full.
#[derive(Clone, Copy, Debug)]
pub(super) struct LargeNumbers {
    pub(super) size: u64,
    pub(super) packed_size: u64,
    pub(super) header_offset: u64,
}

/// Replaces those of the 32-bit numbers that stand in the ZIP64 field. `None` when the field is
/// needed and absent.
pub(super) fn large_numbers(size: u32, packed: u32, offset: u32, extra: &[u8]) -> Option<LargeNumbers> {
    let small = [size, packed, offset];
    let mut numbers = small.map(u64::from);
    if small.contains(&IN_ZIP64_FIELD) {
        let field = extra_field(extra, ZIP64_FIELD)?;
        let mut at = 0;
        for (number, small) in numbers.iter_mut().zip(small) {
            if small == IN_ZIP64_FIELD {
                *number = u64_at(field, at)?;
                at += 8;
            }
        }
    }
    let [size, packed_size, header_offset] = numbers;
    Some(LargeNumbers { size, packed_size, header_offset })
}

fn extra_field(mut extra: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let (id, length) = (u16_at(extra, 0)?, usize::from(u16_at(extra, 2)?));
        let content = extra.get(4..4 + length)?;
        if id == wanted {
            return Some(content);
        }
        extra = &extra[4 + length..];
    }
}
