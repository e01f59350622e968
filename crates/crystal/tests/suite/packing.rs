//! Packs: sixteen bodies in one zip, written and migrated to as Crystal 2.3 does, and never at the
//! cost of a body.

use std::fs;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use varve_crystal::{
    CreateOptions, DiskStep, DownloadError, DownloadOutcome, MajorVersion, MigrationStage, NewRevision,
    OpenOptions, Project, ProjectFinding, ProjectWriter, ResourceId, RevisionId, VerifyOptions, Watcher,
};

use crate::checklist::{Made, assert_acceptable};
use crate::fixture::{Scratch, expected, expected_bodies, files, lab};
use crate::made::{bodies, content, made_bodies};

const FIRST_PACK: &str = "revisions/000/000/000/000/00_.zip";

fn created() -> (Scratch, ProjectWriter, ResourceId) {
    let scratch = Scratch::empty();
    let options = CreateOptions { version: MajorVersion::Packed, watcher: None };
    let mut writer = ProjectWriter::create(&scratch.path, options).unwrap();
    let page = writer.add_root("Home", "http://a.example/").unwrap().resource;
    (scratch, writer, page)
}

fn add(writer: &mut ProjectWriter, resource: ResourceId, content: &[u8]) -> RevisionId {
    let mut body = writer.begin_body().unwrap();
    body.write_all(content).unwrap();
    let outcome = DownloadOutcome::Fetched { metadata: None, body };
    writer.add_revision(NewRevision { id: None, resource, request_cookie: None, outcome }).unwrap()
}

fn add_up_to(writer: &mut ProjectWriter, page: ResourceId, last: i64) {
    let next = writer.newest_revision().unwrap().map_or(1, |id| id.get() + 1);
    for id in next..=last {
        assert_eq!(add(writer, page, &content(id)), RevisionId(id));
    }
}

fn names_in(scratch: &Scratch, pack: &str) -> Vec<String> {
    let zip = zip::ZipArchive::new(fs::File::open(scratch.at(pack)).unwrap()).unwrap();
    let mut names: Vec<String> = zip.file_names().map(|name| name.unwrap().into_owned()).collect();
    names.sort();
    names
}

fn stored(ids: std::ops::RangeInclusive<i64>) -> std::collections::BTreeMap<i64, Vec<u8>> {
    ids.map(|id| (id, content(id))).collect()
}

#[test]
fn the_sixteenth_revision_packs_its_neighbours_even_if_it_failed() {
    let (scratch, mut writer, page) = created();
    add_up_to(&mut writer, page, 14);
    assert!(!scratch.at(FIRST_PACK).exists());
    let outcome = DownloadOutcome::Failed(DownloadError::timed_out());
    writer.add_revision(NewRevision { id: None, resource: page, request_cookie: None, outcome }).unwrap();
    assert_eq!(names_in(&scratch, FIRST_PACK).len(), 14);
    assert!(!scratch.at("revisions/000/000/000/000/001").exists());
    add_up_to(&mut writer, page, 33);
    assert_eq!(names_in(&scratch, "revisions/000/000/000/000/01_.zip").len(), 16);
    let mut expected = stored(1..=33);
    expected.remove(&15);
    assert_eq!(bodies(&writer), expected);
    writer.close().unwrap();
    assert_acceptable(&scratch.path, Made::ByUs);
    let mut findings = 0;
    let options = VerifyOptions { check_database: true, read_bodies: true };
    Project::open(&scratch.path).unwrap().verify(options, &mut |_| findings += 1).unwrap();
    assert_eq!(findings, 0);
}

/// Crystal writes a pack of the one new body, in place of the fifteen others.
#[test]
fn an_id_that_is_given_again_costs_the_older_bodies_of_its_pack_nothing() {
    let (scratch, mut writer, page) = created();
    add_up_to(&mut writer, page, 15);
    writer.close().unwrap();
    scratch.sql("DELETE FROM resource_revision WHERE id = 15");
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    assert_eq!(add(&mut writer, page, b"again"), RevisionId(15));
    let mut expected = stored(1..=15);
    expected.insert(15, b"again".to_vec());
    assert_eq!(bodies(&writer), expected);
    writer.close().unwrap();
    assert_eq!(names_in(&scratch, FIRST_PACK).len(), 15);
    assert_eq!(fs::read(scratch.at("salvage/revision-15")).unwrap(), content(15));
    assert_acceptable(&scratch.path, Made::ByUs);
}

