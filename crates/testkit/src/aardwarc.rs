//! Writes small AardWARC stores, byte for byte as AardWARC does.
//!
//! Every record is three gzip members: header, block, end. The first two state their length in an
//! extra field. An id is a prefix and the first 128 bits of a SHA-256. There is no padding, because
//! readers do not need it, and an index only on request.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use sha2::{Digest, Sha256};

/// The prefix of ids.
pub const ID_PREFIX: &str = "https://museum.example/aa/";
/// The member that ends every record.
const RECORD_END_MEMBER: [u8; 24] = [
    0x1f, 0x8b, 0x08, 0x00, 0x20, 0x01, 0x19, 0x66, 0x02, 0x03, 0xe3, 0xe5, 0xe2, 0xe5, 0x02, 0x00, 0x44,
    0x15, 0xc2, 0x8b, 0x04, 0x00, 0x00, 0x00,
];

/// Writes a store silo by silo.
pub struct AardwarcMaker {
    folder: PathBuf,
    silos: u32,
    entries: Vec<[u8; 32]>,
}

/// The file of AardWARC's index to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AardwarcIndexFile {
    /// `index.appendix`, in the order of writing.
    Appendix,
    /// `index.sorted`, with a table of buckets.
    Sorted,
}

/// The SHA-256 of bytes, as 64 hex digits.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The id of a resource, without its prefix.
pub fn id_of(content: &[u8]) -> String {
    sha256(content)[..32].to_owned()
}

impl AardwarcMaker {
    /// Creates a store in a folder: `aardwarc.conf`, and silos below `silos/`.
    pub fn new(folder: &Path) -> Self {
        let text = format!("WARC-Record-ID:\n\t{ID_PREFIX}\t128\nsilo.directory:\n\tsilos/\n");
        std::fs::create_dir_all(folder.join("silos/0")).expect("a folder");
        std::fs::write(folder.join("aardwarc.conf"), text).expect("settings");
        Self { folder: folder.to_owned(), silos: 0, entries: Vec::new() }
    }

    /// The file of a silo.
    pub fn silo(&self, number: u32) -> PathBuf {
        self.folder.join(format!("silos/0/{number:08}.warc.gz"))
    }

    /// Skips a silo number, as a crash does.
    pub fn skip(&mut self) {
        self.silos += 1;
    }

    /// Writes a silo with a description and these records, each made by [`record`].
    pub fn add_silo(&mut self, records: &[Vec<u8>]) {
        let name = format!("{:08}.warc.gz", self.silos);
        let block = format!("title: {name}\r\n");
        let fields = [("Content-Type", "application/warc-fields"), ("WARC-Filename", name.as_str())];
        let mut bytes = record(&id_of(block.as_bytes()), "warcinfo", &fields, block.as_bytes());
        for record in records {
            self.entries.push(index_entry(record, self.silos, bytes.len() as u64));
            bytes.extend_from_slice(record);
        }
        std::fs::write(self.silo(self.silos), bytes).expect("a silo");
        self.silos += 1;
    }

    /// Writes the index of all records but the descriptions to a file of AardWARC's index.
    pub fn write_index(&self, kind: AardwarcIndexFile) {
        let mut entries = self.entries.clone();
        let (name, mut bytes) = match kind {
            AardwarcIndexFile::Appendix => ("index.appendix", Vec::new()),
            AardwarcIndexFile::Sorted => {
                entries.sort_unstable();
                // Four buckets without offsets, and the number of entries.
                let first = [b"Aa\x02\0".as_slice(), &(entries.len() as u32).to_be_bytes()].concat();
                ("index.sorted", [first, [0; 24].to_vec()].concat())
            }
        };
        entries.iter().for_each(|entry| bytes.extend_from_slice(entry));
        std::fs::write(self.folder.join("silos").join(name), bytes).expect("an index");
    }

