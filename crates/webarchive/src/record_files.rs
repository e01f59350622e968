//! The files of an archive: a file that the user names, or all files of records below a folder.
//!
//! Links below the folder are not followed, so no loop and no file elsewhere is part of an archive;
//! each is reported. A file that the user names may be a link and may have any name: its first bytes
//! decide. Below a folder the name decides, and the order is that of the paths.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use varve_wacz::{MemberRole, SourceRange, Wacz, WaczBytes};
use varve_wire::ReadAt;

use crate::error::WebArchiveError;
use crate::finding::ArchiveFinding;

/// The greatest depth of folders below an archive.
const MAX_FOLDER_DEPTH: usize = 32;
/// Maximum number of files of an archive.
const MAX_FILES: usize = 1_000_000;
/// Number of entries that are looked at to tell whether a folder is an archive.
const MAX_PROBED_ENTRIES: usize = 10_000;
/// A deflated member may inflate to this many times its size and `FREE_INFLATED_BYTES` more.
const MAX_INFLATE_RATIO: u64 = 100;
const FREE_INFLATED_BYTES: u64 = 64 << 20;
/// Packages inside packages are read to this depth.
const MAX_PACKAGE_DEPTH: usize = 2;

/// The kind of a file, by its first bytes or its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// WARC or ARC, packed or not.
    Records,
    /// WACZ.
    Package,
}

/// A file on the disk that belongs to an archive.
#[derive(Clone, Debug)]
pub(crate) struct ArchiveFile {
    pub(crate) kind: FileKind,
    /// Its path from the root of the archive. Empty for an archive of one file.
    pub(crate) relative: PathBuf,
    pub(crate) full: PathBuf,
}

impl ArchiveFile {
    /// The name in messages and findings.
    pub(crate) fn name(&self) -> String {
        if self.relative.as_os_str().is_empty() {
            return self.full.file_name().unwrap_or_default().to_string_lossy().into_owned();
        }
        self.relative.to_string_lossy().into_owned()
    }
}

/// A file of records: a whole file, or a stretch of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordFile {
    /// The number of the file on the disk.
    pub(crate) file: usize,
    /// The name in messages: the path, and the member of a package after `!`.
    pub(crate) name: String,
    /// The package, if it is a member of one.
    pub(crate) package: Option<String>,
    /// Where its bytes are.
    pub(crate) bytes: RecordBytes,
}

/// Where the bytes of a file of records are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordBytes {
    /// In the file, from `start`, `length` of them. `None` is all of it.
    Range { start: u64, length: Option<u64> },
    /// In a file of the index with this name, inflated from a member.
    Inflated { name: String },
}

/// Whether the path is a file of records, or a folder that holds one.
pub fn is_web_archive(root: &Path) -> bool {
    match std::fs::metadata(root) {
        Ok(about) if about.is_file() => probe_file(root).is_some(),
        Ok(about) if about.is_dir() => {
            let mut left = MAX_PROBED_ENTRIES;
            holds_record_file(root, 0, &mut left)
        }
        _ => false,
    }
}

/// The kind of a file by its first bytes.
fn probe_file(path: &Path) -> Option<FileKind> {
    let mut first = Vec::new();
    File::open(path).ok()?.take(4).read_to_end(&mut first).ok()?;
    if first.starts_with(b"PK\x03\x04") {
        return kind_of_name(path).filter(|kind| *kind == FileKind::Package);
    }
    // A file that is empty or damaged at its beginning is still what its name says.
    if let Some(kind) = kind_of_name(path) {
        return Some(kind);
    }
    let file = File::open(path).ok()?;
    varve_warc::WarcReader::new(&file).is_ok().then_some(FileKind::Records)
}

/// The kind of a file by its name.
fn kind_of_name(path: &Path) -> Option<FileKind> {
    match MemberRole::of(&path.file_name()?.to_string_lossy()) {
        MemberRole::Records => Some(FileKind::Records),
        MemberRole::Package => Some(FileKind::Package),
        _ => None,
    }
}

