//! Stores that the real AardWARC wrote, object by object.

mod scene;

use std::collections::HashMap;
use std::io::Read;

use varve_store::aardwarc::{Aardwarc, AardwarcError};
use varve_warc::digest::Algorithm;

#[test]
fn every_object_comes_out_as_it_went_in() {
    let Some(folder) = varve_testkit::fixtures("AardWARC stores", "aardwarc") else { return };
    for name in ["a128", "b256"] {
        let expected = std::fs::read_to_string(folder.join(name).join("ids.tsv")).expect("ids");
        let expected: HashMap<&str, (&str, u64, &str, &str)> = expected
            .lines()
            .map(|line| {
                let columns: Vec<&str> = line.split('\t').collect();
                (columns[0], (columns[1], columns[2].parse().expect("a length"), columns[3], columns[4]))
            })
            .collect();
        let store =
            Aardwarc::open(&folder.join(name).join("store")).expect("read").expect("an AardWARC store");
        let mut seen = 0;
        store
            .objects::<AardwarcError>(|mut object| {
                let id = String::from_utf8_lossy(object.header.record_id().expect("an id")).into_owned();
                let (sha256, length, kind, mime) = expected[id.as_str()];
                let mut bytes = Vec::new();
                object.content.read_to_end(&mut bytes).expect("whole");
                assert_eq!(bytes.len() as u64, length, "{id}");
                assert_eq!(Algorithm::Sha256.digest(&bytes).to_string(), format!("sha256:{sha256}"), "{id}");
                assert_eq!(object.header.record_type().name(), kind);
                assert_eq!(object.header.fields.get("Content-Type"), Some(mime.as_bytes()));
                seen += 1;
                Ok(())
            })
            .expect("read");
        assert_eq!(seen, expected.len(), "{name}");
    }
}

#[test]
fn what_is_no_such_store() {
    let root = tempfile::tempdir().expect("a folder");
    assert!(Aardwarc::open(root.path()).expect("read").is_none());
    let writer = scene::open(&root.path().join("ours"), 1 << 20, varve_warc::write::Packing::Gzip);
    scene::store(&writer, b"ours");
    assert!(Aardwarc::open(&root.path().join("ours/warc")).expect("read").is_none());
}
