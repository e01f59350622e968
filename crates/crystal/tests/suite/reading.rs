//! Reading fixtures in every state: all rows and bodies are found.

use serde_json::{Value, json};
use varve_core::secret::Secret;
use varve_crystal::{
    CaptureChoice, Error, GroupId, GroupSource, HibernatedTask, MajorVersion, Project, ProjectWriter,
    ResourceId, RevisionId, UrlLookup,
};

use crate::fixture::{bodies, expected, expected_bodies, files, lab};

/// All rows of a project in the form of `lab-expected.json`.
pub(crate) fn tables(project: &Project) -> Value {
    let source = |source: Option<GroupSource>| match source {
        None => (Value::Null, Value::Null),
        Some(GroupSource::Root(id)) => (json!("root_resource"), json!(id)),
        Some(GroupSource::Group(id)) => (json!("resource_group"), json!(id)),
    };
    let revision = |revision: varve_crystal::Revision| {
        let cookie = revision.request_cookie.map(Secret::into_exposed);
        json!({"error": revision.error, "id": revision.id, "metadata": revision.metadata,
            "request_cookie": cookie, "resource_id": revision.resource})
    };
    json!({
        "alias": project.aliases().map(Result::unwrap).map(|alias| json!({
            "id": alias.id, "source_url_prefix": alias.source_url_prefix,
            "target_is_external": i32::from(alias.target_is_external),
            "target_url_prefix": alias.target_url_prefix})).collect::<Vec<_>>(),
        "resource": project.resources().map(Result::unwrap).map(|resource| json!({
            "id": resource.id, "url": resource.url})).collect::<Vec<_>>(),
        "resource_group": project.groups().map(Result::unwrap).map(|group| {
            let (kind, id) = source(group.source);
            json!({"do_not_download": i32::from(group.do_not_download), "id": group.id, "name": group.name,
                "source_id": id, "source_type": kind, "url_pattern": group.url_pattern})
        }).collect::<Vec<_>>(),
        "resource_revision": project.revisions().map(Result::unwrap).map(revision).collect::<Vec<_>>(),
        "root_resource": project.roots().map(Result::unwrap).map(|root| json!({
            "id": root.id, "name": root.name, "resource_id": root.resource})).collect::<Vec<_>>(),
    })
}

/// What every lab project shares with the intact one.
pub(crate) fn assert_tables(project: &Project, expected: &Value, but: &[&str]) {
    let found = tables(project);
    for (table, rows) in found.as_object().unwrap() {
        if !but.contains(&table.as_str()) {
            assert_eq!(rows, &expected[table], "{table}");
        }
    }
}

#[test]
fn every_row_and_body_of_the_fixtures_is_read_in_every_state() {
    let Some(expected) = expected() else { return };
    for (name, version, half) in [
        ("lab-v2", MajorVersion::Tree, false),
        ("lab-v1-flat", MajorVersion::Flat, false),
        ("lab-v1-migrated-by-crystal", MajorVersion::Tree, false),
        ("lab-v1-migration-interrupted", MajorVersion::Flat, true),
        ("lab-v2-commit-interrupted", MajorVersion::Tree, true),
        ("lab-v2-hibernated", MajorVersion::Tree, false),
        ("lab-v3-pack16", MajorVersion::Packed, false),
    ] {
        let scratch = lab(name).unwrap();
        let before = files(&scratch.path);
        let project = Project::open(&scratch.path).unwrap();
        assert_eq!(
            (project.version(), project.pending_migration().unwrap().is_some()),
            (version, half),
            "{name}"
        );
        assert_tables(&project, &expected, &[]);
        assert_eq!(bodies(&project), (expected_bodies(&expected), vec![]), "{name}");
        drop(project);
        assert_eq!(files(&scratch.path), before, "{name} was changed by reading it");
    }
}

#[test]
fn properties_are_typed_and_kept() {
    let Some(scratch) = lab("lab-v2-hibernated") else { return };
    let project = Project::open(&scratch.path).unwrap();
    assert_eq!(project.default_url_prefix().unwrap().as_deref(), Some("http://127.0.0.1:28300"));
    let state = project.hibernated().unwrap().unwrap().unwrap();
    assert_eq!(state.tasks[0], HibernatedTask::DownloadResourceGroupTask { group_id: "1".into() });
    let names: Vec<_> = project.properties().map(|property| property.unwrap().0).collect();
    assert_eq!(
        names,
        [
            "default_url_prefix",
            "entity_title_format",
            "hibernated_state",
            "html_parser_type",
            "major_version"
        ]
    );
    let text = project.property("hibernated_state").unwrap();
    drop(project);
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    writer.add_root("x", "http://127.0.0.1:28300/2/").unwrap();
    writer.close().unwrap();
    assert_eq!(Project::open(&scratch.path).unwrap().property("hibernated_state").unwrap(), text);
}

#[test]
fn older_schemas_are_read_with_stand_ins() {
    let Some(scratch) = lab("lab-v1-oldschema") else { return };
    let mut expected = expected().unwrap();
    for group in expected["resource_group"].as_array_mut().unwrap() {
        group["do_not_download"] = json!(0);
    }
    for revision in expected["resource_revision"].as_array_mut().unwrap() {
        revision["request_cookie"] = Value::Null;
    }
    expected["alias"] = json!([]);
    let project = Project::open(&scratch.path).unwrap();
    assert_tables(&project, &expected, &[]);
    assert_eq!(bodies(&project), (expected_bodies(&expected), vec![]));
}

#[test]
fn a_missing_body_is_reported() {
    let Some(scratch) = lab("lab-v2-last-body-missing") else { return };
    let project = Project::open(&scratch.path).unwrap();
    assert_eq!(bodies(&project).1, [RevisionId(53)]);
}

