//! Everything that can be wrong with a project is found, and what can be repaired is.

use std::fs;
use varve_crystal::{
    AliasId, Error, FindingSeverity, GroupId, MajorVersion, Project, ProjectFinding, ProjectWriter,
    ResourceId, RevisionId, RootId, VerifyOptions,
};

use crate::checklist::{Made, assert_acceptable};
use crate::fixture::{Scratch, lab};

const CLOSE: VerifyOptions = VerifyOptions { check_database: true, read_bodies: true };

fn findings(project: &Project) -> Vec<ProjectFinding> {
    let mut found = Vec::new();
    let verified = project.verify(CLOSE, &mut |finding| found.push(finding)).unwrap();
    let is_counted = |finding: &&ProjectFinding| !matches!(finding, ProjectFinding::SchemaOlder { .. });
    assert_eq!(verified.findings, found.iter().filter(is_counted).count() as u64);
    found
}

#[test]
fn intact_fixtures_have_no_findings() {
    for name in ["lab-v2", "lab-v1-flat", "lab-v1-migrated-by-crystal", "lab-v2-hibernated", "lab-v3-pack16"]
    {
        let Some(scratch) = lab(name) else { return };
        let project = Project::open(&scratch.path).unwrap();
        assert_eq!(findings(&project), [], "{name}");
        let verified = project.verify(CLOSE, &mut |_| {}).unwrap();
        assert_eq!((verified.revisions, verified.bodies, verified.missing_bodies), (53, 41, 0), "{name}");
    }
}

#[test]
fn unfinished_states_are_findings_and_older_schemas_are_reported() {
    let Some(scratch) = lab("lab-v1-migration-interrupted") else { return };
    assert_eq!(findings(&Project::open(&scratch.path).unwrap()), [ProjectFinding::MigrationUnfinished]);
    let scratch = lab("lab-v1-oldschema").unwrap();
    let older = findings(&Project::open(&scratch.path).unwrap());
    assert_eq!(older.len(), 6);
    assert!(older.iter().all(|finding| matches!(finding, ProjectFinding::SchemaOlder { .. })));
}

/// A project with one of everything that can be wrong.
fn damaged() -> Option<Scratch> {
    let scratch = lab("lab-v2")?;
    scratch.sql(
        "DROP INDEX resource_revision__status_code;
         UPDATE resource_revision SET metadata = '{broken' WHERE id = 2;
         UPDATE resource_revision SET error = 'oops' WHERE id = 3;
         UPDATE resource_revision SET error = '[1]' WHERE id = 18;
         UPDATE resource_revision SET resource_id = 999 WHERE id = 4;
         INSERT INTO resource_revision (id, resource_id, error, metadata) VALUES (-5, 1, 'null', 'null');
         INSERT INTO resource_revision (id, resource_id, error, metadata) VALUES (60, 1, x'00ff', 'null');
         INSERT INTO root_resource (id, name, resource_id) VALUES (7, 'gone', 998);
         INSERT INTO resource_group VALUES (10, '', '', NULL, NULL, 0);
         INSERT INTO resource_group VALUES (11, '', 'http://x/*', 'root_resource', 997, 0);
         INSERT INTO resource_group VALUES (12, '', 'http://y/*', 'resource_group', 13, 0);
         INSERT INTO resource_group VALUES (13, '', 'http://z/*', 'resource_group', 12, 0);
         INSERT INTO resource_group VALUES (14, '', 'http://w/*', 'planet', 3, 0);
         INSERT INTO resource_group VALUES (15, '', 'http://v/*', 'root_resource', 7, 0);
         INSERT INTO alias VALUES (5, 'http://slashless', 'http://x/', 0);
         INSERT INTO alias VALUES (6, 'http://www.alias.example', 'http://x', 1);
         INSERT INTO project_property VALUES ('hibernated_state', '{');",
    );
    fs::remove_file(scratch.at("revisions/000/000/000/000/005")).unwrap();
    fs::write(scratch.at("revisions/000/000/000/000/100"), "orphan").unwrap();
    fs::write(scratch.at("revisions/000/000/000/000/013"), "body of an error").unwrap();
    fs::write(scratch.at("revisions/000/Thumbs.db"), "stray").unwrap();
    Some(scratch)
}

