//! From a project into an archive and back.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use varve_archive::history::{
    ArchiveHistoryReader, ArchiveHistoryWriter, CapturePairs, HistoryReader, PageChange, VersionPages,
    open_reader,
};
use varve_archive::verbs::audit::{AuditRequest, audit};
use varve_archive::verbs::cat::{CaptureSelector, body, find};
use varve_archive::verbs::commit::{NewBody, NewPage, Request, commit};
use varve_archive::verbs::crystal::export::{ProjectExported, export};
use varve_archive::verbs::crystal::import::{ProjectImported, import};
use varve_archive::verbs::init::init;
use varve_archive::verbs::purge::{Request as Rewrite, perform, plan};
use varve_archive::verbs::rebuild::rebuild;
use varve_archive::{ArchivePaths, ArchiveSettings, ArchiveWriter, Date, Headers, VersionId, WriterOptions};
use varve_crystal::{MajorVersion, Project, VerifyOptions};
use varve_store::exchange::{ScannedRecord, scan};

use crate::project::{COOKIE, HOME, everything, fixture, make};

pub(crate) fn opening() -> WriterOptions {
    let clock = || Date::at_second(UNIX_EPOCH + Duration::from_secs(1_700_000_000));
    WriterOptions { holder: "a test".to_owned(), software: "varve test".to_owned(), clock: Arc::new(clock) }
}

fn bring_in(museum: &Path, project: &Path) -> ProjectImported {
    if !museum.exists() {
        init(museum, &ArchiveSettings::new("test"), opening()).unwrap();
    }
    let history = ArchiveHistoryWriter::open(museum, opening()).unwrap();
    import(&history, project, &|_| {}).unwrap()
}

fn bring_out(museum: &Path, version: &VersionId, target: &Path) -> ProjectExported {
    export(&ArchiveHistoryReader::open(museum).unwrap(), version, target, &|_| {}).unwrap()
}

/// What an audit of everything finds.
fn findings(museum: &Path) -> Vec<String> {
    let reader = ArchiveHistoryReader::open(museum).unwrap();
    let mut found = Vec::new();
    let mut each = |finding: varve_archive::verbs::audit::AuditFinding| found.push(finding.message);
    audit(reader.archive(), &AuditRequest::default(), &|_| {}, &mut each).unwrap();
    found
}

fn silo_bytes(museum: &Path) -> u64 {
    let reader = ArchiveHistoryReader::open(museum).unwrap();
    reader.archive().store().files().list().unwrap().values().map(|silo| silo.length).sum()
}

/// Brings a project in twice and out once, and compares every row and every byte.
fn round_trip(home: &Path, project: &Path, left_behind: &[&str]) {
    let (museum, back) = (home.join("museum"), home.join("back.crystalproj"));
    let imported = bring_in(&museum, project);
    assert!(!imported.already && imported.left_behind == 0, "{imported:?}");
    let size = silo_bytes(&museum);
    let again = bring_in(&museum, project);
    assert!(again.already && again.version == imported.version, "{again:?}");
    assert_eq!(silo_bytes(&museum), size);
    assert_eq!(findings(&museum), Vec::<String>::new());
    let exported = bring_out(&museum, &imported.version.unwrap(), &back);
    let left: Vec<&str> = exported.left_behind.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(left, left_behind);
    assert_eq!(everything(project), everything(&back));
    let sound = Project::open(&back).unwrap();
    let options = VerifyOptions { check_database: true, read_bodies: true };
    assert_eq!(sound.verify(options, &mut |finding| panic!("{finding}")).unwrap().findings, 0);
}

#[test]
fn an_imported_project_is_restored() {
    let home = tempfile::tempdir().unwrap();
    let project = make(&home.path().join("a.crystalproj"), MajorVersion::Tree);
    round_trip(home.path(), &project, &[]);
}

#[test]
fn real_projects_come_back_as_they_were() {
    let other_layout = ["layouts other than that of major version 2"];
    for (name, left) in
        [("lab-v2", &[][..]), ("lab-v1-flat", &other_layout), ("lab-v3-pack16", &other_layout)]
    {
        let home = tempfile::tempdir().unwrap();
        let Some(project) = fixture(name, home.path()) else { return };
        round_trip(home.path(), &project, left);
    }
}

