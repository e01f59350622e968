//! The files of format 1 must stay readable and reproducible.
//!
//! `format-1/` holds an index of four hundred entries, of which the last hundred are in the
//! appendix. Never regenerate it: a failure means that the program no longer reads or writes
//! existing archives.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use varve_store::disk::{Disk, LocalDisk};
use varve_store::index::{IndexOptions, IndexReader, IndexRebuild, IndexWriter, verify};
use varve_testkit::MemoryDisk;

use crate::scene::{all, answers, entries, files, folder};

const OPTIONS: IndexOptions = IndexOptions { shard_limit: 1000, appendix_limit: 8, sort_limit: 1000 };

fn kept() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/format-1"))
}

#[test]
fn an_index_of_format_1_is_read() {
    assert_eq!(verify(&LocalDisk::new(kept()), kept()).unwrap().findings, []);
    let index = IndexReader::open(&LocalDisk::new(kept()), kept()).unwrap();
    answers(&index, &entries(0..400).into_iter().collect());
}

#[test]
fn an_index_of_format_1_is_written_byte_for_byte() {
    let disk = Arc::new(MemoryDisk::new());
    write(&disk);
    assert_eq!(files(&*disk, folder()), files(&LocalDisk::new(kept()), kept()));
}

fn write(disk: &Arc<MemoryDisk>) {
    let mut rebuild = IndexRebuild::begin(&**disk, folder(), OPTIONS).unwrap();
    entries(0..300).into_iter().for_each(|entry| rebuild.push(entry).unwrap());
    rebuild.finish().unwrap();
    let (writer, _) = IndexWriter::open(disk.clone(), folder(), OPTIONS).unwrap();
    let _ = writer.append(&entries(300..399)).unwrap();
    let _ = writer.append(&entries(399..400)).unwrap();
}

#[test]
fn an_index_of_format_1_is_added_to() {
    let disk = Arc::new(MemoryDisk::new());
    disk.make_folders(folder()).unwrap();
    for (name, bytes) in files(&LocalDisk::new(kept()), kept()) {
        disk.create_new(&folder().join(name)).unwrap().write_at(&bytes, 0).unwrap();
    }
    let (writer, _) = IndexWriter::open(disk.clone(), folder(), OPTIONS).unwrap();
    let _ = writer.append(&entries(400..450)).unwrap();
    writer.housekeeping().unwrap();
    let expected: BTreeSet<_> = entries(0..450).into_iter().collect();
    assert_eq!(all(&writer.reader()), expected);
}
