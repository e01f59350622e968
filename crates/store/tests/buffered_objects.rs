//! Small objects stored in a batch equal those stored one by one.

mod scene;

use std::fs;

use scene::{noise, open, read, resource, store};
use varve_store::{BufferedObject, MAX_BUFFERED_BYTES, NewObject, StoreWriter, StoredObject};
use varve_warc::write::Packing;

fn held(content: &[u8]) -> BufferedObject {
    BufferedObject::read(resource(), &mut &content[..], Vec::new()).expect("held")
}

fn store_all(writer: &StoreWriter, contents: &[&[u8]]) -> Vec<StoredObject> {
    let mut packer = writer.packer().expect("a packer");
    let mut all: Vec<BufferedObject> = contents.iter().map(|content| held(content)).collect();
    let stored = writer.store_buffered(&mut packer, &mut all).expect("stored");
    writer.sync().expect("durable");
    stored
}

#[test]
fn new_objects_are_written_and_stored_ones_are_not() {
    for packing in [Packing::Gzip, Packing::Zstd { level: 3, dictionary: None }] {
        let root = tempfile::tempdir().expect("a folder");
        let writer = open(root.path(), 1 << 20, packing);
        let alone = store(&writer, &noise(5_000, 1));
        let (one, two, three) = (noise(5_000, 1), noise(MAX_BUFFERED_BYTES, 2), noise(1, 3));
        let stored = store_all(&writer, &[&one, &two, &two, &three, b""]);
        let new: Vec<bool> = stored.iter().map(|stored| stored.new).collect();
        assert_eq!(new, [false, true, false, true, true], "also within one batch");
        assert_eq!((stored[0].id, stored[1].id), (alone.id, stored[2].id));
        assert_eq!(
            stored.iter().map(|stored| stored.length).collect::<Vec<_>>(),
            [5_000, 65_536, 65_536, 1, 0]
        );
        let length = fs::metadata(root.path().join("warc/0")).map(|_| writer.end().expect("known"));
        let again = store_all(&writer, &[&three, &two, &one, b""]);
        assert!(again.iter().all(|stored| !stored.new && !stored.mended));
        assert_eq!(length.expect("there"), writer.end().expect("known"), "nothing was written");
        for (stored, content) in stored.iter().zip([&one[..], &two, &two, &three, b""]) {
            assert_eq!(read(&writer.reader(), &stored.id), content);
        }
    }
}

#[test]
fn a_damaged_object_is_written_again() {
    let root = tempfile::tempdir().expect("a folder");
    let contents: Vec<Vec<u8>> = (0..4).map(|seed| noise(5_000, seed)).collect();
    let all: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
    let writer = open(root.path(), 1 << 20, Packing::Gzip);
    store_all(&writer, &all);
    drop(writer);
    let path = root.path().join("warc/0/00000000.warc.gz");
    let mut bytes = fs::read(&path).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).expect("written");
    let writer = open(root.path(), 1 << 20, Packing::Gzip);
    let stored = store_all(&writer, &all);
    assert_eq!(stored.iter().filter(|stored| stored.new && stored.mended).count(), 1, "{stored:?}");
    assert_eq!(stored.iter().filter(|stored| !stored.new).count(), 3);
    for (stored, content) in stored.iter().zip(&all) {
        assert_eq!(read(&writer.reader(), &stored.id), *content);
    }
}

#[test]
fn metadata_is_not_taken_for_the_resource_of_the_same_bytes() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 20, Packing::Gzip);
    let about = NewObject { refers_to: Some("urn:sha256:00".parse().expect("a URI")), ..resource() };
    let mut both =
        [held(b"a note"), BufferedObject::read(about, &mut &b"a note"[..], Vec::new()).expect("held")];
    let stored = writer.store_buffered(&mut writer.packer().expect("a packer"), &mut both).expect("stored");
    assert_ne!(stored[0].id, stored[1].id);
    assert!(stored.iter().all(|stored| stored.new));
}

#[test]
fn content_over_the_limit_is_refused() {
    let content = noise(MAX_BUFFERED_BYTES + 1, 1);
    assert!(BufferedObject::read(resource(), &mut &content[..], Vec::new()).is_err());
}
