//! After any failure at any call, acknowledged objects are stored and intact without a repair.

mod scene;

use std::io::Read;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use scene::{files, id_of, noise, resource, settings};
use varve_core::RecordId;
use varve_store::audit::{AuditOptions, audit};
use varve_store::disk::Disk;
use varve_store::index::IndexOptions;
use varve_store::{StoreError, StoreReader, StoreSettings, StoreWriter};
use varve_testkit::{
    DiskFailure, FailingDisk, FailurePlan, MemoryDisk, PowerCut, UnsyncedBytes, at_every_call,
};
use varve_warc::write::Packing;

const ROOT: &str = "/archive";

/// Small silos and a small index, so that a short scenario seals, splits and merges.
fn small() -> StoreSettings {
    let index = IndexOptions { shard_limit: 8, appendix_limit: 6, ..IndexOptions::default() };
    StoreSettings { index, ..settings(Path::new(ROOT), 12_000, Packing::Gzip) }
}

/// The contents of the scenario: small ones, one twice, and one that needs several silos.
fn contents() -> &'static [Vec<u8>] {
    static CONTENTS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    CONTENTS.get_or_init(|| {
        let mut contents: Vec<_> = (0..7).map(|seed| noise(2_500, seed)).collect();
        contents.push(noise(2_500, 3));
        contents.push(noise(30_000, 77));
        contents.extend((20..23).map(|seed| noise(1_000, seed)));
        contents
    })
}

/// The contents to store, and how.
#[derive(Clone, Copy)]
struct Case {
    settings: fn() -> StoreSettings,
    contents: fn() -> &'static [Vec<u8>],
}

const MANY_SILOS: Case = Case { settings: small, contents };
/// Records that are too large to be buffered.
const LARGE_RECORDS: Case = Case { settings: roomy, contents: large_contents };

fn roomy() -> StoreSettings {
    StoreSettings { silo_size: 4 << 20, ..small() }
}

fn large_contents() -> &'static [Vec<u8>] {
    static CONTENTS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    CONTENTS.get_or_init(|| [900, 1_100_000, 700, 1_200_000].map(|length| noise(length, 5)).into())
}

/// Stores everything; returns the contents that were acknowledged, also when it fails in the
/// middle.
fn scenario(disk: Arc<dyn Disk>, case: Case) -> (Vec<Vec<u8>>, Result<(), StoreError>) {
    let mut acknowledged = Vec::new();
    let result = run(disk, case, &mut acknowledged);
    (acknowledged, result)
}

fn run(disk: Arc<dyn Disk>, case: Case, acknowledged: &mut Vec<Vec<u8>>) -> Result<(), StoreError> {
    let (writer, _) = StoreWriter::open(files(disk, Path::new(ROOT)), (case.settings)())?;
    let mut packer = writer.packer()?;
    let mut waiting = Vec::new();
    for (number, content) in (case.contents)().iter().enumerate() {
        let stored = writer.store_reader(&mut packer, &resource(), &mut content.as_slice())?;
        waiting.push(content.clone());
        if number % 2 == 1 {
            writer.wait(stored.ticket)?;
            acknowledged.append(&mut waiting);
        }
    }
    writer.sync()?;
    acknowledged.append(&mut waiting);
    writer.housekeeping()?;
    Ok(())
}

fn read(store: &StoreReader, id: &RecordId, when: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let object = store.object(id).unwrap_or_else(|error| panic!("{when}: {error:?}"));
    let object = object.unwrap_or_else(|| panic!("{when}: an acknowledged object is not there"));
    let mut reader = object.read().unwrap_or_else(|error| panic!("{when}: {error:?}"));
    reader.read_to_end(&mut bytes).unwrap_or_else(|error| panic!("{when}: {error:?}"));
    bytes
}

