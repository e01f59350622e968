//! Seals: the log grows with the versions, is rebuilt to the same bytes, survives a purge, and every
//! change to the past is found.

use std::collections::BTreeMap;
use std::path::Path;

use crate::purge::*;
use crate::scene::*;
use varve_archive::history::{ArchiveHistoryReader, ArchiveHistoryWriter};
use varve_archive::verbs::audit::{AuditRequest, audit};
use varve_archive::verbs::purge;
use varve_archive::verbs::rebuild;
use varve_archive::verbs::seal::{LogEvidence, prove_versions, seal};
use varve_archive::verbs::verify::{self, LogFindingKind, Request, verify_archive};
use varve_archive::{Archive, ArchiveError, ArchivePaths, ArchiveWriter, VersionId};
use varve_core::ManifestDigest;
use varve_core::fact::{CheckpointSigned, Fact, LeavesAdded};
use varve_tlog::{CompactRange, NoteSigner, SignedNote, TreeCheckpoint, hash_leaf};

fn signer(seed: u8) -> NoteSigner {
    NoteSigner::from_seed("example.org/test", [seed; 32]).expect("a key")
}

fn writer(root: &Path) -> ArchiveHistoryWriter {
    ArchiveHistoryWriter::of(ArchiveWriter::open(root, opening()).expect("opened")).expect("opened")
}

/// Commits a page with this text, and seals.
fn commit_and_seal(root: &Path, text: &str) -> (VersionId, String) {
    let version = commit_pages(&history(root), text, &[("https://e.org/", text)]).version;
    (version, seal(&writer(root), &[signer(1)]).expect("sealed").checkpoint)
}

fn verify(root: &Path, request: &Request) -> (verify::Report, Vec<LogFindingKind>) {
    let archive = ArchiveHistoryReader::open(root).expect("opened");
    let mut kinds = Vec::new();
    let report = verify_archive(&archive, request, &|_| {}, &mut |finding| kinds.push(finding.kind));
    let report = report.expect("verified");
    assert_eq!(report.findings, kinds.len() as u64);
    (report, kinds)
}

fn log_files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![root.join("seal")]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false => _ = files.insert(path.display().to_string(), std::fs::read(&path).expect("read")),
            }
        }
    }
    files
}

fn rebuild_all(root: &Path) {
    for name in ["index", "seal"] {
        std::fs::remove_dir_all(root.join(name)).expect("removed");
    }
    for name in ["catalog.db", "HEAD"] {
        std::fs::remove_file(root.join(name)).expect("removed");
    }
    rebuild::rebuild(&ArchivePaths::new(root), opening(), &|_| {}).expect("rebuilt");
}

#[test]
fn a_seal_without_new_versions_changes_nothing() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let none = seal(&writer(root), &[signer(1)]).expect_err("no versions");
    assert!(matches!(none, ArchiveError::NothingToSeal), "{none}");
    commit_pages(&history(root), "first", &[("https://e.org/", "first")]);
    let none = seal(&writer(root), &[]).expect_err("no key");
    assert!(matches!(none, ArchiveError::NoSealKey), "{none}");
    let first = seal(&writer(root), &[signer(1)]).expect("sealed");
    assert_eq!((first.size, first.sealed), (1, 1));
    let bytes = || (all_bytes(root), log_files(root));
    let before = bytes();
    let again = seal(&writer(root), &[]).expect("sealed");
    assert_eq!((again.size, again.sealed, &again.checkpoint), (1, 0, &first.checkpoint));
    assert!(bytes() == before);
    assert_eq!(verify(root, &Request::default()).1, []);
    assert_sound(root);
}

#[test]
fn the_log_is_rebuilt_from_the_silos_to_the_same_bytes() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let mut checkpoints = Vec::new();
    for number in 0..5 {
        commit_pages(&history(root), "more", &[("https://e.org/", &format!("more {number}"))]);
        checkpoints.push(commit_and_seal(root, &number.to_string()).1);
    }
    // A fork: two versions with one parent are both leaves.
    let tip = commit_and_seal(root, "tip").0;
    let (files, kept) = (log_files(root), rows(&reader(root)));
    rebuild_all(root);
    assert_eq!(log_files(root), files);
    assert_eq!(rows(&reader(root)), kept);
    assert_sound(root);
    for checkpoint in checkpoints {
        let request = Request { checkpoint: Some(checkpoint), key: Some(signer(1).verifier().clone()) };
        let (report, findings) = verify(root, &request);
        assert_eq!((report.leaves, report.versions, report.checkpoints), (11, 11, 6));
        assert_eq!(findings, []);
    }
    let evidence = prove_versions(&reader(root), &[tip]).expect("proven");
    assert_eq!((evidence.versions[0].leaf, evidence.consistency.len()), (10, 5));
}

