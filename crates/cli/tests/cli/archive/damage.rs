//! Damage that is met while reading, and silo files that are not what their names say.

use std::path::{Path, PathBuf};
use std::process::Output;

use super::{Scene, noise, stderr, stdout};

/// The words of the line that tells that the silos are read instead of index and catalog.
const FALLBACK_WORDS: &str = "reading the silos instead";

fn commit(scene: &Scene, url: &str, text: &str) {
    scene.file("page", text.as_bytes());
    scene.data(&["commit", "page", "--url", url, "-m", text]);
}

/// An archive with two versions, an object in segments, and a version in the last silo.
fn several_silos() -> (Scene, String) {
    let scene = Scene::new(&["--silo-size", "1 MiB"]);
    commit(&scene, "https://e.org/", "one");
    scene.file("big", &noise(2_500_000, 5));
    let id = scene.line(&["store", "big"]);
    commit(&scene, "https://e.org/two", "two");
    assert!(scene.silos().len() > 3);
    (scene, id.split_whitespace().next().unwrap().to_owned())
}

fn said(output: &Output) -> String {
    format!("{}{}", stdout(output), stderr(output))
}

/// Runs a verb that must end with this exit code, and returns its output.
fn told(scene: &Scene, code: i32, words: &[&str]) -> String {
    let output = scene.run(words);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {}", said(&output));
    said(&output)
}

fn copy(from: &Path, to: PathBuf) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    std::fs::copy(from, to).unwrap();
}

#[test]
fn a_second_file_of_a_silo_is_a_finding_and_everything_is_read() {
    let (scene, big) = several_silos();
    let silos = scene.silos();
    let twin = silos[1].with_extension("zst");
    copy(&silos[1], twin.clone());
    for words in [&["audit"][..], &["audit", "--quick"], &["rebuild"]] {
        let told = told(&scene, 1, words);
        for name in ["`0/00000001.warc.zst`", "`0/00000001.warc.gz`", "move it out of the archive"] {
            assert!(told.contains(name), "{words:?}: {told}");
        }
    }
    assert_eq!(scene.data(&["cat", "https://e.org/"]), b"one");
    assert_eq!(scene.data(&["cat", "https://e.org/two"]), b"two");
    assert!(scene.data(&["get", &big]) == noise(2_500_000, 5));
    std::fs::remove_dir_all(scene.path("museum/index")).unwrap();
    assert!(scene.data(&["get", &big]) == noise(2_500_000, 5));
    told(&scene, 1, &["rebuild"]);
    // A writer does not guess.
    let refused = told(&scene, 2, &["store", "big"]);
    assert!(refused.contains("0/00000001.warc.gz") && refused.contains("0/00000001.warc.zst"), "{refused}");
    std::fs::remove_file(twin).unwrap();
    told(&scene, 0, &["audit"]);
}

#[test]
fn a_silo_with_two_files_that_nothing_tells_apart_costs_only_itself() {
    let (scene, big) = several_silos();
    let silos = scene.silos();
    // Neither describes itself as silo 0.
    for ending in ["gz", "zst"] {
        let path = silos[0].with_extension(ending);
        let _ = std::fs::remove_file(&path);
        copy(silos.last().unwrap(), path);
    }
    let told = told(&scene, 1, &["audit"]);
    for name in ["`0/00000000.warc.zst`", "`0/00000000.warc.gz`", "move the wrong one out of the archive"] {
        assert!(told.contains(name), "{told}");
    }
    assert!(!told.contains("silo 0 is missing"), "{told}");
    assert!(scene.data(&["get", &big]) == noise(2_500_000, 5));
    assert_eq!(scene.data(&["cat", "https://e.org/two"]), b"two");
    let lost = scene.run(&["cat", "https://e.org/"]);
    assert_ne!(lost.status.code(), Some(0));
    assert!(said(&lost).contains("silo 0 is there twice"), "{}", said(&lost));
    let rebuilt = scene.run(&["rebuild"]);
    assert_eq!(rebuilt.status.code(), Some(1), "{}", said(&rebuilt));
    assert!(said(&rebuilt).contains("`0/00000000.warc.zst`"), "{}", said(&rebuilt));
    assert_eq!(scene.data(&["cat", "https://e.org/two"]), b"two");
}