#[test]
fn every_kind_of_finding_is_reported() {
    let Some(scratch) = damaged() else { return };
    let found = findings(&Project::open(&scratch.path).unwrap());
    let at = |name: &str| scratch.at("revisions").join(name);
    for expected in [
        ProjectFinding::SchemaOlder { name: "resource_revision__status_code" },
        ProjectFinding::RootWithoutResource { root: RootId(7), resource: ResourceId(998) },
        ProjectFinding::PatternEmpty { group: GroupId(10) },
        ProjectFinding::SourceDangling { group: GroupId(11) },
        ProjectFinding::SourceCycle { group: GroupId(12) },
        ProjectFinding::SourceCycle { group: GroupId(13) },
        ProjectFinding::SourceUnknown { group: GroupId(14), word: "planet".into() },
        ProjectFinding::AliasUnsound { alias: AliasId(5) },
        ProjectFinding::AliasUnsound { alias: AliasId(6) },
        ProjectFinding::IdOutOfRange { revision: RevisionId(-5) },
        ProjectFinding::MetadataUnreadable {
            revision: RevisionId(2),
            problem: "it is not JSON, at column 2".into(),
        },
        ProjectFinding::ErrorUnreadable {
            revision: RevisionId(3),
            problem: "it is not JSON, at column 1".into(),
        },
        ProjectFinding::RevisionWithoutResource { revision: RevisionId(4), resource: ResourceId(999) },
        ProjectFinding::BodyMissing { revision: RevisionId(5), expected: at("000/000/000/000/005") },
        ProjectFinding::RowUnreadable {
            table: "resource_revision",
            id: 60,
            column: "error",
            problem: "a value of type Blob".into(),
        },
        ProjectFinding::StrayFile { path: at("000/Thumbs.db") },
        ProjectFinding::BodyOfError { revision: RevisionId(19), path: at("000/000/000/000/013") },
        ProjectFinding::BodyWithoutRow { revision: RevisionId(256), path: at("000/000/000/000/100") },
    ] {
        assert!(found.contains(&expected), "{expected}");
    }
    assert!(found.iter().any(|finding| matches!(finding, ProjectFinding::HibernatedUnreadable { .. })));
    assert!(found.iter().any(
        |finding| matches!(finding, ProjectFinding::ErrorUnreadable { revision, .. } if revision.get() == 18)
    ));
    assert_eq!(found.len(), 20, "{found:#?}");
    assert!(found.iter().any(|finding| finding.severity() == FindingSeverity::Damage));
}

#[test]
fn repair_mends_findings_and_deletes_no_body() {
    let Some(scratch) = damaged() else { return };
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    assert_eq!(writer.report().upgraded.skipped, ["resource_revision__status_code"]);
    let (mut left, mut said) = (Vec::new(), Vec::new());
    let repaired = writer
        .repair(&mut |finding, repair| {
            match &repair.did {
                Some(did) => said.push(format!("{finding}: {did}")),
                None => left.push(finding.clone()),
            }
            assert!(repair.is_done() || repair.to_do.is_some(), "{finding}");
        })
        .unwrap();
    assert_eq!((repaired.done, repaired.left), (16, 3));
    assert_eq!(findings(&writer), left);
    assert_eq!(
        left.iter().map(ProjectFinding::to_string).collect::<Vec<_>>(),
        [
            "revision -5 has an id that no body can have",
            "revision 4 is of resource 999, which is not there",
            "row 60 of table `resource_revision` has a value of type Blob in column `error`",
        ]
    );
    for words in [
        "the metadata of revision 2 cannot be read: it is not JSON, at column 2: the revision has none now, and its text \
         is kept in `salvage/revision-2-metadata.txt`",
        "a prefix of alias 5 does not end with `/`: both prefixes end with `/` now",
        "a prefix of alias 6 does not end with `/`: the alias was deleted: with `/` it is the second of its source, and \
         the first counts",
        "the source of group 11 is not there: the group has no source now",
        "the database has no `resource_revision__status_code`: it was added",
    ] {
        assert!(said.iter().any(|line| line == words), "{words}: {said:#?}");
    }
    for (name, content) in [
        ("revision-2-metadata.txt", "{broken"),
        ("revision-3-error.txt", "oops"),
        ("hibernated_state.txt", "{"),
        ("revision-256", "orphan"),
        ("revision-19", "body of an error"),
        ("Thumbs.db", "stray"),
    ] {
        assert_eq!(fs::read_to_string(scratch.at("salvage").join(name)).unwrap(), content, "{name}");
    }
    let row: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(scratch.at("salvage/revision-5.json")).unwrap()).unwrap();
    assert_eq!(row["url"], "http://127.0.0.1:28300/back.gif");
    let revision = |id| writer.revision(RevisionId(id)).unwrap().unwrap();
    assert_eq!(revision(3).error, "null");
    assert_eq!(revision(18).download_error().unwrap().unwrap().message, "[1]");
    writer.close().unwrap();
    scratch.sql("DELETE FROM resource_revision WHERE id IN (-5, 4, 60)");
    assert_acceptable(&scratch.path, Made::ByCrystal);
}

#[test]
fn where_most_bodies_are_missing_no_row_is_deleted() {
    let scratch = Scratch::made(MajorVersion::Tree);
    fs::rename(scratch.at("revisions/000/000/000/000"), scratch.path.with_file_name("elsewhere")).unwrap();
    fs::rename(scratch.at("revisions/000/000/000/001"), scratch.path.with_file_name("elsewhere too"))
        .unwrap();
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    let repaired = writer.repair(&mut |_, _| {}).unwrap();
    assert!(repaired.before.missing_bodies > repaired.before.bodies);
    assert_eq!((repaired.done, repaired.left), (0, repaired.before.missing_bodies));
    assert_eq!(writer.revisions().count(), 14);
}

