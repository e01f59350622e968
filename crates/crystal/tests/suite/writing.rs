//! Written projects are as Crystal expects them, and refused changes leave nothing behind.

use chrono::{DateTime, Utc};
use std::fs;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use varve_core::headers::Headers;
use varve_core::secret::Secret;
use varve_crystal::{
    AliasId, BodyDraft, CaptureChoice, ChangeRefusal, CreateOptions, DiskStep, DownloadError,
    DownloadOutcome, Error, GroupId, GroupSource, MajorVersion, NewGroup, NewRevision, OpenOptions, Project,
    ProjectWriter, ResourceId, ResponseMetadata, RevisionId, RootId, Watcher,
};

use crate::checklist::{Made, assert_acceptable};
use crate::fixture::{Scratch, bodies, expected, expected_bodies, files, lab};
use crate::reading::assert_tables;

fn noon() -> DateTime<Utc> {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

fn created() -> (Scratch, ProjectWriter) {
    let scratch = Scratch::empty();
    let writer = ProjectWriter::create(&scratch.path, CreateOptions::default()).unwrap();
    (scratch, writer)
}

fn body(writer: &ProjectWriter, content: &[u8]) -> BodyDraft {
    let mut body = writer.begin_body().unwrap();
    body.write_all(content).unwrap();
    body
}

fn fetched(writer: &ProjectWriter, resource: ResourceId, status: i64, content: &[u8]) -> NewRevision {
    let headers = Headers::from_iter([("Content-Type", "text/html"), ("ETag", "\"1\"")]);
    let metadata = Some(ResponseMetadata::new(11, status, b"OK", &headers, noon()));
    let outcome = DownloadOutcome::Fetched { metadata, body: body(writer, content) };
    NewRevision { id: None, resource, request_cookie: None, outcome }
}

fn failed(resource: ResourceId) -> NewRevision {
    let outcome = DownloadOutcome::Failed(DownloadError::no_such_host());
    NewRevision { id: None, resource, request_cookie: None, outcome }
}

fn refusal<T>(result: Result<T, Error>) -> ChangeRefusal {
    match result {
        Err(Error::Refused(refusal)) => refusal,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("not refused"),
    }
}

#[test]
fn new_projects_are_what_crystal_would_make() {
    for version in [MajorVersion::Flat, MajorVersion::Tree, MajorVersion::Packed] {
        let scratch = Scratch::empty();
        let bare = scratch.path.with_extension("");
        let writer = ProjectWriter::create(&bare, CreateOptions { version, watcher: None }).unwrap();
        assert_eq!((writer.path(), writer.version()), (scratch.path.as_path(), version));
        let number = version.number().to_string();
        assert_eq!(writer.property("major_version").unwrap(), Some(number));
        assert_eq!(writer.property("html_parser_type").unwrap().as_deref(), Some("lxml"));
        writer.close().unwrap();
        assert_acceptable(&scratch.path, Made::ByUs);
        let again = ProjectWriter::create(&scratch.path, CreateOptions::default());
        assert!(matches!(again, Err(Error::Exists { .. })));
    }
}

#[test]
fn revisions_are_kept_with_their_bodies_in_all_layouts() {
    for version in [MajorVersion::Flat, MajorVersion::Tree, MajorVersion::Packed] {
        let scratch = Scratch::empty();
        let mut writer =
            ProjectWriter::create(&scratch.path, CreateOptions { version, watcher: None }).unwrap();
        let page = writer.add_root("Home", "http://a.example").unwrap().resource;
        let first = fetched(&writer, page, 200, b"<p>one</p>");
        let empty = fetched(&writer, page, 304, b"");
        let ftp = NewRevision {
            id: None,
            resource: page,
            request_cookie: Some(Secret::new("a=b".to_owned())),
            outcome: DownloadOutcome::Fetched { metadata: None, body: body(&writer, b"ftp") },
        };
        let ids = writer.add_revisions([first, failed(page), empty, ftp]).unwrap();
        assert_eq!(ids, [1, 2, 3, 4].map(RevisionId));
        let cookie = writer.revision(RevisionId(4)).unwrap().unwrap().request_cookie;
        assert_eq!(cookie, Some(Secret::new("a=b".to_owned())));
        let (found, missing) = bodies(&writer);
        assert_eq!((found.keys().copied().collect::<Vec<_>>(), missing), (vec![1, 3, 4], vec![]));
        let flat = scratch.at("revisions/1").is_file();
        let tree = scratch.at("revisions/000/000/000/000/001").is_file();
        assert_eq!((flat, tree), (version == MajorVersion::Flat, version != MajorVersion::Flat));
        writer.close().unwrap();
        assert_acceptable(&scratch.path, Made::ByUs);
    }
}

#[test]
fn rows_are_byte_for_byte_those_of_crystal() {
    let (scratch, mut writer) = created();
    let page = writer.add_resource("http://a.example/").unwrap().id;
    let headers = Headers::from_iter([(&b"X-L"[..], &b"\xe9\xff"[..]), (b"X-Fold", b"a\r\n  b")]);
    let metadata = Some(ResponseMetadata::new(11, 200, b"Caf\xe9", &headers, noon()));
    let outcome = DownloadOutcome::Fetched { metadata, body: body(&writer, b"x") };
    writer.add_revision(NewRevision { id: None, resource: page, request_cookie: None, outcome }).unwrap();
    writer.add_revision(failed(page)).unwrap();
    writer.close().unwrap();
    let connection = rusqlite::Connection::open(scratch.at("database.sqlite")).unwrap();
    let row = |id: i64| {
        connection
            .query_row("SELECT error, metadata FROM resource_revision WHERE id = ?1", [id], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
            })
            .unwrap()
    };
    assert_eq!(
        row(1),
        (
            "null".into(),
            concat!(
                r#"{"http_version": 11, "status_code": 200, "reason_phrase": "Caf\u00e9", "headers": "#,
                r#"[["X-L", "\u00e9\u00ff"], ["X-Fold", "a\r\n  b"], ["Date", "Thu, 01 Jan 2026 12:00:00 GMT"]]}"#
            )
            .into()
        )
    );
    let error = r#"{"type": "gaierror", "message": "[Errno -2] Name or service not known"}"#;
    assert_eq!(row(2), (error.into(), "null".into()));
}

