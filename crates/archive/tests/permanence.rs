//! Audit, rebuild and import, on archives as people have them.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use varve_archive::verbs::audit::{AuditFinding, AuditRequest, PrintedAudit, Sample, audit};
use varve_archive::verbs::import::aardwarc::import;
use varve_archive::verbs::init::init;
use varve_archive::verbs::rebuild::rebuild;
use varve_archive::{
    Archive, ArchiveError, ArchivePaths, ArchiveSettings, ArchiveWriter, Date, WriterOptions,
};

fn opening() -> WriterOptions {
    let date = Date::parse(b"2026-11-15T12:00:00Z").expect("a date");
    WriterOptions { holder: "a test".into(), software: "varve test".into(), clock: Arc::new(move || date) }
}

/// An archive with small silos, and what another program's store held.
fn imported(root: &Path, store: &Path) -> ArchiveWriter {
    let mut settings = ArchiveSettings::new("test");
    settings.silo_size = "1 MiB".parse().expect("a size");
    init(root, &settings, opening()).expect("made");
    let writer = ArchiveWriter::open(root, opening()).expect("opened");
    import(&writer, store, &|_| {}).expect("imported");
    writer
}

fn audited(root: &Path, request: &AuditRequest) -> Vec<AuditFinding> {
    let archive = Archive::open(root).expect("opened");
    let mut findings = Vec::new();
    audit(&archive, request, &|_| {}, &mut |finding| findings.push(finding)).expect("audited");
    findings
}

#[test]
fn an_aardwarc_store_is_imported_with_its_ids() {
    let Some(fixtures) = varve_testkit::fixtures("aardwarc") else { return };
    for name in ["a128", "b256"] {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("museum");
        let store = fixtures.join(name).join("store");
        let writer = imported(&root, &store);
        let again = import(&writer, &store, &|_| {}).expect("imported");
        assert_eq!(again.new, 0, "{name}");
        drop(writer);
        let archive = Archive::open(&root).expect("opened");
        let ids = fs::read_to_string(fixtures.join(name).join("ids.tsv")).expect("ids");
        let mut seen = 0;
        for line in ids.lines() {
            let columns: Vec<&str> = line.split('\t').collect();
            let digits = columns[0].rsplit('/').next().expect("digits");
            // One number was forced by its maker and follows from nothing; it leads to the object
            // all the same.
            let id = archive.resolve(digits).expect(line);
            let object = archive.object(id).expect("there");
            let mut bytes = Vec::new();
            object.read().expect("open").read_to_end(&mut bytes).expect("whole");
            assert_eq!(bytes.len().to_string(), columns[2], "{line}");
            assert_eq!(object.header().fields.get("Content-Type"), Some(columns[4].as_bytes()));
            seen += 1;
        }
        assert!(seen > 30, "{name}: {seen}");
        assert_eq!(audited(&root, &AuditRequest::default()), []);
        assert_eq!(audited(&root, &AuditRequest { quick: true, ..AuditRequest::default() }), []);
    }
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::write(&target, fs::read(entry.path()).expect("read")).expect("written");
        }
    }
}

#[test]
fn a_damaged_aardwarc_store_gives_findings_and_no_wrong_objects() {
    let Some(fixtures) = varve_testkit::fixtures("aardwarc") else { return };
    let ids = fs::read_to_string(fixtures.join("a128/ids.tsv")).expect("ids");
    let contents: Vec<&str> = ids.lines().filter_map(|line| line.split('\t').nth(1)).collect();
    let folder = tempfile::tempdir().expect("a folder");
    for case in 0..4 {
        let copy = folder.path().join(format!("copy-{case}"));
        copy_tree(&fixtures.join("a128"), &copy);
        let silo = copy.join("store/0/00000002.warc.gz");
        let mut bytes = fs::read(&silo).expect("a silo");
        let middle = bytes.len() / 2;
        match case {
            0 => {}
            1 => bytes[middle] ^= 0x40,
            2 => bytes.truncate(middle),
            _ => bytes.clear(),
        }
        fs::write(&silo, bytes).expect("written");
        let root = folder.path().join(format!("museum-{case}"));
        init(&root, &ArchiveSettings::new("test"), opening()).expect("made");
        let writer = ArchiveWriter::open(&root, opening()).expect("opened");
        // The folder with the settings, not that with the silos.
        let came = import(&writer, &copy, &|_| {}).expect("imported");
        assert_eq!(came.findings.is_empty(), case == 0, "{case}: {:?}", came.findings);
        assert_eq!(came.renumbered.len(), 1, "{case}: nothing but the forced number: {:?}", came.renumbered);
        assert!(came.objects > 20 && came.objects <= contents.len() as u64, "{case}: {}", came.objects);
        drop(writer);
        assert_eq!(audited(&root, &AuditRequest::default()), []);
    }
}

