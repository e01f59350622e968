//! An audit reports every kind of damage with its place, and nothing undamaged.

mod scene;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scene::{files, noise, open, resource, settings, store};
use varve_core::RecordId;
use varve_store::audit::{AuditDone, AuditFinding, AuditKind, AuditOptions, AuditSeverity, audit};
use varve_store::disk::LocalDisk;
use varve_store::index::IndexOptions;
use varve_store::rebuild::rebuild;
use varve_store::silo::SiloFile;
use varve_store::{NewObject, StoreReader, StoreWriter};
use varve_warc::write::Packing;

fn reader(root: &Path) -> StoreReader {
    StoreReader::open(files(Arc::new(LocalDisk::new(root)), root), &root.join("index")).expect("opened")
}

fn audited(root: &Path, quick: bool, chosen: &dyn Fn(&SiloFile) -> bool) -> (AuditDone, Vec<AuditFinding>) {
    let options = AuditOptions {
        quick,
        chosen,
        threads: 2,
        index: IndexOptions::default(),
        is_written: &|| false,
        index_lost: None,
    };
    let mut findings = Vec::new();
    let store = reader(root);
    let done = audit(
        &store,
        &root.join("index"),
        &options,
        &|_| {},
        &mut |finding| findings.push(finding),
        &mut |_| {},
    )
    .expect("audited");
    assert_eq!(done.findings, findings.len() as u64);
    (done, findings)
}

fn full(root: &Path) -> Vec<AuditFinding> {
    audited(root, false, &|_| true).1
}

fn quick(root: &Path) -> Vec<AuditFinding> {
    audited(root, true, &|_| true).1
}

fn silo_path(root: &Path, number: u32) -> PathBuf {
    root.join(format!("warc/0/{number:08}.warc.gz"))
}

/// Changes a file, sealed or not, and leaves its permissions as they were.
fn change(path: &Path, edit: impl FnOnce(&mut Vec<u8>)) {
    let permissions = fs::metadata(path).expect("there").permissions();
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).expect("allowed");
    let mut bytes = fs::read(path).expect("read");
    edit(&mut bytes);
    fs::write(path, bytes).expect("written");
    fs::set_permissions(path, permissions).expect("allowed");
}

/// A store with several silos, metadata and an object in segments.
fn filled(root: &Path) -> Vec<(RecordId, Vec<u8>)> {
    let writer = open(root, 40_000, Packing::Gzip);
    let mut kept = Vec::new();
    for seed in 0..12 {
        let content = noise(5_000, seed);
        kept.push((store(&writer, &content).id, content));
    }
    let large = noise(100_000, 99);
    kept.push((store(&writer, &large).id, large));
    let mut packer = writer.packer().expect("a packer");
    let about = NewObject { refers_to: Some("urn:sha256:00".parse().expect("a URI")), ..resource() };
    let note = writer.store_bytes(&mut packer, &about, b"a note").expect("stored");
    writer.wait(note.ticket).expect("durable");
    kept.push((note.id, b"a note".to_vec()));
    writer.housekeeping().expect("merged");
    kept
}

fn is_readable(store: &StoreReader, id: &RecordId, content: &[u8]) -> bool {
    use std::io::Read;
    let mut bytes = Vec::new();
    match store.object(id) {
        Ok(Some(object)) => {
            object.read().is_ok_and(|mut reader| reader.read_to_end(&mut bytes).is_ok()) && bytes == content
        }
        _ => false,
    }
}

#[test]
fn metadata_in_segments_comes_back_whole_and_is_sound() {
    for packing in [Packing::Gzip, Packing::Zstd { level: 3, dictionary: None }] {
        let root = tempfile::tempdir().expect("a folder");
        let writer = open(root.path(), 40_000, packing);
        let mut packer = writer.packer().expect("a packer");
        let about = NewObject { refers_to: Some("urn:sha256:00".parse().expect("a URI")), ..resource() };
        let content = noise(100_000, 7);
        let stored = writer.store_reader(&mut packer, &about, &mut &*content).expect("stored");
        writer.wait(stored.ticket).expect("durable");
        let store = reader(root.path());
        assert!(store.object(&stored.id).expect("read").expect("there").segments() >= 3);
        assert!(is_readable(&store, &stored.id, &content));
        assert_eq!(full(root.path()), []);
        assert_eq!(quick(root.path()), []);
    }
}

