//! The number of disk calls that each action of the store makes.
//!
//! The counts are exact, so that a change that adds a read, a write or a sync is noticed. Each
//! comment explains the calls.

mod scene;

use std::path::Path;
use std::sync::Arc;

use varve_core::RecordId;
use varve_store::disk::LocalDisk;
use varve_store::exchange::{ExchangeWriter, NewExchange};
use varve_store::silo::SiloFiles;
use varve_store::{StoreReader, StoreWriter};
use varve_testkit::{MediumCounts, MemoryMedium, RecordingDisk};
use varve_warc::write::Packing;

const SILO_BYTES: u64 = 1 << 30;

fn writer(disk: &Arc<RecordingDisk>, root: &Path) -> StoreWriter {
    let files = scene::files(Arc::clone(disk) as _, root);
    StoreWriter::open(files, scene::settings(root, SILO_BYTES, Packing::Gzip)).expect("opened").0
}

fn reader(disk: &Arc<RecordingDisk>, root: &Path) -> StoreReader {
    StoreReader::open(scene::files(Arc::clone(disk) as _, root), &root.join("index")).expect("opened")
}

/// A store with two synced objects.
fn with_objects(root: &Path) -> [RecordId; 2] {
    let writer = scene::open(root, SILO_BYTES, Packing::Gzip);
    [scene::store(&writer, b"one").id, scene::store(&writer, &scene::noise(20_000, 1)).id]
}

#[test]
fn opening_for_reading() {
    let root = tempfile::tempdir().expect("a folder");
    with_objects(root.path());
    let disk = RecordingDisk::new(Arc::new(LocalDisk::new(root.path())));
    reader(&disk, root.path());
    // The appendix is opened, measured and read whole. The index folder is listed twice: for
    // rotated appendices and for shards. Of the one shard the header is read. No silo is opened.
    assert_eq!(disk.take_counts(), "list 2, examine 2, open 2, read 2");
}

#[test]
fn reading_one_object() {
    let root = tempfile::tempdir().expect("a folder");
    let [one, two] = with_objects(root.path());
    let disk = RecordingDisk::new(Arc::new(LocalDisk::new(root.path())));
    let store = reader(&disk, root.path());
    disk.take_calls();
    scene::read(&store, &one);
    // The silo is opened, after a look whether it has a second file; one read serves the header
    // lookup and one the block. Each of the two WARC readers asks for the length of the silo.
    assert_eq!(disk.take_counts(), "examine 3, open 1, read 2");
    scene::read(&store, &two);
    // The silo is still open and the reader of headers idle. The larger block takes one more read.
    assert_eq!(disk.take_counts(), "examine 1, read 3");
}

#[test]
fn an_absent_object_costs_no_read() {
    let root = tempfile::tempdir().expect("a folder");
    with_objects(root.path());
    let disk = RecordingDisk::new(Arc::new(LocalDisk::new(root.path())));
    let store = reader(&disk, root.path());
    disk.take_calls();
    assert!(store.find(&RecordId::new([0xee; 32])).expect("looked up").is_none());
    assert_eq!(disk.take_counts(), "");
}

#[test]
fn opening_for_writing() {
    let root = tempfile::tempdir().expect("a folder");
    let disk = RecordingDisk::new(Arc::new(LocalDisk::new(root.path())));
    drop(writer(&disk, root.path()));
    // The folders `tmp` and `index` are created. An empty shard is written, synced and renamed, an
    // empty appendix is created, and their folder is synced. Then the index is opened: its folder
    // is listed for temporary files, shards and rotated appendices, the header of the shard and the
    // appendix are read. There is no silo, and `next-number` does not exist.
    assert_eq!(
        disk.take_counts(),
        "make folder 2, list 6, examine 7, open 4, read 2, create 2, write 1, sync 1, rename 1, sync folder 1"
    );
    with_objects(root.path());
    drop(writer(&disk, root.path()));
    // Besides the index, recovery reads the last silo from the last indexed record to its end, its
    // first bytes to compare the packing, and `next-number` twice, and looks whether the silo has a
    // second file. It writes nothing and syncs the appendix, since entries may have been added.
    assert_eq!(
        disk.take_counts(),
        "make folder 2, list 7, examine 12, open 7, read 8, sync 1, sync folder 1"
    );
}