#[test]
fn a_revision_that_cannot_be_kept_leaves_nothing() {
    let (scratch, mut writer) = created();
    let page = writer.add_resource("http://a.example/").unwrap().id;
    let fine = fetched(&writer, page, 200, b"fine");
    let stranger = fetched(&writer, ResourceId(99), 200, b"of nobody");
    let refused = refusal(writer.add_revisions([fine, stranger]));
    assert_eq!(refused, ChangeRefusal::Unknown { what: "resource", id: 99 });
    assert_eq!(writer.newest_revision().unwrap(), None);
    assert_eq!(files(&scratch.at("revisions")).len(), 0);
    assert_eq!(fs::read_dir(scratch.at("varve.tmp")).unwrap().count(), 0);
    drop(body(&writer, b"never kept"));
    assert_eq!(fs::read_dir(scratch.at("varve.tmp")).unwrap().count(), 0);
}

#[test]
fn a_disk_that_fails_before_the_commit_leaves_no_row() {
    let scratch = Scratch::empty();
    let is_failing = Arc::new(AtomicBool::new(false));
    let failing = Arc::clone(&is_failing);
    let watcher: Watcher = Arc::new(move |step| match step {
        DiskStep::Rename { .. } | DiskStep::Link { .. } if failing.load(Ordering::SeqCst) => {
            Err(io::Error::other("no"))
        }
        _ => Ok(()),
    });
    ProjectWriter::create(&scratch.path, CreateOptions::default()).unwrap().close().unwrap();
    let options = OpenOptions { watcher: Some(watcher), ..OpenOptions::default() };
    let mut writer = ProjectWriter::open_with(&scratch.path, options).unwrap();
    let page = writer.add_resource("http://a.example/").unwrap().id;
    is_failing.store(true, Ordering::SeqCst);
    let new = fetched(&writer, page, 200, b"x");
    assert!(matches!(writer.add_revision(new), Err(Error::Io { .. })));
    drop(writer);
    let project = Project::open(&scratch.path).unwrap();
    assert_eq!((project.newest_revision().unwrap(), project.resources().count()), (None, 1));
}