#[test]
fn a_sound_store_has_no_findings() {
    for packing in [Packing::Gzip, Packing::Zstd { level: 3, dictionary: None }] {
        let root = tempfile::tempdir().expect("a folder");
        let writer = open(root.path(), 40_000, packing);
        for seed in 0..12 {
            store(&writer, &noise(5_000, seed));
        }
        store(&writer, &noise(100_000, 99));
        assert_eq!(full(root.path()), []);
        writer.housekeeping().expect("merged");
        let (done, findings) = audited(root.path(), false, &|_| true);
        assert_eq!(findings, []);
        assert!(done.records > 13 && done.bytes > 100_000 && done.silos > 3, "{done:?}");
        assert_eq!(quick(root.path()), []);
        assert_eq!(audited(root.path(), false, &|silo| silo.number % 2 == 0).1, []);
    }
}

#[test]
fn an_empty_store_has_no_findings() {
    let root = tempfile::tempdir().expect("a folder");
    drop(open(root.path(), 40_000, Packing::Gzip));
    assert_eq!(full(root.path()), []);
    assert_eq!(quick(root.path()), []);
}

#[test]
fn any_flipped_bit_of_a_silo_is_found_and_harms_one_record() {
    let root = tempfile::tempdir().expect("a folder");
    let kept = filled(root.path());
    let path = silo_path(root.path(), 0);
    let length = fs::metadata(&path).expect("there").len() as usize;
    for position in (0..length).step_by(97) {
        let bit = 1u8 << (position % 8);
        change(&path, |bytes| bytes[position] ^= bit);
        let findings = full(root.path());
        assert!(!findings.is_empty(), "bit {bit:#x} of byte {position}");
        assert!(findings.iter().any(|finding| finding.silo == Some(0)), "byte {position}: {findings:?}");
        let store = reader(root.path());
        let unreadable = kept.iter().filter(|(id, content)| !is_readable(&store, id, content)).count();
        assert!(unreadable <= 1, "byte {position} harms {unreadable} objects");
        change(&path, |bytes| bytes[position] ^= bit);
    }
    assert_eq!(full(root.path()), []);
}

#[test]
fn any_flipped_bit_of_the_index_is_found_and_gives_no_wrong_answer() {
    let root = tempfile::tempdir().expect("a folder");
    let kept = filled(root.path());
    let folder = root.path().join("index");
    for entry in fs::read_dir(&folder).expect("there") {
        let path = entry.expect("an entry").path();
        let length = fs::metadata(&path).expect("there").len() as usize;
        for position in (0..length).step_by(13) {
            change(&path, |bytes| bytes[position] ^= 4);
            if let Ok(store) =
                StoreReader::open(files(Arc::new(LocalDisk::new(root.path())), root.path()), &folder)
            {
                for (id, content) in &kept {
                    if let Ok(Some(object)) = store.object(id) {
                        assert_eq!(object.length(), content.len() as u64);
                    }
                }
                let options = AuditOptions {
                    quick: true,
                    chosen: &|_| true,
                    threads: 1,
                    index: IndexOptions::default(),
                    is_written: &|| false,
                    index_lost: None,
                };
                let mut findings = 0;
                let done = audit(&store, &folder, &options, &|_| {}, &mut |_| findings += 1, &mut |_| {});
                assert!(done.is_err() || findings > 0, "{} at {position}", path.display());
            }
            change(&path, |bytes| bytes[position] ^= 4);
        }
    }
    assert_eq!(full(root.path()), []);
}

