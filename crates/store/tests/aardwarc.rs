//! Stores written by AardWARC, and test stores in its layout.

mod scene;

use std::collections::HashMap;
use std::io::Read;

use varve_store::aardwarc::{Aardwarc, AardwarcError, AardwarcStore, audit, is_store};
use varve_store::audit::AuditKind;
use varve_testkit::aardwarc::{AardwarcIndexFile, AardwarcMaker, id_of, metadata, resource, sha256};
use varve_warc::digest::Algorithm;

#[test]
fn every_object_comes_out_as_it_went_in() {
    let Some(folder) = varve_testkit::fixtures("aardwarc") else { return };
    for name in ["a128", "b256"] {
        let expected = std::fs::read_to_string(folder.join(name).join("ids.tsv")).expect("ids");
        let expected: HashMap<&str, (&str, u64, &str, &str)> = expected
            .lines()
            .map(|line| {
                let columns: Vec<&str> = line.split('\t').collect();
                (columns[0], (columns[1], columns[2].parse().expect("a length"), columns[3], columns[4]))
            })
            .collect();
        let store = Aardwarc::open(&folder.join(name).join("store"), &|_| {})
            .expect("read")
            .expect("an AardWARC store");
        let mut seen = 0;
        store
            .objects::<AardwarcError>(|object| {
                let id = String::from_utf8_lossy(object.header().record_id().expect("an id")).into_owned();
                let (sha256, length, kind, mime) = expected[id.as_str()];
                let mut bytes = Vec::new();
                object.read().read_to_end(&mut bytes).expect("whole");
                assert_eq!(bytes.len() as u64, length, "{id}");
                assert_eq!(Algorithm::Sha256.digest(&bytes).to_string(), format!("sha256:{sha256}"), "{id}");
                assert_eq!(object.header().record_type().name(), kind);
                assert_eq!(object.header().fields.get("Content-Type"), Some(mime.as_bytes()));
                seen += 1;
                Ok(())
            })
            .expect("read");
        assert_eq!(seen, expected.len(), "{name}");
        let in_place =
            AardwarcStore::open(&folder.join(name), Box::new(|_| {})).expect("read").expect("a store");
        assert!(in_place.findings().is_empty());
        for (id, (sha256, length, _, _)) in &expected {
            let digits = id.rsplit('/').next().expect("digits");
            let object = in_place.object(digits).expect("read").expect("there");
            let mut bytes = Vec::new();
            object.read().read_to_end(&mut bytes).expect("whole");
            assert_eq!(Algorithm::Sha256.digest(&bytes).to_string(), format!("sha256:{sha256}"), "{id}");
            let (start, end) = (length / 3, length / 2);
            let mut part = Vec::new();
            object.read_range(start, end).expect("sound").read_to_end(&mut part).expect("read");
            assert!(part == bytes[start as usize..end as usize], "{id}");
        }
        assert!(!in_place.has_read_silos(), "the index of `{name}` finds every object");
    }
}

#[test]
fn other_folders_are_not_aardwarc_stores() {
    let root = tempfile::tempdir().expect("a folder");
    assert!(Aardwarc::open(root.path(), &|_| {}).expect("read").is_none());
    let writer = scene::open(&root.path().join("ours"), 1 << 20, varve_warc::write::Packing::Gzip);
    scene::store(&writer, b"ours");
    assert!(Aardwarc::open(&root.path().join("ours/warc"), &|_| {}).expect("read").is_none());
}

/// A test store: small objects, metadata with and without a forced id, a large object in three
/// segments.
struct Made {
    root: tempfile::TempDir,
    maker: AardwarcMaker,
    small: String,
    natural: String,
    large: String,
    content: Vec<u8>,
}

const FORCED: &str = "00112233445566778899aabbccddeeff";

fn made() -> Made {
    let root = tempfile::tempdir().expect("a folder");
    let mut maker = AardwarcMaker::new(root.path());
    let small = id_of(b"small");
    let (natural, about) = metadata(&small, b"about", None);
    let (_, forced) = metadata(&small, b"about", Some(FORCED));
    maker.add_silo(&[resource(b"small"), about, resource(b"neighbour")]);
    let content: Vec<u8> = (0..100_000_u32).flat_map(|number| number.to_string().into_bytes()).collect();
    let large = maker.add_segmented(&content, content.len() / 3 + 1);
    maker.add_silo(&[forced, resource(b"last")]);
    Made { root, maker, small, natural, large, content }
}

