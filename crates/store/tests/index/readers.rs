//! Readers and writers at the same time, on the real disk.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use varve_store::disk::LocalDisk;
use varve_store::index::{
    IndexOptions, IndexPrefix, IndexReader, IndexRebuild, IndexWriter, PrefixRange, verify,
};

use varve_testkit::RecordingDisk;

use crate::scene::{SMALL, answers, entries, entry};

/// Fails unless a fresh reader finds the first `count` entries.
fn finds_all(index: &IndexReader, count: u64) {
    let prefixes: Vec<IndexPrefix> = (0..count).map(|number| entry(number).prefix).collect();
    let mut found = vec![false; prefixes.len()];
    index.find_many(&prefixes, |number, place| found[number] |= place == entry(number as u64).place).unwrap();
    assert_eq!(found.iter().position(|found| !found), None, "of {count}");
}

#[test]
fn a_reader_that_opens_again_and_again_during_housekeeping_misses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    IndexWriter::create(&LocalDisk::new(folder.path()), folder.path()).unwrap();
    let (writer, _) =
        IndexWriter::open(Arc::new(LocalDisk::new(folder.path())), folder.path(), SMALL).unwrap();
    let (acknowledged, finished) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !finished.load(Ordering::SeqCst) {
                    let count = acknowledged.load(Ordering::SeqCst);
                    finds_all(
                        &IndexReader::open(&LocalDisk::new(folder.path()), folder.path()).unwrap(),
                        count,
                    );
                }
            });
        }
        scope.spawn(|| {
            for number in (0..600).step_by(10) {
                let _ = writer.append(&entries(number..number + 10)).unwrap();
                acknowledged.store(number + 10, Ordering::SeqCst);
                if number % 30 == 0 {
                    writer.housekeeping().unwrap();
                }
            }
            finished.store(true, Ordering::SeqCst);
        });
    });
    finds_all(&IndexReader::open(&LocalDisk::new(folder.path()), folder.path()).unwrap(), 600);
}

#[test]
fn a_reader_during_rebuilds_of_changing_shape_misses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let rebuild = |count: u64| {
        let disk = LocalDisk::new(folder.path());
        let mut rebuild = IndexRebuild::begin(&disk, folder.path(), SMALL).unwrap();
        entries(0..count).into_iter().for_each(|entry| rebuild.push(entry).unwrap());
        rebuild.finish().unwrap();
    };
    rebuild(10);
    let finished = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !finished.load(Ordering::SeqCst) {
                finds_all(&IndexReader::open(&LocalDisk::new(folder.path()), folder.path()).unwrap(), 10);
                let findings = verify(&LocalDisk::new(folder.path()), folder.path()).unwrap().findings;
                assert!(findings.len() <= 1, "{findings:?}");
            }
        });
        scope.spawn(|| {
            for round in 0..20 {
                rebuild(if round % 2 == 0 { 300 } else { 10 });
            }
            finished.store(true, Ordering::SeqCst);
        });
    });
}

#[test]
fn many_threads_append_and_look_up_while_another_merges() {
    let folder = tempfile::tempdir().unwrap();
    IndexWriter::create(&LocalDisk::new(folder.path()), folder.path()).unwrap();
    let (writer, _) =
        IndexWriter::open(Arc::new(LocalDisk::new(folder.path())), folder.path(), SMALL).unwrap();
    let finished = AtomicU64::new(0);
    thread::scope(|scope| {
        for worker in 0..3 {
            let (writer, finished) = (&writer, &finished);
            scope.spawn(move || {
                for number in 0..100 {
                    let mine = [entry(worker * 1000 + number), entry(worker * 1000 + number + 500)];
                    let _ = writer.append(&mine).unwrap();
                    for one in mine {
                        assert!(writer.find(one.prefix).unwrap().iter().any(|place| place == one.place));
                    }
                }
                finished.fetch_add(1, Ordering::SeqCst);
            });
        }
        scope.spawn(|| {
            while finished.load(Ordering::SeqCst) < 3 {
                writer.housekeeping().unwrap();
            }
        });
    });
    writer.housekeeping().unwrap();
    let numbers = (0..3_u64)
        .flat_map(|worker| (0..100).flat_map(move |n| [worker * 1000 + n, worker * 1000 + n + 500]));
    let expected: BTreeSet<_> = numbers.map(entry).collect();
    answers(&writer.reader(), &expected);
    drop(writer);
    answers(&IndexReader::open(&LocalDisk::new(folder.path()), folder.path()).unwrap(), &expected);
    assert_eq!(verify(&LocalDisk::new(folder.path()), folder.path()).unwrap().findings, []);
}

#[test]
fn a_snapshot_stays_as_it_was_opened() {
    let folder = tempfile::tempdir().unwrap();
    IndexWriter::create(&LocalDisk::new(folder.path()), folder.path()).unwrap();
    let (writer, _) =
        IndexWriter::open(Arc::new(LocalDisk::new(folder.path())), folder.path(), SMALL).unwrap();
    let _ = writer.append(&entries(0..100)).unwrap();
    writer.housekeeping().unwrap();
    let snapshot = IndexReader::open(&LocalDisk::new(folder.path()), folder.path()).unwrap();
    let _ = writer.append(&entries(100..900)).unwrap();
    writer.housekeeping().unwrap();
    answers(&snapshot, &entries(0..100).into_iter().collect());
    assert_eq!(snapshot.entries(PrefixRange::ALL).unwrap().count(), 100);
    assert_eq!(snapshot.greatest_place(), Some(entry(99).place));
}

