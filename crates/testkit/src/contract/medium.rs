//! The contract of every medium.

use varve_store::medium::{Algorithm, Medium, MediumError};

/// Runs the suite on an empty medium.
///
/// # Panics
///
/// Panics when the medium breaks the contract. A medium that never stores, finds or refuses
/// anything breaks it.
pub fn medium(medium: &dyn Medium) {
    let names = |prefix: &str| -> Vec<(String, u64)> {
        medium.list(prefix).expect("listed").into_iter().map(|listed| (listed.name, listed.length)).collect()
    };
    assert_eq!(names(""), []);
    let content: Vec<u8> = (0..100_000u32).map(|n| (n / 3) as u8).collect();
    put(medium, "0/00000000.warc.gz", &content).expect("stored");
    put(medium, "1/01/00000100.warc.gz", b"small").expect("stored");
    put(medium, "empty", b"").expect("stored");
    assert_eq!(
        names(""),
        [("0/00000000.warc.gz".into(), 100_000), ("1/01/00000100.warc.gz".into(), 5), ("empty".into(), 0)]
    );
    assert_eq!(names("1/"), [("1/01/00000100.warc.gz".into(), 5)]);
    assert_eq!(names("2/"), []);
    assert!(medium.list("").expect("listed").iter().all(|object| object.read_only));
    ranges_are_exact(medium, &content);
    objects_are_never_replaced(medium);
    wrong_checksums_store_nothing(medium);
    unsafe_names_are_refused(medium);
    deleted_objects_are_gone(medium);
}

fn put(medium: &dyn Medium, name: &str, mut content: &[u8]) -> Result<(), MediumError> {
    let checksum = Algorithm::Sha256.digest(content);
    medium.put(name, &mut content, &checksum)
}

fn ranges_are_exact(medium: &dyn Medium, content: &[u8]) {
    let source = medium.open("0/00000000.warc.gz").expect("opened");
    assert_eq!(source.size().expect("a size"), content.len() as u64);
    for (offset, length) in [(0usize, 10usize), (99_990, 10), (12_345, 5_000)] {
        let mut buffer = vec![0; length];
        let mut read = 0;
        while read < length {
            let count = source.read_at(&mut buffer[read..], (offset + read) as u64).expect("read");
            assert!(count > 0);
            read += count;
        }
        assert_eq!(buffer, content[offset..offset + length]);
    }
    assert_eq!(source.read_at(&mut [0; 10], 100_000).expect("read"), 0);
    assert_eq!(source.read_at(&mut [0; 10], u64::MAX).expect("read"), 0);
    assert!(matches!(medium.open("nothing"), Err(MediumError::Absent { .. })));
}

fn objects_are_never_replaced(medium: &dyn Medium) {
    assert!(matches!(put(medium, "empty", b"other"), Err(MediumError::Taken { .. })));
    assert_eq!(medium.open("empty").expect("opened").size().expect("a size"), 0);
}

fn wrong_checksums_store_nothing(medium: &dyn Medium) {
    let other = Algorithm::Sha256.digest(b"other");
    let refused = medium.put("damaged", &mut b"content".as_slice(), &other);
    assert!(matches!(refused, Err(MediumError::Checksum { .. })), "{refused:?}");
    assert!(matches!(medium.open("damaged"), Err(MediumError::Absent { .. })));
    put(medium, "damaged", b"content").expect("the name is still free");
}

fn unsafe_names_are_refused(medium: &dyn Medium) {
    for name in ["", "/a", "a//b", "../a", "a/../b", "a/./b", "a\0b", "a b", "a/", "é"] {
        assert!(matches!(put(medium, name, b"x"), Err(MediumError::Name { .. })), "{name:?}");
    }
}

fn deleted_objects_are_gone(medium: &dyn Medium) {
    let name = "1/01/00000100.warc.gz";
    medium.delete(name).expect("deleted");
    assert!(matches!(medium.open(name), Err(MediumError::Absent { .. })));
    assert_eq!(medium.list("1/").expect("listed"), []);
    for absent in [name, "nothing"] {
        assert!(matches!(medium.delete(absent), Err(MediumError::Absent { .. })), "{absent}");
    }
    assert!(matches!(medium.delete("../a"), Err(MediumError::Name { .. })));
    put(medium, name, b"other").expect("the name is free again");
    assert_eq!(medium.open(name).expect("opened").size().expect("a size"), 5);
}
