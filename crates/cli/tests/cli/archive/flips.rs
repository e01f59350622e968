//! Flips single bits in every file of archives of every kind: an audit ends with exit code 0 or 1
//! and a summary, and a flip in a file that is covered by checksums is a finding.
//!
//! Which bits of a silo are not covered is documented in `docs/format.md` and computed here: the
//! silo has no successor that states its digest, the bit is in the compressed data of a record, and
//! that data unpacks to the same content.
//!
//! The places are pseudo-random and the same in every run. `VARVE_FLIPS` sets the number of flips;
//! the default is small.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use varve_crystal::MajorVersion;
use varve_testkit::aardwarc::{AardwarcMaker, resource};
use varve_testkit::web::Web;

use super::{Scene, noise, small_tree, stderr, stdout};
use crate::project::{self, Download};
use crate::varve;

/// Makes an archive of one kind.
type MakeScene = fn() -> Scene;

const DEFAULT_FLIPS: u64 = 60;

fn commit(scene: &Scene, number: u64) {
    let lines: String = (0..200).map(|line| format!("line {line} of page {}\n", line * number)).collect();
    scene.file("page", lines.as_bytes());
    scene.data(&["commit", "page", "--url", &format!("https://e.org/{}", number % 3), "-m", "a commit"]);
}

fn crawl() -> Scene {
    let (scene, web) = (Scene::new(&[]), Web::start());
    scene.run(&[
        "capture",
        &web.url("/"),
        "--scope",
        "host",
        "--delay",
        "0",
        "--allow-private",
        "--retries",
        "0",
    ]);
    scene
}

/// Commits, with sealed silos, segments, a sorted index and an appendix.
fn commits() -> Scene {
    let scene = Scene::new(&["--silo-size", "1 MiB"]);
    (1..4).for_each(|number| commit(&scene, number));
    scene.file("big", &noise(2_500_000, 7));
    scene.data(&["store", "big"]);
    scene.data(&["housekeeping"]);
    commit(&scene, 5);
    scene.data(&["tag", "one", "HEAD"]);
    scene
}

fn trees() -> Scene {
    let scene = Scene::new(&[]);
    small_tree(&scene.path("tree"));
    scene.data(&["stow", "tree"]);
    scene
}

/// Zstandard silos, the last with a dictionary.
fn trained() -> Scene {
    let scene = Scene::new(&["--packing", "zstd"]);
    (1..20).for_each(|number| commit(&scene, number));
    scene.data(&["train"]);
    (20..25).for_each(|number| commit(&scene, number));
    scene
}

fn aardwarc() -> Scene {
    let scene = Scene { folder: tempfile::tempdir().unwrap() };
    let mut maker = AardwarcMaker::new(&scene.path("museum"));
    maker.add_silo(&[resource(b"one"), resource(b"two")]);
    maker.add_silo(&[resource(b"three")]);
    maker.add_segmented(&noise(100_000, 3), 40_000);
    scene
}

fn moku() -> Scene {
    let scene = Scene { folder: tempfile::tempdir().unwrap() };
    fs::create_dir(scene.path("museum")).unwrap();
    scene.data(&["moku", "new", "museum"]);
    (1..4).for_each(|number| commit(&scene, number));
    scene
}

fn crystal() -> Scene {
    let scene = Scene { folder: tempfile::tempdir().unwrap() };
    let downloads = ["one\n", "two\n"].map(|text| Download::plain("https://e.org/", text));
    let project = project::make(&scene.path("lab"), MajorVersion::Tree, downloads);
    fs::rename(project, scene.path("museum.crystalproj")).unwrap();
    scene
}

fn files_in(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files_in(&path, found),
            false if fs::metadata(&path).unwrap().len() > 0 => found.push(path),
            false => {}
        }
    }
}

fn write_in_place(path: &Path, bytes: &[u8]) {
    let permissions = fs::metadata(path).unwrap().permissions();
    let copy = path.with_extension("flipped");
    fs::write(&copy, bytes).unwrap();
    fs::set_permissions(&copy, permissions).unwrap();
    fs::rename(copy, path).unwrap();
}

/// The unpacked content of a silo; `None` when it cannot be unpacked.
fn unpacked(path: &Path, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    if path.extension().is_some_and(|ending| ending == "gz") {
        flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut content).ok()?;
        return Some(content);
    }
    let dictionary = match bytes.strip_prefix(&[0x5d, 0x2a, 0x4d, 0x18]) {
        Some(rest) => {
            let (length, rest) = rest.split_first_chunk()?;
            let stored = rest.get(..u32::from_le_bytes(*length) as usize)?;
            let is_packed = stored.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
            if is_packed { zstd::decode_all(stored).ok()? } else { stored.to_vec() }
        }
        None => Vec::new(),
    };
    let mut decoder = zstd::stream::read::Decoder::with_dictionary(bytes, &dictionary).ok()?;
    decoder.read_to_end(&mut content).ok()?;
    Some(content)
}

/// Whether a byte of a gzip file is in the header or the trailer of a member.
fn is_in_frame(whole: &[u8], byte: usize) -> bool {
    let mut start = 0;
    while start < whole.len() {
        let mut decoder = flate2::bufread::GzDecoder::new(&whole[start..]);
        decoder.read_to_end(&mut Vec::new()).unwrap();
        let end = whole.len() - decoder.into_inner().len();
        let has_extra_field = whole[start + 3] & 4 != 0;
        let header = if has_extra_field { 24 } else { 10 };
        if byte < end {
            return byte < start + header || byte >= end - 8;
        }
        start = end;
    }
    false
}

