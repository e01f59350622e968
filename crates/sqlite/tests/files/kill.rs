//! A process that is killed while it writes leaves whole batches, and loses no acknowledged one.
//!
//! The child is this test program, started with the name of the folder in its environment.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use varve_core::catalog::CatalogRow;
use varve_core::history::{ListCursor, Version, VersionFilter};
use varve_core::{Moment, VersionId};

use varve_testkit::contract::catalog::histories::numbered_capture;

use crate::DATABASE_KINDS;

/// The number of captures in each batch.
const CAPTURES_PER_BATCH: u32 = 40;
/// The environment variable with the folder of the child.
const FOLDER_VARIABLE: &str = "VARVE_TEST_KILL_FOLDER";

fn id(number: u32) -> VersionId {
    VersionId::new(uuid::Uuid::from_u128(u128::from(number) + 1))
}

fn batch(number: u32) -> Vec<CatalogRow> {
    let version = Version {
        id: id(number),
        parent: number.checked_sub(1).map(id),
        message: String::new(),
        author: None,
        time: Moment::from_seconds(i64::from(number)),
        run: None,
        record: None,
        coverage: None,
    };
    let captures = (0..CAPTURES_PER_BATCH).map(|which| {
        let mut capture = numbered_capture(1, which);
        capture.owner = varve_core::history::CaptureOwner::Version(id(number));
        capture.time = version.time;
        capture.id = varve_core::history::Capture::derive_id(
            capture.owner,
            &capture.url,
            capture.time,
            &capture.record.unwrap(),
        );
        CatalogRow::Capture(Box::new(capture))
    });
    let captures: Vec<_> = captures.collect();
    std::iter::once(CatalogRow::Version(version)).chain(captures).collect()
}

/// The killed process; no test by itself. It prints the number of each stored batch.
#[test]
fn child_that_writes_until_it_is_killed() {
    use std::io::Write;
    let Some(folder) = std::env::var_os(FOLDER_VARIABLE) else { return };
    let which: usize = std::env::var("VARVE_TEST_KILL_KIND").unwrap().parse().unwrap();
    let catalog = DATABASE_KINDS[which].open(Path::new(&folder));
    let from = catalog.head().unwrap().map_or(0, |head| head.into_inner().as_u128() as u32);
    for number in from..100_000 {
        catalog.apply(&mut batch(number).into_iter()).unwrap();
        let mut out = std::io::stderr();
        writeln!(out, "{number}").unwrap();
    }
}

#[test]
fn a_process_that_is_killed_leaves_whole_batches() {
    for (which, kind) in DATABASE_KINDS.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = 0;
        for round in 0..6u32 {
            kept = kept.max(write_and_be_killed(
                which,
                folder.path(),
                Duration::from_millis(u64::from(23 + 31 * round)),
            ));
            let catalog = kind.open_to_read(folder.path()).unwrap();
            let versions =
                catalog.versions(&VersionFilter::default(), ListCursor::first(usize::MAX)).unwrap();
            assert!(versions.len() as u32 >= kept, "{} of {kept}", versions.len());
            assert!(versions.iter().all(|info| info.captures == u64::from(CAPTURES_PER_BATCH)));
            let newest = &versions[0].version;
            assert_eq!(
                catalog.captures_in(&newest.id, ListCursor::first(usize::MAX)).unwrap().len(),
                CAPTURES_PER_BATCH as usize
            );
            assert_eq!(catalog.head().unwrap(), Some(newest.id));
        }
    }
}

/// The number of batches that the child acknowledged.
fn write_and_be_killed(which: usize, folder: &Path, after: Duration) -> u32 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child_that_writes_until_it_is_killed", "--nocapture"])
        .env(FOLDER_VARIABLE, folder)
        .env("VARVE_TEST_KILL_KIND", which.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut last: u32 = said.next().unwrap().unwrap().parse().unwrap();
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    for line in said.map_while(Result::ok) {
        last = line.parse().unwrap_or(last);
    }
    last + 1
}