#[test]
fn a_silo_that_is_cut_anywhere_is_found() {
    let root = tempfile::tempdir().expect("a folder");
    let kept = filled(root.path());
    let path = silo_path(root.path(), 0);
    let whole = fs::read(&path).expect("read");
    for length in (0..whole.len()).step_by(1511) {
        change(&path, |bytes| bytes.truncate(length));
        assert!(!full(root.path()).is_empty(), "cut to {length}");
        assert!(!quick(root.path()).is_empty(), "cut to {length}");
        change(&path, |bytes| *bytes = whole.clone());
    }
    assert!(kept.iter().all(|(id, content)| is_readable(&reader(root.path()), id, content)));
}

#[test]
fn a_silo_that_is_gone_is_named() {
    let root = tempfile::tempdir().expect("a folder");
    filled(root.path());
    fs::remove_file(silo_path(root.path(), 1)).expect("removed");
    for findings in [full(root.path()), quick(root.path())] {
        let missing: Vec<_> = findings.iter().filter(|one| one.kind == AuditKind::SiloMissing).collect();
        assert_eq!((missing.len(), missing[0].silo), (1, Some(1)), "once, however much was in it");
        assert!(missing[0].message.contains("entries of the index lead into it"), "{}", missing[0].message);
    }
}

#[test]
fn silos_that_changed_places_are_named() {
    let root = tempfile::tempdir().expect("a folder");
    filled(root.path());
    let (one, other) = (silo_path(root.path(), 0), silo_path(root.path(), 1));
    let aside = root.path().join("aside");
    fs::rename(&one, &aside).expect("renamed");
    fs::rename(&other, &one).expect("renamed");
    fs::rename(&aside, &other).expect("renamed");
    for findings in [full(root.path()), quick(root.path())] {
        for number in [0, 1] {
            assert!(
                findings.iter().any(|found| found.kind == AuditKind::SiloName && found.silo == Some(number))
            );
        }
    }
}

#[test]
fn a_sealed_silo_that_can_be_written_to_is_named() {
    let root = tempfile::tempdir().expect("a folder");
    filled(root.path());
    fs::set_permissions(silo_path(root.path(), 0), fs::Permissions::from_mode(0o644)).expect("allowed");
    let findings = full(root.path());
    assert_eq!(
        findings.iter().map(|found| (found.kind, found.silo)).collect::<Vec<_>>(),
        [(AuditKind::SiloWritable, Some(0))]
    );
}

#[test]
fn a_record_with_a_false_header_is_reported() {
    let root = tempfile::tempdir().expect("a folder");
    let kept = filled(root.path());
    // A valid member in the place of another of the same store: only its id reveals it.
    let path = silo_path(root.path(), 0);
    let before = fs::read(&path).expect("read");
    let forged = {
        use std::io::{Read, Write};
        let mut plain = Vec::new();
        flate2::read::MultiGzDecoder::new(before.as_slice()).read_to_end(&mut plain).expect("gzip");
        let text = String::from_utf8_lossy(&plain).into_owned();
        let start = text.find("WARC-Type: resource").expect("a resource");
        let id = &text[start..][..200];
        let hex = id.split("urn:sha256:").nth(1).expect("an id")[..64].to_owned();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        // One record alone, its id changed in one digit.
        let mut reader = varve_warc::WarcReader::new(before.as_slice()).expect("an archive");
        reader.next_record().expect("read");
        reader.finish_record().expect("read");
        let first_resource = reader.next_offset().expect("a place") as usize;
        reader.next_record().expect("read");
        reader.finish_record().expect("read");
        let end = reader.next_offset().expect("a place") as usize;
        let mut record = Vec::new();
        flate2::read::GzDecoder::new(&before[first_resource..end]).read_to_end(&mut record).expect("gzip");
        let needle = format!("WARC-Record-ID: <urn:sha256:{hex}>");
        let at = record.windows(needle.len()).position(|window| window == needle.as_bytes()).expect("its id");
        let digit = at + needle.len() - 2;
        record[digit] = if record[digit] == b'0' { b'1' } else { b'0' };
        encoder.write_all(&record).expect("memory");
        let mut forged = before[..first_resource].to_vec();
        forged.extend(encoder.finish().expect("memory"));
        forged.extend_from_slice(&before[end..]);
        forged
    };
    change(&path, |bytes| *bytes = forged);
    let findings = full(root.path());
    assert!(
        findings.iter().any(|finding| finding.kind == AuditKind::Id && finding.silo == Some(0)),
        "{findings:?}"
    );
    assert_eq!(kept.len(), 14);
}