/// Whether a flip in a silo must be found.
fn is_covered(root: &Path, path: &Path, whole: &[u8], bytes: &[u8]) -> bool {
    let mut silos = Vec::new();
    if root.join("warc").is_dir() {
        files_in(&root.join("warc"), &mut silos);
    }
    let is_sealed = silos.iter().any(|other| is_silo(other) && *other > *path);
    let changed = whole.iter().zip(bytes).position(|(one, other)| one != other).unwrap();
    let is_gzip = path.extension().is_some_and(|ending| ending == "gz");
    is_sealed || is_gzip && is_in_frame(whole, changed) || unpacked(path, whole) != unpacked(path, bytes)
}

fn is_silo(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "gz" || ending == "zst")
}

/// Whether an audit must find a flip: `None` where it depends on the content. Settings, the lock and
/// notes of files are for people or temporary, and a database has unused bytes.
fn must_be_found(root: &Path, path: &Path, whole: &[u8], bytes: &[u8]) -> Option<bool> {
    let name = path.strip_prefix(root).unwrap();
    if is_silo(path) {
        return Some(is_covered(root, path, whole, bytes));
    }
    if name.ends_with("HEAD") {
        return Some(!whole.eq_ignore_ascii_case(bytes));
    }
    if name.ends_with("catalog.db") || name.ends_with("moku.db") {
        return (all_rows(whole) != all_rows(bytes)).then_some(true);
    }
    let is_checked = ["index", "warc/next-number", "dictionary.zstd", ".moku/blobs"];
    is_checked.iter().any(|checked| name.starts_with(checked)).then_some(true)
}

/// All rows of a database as text; `None` when it cannot be read.
fn all_rows(bytes: &[u8]) -> Option<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.db");
    fs::write(&path, bytes).unwrap();
    let database = rusqlite::Connection::open(path).ok()?;
    let read = |query: &str| -> rusqlite::Result<Vec<String>> {
        let mut statement = database.prepare(query)?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push((0..columns).map(|column| format!("{:?} ", row.get_ref(column))).collect());
        }
        Ok(found)
    };
    let tables = "SELECT '\"' || name || '\"' FROM sqlite_master WHERE type = 'table' ORDER BY name";
    let mut statement = database.prepare(tables).ok()?;
    let names = statement.query_map([], |row| row.get(0)).ok()?.collect::<rusqlite::Result<Vec<String>>>();
    let mut all = Vec::new();
    for name in names.ok()? {
        all.extend(read(&format!("SELECT * FROM {name}")).ok()?);
    }
    Some(all)
}

/// Flips one bit, audits and restores the file. Returns what is wrong with the audit, if anything is.
fn flip(root: &Path, path: &Path, place: u64, what: &str) -> Option<String> {
    let whole = fs::read(path).unwrap();
    let bit = (place % (whole.len() as u64 * 8)) as usize;
    let mut bytes = whole.clone();
    bytes[bit / 8] ^= 1 << (bit % 8);
    write_in_place(path, &bytes);
    let output = varve().arg("-C").arg(root).args(["audit", "--json"]).output().unwrap();
    write_in_place(path, &whole);
    let name = path.strip_prefix(root).unwrap().display();
    let said = format!(
        "{what}: bit {} of byte {} of {} of {name}: {:?}\n{}{}",
        bit % 8,
        bit / 8,
        whole.len(),
        output.status,
        stdout(&output),
        stderr(&output)
    );
    let is_complete = stdout(&output).lines().last().is_some_and(|line| line.contains("\"summary\""));
    let ends_well = matches!(output.status.code(), Some(0 | 1)) && is_complete;
    let expected = must_be_found(root, path, &whole, &bytes);
    let is_as_expected = expected.is_none_or(|is_found| is_found == (output.status.code() == Some(1)));
    let is_right = ends_well && is_as_expected && !stderr(&output).contains("panic");
    (!is_right).then(|| format!("found expected: {expected:?}, {said}"))
}

#[test]
fn a_flipped_bit_never_ends_an_audit_and_is_found_where_it_is_covered() {
    let flips = std::env::var("VARVE_FLIPS").map_or(DEFAULT_FLIPS, |count| count.parse().unwrap());
    let kinds: [(&str, MakeScene); 7] = [
        ("crawl", crawl),
        ("commits", commits),
        ("trees", trees),
        ("zstd with a dictionary", trained),
        ("AardWARC", aardwarc),
        ("Moku", moku),
        ("Crystal", crystal),
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 8
    };
    let mut failures = Vec::new();
    for (number, (what, make)) in kinds.into_iter().enumerate() {
        let scene = make();
        let project = scene.path("museum.crystalproj");
        let root = if project.exists() { project } else { scene.path("museum") };
        let output = varve().arg("-C").arg(&root).args(["audit", "--json"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{what}: {}{}", stdout(&output), stderr(&output));
        let mut files = Vec::new();
        files_in(&root, &mut files);
        files.sort();
        for _ in (number as u64..flips).step_by(kinds.len()) {
            let path = &files[(next() % files.len() as u64) as usize];
            failures.extend(flip(&root, path, next(), what));
        }
    }
    assert!(failures.is_empty(), "{} flips:\n{}", failures.len(), failures.join("\n"));
}