#[test]
fn a_file_that_no_row_names_is_put_aside_for_the_row_that_takes_its_id() {
    let (scratch, mut writer) = created();
    let page = writer.add_resource("http://a.example/").unwrap().id;
    fs::create_dir_all(scratch.at("revisions/000/000/000/000")).unwrap();
    fs::write(scratch.at("revisions/000/000/000/000/001"), "from before").unwrap();
    fs::write(scratch.at("revisions/000/000/000/000/002"), "from before, too").unwrap();
    let new = fetched(&writer, page, 200, b"now");
    writer.add_revisions([new, failed(page)]).unwrap();
    assert_eq!(fs::read(scratch.at("revisions/000/000/000/000/001")).unwrap(), b"now");
    assert!(!scratch.at("revisions/000/000/000/000/002").exists());
    assert_eq!(fs::read(scratch.at("salvage/revision-1")).unwrap(), b"from before");
    assert_eq!(fs::read(scratch.at("salvage/revision-2")).unwrap(), b"from before, too");
}

#[test]
fn a_given_id_is_kept_and_a_bad_one_refused() {
    let (_scratch, mut writer) = created();
    let page = writer.add_resource("http://a.example/").unwrap().id;
    let mut with_id = |id| {
        let new = NewRevision { id: Some(RevisionId(id)), ..fetched(&writer, page, 200, b"x") };
        writer.add_revision(new)
    };
    assert_eq!(with_id(0x123).unwrap(), RevisionId(0x123));
    assert!(matches!(refusal(with_id(0x123)), ChangeRefusal::Taken { .. }));
    assert_eq!(refusal(with_id(0)), ChangeRefusal::BadId { id: 0 });
    assert_eq!(refusal(with_id(-7)), ChangeRefusal::BadId { id: -7 });
    assert!(matches!(with_id(1 << 60), Err(Error::TooManyRevisions { .. })));
    assert_eq!(with_id((1 << 60) - 1).unwrap(), RevisionId((1 << 60) - 1));
    assert_eq!(writer.revisions().count(), 2);
    let next = fetched(&writer, page, 200, b"x");
    assert!(matches!(writer.add_revision(next), Err(Error::TooManyRevisions { .. })));
}

#[test]
fn a_resource_has_one_root_and_groups_lose_a_deleted_source() {
    let (scratch, mut writer) = created();
    let root = writer.add_root("", "HTTP://A.example#top").unwrap();
    assert_eq!(writer.resource(root.resource).unwrap().unwrap().url, "http://a.example/");
    assert!(matches!(refusal(writer.add_root("again", "http://a.example/")), ChangeRefusal::Taken { .. }));
    assert!(matches!(
        refusal(writer.add_root("", "crystal://external/http://x/")),
        ChangeRefusal::OwnScheme { .. }
    ));
    let source = Some(GroupSource::Root(root.id));
    let site = NewGroup { name: "", url_pattern: "http://a.example/**", source, do_not_download: false };
    let site = writer.add_group(site).unwrap();
    writer.delete_root(root.id).unwrap();
    assert_eq!(writer.group(site.id).unwrap().unwrap().source, None);
    assert_eq!(
        refusal(writer.delete_root(root.id)),
        ChangeRefusal::Unknown { what: "root", id: root.id.get() }
    );
    assert_eq!(refusal(writer.delete_root(RootId(9))), ChangeRefusal::Unknown { what: "root", id: 9 });
    writer.close().unwrap();
    assert_acceptable(&scratch.path, Made::ByUs);
}

#[test]
fn groups_have_patterns_of_their_own_and_sources_that_are_there() {
    let (scratch, mut writer) = created();
    let root = writer.add_root("", "http://a.example/").unwrap().id;
    let group = |url_pattern, source| NewGroup { name: "g", url_pattern, source, do_not_download: false };
    let first = writer.add_group(group("http://a.example/#/", Some(GroupSource::Root(root)))).unwrap().id;
    let second = writer.add_group(group("http://a.example/#/*", Some(GroupSource::Group(first)))).unwrap().id;
    assert!(matches!(
        refusal(writer.add_group(group("http://a.example/#/", None))),
        ChangeRefusal::Taken { .. }
    ));
    assert_eq!(refusal(writer.add_group(group("", None))), ChangeRefusal::EmptyPattern);
    let nowhere = Some(GroupSource::Group(GroupId(9)));
    assert_eq!(
        refusal(writer.add_group(group("x", nowhere))),
        ChangeRefusal::Unknown { what: "group", id: 9 }
    );
    let circle = writer.set_group_source(first, Some(GroupSource::Group(second)));
    assert_eq!(refusal(circle), ChangeRefusal::SourceCycle { group: first.get() });
    let itself = writer.set_group_source(first, Some(GroupSource::Group(first)));
    assert_eq!(refusal(itself), ChangeRefusal::SourceCycle { group: first.get() });
    assert_eq!(writer.group(second).unwrap().unwrap().source, Some(GroupSource::Group(first)));
    writer.delete_group(first).unwrap();
    assert_eq!(writer.group(second).unwrap().unwrap().source, None);
    assert_eq!(
        refusal(writer.delete_group(first)),
        ChangeRefusal::Unknown { what: "group", id: first.get() }
    );
    writer.close().unwrap();
    assert_acceptable(&scratch.path, Made::ByUs);
}

