//! A Crystal project that is read in place.

use std::io::{Read, Write};
use varve_archive::RepositoryError;

use varve_archive::history::{
    ArchiveHistoryWriter, HistoryReader, VersionPages, open_reader, open_reader_choosing, open_writer,
    resolve_version,
};
use varve_archive::verbs::cat::{CaptureSelector, find};
use varve_archive::verbs::crystal::import::import;
use varve_archive::verbs::crystal::warc::{Description, export};
use varve_archive::verbs::diff::{Request, diff};
use varve_archive::verbs::init::init;
use varve_archive::verbs::log::{CaptureFilter, ListCursor, captures};
use varve_archive::verbs::replay::{UrlKnowledge, find as replay};
use varve_archive::{ArchiveError, ArchiveSettings, Capture, CaptureChoice, find_root};
use varve_archive::{Layout, detect_layout};
use varve_crystal::{
    DownloadError, DownloadOutcome, MajorVersion, NewRevision, ProjectWriter, ResponseMetadata,
};

use crate::doors::opening;
use crate::project::{GZIPPED, HOME, make};

fn text(reader: &HistoryReader, capture: &Capture) -> String {
    let mut text = String::new();
    reader.open_body(capture).unwrap().read_to_string(&mut text).unwrap();
    text
}

fn newest(reader: &HistoryReader, url: &str) -> Capture {
    find(reader, url, &CaptureSelector::Newest).unwrap()
}

#[test]
fn a_project_is_opened_by_its_folder_or_its_opener() {
    let home = tempfile::tempdir().unwrap();
    let path = make(&home.path().join("a.crystalproj"), MajorVersion::Flat);
    assert_eq!(detect_layout(&path), Some(Layout::Crystal));
    assert_eq!(detect_layout(&path.join("OPEN ME.crystalopen")), Some(Layout::Crystal));
    assert_eq!(find_root(&path.join("revisions")), Some(path.clone()));
    assert_eq!(detect_layout(home.path()), None);
    assert!(open_reader(&path.join("OPEN ME.crystalopen")).is_ok());
    assert!(matches!(open_writer(&path, opening()), Err(RepositoryError::NotForVersions { .. })));
}

#[test]
fn revisions_are_captures_and_aliases_lead_to_them() {
    let home = tempfile::tempdir().unwrap();
    let reader = open_reader(&make(&home.path().join("a"), MajorVersion::Tree)).unwrap();
    for url in [HOME, "https://www.site.example/", "HTTPS://Site.example/#top"] {
        let found = captures(&reader, url, &CaptureFilter::default(), ListCursor::first(9)).unwrap();
        assert_eq!(found.iter().map(|capture| capture.status).collect::<Vec<_>>(), [0, 200, 200], "{url}");
        let page = ListCursor { after: found.first(), limit: 1 };
        let next = captures(&reader, url, &CaptureFilter::default(), page).unwrap();
        assert_eq!(next, found[1..2]);
    }
    let outside =
        captures(&reader, "https://live.example/x", &CaptureFilter::default(), ListCursor::first(1));
    assert!(outside.unwrap_err().to_string().contains("out of the project, to https://live.example/x"));
}

#[test]
fn the_newest_is_shown_even_if_it_failed_unless_a_good_one_is_wanted() {
    let home = tempfile::tempdir().unwrap();
    let reader = open_reader(&make(&home.path().join("a"), MajorVersion::Tree)).unwrap();
    let failed = reader.open_body(&newest(&reader, HOME)).err().unwrap();
    assert!(matches!(failed, RepositoryError::DownloadFailed { ref kind, .. } if kind == "TimeoutError"));
    let good = find(&reader, HOME, &CaptureSelector::NewestGood).unwrap();
    assert_eq!(text(&reader, &good), "<p>two</p>");
    let then = find(&reader, HOME, &CaptureSelector::Time("2022-07-29T12:00:01Z".parse().unwrap())).unwrap();
    assert_eq!(text(&reader, &then), "<p>one</p>");
}