#[test]
fn a_later_version_is_refused_by_its_number_and_nothing_is_touched() {
    let Some(scratch) = lab("lab-too-new-v4") else { return };
    let before = files(&scratch.path);
    let Err(Error::TooNew { version, .. }) = Project::open(&scratch.path) else { panic!("read") };
    assert_eq!(version, "4");
    let Err(error) = ProjectWriter::open(&scratch.path) else { panic!("written") };
    assert!(error.to_string().contains("major version 4"), "{error}");
    assert_eq!(files(&scratch.path), before);
}

#[test]
fn urls_are_found_through_their_alternatives_and_aliases() {
    let Some(scratch) = lab("lab-v2") else { return };
    let project = Project::open(&scratch.path).unwrap();
    let find = |url: &str| project.find(url).unwrap();
    let id = |url: &str| match find(url) {
        UrlLookup::Resource(resource) => resource.id.get(),
        other => panic!("{url}: {other:?}"),
    };
    assert_eq!(id("http://127.0.0.1:28300/"), 1);
    assert_eq!(id("http://127.0.0.1:28300#top"), 1);
    assert_eq!(id("http://OTHER.example/a b"), 21);
    assert_eq!(id("http://www.alias.example/1/"), 16);
    assert_eq!(find("http://live.example/a?b"), UrlLookup::External("https://live.example/x/a?b".into()));
    assert_eq!(find("http://new.example"), UrlLookup::Unknown("http://new.example/".into()));
}

#[test]
fn members_are_those_that_the_pattern_matches() {
    let Some(scratch) = lab("lab-v2") else { return };
    let project = Project::open(&scratch.path).unwrap();
    let group = |id| project.group(GroupId(id)).unwrap().unwrap();
    let ids = |id| project.members(&group(id)).map(|found| found.unwrap().id.get()).collect::<Vec<_>>();
    let urls = |id| project.members(&group(id)).map(|found| found.unwrap().url).collect::<Vec<_>>();
    assert_eq!(ids(1), [16, 17, 18]);
    assert_eq!(urls(1), [1, 2, 3].map(|n| format!("http://127.0.0.1:28300/{n}/")));
    assert_eq!(ids(2), [12]);
    assert_eq!(group(2).source, Some(GroupSource::Group(GroupId(1))));
}

#[test]
fn revisions_come_newest_first_and_the_default_is_the_newest_or_the_newest_good() {
    let Some(scratch) = lab("lab-v2") else { return };
    let insert = "INSERT INTO resource_revision (resource_id, error, metadata)";
    scratch
        .sql(&format!("{insert} VALUES (22, '{{\"type\": \"TimeoutError\", \"message\": \"\"}}', 'null')"));
    scratch.sql(&format!("{insert} VALUES (1, '{{\"type\": \"TimeoutError\", \"message\": \"\"}}', 'null')"));
    let project = Project::open(&scratch.path).unwrap();
    let of = |id| project.revisions_of(ResourceId(id)).map(|row| row.unwrap().id.get()).collect::<Vec<_>>();
    assert_eq!(of(1), [55, 51, 1]);
    let default =
        |id, choice| project.default_revision(ResourceId(id), choice).unwrap().map(|row| row.id.get());
    assert_eq!(default(1, CaptureChoice::Newest), Some(55));
    assert_eq!(default(1, CaptureChoice::NewestGood), Some(51));
    assert_eq!(default(22, CaptureChoice::NewestGood), Some(54));
    assert_eq!(default(19, CaptureChoice::Newest), None);
}

#[test]
fn an_answer_that_was_cut_short_is_known_by_its_length_and_is_not_good() {
    let Some(scratch) = lab("lab-v2") else { return };
    let project = Project::open(&scratch.path).unwrap();
    let cut: Vec<i64> = project
        .revisions()
        .map(Result::unwrap)
        .filter(|revision| project.is_cut_short(revision).unwrap())
        .map(|revision| revision.id.get())
        .collect();
    // The server promised 100 bytes and hung up after 10; a 304 and chunks promise nothing.
    assert_eq!(cut, [36]);
}

#[test]
fn a_304_stands_for_the_revision_with_its_tag() {
    let Some(scratch) = lab("lab-v2") else { return };
    let project = Project::open(&scratch.path).unwrap();
    let revision = |id| project.revision(RevisionId(id)).unwrap().unwrap();
    let resolved = project.resolve(revision(51)).unwrap();
    assert_eq!(resolved.revision.id, RevisionId(1));
    let metadata = resolved.metadata.unwrap();
    assert_eq!((metadata.status_code, metadata.header("date")), (200, Some("Sat, 30 Jul 2022 00:00:00 GMT")));
    assert_eq!(metadata.headers.last().unwrap().0, "ETag");
    assert_eq!(project.resolve(revision(31)).unwrap().revision.id, RevisionId(31));
    assert_eq!(project.if_none_match(ResourceId(31)).unwrap().as_deref(), Some("W/\"abc\""));
    assert_eq!(project.if_none_match(ResourceId(35)).unwrap(), None);
}

#[test]
fn cookies_are_read_and_never_shown() {
    let Some(scratch) = lab("lab-v2") else { return };
    let project = Project::open(&scratch.path).unwrap();
    let revision = project.revision(RevisionId(53)).unwrap().unwrap();
    assert_eq!(revision.request_cookie, Some(Secret::new("sess=1; t=2".to_owned())));
    let shown = format!("{revision:?}");
    assert!(!shown.contains("sess"), "{shown}");
}
