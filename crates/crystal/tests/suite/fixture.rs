//! The fixtures: real projects, unpacked into a temporary folder for each test, and what is known
//! about them.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;
use varve_crystal::{BodyLookup, MajorVersion, Project, RevisionId};
use varve_testkit::memory_folder;

use crate::made::make;

/// A project in a folder of its own, removed in the end.
pub(crate) struct Scratch {
    _home: TempDir,
    pub(crate) path: PathBuf,
}

impl Scratch {
    pub(crate) fn empty() -> Self {
        Self::below(memory_folder())
    }

    fn below(home: TempDir) -> Self {
        let path = fs::canonicalize(home.path()).unwrap().join("lab.crystalproj");
        Self { _home: home, path }
    }

    /// A project as `made` makes it, made once and copied.
    pub(crate) fn made(version: MajorVersion) -> Self {
        static MADE: [OnceLock<Scratch>; 3] = [OnceLock::new(), OnceLock::new(), OnceLock::new()];
        let made = &MADE[usize::from(version.number() - 1)];
        let original = made.get_or_init(|| {
            // A static value is never dropped, and must not stay in memory.
            let scratch = Self::below(TempDir::new().unwrap());
            make(&scratch.path, version);
            scratch
        });
        original.copy()
    }

    /// A copy of this one as it is now.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self::empty();
        copy_tree(&self.path, &copy.path);
        copy
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Runs statements on the database from outside.
    pub(crate) fn sql(&self, statements: &str) {
        let connection = rusqlite::Connection::open(self.at("database.sqlite")).unwrap();
        connection.pragma_update(None, "foreign_keys", false).unwrap();
        connection.execute_batch(statements).unwrap();
    }
}

pub(crate) fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_tree(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// The bytes of a fixture. Without the corpora the test is skipped.
pub(crate) fn fixture(name: &str) -> Option<Vec<u8>> {
    let path = varve_testkit::fixtures("crystal")?.join(name);
    Some(fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// A fixture that is JSON.
pub(crate) fn json(name: &str) -> Option<Value> {
    Some(serde_json::from_slice(&fixture(name)?).unwrap())
}

/// A fixture that is a project.
pub(crate) fn lab(name: &str) -> Option<Scratch> {
    let bytes = fixture(&format!("lab/{name}.crystalproj.zip"))?;
    let scratch = Scratch::empty();
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    zip.extract(scratch.path.parent().unwrap()).unwrap();
    Some(scratch)
}

/// Everything that is known about the lab project.
pub(crate) fn expected() -> Option<Value> {
    json("lab/lab-expected.json")
}

/// The bodies that the lab project has, by id: their digests and lengths.
pub(crate) fn expected_bodies(expected: &Value) -> BTreeMap<i64, (String, u64)> {
    let bodies = expected["bodies"].as_object().unwrap().iter();
    bodies
        .filter(|(_, body)| !body.is_null())
        .map(|(id, body)| {
            let digest = body["sha256"].as_str().unwrap().to_owned();
            (id.parse().unwrap(), (digest, body["size"].as_u64().unwrap()))
        })
        .collect()
}

/// The bodies that a project has, by id, and the revisions whose body is missing.
pub(crate) fn bodies(project: &Project) -> (BTreeMap<i64, (String, u64)>, Vec<RevisionId>) {
    let (mut found, mut missing) = (BTreeMap::new(), Vec::new());
    for revision in project.revisions() {
        let revision = revision.unwrap();
        match project.body_of(&revision).unwrap() {
            BodyLookup::Found(mut body) => {
                let mut bytes = Vec::new();
                body.read_to_end(&mut bytes).unwrap();
                assert_eq!(bytes.len() as u64, body.length());
                let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(&bytes));
                found.insert(revision.id.get(), (digest, bytes.len() as u64));
            }
            BodyLookup::Missing { .. } => missing.push(revision.id),
            BodyLookup::NeverHad => {}
        }
    }
    (found, missing)
}

/// Every file below a folder, by its path, with its content.
pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    collect_files(folder, folder, &mut found);
    found
}

fn collect_files(root: &Path, folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => collect_files(root, &entry.path(), found),
            false => {
                let name = entry.path().strip_prefix(root).unwrap().to_owned();
                found.insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
}