#[test]
fn a_folder_that_cannot_be_imported_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("museum");
    init(&root, &ArchiveSettings::new("test"), opening()).expect("made");
    let writer = ArchiveWriter::open(&root, opening()).expect("opened");
    let result = import(&writer, folder.path(), &|_| {});
    assert!(matches!(result, Err(ArchiveError::NotImportable(_))), "{result:?}");
}

fn store_some(root: &Path, count: u32) {
    let writer = ArchiveWriter::open(root, opening()).expect("opened");
    let mut packer = writer.store().packer().expect("a packer");
    let object = varve_store::NewObject {
        date: writer.now(),
        content_type: "text/plain".into(),
        refers_to: None,
        known: None,
    };
    for number in 0..count {
        let content = format!("layer {number} ").repeat(200);
        writer.store().store_bytes(&mut packer, &object, content.as_bytes()).expect("stored");
    }
    writer.store().sync().expect("durable");
}

fn index_files(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries =
        fs::read_dir(root.join("index")).expect("there").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = entries.map(|path| (path.clone(), fs::read(path).expect("read"))).collect();
    files.sort();
    files
}

#[test]
fn the_silos_alone_define_the_archive() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("museum");
    init(&root, &ArchiveSettings::new("test"), opening()).expect("made");
    store_some(&root, 300);
    ArchiveWriter::open(&root, opening()).expect("opened").store().housekeeping().expect("merged");
    let before = index_files(&root);
    fs::remove_dir_all(root.join("index")).expect("removed");
    let done = rebuild(&ArchivePaths::new(&root), opening(), &|_| {}).expect("rebuilt").index;
    assert_eq!((done.silos, done.records, done.findings.len()), (1, 301, 0));
    assert_eq!(index_files(&root), before);
    assert_eq!(audited(&root, &AuditRequest::default()), []);
}

#[test]
fn a_torn_record_is_not_brought_into_the_index() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("museum");
    init(&root, &ArchiveSettings::new("test"), opening()).expect("made");
    store_some(&root, 5);
    let silo = root.join("warc/0/00000000.warc.gz");
    let whole = fs::read(&silo).expect("read");
    let mut torn = whole.clone();
    torn.extend_from_slice(&whole[..200]);
    for has_index in [true, false] {
        fs::write(&silo, &torn).expect("written");
        if !has_index {
            fs::remove_dir_all(root.join("index")).expect("removed");
        }
        let done = rebuild(&ArchivePaths::new(&root), opening(), &|_| {}).expect("rebuilt").index;
        assert_eq!((done.silos, done.records, done.findings.len()), (1, 6, 0), "index: {has_index}");
        assert_eq!(fs::read(&silo).expect("read"), whole);
        // Without an index nobody knows whether the record was promised: then its bytes stay.
        assert_eq!(done.set_aside.is_none(), has_index);
        if let Some(path) = done.set_aside {
            assert_eq!(fs::read(path).expect("read"), whole[..200]);
        }
        assert_eq!(audited(&root, &AuditRequest::default()), []);
    }
}

