//! Other tools accept every silo: `warcio` and `fastwarc`, which `./check` installs.

use std::process::Command;

use super::{Scene, noise, small_tree, stderr, stdout};

/// Reads each file with fastwarc, checking digests, and counts the records.
pub(super) const FASTWARC: &str = "
import sys
from fastwarc.warc import ArchiveIterator
count = 0
for path in sys.argv[1:]:
    for record in ArchiveIterator(open(path, 'rb'), parse_http=False):
        record.freeze()
        assert record.record_id, path
        count += 1
print(count)
";

/// An archive with every kind of record.
fn full_archive(packing: &str) -> Scene {
    let scene = Scene::new(&["--silo-size", "1 MiB", "--packing", packing, "--operator", "Anna \u{e9}"]);
    scene.file("small.txt", b"hello\n");
    scene.file("empty", b"");
    scene.file("large", &noise(2_500_000, 8));
    scene.file("note", b"a note");
    scene.data(&["store", "small.txt", "empty", "large", "small.txt"]);
    scene.data(&["store", "--refers-to", "5891", "note"]);
    small_tree(&scene.path("tree"));
    scene.data(&["stow", "tree"]);
    scene
}

#[test]
fn every_silo_is_accepted_by_warcio_and_fastwarc() {
    let Some(python) = varve_testkit::python() else { return };
    for packing in ["gzip", "zstd"] {
        let scene = full_archive(packing);
        let silos = scene.silos();
        if packing == "gzip" {
            let output = Command::new(&python)
                .args(["-m", "warcio.cli", "check", "-v"])
                .args(&silos)
                .output()
                .unwrap();
            let said = stdout(&output) + &stderr(&output);
            assert_eq!(output.status.code(), Some(0), "{said}");
            assert!(said.contains("digest pass") && !said.contains("fail"), "{said}");
        }
        let output = Command::new(&python).args(["-c", FASTWARC]).args(&silos).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        // A description in each silo, a segment of the large file in each but the first, and five small objects.
        assert_eq!(stdout(&output).trim(), (2 * silos.len() - 1 + 5).to_string(), "{packing}");
    }
}

/// `doctor` is stricter than the other tools.
#[test]
fn every_silo_is_accepted_by_doctor() {
    for packing in ["gzip", "zstd"] {
        let scene = full_archive(packing);
        let output =
            scene.command().args(["doctor", "--strict", "--json"]).args(scene.silos()).output().unwrap();
        let mut rules: Vec<String> = Vec::new();
        for line in stdout(&output).lines() {
            let report: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(report["digests"]["bad"], 0, "{report}");
            let findings = report["findings"].as_array().unwrap().iter();
            rules.extend(findings.map(|finding| finding["rule"].as_str().unwrap().to_owned()));
        }
        assert_eq!(rules, Vec::<String>::new(), "{packing}");
    }
}
