//! Objects are stored and read by id, by range and by abbreviated id.

mod scene;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use std::io::Read;

use scene::{files, id_of, noise, open, read, resource, store};
use varve_core::RecordId;
use varve_store::disk::LocalDisk;
use varve_store::{NewObject, StoreError, StoreReader};
use varve_warc::write::Packing;

#[test]
fn the_id_of_a_resource_is_its_sha_256() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    for content in [b"".as_slice(), b"x", &noise(3_000_000, 1)] {
        let stored = store(&writer, content);
        assert_eq!(stored.id, id_of(content));
        assert!(stored.new);
        assert_eq!(read(&writer.reader(), &stored.id), content);
        let again = store(&writer, content);
        assert_eq!((again.id, again.new), (stored.id, false));
    }
}

#[test]
fn silos_roll_and_are_sealed() {
    for packing in [Packing::Gzip, Packing::Zstd { level: 3, dictionary: None }] {
        let root = tempfile::tempdir().expect("a folder");
        let writer = open(root.path(), 100_000, packing);
        let contents: Vec<_> = (0..40).map(|seed| noise(9_000, seed)).collect();
        let ids: Vec<_> = contents.iter().map(|content| store(&writer, content).id).collect();
        let silos = files(Arc::new(LocalDisk::new(root.path())), root.path()).list().expect("listed");
        assert!(silos.len() >= 4, "{silos:?}");
        let last = *silos.keys().next_back().expect("silos");
        for silo in silos.values() {
            assert_eq!(silo.read_only, silo.number != last, "{silo:?}");
            assert!(silo.length <= 100_000, "{silo:?}");
        }
        for (id, content) in ids.iter().zip(&contents) {
            assert_eq!(read(&writer.reader(), id), *content);
        }
    }
}

#[test]
fn an_object_larger_than_a_silo_is_read_whole_and_by_range() {
    for packing in [Packing::Gzip, Packing::Zstd { level: 3, dictionary: None }] {
        let root = tempfile::tempdir().expect("a folder");
        let writer = open(root.path(), 1 << 20, packing.clone());
        let small = store(&writer, b"before");
        let large = noise(5_000_000, 7);
        let stored = store(&writer, &large);
        let after = store(&writer, b"after");
        drop(writer);
        let writer = open(root.path(), 1 << 20, packing);
        let reader = writer.reader();
        let object = reader.object(&stored.id).expect("read").expect("there");
        assert!(object.segments() >= 5, "{}", object.segments());
        assert_eq!(object.length(), large.len() as u64);
        assert_eq!(read(&reader, &stored.id), large);
        let ranges = [
            (0, 10),
            (999_990, 1_000_010),
            (4_999_999, 5_000_000),
            (1_000_000, 3_500_000),
            (7, 7),
            (0, 99_000_000),
        ];
        for (start, end) in ranges {
            let mut bytes = Vec::new();
            object.read_range(start, end).expect("range").read_to_end(&mut bytes).expect("read");
            let end = (end as usize).min(large.len());
            assert_eq!(bytes, large[(start as usize).min(end)..end]);
        }
        assert_eq!(read(&reader, &small.id), b"before");
        assert_eq!(read(&reader, &after.id), b"after");
        assert!(!store(&writer, &large).new);
    }
}

#[test]
fn metadata_has_the_id_of_what_it_says_about_whom() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    let mut packer = writer.packer().expect("a packer");
    let about = NewObject { refers_to: Some("urn:sha256:00".parse().expect("a URI")), ..resource() };
    let one = writer.store_bytes(&mut packer, &about, b"note").expect("stored");
    let other = NewObject { refers_to: Some("urn:sha256:01".parse().expect("a URI")), ..resource() };
    let two = writer.store_bytes(&mut packer, &other, b"note").expect("stored");
    assert_ne!(one.id, two.id);
    writer.sync().expect("durable");
    assert_eq!(read(&writer.reader(), &one.id), b"note");
}

#[test]
fn ids_are_found_by_their_beginning() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    let mut ids: Vec<_> = (0..600u32).map(|n| store(&writer, &n.to_le_bytes()).id).collect();
    ids.sort_unstable();
    let reader = writer.reader();
    for id in &ids {
        let hex = data_encoding::HEXLOWER.encode(id.as_bytes());
        assert_eq!(reader.resolve(&hex).expect("resolved"), Some(*id));
        assert_eq!(reader.resolve(&hex[..20]).expect("resolved"), Some(*id));
    }
    assert!(matches!(reader.resolve("1"), Err(StoreError::Ambiguous { .. })));
    assert_eq!(reader.resolve(&"0".repeat(64)).expect("none"), None);
    let wanted = [ids[3], RecordId::new([0; 32]), ids[599]];
    assert_eq!(reader.have(&wanted).expect("answered"), [true, false, true]);
}

