//! AardWARC stores in place: readable by verbs about objects, never written.

use std::path::Path;
use std::process::Output;

use varve_testkit::aardwarc::{AardwarcMaker, ID_PREFIX, id_of, metadata, resource, sha256};

use crate::{stderr, stdout, varve};

const FORCED: &str = "00112233445566778899aabbccddeeff";

fn made(folder: &Path) -> (AardwarcMaker, String, Vec<u8>) {
    let mut maker = AardwarcMaker::new(folder);
    let (_, forced) = metadata(&id_of(b"small"), b"about", Some(FORCED));
    maker.add_silo(&[resource(b"small"), forced]);
    let content: Vec<u8> = (0..50_000_u32).flat_map(|number| number.to_string().into_bytes()).collect();
    let large = maker.add_segmented(&content, 70_000);
    (maker, large, content)
}

fn run(store: &Path, words: &[&str], input: &str) -> Output {
    let mut command = assert_cmd::Command::from_std(varve());
    command.arg("-C").arg(store).args(words).write_stdin(input).output().unwrap()
}

fn all_bytes(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(all_bytes(&path));
        } else {
            found.push((path.clone(), std::fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn objects_are_read_from_an_aardwarc_store_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let (_, large, content) = made(folder.path());
    let before = all_bytes(folder.path());
    for store in [folder.path().to_owned(), folder.path().join("silos")] {
        let get = |words: &[&str]| {
            let output = run(&store, &[&["get"], words].concat(), "");
            assert_eq!(output.status.code(), Some(0), "{words:?}: {}", stderr(&output));
            output.stdout
        };
        let small = id_of(b"small");
        assert_eq!(get(&[&small]), b"small");
        assert_eq!(get(&[&small[..6]]), b"small");
        assert_eq!(get(&[&format!("<{ID_PREFIX}{}>", small.to_uppercase())]), b"small");
        assert_eq!(get(&[FORCED]), b"about");
        assert!(get(&[&large]) == content);
        assert!(get(&[&large, "--range", "69990-140010"]) == content[69_990..=140_010]);
        assert!(get(&[&large, "--range", "-5"]) == content[content.len() - 5..]);
        let headers = String::from_utf8(get(&[&small, "--headers"])).unwrap();
        assert!(headers.contains(&format!("WARC-Record-ID: <{ID_PREFIX}{small}>")), "{headers}");
        let target = folder.path().join("../out.bin");
        get(&[&large, "-o", target.to_str().unwrap(), "--force"]);
        assert!(std::fs::read(&target).unwrap() == content);
        std::fs::remove_file(&target).unwrap();
        let ids = format!("{small}\n{ID_PREFIX}{FORCED}\n{}  name\n{}\n", sha256(b"small"), "0".repeat(32));
        let output = run(&store, &["filter"], &ids);
        assert_eq!(stdout(&output), format!("{small}\n{FORCED}\n{}\n", sha256(b"small")));
        let output = run(&store, &["filter", "--missing", "--json"], &ids);
        assert_eq!(
            stdout(&output),
            format!("{{\"schema\":1,\"id\":\"{}\",\"here\":false}}\n", "0".repeat(32))
        );
    }
    assert!(all_bytes(folder.path()) == before, "nothing was changed");
}

#[test]
fn unsupported_verbs_on_an_aardwarc_store_fail_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let (maker, large, _) = made(folder.path());
    std::fs::write(folder.path().join("file"), "x").unwrap();
    let file = folder.path().join("file");
    let file = file.to_str().unwrap();
    for words in [
        &["store", file][..],
        &["stow", file],
        &["log"],
        &["cat", "http://a.example/"],
        &["show"],
        &["rebuild"],
        &["housekeeping"],
        &["capture", "http://127.0.0.1:1/"],
        &["get", "--tree", FORCED, "--to", "there"],
        &["export", "--format", "crystal", "there.crystalproj"],
        &["serve", "--listen", "127.0.0.1:0", "--replay-listen", "127.0.0.1:0"],
    ] {
        let output = run(folder.path(), words, "");
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let said = stderr(&output);
        assert!(said.contains("is an AardWARC store") && said.contains("varve import"), "{words:?}: {said}");
    }
    let code = |words: &[&str]| run(folder.path(), words, "").status.code();
    assert_eq!(code(&["get", "ffff"]), Some(2));
    assert_eq!(code(&["get", "xyz"]), Some(2));
    assert_eq!(code(&["get", &large, "--range", "99999999-"]), Some(2));
    assert_eq!(code(&["audit", "--sample", "5%"]), Some(2));
    std::fs::remove_file(maker.silo(2)).unwrap();
    let output = run(folder.path(), &["get", &large], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("its segment 2 is missing"), "{}", stderr(&output));
}

#[test]
fn an_aardwarc_store_is_audited_and_imported_with_every_id() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("aardwarc");
    let (maker, large, content) = made(&store);
    let output = run(&store, &["audit", "--json"], "");
    assert_eq!(output.status.code(), Some(1), "a forced id is told");
    let said = stdout(&output);
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(said.contains(r#""kind":"id","severity":"warning","silo":0"#), "{said}");
    assert_eq!(run(&store, &["audit", "--quick"], "").status.code(), Some(0));
    let museum = folder.path().join("museum");
    assert!(varve().arg("init").arg(&museum).status().unwrap().success());
    let output = run(&museum, &["import", store.to_str().unwrap()], "");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for check in ["as imported", "rebuilt"] {
        assert!(run(&museum, &["get", &large], "").stdout == content, "{check}");
        assert_eq!(run(&museum, &["get", FORCED], "").stdout, b"about", "{check}");
        assert_eq!(run(&museum, &["get", &FORCED[..6]], "").stdout, b"about", "{check}");
        let output = run(&museum, &["audit"], "");
        assert_eq!(output.status.code(), Some(0), "{check}: {}", stdout(&output));
        std::fs::remove_dir_all(museum.join("index")).unwrap();
        assert!(run(&museum, &["rebuild"], "").status.success());
    }
    let settings = store.join("aardwarc.conf");
    let again = run(&museum, &["import", settings.to_str().unwrap(), "--json"], "");
    assert!(stdout(&again).contains(r#""new":0"#), "{}", stdout(&again));
    let silo = maker.silo(1);
    let mut bytes = std::fs::read(&silo).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&silo, bytes).unwrap();
    let output = run(&store, &["audit"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("silo 1 at byte"), "{}", stdout(&output));
}

#[test]
fn ids_as_aardwarc_prints_them_are_accepted_after_an_import() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("aardwarc");
    let (_, large, content) = made(&store);
    let museum = folder.path().join("museum");
    assert!(varve().arg("init").arg(&museum).status().unwrap().success());
    let settings = store.join("aardwarc.conf");
    let output = run(&museum, &["import", settings.to_str().unwrap()], "");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let small = id_of(b"small");
    for place in [&museum, &settings] {
        let get = |id: &str| run(place, &["get", id], "").stdout;
        assert!(get(&format!("{ID_PREFIX}{large}")) == content);
        assert_eq!(get(&format!("<{ID_PREFIX}{}>", small.to_uppercase())), b"small");
        assert_eq!(get(&format!("{ID_PREFIX}{FORCED}")), b"about");
        let absent = "0".repeat(32);
        let ids = format!("{ID_PREFIX}{small}  a name\n{large}\n{ID_PREFIX}{FORCED}\n{ID_PREFIX}{absent}\n");
        let output = run(place, &["filter"], &ids);
        assert_eq!(stdout(&output), format!("{small}\n{large}\n{FORCED}\n"), "{}", stderr(&output));
        assert_eq!(stdout(&run(place, &["filter", "--missing"], &ids)), format!("{absent}\n"));
        let output = run(place, &["filter"], &small[..15]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("expected 16 to 64 hex digits, found 15"), "{}", stderr(&output));
    }
}

#[test]
fn swapped_copied_and_changed_silo_files_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut maker = AardwarcMaker::new(folder.path());
    maker.add_silo(&[resource(b"one"), resource(b"two")]);
    maker.add_silo(&[resource(b"three")]);
    let audit = |words: &[&str], code: i32| {
        let output = run(folder.path(), words, "");
        assert_eq!(output.status.code(), Some(code), "{}{}", stdout(&output), stderr(&output));
        stdout(&output)
    };
    for words in [&["audit"][..], &["audit", "--quick"]] {
        audit(words, 0);
        let aside = folder.path().join("aside");
        let swap = || {
            std::fs::rename(maker.silo(0), &aside).unwrap();
            std::fs::rename(maker.silo(1), maker.silo(0)).unwrap();
            std::fs::rename(&aside, maker.silo(1)).unwrap();
        };
        swap();
        let said = audit(words, 1);
        assert!(said.contains("silo `00000000.warc.gz` says that it is `00000001.warc.gz`"), "{said}");
        assert!(said.contains("silo `00000001.warc.gz` says that it is `00000000.warc.gz`"), "{said}");
        swap();
        let copy = folder.path().join("silos/1");
        std::fs::create_dir_all(&copy).unwrap();
        std::fs::copy(maker.silo(1), copy.join("00000001.warc.gz")).unwrap();
        let said = audit(words, 1);
        assert!(said.contains("0/00000001.warc.gz` and `") && said.contains("1/00000001.warc.gz`"), "{said}");
        std::fs::remove_dir_all(copy).unwrap();
        // No bit in the header of a gzip member changes the content, and each is found.
        let whole = std::fs::read(maker.silo(1)).unwrap();
        for bit in (0..24 * 8).filter(|bit| words.len() == 1 || bit % 7 == 0) {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(maker.silo(1), bytes).unwrap();
            audit(words, 1);
        }
        std::fs::write(maker.silo(1), whole).unwrap();
        audit(words, 0);
    }
}
