//! What Moku itself does to a site, before, between and beside calls of varve.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use varve_archive::RepositoryError;

use crate::scene::*;
use crate::sites::{blob, intend, site, sql};
use varve_archive::history::HeadState;
use varve_archive::verbs::audit_site::audit_site;
use varve_archive::verbs::cat::{self, CaptureSelector};
use varve_archive::verbs::checkout;
use varve_archive::verbs::commit::{Request, commit};
use varve_archive::verbs::gc::{RetentionPolicy, perform, plan, plan_to_show};
use varve_archive::{ArchiveError, VersionId};
use varve_testkit::{Requirement, skip};

/// Another program that has the database open; none where there is no Python.
fn other_program(root: &Path) -> Option<Child> {
    let script = "import sqlite3, sys\nopen_ = sqlite3.connect(sys.argv[1])\n\
        open_.execute('SELECT count(*) FROM versions').fetchall()\nprint('open', flush=True)\nsys.stdin.read()";
    let child = Command::new("python3")
        .args(["-c", script])
        .arg(root.join(".moku/moku.db"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        skip(Requirement::Program("python3"), "`python3` is not installed");
        return None;
    };
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("read");
    assert_eq!(line, "open\n");
    Some(child)
}

#[test]
fn gc_removes_no_body_while_another_program_has_the_site_open() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    site(root);
    let policy = RetentionPolicy { keep_last: Some(1), ..RetentionPolicy::default() };
    let writer = history(root);
    let Some(mut other) = other_program(root) else { return };
    let planned = plan(&writer, &policy).expect("planned");
    assert_eq!((planned.young, planned.list.len()), (1, 1), "{planned:?}");
    assert_eq!(plan_to_show(&reader(root), writer.now(), &policy).expect("planned").young, 1);
    perform(&writer, &planned, &|_| {}).expect("performed");
    assert!(blob(root, "old").exists());
    drop(other.stdin.take());
    other.wait().expect("ended");
    let planned = plan(&writer, &policy).expect("planned");
    assert_eq!((planned.young, planned.list.len()), (0, 1), "{planned:?}");
    perform(&writer, &planned, &|_| {}).expect("performed");
    assert!(!blob(root, "old").exists() && blob(root, "new").exists());
}

#[test]
fn gc_keeps_bodies_written_after_the_plan() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    site(root);
    let writer = history(root);
    let planned = plan(&writer, &RetentionPolicy { keep_last: Some(1), ..RetentionPolicy::default() })
        .expect("planned");
    let Some(mut other) = other_program(root) else { return };
    let done = perform(&writer, &planned, &|_| {}).expect("performed");
    assert_eq!((done.stayed.bodies, done.stayed.bytes), (1, 3));
    assert!(blob(root, "old").exists());
    drop(other.stdin.take());
    other.wait().expect("ended");
}

#[test]
fn gc_succeeds_although_its_time_cannot_be_stored() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    site(root);
    let writer = history(root);
    let planned = plan(&writer, &RetentionPolicy::default()).expect("planned");
    let database = sql(root);
    database.execute_batch("BEGIN IMMEDIATE").expect("begun");
    let done = perform(&writer, &planned, &|_| {}).expect("performed");
    assert!(done.undated.is_some() && writer.catalog().last_gc().expect("read").is_none());
    database.execute_batch("ROLLBACK").expect("ended");
    let done = perform(&writer, &planned, &|_| {}).expect("performed");
    assert!(done.undated.is_none() && writer.catalog().last_gc().expect("read").is_some());
}

/// A version as a batch of Moku writes it: with its own id, after the one that HEAD names, which
/// moves.
fn moku_commits(root: &Path, url: &str, path: &str, headers: &str) -> VersionId {
    let id: VersionId = uuid::Uuid::from_u128(0x77).to_string().parse().expect("an id");
    let head = fs::read_to_string(root.join(".moku/HEAD")).expect("read");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs();
    let database = sql(root);
    database
        .execute(
            "INSERT INTO versions (id, parent_id, message, author, timestamp) VALUES (?1, ?2, 'by Moku', NULL, ?3)",
            (id.to_string(), head, now),
        )
        .expect("inserted");
    let body = blob(root, "new").file_name().expect("a name").to_str().expect("text").to_owned();
    database
        .execute(
            "INSERT INTO snapshots (id, version_id, status_code, url, file_path, blob_id, created_at, headers)
             VALUES (?1, ?2, 200, ?3, ?4, ?5, ?6, ?7)",
            (uuid::Uuid::from_u128(0x78).to_string(), id.to_string(), url, path, body, now, headers),
        )
        .expect("inserted");
    fs::write(root.join(".moku/HEAD"), id.to_string()).expect("written");
    id
}