fn index_bytes(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(root.join("index"))
        .expect("there")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| (path.clone(), fs::read(path).expect("read")))
        .collect();
    files.sort();
    files
}

#[test]
fn rebuild_makes_the_same_index_byte_for_byte() {
    let root = tempfile::tempdir().expect("a folder");
    let kept = filled(root.path());
    let before = index_bytes(root.path());
    fs::remove_dir_all(root.path().join("index")).expect("removed");
    let silos = files(Arc::new(LocalDisk::new(root.path())), root.path());
    let done = rebuild(&silos, &root.path().join("index"), IndexOptions::default(), 2, &|_| {}, &mut |_| {})
        .expect("rebuilt");
    assert!(done.findings.is_empty() && done.records > 14, "{done:?}");
    assert_eq!(index_bytes(root.path()), before);
    assert!(kept.iter().all(|(id, content)| is_readable(&reader(root.path()), id, content)));
    assert_eq!(full(root.path()), []);
}

#[test]
fn a_store_whose_index_is_gone_can_be_written_to_again() {
    let root = tempfile::tempdir().expect("a folder");
    let kept = filled(root.path());
    fs::remove_dir_all(root.path().join("index")).expect("removed");
    let disk = Arc::new(LocalDisk::new(root.path()));
    let (writer, recovered) =
        StoreWriter::open(files(disk, root.path()), settings(root.path(), 40_000, Packing::Gzip))
            .expect("opened");
    assert!(recovered.entries > 14, "{recovered:?}");
    assert!(kept.iter().all(|(id, content)| is_readable(&writer.reader(), id, content)));
    assert!(!store(&writer, &kept[0].1).new);
    assert_eq!(full(root.path()), []);
}

#[test]
fn an_acknowledged_record_is_never_truncated() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 20, Packing::Gzip);
    let first = store(&writer, &noise(2000, 1));
    store(&writer, &noise(2000, 2));
    drop(writer);
    let path = silo_path(root.path(), 0);
    let length = fs::metadata(&path).expect("there").len();
    change(&path, |bytes| {
        let last = bytes.len() - 100;
        bytes[last] ^= 1;
    });
    let disk = Arc::new(LocalDisk::new(root.path()));
    let (writer, recovered) =
        StoreWriter::open(files(disk, root.path()), settings(root.path(), 1 << 20, Packing::Gzip))
            .expect("opened");
    assert!(recovered.sealed_damaged && recovered.cut == 0, "{recovered:?}");
    assert_eq!(fs::metadata(&path).expect("there").len(), length);
    let third = store(&writer, b"goes to the next silo");
    assert!(is_readable(&writer.reader(), &first.id, &noise(2000, 1)));
    assert!(is_readable(&writer.reader(), &third.id, b"goes to the next silo"));
    assert!(full(root.path()).iter().any(|finding| finding.silo == Some(0)));
}

/// A store whose last entries are in the appendix, the usual case.
fn appended(root: &Path) -> Vec<(RecordId, Vec<u8>)> {
    let mut kept = filled(root);
    let writer = open(root, 40_000, Packing::Gzip);
    writer.housekeeping().expect("merged");
    for seed in 100..104 {
        let content = noise(3_000, seed);
        kept.push((store(&writer, &content).id, content));
    }
    kept
}

#[test]
fn records_missing_from_the_index_are_reported() {
    for lose in [
        |path: &Path| fs::remove_file(path).expect("removed"),
        |path: &Path| fs::write(path, []).expect("emptied"),
        |path: &Path| change(path, |bytes| bytes.truncate(bytes.len() - 1)),
        |path: &Path| change(path, |bytes| *bytes.last_mut().expect("bytes") ^= 1),
    ] {
        let root = tempfile::tempdir().expect("a folder");
        let kept = appended(root.path());
        assert_eq!(full(root.path()), []);
        lose(&root.path().join("index/appendix"));
        let findings = full(root.path());
        assert!(
            findings.iter().any(|finding| {
                finding.kind == AuditKind::Behind
                    && finding.message.contains("that the index does not have yet")
            }),
            "a record without an entry is not said: {findings:?}"
        );
        // The next writer reads the silos and indexes them again.
        drop(open(root.path(), 40_000, Packing::Gzip));
        assert!(kept.iter().all(|(id, content)| is_readable(&reader(root.path()), id, content)));
        assert_eq!(full(root.path()), []);
    }
}

