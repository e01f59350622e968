//! Projects made for tests: small, with every oddity that a move of bodies must survive.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use varve_crystal::{
    BodyLookup, CreateOptions, DownloadError, DownloadOutcome, MajorVersion, NewRevision, Project,
    ProjectWriter, RevisionId,
};

/// Ids around every edge of the tree's folders.
pub(crate) const IDS: [i64; 12] = [1, 2, 3, 15, 16, 4095, 4096, 4097, 8191, 8192, 0x12_3456, 0x100_0000];
/// Ids of revisions that failed.
pub(crate) const FAILED: [i64; 2] = [4, 4098];
/// A body that no row names.
pub(crate) const ORPHAN: i64 = 77;

/// The body of a revision.
pub(crate) fn content(id: i64) -> Vec<u8> {
    format!("body {id} ").repeat(usize::try_from(id % 7).unwrap()).into_bytes()
}

/// Makes a project with these revisions, in the flat folder or in the tree.
pub(crate) fn make(path: &Path, version: MajorVersion) {
    let mut writer = ProjectWriter::create(path, CreateOptions { version, watcher: None }).unwrap();
    let resource = writer.add_root("Home", "http://a.example/").unwrap().resource;
    let revision =
        |id, outcome| NewRevision { id: Some(RevisionId(id)), resource, request_cookie: None, outcome };
    let fetched = IDS.map(|id| {
        let mut body = writer.begin_body().unwrap();
        body.write_all(&content(id)).unwrap();
        revision(id, DownloadOutcome::Fetched { metadata: None, body })
    });
    let failed = FAILED.map(|id| revision(id, DownloadOutcome::Failed(DownloadError::timed_out())));
    writer.add_revisions(fetched.into_iter().chain(failed)).unwrap();
    writer.close().unwrap();
}

/// The bodies that a project has, by id. A missing one is a panic.
pub(crate) fn bodies(project: &Project) -> BTreeMap<i64, Vec<u8>> {
    let mut found = BTreeMap::new();
    for revision in project.revisions() {
        let revision = revision.unwrap();
        match project.body_of(&revision).unwrap() {
            BodyLookup::Found(mut body) => {
                let mut bytes = Vec::new();
                body.read_to_end(&mut bytes).unwrap();
                found.insert(revision.id.get(), bytes);
            }
            BodyLookup::Missing { expected } => panic!("{} is lost", expected.display()),
            BodyLookup::NeverHad => {}
        }
    }
    found
}

/// The bodies that `make` makes.
pub(crate) fn made_bodies() -> BTreeMap<i64, Vec<u8>> {
    IDS.into_iter().map(|id| (id, content(id))).collect()
}
