//! Kills a process repeatedly at random moments: everything it acknowledged is stored.
//!
//! The test runs itself as a worker process that stores, seals, segments objects, merges the index
//! and rebuilds it, and prints each acknowledged object. It kills the worker with SIGKILL after a
//! random time, reads every acknowledged object, audits the archive and starts the next worker in
//! the same archive.
//!
//! `VARVE_KILLS` sets the number of kills; the default suits daily work.

mod scene;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use scene::{files, id_of, noise, read, resource, settings};
use varve_store::audit::{AuditOptions, audit};
use varve_store::disk::LocalDisk;
use varve_store::index::IndexOptions;
use varve_store::rebuild::rebuild;
use varve_store::{StoreReader, StoreSettings, StoreWriter};
use varve_warc::write::Packing;

const ROOT: &str = "VARVE_KILL_ROOT";
const SEED: &str = "VARVE_KILL_SEED";
const EVERY_DAY: u64 = 300;
/// The number of archives tested in parallel.
const LANES: u64 = 4;

fn small(root: &Path) -> StoreSettings {
    let index = IndexOptions { shard_limit: 64, appendix_limit: 16, ..IndexOptions::default() };
    StoreSettings { index, ..settings(root, 60_000, Packing::Gzip) }
}

/// Content computed from a number.
fn content(number: u64) -> Vec<u8> {
    let length = match number % 13 {
        0 => 150_000,
        1 => 0,
        rest => 500 * rest as usize,
    };
    let mut bytes = noise(length, number);
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes
}

/// The work of the killed process.
fn work(root: &Path, seed: u64) {
    let open =
        || StoreWriter::open(files(Arc::new(LocalDisk::new(root)), root), small(root)).expect("opened").0;
    let mut writer = open();
    for round in 0..u64::MAX {
        let first = seed * 1_000_000 + round * 10;
        let mut packer = writer.packer().expect("a packer");
        for number in first..first + 10 {
            writer.store_reader(&mut packer, &resource(), &mut content(number).as_slice()).expect("stored");
        }
        writer.sync().expect("durable");
        let mut output = std::io::stdout().lock();
        for number in first..first + 10 {
            writeln!(output, "safe {number}").expect("told");
        }
        output.flush().expect("told");
        match round % 4 {
            1 => drop(writer.housekeeping().expect("merged")),
            2 => writer.seal_now().expect("sealed"),
            3 => {
                drop(writer);
                let silos = files(Arc::new(LocalDisk::new(root)), root);
                rebuild(&silos, &small(root).index_folder, small(root).index, 2, &|_| {}, &mut |_| {})
                    .expect("rebuilt");
                writer = open();
            }
            _ => {}
        }
    }
}

#[test]
fn worker() {
    // Only when the test below started this process as a worker.
    if let (Some(root), Ok(seed)) = (std::env::var_os(ROOT), std::env::var(SEED)) {
        work(Path::new(&root), seed.parse().expect("a number"));
    }
}

/// Runs a worker, kills it after a while, and returns what it acknowledged.
fn run_and_kill(root: &Path, seed: u64, patience: Duration) -> Vec<u64> {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["worker", "--exact", "--nocapture"])
        .env(ROOT, root)
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("started");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let reader = std::thread::spawn(move || {
        let safe = |line: String| line.strip_prefix("safe ").and_then(|number| number.parse().ok());
        lines.map_while(Result::ok).filter_map(safe).collect::<Vec<u64>>()
    });
    std::thread::sleep(patience);
    child.kill().expect("killed");
    let status = child.wait().expect("gone");
    assert!(!status.success() && status.code().is_none(), "the worker ended by itself: {status}");
    reader.join().expect("read")
}

fn check(root: &Path, safe: &[u64]) {
    let silos = files(Arc::new(LocalDisk::new(root)), root);
    let (writer, _) = StoreWriter::open(silos.clone(), small(root)).expect("opened without help");
    let reader = writer.reader();
    for number in safe {
        let expected = content(*number);
        let id = id_of(&expected);
        assert!(read(&reader, &id) == expected, "object {number}");
    }
    drop(writer);
    let store = StoreReader::open(silos, &small(root).index_folder).expect("opened");
    let options = AuditOptions {
        quick: false,
        chosen: &|_| true,
        threads: 2,
        index: small(root).index,
        is_written: &|| false,
        index_lost: None,
    };
    let mut findings = Vec::new();
    audit(
        &store,
        &small(root).index_folder,
        &options,
        &|_| {},
        &mut |found| findings.push(found),
        &mut |_| {},
    )
    .expect("audited");
    assert_eq!(findings, []);
}

#[test]
fn nothing_that_was_acknowledged_is_lost() {
    let kills = std::env::var("VARVE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(EVERY_DAY);
    // One archive runs while another is checked.
    let total: usize = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|lane| scope.spawn(move || torment(lane, kills))).collect();
        lanes.into_iter().map(|lane| lane.join().expect("nothing lost")).sum()
    });
    assert!(total > 0, "no worker lived long enough to acknowledge anything");
}

/// Kills workers for one share of the kills, and returns the number of acknowledged objects.
fn torment(lane: u64, kills: u64) -> usize {
    let mut root = tempfile::tempdir().expect("a folder");
    let mut total = 0;
    for (round, seed) in (lane..kills).step_by(LANES as usize).enumerate() {
        // A new archive at intervals keeps the checks fast.
        if round % 6 == 5 {
            root = tempfile::tempdir().expect("a folder");
        }
        let patience = Duration::from_millis(5 + (seed * 7919) % 120);
        let safe = run_and_kill(root.path(), seed, patience);
        total += safe.len();
        check(root.path(), &safe);
    }
    total
}