#[test]
fn damage_in_a_sealed_silo_is_an_error_whatever_the_index_knows() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let writer = open(root, 40_000, Packing::Gzip);
    for seed in 0..24 {
        store(&writer, &noise(5_000, seed));
    }
    drop(writer);
    assert!(silo_path(root, 3).exists());
    fs::write(root.join("index/appendix"), []).expect("emptied");
    let errors = || -> Vec<Option<u32>> {
        let findings = full(root).into_iter();
        let errors = findings.filter(|finding| finding.severity == AuditSeverity::Error);
        errors.map(|finding| finding.silo).collect()
    };
    assert_eq!(errors(), []);
    for number in [1, 2] {
        let path = silo_path(root, number);
        let middle = fs::metadata(&path).expect("there").len() as usize / 2;
        change(&path, |bytes| bytes[middle] ^= 1);
        assert!(errors().contains(&Some(number)), "{number}: {:?}", full(root));
        change(&path, |bytes| bytes[middle] ^= 1);
    }
}

#[test]
fn records_after_the_index_are_not_reported_during_a_write() {
    let root = tempfile::tempdir().expect("a folder");
    appended(root.path());
    fs::write(root.path().join("index/appendix"), []).expect("emptied");
    let options = AuditOptions {
        quick: false,
        chosen: &|_| true,
        threads: 1,
        index: IndexOptions::default(),
        is_written: &|| true,
        index_lost: None,
    };
    let folder = root.path().join("index");
    let done = audit(&reader(root.path()), &folder, &options, &|_| {}, &mut |_| {}, &mut |_| {});
    assert_eq!(done.expect("audited").findings, 0);
}

#[test]
fn an_index_without_its_sorted_files_is_made_again() {
    let root = tempfile::tempdir().expect("a folder");
    let kept = appended(root.path());
    for entry in fs::read_dir(root.path().join("index")).expect("listed") {
        let path = entry.expect("read").path();
        if path.file_name().expect("a name") != "appendix" {
            fs::remove_file(path).expect("removed");
        }
    }
    let writer = open(root.path(), 40_000, Packing::Gzip);
    assert!(kept.iter().all(|(id, content)| is_readable(&writer.reader(), id, content)));
    drop(writer);
    assert_eq!(full(root.path()), []);
}

#[test]
fn a_lost_last_silo_does_not_stop_writing_and_its_number_is_not_used_again() {
    let root = tempfile::tempdir().expect("a folder");
    filled(root.path());
    let last = (0..).take_while(|number| silo_path(root.path(), *number).exists()).last().expect("silos");
    fs::remove_file(silo_path(root.path(), last)).expect("removed");
    // Opening for writing without a write leaves the index unchanged: the remaining silos are
    // indexed.
    let entered = || fs::metadata(root.path().join("index/appendix")).expect("there").len();
    let before = entered();
    drop(open(root.path(), 40_000, Packing::Gzip));
    drop(open(root.path(), 40_000, Packing::Gzip));
    assert_eq!(entered(), before);
    let writer = open(root.path(), 40_000, Packing::Gzip);
    let (id, content) = (store(&writer, &noise(3_000, 500)).id, noise(3_000, 500));
    drop(writer);
    assert!(is_readable(&reader(root.path()), &id, &content));
    assert!(!silo_path(root.path(), last).exists() && silo_path(root.path(), last + 1).exists());
    let findings = full(root.path());
    assert!(findings.iter().any(|one| one.kind == AuditKind::SiloMissing && one.silo == Some(last)));
}