#[test]
fn a_damaged_page_of_the_database_is_found_or_refused() {
    let scratch = Scratch::made(MajorVersion::Tree);
    let mut bytes = fs::read(scratch.at("database.sqlite")).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 64].fill(0xff);
    fs::write(scratch.at("database.sqlite"), bytes).unwrap();
    match Project::open(&scratch.path).and_then(|project| project.verify(CLOSE, &mut |_| {})) {
        Ok(verified) => assert!(verified.findings > 0),
        Err(Error::Database { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_project_is_counted() {
    let Some(scratch) = lab("lab-v2-hibernated") else { return };
    let project = Project::open(&scratch.path).unwrap();
    let info = serde_json::to_value(project.info().unwrap()).unwrap();
    for (name, count) in [
        ("major_version", 2),
        ("resources", 64),
        ("revisions", 53),
        ("error_revisions", 12),
        ("roots", 2),
        ("groups", 2),
        ("aliases", 2),
        ("bodies", 41),
        ("missing_bodies", 0),
        ("hibernated_tasks", 2),
    ] {
        assert_eq!(info[name], count, "{name}");
    }
    let expected = crate::fixture::expected().unwrap();
    let bytes: u64 = crate::fixture::expected_bodies(&expected).values().map(|(_, length)| length).sum();
    assert_eq!(info["bytes"], bytes);
    let members: Vec<_> = project
        .group_infos()
        .map(|info| info.unwrap())
        .map(|info| (info.members, info.downloaded_members))
        .collect();
    assert_eq!(members, [(3, 1), (1, 0)]);
}

/// A padded `null` is a body's row for a reader and an error for the index that searches use.
#[test]
fn a_padded_null_is_found_and_repaired() {
    let scratch = Scratch::made(MajorVersion::Tree);
    scratch.sql("UPDATE resource_revision SET error = ' null' WHERE id = 2");
    let found = findings(&Project::open(&scratch.path).unwrap());
    assert_eq!(found, [ProjectFinding::ErrorPadded { revision: RevisionId(2) }]);
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    let repaired = writer.repair(&mut |_, _| {}).unwrap();
    assert_eq!((repaired.done, repaired.left), (1, 0));
    assert_eq!(findings(&writer), []);
    assert_eq!(writer.info().unwrap().error_revisions, 2);
}

#[test]
fn an_older_schema_is_reported_and_is_not_a_finding() {
    let scratch = Scratch::made(MajorVersion::Tree);
    scratch.sql("DROP INDEX resource_revision__status_code; DROP TABLE alias");
    let mut reported = Vec::new();
    let project = Project::open(&scratch.path).unwrap();
    let verified = project.verify(CLOSE, &mut |finding| reported.push(finding)).unwrap();
    assert_eq!((verified.findings, reported.len()), (0, 2), "{reported:?}");
}

/// Several things are wrong with one row, or with one file: each thing is reported once, and what
/// is found after the repair is what the repair left.
#[test]
fn repair_reports_each_thing_once_and_leaves_only_what_it_says() {
    use std::os::unix::fs::symlink;
    let scratch = Scratch::made(MajorVersion::Tree);
    scratch.sql(
        "DROP INDEX resource_revision__status_code;
         UPDATE resource_revision SET metadata = '{broken', resource_id = 999 WHERE id = 2;
         UPDATE resource_revision SET error = 'oops' WHERE id = 15;
         INSERT INTO project_property VALUES ('hibernated_state', x'00ff');",
    );
    let body = |name: &str| scratch.at("revisions/000/000/000/000").join(name);
    fs::remove_file(body("002")).unwrap();
    for name in ["003", "00f"] {
        fs::remove_file(body(name)).unwrap();
        symlink("/nowhere", body(name)).unwrap();
    }
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    let (mut all, mut left) = (Vec::new(), Vec::new());
    let report = &mut |finding: &ProjectFinding, repair: &varve_crystal::FindingRepair| {
        all.push(finding.clone());
        if !repair.is_done() {
            left.push(finding.clone());
        }
    };
    writer.repair(report).unwrap();
    let of_two: Vec<_> = all.iter().filter(|finding| finding.to_string().contains("revision 2 ")).collect();
    assert_eq!(of_two.len(), 1, "{all:#?}");
    let of_link: Vec<_> = all.iter().filter(|finding| finding.to_string().contains("003")).collect();
    assert_eq!(of_link.len(), 1, "{all:#?}");
    let of_blob: Vec<_> =
        all.iter().filter(|finding| finding.to_string().contains("project_property")).collect();
    assert_eq!(of_blob.len(), 1, "{all:#?}");
    assert_eq!(findings(&writer), left);
}