fn in_place(made: &Made) -> AardwarcStore {
    AardwarcStore::open(made.root.path(), Box::new(|_| {})).expect("read").expect("a store")
}

fn bytes_of(store: &AardwarcStore, digits: &str) -> Vec<u8> {
    let object = store.object(digits).expect("read").expect("there");
    let mut bytes = Vec::new();
    object.read().read_to_end(&mut bytes).expect("whole");
    assert_eq!(object.length(), bytes.len() as u64);
    bytes
}

#[test]
fn objects_are_found_where_they_are() {
    let made = made();
    assert!(is_store(made.root.path()));
    assert!(is_store(&made.root.path().join("silos")));
    let store = in_place(&made);
    assert!(store.findings().is_empty());
    assert_eq!(bytes_of(&store, &made.small), b"small");
    assert_eq!(bytes_of(&store, &made.small[..4]), b"small", "by its beginning");
    assert_eq!(bytes_of(&store, &sha256(b"small")), b"small", "by more digits than the store has");
    assert_eq!(bytes_of(&store, &made.natural), b"about");
    assert_eq!(bytes_of(&store, FORCED), b"about");
    assert!(bytes_of(&store, &made.large) == made.content);
    assert!(store.object("ffffffffffffffffffffffffffffffff").expect("read").is_none());
    let wanted =
        [made.small.clone(), FORCED.to_owned(), "0".repeat(32), sha256(b"last"), made.small[..8].to_owned()];
    assert_eq!(store.have(&wanted).expect("read"), [true, true, false, true, false]);
}

#[test]
fn the_index_finds_what_it_has_and_the_silos_the_rest() {
    for kind in [AardwarcIndexFile::Appendix, AardwarcIndexFile::Sorted] {
        let made = made();
        made.maker.write_index(kind);
        let store = in_place(&made);
        assert_eq!(bytes_of(&store, &made.small), b"small");
        assert_eq!(bytes_of(&store, &made.small[..4]), b"small", "by its beginning");
        assert!(bytes_of(&store, &made.large) == made.content, "in segments");
        let wanted = [sha256(b"last"), FORCED.to_owned(), made.small.clone(), made.small.clone()];
        assert_eq!(store.have(&wanted).expect("read"), [true; 4]);
        assert!(!store.has_read_silos(), "{kind:?}");
        assert!(store.object(&"f".repeat(32)).expect("read").is_none());
        assert!(store.has_read_silos(), "an absent id is looked for in the silos");
        assert_eq!(store.have(&["0".repeat(32), FORCED.to_owned()]).expect("read"), [false, true]);
    }
}

#[test]
fn objects_in_swapped_silos_or_behind_the_index_are_found() {
    let mut made = made();
    made.maker.write_index(AardwarcIndexFile::Sorted);
    made.maker.add_silo(&[resource(b"later")]);
    assert_eq!(bytes_of(&in_place(&made), &id_of(b"later")), b"later", "not in the index");
    let (one, other, aside) = (made.maker.silo(0), made.maker.silo(2), made.root.path().join("aside"));
    for (from, to) in [(&one, &aside), (&other, &one), (&aside, &other)] {
        std::fs::rename(from, to).expect("renamed");
    }
    assert_eq!(bytes_of(&in_place(&made), &made.small), b"small", "in another silo than the index says");
    assert!(bytes_of(&in_place(&made), &made.large) == made.content);
    let index = made.root.path().join("silos/index.sorted");
    let whole = std::fs::read(&index).expect("an index");
    for length in (0..whole.len()).step_by(7) {
        std::fs::write(&index, &whole[..length]).expect("written");
        assert_eq!(bytes_of(&in_place(&made), &id_of(b"last")), b"last", "an index of {length} bytes");
    }
}