#[test]
fn an_import_is_one_version_with_the_times_and_the_bodies() {
    let home = tempfile::tempdir().unwrap();
    let museum = home.path().join("museum");
    let imported = bring_in(&museum, &make(&home.path().join("a"), MajorVersion::Flat));
    assert_eq!((imported.revisions, imported.new, imported.errors, imported.cookies), (7, 6, 1, 1));
    let reader = open_reader(&museum).unwrap();
    assert_eq!(reader.head().unwrap(), imported.version);
    let text = |url: &str, at: &CaptureSelector| {
        let capture = find(&reader, url, at).unwrap();
        let mut text = String::new();
        body(&reader, &capture).unwrap().read_to_string(&mut text).unwrap();
        (capture.time.to_string(), capture.status, text)
    };
    use std::io::Read as _;
    let newest = text(HOME, &CaptureSelector::Newest);
    assert_eq!(newest, ("2022-07-29T12:00:02Z".to_owned(), 200, "<p>two</p>".to_owned()));
    assert_eq!(text("https://site.example/app.js", &CaptureSelector::Newest).2, "hello");
    assert_eq!(text("https://site.example/chunked", &CaptureSelector::Newest).2, "5\r\nnot a chunk");
    let unchanged = text("https://site.example/logo.png", &CaptureSelector::Newest);
    assert_eq!((unchanged.1, unchanged.2.as_str()), (304, "png"));
}

/// Adds a page to a project.
fn grow(project: &Path) {
    let mut writer = varve_crystal::ProjectWriter::open(project).unwrap();
    let resource = writer.add_resource("https://site.example/new").unwrap().id;
    let outcome =
        varve_crystal::DownloadOutcome::Fetched { metadata: None, body: writer.begin_body().unwrap() };
    let new = varve_crystal::NewRevision { id: None, resource, request_cookie: None, outcome };
    writer.add_revision(new).unwrap();
    writer.close().unwrap();
}

#[test]
fn a_second_import_adds_only_new_revisions() {
    let home = tempfile::tempdir().unwrap();
    let museum = home.path().join("museum");
    let project = make(&home.path().join("a"), MajorVersion::Tree);
    let first = bring_in(&museum, &project);
    grow(&project);
    let second = bring_in(&museum, &project);
    assert_eq!((second.already, second.revisions, second.new), (false, 8, 1));
    assert_ne!(first.version, second.version);
    assert_eq!(findings(&museum), Vec::<String>::new());
    // Yet its version is the whole of the project: what was there is there, and the difference is what is new.
    let reader = open_reader(&museum).unwrap();
    let changes = |reader: &HistoryReader| -> Vec<(String, PageChange)> {
        CapturePairs::new(reader.catalog(), first.version, second.version)
            .map(|pair| pair.unwrap())
            .map(|pair| (pair.any().url.clone(), pair.change()))
            .filter(|(_, change)| *change != PageChange::Unchanged)
            .collect()
    };
    assert_eq!(changes(&reader), [("https://site.example/new".to_owned(), PageChange::Added)]);
    let version = CaptureSelector::Version(second.version.unwrap());
    let page = find(&reader, HOME, &version).unwrap();
    assert_eq!(page.time.to_string(), "2022-07-29T12:00:02Z");
    assert!(reader.wire_head(&page).unwrap().is_some(), "the answer itself is at hand");
    drop(reader);
    rebuild(&ArchivePaths::new(&museum), opening(), &|_| {}).unwrap();
    let reader = open_reader(&museum).unwrap();
    assert_eq!(changes(&reader), [("https://site.example/new".to_owned(), PageChange::Added)]);
    assert_eq!(findings(&museum), Vec::<String>::new());
    bring_out(&museum, &second.version.unwrap(), &home.path().join("b"));
    assert_eq!(everything(&home.path().join("b")), everything(&project));
}

