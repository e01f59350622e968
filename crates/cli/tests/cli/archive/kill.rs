//! Kills the program at random moments of its verbs: printed ids are never lost, and recovery is automatic.
//!
//! Each round runs a verb in a process of its own and kills it with SIGKILL somewhere between its start and the time
//! that the verb takes. Silos are as small as settings allow, so that storing seals them and large files are cut into
//! segments. Then every id that was ever printed is looked for, the archive is opened for writing as anyone would, and
//! audited. What the verbs cannot make small, the splitting of index shards, is killed in the tests of the store.
//!
//! `VARVE_KILLS` sets the number of kills; the default is small.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{Scene, noise, stderr, stdout};

const EVERY_DAY: u64 = 36;
/// Rounds that share an archive.
const ROUNDS: u64 = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Store,
    StoreEach,
    Stow,
    Housekeeping,
    Rebuild,
    RebuildFromNothing,
}

const VERBS: [Verb; 6] =
    [Verb::Store, Verb::Stow, Verb::Housekeeping, Verb::StoreEach, Verb::Rebuild, Verb::RebuildFromNothing];

/// Files of one round: small ones, ones that fill silos, and one that does not fit any.
fn make_files(scene: &Scene, seed: u64) -> Vec<String> {
    let folder = format!("round-{seed}");
    std::fs::create_dir_all(scene.path(&folder).join("sub/empty")).unwrap();
    let lengths = [10, 300_000, 5_000, 0, 900_000, 2_600_000, 70_000, 1, 400_000, 12_000];
    let names = (0..lengths.len()).map(|number| match number % 2 {
        0 => format!("{folder}/{number}"),
        _ => format!("{folder}/sub/{number}"),
    });
    let names: Vec<String> = names.collect();
    for (number, (name, length)) in names.iter().zip(lengths).enumerate() {
        scene.file(name, &noise(length, seed * 100 + number as u64));
    }
    names
}

fn words(verb: Verb, seed: u64, files: &[String]) -> Vec<String> {
    let named = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    match verb {
        Verb::Store => [named(&["store"]), files.to_vec()].concat(),
        Verb::StoreEach => [named(&["store", "--sync", "each"]), files.to_vec()].concat(),
        Verb::Stow => named(&["stow", &format!("round-{seed}")]),
        Verb::Housekeeping => named(&["housekeeping"]),
        Verb::Rebuild | Verb::RebuildFromNothing => named(&["rebuild"]),
    }
}

/// Runs a verb, kills it after `patience`, and returns the ids that it had printed.
fn run_and_kill(scene: &Scene, words: &[String], patience: Duration) -> Vec<String> {
    let mut command = scene.command();
    let mut child = command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        let mut lines = Vec::new();
        let mut line = String::new();
        // An incomplete line does not count.
        while output.read_line(&mut line).unwrap() > 0 && line.ends_with('\n') {
            lines.push(line.trim_end().to_owned());
            line.clear();
        }
        lines
    });
    std::thread::sleep(patience);
    child.kill().unwrap();
    let ended = child.wait_with_output().unwrap();
    let well = ended.status.code().is_none_or(|code| code == 0);
    assert!(well, "{words:?} could not do its work: {}", stderr(&ended));
    reader.join().unwrap()
}

/// Asserts that each printed id leads to its file.
fn check_printed(scene: &Scene, verb: Verb, seed: u64, files: &[String], printed: &[String]) {
    match verb {
        Verb::Store | Verb::StoreEach => {
            for (id, file) in printed.iter().zip(files) {
                let expected = std::fs::read(scene.path(file)).unwrap();
                assert!(scene.data(&["get", id]) == expected, "{file} as {id}");
            }
        }
        Verb::Stow => {
            for id in printed {
                let (tree, back) = (format!("round-{seed}"), format!("back-{seed}"));
                scene.data(&["get", "--tree", id, "--to", &back]);
                for file in files {
                    let expected = std::fs::read(scene.path(file)).unwrap();
                    let found = std::fs::read(scene.path(&file.replace(&tree, &back))).unwrap();
                    assert!(found == expected, "{file}");
                }
                std::fs::remove_dir_all(scene.path(&back)).unwrap();
            }
        }
        Verb::Housekeeping | Verb::Rebuild | Verb::RebuildFromNothing => {}
    }
}

/// Every id that was ever printed is found.
fn check_all(scene: &Scene, ids: &[String]) {
    let output = scene.run_with_input(&["filter", "--missing"], ids.join("\n").as_bytes());
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), String::new()), "{}", stderr(&output));
}

/// One round: kill, look, open, audit.
fn round(scene: &Scene, verb: Verb, seed: u64, duration: Duration, ids: &mut Vec<String>) {
    let files = make_files(scene, seed);
    if verb == Verb::RebuildFromNothing {
        std::fs::remove_dir_all(scene.path("museum/index")).unwrap();
    }
    let share = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / (1 << 24) as f64;
    let printed = run_and_kill(scene, &words(verb, seed, &files), duration.mul_f64(share));
    // Readers see the archive as it was left, without recovery.
    if verb != Verb::RebuildFromNothing {
        check_printed(scene, verb, seed, &files, &printed);
    }
    if matches!(verb, Verb::Store | Verb::StoreEach | Verb::Stow) {
        ids.extend(printed.iter().cloned());
    }
    if verb != Verb::RebuildFromNothing {
        check_all(scene, ids);
    }
    // The next verb that writes recovers.
    match seed % 3 {
        0 => scene.data(&["housekeeping"]),
        1 => scene.data(&["rebuild"]),
        _ => scene.data(&["store", &files[0]]),
    };
    check_all(scene, ids);
    check_printed(scene, verb, seed, &files, &printed);
    let audit = scene.run(&["audit"]);
    assert_eq!(audit.status.code(), Some(0), "{verb:?}, {seed}: {}{}", stdout(&audit), stderr(&audit));
    std::fs::remove_dir_all(scene.path(&format!("round-{seed}"))).unwrap();
}

/// The time that a verb takes when it is not killed.
fn duration(verb: Verb) -> Duration {
    let scene = Scene::new(&["--silo-size", "1 MiB"]);
    let files = make_files(&scene, 0);
    if !matches!(verb, Verb::Store | Verb::StoreEach | Verb::Stow) {
        scene.data(&["stow", "round-0"]);
    }
    let began = Instant::now();
    let output = scene.command().args(words(verb, 0, &files)).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    began.elapsed()
}

#[test]
fn printed_ids_survive_a_kill_at_any_moment() {
    let kills = std::env::var("VARVE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(EVERY_DAY);
    let durations = VERBS.map(duration);
    let mut scene = Scene::new(&["--silo-size", "1 MiB"]);
    let mut ids = Vec::new();
    for seed in 1..=kills {
        // A new archive now and then keeps the checks quick; compression alternates.
        if seed % ROUNDS == 0 {
            let packing = if (seed / ROUNDS).is_multiple_of(2) { "gzip" } else { "zstd" };
            scene = Scene::new(&["--silo-size", "1 MiB", "--packing", packing]);
            ids.clear();
        }
        let number = usize::try_from(seed).unwrap() % VERBS.len();
        round(&scene, VERBS[number], seed, durations[number], &mut ids);
    }
}