#[test]
fn copies_of_silos_in_other_folders_are_findings() {
    let (scene, _) = several_silos();
    let silos = scene.silos();
    for name in ["1/00000001.warc.gz", "00000001.warc.gz", "0/00000001.warc"] {
        let stray = scene.path("museum/warc").join(name);
        copy(&silos[1], stray.clone());
        for words in [&["audit"][..], &["rebuild"]] {
            let told = told(&scene, 1, words);
            assert!(told.contains(&format!("`{name}`")) && told.contains("`0/00000001.warc.gz`"), "{told}");
        }
        std::fs::remove_file(stray).unwrap();
    }
    // A silo that was put back into the wrong folder.
    std::fs::rename(&silos[1], scene.path("museum/warc/00000001.warc.gz")).unwrap();
    let told = told(&scene, 1, &["audit"]);
    assert!(told.contains("silo 1 is missing") && told.contains("move it to `0/00000001.warc.gz`"), "{told}");
}

#[test]
fn a_rebuild_names_changed_and_swapped_silos() {
    let (scene, _) = several_silos();
    let silos = scene.silos();
    let whole = std::fs::read(&silos[1]).unwrap();
    // The time in the header of a gzip member, which no reader looks at.
    let mut bytes = whole.clone();
    bytes[5] ^= 1;
    replace(&silos[1], &bytes);
    let told_changed = told(&scene, 1, &["rebuild"]);
    assert!(
        told_changed.contains("silo `0/00000001.warc.gz` is not the file that was sealed"),
        "{told_changed}"
    );
    assert_eq!(told_changed.matches("warning").count(), 1, "{told_changed}");
    replace(&silos[1], &whole);
    told(&scene, 0, &["rebuild"]);
    let other = std::fs::read(&silos[2]).unwrap();
    replace(&silos[1], &other);
    replace(&silos[2], &whole);
    let told_swapped = told(&scene, 1, &["rebuild"]);
    for words in [
        "silo `0/00000001.warc.gz` says that it is `00000002.warc.gz`",
        "silo `0/00000002.warc.gz` says that it is `00000001.warc.gz`",
    ] {
        assert!(told_swapped.contains(words), "{told_swapped}");
    }
    // The silos beside them are as they were sealed.
    assert!(!told_swapped.contains("is not the file that was sealed"), "{told_swapped}");
    let json = stdout(&scene.run(&["rebuild", "--json"]));
    assert!(json.contains("\"wrong_silos\":[\"silo `0/00000001.warc.gz` says"), "{json}");
}

fn replace(path: &Path, bytes: &[u8]) {
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, bytes).unwrap();
    let mut permissions = std::fs::metadata(path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(path, permissions).unwrap();
}

/// The reading verbs, each with its output from an intact archive.
struct ReadingVerbs {
    scene: Scene,
    verbs: Vec<(Vec<String>, Vec<u8>)>,
}

impl ReadingVerbs {
    fn new() -> Self {
        let scene = Scene::new(&[]);
        for number in 0..6 {
            commit(&scene, &format!("https://e.org/{}", number % 3), &format!("text {number}\n").repeat(40));
        }
        scene.file("object", b"an object");
        let id = scene.line(&["store", "object"]);
        let id = id.split_whitespace().next().unwrap();
        scene.data(&["housekeeping"]);
        let lines = [
            "cat https://e.org/1",
            "log",
            "log https://e.org/1",
            "show HEAD",
            "diff HEAD~1 HEAD",
            "tag",
            &format!("get {id}"),
            &format!("get {}", &id[..12]),
        ];
        let words = lines.map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let verbs = words.map(|words| {
            let output = scene.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(output.status.code(), Some(0), "{words:?}: {}", said(&output));
            (words, output.stdout)
        });
        Self { verbs: verbs.into(), scene }
    }

    /// Every verb gives the output that it gave before, and tells at most once that it reads the
    /// silos. Returns the number of verbs that do.
    fn check(&self, what: &str) -> usize {
        let mut fallbacks = 0;
        for (words, expected) in &self.verbs {
            let output = self.scene.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(output.status.code(), Some(0), "{what}, {words:?}: {}", said(&output));
            assert!(output.stdout == *expected, "{what}, {words:?}: {}", said(&output));
            fallbacks += self.count_lines(what, &output);
        }
        let (tree, project) = (self.scene.path("tree"), self.scene.path("p.crystalproj"));
        let written = [
            ["checkout", "HEAD", "--to", tree.to_str().unwrap()].map(str::to_owned).to_vec(),
            ["export", "--format", "crystal", project.to_str().unwrap()].map(str::to_owned).to_vec(),
        ];
        for words in written {
            let output = self.scene.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(output.status.code(), Some(0), "{what}, {words:?}: {}", said(&output));
            fallbacks += self.count_lines(what, &output);
        }
        assert!(tree.join(".varve-checkout").exists());
        std::fs::remove_dir_all(tree).unwrap();
        std::fs::remove_dir_all(project).unwrap();
        fallbacks
    }

