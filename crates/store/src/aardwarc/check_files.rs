//! Checks the files of an AardWARC store beyond their records: names, numbers and the headers of
//! gzip members.
//!
//! No checksum covers these. Each silo begins with a description that states the name of its file,
//! so renamed and swapped silos are found. AardWARC writes all member headers alike, except for the
//! compression level and the length, so a changed bit in one of them is found too.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use varve_warc::WarcReader;
use varve_warc::record::{RecordHeader, RecordType};
use varve_wire::ReadAt;

use super::folder::{AardwarcSilo, number_of};
use super::scan::{MEMBER_HEADER_BYTES, RECORD_END_MEMBER, read_all};
use super::{AardwarcError, AardwarcFinding};
use crate::audit::AuditKind;
use crate::silo::FILE_NAME_FIELD;

/// Members of one record before the constant one that ends it: header and block.
const MEMBERS_PER_RECORD: usize = 2;
/// Bytes at the beginning of a silo in which a member of the current format must begin. Silos from
/// before December 2018 have none.
const PROBED_BYTES: usize = 1 << 20;

/// Checks the files of all silos. Members are not checked in the silos of `damaged`, whose findings
/// explain what is there.
pub(super) fn check_files(
    silos: &[AardwarcSilo],
    damaged: &HashSet<PathBuf>,
) -> Result<Vec<AardwarcFinding>, AardwarcError> {
    let mut findings = repeated_numbers(silos);
    for silo in silos {
        let file = silo.open().map_err(|source| silo.unread(source))?;
        if let Some(header) = first_header(&file) {
            findings.extend(wrong_name(&header, silo.path()));
        }
        if damaged.contains(silo.path()) {
            continue;
        }
        if let Some(offset) = odd_member(&file).map_err(|source| silo.unread(source))? {
            let message = "the header or the length of a gzip member is not as AardWARC writes it";
            findings.push(AardwarcFinding::new(AuditKind::Damaged, silo.path(), offset, message));
        }
    }
    Ok(findings)
}

/// Findings for numbers that several files have.
fn repeated_numbers(silos: &[AardwarcSilo]) -> Vec<AardwarcFinding> {
    let mut first: BTreeMap<u32, &Path> = BTreeMap::new();
    let mut findings = Vec::new();
    for silo in silos {
        let Some(number) = number_of(silo.path()) else { continue };
        if let Some(other) = first.get(&number) {
            let message = format!(
                "`{}` and `{}` have the same number; move the one that is a copy out of the store",
                other.display(),
                silo.path().display()
            );
            findings.push(AardwarcFinding::new(AuditKind::SiloTwice, silo.path(), 0, message));
        } else {
            first.insert(number, silo.path());
        }
    }
    findings
}

/// The header of the first record; `None` when it cannot be read, which is reported elsewhere.
fn first_header(file: &File) -> Option<RecordHeader> {
    let record = WarcReader::at(file, 0).and_then(WarcReader::into_record).ok()??;
    Some(record.header().clone())
}

/// The finding for a silo that does not begin with its own description.
fn wrong_name(header: &RecordHeader, silo: &Path) -> Option<AardwarcFinding> {
    let name = silo.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stated = header.fields.get(FILE_NAME_FIELD).map(String::from_utf8_lossy);
    if header.record_type() == RecordType::Warcinfo && stated.as_deref() == Some(name.as_str()) {
        return None;
    }
    let message = match stated {
        Some(stated) => {
            format!("silo `{name}` says that it is `{stated}`: it was renamed or swapped with another")
        }
        None => format!("silo `{name}` does not begin with its description"),
    };
    Some(AardwarcFinding::new(AuditKind::SiloName, silo, 0, message))
}

/// The offset of the first member that is not as AardWARC writes it.
fn odd_member(file: &File) -> io::Result<Option<u64>> {
    let size = file.size()?;
    let mut offset = 0;
    while offset < size {
        for _ in 0..MEMBERS_PER_RECORD {
            match member_length(file, offset)?.and_then(|length| offset.checked_add(length)) {
                Some(end) if end < size => offset = end,
                _ => return Ok((offset > 0 || has_members(file)?).then_some(offset)),
            }
        }
        let mut ending = [0; RECORD_END_MEMBER.len()];
        if read_all(file, offset, &mut ending)? < ending.len() || ending != RECORD_END_MEMBER {
            return Ok(Some(offset));
        }
        offset += ending.len() as u64;
    }
    Ok(None)
}

/// The length of the member at `offset`; `None` when its header is not as AardWARC writes it.
fn member_length(file: &File, offset: u64) -> io::Result<Option<u64>> {
    let mut bytes = [0; MEMBER_HEADER_BYTES];
    if read_all(file, offset, &mut bytes)? < bytes.len() {
        return Ok(None);
    }
    // No time, level 9 or 0, Unix, and one extra field.
    let is_usual = bytes.starts_with(&[0x1f, 0x8b, 8, 4, 0, 0, 0, 0])
        && matches!(bytes[8..10], [2 | 4, 3])
        && bytes[10..].starts_with(&EXTRA_FIELD_START);
    let length = bytes.last_chunk().map_or(0, |length| u64::from_le_bytes(*length));
    Ok((is_usual && length > MEMBER_HEADER_BYTES as u64).then_some(length))
}

/// The beginning of the extra field of a member: its length, its name, and the length of the value.
const EXTRA_FIELD_START: [u8; 6] = [12, 0, b'A', b'a', 8, 0];

/// Whether a silo whose first member is odd has usual ones, so that it is not of an older format.
fn has_members(file: &File) -> io::Result<bool> {
    let mut bytes = vec![0; PROBED_BYTES];
    let length = read_all(file, 0, &mut bytes)?;
    Ok(memchr::memmem::find(&bytes[..length], &EXTRA_FIELD_START).is_some())
}