#[test]
fn the_number_of_a_lost_silo_is_not_used_again_even_when_the_index_is_made_anew() {
    for loses_index_too in [false, true] {
        let root = tempfile::tempdir().expect("a folder");
        filled(root.path());
        let last = (0..).take_while(|number| silo_path(root.path(), *number).exists()).last().expect("silos");
        fs::remove_file(silo_path(root.path(), last)).expect("removed");
        if loses_index_too {
            fs::remove_dir_all(root.path().join("index")).expect("removed");
        }
        let silos = files(Arc::new(LocalDisk::new(root.path())), root.path());
        rebuild(&silos, &root.path().join("index"), IndexOptions::default(), 2, &|_| {}, &mut |_| {})
            .expect("rebuilt");
        let is_named = |findings: Vec<AuditFinding>| {
            findings.iter().any(|one| one.kind == AuditKind::SiloMissing && one.silo == Some(last))
        };
        assert!(is_named(full(root.path())), "an audit goes on naming what is lost");
        let writer = open(root.path(), 40_000, Packing::Gzip);
        store(&writer, &noise(3_000, 500));
        drop(writer);
        assert!(!silo_path(root.path(), last).exists() && silo_path(root.path(), last + 1).exists());
        assert!(is_named(full(root.path())) && is_named(quick(root.path())));
    }
}

#[test]
fn an_audit_of_some_silos_looks_at_the_neighbours_of_segments() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 40_000, Packing::Gzip);
    store(&writer, b"small");
    store(&writer, &noise(150_000, 99));
    drop(writer);
    let of_one = |number: u32| audited(root.path(), false, &|silo: &SiloFile| silo.number == number).1;
    let last = (0..).take_while(|number| silo_path(root.path(), *number).exists()).last().expect("silos");
    assert!(last >= 4, "{last}");
    for number in 1..=last {
        assert_eq!(of_one(number), [], "{number}");
    }
    fs::remove_file(silo_path(root.path(), 3)).expect("removed");
    for (number, is_affected) in [(0, false), (1, true), (2, true), (4, true)] {
        let has_segment = of_one(number).iter().any(|one| one.kind == AuditKind::Segment);
        assert_eq!(has_segment, is_affected, "{number}: {:?}", of_one(number));
    }
}

#[test]
fn without_an_index_truncated_bytes_are_saved_beside_the_silo() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 20, Packing::Gzip);
    store(&writer, &noise(2000, 1));
    store(&writer, &noise(2000, 2));
    drop(writer);
    let path = silo_path(root.path(), 0);
    change(&path, |bytes| {
        let last = bytes.len() - 100;
        bytes[last] ^= 1;
    });
    let damaged = fs::read(&path).expect("read");
    fs::remove_dir_all(root.path().join("index")).expect("removed");
    let disk = Arc::new(LocalDisk::new(root.path()));
    let (_, recovered) =
        StoreWriter::open(files(disk, root.path()), settings(root.path(), 1 << 20, Packing::Gzip))
            .expect("opened");
    assert!(recovered.set_aside && recovered.cut > 0, "{recovered:?}");
    let good = damaged.len() as u64 - recovered.cut;
    let kept = fs::read(path.with_added_extension(format!("cut-{good}"))).expect("kept");
    assert_eq!(kept, damaged[usize::try_from(good).expect("small")..]);
}

#[test]
fn opening_again_and_again_adds_nothing_to_the_index() {
    let root = tempfile::tempdir().expect("a folder");
    filled(root.path());
    let entries = audited(root.path(), false, &|_| true).0.entries;
    for _ in 0..5 {
        drop(open(root.path(), 40_000, Packing::Gzip));
    }
    assert_eq!(audited(root.path(), false, &|_| true).0.entries, entries);
}