fn holds_record_file(folder: &Path, depth: usize, left: &mut usize) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    let mut folders = Vec::new();
    for entry in entries.flatten() {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        match entry.file_type() {
            Ok(kind) if kind.is_file() && kind_of_name(&entry.path()).is_some() => return true,
            Ok(kind) if kind.is_dir() && depth < MAX_FOLDER_DEPTH => folders.push(entry.path()),
            _ => {}
        }
    }
    folders.into_iter().any(|folder| holds_record_file(&folder, depth + 1, left))
}

/// The files of an archive, and the entries that were passed over.
#[derive(Debug, Default)]
pub(crate) struct FileList {
    pub(crate) files: Vec<ArchiveFile>,
    pub(crate) findings: Vec<ArchiveFinding>,
}

/// Lists the files of the archive at `root`.
pub(crate) fn list_files(root: &Path) -> Result<FileList, WebArchiveError> {
    let about = std::fs::metadata(root).map_err(WebArchiveError::read(root))?;
    let mut list = FileList::default();
    if about.is_file() {
        let kind = probe_file(root);
        let file = |kind| ArchiveFile { kind, relative: PathBuf::new(), full: root.to_owned() };
        list.files.extend(kind.map(file));
    } else {
        list.add_folder(root, Path::new(""), 0)?;
    }
    if list.files.is_empty() {
        return Err(WebArchiveError::NoRecordFiles { path: root.to_owned() });
    }
    list.files.sort_by(|one, other| one.relative.cmp(&other.relative));
    Ok(list)
}