#[test]
fn one_rule_chooses_the_revision_wherever_one_must_be_chosen() {
    let home = tempfile::tempdir().unwrap();
    let path = make(&home.path().join("a"), MajorVersion::Tree);
    for (choice, status, shown) in
        [(CaptureChoice::Newest, 0, None), (CaptureChoice::NewestGood, 200, Some("<p>two</p>"))]
    {
        let reader = open_reader_choosing(&path, choice).unwrap();
        let head = reader.head().unwrap();
        let page =
            VersionPages::new(reader.catalog(), head).map(Result::unwrap).find(|page| page.url == HOME);
        assert_eq!(page.unwrap().status, status);
        let UrlKnowledge::Here(replayed) = replay(&reader, HOME, None).unwrap() else { panic!("not found") };
        assert_eq!(replayed.capture.status, status);
        assert_eq!(shown.map(|_| text(&reader, &replayed.capture)).as_deref(), shown);
        // By way of an alias, and without a look at the other pages.
        let url = Some("https://www.site.example/".to_owned());
        let base = Some(resolve_version(&reader, "r2").unwrap());
        let request = Request { base, head, url, ..Request::default() };
        let totals = diff::<ArchiveError>(&reader, &request, |_| Ok(())).unwrap();
        let unchanged = u64::from(choice == CaptureChoice::NewestGood);
        assert_eq!((totals.changed, totals.unchanged), (1 - unchanged, unchanged), "{choice:?}");
    }
}

#[test]
fn a_truncated_response_is_marked_in_every_format() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.crystalproj");
    let mut writer = ProjectWriter::create(&path, Default::default()).unwrap();
    let resource = writer.add_root("Home", HOME).unwrap().resource;
    for promised in ["3", "9"] {
        let mut body = writer.begin_body().unwrap();
        body.write_all(b"cut").unwrap();
        let headers = vec![
            ("Content-Length".to_owned(), promised.to_owned()),
            ("Date".to_owned(), format!("Fri, 29 Jul 2022 12:00:0{promised} GMT")),
        ];
        let (http_version, status_code, reason_phrase) = (11, 200, String::new());
        let metadata = Some(ResponseMetadata { http_version, status_code, reason_phrase, headers });
        let outcome = DownloadOutcome::Fetched { metadata, body };
        writer.add_revision(NewRevision { id: None, resource, request_cookie: None, outcome }).unwrap();
    }
    writer.close().unwrap();
    let reader = open_reader(&path).unwrap();
    assert!(newest(&reader, HOME).truncated);
    assert!(!find(&reader, HOME, &CaptureSelector::NewestGood).unwrap().truncated);
    let museum = home.path().join("museum");
    init(&museum, &ArchiveSettings::new("test"), opening()).unwrap();
    import(&ArchiveHistoryWriter::open(&museum, opening()).unwrap(), &path, &|_| {}).unwrap();
    let archived = open_reader(&museum).unwrap();
    let cut = newest(&archived, HOME);
    assert!(cut.truncated);
    assert_eq!(text(&archived, &cut), "cut");
    let warc = home.path().join("a.warc");
    let about = Description { software: "test", clock: opening().clock };
    export(&path, &warc, &about, &|_| {}).unwrap();
    let said = String::from_utf8_lossy(&std::fs::read(&warc).unwrap()).matches("WARC-Truncated").count();
    assert_eq!(said, 1);
}

#[test]
fn bodies_are_given_with_their_codings_undone() {
    let home = tempfile::tempdir().unwrap();
    let reader = open_reader(&make(&home.path().join("a"), MajorVersion::Tree)).unwrap();
    let script = newest(&reader, "https://site.example/app.js");
    assert_eq!((text(&reader, &script).as_str(), script.length), ("hello", Some(5)));
    let chunked = newest(&reader, "https://site.example/chunked");
    assert_eq!(text(&reader, &chunked), "5\r\nnot a chunk");
    let unchanged = newest(&reader, "https://site.example/logo.png");
    assert_eq!((unchanged.status, text(&reader, &unchanged).as_str()), (304, "png"));
}