    fn count_lines(&self, what: &str, output: &Output) -> usize {
        let lines = stderr(output).matches(FALLBACK_WORDS).count();
        assert!(lines <= 1, "{what}: {}", stderr(output));
        lines
    }
}

/// A shard whose entries all lead one byte too far, with right checksums.
fn misdirecting(shard: &[u8]) -> Vec<u8> {
    let crc = |bytes: &[u8]| {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        crc.sum().to_be_bytes()
    };
    let mut bytes = shard.to_vec();
    let buckets = 1_usize << u32::from_be_bytes(bytes[32..36].try_into().unwrap());
    let (checks, start) = (64 + 4 * (buckets + 1), 4096);
    assert!(bytes[start..].len() <= 256 * 16, "one block");
    bytes[start..].chunks_mut(16).for_each(|entry| entry[15] = entry[15].wrapping_add(1));
    let places = bytes[start..].chunks(16).map(|entry| u64::from_be_bytes(entry[8..].try_into().unwrap()));
    let greatest = places.max().unwrap().to_be_bytes();
    bytes[24..32].copy_from_slice(&greatest);
    let check = crc(&bytes[start..]);
    bytes[checks..checks + 4].copy_from_slice(&check);
    let check = crc(&bytes[64..start]);
    bytes[36..40].copy_from_slice(&check);
    let check = crc(&bytes[..60]);
    bytes[60..64].copy_from_slice(&check);
    bytes
}

#[test]
fn an_index_that_is_damaged_or_leads_nowhere_is_replaced_by_the_silos() {
    let verbs = ReadingVerbs::new();
    assert_eq!(verbs.check("intact"), 0);
    let sorted = verbs.scene.path("museum/index/sorted");
    let whole = std::fs::read(&sorted).unwrap();
    // Entries begin at byte 4096.
    for byte in [4096, 4096 + 8, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[byte] ^= 1;
        std::fs::write(&sorted, bytes).unwrap();
        assert!(verbs.check(&format!("byte {byte}")) >= 6);
    }
    std::fs::write(&sorted, misdirecting(&whole)).unwrap();
    assert!(verbs.check("entries that lead nowhere") >= 6);
    std::fs::write(&sorted, &whole).unwrap();
    assert_eq!(verbs.check("intact again"), 0);
}

#[test]
fn entries_that_are_lost_from_the_appendix_are_found_in_the_silos() {
    let scene = Scene::new(&[]);
    commit(&scene, "https://e.org/", "one");
    commit(&scene, "https://e.org/", "two");
    let appendix = scene.path("museum/index/appendix");
    let whole = std::fs::read(&appendix).unwrap();
    for damage in ["flipped", "removed"] {
        match damage {
            "flipped" => {
                let mut bytes = whole.clone();
                bytes.chunks_mut(16).for_each(|entry| entry[3] ^= 1);
                std::fs::write(&appendix, bytes).unwrap();
            }
            _ => std::fs::remove_file(&appendix).unwrap(),
        }
        let output = scene.run(&["cat", "https://e.org/"]);
        assert_eq!(output.status.code(), Some(0), "{damage}: {}", said(&output));
        assert_eq!(output.stdout, b"two");
        assert_eq!(stderr(&output).matches(FALLBACK_WORDS).count(), 1, "{damage}: {}", stderr(&output));
        // An id that is nowhere is reported as unknown.
        let absent = scene.run(&["get", &"0".repeat(64)]);
        assert_eq!(absent.status.code(), Some(2));
        assert!(stderr(&absent).contains("nothing in this archive has the id"), "{}", stderr(&absent));
    }
}

#[test]
fn a_catalog_that_turns_out_to_be_damaged_is_replaced_by_the_silos() {
    let verbs = ReadingVerbs::new();
    let catalog = verbs.scene.path("museum/catalog.db");
    let whole = std::fs::read(&catalog).unwrap();
    let page = usize::from(u16::from_be_bytes([whole[16], whole[17]]));
    let mut fallbacks = 0;
    for start in (page..whole.len()).step_by(2 * page) {
        let mut bytes = whole.clone();
        bytes[start..start + page].fill(0xff);
        std::fs::write(&catalog, bytes).unwrap();
        fallbacks += verbs.check(&format!("page at {start}"));
    }
    assert!(fallbacks > 0);
    std::fs::write(&catalog, whole).unwrap();
    assert_eq!(verbs.check("intact again"), 0);
}
