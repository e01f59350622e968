//! Hostile projects: every operation ends without a panic and without reading a file outside of the
//! project.

use proptest::prelude::*;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use varve_crystal::{
    BodyLookup, BodyPackError, CreateOptions, Error, MajorVersion, Project, ProjectWriter, RevisionId,
    UrlLookup, VerifyOptions,
};
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use crate::fixture::Scratch;

fn made(version: MajorVersion) -> Scratch {
    Scratch::made(version)
}

/// Calls every reading function.
fn ask_everything(project: &Project) {
    let _ = project.info();
    let _ = project.verify(VerifyOptions { check_database: true, read_bodies: true }, &mut |_| {});
    let _ = project.find("http://a.example/");
    let _ = project.properties().count();
    let _ = project.hibernated();
    for group in project.groups().flatten() {
        let _ = project.members(&group).count();
    }
    for resource in project.resources().flatten() {
        let _ = project.default_revision(resource.id, varve_crystal::CaptureChoice::NewestGood);
    }
}

#[test]
fn wrong_types_huge_and_negative_ids_are_answered() {
    let scratch = made(MajorVersion::Tree);
    scratch.sql(
        "DROP INDEX resource_revision__status_code;
         INSERT INTO resource (id, url) VALUES (-1, x'ff00'), (9223372036854775807, 'http://max.example/');
         INSERT INTO resource (id, url) VALUES (50, CAST(x'c3' AS TEXT)), (51, 7);
         INSERT INTO resource_revision (id, resource_id, error, metadata) VALUES
             (-9223372036854775808, 1, 'null', 'null'), (0, 1, 'null', 'null'),
             (9223372036854775807, 9223372036854775807, 'null', '{\"status_code\": \"x\"}'),
             (500, 1.5, 'null', 'null'), (501, 1, 5, 6), (502, 1, CAST(x'ff' AS TEXT), 'null'),
             (503, 1, 'null', '[[[[[');
         INSERT INTO root_resource (id, name, resource_id) VALUES (-3, x'00', 3);
         INSERT INTO resource_group VALUES (-4, 5, 6.5, 7, 'x', 'y');
         INSERT INTO alias VALUES (-1, 1, 2, 'three');
         INSERT INTO project_property VALUES ('blob', x'00ff');",
    );
    let project = Project::open(&scratch.path).unwrap();
    ask_everything(&project);
    assert_eq!(project.resources().filter(Result::is_err).count(), 2);
    assert!(matches!(project.body(RevisionId(-1)), Ok(None)));
    assert!(matches!(project.body(RevisionId(i64::MAX)), Ok(None)));
    assert_eq!(project.revisions().filter(Result::is_err).count(), 2);
    assert_eq!(project.revisions().count(), 14 + 7);
    assert!(matches!(project.find("http://max.example/").unwrap(), UrlLookup::Resource(_)));
    drop(project);
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    writer.repair(&mut |_, _| {}).unwrap();
    ask_everything(&writer);
}

#[test]
fn views_triggers_and_virtual_tables_are_not_accepted_as_tables() {
    let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 'x' AS url FROM n";
    for stand_in in [
        format!("CREATE VIEW resource AS {endless}"),
        "CREATE VIRTUAL TABLE resource USING fts5(id, url)".to_owned(),
    ] {
        let scratch = made(MajorVersion::Tree);
        scratch.sql(&format!("DROP TABLE resource; {stand_in}"));
        assert!(matches!(Project::open(&scratch.path), Err(Error::Schema { .. })), "{stand_in}");
    }
    let scratch = made(MajorVersion::Tree);
    scratch.sql("CREATE TRIGGER t AFTER INSERT ON resource BEGIN DELETE FROM resource_revision; END");
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    writer.add_resource("http://new.example/").unwrap();
    assert_eq!(writer.revisions().count(), 14);
}

#[test]
fn a_database_in_utf_16_is_refused() {
    let scratch = made(MajorVersion::Tree);
    let schema = fs::read(scratch.at("database.sqlite")).unwrap();
    fs::remove_file(scratch.at("database.sqlite")).unwrap();
    assert!(!schema.is_empty());
    scratch.sql(
        "PRAGMA encoding = 'UTF-16'; CREATE TABLE project_property (name, value);
        CREATE TABLE resource (id, url); CREATE TABLE root_resource (id, name, resource_id);
        CREATE TABLE resource_group (id, name, url_pattern, source_type, source_id);
        CREATE TABLE resource_revision (id, resource_id, error, metadata)",
    );
    let Err(Error::Schema { what, .. }) = Project::open(&scratch.path) else { panic!("opened") };
    assert_eq!(what, "texts in UTF-8");
}

