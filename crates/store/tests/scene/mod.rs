//! Shared by the tests of the store: a store in a folder, and content of any size.

#![allow(dead_code, reason = "each test uses its part of the scene")]

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use varve_core::RecordId;
use varve_store::disk::{Disk, LocalDisk};
use varve_store::index::IndexOptions;
use varve_store::silo::SiloFiles;
use varve_store::{NewObject, StoreReader, StoreSettings, StoreWriter, StoredObject};
use varve_warc::date::Date;
use varve_warc::digest::Algorithm;
use varve_warc::write::Packing;

pub(crate) fn date() -> Date {
    Date::parse(b"2026-11-15T12:00:00Z").expect("a date")
}

pub(crate) fn settings(root: &Path, silo_size: u64, packing: Packing) -> StoreSettings {
    StoreSettings {
        silo_size,
        packing,
        description: vec![("software".into(), "varve test".into())],
        index: IndexOptions::default(),
        index_folder: root.join("index"),
        temporary: root.join("tmp"),
        clock: Arc::new(date),
    }
}

pub(crate) fn files(disk: Arc<dyn Disk>, root: &Path) -> SiloFiles {
    SiloFiles::new(disk, root.join("warc"), None)
}

pub(crate) fn open(root: &Path, silo_size: u64, packing: Packing) -> StoreWriter {
    let disk: Arc<dyn Disk> = Arc::new(LocalDisk::new(root));
    StoreWriter::open(files(disk, root), settings(root, silo_size, packing)).expect("opened").0
}

pub(crate) fn resource() -> NewObject {
    NewObject { date: date(), content_type: "text/plain".into(), refers_to: None, known: None }
}

pub(crate) fn store(writer: &StoreWriter, content: &[u8]) -> StoredObject {
    let mut packer = writer.packer().expect("a packer");
    let stored = writer.store_reader(&mut packer, &resource(), &mut &content[..]).expect("stored");
    writer.wait(stored.ticket).expect("durable");
    stored
}

pub(crate) fn read(store: &StoreReader, id: &RecordId) -> Vec<u8> {
    let mut bytes = Vec::new();
    let object = store.object(id).expect("read").expect("there");
    object.read().expect("open").read_to_end(&mut bytes).expect("whole");
    bytes
}

/// The id of a resource with this content.
pub(crate) fn id_of(content: &[u8]) -> RecordId {
    RecordId::new(Algorithm::Sha256.digest(content).sha256().expect("a SHA-256"))
}

/// Bytes that do not compress.
pub(crate) fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8
        })
        .collect()
}