#[test]
fn aliases_need_trailing_slashes_and_replace_url_prefixes() {
    let (scratch, mut writer) = created();
    let alias = writer.add_alias("http://old.example/", "http://new.example/", false).unwrap();
    writer.add_alias("http://live.example/", "https://live.example/", true).unwrap();
    assert!(matches!(
        refusal(writer.add_alias("http://old.example/", "http://x/", false)),
        ChangeRefusal::Taken { .. }
    ));
    for (source, target) in
        [("http://x.example", "http://y.example/"), ("http://x.example/", "http://y.example")]
    {
        assert!(matches!(
            refusal(writer.add_alias(source, target, false)),
            ChangeRefusal::AliasPrefix { .. }
        ));
    }
    assert_eq!(writer.add_resource("http://old.example/a").unwrap().url, "http://new.example/a");
    let external = refusal(writer.add_resource("http://live.example/a"));
    assert_eq!(external, ChangeRefusal::External { url: "https://live.example/a".into() });
    let urls = ["http://old.example/a", "http://live.example/b", "http://b.example", "crystal://x"];
    assert_eq!(writer.add_resources(urls).unwrap(), [Some(ResourceId(1)), None, Some(ResourceId(2)), None]);
    writer.delete_alias(alias.id).unwrap();
    assert_eq!(refusal(writer.delete_alias(AliasId(1))), ChangeRefusal::Unknown { what: "alias", id: 1 });
    writer.close().unwrap();
    assert_acceptable(&scratch.path, Made::ByUs);
}

#[test]
fn an_older_less_normal_row_is_found_before_a_newer_form_is_added() {
    let (_scratch, mut writer) = created();
    let old = varve_crystal::Resource { id: ResourceId(7), url: "http://a.example/a b".into() };
    writer.restore_resources([old.clone()]).unwrap();
    assert_eq!(writer.add_resource("http://a.example/a b").unwrap(), old);
    assert_eq!(writer.add_resource("http://a.example/a%20b").unwrap().id, ResourceId(8));
}

#[test]
fn properties_are_set_and_removed_but_not_the_version() {
    let (scratch, mut writer) = created();
    writer.set_property("default_url_prefix", Some("http://a.example")).unwrap();
    writer.set_property("default_url_prefix", Some("http://b.example")).unwrap();
    writer.set_property("varve.note", Some("")).unwrap();
    assert_eq!(writer.default_url_prefix().unwrap().as_deref(), Some("http://b.example"));
    writer.set_property("default_url_prefix", Some("")).unwrap();
    assert_eq!(writer.default_url_prefix().unwrap(), None);
    writer.set_property("default_url_prefix", None).unwrap();
    assert_eq!(writer.property("default_url_prefix").unwrap(), None);
    assert!(matches!(
        refusal(writer.set_property("major_version", Some("1"))),
        ChangeRefusal::OwnProperty { .. }
    ));
    writer.close().unwrap();
    assert_acceptable(&scratch.path, Made::ByUs);
}

#[test]
fn the_newest_good_revision_has_its_body() {
    let (scratch, mut writer) = created();
    let page = writer.add_resource("http://a.example/").unwrap().id;
    let new = [200, 200, 404].map(|status| fetched(&writer, page, status, b"x"));
    writer.add_revisions(new).unwrap();
    writer.add_revision(failed(page)).unwrap();
    fs::remove_file(scratch.at("revisions/000/000/000/000/002")).unwrap();
    let default = |choice| writer.default_revision(page, choice).unwrap().unwrap().id.get();
    assert_eq!((default(CaptureChoice::Newest), default(CaptureChoice::NewestGood)), (4, 1));
    let default_at = |id, choice| {
        writer.default_revision_at(page, RevisionId(id), choice).unwrap().map(|row| row.id.get())
    };
    assert_eq!(
        (default_at(3, CaptureChoice::Newest), default_at(3, CaptureChoice::NewestGood)),
        (Some(3), Some(1))
    );
    assert_eq!(default_at(0, CaptureChoice::NewestGood), None);
}

