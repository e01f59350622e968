//! Flips single bits in every file of archives of several kinds: an audit ends with exit code 0 or 1
//! and a summary, and a flip in a silo is always a finding.
//!
//! Not covered by any checksum, until the next silo states the digest of its file, are bits that gzip
//! ignores, such as the padding of a deflate stream; a store of AardWARC has no such digests.
//!
//! The places are pseudo-random and the same in every run. `VARVE_FLIPS` sets the number of flips;
//! the default is small.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use varve_testkit::aardwarc::{AardwarcMaker, resource};
use varve_testkit::web::Web;

use super::{Scene, noise, small_tree, stderr, stdout};
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

/// Whether a flip must be found: the silo is sealed by another, or its unpacked bytes change.
fn must_be_found(root: &Path, path: &Path, whole: &[u8], bytes: &[u8]) -> bool {
    let is = |ending: &str| path.extension().is_some_and(|found| found == ending);
    let mut silos = Vec::new();
    if root.join("warc").is_dir() {
        files_in(&root.join("warc"), &mut silos);
    }
    let is_sealed = silos.iter().any(|other| other.extension() == path.extension() && *other > *path);
    let unpacked = |bytes: &[u8]| {
        let mut unpacked = Vec::new();
        let read = flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut unpacked);
        read.map(|_| unpacked).ok()
    };
    is("zst") || is("gz") && (is_sealed || unpacked(whole) != unpacked(bytes))
}

/// Flips one bit, audits and restores the file.
fn flip(root: &Path, path: &Path, place: u64, what: &str) {
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
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    assert!(stdout(&output).lines().last().is_some_and(|line| line.contains("\"summary\"")), "{said}");
    assert!(!must_be_found(root, path, &whole, &bytes) || output.status.code() == Some(1), "{said}");
}

#[test]
fn a_flipped_bit_never_ends_an_audit_and_is_found_in_a_silo() {
    let flips = std::env::var("VARVE_FLIPS").map_or(DEFAULT_FLIPS, |count| count.parse().unwrap());
    let kinds: [(&str, MakeScene); 6] = [
        ("crawl", crawl),
        ("commits", commits),
        ("trees", trees),
        ("zstd with a dictionary", trained),
        ("AardWARC", aardwarc),
        ("Moku", moku),
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 8
    };
    for (number, (what, make)) in kinds.into_iter().enumerate() {
        let scene = make();
        let root = scene.path("museum");
        let output = varve().arg("-C").arg(&root).args(["audit", "--json"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{what}: {}{}", stdout(&output), stderr(&output));
        let mut files = Vec::new();
        files_in(&root, &mut files);
        files.sort();
        for _ in (number as u64..flips).step_by(kinds.len()) {
            let path = &files[(next() % files.len() as u64) as usize];
            flip(&root, path, next(), what);
        }
    }
}
