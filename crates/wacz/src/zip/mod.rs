//! The ZIP archive: which members there are, and where their bytes are.
//!
//! Members are read through [`ReadAt`], so a package on a web server is read by ranges: the end of
//! the file, the directory, and members on request. ZIP64, stored and deflated members are read;
//! encrypted ones and other methods are refused by name. Of several members with one name the last
//! one counts, as in Python's `zipfile` and in wabac.js; the others are reported.

mod central_directory;
mod end_record;
mod fields;
mod member_reader;
mod salvage;

use std::collections::HashMap;

use varve_wire::ReadAt;

use crate::error::WaczError;
use crate::source_range::SourceRange;
use central_directory::read_directory;
use end_record::find_directory;
use fields::{LOCAL_HEADER_BYTES, LOCAL_SIGNATURE, u16_at, u32_at};

pub use member_reader::ZipMemberReader;

/// How the bytes of a member are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZipCompression {
    /// As they are.
    Stored,
    /// Deflate.
    Deflated,
    /// Another method, which is not read.
    Other(u16),
}

/// A member of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZipMember {
    /// Its name, with `/` between folders. Bytes that are not UTF-8 are replaced.
    pub name: String,
    /// Where its local header is, from the first byte of the file.
    pub header_offset: u64,
    /// The number of bytes it takes in the file.
    pub packed_size: u64,
    /// The number of bytes of its content.
    pub size: u64,
    /// The CRC-32 of its content.
    pub crc32: u32,
    /// How it is packed.
    pub method: ZipCompression,
    /// Whether it is encrypted.
    pub is_encrypted: bool,
    /// The offset before which its bytes must end: the next member, or the directory.
    pub(crate) limit: u64,
    /// Sizes and checksum come after the content and are unknown.
    pub(crate) is_unmeasured: bool,
}

impl ZipMember {
    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.name.ends_with('/')
    }
}

/// A rule of the format that a file breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ZipRule {
    /// The directory at the end is missing: the members come from their local headers.
    NoDirectory,
    /// An entry of the directory is cut short or has wrong numbers.
    DirectoryEntry,
    /// Bytes stand before the first member or after the end record.
    ForeignBytes,
    /// Two members have the same name.
    DuplicateName,
    /// The bytes of two members overlap.
    Overlap,
    /// A name is absolute or climbs.
    UnsafeName,
    /// A local header contradicts the directory.
    LocalHeader,
    /// A member cannot be read to its end, or has another checksum.
    MemberContent,
    /// `datapackage.json` is missing or not valid.
    DataPackage,
    /// A file has another digest or length than `datapackage.json` says.
    ResourceDigest,
    /// A file that `datapackage.json` lists is missing.
    ResourceMissing,
    /// `datapackage.json` has another digest than `datapackage-digest.json` says.
    PackageDigest,
    /// The signature of the package is wrong, or its certificate is not trusted.
    PackageSignature,
}

impl ZipRule {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoDirectory => "zip-directory-missing",
            Self::DirectoryEntry => "zip-directory-entry",
            Self::ForeignBytes => "zip-foreign-bytes",
            Self::DuplicateName => "zip-duplicate-name",
            Self::Overlap => "zip-overlap",
            Self::UnsafeName => "zip-unsafe-name",
            Self::LocalHeader => "zip-local-header",
            Self::MemberContent => "zip-member-content",
            Self::DataPackage => "wacz-data-package",
            Self::ResourceDigest => "wacz-resource-digest",
            Self::ResourceMissing => "wacz-resource-missing",
            Self::PackageDigest => "wacz-package-digest",
            Self::PackageSignature => "wacz-package-signature",
        }
    }

    /// Whether content may be lost.
    pub fn is_loss(self) -> bool {
        matches!(
            self,
            Self::NoDirectory
                | Self::DirectoryEntry
                | Self::Overlap
                | Self::MemberContent
                | Self::ResourceMissing
        )
    }
}

/// A defect of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZipFinding {
    /// The rule.
    pub rule: ZipRule,
    /// Where in the file.
    pub offset: u64,
    /// What is wrong there.
    pub message: String,
}

impl ZipFinding {
    pub(crate) fn new(rule: ZipRule, offset: u64, message: impl Into<String>) -> Self {
        Self { rule, offset, message: message.into() }
    }
}

/// Maximum number of members.
pub const MAX_MEMBERS: usize = 500_000;
/// Maximum size of the directory.
pub const MAX_DIRECTORY_BYTES: u64 = 64 << 20;

/// A ZIP archive, open for reading.
#[derive(Debug)]
pub struct ZipArchive<S> {
    source: S,
    size: u64,
    members: Vec<ZipMember>,
    by_name: HashMap<String, usize>,
    findings: Vec<ZipFinding>,
}

impl<S: ReadAt> ZipArchive<S> {
    /// Reads the directory of an archive. Without one, reads the local headers.
    pub fn open(source: S) -> Result<Self, WaczError> {
        let size = source.size().map_err(WaczError::io(0))?;
        let mut findings = Vec::new();
        let listed = match find_directory(&source, size)? {
            Some(directory) => {
                read_directory(&source, &directory, &mut findings)?.map(|members| (members, directory.start))
            }
            None => None,
        };
        let (mut members, end) = match listed {
            Some(listed) => listed,
            None => (salvage::read_local_headers(&source, size, &mut findings)?, size),
        };
        refuse_overlaps(&mut members, end, &mut findings);
        members.retain(|member| has_safe_name(member, &mut findings));
        let by_name = index_names(&members, &mut findings);
        findings.sort_by_key(|finding| finding.offset);
        Ok(Self { source, size, members, by_name, findings })
    }

