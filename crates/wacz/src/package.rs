//! A WACZ file: what its members are for.

use std::io::{self, Read};
use std::sync::Arc;

use varve_wire::ReadAt;

use crate::data_package::{DataPackage, PackageDigest, PackageProfile};
use crate::error::WaczError;
use crate::pages::PageList;
use crate::source_range::SourceRange;
use crate::zip::{ZipArchive, ZipCompression, ZipFinding, ZipMember, ZipMemberReader, refused};

/// The bytes of a package, wherever they are.
pub type WaczBytes = Arc<dyn ReadAt>;

/// Maximum size of a JSON text that is read at once.
const MAX_JSON_BYTES: u64 = 64 << 20;
/// `datapackage.json`.
const DATA_PACKAGE: &str = "datapackage.json";
/// `datapackage-digest.json`.
const PACKAGE_DIGEST: &str = "datapackage-digest.json";

/// What a member is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberRole {
    /// A file of records: WARC or ARC.
    Records,
    /// An index of the records.
    Index,
    /// A list of pages.
    Pages,
    /// Another package.
    Package,
    /// Anything else.
    Other,
}

impl MemberRole {
    /// What a member of that name is for.
    pub fn of(name: &str) -> Self {
        let folder = name.split_once('/').map_or("", |(folder, _)| folder);
        let lower = name.to_ascii_lowercase();
        let has = |suffixes: &[&str]| suffixes.iter().any(|suffix| lower.ends_with(suffix));
        if has(&[".warc", ".warc.gz", ".warc.zst", ".arc", ".arc.gz"]) {
            Self::Records
        } else if has(&[".wacz"]) {
            Self::Package
        } else if folder == "pages" && has(&[".jsonl"]) {
            Self::Pages
        } else if folder == "indexes" && has(&[".cdx", ".cdxj", ".cdx.gz", ".cdxj.gz", ".idx"]) {
            Self::Index
        } else {
            Self::Other
        }
    }
}

/// A WACZ file, open for reading.
pub struct Wacz {
    bytes: WaczBytes,
    zip: ZipArchive<WaczBytes>,
    description: Option<DataPackage>,
}

impl std::fmt::Debug for Wacz {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Wacz").field("zip_size", &self.zip.size()).finish_non_exhaustive()
    }
}

impl Wacz {
    /// Opens a package. One without `datapackage.json` is read by the names of its members.
    pub fn open(bytes: WaczBytes) -> Result<Self, WaczError> {
        let zip = ZipArchive::open(Arc::clone(&bytes))?;
        let mut package = Self { bytes, zip, description: None };
        package.description = package.read_json(DATA_PACKAGE, DataPackage::parse)?;
        Ok(package)
    }

    /// `datapackage.json`, if there is one.
    pub fn description(&self) -> Option<&DataPackage> {
        self.description.as_ref()
    }

    /// `datapackage-digest.json`, if there is one.
    pub fn digest(&self) -> Result<Option<PackageDigest>, WaczError> {
        self.read_json(PACKAGE_DIGEST, |json| serde_json::from_slice(json))
    }

    /// Whether the package holds packages instead of records.
    pub fn is_multi(&self) -> bool {
        self.description.as_ref().is_some_and(|found| found.profile() == PackageProfile::MultiWacz)
    }

    /// The ZIP archive.
    pub fn zip(&self) -> &ZipArchive<WaczBytes> {
        &self.zip
    }

    /// The defects of the ZIP archive.
    pub fn findings(&self) -> &[ZipFinding] {
        self.zip.findings()
    }

    /// The members with that role. Of several with one name, the last one.
    pub fn members(&self, role: MemberRole) -> impl Iterator<Item = &ZipMember> {
        self.zip.members().iter().filter(move |member| {
            let counts = self.zip.member(&member.name).is_some_and(|last| std::ptr::eq(last, *member));
            counts && !member.is_folder() && MemberRole::of(&member.name) == role
        })
    }

    /// The content of a stored member as a source of its own, which is read in place. `None` for a
    /// deflated member: use [`read`](Self::read).
    pub fn stored(&self, member: &ZipMember) -> Result<Option<SourceRange<WaczBytes>>, WaczError> {
        if member.is_encrypted || !matches!(member.method, ZipCompression::Stored | ZipCompression::Deflated)
        {
            return self.read(member).map(|_| None);
        }
        if member.method != ZipCompression::Stored {
            return Ok(None);
        }
        let (start, length) = self.zip.packed_extent(member)?;
        Ok(Some(SourceRange::new(Arc::clone(&self.bytes), start, length)))
    }

    /// The content of a member as a stream, verified against its checksum.
    pub fn read(&self, member: &ZipMember) -> Result<ZipMemberReader<'_, WaczBytes>, WaczError> {
        self.zip.read(member)
    }

    /// A list of pages.
    pub fn pages(&self, member: &ZipMember) -> Result<PageList<ZipMemberReader<'_, WaczBytes>>, WaczError> {
        Ok(PageList::new(self.read(member)?))
    }

    fn read_json<T>(
        &self,
        name: &str,
        parse: impl FnOnce(&[u8]) -> serde_json::Result<T>,
    ) -> Result<Option<T>, WaczError> {
        let Some(member) = self.zip.member(name) else { return Ok(None) };
        let mut json = Vec::new();
        let read = self.read(member)?.take(MAX_JSON_BYTES + 1).read_to_end(&mut json);
        read.map_err(|error: io::Error| refused(member, error.to_string()))?;
        if json.len() as u64 > MAX_JSON_BYTES {
            return Err(refused(member, format!("longer than {MAX_JSON_BYTES} bytes")));
        }
        let located =
            |source| WaczError::Json { name: name.to_owned(), offset: member.header_offset, source };
        parse(&json).map(Some).map_err(located)
    }
}