#[test]
fn the_leaf_of_a_purged_version_stays_and_its_tombstone_explains_it() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let (_, checkpoint) = commit_and_seal(root, "first");
    let (second, _) = commit_and_seal(root, "second");
    let (third, _) = commit_and_seal(root, "third");
    let files = log_files(root);
    rewrite(root, &purge::Request { versions: vec![second], ..request(&[]) });
    let request = Request { checkpoint: Some(checkpoint), key: None };
    assert_eq!(verify(root, &request).1, []);
    assert_eq!(log_files(root), files);
    assert_sound(root);
    rebuild_all(root);
    assert_eq!(log_files(root), files);
    assert_eq!(verify(root, &request).1, []);
    // Its leaf is no proof that the version is here, and the others still have theirs.
    assert!(prove_versions(&reader(root), &[second]).is_err());
    let evidence = prove_versions(&reader(root), &[third]).expect("proven");
    let mut found = Vec::new();
    evidence.check(None, request.checkpoint.as_deref(), &mut |finding| found.push(finding)).expect("checked");
    assert_eq!(found, []);
    commit_and_seal(root, "fourth");
    assert_eq!(verify(root, &request).1, []);
}

/// Writes a log of these digests, as someone with the key would write it anew.
fn forge(root: &Path, leaves: &[ManifestDigest]) {
    let history = writer(root);
    let mut range = CompactRange::default();
    leaves.iter().for_each(|leaf| range.push(hash_leaf(leaf.as_bytes())));
    let (size, origin) = (range.size(), "example.org/test".to_owned());
    let checkpoint = TreeCheckpoint { origin, size, root: range.root(), extensions: Vec::new() };
    let note = SignedNote::sign(&checkpoint.to_string(), &[signer(1)]).expect("signed").to_string();
    let keys = vec![signer(1).verifier().to_string()];
    let added = LeavesAdded { first: 0, manifests: leaves.to_vec() };
    let signed = CheckpointSigned { size, note, keys, time: history.now() };
    for fact in [Fact::LogLeaves(Box::new(added)), Fact::LogCheckpoint(Box::new(signed))] {
        let about = "urn:uuid:018f3c1e-0000-7000-8000-000000000001";
        history.write_fact(about, fact.media_type(), &fact.to_json()).expect("written");
    }
    drop(history);
    // The next writer makes rows and files from the facts.
    drop(writer(root));
}

/// The digests of the manifests of all versions, in the order of writing.
fn digests(root: &Path) -> Vec<ManifestDigest> {
    let root = tempfile_copy(root);
    seal(&writer(root.path()), &[signer(1)]).expect("sealed");
    let leaves = reader(root.path()).catalog().log_leaves(0, 99).expect("read");
    leaves.into_iter().map(|(_, manifest)| manifest).collect()
}

fn tempfile_copy(root: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a folder");
    let status = std::process::Command::new("cp").arg("-a").arg(root.join(".")).arg(copy.path()).status();
    assert!(status.expect("copied").success());
    copy
}

fn audit_messages(root: &Path) -> Vec<String> {
    let archive = Archive::open(root).expect("opened");
    let mut found = Vec::new();
    audit(&archive, &AuditRequest::default(), &|_| {}, &mut |finding| found.push(finding.message))
        .expect("audited");
    found
}

#[test]
fn a_log_that_was_written_anew_with_the_right_key_does_not_continue_a_known_checkpoint() {
    let honest = tempfile::tempdir().expect("a folder");
    let honest = honest.path();
    make(Kind::Archive, honest);
    for number in 0..6 {
        commit_pages(&history(honest), "more", &[("https://e.org/", &number.to_string())]);
    }
    let leaves = digests(honest);
    let known = tempfile_copy(honest);
    let known = seal(&writer(known.path()), &[signer(1)]).expect("sealed").checkpoint;
    let request = Request { checkpoint: Some(known), key: Some(signer(1).verifier().clone()) };
    let mut reordered = leaves.clone();
    reordered.swap(1, 4);
    let mut backdated = leaves.clone();
    backdated.rotate_right(1);
    let removed: Vec<_> = leaves[..2].iter().chain(&leaves[3..]).copied().collect();
    for (forged, expected) in [
        (&leaves, &[][..]),
        (&reordered, &[LogFindingKind::Checkpoint]),
        (&backdated, &[LogFindingKind::Checkpoint]),
        (&removed, &[LogFindingKind::LeafMissing, LogFindingKind::Checkpoint]),
    ] {
        let root = tempfile_copy(honest);
        forge(root.path(), forged);
        assert_eq!(verify(root.path(), &request).1, expected);
        let other = Request { key: Some(signer(2).verifier().clone()), checkpoint: None };
        assert!(verify(root.path(), &other).1.contains(&LogFindingKind::Signature));
    }
}

