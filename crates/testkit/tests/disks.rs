//! The failing disks fail as documented.

#![expect(clippy::unwrap_used, reason = "the functions that tests share are tests too")]

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use varve_store::disk::{Disk, DiskError, Operation};
use varve_testkit::{
    DiskFailure, FailingDisk, FailurePlan, MemoryDisk, PowerCut, UnsyncedBytes, at_every_call,
};

const FOLDER: &str = "/f";

fn path() -> &'static Path {
    Path::new("/f/a")
}

fn memory() -> MemoryDisk {
    let disk = MemoryDisk::new();
    disk.make_folders(Path::new(FOLDER)).unwrap();
    disk
}

fn read(disk: &dyn Disk, path: &Path) -> Vec<u8> {
    let file = disk.open(path).unwrap();
    let mut bytes = vec![0; file.length().unwrap() as usize];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
    bytes
}

/// Creates a file, writes eight bytes and syncs: three calls.
fn three_calls(disk: &dyn Disk) -> Result<(), DiskError> {
    let file = disk.create_new(path())?;
    file.write_at(b"abcdefgh", 0)?;
    file.sync()
}

#[test]
fn each_failure_does_what_it_says() {
    for (failure, left, after) in [
        (DiskFailure::Fail, "", true),
        (DiskFailure::ShortWrite, "abcd", true),
        (DiskFailure::OutOfSpace, "abcd", false),
        (DiskFailure::Crash, "", false),
        (DiskFailure::CrashInside, "abcd", false),
    ] {
        let memory = memory();
        let disk = FailingDisk::new(Arc::new(memory.clone()), FailurePlan { after: 1, failure });
        let error = three_calls(&*disk).unwrap_err();
        assert_eq!((error.operation, error.path.as_path()), (Operation::Write, path()));
        assert!(disk.is_broken());
        assert_eq!(read(&memory, path()), left.as_bytes(), "{failure:?}");
        assert_eq!(disk.create_new(Path::new("/f/b")).is_ok(), after, "{failure:?}");
        let ended = matches!(failure, DiskFailure::Crash | DiskFailure::CrashInside);
        assert_eq!(disk.open(path()).is_err(), ended, "{failure:?}");
        assert_eq!(disk.remove(path()).is_err(), ended, "{failure:?}");
    }
}

#[test]
fn a_full_disk_says_so() {
    let disk =
        FailingDisk::new(Arc::new(memory()), FailurePlan { after: 0, failure: DiskFailure::OutOfSpace });
    assert_eq!(three_calls(&*disk).unwrap_err().source.kind(), ErrorKind::StorageFull);
}

#[test]
fn every_call_is_broken_once() {
    let mut outcomes = Vec::new();
    let broken = at_every_call(DiskFailure::Fail, |plan| {
        let disk = FailingDisk::new(Arc::new(memory()), plan);
        outcomes.push(three_calls(&*disk).map_err(|error| error.operation));
        disk
    });
    assert_eq!(broken, 3);
    let expected = [Err(Operation::Create), Err(Operation::Write), Err(Operation::Sync), Ok(())];
    assert_eq!(outcomes, expected);
}

#[test]
fn a_sound_plan_breaks_nothing_and_counts() {
    let disk = FailingDisk::new(Arc::new(memory()), FailurePlan::NEVER);
    three_calls(&*disk).unwrap();
    assert_eq!((disk.calls(), disk.is_broken()), (3, false));
}

#[test]
fn a_power_cut_takes_what_was_not_synced() {
    let disk = memory();
    let file = disk.create_new(path()).unwrap();
    file.write_at(&[1; 600], 0).unwrap();
    let lost = PowerCut { bytes: UnsyncedBytes::Lost, names: 0 };
    assert!(disk.after(lost).list(Path::new(FOLDER)).unwrap().is_empty(), "the name was not synced");
    disk.sync_folder(Path::new(FOLDER)).unwrap();
    assert!(read(&disk.after(lost), path()).is_empty(), "the bytes were not synced");
    file.sync().unwrap();
    file.write_at(&[2; 600], 600).unwrap();
    assert_eq!(read(&disk.after(lost), path()), [1; 600]);
    let kept = disk.after(PowerCut { bytes: UnsyncedBytes::Kept, names: 0 });
    assert_eq!(read(&kept, path()).len(), 1200);
    for names in 0..8 {
        let holes = read(&disk.after(PowerCut { bytes: UnsyncedBytes::Holes, names }), path());
        assert_eq!((holes.len(), &holes[..600]), (1200, &[1; 600][..]), "what was synced stays");
        assert!(holes[600..].iter().all(|byte| *byte == 0 || *byte == 2));
    }
}

#[test]
fn a_rename_that_was_not_synced_happened_or_not() {
    let disk = memory();
    three_calls(&disk).unwrap();
    disk.sync_folder(Path::new(FOLDER)).unwrap();
    disk.rename(path(), Path::new("/f/b")).unwrap();
    let names =
        |names| disk.after(PowerCut { bytes: UnsyncedBytes::Kept, names }).list(Path::new(FOLDER)).unwrap();
    assert_eq!(names(0), ["a"]);
    assert_eq!(names(u64::MAX), ["b"]);
}

#[test]
fn a_file_without_a_name_stays_readable_to_who_has_it_open() {
    let disk = memory();
    three_calls(&disk).unwrap();
    let file = disk.open(path()).unwrap();
    disk.remove(path()).unwrap();
    assert_eq!(file.length().unwrap(), 8);
    assert!(disk.open(path()).err().unwrap().is_absent());
}
