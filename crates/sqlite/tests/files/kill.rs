//! A process that is killed while it writes leaves whole batches, and none that it had been told is kept is lost.
//!
//! The child is this very test program, started again with the name of the folder in its environment.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use varve_catalog::CatalogRow;
use varve_core::history::{ListCursor, Version, VersionFilter};
use varve_core::{Moment, VersionId};

use crate::KINDS;
use crate::histories::a_capture_of;

const CAPTURES: u32 = 40;
const FOLDER: &str = "VARVE_TEST_KILL_FOLDER";

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
    };
    let captures = (0..CAPTURES).map(|which| {
        let mut capture = a_capture_of(1, which);
        capture.belongs = varve_core::history::Belongs::Version(id(number));
        capture.time = version.time;
        capture.id = varve_core::history::Capture::derive_id(
            capture.belongs,
            &capture.url,
            capture.time,
            &capture.record.unwrap(),
        );
        CatalogRow::Capture(Box::new(capture))
    });
    let captures: Vec<_> = captures.collect();
    std::iter::once(CatalogRow::Version(version)).chain(captures).collect()
}

/// Not a test of its own: what the killed process does. It says a number when that batch is kept.
#[test]
fn child_that_writes_until_it_is_killed() {
    use std::io::Write;
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let which: usize = std::env::var("VARVE_TEST_KILL_KIND").unwrap().parse().unwrap();
    let catalog = KINDS[which].open(Path::new(&folder));
    let from = catalog.head().unwrap().map_or(0, |head| head.into_inner().as_u128() as u32);
    for number in from..100_000 {
        catalog.apply(&mut batch(number).into_iter()).unwrap();
        let mut out = std::io::stderr();
        writeln!(out, "{number}").unwrap();
    }
}

#[test]
fn a_process_that_is_killed_leaves_whole_batches() {
    for (which, kind) in KINDS.iter().enumerate() {
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
            assert!(versions.iter().all(|info| info.captures == u64::from(CAPTURES)));
            let newest = &versions[0].version;
            assert_eq!(
                catalog.captures_in(&newest.id, ListCursor::first(usize::MAX)).unwrap().len(),
                CAPTURES as usize
            );
            assert_eq!(catalog.head().unwrap(), Some(newest.id));
        }
    }
}

/// How many batches the child said were kept.
fn write_and_be_killed(which: usize, folder: &Path, after: Duration) -> u32 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child_that_writes_until_it_is_killed", "--nocapture"])
        .env(FOLDER, folder)
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