#[test]
fn many_threads_store_and_each_content_once() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 200_000, Packing::Gzip);
    let new = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut packer = writer.packer().expect("a packer");
                for seed in 0..60 {
                    let content = noise(3000, seed);
                    let stored = writer.store_bytes(&mut packer, &resource(), &content).expect("stored");
                    new.fetch_add(u32::from(stored.new), Ordering::Relaxed);
                    if seed % 7 == 0 {
                        writer.wait(stored.ticket).expect("durable");
                        assert_eq!(read(&writer.reader(), &stored.id), content);
                    }
                }
                writer.sync().expect("durable");
            });
        }
    });
    assert_eq!(new.into_inner(), 60);
    for seed in 0..60 {
        let content = noise(3000, seed);
        let id = id_of(&content);
        assert_eq!(read(&writer.reader(), &id), content);
    }
}

#[test]
fn readers_see_what_is_synced_and_do_not_wait() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    let stored = store(&writer, b"seen");
    let other = StoreReader::open(
        files(Arc::new(LocalDisk::new(root.path())), root.path()),
        &root.path().join("index"),
    )
    .expect("opened");
    assert_eq!(read(&other, &stored.id), b"seen");
}

/// Flips a bit of the only silo, at a distance from its end.
fn flip(root: &std::path::Path, from_end: usize) {
    let path = root.join("warc/0/00000000.warc.gz");
    let mut bytes = std::fs::read(&path).expect("a silo");
    let at = bytes.len() - from_end;
    bytes[at] ^= 0x10;
    std::fs::write(&path, bytes).expect("written");
}

#[test]
fn a_damaged_object_counts_as_absent_and_is_stored_again() {
    let content = noise(5000, 3);
    // In the block, in the checksum, and in the header of the record.
    for from_end in [2000, 8, 5100] {
        let root = tempfile::tempdir().expect("a folder");
        let writer = open(root.path(), 1 << 30, Packing::Gzip);
        let stored = store(&writer, &content);
        flip(root.path(), from_end);
        let mended = store(&writer, &content);
        assert_eq!((mended.id, mended.new, mended.mended), (stored.id, true, true), "{from_end}");
        assert_eq!(read(&writer.reader(), &stored.id), content, "{from_end}");
        let hex = data_encoding::HEXLOWER.encode(stored.id.as_bytes());
        assert_eq!(writer.reader().resolve(&hex[..6]).expect("resolved"), Some(stored.id));
        drop(writer);
        let writer = open(root.path(), 1 << 30, Packing::Gzip);
        let again = store(&writer, &content);
        assert_eq!((again.new, again.mended), (false, false), "{from_end}");
        assert_eq!(read(&writer.reader(), &stored.id), content, "{from_end}");
    }
}

#[test]
fn a_segmented_object_with_a_damaged_segment_is_mended() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 20, Packing::Gzip);
    let large = noise(3_000_000, 9);
    let stored = store(&writer, &large);
    let path = root.path().join("warc/0/00000001.warc.gz");
    let mut bytes = std::fs::read(&path).expect("a segment");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::remove_file(&path).expect("removed");
    std::fs::write(&path, bytes).expect("written");
    let reader = writer.reader();
    let object = reader.object(&stored.id).expect("read").expect("there");
    assert!(matches!(object.read_range(1_500_000, 1_500_001), Err(StoreError::Damaged { silo: 1, .. })));
    assert!(object.read_range(10, 20).is_ok(), "the first segment is whole");
    assert!(store(&writer, &large).mended);
    assert_eq!(read(&writer.reader(), &stored.id), large);
    assert!(!store(&writer, &large).new);
}

#[test]
fn no_range_of_a_damaged_record_is_given() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    let stored = store(&writer, &noise(100_000, 3));
    flip(root.path(), 50_000);
    let reader = writer.reader();
    let object = reader.object(&stored.id).expect("read").expect("there");
    for (start, end) in [(0, 10), (99_990, 100_000), (49_000, 51_000)] {
        assert!(matches!(object.read_range(start, end), Err(StoreError::Damaged { .. })), "{start}");
    }
}