#[test]
fn an_oversized_value_is_an_error_and_is_not_loaded() {
    let scratch = made(MajorVersion::Tree);
    scratch.sql("UPDATE resource SET url = 'http://' || hex(zeroblob(40000000)) WHERE id = 1");
    let project = Project::open(&scratch.path).unwrap();
    assert!(project.resources().next().unwrap().is_err());
}

#[test]
fn links_among_bodies_are_refused_and_lead_nowhere() {
    use std::os::unix::fs::symlink;
    let secret = Scratch::empty();
    let other = secret.path.with_file_name("secret");
    fs::write(&other, "not yours").unwrap();
    fs::create_dir(secret.path.with_file_name("folder")).unwrap();
    fs::write(secret.path.with_file_name("folder").join("001"), "nor this").unwrap();
    let refused = |project: &Project, id| matches!(project.body(RevisionId(id)), Err(Error::Link { .. }));

    let flat = made(MajorVersion::Flat);
    fs::remove_file(flat.at("revisions/1")).unwrap();
    symlink(&other, flat.at("revisions/1")).unwrap();
    let project = Project::open(&flat.path).unwrap();
    assert!(refused(&project, 1));
    let mut problems = Vec::new();
    project.verify(VerifyOptions::default(), &mut |finding| problems.push(finding.to_string())).unwrap();
    assert!(problems.iter().any(|problem| problem.contains("symbolic link")), "{problems:?}");
    drop(project);
    // A migration moves the link itself out of the way, and never what it leads to.
    let mut writer = ProjectWriter::open(&flat.path).unwrap();
    writer.migrate(MajorVersion::Tree, &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    assert!(flat.at("salvage/1").is_symlink());
    assert_eq!(fs::read(&other).unwrap(), b"not yours");

    let tree = made(MajorVersion::Tree);
    fs::rename(tree.at("revisions/000/000/000/000"), secret.path.with_file_name("moved")).unwrap();
    symlink(secret.path.with_file_name("folder"), tree.at("revisions/000/000/000/000")).unwrap();
    let project = Project::open(&tree.path).unwrap();
    assert!(refused(&project, 1));
    drop(project);

    for name in
        ["tmp", "varve.tmp", "revisions", "database.sqlite", "salvage", "icons", "revisions.inprogress"]
    {
        let scratch = made(MajorVersion::Tree);
        let _ = fs::remove_dir_all(scratch.at(name));
        let _ = fs::remove_file(scratch.at(name));
        symlink(secret.path.with_file_name("folder"), scratch.at(name)).unwrap();
        assert!(matches!(ProjectWriter::open(&scratch.path), Err(Error::Link { .. })), "{name}");
        assert!(matches!(Project::open(&scratch.path), Err(Error::Link { .. })), "{name}");
    }
    assert_eq!(fs::read(secret.path.with_file_name("folder").join("001")).unwrap(), b"nor this");
}

/// A project of version 3 whose first pack is these bytes.
fn packed(pack: &[u8]) -> Scratch {
    let scratch = Scratch::empty();
    ProjectWriter::create(&scratch.path, CreateOptions::default()).unwrap().close().unwrap();
    scratch.sql("UPDATE project_property SET value = '3' WHERE name = 'major_version';
        INSERT INTO resource VALUES (1, 'http://a.example/');
        INSERT INTO resource_revision (id, resource_id, error, metadata) VALUES (1, 1, 'null', 'null'), (2, 1, 'null', 'null')");
    fs::create_dir_all(scratch.at("revisions/000/000/000/000")).unwrap();
    fs::write(scratch.at("revisions/000/000/000/000/00_.zip"), pack).unwrap();
    scratch
}

fn zip(entries: &[(&str, &[u8])], method: CompressionMethod, large: bool) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in entries {
        let options = SimpleFileOptions::default().compression_method(method).large_file(large);
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn read(project: &Project, id: i64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut body = project.body(RevisionId(id)).map_err(std::io::Error::other)?.unwrap();
    body.read_to_end(&mut bytes).map(|_| bytes)
}

#[test]
fn packs_of_every_method_are_read_and_loose_bodies_beside_them() {
    for (method, large) in [
        (CompressionMethod::Stored, true),
        (CompressionMethod::Stored, false),
        (CompressionMethod::Deflated, false),
    ] {
        let scratch = packed(&zip(&[("001", b"in the pack"), ("00f", b"")], method, large));
        fs::write(scratch.at("revisions/000/000/000/000/002"), "loose").unwrap();
        let project = Project::open(&scratch.path).unwrap();
        assert_eq!(read(&project, 1).unwrap(), b"in the pack");
        assert_eq!(read(&project, 2).unwrap(), b"loose");
        assert_eq!(project.body_length(RevisionId(15)).unwrap(), Some(0));
        fs::rename(
            scratch.at("revisions/000/000/000/000/00_.zip"),
            scratch.at("revisions/000/000/000/000/00_.zip.replacing"),
        )
        .unwrap();
        assert_eq!(read(&project, 1).unwrap(), b"in the pack");
    }
}

#[test]
fn an_invalid_pack_is_a_typed_error_and_loose_bodies_are_found() {
    let scratch = packed(b"this is no zip at all");
    let project = Project::open(&scratch.path).unwrap();
    let Err(Error::Pack { source: BodyPackError::NoDirectory, .. }) = project.body(RevisionId(1)) else {
        panic!("read")
    };
    fs::write(scratch.at("revisions/000/000/000/000/001"), "loose").unwrap();
    assert_eq!(read(&project, 1).unwrap(), b"loose");
    ask_everything(&project);
}

#[test]
fn a_changed_byte_in_a_pack_is_noticed() {
    let mut pack = zip(&[("001", b"in the pack")], CompressionMethod::Stored, false);
    let at = pack.windows(11).position(|window| window == b"in the pack").unwrap();
    pack[at] ^= 1;
    let scratch = packed(&pack);
    let error = read(&Project::open(&scratch.path).unwrap(), 1).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
}

#[test]
fn zip_bombs_are_refused_or_end_at_their_declared_length() {
    let zeros = vec![0; 50 << 20];
    let bomb = zip(&[("001", &zeros)], CompressionMethod::Deflated, false);
    assert!(bomb.len() < 100_000);
    // Honest about its size: it streams, and ends there.
    let project = Project::open(packed(&bomb).path.clone());
    drop(project);
    let scratch = packed(&bomb);
    let project = Project::open(&scratch.path).unwrap();
    let mut body = project.body(RevisionId(1)).unwrap().unwrap();
    assert_eq!(std::io::copy(&mut body, &mut std::io::sink()).unwrap(), 50 << 20);
    // Claims less than comes out: it ends where it said, with the wrong checksum.
    let mut lying = bomb.clone();
    set_directory_length(&mut lying, 10);
    let scratch = packed(&lying);
    assert!(read(&Project::open(&scratch.path).unwrap(), 1).is_err());
    // Claims more than could ever come out.
    let mut greedy = bomb;
    set_directory_length(&mut greedy, u32::MAX - 1);
    let scratch = packed(&greedy);
    let refused = Project::open(&scratch.path).unwrap().body(RevisionId(1));
    assert!(matches!(refused, Err(Error::Pack { source: BodyPackError::BadEntry, .. })));
}

fn set_directory_length(zip: &mut [u8], length: u32) {
    let at = zip.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    zip[at + 24..at + 28].copy_from_slice(&length.to_le_bytes());
}

#[test]
fn a_directory_of_too_many_entries_is_refused() {
    let names: Vec<String> = (0..2_000).map(|number| format!("{number:06}")).collect();
    let entries: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let scratch = packed(&zip(&entries, CompressionMethod::Stored, false));
    let project = Project::open(&scratch.path).unwrap();
    let refused = project.body(RevisionId(1));
    assert!(matches!(refused, Err(Error::Pack { source: BodyPackError::NoDirectory, .. })));
    let revision = project.revision(RevisionId(1)).unwrap().unwrap();
    assert!(project.body_of(&revision).is_err());
}

#[test]
fn folders_and_pipes_in_the_place_of_bodies_are_missing_bodies() {
    let scratch = made(MajorVersion::Tree);
    let body = scratch.at("revisions/000/000/000/000/001");
    fs::remove_file(&body).unwrap();
    fs::create_dir(&body).unwrap();
    let project = Project::open(&scratch.path).unwrap();
    let revision = project.revision(RevisionId(1)).unwrap().unwrap();
    assert!(
        matches!(project.body_of(&revision).unwrap(), BodyLookup::Missing { expected } if expected == body)
    );
}

fn assert_answered(path: &Path) {
    if let Ok(project) = Project::open(path) {
        ask_everything(&project);
    }
    if let Ok(mut writer) = ProjectWriter::open(path) {
        let _ = writer.repair(&mut |_, _| {});
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn any_damage_to_the_database_is_answered(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40)) {
        let scratch = made(MajorVersion::Tree);
        let mut bytes = fs::read(scratch.at("database.sqlite")).unwrap();
        for (at, byte) in &damage {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        fs::write(scratch.at("database.sqlite"), bytes).unwrap();
        assert_answered(&scratch.path);
    }

    #[test]
    fn any_damage_to_a_pack_is_answered(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..10), cut: prop::sample::Index) {
        let mut pack = zip(&[("001", b"in the pack"), ("002", b"too")], CompressionMethod::Deflated, true);
        for (at, byte) in &damage {
            let at = at.index(pack.len());
            pack[at] = *byte;
        }
        if damage.len() % 2 == 0 {
            pack.truncate(cut.index(pack.len()));
        }
        let scratch = packed(&pack);
        assert_answered(&scratch.path);
    }
}