    /// Writes an object in segments of `length` bytes, each in a silo of its own, and returns its
    /// id.
    pub fn add_segmented(&mut self, content: &[u8], length: usize) -> String {
        let id = id_of(content);
        let (digest, total) = (format!("sha256:{}", sha256(content)), content.len().to_string());
        let origin = format!("<{ID_PREFIX}{id}>");
        let count = content.len().div_ceil(length);
        for (index, block) in content.chunks(length).enumerate() {
            let number = (index + 1).to_string();
            let mut fields = vec![("Content-Type", "text/plain"), ("WARC-Segment-Number", number.as_str())];
            if index == 0 {
                fields.push(("WARC-Payload-Digest", digest.as_str()));
                self.add_silo(&[record(&id, "resource", &fields, block)]);
                continue;
            }
            fields.push(("WARC-Segment-Origin-ID", origin.as_str()));
            if index + 1 == count {
                fields.push(("WARC-Segment-Total-Length", total.as_str()));
            }
            self.add_silo(&[record(&id_of(block), "continuation", &fields, block)]);
            // The entry of each segment has the beginning of the id of the next.
            let [.., before, this] = self.entries.as_mut_slice() else { unreachable!("two segments") };
            before[28..].copy_from_slice(&this[..4]);
        }
        id
    }
}

/// A resource.
pub fn resource(content: &[u8]) -> Vec<u8> {
    record(&id_of(content), "resource", &[("Content-Type", "text/plain")], content)
}

/// Metadata about an object with its computed or a forced id, and that id.
pub fn metadata(about: &str, content: &[u8], forced: Option<&str>) -> (String, Vec<u8>) {
    let reference = format!("<{ID_PREFIX}{about}>");
    let natural = id_of(format!("{reference}\n{}\n", sha256(content)).as_bytes());
    let id = forced.unwrap_or(&natural).to_owned();
    let fields = [("Content-Type", "text/plain"), ("WARC-Refers-To", reference.as_str())];
    (id.clone(), record(&id, "metadata", &fields, content))
}

/// A record in three members.
pub fn record(id: &str, kind: &str, fields: &[(&str, &str)], block: &[u8]) -> Vec<u8> {
    let mut header = format!(
        "WARC/1.1\r\nWARC-Record-ID: <{ID_PREFIX}{id}>\r\nContent-Length: {}\r\nWARC-Block-Digest: sha256:{}\r\n\
         WARC-Date: 2020-02-02T02:02:02Z\r\nWARC-Type: {kind}\r\n",
        block.len(),
        sha256(block)
    );
    for (name, value) in fields {
        header.push_str(&format!("{name}: {value}\r\n"));
    }
    header.push_str("\r\n");
    [member(header.as_bytes()), member(block), RECORD_END_MEMBER.to_vec()].concat()
}

/// The entry of AardWARC's index for a record in three members.
fn index_entry(record: &[u8], silo: u32, offset: u64) -> [u8; 32] {
    let mut header = String::new();
    GzDecoder::new(record).read_to_string(&mut header).expect("a header");
    let digits = header.split(ID_PREFIX).nth(1).expect("an id");
    let mut entry = [0; 32];
    for (place, byte) in entry[..12].iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * place..2 * place + 2], 16).expect("hex digits");
    }
    entry[16..20].copy_from_slice(&silo.to_be_bytes());
    entry[20..28].copy_from_slice(&offset.to_be_bytes());
    entry
}

fn member(plain: &[u8]) -> Vec<u8> {
    let mut deflate = DeflateEncoder::new(Vec::new(), Compression::best());
    deflate.write_all(plain).and_then(|()| deflate.flush()).expect("memory");
    let deflated = deflate.finish().expect("memory");
    let mut crc = Crc::new();
    crc.update(plain);
    let mut bytes = vec![0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 2, 3, 12, 0, b'A', b'a', 8, 0];
    bytes.extend_from_slice(&(24 + deflated.len() as u64 + 8).to_le_bytes());
    bytes.extend_from_slice(&deflated);
    bytes.extend_from_slice(&crc.sum().to_le_bytes());
    bytes.extend_from_slice(&(plain.len() as u32).to_le_bytes());
    bytes
}