/// A process that ends between making a silo and describing it leaves an empty file, or the
/// beginning of a record.
#[test]
fn a_rebuild_removes_a_silo_without_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("museum");
    init(&root, &ArchiveSettings::new("test"), opening()).expect("made");
    store_some(&root, 5);
    let first = root.join("warc/0/00000000.warc.gz");
    let beginning = fs::read(&first).expect("read")[..100].to_vec();
    for content in [&[][..], &beginning, &[0; 5000]] {
        let begun = root.join("warc/0/00000001.warc.gz");
        fs::write(&begun, content).expect("written");
        fs::remove_dir_all(root.join("index")).expect("removed");
        let done = rebuild(&ArchivePaths::new(&root), opening(), &|_| {}).expect("rebuilt").index;
        assert_eq!((done.silos, done.records, done.findings.len()), (1, 6, 0), "{} bytes", content.len());
        assert!(!begun.exists());
    }
    store_some(&root, 7);
    assert_eq!(audited(&root, &AuditRequest::default()), []);
}

/// A silo that is not a WARC file is reported, and objects in the others are found as before.
#[test]
fn a_lost_silo_does_not_take_the_index_of_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("museum");
    init(&root, &ArchiveSettings::new("test"), opening()).expect("made");
    for count in [5, 7, 9] {
        store_some(&root, count);
        ArchiveWriter::open(&root, opening()).expect("opened").store().seal_now().expect("sealed");
    }
    let lost = root.join("warc/0/00000001.warc.gz");
    fs::remove_file(&lost).expect("removed");
    fs::write(&lost, [0; 5000]).expect("written");
    fs::remove_dir_all(root.join("index")).expect("removed");
    let done = rebuild(&ArchivePaths::new(&root), opening(), &|_| {}).expect("rebuilt").index;
    assert_eq!((done.silos, done.findings.len()), (3, 1), "{done:?}");
    assert_eq!((done.findings[0].0, done.findings[0].1.offset), (1, 0));
    store_some(&root, 9);
    let findings = audited(&root, &AuditRequest::default());
    assert!(!findings.is_empty() && findings.iter().all(|finding| finding.silo == Some(1)), "{findings:?}");
}

#[test]
fn a_report_can_be_printed_and_signed() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("museum");
    init(&root, &ArchiveSettings::new("Museum of Lakes"), opening()).expect("made");
    store_some(&root, 5);
    let archive = Archive::open(&root).expect("opened");
    let request =
        AuditRequest { sample: Some(Sample { percent: 100.0, seed: 1 }), ..AuditRequest::default() };
    let mut findings = Vec::new();
    let done = audit(&archive, &request, &|_| {}, &mut |finding| findings.push(finding)).expect("audited");
    let paper =
        PrintedAudit { archive: &archive, request, began: "then", ended: "now", software: "varve test" };
    let text = paper.text(&done, &findings);
    for wanted in [
        "Museum of Lakes",
        "full (every byte)",
        "Not checked    other silos, objects in segments",
        "Records        6",
        "No findings.",
        "signature: ___",
    ] {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
}

#[test]
fn an_archive_without_a_usable_index_can_be_audited() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("museum");
    init(&root, &ArchiveSettings::new("test"), opening()).expect("made");
    store_some(&root, 50);
    ArchiveWriter::open(&root, opening()).expect("opened").store().housekeeping().expect("merged");
    let shard =
        index_files(&root).into_iter().find(|(path, _)| !path.ends_with("appendix")).expect("a shard").0;
    fs::write(&shard, b"nothing like an index").expect("written");
    for lose in [|_: &Path| {}, |index: &Path| fs::remove_dir_all(index).expect("removed")] {
        lose(&root.join("index"));
        let archive = Archive::open_to_audit(&root).expect("opened");
        let mut findings = Vec::new();
        let request = AuditRequest::default();
        let done =
            audit(&archive, &request, &|_| {}, &mut |finding| findings.push(finding)).expect("audited");
        assert_eq!(done.records, 51, "every record was read all the same");
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].message.contains("`varve rebuild` makes it again"), "{findings:?}");
    }
}