impl FileList {
    fn add_folder(&mut self, root: &Path, below: &Path, depth: usize) -> Result<(), WebArchiveError> {
        let folder = root.join(below);
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if depth == 0 => return Err(WebArchiveError::read(&folder)(error)),
            Err(error) => {
                self.pass_over(below, &format!("it cannot be read: {error}"));
                return Ok(());
            }
        };
        for entry in entries {
            let entry = entry.map_err(WebArchiveError::read(&folder))?;
            let relative = below.join(entry.file_name());
            let kind = entry.file_type().map_err(WebArchiveError::read(&entry.path()))?;
            let named = kind_of_name(&relative);
            match named {
                _ if kind.is_dir() && depth >= MAX_FOLDER_DEPTH => {
                    self.pass_over(&relative, "it is too deep below the archive");
                }
                _ if kind.is_dir() => self.add_folder(root, &relative, depth + 1)?,
                Some(_) if kind.is_symlink() => {
                    self.pass_over(&relative, "it is a link, and links in an archive are not followed");
                }
                Some(_) if self.files.len() >= MAX_FILES => {
                    self.pass_over(&relative, "the archive has too many files");
                    return Ok(());
                }
                Some(kind_named) if kind.is_file() => {
                    self.files.push(ArchiveFile { kind: kind_named, relative, full: entry.path() });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn pass_over(&mut self, path: &Path, why: &str) {
        let message = format!("not read: {why}");
        self.findings.push(ArchiveFinding::loss(&path.to_string_lossy(), "file-not-read", message));
    }
}

/// The files of records in a package, and the title of the package.
pub(crate) struct PackageContent {
    pub(crate) records: Vec<RecordFile>,
    pub(crate) findings: Vec<ArchiveFinding>,
    /// The titles of the packages that have one, by the name of the package.
    pub(crate) titles: Vec<(String, String)>,
}

/// Lists the files of records in the package with number `file`. A deflated member is inflated to a
/// file in `folder`, because its records are read at any offset.
pub(crate) fn list_package(
    file: usize,
    archive_file: &ArchiveFile,
    folder: &Path,
) -> Result<PackageContent, WebArchiveError> {
    let path = &archive_file.full;
    let bytes: WaczBytes = Arc::new(File::open(path).map_err(WebArchiveError::read(path))?);
    let mut content = PackageContent { records: Vec::new(), findings: Vec::new(), titles: Vec::new() };
    let package = PackagePlace { file, path, name: archive_file.name(), start: 0, depth: 0 };
    package.add_to(&mut content, bytes, folder)?;
    Ok(content)
}

/// A package in a file.
struct PackagePlace<'a> {
    file: usize,
    path: &'a Path,
    name: String,
    start: u64,
    depth: usize,
}

impl PackagePlace<'_> {
    fn add_to(
        &self,
        content: &mut PackageContent,
        bytes: WaczBytes,
        folder: &Path,
    ) -> Result<(), WebArchiveError> {
        let failed = |source| WebArchiveError::Package { path: self.path.to_owned(), source };
        let wacz = Wacz::open(bytes).map_err(failed)?;
        for found in wacz.findings() {
            content.findings.push(ArchiveFinding {
                file: self.name.clone(),
                offset: Some(self.start + found.offset),
                rule: found.rule.name().to_owned(),
                is_loss: found.rule.is_loss(),
                message: found.message.clone(),
                is_of_records: false,
            });
        }
        let title = wacz.description().and_then(|description| description.title.clone());
        content.titles.extend(title.map(|title| (self.name.clone(), title)));
        for role in [MemberRole::Records, MemberRole::Package] {
            for member in wacz.members(role) {
                let name = format!("{}!{}", self.name, member.name);
                if let Err(why) = self.add_member(content, &wacz, member, role, folder) {
                    let mut finding = ArchiveFinding::loss(&name, "member-not-read", why);
                    finding.offset = Some(self.start + member.header_offset);
                    content.findings.push(finding);
                }
            }
        }
        Ok(())
    }

    /// Adds a member, or says why it cannot be read.
    fn add_member(
        &self,
        content: &mut PackageContent,
        wacz: &Wacz,
        member: &varve_wacz::ZipMember,
        role: MemberRole,
        folder: &Path,
    ) -> Result<(), String> {
        let name = format!("{}!{}", self.name, member.name);
        let range = wacz.stored(member).map_err(|error| error.to_string())?;
        if role == MemberRole::Package {
            let Some(range) = range else { return Err("a package in a package must be stored".to_owned()) };
            if self.depth + 1 >= MAX_PACKAGE_DEPTH {
                return Err("packages are nested too deep".to_owned());
            }
            let start = self.start + range.start();
            let inner = PackagePlace { file: self.file, path: self.path, name, start, depth: self.depth + 1 };
            return inner.add_to(content, Arc::new(range), folder).map_err(|error| match error {
                WebArchiveError::Package { source, .. } => source.to_string(),
                other => other.to_string(),
            });
        }
        let bytes = match range {
            Some(range) => {
                RecordBytes::Range { start: self.start + range.start(), length: Some(range.length()) }
            }
            None => {
                inflate(wacz, member, folder, &format!("member-{}-{}", self.file, content.records.len()))?
            }
        };
        content.records.push(RecordFile { file: self.file, name, package: Some(self.name.clone()), bytes });
        Ok(())
    }
}

/// Inflates a member to a file of the index.
fn inflate(
    wacz: &Wacz,
    member: &varve_wacz::ZipMember,
    folder: &Path,
    name: &str,
) -> Result<RecordBytes, String> {
    let most = member.packed_size.saturating_mul(MAX_INFLATE_RATIO).saturating_add(FREE_INFLATED_BYTES);
    if member.size > most {
        return Err(format!("it inflates from {} to {} bytes", member.packed_size, member.size));
    }
    let reader = wacz.read(member).map_err(|error| error.to_string())?;
    let mut file = File::create(folder.join(name)).map_err(|error| error.to_string())?;
    let copied = std::io::copy(&mut reader.take(most), &mut file);
    // The bytes before the damage are read.
    match copied {
        Err(error) if error.kind() == std::io::ErrorKind::StorageFull => Err(error.to_string()),
        _ => Ok(RecordBytes::Inflated { name: name.to_owned() }),
    }
}

impl RecordBytes {
    /// Opens the bytes of a file of records.
    pub(crate) fn open(&self, file: File, index: &Path) -> std::io::Result<Arc<dyn ReadAt>> {
        Ok(match self {
            Self::Range { start: 0, length: None } => Arc::new(file),
            Self::Range { start, length } => {
                Arc::new(SourceRange::new(file, *start, length.unwrap_or(u64::MAX)))
            }
            Self::Inflated { name } => Arc::new(File::open(index.join(name))?),
        })
    }
}