#[test]
fn a_project_is_rebuilt_row_by_row_and_body_by_body() {
    let Some(original) = lab("lab-v2") else { return };
    let source = Project::open(&original.path).unwrap();
    let (scratch, mut writer) = created();
    writer.restore_resources(source.resources().map(Result::unwrap)).unwrap();
    source.roots().for_each(|root| writer.restore_root(&root.unwrap()).unwrap());
    source.groups().for_each(|group| writer.restore_group(&group.unwrap()).unwrap());
    source.aliases().for_each(|alias| writer.restore_alias(&alias.unwrap()).unwrap());
    for revision in source.revisions() {
        let revision = revision.unwrap();
        let draft = source.body(revision.id).unwrap().map(|mut bytes| {
            let mut draft = writer.begin_body().unwrap();
            io::copy(&mut bytes, &mut draft).unwrap();
            draft
        });
        let (id, resource, request_cookie) = (Some(revision.id), revision.resource, revision.request_cookie);
        let outcome =
            DownloadOutcome::Verbatim { error: revision.error, metadata: revision.metadata, body: draft };
        writer.add_revision(NewRevision { id, resource, request_cookie, outcome }).unwrap();
    }
    writer.close().unwrap();
    let copy = Project::open(&scratch.path).unwrap();
    assert_tables(&copy, &expected().unwrap(), &[]);
    assert_eq!(bodies(&copy), (expected_bodies(&expected().unwrap()), vec![]));
    assert_eq!(files(&scratch.at("revisions")), files(&original.at("revisions")));
    drop(copy);
    assert_acceptable(&scratch.path, Made::ByCrystal);
}

#[test]
fn invalid_json_of_a_revision_is_refused() {
    let (_scratch, mut writer) = created();
    let page = writer.add_resource("http://a.example/").unwrap().id;
    let mut verbatim = |error: &str, metadata: &str, with_body: bool| {
        let body = with_body.then(|| body(&writer, b"x"));
        let outcome = DownloadOutcome::Verbatim { error: error.into(), metadata: metadata.into(), body };
        writer.add_revision(NewRevision { id: None, resource: page, request_cookie: None, outcome })
    };
    assert!(matches!(refusal(verbatim("oops", "null", true)), ChangeRefusal::Text { column: "error", .. }));
    assert!(matches!(refusal(verbatim("null", "{", true)), ChangeRefusal::Text { column: "metadata", .. }));
    let error = r#"{"type": "E", "message": ""}"#;
    assert_eq!(refusal(verbatim(error, "null", true)), ChangeRefusal::BodyOfError);
    verbatim(error, "null", false).unwrap();
    verbatim("null", "null", true).unwrap();
}

#[test]
fn properties_that_crystal_knows_have_values_that_it_can_use() {
    let scratch = Scratch::made(MajorVersion::Tree);
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    for (name, good, bad) in [
        ("html_parser_type", "html_parser", "html5"),
        ("entity_title_format", "name_url", "name"),
        ("default_url_prefix", "https://a.example/x", "a.example"),
        ("default_url_prefix", "http://a.example", "http://"),
        ("hibernated_state", r#"{"tasks": []}"#, r#"{"tasks": [{"type": "Paint"}]}"#),
    ] {
        writer.set_property(name, Some(good)).unwrap();
        let refused = writer.set_property(name, Some(bad));
        assert!(
            matches!(&refused, Err(Error::Refused(ChangeRefusal::PropertyValue { .. }))),
            "{name} {bad}: {refused:?}"
        );
        assert_eq!(writer.property(name).unwrap().as_deref(), Some(good));
        writer.restore_property(name, Some(bad)).unwrap();
        assert_eq!(writer.property(name).unwrap().as_deref(), Some(bad));
    }
    writer.set_property("html_parser_type", Some("")).unwrap();
    writer.set_property("varve.note", Some("anything")).unwrap();
}