#[test]
fn appending_one_small_object() {
    let root = tempfile::tempdir().expect("a folder");
    with_objects(root.path());
    let disk = RecordingDisk::new(Arc::new(LocalDisk::new(root.path())));
    let writer = writer(&disk, root.path());
    disk.take_calls();
    scene::store(&writer, b"three");
    // The record is written to the silo, the silo synced, the entry written to the appendix.
    assert_eq!(disk.take_counts(), "write 2, sync 1");
    scene::store(&writer, b"three");
    // The silo is opened, after a look whether it has a second file. The stored record is read to its
    // end and verified. Nothing is written or synced.
    assert_eq!(disk.take_counts(), "examine 2, open 1, read 3");
}

#[test]
fn appending_one_exchange() {
    let root = tempfile::tempdir().expect("a folder");
    with_objects(root.path());
    let disk = RecordingDisk::new(Arc::new(LocalDisk::new(root.path())));
    let writer = writer(&disk, root.path());
    disk.take_calls();
    let exchanges = ExchangeWriter::new(&writer);
    let response = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello".to_vec();
    let exchange = NewExchange {
        url: "http://example.com/",
        date: scene::date(),
        request: b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
        response: &response,
        head: None,
        ip: None,
        protocols: &[],
        cipher: None,
        trailers: &[],
        timing: None,
        truncated: None,
        run: None,
        warcinfo: None,
        unchanged: None,
        non_capture_method: None,
        source: None,
    };
    let kept = exchanges.keep(&mut writer.packer().expect("a packer"), &exchange).expect("kept");
    writer.wait(kept.ticket).expect("durable");
    // Response and request are written together, the silo synced, their entries written together.
    assert_eq!(disk.take_counts(), "write 2, sync 1");
}

/// A reader of a writer shares its index: any number of lookups reads nothing and copies nothing.
#[test]
fn a_lookup_through_the_writer() {
    let root = tempfile::tempdir().expect("a folder");
    let disk = RecordingDisk::new(Arc::new(LocalDisk::new(root.path())));
    let writer = writer(&disk, root.path());
    let stored = scene::store(&writer, b"one");
    assert!(writer.reader().find(&stored.id).expect("looked up").is_some());
    disk.take_calls();
    for number in 0..100u8 {
        assert!(writer.reader().find(&RecordId::new([number; 32])).expect("looked up").is_none());
        assert!(writer.index().find(varve_store::index::IndexPrefix(7)).expect("looked up").is_empty());
    }
    assert_eq!(disk.take_counts(), "");
}

#[test]
fn reading_one_object_of_a_moved_silo() {
    let root = tempfile::tempdir().expect("a folder");
    let medium = Arc::new(MemoryMedium::new());
    let files = SiloFiles::new(
        Arc::new(LocalDisk::new(root.path())),
        root.path().join("warc"),
        Some(Arc::clone(&medium) as _),
    );
    let settings = scene::settings(root.path(), SILO_BYTES, Packing::Gzip);
    let (writer, _) = StoreWriter::open(files.clone(), settings.clone()).expect("opened");
    let stored = scene::store(&writer, b"one");
    medium.take_counts();
    writer.seal_now().expect("sealed");
    // The checksum comes from the local file: nothing is read back.
    assert_eq!(medium.take_counts(), MediumCounts { puts: 1, ..MediumCounts::default() });
    // The next silo states the digest of the moved one, which the writer remembers. Looking for the
    // object in the local folder comes first, so the medium is not asked.
    scene::store(&writer, b"two");
    assert_eq!(medium.take_counts(), MediumCounts::default());
    let store = StoreReader::open(files, &settings.index_folder).expect("opened");
    assert_eq!(medium.take_counts(), MediumCounts::default());
    scene::read(&store, &stored.id);
    // One read for the header lookup, one for the block.
    assert_eq!(medium.take_counts(), MediumCounts { opens: 1, reads: 2, ..MediumCounts::default() });
}
