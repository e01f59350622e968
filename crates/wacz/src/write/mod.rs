//! Writing WACZ 1.1.1.
//!
//! The caller adds files one after another; `datapackage.json`, which lists them with their digests,
//! and its own digest come last. All members are stored and none is compressed, so that readers of
//! ranges find their bytes; WARC files and blocks of an index are compressed in themselves.

mod zip_writer;

use std::io::{self, Cursor, Read, Seek, Write};

use serde_json::{Map, Value, json};

use self::zip_writer::{StoredMember, StoredZipWriter};
use crate::pages::{PageEntry, PageListHeader};

/// The version of the format that is written.
const WACZ_VERSION: &str = "1.1.1";
/// The format of lists of pages.
const PAGES_FORMAT: &str = "json-pages-1.0";
const PACKAGE_FILE: &str = "datapackage.json";
const DIGEST_FILE: &str = "datapackage-digest.json";

/// What a package says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageDescription {
    /// Its title.
    pub title: Option<String>,
    /// When it was made: RFC 3339 with whole seconds.
    pub created: String,
    /// The program that made it.
    pub software: String,
    /// The page to begin with, and when it was captured.
    pub main_page: Option<(String, String)>,
}

/// Writes a package.
pub struct PackageWriter<W> {
    zip: StoredZipWriter<W>,
    resources: Vec<Value>,
}

impl<W: Write> PackageWriter<W> {
    /// Begins a package.
    pub fn new(output: W) -> Self {
        Self { zip: StoredZipWriter::new(output), resources: Vec::new() }
    }

    /// Adds a file: its path in the package, with folders, and its content, which is read twice.
    pub fn add(&mut self, path: &str, content: &mut (impl Read + Seek)) -> io::Result<()> {
        let StoredMember { hash, length, .. } = self.zip.add(path, content)?;
        // The specification of data packages forbids upper-case letters in a name.
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        self.resources.push(json!({ "name": name, "path": path, "hash": hash, "bytes": length }));
        Ok(())
    }

    /// Ends the package. Returns its length.
    pub fn finish(mut self, about: &PackageDescription) -> io::Result<u64> {
        let mut package = Map::new();
        let mut set = |name: &str, value: Value| drop(package.insert(name.to_owned(), value));
        set("profile", "data-package".into());
        set("wacz_version", WACZ_VERSION.into());
        if let Some(title) = &about.title {
            set("title", title.as_str().into());
        }
        set("created", about.created.as_str().into());
        set("software", about.software.as_str().into());
        if let Some((url, date)) = &about.main_page {
            set("mainPageUrl", url.as_str().into());
            set("mainPageDate", date.as_str().into());
        }
        set("resources", std::mem::take(&mut self.resources).into());
        let json = serde_json::to_vec_pretty(&package)?;
        let hash = self.zip.add(PACKAGE_FILE, &mut Cursor::new(json))?.hash.clone();
        let digest = serde_json::to_vec_pretty(&json!({ "path": PACKAGE_FILE, "hash": hash }))?;
        self.zip.add(DIGEST_FILE, &mut Cursor::new(digest))?;
        self.zip.finish()
    }
}

impl PageListHeader {
    /// The first line of a list, without a line end.
    pub fn to_line(&self) -> String {
        let line = json!({
            "format": PAGES_FORMAT,
            "id": self.id.as_deref().unwrap_or("pages"),
            "title": self.title.as_deref().unwrap_or("Pages"),
            "hasText": self.has_text,
        });
        line.to_string()
    }
}

