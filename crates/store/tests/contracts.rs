//! Runs the contract suites over every body store and medium, and over implementations that must
//! fail them.

mod scene;

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use varve_core::BodyId;
use varve_core::body::{BodyError, BodySource, BodyStore, StoredBody};
use varve_store::body::LooseBodies;
use varve_store::disk::LocalDisk;
use varve_store::lock::FileLock;
use varve_store::medium::{Algorithm, Digest, LocalMedium, Medium, MediumError, MediumObject, ReadAt};
use varve_testkit::{MemoryDisk, MemoryMedium, contract};
use varve_warc::write::Packing;

#[test]
fn loose_bodies() {
    let root = tempfile::tempdir().expect("a folder");
    contract::body_store(&LooseBodies::new(Arc::new(LocalDisk::new(root.path())), root.path().join("blobs")));
    contract::body_store(&LooseBodies::new(Arc::new(MemoryDisk::new()), PathBuf::from("/blobs")));
}

#[test]
fn loose_bodies_lie_where_moku_looks_for_them() {
    let root = tempfile::tempdir().expect("a folder");
    let bodies = LooseBodies::new(Arc::new(LocalDisk::new(root.path())), root.path().join("blobs"));
    bodies.keep_body(&mut b"abc".as_slice()).expect("kept");
    let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(std::fs::read(root.path().join("blobs/ba").join(hex)).expect("there"), b"abc");
}

#[test]
fn a_damaged_loose_body_is_an_error() {
    let root = tempfile::tempdir().expect("a folder");
    let bodies = LooseBodies::new(Arc::new(LocalDisk::new(root.path())), root.path().join("blobs"));
    let kept = bodies.keep_body(&mut b"abc".as_slice()).expect("kept");
    std::fs::write(bodies.path(&kept.id), b"abd").expect("written");
    let mut bytes = Vec::new();
    let mut body = bodies.open_body(&kept.id).expect("opened").expect("here");
    assert!(body.read_to_end(&mut bytes).is_err());
}

/// Keeping a damaged body again replaces it, at any length.
#[test]
fn a_damaged_loose_body_is_replaced_by_its_bytes() {
    let root = tempfile::tempdir().expect("a folder");
    let bodies = LooseBodies::new(Arc::new(LocalDisk::new(root.path())), root.path().join("blobs"));
    let kept = bodies.keep_body(&mut b"abc".as_slice()).expect("kept");
    for damaged in [b"abd".as_slice(), b"ab", b"abcd", b""] {
        std::fs::write(bodies.path(&kept.id), damaged).expect("written");
        let again = bodies.keep_body(&mut b"abc".as_slice()).expect("kept");
        assert!(again.new && again.id == kept.id, "{damaged:?}");
        let mut bytes = Vec::new();
        let mut body = bodies.open_body(&kept.id).expect("opened").expect("here");
        body.read_to_end(&mut bytes).expect("whole");
        assert_eq!(bytes, b"abc");
    }
    assert!(!bodies.keep_body(&mut b"abc".as_slice()).expect("kept").new);
    assert_eq!(
        std::fs::read_dir(root.path().join("blobs")).expect("read").count(),
        1,
        "nothing is left behind"
    );
}

#[test]
fn bodies_in_silos() {
    for packing in [Packing::Gzip, Packing::Zstd { level: 3, dictionary: None }] {
        let root = tempfile::tempdir().expect("a folder");
        contract::body_store(&scene::open(root.path(), 1 << 20, packing));
    }
}

#[test]
fn media() {
    contract::medium(&MemoryMedium::new());
    let root = tempfile::tempdir().expect("a folder");
    contract::medium(&LocalMedium::new(Arc::new(LocalDisk::new(root.path())), root.path().join("silos")));
    contract::medium(&LocalMedium::new(Arc::new(MemoryDisk::new()), PathBuf::from("/silos")));
}

#[test]
fn file_locks_fulfil_the_contract() {
    let root = tempfile::tempdir().expect("a folder");
    contract::lock(&|| Box::new(FileLock::new(root.path().to_owned(), "lock".into())));
}

#[test]
fn sealed_silos_move_to_the_medium() {
    use varve_store::silo::SiloFiles;
    use varve_store::{StoreReader, StoreWriter};
    let root = tempfile::tempdir().expect("a folder");
    let medium = Arc::new(MemoryMedium::new());
    let files = SiloFiles::new(Arc::new(LocalDisk::new(root.path())), root.path().join("warc"), Some(medium));
    let settings = scene::settings(root.path(), 20_000, Packing::Gzip);
    let (writer, _) = StoreWriter::open(files.clone(), settings.clone()).expect("opened");
    let kept: Vec<_> = (0..10).map(|seed| scene::noise(6_000, seed)).collect();
    let ids: Vec<_> = kept.iter().map(|content| scene::store(&writer, content).id).collect();
    let silos = files.list().expect("listed");
    assert!(silos.values().filter(|silo| silo.moved).count() >= 2, "{silos:?}");
    drop(writer);
    let store = StoreReader::open(files, &settings.index_folder).expect("opened");
    for (id, content) in ids.iter().zip(&kept) {
        assert_eq!(scene::read(&store, id), *content);
    }
}

/// A body store that accepts everything and finds nothing.
struct ForgetfulBodies;

impl BodySource for ForgetfulBodies {
    fn open_body(&self, _: &BodyId) -> Result<Option<Box<dyn Read + Send>>, BodyError> {
        Ok(None)
    }

    fn have_bodies(&self, ids: &[BodyId]) -> Result<Vec<bool>, BodyError> {
        Ok(vec![false; ids.len()])
    }
}

impl BodyStore for ForgetfulBodies {
    fn keep_body(&self, content: &mut dyn Read) -> Result<StoredBody, BodyError> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).map_err(BodyError::new)?;
        let digest = Algorithm::Sha256.digest(&bytes).sha256().expect("a SHA-256");
        Ok(StoredBody { id: BodyId::new(digest), length: bytes.len() as u64, new: true })
    }

    fn sync_bodies(&self) -> Result<(), BodyError> {
        Ok(())
    }
}

#[test]
#[should_panic(expected = "first.new && !again.new")]
fn a_body_store_that_finds_nothing_fails_the_contract() {
    contract::body_store(&ForgetfulBodies);
}

/// A medium that accepts everything and finds nothing.
struct ForgetfulMedium;

impl Medium for ForgetfulMedium {
    fn put(&self, _: &str, _: &mut dyn Read, _: &Digest) -> Result<(), MediumError> {
        Ok(())
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadAt>, MediumError> {
        Err(MediumError::Absent { name: name.to_owned() })
    }

    fn delete(&self, _: &str) -> Result<(), MediumError> {
        Ok(())
    }

    fn list(&self, _: &str) -> Result<Vec<MediumObject>, MediumError> {
        Ok(Vec::new())
    }
}

#[test]
#[should_panic(expected = "assertion `left == right` failed")]
fn a_medium_that_finds_nothing_fails_the_contract() {
    contract::medium(&ForgetfulMedium);
}