#[test]
fn a_damaged_header_is_an_error_with_its_place_and_no_other_object() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    let first = store(&writer, b"first");
    let offset = std::fs::metadata(root.path().join("warc/0/00000000.warc.gz")).expect("a silo").len();
    let contents: Vec<Vec<u8>> = (0..400).map(|seed| noise(20, seed)).collect();
    for content in &contents {
        store(&writer, content);
    }
    drop(writer);
    let path = root.path().join("warc/0/00000000.warc.gz");
    let whole = std::fs::read(&path).expect("a silo");
    let damaged = id_of(&contents[0]);
    let hex = data_encoding::HEXLOWER.encode(damaged.as_bytes());
    for at in 0..200 {
        let mut bytes = whole.clone();
        bytes[offset as usize + at] ^= 4;
        std::fs::write(&path, bytes).expect("written");
        let disk: Arc<dyn varve_store::disk::Disk> = Arc::new(LocalDisk::new(root.path()));
        let reader = StoreReader::open(files(disk, root.path()), &root.path().join("index")).expect("opened");
        let is_named = |error: &StoreError| matches!(error, StoreError::Damaged { silo: 0, offset: place, .. } if *place == offset);
        match reader.object(&damaged) {
            Ok(object) => assert!(object.is_some(), "byte {at}: the damage reads as absence"),
            Err(error) => assert!(is_named(&error), "byte {at}: {error}"),
        }
        for length in 2..10 {
            match reader.resolve(&hex[..length]) {
                Ok(found) => assert_eq!(found, Some(damaged), "byte {at}, {length} digits"),
                Err(StoreError::Ambiguous { .. }) => {}
                Err(error) => assert!(is_named(&error), "byte {at}: {error}"),
            }
        }
        assert_eq!(read(&reader, &first.id), b"first");
    }
}

#[test]
fn a_silo_moves_to_the_medium_and_never_over_another() {
    use varve_store::medium::{Algorithm, Medium};
    use varve_store::silo::SiloFiles;
    use varve_testkit::MemoryMedium;
    let root = tempfile::tempdir().expect("a folder");
    let local = root.path().join("warc/0/00000000.warc.gz");
    let open_on = |medium: &Arc<MemoryMedium>| {
        let medium: Arc<dyn Medium> = Arc::clone(medium) as Arc<dyn Medium>;
        let files =
            SiloFiles::new(Arc::new(LocalDisk::new(root.path())), root.path().join("warc"), Some(medium));
        varve_store::StoreWriter::open(files, scene::settings(root.path(), 1 << 30, Packing::Gzip))
    };
    // Sealed and not moved, as after a crash in between.
    let writer = open(root.path(), 1 << 30, Packing::Gzip);
    let stored = store(&writer, b"sealed");
    writer.seal_now().expect("sealed");
    drop(writer);
    let taken = Arc::new(MemoryMedium::new());
    let checksum = Algorithm::Sha256.digest(b"another");
    taken.put("0/00000000.warc.gz", &mut b"another".as_slice(), &checksum).expect("put");
    let error = open_on(&taken).err().expect("refused");
    assert!(error.to_string().contains("silo 0"), "{error}");
    assert!(local.exists(), "what is only here stays here");
    let medium = Arc::new(MemoryMedium::new());
    let (writer, _) = open_on(&medium).expect("opened");
    assert!(!local.exists());
    assert_eq!(medium.list("").expect("listed").len(), 1);
    assert_eq!(read(&writer.reader(), &stored.id), b"sealed");
}

/// The packed length is right without unpacking, also after a record whose content looks like a
/// record.
#[test]
fn a_record_says_how_long_it_is_packed() {
    for packing in [Packing::Gzip, Packing::Zstd { level: 3, dictionary: None }] {
        let root = tempfile::tempdir().expect("a folder");
        let writer = open(root.path(), 1 << 30, packing);
        store(&writer, b"a record");
        let silo = files(Arc::new(LocalDisk::new(root.path())), root.path())
            .list()
            .expect("listed")
            .into_values()
            .next();
        let path = root.path().join("warc").join(silo.expect("a silo").name());
        let whole_silo = std::fs::read(&path).expect("read");
        let mut contents =
            vec![b"plain text ".repeat(1000), Vec::new(), noise(200_000, 3), whole_silo.clone()];
        // Noise does not compress, so its bytes appear unchanged in the silo.
        contents.push([noise(70_000, 4), whole_silo, noise(70_000, 5)].concat());
        let ids: Vec<_> = contents.iter().map(|content| store(&writer, content).id).collect();
        let reader = writer.reader();
        let mut places: Vec<_> =
            ids.iter().map(|id| reader.find(id).expect("found").expect("there").place).collect();
        places.sort_by_key(|place| place.offset());
        let ends = places.iter().skip(1).map(|place| place.offset());
        let ends: Vec<u64> = ends.chain([std::fs::metadata(&path).expect("there").len()]).collect();
        for (place, end) in places.iter().zip(ends) {
            assert_eq!(reader.packed_length(*place).expect("read"), Some(end - place.offset()));
        }
    }
}