impl PageEntry {
    /// The line of a page, without a line end.
    pub fn to_line(&self) -> String {
        let fields = [
            ("id", self.id.as_deref()),
            ("url", Some(self.url.as_str())),
            ("ts", self.timestamp.as_deref()),
            ("title", self.title.as_deref()),
            ("text", self.text.as_deref()),
        ];
        let members = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into())));
        let mut line = Map::from_iter(members);
        if let Some(is_seed) = self.is_seed {
            line.insert("seed".to_owned(), is_seed.into());
        }
        Value::Object(line).to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use data_encoding::HEXLOWER;
    use sha2::{Digest as _, Sha256};
    use varve_wire::ReadAt as _;

    use super::*;
    use crate::{MemberRole, PageList, PageListItem, Wacz};

    #[test]
    fn what_is_written_is_read() {
        let header = PageListHeader { id: Some("pages".into()), title: Some("T".into()), has_text: true };
        let page = PageEntry {
            url: "https://lake.example/".into(),
            timestamp: Some("2026-01-02T03:04:05Z".into()),
            title: Some("A \u{e9}\n".into()),
            text: Some("one".into()),
            ..PageEntry::default()
        };
        let pages = format!("{}\n{}\n", header.to_line(), page.to_line());
        let items: Vec<_> = PageList::new(pages.as_bytes()).map(Result::unwrap).collect();
        assert_eq!(items, [PageListItem::Header(header), PageListItem::Page(Box::new(page))]);
        let mut bytes = Vec::new();
        let mut writer = PackageWriter::new(&mut bytes);
        writer.add("archive/data.warc.gz", &mut Cursor::new(b"a WARC file")).unwrap();
        writer.add("pages/pages.jsonl", &mut Cursor::new(pages)).unwrap();
        let about =
            PackageDescription { created: "2026-01-02T03:04:05Z".into(), ..PackageDescription::default() };
        let length = writer.finish(&about).unwrap();
        assert_eq!(length, bytes.len() as u64);
        let wacz = Wacz::open(Arc::new(bytes)).unwrap();
        assert!(wacz.findings().is_empty());
        let package = wacz.description().unwrap();
        let listed: Vec<_> =
            package.resources.iter().map(|resource| (resource.path.as_str(), resource.bytes)).collect();
        assert_eq!(listed[0], ("archive/data.warc.gz", Some(11)));
        assert_eq!((package.wacz_version.as_deref(), listed.len()), (Some("1.1.1"), 2));
        let records = wacz.members(MemberRole::Records).next().unwrap();
        let stored = wacz.stored(records).unwrap().unwrap();
        let mut content = [0; 11];
        assert_eq!(stored.read_at(&mut content, 0).unwrap(), 11);
        assert_eq!(&content, b"a WARC file");
        let hash = wacz.digest().unwrap().unwrap().hash;
        let mut json = Vec::new();
        let member = wacz.zip().member("datapackage.json").unwrap();
        wacz.read(member).unwrap().read_to_end(&mut json).unwrap();
        assert_eq!(hash, format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(&json))));
    }

    /// A length that 32 bits cannot hold is in the extra field. The content is read but not kept.
    #[test]
    fn large_members_are_written_as_zip64() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(MAX_32_BITS + 10).unwrap();
        let mut output = Tail::default();
        let mut writer = PackageWriter::new(&mut output);
        writer.add("archive/large.warc.gz", &mut &file).unwrap();
        writer.add("pages/pages.jsonl", &mut Cursor::new(b"{}")).unwrap();
        let length = writer.finish(&PackageDescription::default()).unwrap();
        assert!(length > MAX_32_BITS && length == output.length);
        let zip64_end = output.bytes.windows(4).rposition(|bytes| bytes == b"PK\x06\x06").unwrap();
        let field = |at: usize| u64::from_le_bytes(output.bytes[zip64_end + at..][..8].try_into().unwrap());
        let (count, size, begin) = (field(32), field(40), field(48));
        let end = length - (output.bytes.len() - zip64_end) as u64;
        assert_eq!((count, begin + size), (4, end));
    }

    const MAX_32_BITS: u64 = u32::MAX as u64;

    /// Keeps the last bytes that were written.
    #[derive(Default)]
    struct Tail {
        bytes: Vec<u8>,
        length: u64,
    }

    impl Write for Tail {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.bytes.extend_from_slice(bytes);
            self.length += bytes.len() as u64;
            let excess = self.bytes.len().saturating_sub(1 << 20);
            self.bytes.drain(..excess);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