#[test]
fn a_range_of_a_segmented_object_is_that_of_the_whole() {
    let made = made();
    let store = in_place(&made);
    let object = store.object(&made.large).expect("read").expect("there");
    let third = made.content.len() / 3 + 1;
    let end = made.content.len();
    for (start, until) in
        [(0, 1), (third - 5, third + 5), (0, end), (third, 2 * third), (end - 3, end), (7, 7), (0, end + 9)]
    {
        let mut bytes = Vec::new();
        let range = object.read_range(start as u64, until as u64).expect("sound");
        { range }.read_to_end(&mut bytes).expect("read");
        assert!(bytes == made.content[start..until.min(end)], "{start} to {until}");
    }
}

#[test]
fn a_damaged_store_says_so_and_gives_its_other_objects() {
    let made = made();
    let silo = made.maker.silo(2);
    let mut bytes = std::fs::read(&silo).expect("a silo");
    let place = bytes.len() - 2000;
    bytes[place] ^= 1;
    std::fs::write(&silo, &bytes).expect("written");
    let store = in_place(&made);
    assert_eq!(bytes_of(&store, &made.small), b"small");
    let object = store.object(&made.large).expect("read").expect("there");
    assert!(object.read().read_to_end(&mut Vec::new()).is_err());
    let third = (made.content.len() / 3 + 1) as u64;
    assert!(object.read_range(third + 1, third + 2).is_err(), "a part of the damaged segment");
    assert!(object.read_range(1, 9).is_ok(), "a part of a sound one");
    std::fs::remove_file(&silo).expect("removed");
    let store = in_place(&made);
    assert!(matches!(store.object(&made.large), Err(AardwarcError::NotWhole { .. })));
    assert_eq!(bytes_of(&store, &id_of(b"last")), b"last");
}

fn audited(root: &std::path::Path, quick: bool) -> Vec<(AuditKind, Option<u32>)> {
    let mut found = Vec::new();
    let done = audit(root, quick, &|_| {}, &mut |finding| found.push((finding.kind, finding.silo)));
    let done = done.expect("read").expect("a store");
    assert_eq!(done.findings, found.len() as u64);
    assert!(done.records > 3 && done.bytes > 0);
    found
}

#[test]
fn an_audit_names_what_is_not_as_it_was() {
    let made = made();
    let forced = (AuditKind::Id, Some(4));
    assert_eq!(audited(made.root.path(), false), [forced]);
    assert_eq!(audited(made.root.path(), true), []);
    let sound = std::fs::read(made.maker.silo(2)).expect("a silo");
    let mut bytes = sound.clone();
    let place = bytes.len() - 2000;
    bytes[place] ^= 1;
    std::fs::write(made.maker.silo(2), &bytes).expect("written");
    let found = audited(made.root.path(), false);
    assert!(found.contains(&(AuditKind::Damaged, Some(2))), "{found:?}");
    assert!(found.contains(&(AuditKind::Segment, Some(1))), "its object is not whole: {found:?}");
    std::fs::remove_file(made.maker.silo(2)).expect("removed");
    for quick in [false, true] {
        let found = audited(made.root.path(), quick);
        assert!(found.contains(&(AuditKind::SiloMissing, Some(2))), "{found:?}");
        assert!(found.contains(&(AuditKind::Segment, Some(1))), "{found:?}");
    }
    std::fs::write(made.maker.silo(2), sound).expect("written");
    std::fs::remove_file(made.maker.silo(1)).expect("removed");
    let found = audited(made.root.path(), true);
    assert_eq!(found.iter().filter(|(kind, _)| *kind == AuditKind::Segment).count(), 2, "orphans: {found:?}");
}

#[test]
fn a_cut_or_foreign_silo_is_read_as_far_as_it_goes() {
    let made = made();
    let bytes = std::fs::read(made.maker.silo(0)).expect("a silo");
    for length in (0..bytes.len()).step_by(97) {
        std::fs::write(made.maker.silo(0), &bytes[..length]).expect("written");
        let store = in_place(&made);
        assert_eq!(bytes_of(&store, &id_of(b"last")), b"last");
        if let Some(object) = store.object(&made.small).expect("read") {
            let mut bytes = Vec::new();
            if object.read().read_to_end(&mut bytes).is_ok() {
                assert_eq!(bytes, b"small");
            }
        }
    }
}