    /// The number of bytes of the file when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The members, in the order of their bytes. None of them climbs or overlaps another.
    pub fn members(&self) -> &[ZipMember] {
        &self.members
    }

    /// The member of that name.
    pub fn member(&self, name: &str) -> Option<&ZipMember> {
        self.by_name.get(name).and_then(|at| self.members.get(*at))
    }

    /// The defects that were found so far.
    pub fn findings(&self) -> &[ZipFinding] {
        &self.findings
    }

    /// The bytes that a member takes in the file, as they are.
    pub fn packed_bytes(&self, member: &ZipMember) -> Result<SourceRange<&S>, WaczError> {
        let (start, length) = self.packed_extent(member)?;
        Ok(SourceRange::new(&self.source, start, length))
    }

    /// The content of a member, decompressed and verified against its checksum.
    pub fn read(&self, member: &ZipMember) -> Result<ZipMemberReader<'_, S>, WaczError> {
        let packed = self.packed_bytes(member)?;
        ZipMemberReader::new(packed, member).ok_or_else(|| refused(member, unread_method(member)))
    }

    /// The offset of the first byte of a member's data, and the number of its bytes.
    pub fn packed_extent(&self, member: &ZipMember) -> Result<(u64, u64), WaczError> {
        let mut header = [0; LOCAL_HEADER_BYTES];
        let read = read_fully(&self.source, &mut header, member.header_offset)
            .map_err(WaczError::io(member.header_offset))?;
        if read < header.len() || u32_at(&header, 0) != Some(LOCAL_SIGNATURE) {
            return Err(refused(member, "its local header is missing"));
        }
        let name = u64::from(u16_at(&header, 26).unwrap_or(0));
        let extra = u64::from(u16_at(&header, 28).unwrap_or(0));
        let start = member.header_offset + LOCAL_HEADER_BYTES as u64 + name + extra;
        let end = start.checked_add(member.packed_size).filter(|end| *end <= member.limit);
        if end.is_none() {
            return Err(refused(member, "its bytes reach into what follows it"));
        }
        Ok((start, member.packed_size))
    }
}

/// Reads until the buffer is full or the source ends.
pub(crate) fn read_fully(source: &impl ReadAt, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read_at(&mut buffer[filled..], offset.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The error for a member that cannot be read.
pub(crate) fn refused(member: &ZipMember, what: impl Into<String>) -> WaczError {
    WaczError::Member { name: member.name.clone(), offset: member.header_offset, what: what.into() }
}

fn unread_method(member: &ZipMember) -> String {
    match member.method {
        _ if member.is_encrypted => "it is encrypted".to_owned(),
        ZipCompression::Other(method) => format!("compression method {method} is not supported"),
        ZipCompression::Stored | ZipCompression::Deflated => "its sizes contradict each other".to_owned(),
    }
}

/// Sorts members by offset, sets the limit of each, and removes those whose bytes another member
/// claims: one stretch of data that counts many times is how small files unpack to petabytes.
fn refuse_overlaps(members: &mut Vec<ZipMember>, end: u64, findings: &mut Vec<ZipFinding>) {
    members.sort_by_key(|member| member.header_offset);
    let mut free_from = 0;
    members.retain(|member| {
        let least_end =
            member.header_offset.saturating_add(LOCAL_HEADER_BYTES as u64).saturating_add(member.packed_size);
        let is_apart = member.header_offset >= free_from && least_end <= end;
        if is_apart {
            free_from = least_end;
        } else {
            let message = format!("member `{}` claims bytes of another one: not read", member.name);
            findings.push(ZipFinding::new(ZipRule::Overlap, member.header_offset, message));
        }
        is_apart
    });
    let starts: Vec<u64> = members.iter().skip(1).map(|next| next.header_offset).chain([end]).collect();
    for (member, limit) in members.iter_mut().zip(starts) {
        member.limit = limit;
        if member.is_unmeasured {
            let taken = member.header_offset + LOCAL_HEADER_BYTES as u64 + member.name.len() as u64;
            member.packed_size = member.packed_size.min(limit.saturating_sub(taken));
        }
    }
}

fn has_safe_name(member: &ZipMember, findings: &mut Vec<ZipFinding>) -> bool {
    let name = &member.name;
    let climbs = name.split(['/', '\\']).any(|part| part == "..");
    let is_safe = !name.is_empty()
        && !name.starts_with(['/', '\\'])
        && !climbs
        && !name.contains('\0')
        && name.as_bytes().get(1) != Some(&b':');
    if !is_safe {
        let message = format!("the name `{}` leads out of the package: not read", name.escape_debug());
        findings.push(ZipFinding::new(ZipRule::UnsafeName, member.header_offset, message));
    }
    is_safe
}

fn index_names(members: &[ZipMember], findings: &mut Vec<ZipFinding>) -> HashMap<String, usize> {
    let mut by_name = HashMap::with_capacity(members.len());
    for (at, member) in members.iter().enumerate() {
        if by_name.insert(member.name.clone(), at).is_some() {
            let message = format!("a second member `{}`: the last one counts", member.name);
            findings.push(ZipFinding::new(ZipRule::DuplicateName, member.header_offset, message));
        }
    }
    by_name
}
