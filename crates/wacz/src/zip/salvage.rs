//! Members of an archive that has lost its directory.
//!
//! A download that broke off, or a program that was killed, leaves members with local headers and
//! nothing after them. The headers are followed from the first byte. Where one gives no size,
//! because its writer put sizes after the content, the member reaches to the next local header that
//! is found, or to the end of the file, and its content is not verified.

use varve_wire::ReadAt;

use super::central_directory::method_of;
use super::fields::{LOCAL_HEADER_BYTES, LOCAL_SIGNATURE, LargeNumbers, large_numbers, u16_at, u32_at};
use super::{MAX_MEMBERS, ZipFinding, ZipMember, ZipRule, read_fully};
use crate::error::WaczError;

/// The bit of the flags for sizes after the content.
const SIZES_FOLLOW_FLAG: u16 = 8;
const ENCRYPTED_FLAG: u16 = 1;
/// Bytes that are searched first, and at most at once.
const FIRST_SEARCH_BYTES: usize = 4 << 10;
const MAX_SEARCH_BYTES: usize = 256 << 10;

/// Reads the local headers, one after another, from the beginning of the file.
pub(super) fn read_local_headers(
    source: &impl ReadAt,
    size: u64,
    findings: &mut Vec<ZipFinding>,
) -> Result<Vec<ZipMember>, WaczError> {
    let mut members = Vec::new();
    let mut at = 0;
    while members.len() < MAX_MEMBERS {
        let Some((mut member, data)) = read_local_header(source, at)? else { break };
        if member.is_unmeasured {
            let next = find_next_header(source, data, size)?;
            member.packed_size = next - data;
            at = next;
        } else {
            let end = data.saturating_add(member.packed_size);
            if end > size {
                let held = size.saturating_sub(data);
                let message =
                    format!("member `{}` has {held} of its {} bytes", member.name, member.packed_size);
                findings.push(ZipFinding::new(ZipRule::LocalHeader, at, message));
                member.packed_size = held;
                member.is_unmeasured = true;
            }
            at = end;
        }
        members.push(member);
    }
    if members.is_empty() {
        return Err(WaczError::NotZip);
    }
    let message = format!("the directory is missing: {} members found by their headers", members.len());
    findings.push(ZipFinding::new(ZipRule::NoDirectory, size, message));
    Ok(members)
}

/// Reads the local header at `offset`: the member and the offset of its data.
fn read_local_header(source: &impl ReadAt, offset: u64) -> Result<Option<(ZipMember, u64)>, WaczError> {
    let mut fixed = [0; LOCAL_HEADER_BYTES];
    let read = read_fully(source, &mut fixed, offset).map_err(WaczError::io(offset))?;
    if read < fixed.len() || u32_at(&fixed, 0) != Some(LOCAL_SIGNATURE) {
        return Ok(None);
    }
    let lengths = [26, 28].map(|at| usize::from(u16_at(&fixed, at).unwrap_or(0)));
    let mut rest = vec![0; lengths.iter().sum()];
    let rest_offset = offset + LOCAL_HEADER_BYTES as u64;
    if read_fully(source, &mut rest, rest_offset).map_err(WaczError::io(rest_offset))? < rest.len() {
        return Ok(None);
    }
    let data = rest_offset + rest.len() as u64;
    let (name, extra) = rest.split_at(lengths[0]);
    Ok(member_of(&fixed, name, extra, offset).map(|member| (member, data)))
}

fn member_of(fixed: &[u8], name: &[u8], extra: &[u8], offset: u64) -> Option<ZipMember> {
    let flags = u16_at(fixed, 6)?;
    let (packed, size) = (u32_at(fixed, 18)?, u32_at(fixed, 22)?);
    let is_unmeasured = flags & SIZES_FOLLOW_FLAG != 0;
    let sizes = if is_unmeasured {
        LargeNumbers { size: 0, packed_size: 0, header_offset: 0 }
    } else {
        large_numbers(size, packed, 0, extra)?
    };
    Some(ZipMember {
        name: String::from_utf8_lossy(name).into_owned(),
        header_offset: offset,
        packed_size: sizes.packed_size,
        size: sizes.size,
        crc32: u32_at(fixed, 14)?,
        method: method_of(u16_at(fixed, 8)?),
        is_encrypted: flags & ENCRYPTED_FLAG != 0,
        limit: 0,
        is_unmeasured,
    })
}

/// The offset of the next local header at or after `from`, or the size of the file.
fn find_next_header(source: &impl ReadAt, from: u64, size: u64) -> Result<u64, WaczError> {
    let signature = LOCAL_SIGNATURE.to_le_bytes();
    let mut window = vec![0; FIRST_SEARCH_BYTES];
    let mut at = from;
    loop {
        let read = read_fully(source, &mut window, at).map_err(WaczError::io(at))?;
        let found = window[..read].windows(signature.len()).position(|four| four == signature);
        if let Some(found) = found {
            return Ok(at + found as u64);
        }
        if read < window.len() {
            return Ok(size);
        }
        // The last bytes may be the first of a signature.
        at += (read - (signature.len() - 1)) as u64;
        window.resize((window.len() * 2).min(MAX_SEARCH_BYTES), 0);
    }
}