#[test]
fn responses_shared_with_a_later_import_survive_a_purge_of_the_earlier_one() {
    let home = tempfile::tempdir().unwrap();
    let museum = home.path().join("museum");
    let project = make(&home.path().join("a"), MajorVersion::Tree);
    let first = bring_in(&museum, &project).version.unwrap();
    grow(&project);
    let second = bring_in(&museum, &project).version.unwrap();
    let rewritten = |request: Rewrite| {
        let writer = ArchiveWriter::open(&museum, opening()).unwrap();
        let request = Rewrite { who: "Ada".to_owned(), why: "asked for".to_owned(), ..request };
        let choice = plan(&writer, &request).unwrap();
        perform(writer, &request, &choice, &|_| {}).unwrap();
        assert_eq!(findings(&museum), Vec::<String>::new());
        open_reader(&museum).unwrap()
    };
    let pages = |reader: &HistoryReader| VersionPages::new(reader.catalog(), Some(second)).count();
    let reader = rewritten(Rewrite { versions: vec![first], ..Rewrite::default() });
    assert_eq!(pages(&reader), 7);
    for page in VersionPages::new(reader.catalog(), Some(second)) {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut body(&reader, &page.unwrap()).unwrap(), &mut bytes).unwrap();
    }
    drop(reader);
    let reader = rewritten(Rewrite { urls: vec![HOME.to_owned()], ..Rewrite::default() });
    assert!(
        body(&reader, &find(&reader, "https://site.example/app.js", &CaptureSelector::Newest).unwrap())
            .is_ok()
    );
    let gone = find(&reader, HOME, &CaptureSelector::Version(second)).unwrap();
    assert!(body(&reader, &gone).is_err(), "what is taken out by its URL is taken out of every version");
}

#[test]
fn cookies_are_in_no_silo_and_come_back_with_the_key_alone() {
    let home = tempfile::tempdir().unwrap();
    let museum = home.path().join("museum");
    let version = bring_in(&museum, &make(&home.path().join("a"), MajorVersion::Tree)).version.unwrap();
    let reader = ArchiveHistoryReader::open(&museum).unwrap();
    let mut facts = 0;
    scan(reader.archive().store().files(), 1, &|_| {}, &mut |scanned| {
        if let ScannedRecord::Fact { json, .. } = scanned {
            facts += 1;
            assert!(!String::from_utf8(json).unwrap().contains(COOKIE));
        }
        Ok(())
    })
    .unwrap();
    assert!(facts >= 3);
    std::fs::remove_file(museum.join("secret.key")).unwrap();
    let exported = bring_out(&museum, &version, &home.path().join("b"));
    assert_eq!(exported.left_behind, [("cookies whose key is missing".to_owned(), 1)]);
    let rows = rusqlite::Connection::open(exported.path.join("database.sqlite")).unwrap();
    let with_cookie = "SELECT count(*) FROM resource_revision WHERE request_cookie IS NOT NULL";
    assert_eq!(rows.query_row(with_cookie, [], |row| row.get::<_, u64>(0)).unwrap(), 0);
}

#[test]
fn a_version_of_any_pages_becomes_a_project_of_its_captures() {
    let home = tempfile::tempdir().unwrap();
    let museum = home.path().join("museum");
    init(&museum, &ArchiveSettings::new("test"), opening()).unwrap();
    let history = ArchiveHistoryWriter::open(&museum, opening()).unwrap();
    let mut headers = Headers::new();
    headers.push("Content-Type", "text/html");
    let page = NewPage {
        url: HOME.to_owned(),
        time: None,
        status: 200,
        headers,
        body: NewBody::Bytes(b"hi".to_vec()),
    };
    let request = Request { message: "one".to_owned(), threads: 1, ..Request::default() };
    let version = commit(&(&history).into(), &request, vec![page], &|_| {}).unwrap().version;
    drop(history);
    let exported = bring_out(&museum, &version, &home.path().join("b.crystalproj"));
    assert_eq!((exported.restored, exported.resources, exported.revisions), (false, 1, 1));
    let rows = everything(&home.path().join("b.crystalproj"));
    assert!(
        rows.iter().any(|row| row.contains("text/html") && row.ends_with("Some([104, 105])")),
        "{rows:?}"
    );
    let taken = export(
        &ArchiveHistoryReader::open(&museum).unwrap(),
        &version,
        &home.path().join("b.crystalproj"),
        &|_| {},
    );
    assert!(taken.is_err());
}
