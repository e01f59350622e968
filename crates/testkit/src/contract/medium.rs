//! The contract of every medium.

use varve_store::medium::{Medium, MediumError};

/// Runs the suite on an empty medium.
pub fn medium(medium: &dyn Medium) {
    let names = |prefix: &str| -> Vec<(String, u64)> {
        medium.list(prefix).expect("listed").into_iter().map(|listed| (listed.name, listed.length)).collect()
    };
    assert_eq!(names(""), []);
    let content: Vec<u8> = (0..100_000u32).map(|n| (n / 3) as u8).collect();
    medium.put("0/00000000.warc.gz", &mut content.as_slice()).expect("put");
    medium.put("1/01/00000100.warc.gz", &mut b"small".as_slice()).expect("put");
    medium.put("empty", &mut b"".as_slice()).expect("put");
    assert_eq!(
        names(""),
        [("0/00000000.warc.gz".into(), 100_000), ("1/01/00000100.warc.gz".into(), 5), ("empty".into(), 0)]
    );
    assert_eq!(names("1/"), [("1/01/00000100.warc.gz".into(), 5)]);
    ranges(medium, &content);
    never_replaced(medium);
    names_that_lead_elsewhere(medium);
}

fn ranges(medium: &dyn Medium, content: &[u8]) {
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

fn never_replaced(medium: &dyn Medium) {
    assert!(matches!(medium.put("empty", &mut b"other".as_slice()), Err(MediumError::Taken { .. })));
    assert_eq!(medium.open("empty").expect("opened").size().expect("a size"), 0);
}

fn names_that_lead_elsewhere(medium: &dyn Medium) {
    for name in ["", "/a", "a//b", "../a", "a/../b", "a/./b", "a\0b", "a b", "a/", "é"] {
        assert!(matches!(medium.put(name, &mut b"x".as_slice()), Err(MediumError::Name { .. })), "{name:?}");
    }
}