#[test]
fn versions_that_moku_commits_during_a_commit_count_towards_the_limit() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    site(root);
    let writer = history(root);
    let request =
        Request { message: "x".to_owned(), threads: 1, most_versions: Some(3), ..Request::default() };
    let done = commit(&writer, &request, vec![page("https://e.org/", "more")], &|_| {
        moku_commits(root, "https://e.org/", "", "{}");
    });
    assert!(
        matches!(
            done,
            Err(ArchiveError::Repository(RepositoryError::TooManyVersions {
                found: 3,
                most: 3,
                in_silos: false
            }))
        ),
        "{done:?}"
    );
    assert_eq!(writer.catalog().count_versions(10).expect("counted"), 3);
    let request = Request { most_versions: Some(4), ..request };
    commit(&writer, &request, vec![page("https://e.org/", "more")], &|_| {}).expect("committed");
}

#[test]
fn an_intended_head_is_dropped_after_another_move_of_head() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let [first, second] = site(root);
    let third = moku_commits(root, "https://e.org/", "", "{}");
    // Somebody was stopped when HEAD had moved to the second version and before this was gone.
    intend(root, &format!("{second} {first}"));
    assert_eq!(reader(root).repaired_head_target().expect("read"), Some(third));
    let writer = history(root);
    assert_eq!(writer.head().expect("read"), Some(third));
    let next = commit_pages(&writer, "on", &[("https://e.org/", "on")]);
    assert_eq!(next.parent, Some(third));
    // Where nobody did, it is brought about.
    drop(writer);
    intend(root, &format!("{second} {}", next.version));
    assert_eq!(history(root).head().expect("read"), Some(second));
}

#[test]
fn headers_in_the_spelling_of_the_server_are_redacted_and_compared_by_name() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    site(root);
    let raw = r#"{"Authorization":["Bearer SECRET"],"Content-Type":["text/html"],"X-B":[" b ","a"]}"#;
    let version = moku_commits(root, "https://e.org/", "", raw);
    let before = reader(root);
    let page = cat::find(&before, "https://e.org/", &CaptureSelector::Version(version)).expect("found");
    let names: Vec<&str> = page.headers.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["authorization", "content-type", "x-b"]);
    assert_eq!(page.headers.get("x-b").expect("there"), ["a", "b"]);
    let shown = serde_json::to_string(&*page.headers.shown(before.redaction())).expect("JSON");
    assert!(!shown.contains("SECRET"), "{shown}");
    drop(before);
    let next = commit_pages(&history(root), "on", &[("https://e.org/", "on")]);
    let kept = reader(root).catalog().diff(Some(&version), &next.version).expect("read").expect("kept").json;
    assert!(!kept.contains("SECRET") && kept.contains("authorization"), "{kept}");
    assert!(!kept.contains(r#""content-type""#), "it did not change: {kept}");
}

#[test]
fn a_page_with_dots_in_its_url_is_found_in_its_version() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    site(root);
    let url = "https://e.org/a/./b/../c";
    let version = moku_commits(root, url, "/a/./b/../c", "{}");
    let found = cat::find(&reader(root), url, &CaptureSelector::Version(version)).expect("found");
    assert_eq!(found.url, url);
}

#[test]
fn a_checkout_stays_although_the_clock_was_ahead_before() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let [first, second] = site(root);
    let ahead = SystemTime::now() + Duration::from_secs(3600);
    let ahead_seconds = ahead.duration_since(UNIX_EPOCH).expect("a time").as_secs();
    let set = "UPDATE versions SET timestamp = ?1 WHERE id = ?2";
    sql(root).execute(set, (ahead_seconds, second.to_string())).expect("set");
    checkout::checkout(&history(root), first, &mut |_| {}).expect("moved");
    assert_eq!(history(root).head().expect("read"), Some(first));
    // Moku moves HEAD as well.
    fs::write(root.join(".moku/HEAD"), first.to_string()).expect("written");
    assert_eq!(history(root).head().expect("read"), Some(first));
}

