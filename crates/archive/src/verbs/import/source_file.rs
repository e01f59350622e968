//! A file to import: its name, its bytes and its digest. It may be a member of a WACZ file, which may
//! be a member of another one.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use varve_core::fact::VersionSource;
use varve_file::TemporaryFolder;
use varve_wacz::{MemberRole, Wacz, WaczBytes, WaczError};
use varve_warc::digest::Algorithm;
use varve_wire::ReadAt;

use crate::error::ArchiveError;

/// Bytes that are hashed at a time.
const HASH_CHUNK_BYTES: usize = 1 << 20;
/// Packages inside packages that are opened.
const MAX_PACKAGE_DEPTH: usize = 3;
/// Files in one package, with those of packages in it.
const MAX_PACKAGE_FILES: usize = 100_000;
/// The first bytes of a ZIP archive.
const ZIP_MAGIC: &[u8] = b"PK";
/// What separates the name of a package from that of a member.
const MEMBER_SEPARATOR: &str = "!";

/// Where the bytes of a file to import are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceLocation {
    path: PathBuf,
    /// The members that lead to it, from the outermost package.
    members: Vec<String>,
}

impl SourceLocation {
    /// The file at a path.
    pub(super) fn file(path: &Path) -> Self {
        Self { path: path.to_owned(), members: Vec::new() }
    }

    /// Its path, for messages.
    pub(super) fn shown_path(&self) -> PathBuf {
        let mut shown = self.path.as_os_str().to_owned();
        for member in &self.members {
            shown.push(MEMBER_SEPARATOR);
            shown.push(member);
        }
        PathBuf::from(shown)
    }

    fn member(&self, name: &str) -> Self {
        let mut members = self.members.clone();
        members.push(name.to_owned());
        Self { path: self.path.clone(), members }
    }

    /// Its bytes. A packed member is written to a temporary file.
    fn bytes(&self, temporary: &TemporaryFolder) -> Result<WaczBytes, ArchiveError> {
        let unread = |source| ArchiveError::ImportOpen { path: self.shown_path(), source };
        let bad = |source| ArchiveError::ImportPackage { path: self.shown_path(), source };
        let mut bytes: WaczBytes = Arc::new(File::open(&self.path).map_err(unread)?);
        for name in &self.members {
            let package = Wacz::open(bytes).map_err(bad)?;
            let member = package.zip().member(name).ok_or_else(|| unread(io::ErrorKind::NotFound.into()))?;
            bytes = match package.stored(member).map_err(bad)? {
                Some(stored) => Arc::new(stored),
                None => {
                    let mut file = temporary.unnamed_file().map_err(unread)?;
                    io::copy(&mut package.read(member).map_err(bad)?, &mut file).map_err(unread)?;
                    Arc::new(file)
                }
            };
        }
        Ok(bytes)
    }
}

/// A package as it was listed.
pub(super) struct PackageListing {
    /// The files of records in it.
    pub(super) files: Vec<SourceLocation>,
    /// Its defects, with their byte offsets.
    pub(super) findings: Vec<(u64, String)>,
}

/// The files of records in a package; `None` if the file is no ZIP archive.
pub(super) fn list_package(
    location: &SourceLocation,
    temporary: &TemporaryFolder,
) -> Result<Option<PackageListing>, ArchiveError> {
    let bytes = location.bytes(temporary)?;
    let mut magic = [0; ZIP_MAGIC.len()];
    let unread = |source| ArchiveError::ImportOpen { path: location.shown_path(), source };
    let count = bytes.read_at(&mut magic, 0).map_err(unread)?;
    if magic.get(..count) != Some(ZIP_MAGIC) {
        return Ok(None);
    }
    let mut listing = PackageListing { files: Vec::new(), findings: Vec::new() };
    let mut waiting = vec![(location.clone(), bytes)];
    while let Some((location, bytes)) = waiting.pop() {
        let bad = |source: WaczError| ArchiveError::ImportPackage { path: location.shown_path(), source };
        let package = Wacz::open(bytes).map_err(bad)?;
        let lost = package.findings().iter().filter(|finding| finding.rule.is_loss());
        listing.findings.extend(lost.map(|finding| (finding.offset, finding.message.clone())));
        let left = MAX_PACKAGE_FILES.saturating_sub(listing.files.len());
        let records = package.members(MemberRole::Records).take(left);
        listing.files.extend(records.map(|member| location.member(&member.name)));
        if location.members.len() < MAX_PACKAGE_DEPTH {
            for member in package.members(MemberRole::Package) {
                let inner = location.member(&member.name);
                let bytes = inner.bytes(temporary)?;
                waiting.push((inner, bytes));
            }
        }
    }
    Ok(Some(listing))
}

/// A file to import.
pub(super) struct SourceFile {
    /// Its path, for messages.
    pub(super) path: PathBuf,
    /// Its bytes.
    pub(super) bytes: WaczBytes,
    /// Its length when it was hashed.
    pub(super) length: u64,
    /// Its SHA-256.
    sha256: [u8; 32],
}

impl SourceFile {
    /// Opens a file and hashes it. `progress` gets the number of bytes just read.
    pub(super) fn open(
        location: &SourceLocation,
        temporary: &TemporaryFolder,
        progress: &dyn Fn(u64),
    ) -> Result<Self, ArchiveError> {
        let path = location.shown_path();
        let bytes = location.bytes(temporary)?;
        let mut hasher = Algorithm::Sha256.hasher();
        let mut chunk = vec![0; HASH_CHUNK_BYTES];
        let mut length = 0;
        loop {
            match bytes.read_at(&mut chunk, length) {
                Ok(0) => break,
                Ok(count) => {
                    hasher.update(&chunk[..count]);
                    length += count as u64;
                    progress(count as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(ArchiveError::ImportOpen { path, source }),
            }
        }
        let sha256 = hasher.finish().sha256().unwrap_or_default();
        Ok(Self { path, bytes, length, sha256 })
    }

    /// The digest in hex.
    pub(super) fn hex_digest(&self) -> String {
        data_encoding::HEXLOWER.encode(&self.sha256)
    }

    /// The name of the file, with those of the packages that it is in.
    fn name(&self) -> String {
        let path = self.path.to_string_lossy();
        let outer = path.find(MEMBER_SEPARATOR).unwrap_or(path.len());
        let begin = path[..outer].rfind('/').map_or(0, |slash| slash + 1);
        path[begin..].to_owned()
    }

    /// The source of a version that begins at `offset`.
    pub(super) fn version_source(&self, offset: u64) -> VersionSource {
        VersionSource { file: self.name(), sha256: self.hex_digest(), offset, wire: true }
    }
}