#[test]
fn a_file_that_is_truncated_while_it_is_in_use_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for options in [SMALL, IndexOptions { shard_limit: 1 << 20, ..SMALL }] {
        let path = folder.path().join(options.shard_limit.to_string());
        std::fs::create_dir(&path).unwrap();
        let disk = LocalDisk::new(&path);
        let mut rebuild = IndexRebuild::begin(&disk, &path, options).unwrap();
        entries(0..2000).into_iter().for_each(|entry| rebuild.push(entry).unwrap());
        rebuild.finish().unwrap();
        let index = IndexReader::open(&disk, &path).unwrap();
        let mut stream = index.entries(PrefixRange::ALL).unwrap();
        stream.next().unwrap().unwrap();
        finds_all(&index, 2000);
        for file in std::fs::read_dir(&path).unwrap() {
            std::fs::File::options().write(true).open(file.unwrap().path()).unwrap().set_len(0).unwrap();
        }
        let prefixes: Vec<IndexPrefix> = (0..2000).map(|number| entry(number).prefix).collect();
        assert!(index.find(prefixes[0]).is_err());
        assert!(index.find_many(&prefixes, |_, _| ()).is_err());
        assert!(index.entries(PrefixRange::ALL).and_then(|mut found| found.next().transpose()).is_err());
        assert!(stream.any(|entry| entry.is_err()));
        assert!(verify(&disk, &path).is_ok_and(|verified| !verified.findings.is_empty()));
    }
}

/// If shards were mapped into memory, this would kill the process: the file gets shorter between any
/// two instructions of a lookup.
#[test]
fn a_file_that_is_truncated_again_and_again_never_ends_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let disk = LocalDisk::new(folder.path());
    let options = IndexOptions { shard_limit: 1 << 20, ..SMALL };
    let mut rebuild = IndexRebuild::begin(&disk, folder.path(), options).unwrap();
    entries(0..5000).into_iter().for_each(|entry| rebuild.push(entry).unwrap());
    rebuild.finish().unwrap();
    let path = folder.path().join("sorted");
    let bytes = std::fs::read(&path).unwrap();
    let index = IndexReader::open(&disk, folder.path()).unwrap();
    let prefixes: Vec<IndexPrefix> = (0..5000).map(|number| entry(number).prefix).collect();
    let done = AtomicBool::new(false);
    let (mut found, mut failed) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            for length in (0..bytes.len() as u64).rev().step_by(4096).cycle() {
                file.set_len(length).unwrap();
                file.write_all_at(&bytes[length as usize..], length).unwrap();
                if done.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let begin = Instant::now();
        // Until both were seen, so that the test can fail; the time is only a limit.
        while (found < 20_000 || failed < 50) && begin.elapsed() < Duration::from_secs(20) {
            for (number, prefix) in prefixes.iter().enumerate().step_by(7) {
                match index.find(*prefix) {
                    Ok(places) => {
                        assert!(places.iter().any(|place| place == entry(number as u64).place));
                        found += 1;
                    }
                    Err(_) => failed += 1,
                }
            }
            let mut hits = 0;
            match index.find_many(&prefixes, |_, _| hits += 1) {
                Ok(()) => assert!(hits >= prefixes.len()),
                Err(_) => failed += 1,
            }
            let listed = index.entries(PrefixRange::ALL).map(|found| found.filter(Result::is_err).count());
            failed += listed.unwrap_or(1);
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(found > 0 && failed > 0, "{found} lookups found their entry and {failed} failed");
}

/// The first lookup reads a page of both tables too. Later ones read a block, and lookups in a batch
/// share the blocks.
#[test]
fn a_lookup_is_one_read() {
    let folder = tempfile::tempdir().unwrap();
    let disk = RecordingDisk::new(Arc::new(LocalDisk::new(folder.path())));
    let options = IndexOptions { shard_limit: 1 << 20, ..SMALL };
    let mut rebuild = IndexRebuild::begin(&*disk, folder.path(), options).unwrap();
    entries(0..5000).into_iter().for_each(|entry| rebuild.push(entry).unwrap());
    rebuild.finish().unwrap();
    let index = IndexReader::open(&*disk, folder.path()).unwrap();
    disk.take_counts();
    let reads = |numbers: std::ops::Range<u64>| {
        numbers.for_each(|number| assert!(!index.find(entry(number).prefix).unwrap().is_empty()));
        disk.take_counts()
    };
    assert_eq!(reads(0..1), "read 3");
    let counts = reads(1..1001);
    let number: u64 = counts.strip_prefix("read ").unwrap().parse().unwrap();
    assert!((1000..1200).contains(&number), "{counts}");
    let prefixes: Vec<IndexPrefix> = (0..5000).map(|number| entry(number).prefix).collect();
    index.find_many(&prefixes, |_, _| ()).unwrap();
    let counts = disk.take_counts();
    let number: u64 = counts.strip_prefix("read ").unwrap().parse().unwrap();
    // There are twenty blocks. A prefix at the border of two may read one again.
    assert!((20..45).contains(&number), "{counts}");
}