#[test]
fn a_checkout_stays_whatever_the_time_of_the_head_file() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let [first, _] = site(root);
    checkout::checkout(&history(root), first, &mut |_| {}).expect("moved");
    let head = root.join(".moku/HEAD");
    for time in [UNIX_EPOCH, UNIX_EPOCH + Duration::from_secs(1_700_000_000), SystemTime::now()] {
        let file = fs::File::options().write(true).open(&head).expect("opened");
        file.set_modified(time).expect("set");
        let writer = history(root);
        assert_eq!((writer.head().expect("read"), writer.repaired_head()), (Some(first), None));
    }
    // A version that Moku made and a writer has seen is no evidence either.
    let theirs = moku_commits(root, "https://e.org/theirs", "/theirs", "{}");
    assert_eq!(history(root).head().expect("read"), Some(theirs));
    fs::write(&head, first.to_string()).expect("written");
    let branch = commit_pages(&history(root), "branch", &[("https://e.org/", "branch")]);
    assert_eq!(branch.parent, Some(first));
}

#[test]
fn a_head_that_moku_left_behind_in_the_same_second_is_found_also_in_a_copy() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let site_folder = root.join("site");
    fs::create_dir(&site_folder).expect("made");
    let [_, second] = site(&site_folder);
    let theirs = moku_commits(&site_folder, "https://e.org/theirs", "/theirs", "{}");
    fs::write(site_folder.join(".moku/HEAD"), second.to_string()).expect("written");
    let copy = root.join("copy");
    let copied = Command::new("cp").arg("-r").args([&site_folder, &copy]).status().expect("cp");
    assert!(copied.success());
    for root in [&site_folder, &copy] {
        let writer = history(root);
        assert_eq!(writer.repaired_head(), Some(&HeadState::Behind { at: second, to: theirs }));
        assert_eq!(commit_pages(&writer, "4", &[("https://e.org/", "4")]).parent, Some(theirs));
    }
}

#[test]
fn lost_rows_of_a_version_are_reported_and_their_bodies_stay() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let [first, second] = site(root);
    checkout::checkout(&history(root), first, &mut |_| {}).expect("moved");
    let database = sql(root);
    for (table, column) in [("snapshots", "version_id"), ("diffs", "head_version_id"), ("versions", "id")] {
        let delete = format!("DELETE FROM {table} WHERE {column} = ?1");
        database.execute(&delete, [second.to_string()]).expect("deleted");
    }
    drop(database);
    let mut found = Vec::new();
    audit_site(root, false, &|_| {}, &mut |finding| found.push(finding.message)).expect("audited");
    assert!(found.iter().any(|message| message.contains(&second.to_string())), "{found:?}");
    let refused = plan(&history(root), &RetentionPolicy::default()).expect_err("refused");
    assert!(matches!(refused, ArchiveError::LostVersion(version) if version == second), "{refused}");
    assert!(blob(root, "new").exists());
    let policy = RetentionPolicy { accept_lost: true, ..RetentionPolicy::default() };
    let writer = history(root);
    perform(&writer, &plan(&writer, &policy).expect("planned"), &|_| {}).expect("performed");
    assert!(!blob(root, "new").exists() && blob(root, "old").exists());
    assert!(plan(&writer, &RetentionPolicy::default()).expect("planned").list.is_empty());
}

#[test]
fn no_path_leads_moku_out_of_the_site() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Moku, root);
    let urls = ["https://e.org/a/..%2F..%2Fy", "https://e.org/.moku/HEAD", "https://e.org/q?x=/../../../y"];
    let version = commit_pages(&history(root), "tricks", &urls.map(|url| (url, "x"))).version;
    let database = sql(root);
    let mut statement = database.prepare("SELECT file_path FROM snapshots").expect("prepared");
    let paths = statement.query_map([], |row| row.get::<_, String>(0)).expect("asked");
    for path in paths.map(|path| path.expect("read")) {
        assert!(!path.split('/').any(|name| matches!(name, ".." | ".moku")), "{path}");
    }
    // They are found, and the same pages again, also where an earlier build wrote their paths as
    // they are.
    for url in urls {
        assert_eq!(
            cat::find(&reader(root), url, &CaptureSelector::Version(version)).expect("found").url,
            url
        );
    }
    for (url, path) in urls.iter().zip(["/a/../../y", "/.moku/HEAD", "/q?x=/../../../y"]) {
        database.execute("UPDATE snapshots SET file_path = ?2 WHERE url = ?1", (url, path)).expect("set");
    }
    let next = commit_pages(&history(root), "again", &urls.map(|url| (url, "x")));
    assert_eq!((next.captures, next.changed), (3, 0));
}