/// Reopens the archive on a working disk: acknowledged objects are stored, the audit is clean, and
/// writing continues.
fn is_whole(disk: &MemoryDisk, case: Case, acknowledged: &[Vec<u8>], goes_on: bool, when: &str) {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let silos = files(Arc::clone(&disk), Path::new(ROOT));
    let (writer, _) = StoreWriter::open(silos.clone(), (case.settings)())
        .unwrap_or_else(|error| panic!("{when}: {error:?}"));
    let reader = writer.reader();
    for content in acknowledged {
        assert_eq!(read(&reader, &id_of(content), when), *content, "{when}");
    }
    let store = StoreReader::open(silos, &small().index_folder).expect("opened for reading");
    let options = AuditOptions {
        quick: false,
        chosen: &|_| true,
        threads: 1,
        index: small().index,
        is_written: &|| false,
        index_lost: None,
    };
    let mut findings = Vec::new();
    audit(
        &store,
        &small().index_folder,
        &options,
        &|_| {},
        &mut |finding| findings.push(finding),
        &mut |_| {},
    )
    .expect("audited");
    assert_eq!(findings, [], "{when}");
    drop(writer);
    if !goes_on {
        return;
    }
    let (all, result) = scenario(disk, case);
    result.unwrap_or_else(|error| panic!("{when}, going on: {error:?}"));
    assert_eq!(all.len(), (case.contents)().len(), "{when}");
}

#[test]
fn the_scenario_does_what_it_should() {
    let disk = MemoryDisk::new();
    let (all, result) = scenario(Arc::new(disk.clone()), MANY_SILOS);
    result.expect("a sound disk");
    assert_eq!(all.len(), contents().len());
    let silos = files(Arc::new(disk.clone()), Path::new(ROOT)).list().expect("listed");
    assert!(silos.len() >= 5, "{silos:?}");
    is_whole(&disk, MANY_SILOS, &all, true, "after a run without trouble");
}

/// Runs a case on a disk that fails in every way at every call. Returns the number of failures.
fn fail_at_every_call(case: Case) -> u64 {
    let mut broken = u64::MAX;
    for failure in DiskFailure::ALL {
        let calls = at_every_call(failure, |plan: FailurePlan| {
            let sound = MemoryDisk::new();
            let disk = FailingDisk::new(Arc::new(sound.clone()), plan);
            let (acknowledged, result) = scenario(Arc::clone(&disk) as Arc<dyn Disk>, case);
            let when = format!("{failure:?} at call {}", plan.after);
            if disk.is_broken() && matches!(failure, DiskFailure::Crash | DiskFailure::CrashInside) {
                assert!(result.is_err(), "{when} went unnoticed");
            }
            is_whole(&sound, case, &acknowledged, plan.after.is_multiple_of(5), &when);
            disk
        });
        broken = broken.min(calls as u64);
    }
    broken
}

#[test]
fn a_disk_that_fails_at_any_call() {
    assert!(fail_at_every_call(MANY_SILOS) > 60);
}

#[test]
fn a_disk_that_fails_at_any_call_with_large_records() {
    assert!(fail_at_every_call(LARGE_RECORDS) > 20);
}

/// Runs a case on a disk whose power is cut at every call.
fn cut_power_at_every_call(case: Case) {
    let cuts = [
        PowerCut { bytes: UnsyncedBytes::Lost, names: 0 },
        PowerCut { bytes: UnsyncedBytes::Lost, names: u64::MAX },
        PowerCut { bytes: UnsyncedBytes::Holes, names: 0x5555_5555_5555_5555 },
    ];
    at_every_call(DiskFailure::CrashInside, |plan: FailurePlan| {
        let sound = MemoryDisk::new();
        let disk = FailingDisk::new(Arc::new(sound.clone()), plan);
        let (acknowledged, _) = scenario(Arc::clone(&disk) as Arc<dyn Disk>, case);
        for cut in cuts {
            let when = format!("{cut:?} at call {}", plan.after);
            is_whole(&sound.after(cut), case, &acknowledged, plan.after.is_multiple_of(8), &when);
        }
        disk
    });
}

#[test]
fn a_power_cut_at_any_call() {
    cut_power_at_every_call(MANY_SILOS);
}

#[test]
fn a_power_cut_at_any_call_with_large_records() {
    cut_power_at_every_call(LARGE_RECORDS);
}