#[test]
fn a_pack_that_cannot_be_written_leaves_its_bodies_readable_and_is_written_later() {
    let (scratch, mut writer, page) = created();
    add_up_to(&mut writer, page, 14);
    writer.close().unwrap();
    let watcher: Watcher = Arc::new(|step| match step {
        DiskStep::Rename { to, .. } if to.ends_with("00_.zip") => Err(io::Error::other("full")),
        _ => Ok(()),
    });
    let options = OpenOptions { watcher: Some(watcher), ..OpenOptions::default() };
    let mut writer = ProjectWriter::open_with(&scratch.path, options).unwrap();
    add(&mut writer, page, &content(15));
    assert_eq!(bodies(&writer), stored(1..=15));
    writer.close().unwrap_err();
    assert_eq!(bodies(&Project::open(&scratch.path).unwrap()), stored(1..=15));
    ProjectWriter::open(&scratch.path).unwrap().close().unwrap();
    assert_eq!(names_in(&scratch, FIRST_PACK).len(), 15);
    assert_acceptable(&scratch.path, Made::ByUs);
}

#[test]
fn migrations_go_as_far_as_they_are_asked_to() {
    for version in [MajorVersion::Flat, MajorVersion::Tree, MajorVersion::Packed] {
        let scratch = Scratch::made(version);
        let mut writer = ProjectWriter::open(&scratch.path).unwrap();
        let done = writer.migrate(MajorVersion::Packed, &mut |_| ControlFlow::Continue(())).unwrap();
        let moved = match version {
            MajorVersion::Flat => 12 + 11,
            MajorVersion::Tree => 11,
            MajorVersion::Packed => 0,
        };
        assert_eq!((done.moved, done.unreadable), (moved, 0));
        assert_eq!((writer.version(), bodies(&writer)), (MajorVersion::Packed, made_bodies()));
        assert_eq!(writer.property("major_version_old").unwrap(), None);
        writer.close().unwrap();
        assert_eq!(names_in(&scratch, FIRST_PACK), ["001", "002", "003", "00f"]);
        assert_acceptable(&scratch.path, Made::ByUs);
    }
}

#[test]
fn a_move_to_packs_that_was_stopped_is_told_and_completed() {
    let scratch = Scratch::made(MajorVersion::Tree);
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    let stopped = writer.migrate(MajorVersion::Packed, &mut |progress| match progress.moved {
        0 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    stopped.unwrap_err();
    writer.close().unwrap();
    let project = Project::open(&scratch.path).unwrap();
    let pending = project.pending_migration().unwrap().unwrap();
    assert_eq!((pending.to, pending.stage), (MajorVersion::Packed, MigrationStage::Interrupted));
    assert_eq!(bodies(&project), made_bodies());
    drop(project);
    let writer = ProjectWriter::open(&scratch.path).unwrap();
    assert_eq!((writer.pending_migration().unwrap(), bodies(&writer)), (None, made_bodies()));
    writer.close().unwrap();
    assert_acceptable(&scratch.path, Made::ByUs);
}

/// What Crystal packed from the same bodies, byte for byte.
#[test]
fn the_packs_of_a_real_project_are_those_of_crystal() {
    let (Some(scratch), Some(golden)) = (lab("lab-v2"), lab("lab-v3-pack16")) else { return };
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    writer.migrate(MajorVersion::Packed, &mut |_| ControlFlow::Continue(())).unwrap();
    writer.close().unwrap();
    assert_eq!(files(&scratch.at("revisions")), files(&golden.at("revisions")));
    assert_acceptable(&scratch.path, Made::ByCrystal);
}

#[test]
fn a_project_that_crystal_packed_is_written() {
    let Some(scratch) = lab("lab-v3-pack16") else { return };
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    let page = writer.resources().next().unwrap().unwrap().id;
    let newest = writer.newest_revision().unwrap().unwrap().get();
    let last = newest | 15;
    add_up_to(&mut writer, page, last);
    let (found, missing) = crate::fixture::bodies(&writer);
    assert!(missing.is_empty());
    let mut before = expected_bodies(&expected().unwrap());
    before.retain(|id, body| found.get(id) != Some(body));
    assert!(before.is_empty(), "{before:?}");
    writer.close().unwrap();
    assert_acceptable(&scratch.path, Made::ByCrystal);
}

#[test]
fn a_body_in_a_pack_that_no_row_names_is_moved_to_salvage_and_its_neighbours_stay() {
    let (scratch, mut writer, page) = created();
    add_up_to(&mut writer, page, 17);
    writer.close().unwrap();
    scratch.sql("DELETE FROM resource_revision WHERE id = 7");
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    let mut repaired = Vec::new();
    writer.repair(&mut |finding, repair| repaired.push((finding.clone(), repair.is_done()))).unwrap();
    assert!(
        matches!(&repaired[..], [(ProjectFinding::BodyWithoutRow { revision: RevisionId(7), .. }, true)]),
        "{repaired:?}"
    );
    assert_eq!(fs::read(scratch.at("salvage/revision-7")).unwrap(), content(7));
    let mut expected = stored(1..=17);
    expected.remove(&7);
    assert_eq!(bodies(&writer), expected);
    writer.close().unwrap();
    assert_acceptable(&scratch.path, Made::ByUs);
}