#[test]
fn damage_of_the_log_is_found_by_verify_and_audit() {
    let honest = tempfile::tempdir().expect("a folder");
    let honest = honest.path();
    make(Kind::Archive, honest);
    commit_and_seal(honest, "first");
    commit_and_seal(honest, "second");
    // Files that were changed or removed.
    for name in ["checkpoint", "checkpoints/1", "tile/0/000.p/1", "tile/0/000.p/2", "tile/entries/000.p/2"] {
        let root = tempfile_copy(honest);
        let path = root.path().join("seal").join(name);
        let mut bytes = std::fs::read(&path).expect("read");
        bytes[0] ^= 1;
        std::fs::write(&path, bytes).expect("written");
        assert_eq!(verify(root.path(), &Request::default()).1, [LogFindingKind::File], "{name}");
        assert_eq!(audit_messages(root.path()).len(), 1, "{name}");
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(verify(root.path(), &Request::default()).1, [LogFindingKind::File], "{name}");
        // The next seal repairs what it needs, and a rebuild everything.
        commit_and_seal(root.path(), "third");
        rebuild_all(root.path());
        assert_sound(root.path());
    }
    // Facts that contradict each other.
    let root = tempfile_copy(honest);
    forge(root.path(), &[ManifestDigest::new([7; 32]), ManifestDigest::new([8; 32])]);
    let messages = audit_messages(root.path());
    assert!(messages.iter().any(|message| message.contains("recorded twice")), "{messages:?}");
    assert!(messages.iter().any(|message| message.contains("two checkpoints of 2")), "{messages:?}");
    // A leaf without a version.
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Archive, root.path());
    commit_pages(&history(root.path()), "first", &[("https://e.org/", "first")]);
    forge(root.path(), &[ManifestDigest::new([7; 32])]);
    assert_eq!(verify(root.path(), &Request::default()).1, [LogFindingKind::VersionMissing]);
    assert_eq!(audit_messages(root.path()).len(), 1);
}

#[test]
fn a_proof_holds_without_the_archive_and_no_changed_one_does() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let (first, older) = commit_and_seal(root, "first");
    let (second, _) = commit_and_seal(root, "second");
    commit_and_seal(root, "third");
    let honest = prove_versions(&reader(root), &[first, second]).expect("proven");
    let key = signer(1).verifier().clone();
    let check = |evidence: &LogEvidence, older: Option<&str>| {
        let mut found = Vec::new();
        let checked = evidence.check(Some(&key), older, &mut |finding| found.push(finding.kind));
        checked.map(|_| found).unwrap_or(vec![LogFindingKind::Checkpoint])
    };
    let json = serde_json::to_vec(&honest).expect("JSON");
    assert_eq!(LogEvidence::parse(&json).expect("parsed"), honest);
    assert_eq!(check(&honest, Some(&older)), []);
    let changed = |change: &dyn Fn(&mut LogEvidence)| {
        let mut evidence = honest.clone();
        change(&mut evidence);
        check(&evidence, Some(&older))
    };
    assert_eq!(changed(&|one| one.versions[0].leaf = 1), [LogFindingKind::Leaves]);
    assert_eq!(changed(&|one| one.versions[0].version = second), [LogFindingKind::Leaves]);
    assert_eq!(changed(&|one| one.versions[0].manifest.push(' ')), [LogFindingKind::Leaves]);
    assert_eq!(changed(&|one| drop(one.versions[0].inclusion.pop())), [LogFindingKind::Leaves]);
    assert_eq!(changed(&|one| one.versions[0].inclusion.push("x".repeat(44))), [LogFindingKind::Leaves]);
    assert_eq!(changed(&|one| one.consistency.clear()), [LogFindingKind::Checkpoint]);
    assert!(!changed(&|one| one.checkpoint = one.checkpoint.replace("\n3\n", "\n4\n")).is_empty());
    assert!(!changed(&|one| one.keys = vec![signer(2).verifier().to_string()]).is_empty());
    assert!(!changed(&|one| one.timestamps.push("AAAA".to_owned())).is_empty());
    for hostile in [
        &b"{}"[..],
        b"",
        b"[",
        br#"{"format":"varve-proof","number":2,"checkpoint":"","keys":[],"versions":[]}"#,
    ] {
        assert!(LogEvidence::parse(hostile).is_err());
    }
}