#[test]
fn missing_numbers_are_one_finding() {
    let root = tempfile::tempdir().expect("a folder");
    filled(root.path());
    let last = (0..).take_while(|number| silo_path(root.path(), *number).exists()).last().expect("silos");
    let far = root.path().join("warc/3/01/00/00/01000000.warc.gz");
    fs::create_dir_all(far.parent().expect("a folder")).expect("made");
    fs::copy(silo_path(root.path(), last), &far).expect("copied");
    for findings in [full(root.path()), quick(root.path())] {
        let missing: Vec<_> = findings.iter().filter(|one| one.kind == AuditKind::SiloMissing).collect();
        assert_eq!((missing.len(), missing[0].silo), (1, Some(last + 1)), "{missing:?}");
        assert!(missing[0].message.contains(&format!("{} to 999999", last + 1)), "{}", missing[0].message);
    }
}

#[test]
fn a_truncated_last_silo_is_reported_as_a_loss() {
    let root = tempfile::tempdir().expect("a folder");
    appended(root.path());
    let last = (0..).take_while(|number| silo_path(root.path(), *number).exists()).last().expect("silos");
    let path = silo_path(root.path(), last);
    let index = reader(root.path());
    let end = index.index().greatest_place().expect("records").offset();
    drop(index);
    change(&path, |bytes| bytes.truncate(usize::try_from(end).expect("a length")));
    for findings in [full(root.path()), quick(root.path())] {
        let lost: Vec<_> = findings.iter().filter(|one| one.kind == AuditKind::RecordsLost).collect();
        assert!(matches!(&lost[..], [one] if one.severity == AuditSeverity::Error), "{findings:?}");
        assert!(lost[0].message.contains("lost"), "{}", lost[0].message);
    }
}

/// Whether a flip in an open gzip silo changes what is covered: a header or trailer of a member, or
/// the content.
fn is_covered(whole: &[u8], bytes: &[u8], byte: usize) -> bool {
    use std::io::Read;
    let unpacked = |bytes: &[u8]| {
        let mut content = Vec::new();
        flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut content).ok().map(|_| content)
    };
    let mut start = 0;
    while start < whole.len() {
        let mut member = flate2::bufread::GzDecoder::new(&whole[start..]);
        member.read_to_end(&mut Vec::new()).expect("whole");
        let end = whole.len() - member.into_inner().len();
        if (start..end).contains(&byte) {
            return byte < start + 10 || byte >= end - 8 || unpacked(whole) != unpacked(bytes);
        }
        start = end;
    }
    true
}

/// Of this number of covered bits one is flipped, unless `VARVE_FLIPS` is set. It has no factor in common
/// with the bits of a byte, so each place in a byte has its turn.
const BITS_PER_FLIP: usize = 5;

/// `docs/format.md` says which bits no checksum covers before a silo has a successor. Each of these
/// is flipped.
#[test]
fn every_bit_of_an_open_silo_is_covered_or_changes_no_content() {
    let root = tempfile::tempdir().expect("a folder");
    let writer = open(root.path(), 1 << 20, Packing::Gzip);
    store(&writer, b"a small object");
    store(&writer, &b"ab".repeat(500));
    drop(writer);
    let path = silo_path(root.path(), 0);
    let whole = fs::read(&path).expect("read");
    let is_long = std::env::var_os("VARVE_FLIPS").is_some();
    let mut uncovered = 0;
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let is_covered = is_covered(&whole, &bytes, bit / 8);
        if is_covered && bit % BITS_PER_FLIP != 0 && !is_long {
            continue;
        }
        fs::write(&path, &bytes).expect("written");
        let is_found = !full(root.path()).is_empty();
        assert_eq!(is_found, is_covered, "bit {} of byte {} of {}", bit % 8, bit / 8, whole.len());
        uncovered += usize::from(!is_covered);
    }
    // The padding of three members, at least.
    assert!((1..100).contains(&uncovered), "{uncovered}");
    // The next silo states the digest of this one, so that nothing is left uncovered.
    fs::write(&path, &whole).expect("written");
    let writer = open(root.path(), 1 << 10, Packing::Gzip);
    store(&writer, &noise(5_000, 1));
    drop(writer);
    assert!(silo_path(root.path(), 1).exists());
    assert_eq!(full(root.path()), []);
    for bit in (0..whole.len() * 8).step_by(13) {
        change(&path, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        assert_ne!(full(root.path()), [], "bit {bit}");
        change(&path, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
    }
}
