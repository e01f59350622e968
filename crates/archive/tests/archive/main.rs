//! Whole archives in real folders: stored objects come back, and hostile input is refused.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

mod layout;
mod objects;
mod trees;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use varve_archive::verbs::init::init;
use varve_archive::verbs::store::{NewObjectSource, Request, StoredContent, store};
use varve_archive::{
    Archive, ArchiveError, ArchiveSettings, ArchiveWriter, ByteSize, Date, RecordId, WriterOptions,
};

fn opening(holder: &str) -> WriterOptions {
    let clock = || Date::parse(b"2026-11-16T12:00:00Z").unwrap();
    WriterOptions { holder: holder.to_owned(), software: "varve test".to_owned(), clock: Arc::new(clock) }
}

/// An archive with small silos, and a folder beside it for other files.
struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self { folder: tempfile::tempdir().unwrap() };
        let settings = ArchiveSettings { silo_size: ByteSize(1 << 20), ..ArchiveSettings::new("scene") };
        init(&scene.root(), &settings, opening("init")).unwrap();
        scene
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("museum")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn writer(&self) -> ArchiveWriter {
        ArchiveWriter::open(&self.root(), opening("test")).unwrap()
    }

    fn archive(&self) -> Archive {
        Archive::open(&self.root()).unwrap()
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn store_bytes(&self, content: &[u8]) -> RecordId {
        let source = NewObjectSource::Stream(Box::new(std::io::Cursor::new(content.to_vec())));
        let mut kept = store_all(&self.writer(), &Request::default(), vec![source]);
        kept.remove(0).unwrap().id
    }
}

fn store_all(
    writer: &ArchiveWriter,
    request: &Request,
    sources: Vec<NewObjectSource>,
) -> Vec<Result<StoredContent, ArchiveError>> {
    let mut all = Vec::new();
    store(writer, request, sources.into_iter(), &|_| {}, |number, result| {
        assert_eq!(number, all.len());
        all.push(result);
        Ok(())
    })
    .unwrap();
    all
}

fn files(paths: &[&Path]) -> Vec<NewObjectSource> {
    paths.iter().map(|path| NewObjectSource::File(path.to_path_buf())).collect()
}

/// Bytes that do not compress.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}