#[test]
fn two_moments_of_a_project_are_compared() {
    let home = tempfile::tempdir().unwrap();
    let reader = open_reader(&make(&home.path().join("a"), MajorVersion::Tree)).unwrap();
    assert!(!reader.has_versions());
    let version = |text: &str| resolve_version(&reader, text).unwrap();
    assert_eq!(version("HEAD"), version("r7"));
    assert_eq!(version("2022-07-29T12:00:02Z"), version("r2"));
    assert_eq!(version(&version("r2").to_string()[..8]), version("r2"));
    let request = Request { base: Some(version("r1")), head: Some(version("r4")), ..Request::default() };
    let totals = diff::<ArchiveError>(&reader, &request, |_| Ok(())).unwrap();
    assert_eq!((totals.added, totals.changed, totals.removed), (2, 1, 0));
    let pages = VersionPages::new(reader.catalog(), Some(version("HEAD"))).map(|page| page.unwrap().url);
    let last: Vec<String> = pages.map(|url| url.rsplit('/').next().unwrap().to_owned()).collect();
    assert_eq!(last, ["", "app.js", "chunked", "logo.png"]);
    let HistoryReader::Crystal(project) = &reader else { panic!("not a project") };
    let latest = project.latest_captures(&CaptureFilter::default(), ListCursor::first(2)).unwrap();
    let page = ListCursor { after: latest.last(), limit: 9 };
    assert_eq!(project.latest_captures(&CaptureFilter::default(), page).unwrap().len(), 5);
}

#[test]
fn a_moment_is_found_without_looking_at_every_revision() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.crystalproj");
    let mut writer = ProjectWriter::create(&path, Default::default()).unwrap();
    let pages: Vec<_> =
        (0..7).map(|page| writer.add_resource(&format!("{HOME}{page}")).unwrap().id).collect();
    let revisions: Vec<NewRevision> = (1..=500)
        .map(|number: i64| {
            let outcome = match number % 11 {
                0 => DownloadOutcome::Failed(DownloadError::timed_out()),
                _ => {
                    let date = format!("Fri, 29 Jul 2022 12:{:02}:{:02} GMT", number / 60, number % 60);
                    let headers = vec![("Date".to_owned(), date)];
                    let (status_code, reason_phrase) = (200, String::new());
                    let metadata = ResponseMetadata { http_version: 11, status_code, reason_phrase, headers };
                    DownloadOutcome::Fetched { metadata: Some(metadata), body: writer.begin_body().unwrap() }
                }
            };
            let resource = pages[usize::try_from(number % 7).unwrap()];
            NewRevision { id: None, resource, request_cookie: None, outcome }
        })
        .collect();
    writer.add_revisions(revisions).unwrap();
    writer.close().unwrap();
    let reader = open_reader(&path).unwrap();
    for number in [1, 2, 63, 64, 65, 250, 331, 499, 500] {
        let time = format!("2022-07-29T12:{:02}:{:02}Z", number / 60, number % 60);
        let found = resolve_version(&reader, &time).unwrap();
        // A download that failed has no time of its own, and is passed over.
        let newest = if number % 11 == 0 { number - 1 } else { number };
        assert!(found.to_string().starts_with(&format!("{newest:08x}")), "{time}: {found}");
    }
    assert!(resolve_version(&reader, "2022-07-29T11:59:59Z").is_err());
}

#[test]
fn a_list_reads_no_body_that_need_not_be_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(&folder.path().join("lab"), MajorVersion::Tree);
    // The script has one revision; nobody can read it now, and nobody needs to.
    let script = path.join("revisions/000/000/000/000/003");
    let reader = open_reader(&path).unwrap();
    let head = reader.head().unwrap().unwrap();
    let list = || reader.catalog().captures_in(&head, ListCursor::first(100)).unwrap();
    let before = list();
    let capture = before.iter().find(|capture| capture.url.ends_with("app.js")).unwrap().clone();
    assert_eq!(reader.body_id(&capture).unwrap().to_string(), HELLO);
    std::fs::write(&script, "x".repeat(GZIPPED.len())).unwrap();
    let after = list();
    assert_eq!(before.len(), after.len());
    assert_eq!(after.iter().find(|capture| capture.url.ends_with("app.js")).unwrap().body, capture.body);
}

/// The SHA-256 of `hello`.
const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
