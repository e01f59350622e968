//! The verbs on Crystal projects: streams and exit codes.

use std::path::Path;

use varve_crystal::{DownloadError, MajorVersion, RevisionId};
use varve_testkit::web::{Answer, Site, Web};

use crate::project::{self, Download};
use crate::{run, stderr, stdout, varve};
use varve_testkit::{Requirement, skip};

const HOME: &str = "https://site.example/";

/// A project of these downloads.
fn made(folder: &Path, downloads: impl IntoIterator<Item = Download>) -> String {
    project::make(&folder.join("lab"), MajorVersion::Tree, downloads).to_str().unwrap().to_owned()
}

/// A project of two revisions of one page.
fn make(folder: &Path) -> String {
    made(folder, ["one\n", "two\n"].map(|text| Download::plain(HOME, text)))
}

/// The output of a call that must exit with this code.
fn said(code: i32, words: &[&str]) -> String {
    let output = run(words);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {}", stderr(&output));
    stdout(&output)
}

#[test]
fn a_new_project_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("museum");
    let made = said(0, &["crystal", "new", path.to_str().unwrap()]);
    assert!(made.trim_end().ends_with("museum.crystalproj"));
    assert_eq!(said(0, &["crystal", "verify", made.trim_end()]), "ok: 0 revisions, 0 with bodies\n");
    let again = run(&["crystal", "new", made.trim_end()]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("hint: choose another name"), "{}", stderr(&again));
}

#[test]
fn info_has_the_documented_fields() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let line = said(0, &["crystal", "info", &path, "--json"]);
    let info: serde_json::Value = serde_json::from_str(&line).unwrap();
    for (name, value) in [
        ("major_version", 2),
        ("resources", 1),
        ("revisions", 2),
        ("roots", 1),
        ("groups", 0),
        ("aliases", 0),
        ("missing_bodies", 0),
        ("error_revisions", 0),
        ("bytes", 8),
    ] {
        assert_eq!(info[name], value, "{name}");
    }
    assert!(said(0, &["-C", &path, "crystal", "info"]).contains("revisions       2, 0 of them errors\n"));
}

#[test]
fn verify_ends_with_1_until_it_is_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let stray = Path::new(&path).join("revisions/note.txt");
    std::fs::write(&stray, "mine").unwrap();
    let found = said(1, &["crystal", "verify", &path, "--json"]);
    let finding: serde_json::Value = serde_json::from_str(found.lines().next().unwrap()).unwrap();
    assert_eq!((&finding["kind"], &finding["severity"]), (&"stray-file".into(), &"note".into()));
    assert!(found.lines().last().unwrap().contains("\"findings\":1"));
    let audited = said(1, &["-C", &path, "audit", "--json"]);
    assert!(
        audited.contains("\"silo\":null") && audited.contains("\"summary\":{\"records\":2,"),
        "{audited}"
    );
    assert!(said(0, &["crystal", "verify", &path, "--repair"]).contains("1 finding repaired; none left"));
    assert_eq!(std::fs::read(Path::new(&path).join("salvage/note.txt")).unwrap(), b"mine");
    said(0, &["crystal", "verify", &path]);
}

#[test]
fn migrate_and_save_as() {
    let folder = tempfile::tempdir().unwrap();
    let flat = folder.path().join("flat");
    let path = said(0, &["crystal", "new", flat.to_str().unwrap(), "--major-version", "1"]);
    let path = path.trim_end();
    let migrated = said(0, &["crystal", "migrate", path, "--json"]);
    assert_eq!(migrated, "{\"schema\":1,\"from\":1,\"to\":2,\"moved\":0,\"unreadable\":0}\n");
    assert_eq!(said(0, &["crystal", "migrate", path]), "nothing to do: major version 2\n");
    let copy = folder.path().join("copy.crystalproj");
    said(0, &["crystal", "save-as", path, copy.to_str().unwrap()]);
    said(0, &["crystal", "verify", copy.to_str().unwrap(), "--bodies"]);
    assert_eq!(run(&["crystal", "save-as", path, copy.to_str().unwrap()]).status.code(), Some(2));
}

#[test]
fn a_project_is_read_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    assert_eq!(said(0, &["-C", &path, "cat", HOME]), "two\n");
    assert_eq!(said(0, &["-C", &path, "cat", HOME, "--at", "r1"]), "one\n");
    let opener = format!("{path}/OPEN ME.crystalopen");
    assert_eq!(said(0, &["-C", &opener, "log", HOME, "--json"]).lines().count(), 2);
    assert_eq!(said(0, &["-C", &path, "log", "--limit", "1"]).lines().count(), 1);
    assert!(said(0, &["-C", &path, "show"]).contains(HOME));
    assert!(said(0, &["-C", &path, "diff", "r1"]).contains("two"));
    let versions = run(&["-C", &path, "diff"]);
    assert_eq!(versions.status.code(), Some(2));
    assert!(stderr(&versions).contains("a Crystal project keeps no versions"), "{}", stderr(&versions));
}

#[test]
fn a_project_is_imported_and_exported() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let museum = folder.path().join("museum");
    let museum = museum.to_str().unwrap();
    said(0, &["init", museum]);
    assert!(said(0, &["-C", museum, "import", &path]).contains("2 revisions, 2 of them new"));
    assert!(said(0, &["-C", museum, "import", &path]).contains("already imported"));
    let back = folder.path().join("back.crystalproj");
    said(0, &["-C", museum, "export", "--format", "crystal", back.to_str().unwrap()]);
    let project = varve_crystal::Project::open(&back).unwrap();
    assert_eq!(project.body_length(RevisionId(2)).unwrap(), Some(4));
    said(0, &["-C", museum, "audit"]);
}

fn site() -> Web {
    let front = "<a href=/1/>1</a> <a href=/2/>2</a> <img src=/ads/x.png> <img src=/i.png>";
    Web::serve(
        Site::new()
            .page("/", Answer::html(front))
            .page("/1/", Answer::html("one"))
            .page("/2/", Answer::html("two"))
            .page("/i.png", Answer::of("image/png", "png")),
    )
}

/// A project whose plan contains the front page and the numbered pages of the site.
fn planned(folder: &Path, web: &Web) -> String {
    let path = said(0, &["crystal", "new", folder.join("lab").to_str().unwrap()]);
    let path = path.trim_end().to_owned();
    let (home, numbers, ads) = (web.url("/"), web.url("/#/"), web.url("/ads/**"));
    said(0, &["-C", &path, "plan", "root", "add", &home, "--name", "Home"]);
    said(0, &["-C", &path, "plan", "group", "add", &numbers, "--name", "Numbers", "--found-on", "Home"]);
    said(0, &["-C", &path, "plan", "group", "add", &ads, "--do-not-download"]);
    path
}

#[test]
fn a_project_is_captured_into_by_its_own_plan() {
    let (folder, web) = (tempfile::tempdir().unwrap(), site());
    let path = planned(folder.path(), &web);
    let words = ["-C", &path, "capture", "--allow-private", "--delay", "0s", "--json"];
    let events = said(0, &words);
    let last: serde_json::Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    for (name, value) in [("captured", 5), ("revisions", 5), ("failed", 0), ("skipped", 1), ("queued", 0)] {
        assert_eq!(last[name], value, "{name}: {events}");
    }
    assert_eq!((&last["finished"], &last["version"]), (&true.into(), &serde_json::Value::Null));
    assert_eq!(said(0, &["-C", &path, "cat", &web.url("/2/")]), "two");
    said(0, &["crystal", "verify", &path, "--bodies"]);
    let again = said(0, &[&words[..6], &["--again"]].concat());
    assert!(again.starts_with("5 revisions: 5 captured (5 unchanged), 0 there before, 0 failed"), "{again}");
    let lost = run(&["-C", &path, "capture", "http://127.0.0.1:1/", "--allow-private", "--retries", "0"]);
    assert_eq!(lost.status.code(), Some(1), "{}", stderr(&lost));
    let shown = run(&["-C", &path, "cat", "http://127.0.0.1:1/"]);
    assert!(stderr(&shown).contains("ConnectionRefusedError"), "{}", stderr(&shown));
    let none = run(&["-C", &path, "capture", "--resume"]);
    assert_eq!(none.status.code(), Some(2));
}

#[test]
fn the_plan_of_a_project_is_edited_in_place() {
    let (folder, web) = (tempfile::tempdir().unwrap(), site());
    let path = planned(folder.path(), &web);
    let home = web.url("/");
    assert_eq!(said(0, &["-C", &path, "plan", "root", "list"]), format!("Home  {home}\n"));
    let group: serde_json::Value = said(0, &["-C", &path, "plan", "group", "list", "--json"])
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .next()
        .unwrap();
    assert_eq!(group["found_on"], "Home");
    said(0, &["-C", &path, "plan", "group", "site", "Home"]);
    let private = said(1, &["-C", &path, "plan", "check"]);
    assert!(private.contains("`Home` has a loopback address"), "{private}");
    said(0, &["-C", &path, "plan", "check", "--allow-private"]);
    said(0, &["-C", &path, "plan", "alias", "add", "https://old.example/", &home]);
    said(0, &["-C", &path, "plan", "alias", "remove", "https://old.example/"]);
    let removed = run(&["-C", &path, "plan", "root", "remove", "Home"]);
    assert_eq!(removed.status.code(), Some(0), "what was found on it is cleared, as Crystal does");
    assert!(
        stderr(&removed).contains("members of `Numbers` are now looked for on all pages"),
        "{}",
        stderr(&removed)
    );
    assert!(!said(0, &["-C", &path, "plan", "show"]).contains(" on Home"));
}

#[test]
fn properties_are_shown_set_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    assert!(said(0, &["-C", &path, "crystal", "property"]).contains("major_version  2\n"));
    said(0, &["-C", &path, "crystal", "property", "entity_title_format", "name_url"]);
    assert_eq!(said(0, &["-C", &path, "crystal", "property", "entity_title_format"]), "name_url\n");
    said(0, &["-C", &path, "crystal", "property", "entity_title_format", "--unset"]);
    said(1, &["-C", &path, "crystal", "property", "entity_title_format"]);
    let refused = run(&["-C", &path, "crystal", "property", "major_version", "1"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_project_becomes_a_warc_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let target = folder.path().join("out.warc.gz");
    let target = target.to_str().unwrap();
    let line = said(0, &["-C", &path, "export", "--format", "warc", "-o", target, "--json"]);
    let done: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&done["records"], &done["missing"]), (&2.into(), &0.into()));
    said(0, &["doctor", target, "--strict"]);
    assert_eq!(run(&["-C", &path, "export", "--format", "warc", "-o", target]).status.code(), Some(2));
}

/// Crystal stores URLs as they were typed. Rows with a password stay in the project.
#[test]
fn passwords_in_a_project_reach_no_archive_and_no_warc_file() {
    let folder = tempfile::tempdir().unwrap();
    let secret = "https://me:hunter2@site.example/";
    let path = made(folder.path(), [Download::plain(HOME, "one\n"), Download::plain(secret, "two\n")]);
    rusqlite_of(&path)
        .execute_batch(
            "insert or replace into root_resource values (1, 'open', 1), (2, 'closed', 2);
             insert into alias values (1, 'https://me:hunter2@a.example/', 'https://b.example/', 0);
             insert into resource_group values (1, 'g', 'https://me:hunter2@site.example/*', null, null, 0);",
        )
        .unwrap();
    let museum = folder.path().join("museum");
    let museum = museum.to_str().unwrap();
    said(0, &["init", museum]);
    let done: serde_json::Value =
        serde_json::from_str(&said(1, &["-C", museum, "import", &path, "--json"])).unwrap();
    // A resource, its revision and its root, an alias, a group.
    assert_eq!((&done["revisions"], &done["with_user_info"]), (&1.into(), &5.into()));
    crate::user_info::assert_nowhere(museum.as_ref(), "hunter2");
    let target = folder.path().join("out.warc.gz");
    let done =
        said(0, &["-C", &path, "export", "--format", "warc", "-o", target.to_str().unwrap(), "--json"]);
    let done: serde_json::Value = serde_json::from_str(&done).unwrap();
    assert_eq!((&done["records"], &done["with_user_info"]), (&1.into(), &1.into()));
    assert!(said(0, &["doctor", target.to_str().unwrap(), "--json"]).contains("records"));
    let restored = folder.path().join("again.crystalproj");
    said(0, &["-C", museum, "export", "--format", "crystal", restored.to_str().unwrap()]);
    said(0, &["crystal", "verify", restored.to_str().unwrap()]);
}

#[test]
fn newest_good_selects_the_newest_good_revision() {
    let folder = tempfile::tempdir().unwrap();
    let good = Download::answer(HOME, 200, &[("Content-Type", "text/plain")], b"good\n");
    let failed = Download::failed(HOME, DownloadError::timed_out());
    let path = made(folder.path(), [good, failed]);
    let refused = run(&["-C", &path, "cat", HOME]);
    assert!(stderr(&refused).contains("TimeoutError: timed out"), "{}", stderr(&refused));
    assert_eq!(said(0, &["-C", &path, "cat", HOME, "--newest-good"]), "good\n");
    assert!(said(0, &["-C", &path, "show"]).contains(&format!("A ---             {HOME}\n")));
    assert!(
        said(0, &["-C", &path, "show", "--newest-good"]).contains(&format!("A 200          5  {HOME}\n"))
    );
    assert!(said(0, &["-C", &path, "diff", "r1", "HEAD", "--name-only"]).contains(HOME));
    assert_eq!(said(0, &["-C", &path, "diff", "r1", "HEAD", "--name-only", "--newest-good"]), "");
    let museum = folder.path().join("museum");
    let museum = museum.to_str().unwrap();
    said(0, &["init", museum]);
    said(0, &["-C", museum, "import", &path]);
    let chosen = run(&["-C", museum, "show", "--newest-good"]);
    assert_eq!(chosen.status.code(), Some(2));
    assert!(
        stderr(&chosen).contains("each version already selects one capture per page"),
        "{}",
        stderr(&chosen)
    );
}

#[test]
fn an_external_alias_is_reported_as_outside_of_the_project() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    said(
        0,
        &["-C", &path, "plan", "alias", "add", "https://a.example/", "https://live.example/", "--external"],
    );
    let outside = run(&["-C", &path, "cat", "https://a.example/x"]);
    assert_eq!(outside.status.code(), Some(2));
    let text = stderr(&outside);
    assert!(
        text.contains("an alias leads `https://a.example/x` out of the project, to https://live.example/x")
    );
    assert!(text.contains("plan alias remove") && !text.contains("newer program"), "{text}");
}

#[test]
fn a_project_is_exported_as_a_project() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let copy = folder.path().join("copy.crystalproj");
    let copy = copy.to_str().unwrap();
    let line = said(0, &["-C", &path, "export", "--format", "crystal", copy, "--json"]);
    let done: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&done["revisions"], &done["version"]), (&2.into(), &serde_json::Value::Null));
    assert_eq!(said(0, &["-C", copy, "cat", HOME]), "two\n");
    let then = ["-C", &path, "export", "--format", "crystal", "--version", "r1", "other.crystalproj"];
    assert_eq!(run(&then).status.code(), Some(2));
}

#[test]
fn a_revision_that_is_deleted_on_opening_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = made(folder.path(), (0..4).map(|page| Download::plain(format!("{HOME}{page}"), "page")));
    std::fs::remove_file(Path::new(&path).join("revisions/000/000/000/000/004")).unwrap();
    let added = run(&["-C", &path, "plan", "root", "add", HOME]);
    assert_eq!(added.status.code(), Some(0), "{}", stderr(&added));
    assert!(stderr(&added).contains("revision 4 was deleted"), "{}", stderr(&added));
    let set = run(&["-C", &path, "crystal", "property", "entity_title_format", "name_url"]);
    assert_eq!(stderr(&set), "", "nothing had to be put in order");
}

#[test]
fn a_browser_is_rejected_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let refused = run(&["-C", &path, "capture", HOME, "--browser"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("hint: without `--browser`"), "{}", stderr(&refused));
}

#[test]
fn an_older_schema_is_reported_and_is_no_finding() {
    let Some(packed) = varve_testkit::fixtures("crystal/lab/lab-v1-oldschema.crystalproj.zip") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    zip::ZipArchive::new(std::fs::File::open(packed).unwrap()).unwrap().extract(folder.path()).unwrap();
    let path = folder.path().join("lab.crystalproj");
    let path = path.to_str().unwrap();
    assert_eq!(said(0, &["-C", path, "audit"]), "ok: 53 revisions, 41 with bodies\n");
    assert!(said(0, &["crystal", "verify", path]).contains("the database has no `alias`"));
}

/// Every file below a folder with its content.
fn files(folder: &Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => waiting.push(path),
                false => drop(found.insert(path.clone(), std::fs::read(&path).unwrap())),
            }
        }
    }
    found
}

/// Leaves the database as a killed process does: with a resource that is only in the write-ahead log.
fn leave_log(path: &str, keeps_index: bool) {
    let database = Path::new(path).join("database.sqlite");
    let copy = |name: &str| std::fs::read(Path::new(path).join(name)).unwrap();
    let connection = rusqlite::Connection::open(&database).unwrap();
    let _: String = connection.query_row("PRAGMA journal_mode = wal", [], |row| row.get(0)).unwrap();
    connection
        .execute_batch("INSERT OR REPLACE INTO resource (url) VALUES ('https://wal.example/')")
        .unwrap();
    let names = ["database.sqlite", "database.sqlite-wal", "database.sqlite-shm"];
    let left = names.map(|name| (name, copy(name)));
    drop(connection);
    for (name, bytes) in left {
        if keeps_index || !name.ends_with("shm") {
            std::fs::write(Path::new(path).join(name), bytes).unwrap();
        }
    }
}

#[test]
fn readonly_rejects_writes_and_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let other = folder.path().join("other");
    let other = other.to_str().unwrap();
    let url = "https://site.example/new";
    for logs in [None, Some(true), Some(false)] {
        logs.iter().for_each(|keeps_index| leave_log(&path, *keeps_index));
        let before = files(Path::new(&path));
        for words in [
            &["capture", url][..],
            &["plan", "root", "add", url],
            &["plan", "group", "site", "Home"],
            &["plan", "alias", "add", "https://a.example/", HOME],
            &["crystal", "migrate"],
            &["crystal", "verify", "--repair"],
            &["crystal", "property", "entity_title_format", "name_url"],
            &["crystal", "new", other],
            &["init", other],
        ] {
            let refused = run(&[&["-C", &path, "--readonly"], words].concat());
            assert_eq!(refused.status.code(), Some(2), "{words:?}");
            let said = stderr(&refused);
            assert!(said.contains("would write here, and `--readonly` was given"), "{words:?}: {said}");
            assert!(said.contains("hint: nothing was changed"), "{words:?}: {said}");
        }
        assert!(!Path::new(other).exists());
        for words in [
            &["log"][..],
            &["show"],
            &["cat", HOME],
            &["diff", "r1"],
            &["audit"],
            &["plan", "show"],
            &["plan", "root", "list"],
            &["crystal", "info"],
            &["crystal", "verify"],
            &["crystal", "property"],
        ] {
            said(0, &[&["-C", &path, "--readonly"], words].concat());
        }
        let info: serde_json::Value =
            serde_json::from_str(&said(0, &["crystal", "info", &path, "--readonly", "--json"])).unwrap();
        assert_eq!(info["resources"], 1 + u64::from(logs.is_some()), "what is in the log counts");
        let copy = folder.path().join(format!("copy-{}.crystalproj", logs.map_or(2, u8::from)));
        said(0, &["crystal", "save-as", "--readonly", &path, copy.to_str().unwrap()]);
        assert!(files(Path::new(&path)) == before, "a trace was left: {logs:?}");
    }
    let refused = run(&["crystal", "migrate", &path, "--readonly"]);
    assert!(stderr(&refused).starts_with("error: `varve crystal migrate` would write here"));
}

#[test]
fn readonly_applies_to_archives() {
    let folder = tempfile::tempdir().unwrap();
    let museum = folder.path().join("museum");
    let museum = museum.to_str().unwrap();
    let page = folder.path().join("page.html");
    std::fs::write(&page, "<p>hi</p>").unwrap();
    let page = page.to_str().unwrap();
    said(0, &["init", museum]);
    said(0, &["-C", museum, "commit", page, "--url", HOME, "-m", "one"]);
    let silos = files(&Path::new(museum).join("warc"));
    for words in [
        &["commit", page, "--url", HOME, "-m", "two"][..],
        &["store", page],
        &["import", "x.crystalproj"],
        &["tag", "one"],
        &["rebuild"],
        &["housekeeping"],
        &["plan", "root", "add", HOME],
        &["urls", "add", "--offline", "--domain-file", HOME],
        &["diff", "--keep"],
    ] {
        let refused = run(&[&["-C", museum, "--readonly"], words].concat());
        assert_eq!(refused.status.code(), Some(2), "{words:?}");
        assert!(stderr(&refused).contains("`--readonly` was given"), "{words:?}: {}", stderr(&refused));
    }
    said(0, &["-C", museum, "--readonly", "log"]);
    assert_eq!(said(0, &["-C", museum, "--readonly", "cat", HOME]), "<p>hi</p>");
    assert!(files(&Path::new(museum).join("warc")) == silos);
}

/// The output of a shell in which a folder is mounted read-only; `None` if mounting is not permitted.
#[cfg(target_os = "linux")]
pub(crate) fn where_read_only(folder: &str, script: &str) -> Option<std::process::Output> {
    let mount =
        "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && ! touch \"$1/x\" 2>/dev/null";
    let in_namespace = |script: &str| {
        let mut command = std::process::Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_varve"), folder]).output()
    };
    match in_namespace(mount) {
        Ok(tried) if tried.status.success() => {
            Some(in_namespace(&format!("{mount} || exit 99; {script}")).unwrap())
        }
        _ => None,
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_project_on_a_medium_that_cannot_be_written_is_read_with_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    for keeps_index in [true, false] {
        leave_log(&path, keeps_index);
        let script = "$0 -C \"$1\" cat https://site.example/ && $0 -C \"$1\" crystal info --json \
            && $0 -C \"$1\" --readonly audit && ! $0 -C \"$1\" plan root add https://b.example/";
        let Some(read) = where_read_only(&path, script) else {
            return skip(Requirement::Mount, "nothing can be mounted read-only here");
        };
        assert_eq!(read.status.code(), Some(0), "{}", stderr(&read));
        assert!(stdout(&read).starts_with("two\n"), "{}", stdout(&read));
        assert!(stdout(&read).contains("\"resources\":2,"), "{}", stdout(&read));
        assert!(stderr(&read).contains("hint: copy it with `varve crystal save-as`"), "{}", stderr(&read));
    }
}

#[test]
fn a_repair_reports_for_each_finding_what_was_done_and_what_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = made(folder.path(), (0..4).map(|page| Download::plain(format!("{HOME}{page}"), "page")));
    let at = |name: &str| Path::new(&path).join(name);
    std::fs::remove_file(at("revisions/000/000/000/000/002")).unwrap();
    std::fs::write(at("revisions/000/000/000/000/fff"), "whose?").unwrap();
    let connection = rusqlite::Connection::open(at("database.sqlite")).unwrap();
    connection
        .execute_batch(
            "PRAGMA foreign_keys = OFF; UPDATE resource_revision SET resource_id = 99 WHERE id = 3;
             INSERT INTO resource_group (name, url_pattern, source_type, source_id) VALUES ('', 'http://x/*', 'root_resource', 9);",
        )
        .unwrap();
    drop(connection);
    let text = said(1, &["crystal", "verify", &path, "--repair"]);
    let shown = text.replace(std::fs::canonicalize(&path).unwrap().to_str().unwrap(), "LAB");
    insta::assert_snapshot!(shown, @"
    warning the source of group 1 is not there
      repaired  the group has no source now
      to do     if it should have one, remove the group and add it with `varve plan group add --found-on`
    damage  revision 2 has no body at `LAB/revisions/000/000/000/000/002`
      repaired  its row was deleted, and what it said is kept in `salvage/revision-2.json`
      to do     capture the page again; the file in `salvage` names its URL
    warning revision 3 is of resource 99, which is not there
      left      unchanged
      to do     nothing says of which page it is: look at its body, and give `resource_revision.resource_id` the id of the right resource with `sqlite3`, or delete the row
    note    `LAB/revisions/000/000/000/000/fff` belongs to no revision
      repaired  it was moved to `salvage/revision-4095`
      to do     look at it: no row says which page it is of
    3 findings repaired; 1 left
    ");
}

/// As in Crystal, a project that is complete is left alone.
#[test]
fn a_second_capture_of_a_project_requests_only_what_is_selected() {
    let site = Site::new()
        .page("/", Answer::html("<a href=/1>1</a><a href=/2>2</a><img src=/i.png>"))
        .page("/1", Answer::html("one"))
        .at("/2", |_, connection| connection.reset().map(|()| varve_testkit::web::Then::Close))
        .page("/i.png", Answer::of("image/png", "png"));
    let web = Web::serve(site);
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("lab.crystalproj");
    let project = project.to_str().unwrap();
    let call = |words: &[&str]| {
        let output = varve().args(["-C", project]).args(words).output().unwrap();
        (output.status.code(), format!("{}{}", stdout(&output), stderr(&output)))
    };
    assert_eq!(varve().args(["crystal", "new", project]).output().unwrap().status.code(), Some(0));
    assert_eq!(call(&["plan", "root", "add", &web.url("/")]).0, Some(0));
    assert_eq!(call(&["plan", "group", "add", &web.url("/#")]).0, Some(0));
    let pace = ["capture", "--allow-private", "--delay", "0", "--retries", "0", "--ignore-robots"];
    let requests = |more: &[&str]| {
        web.forget();
        let (_, told) = call(&[&pace[..], more].concat());
        let mut targets: Vec<String> = web.seen().into_iter().map(|seen| seen.target).collect();
        targets.sort();
        targets.dedup();
        (targets.join(" "), told)
    };
    assert_eq!(requests(&[]).0, "/ /1 /2 /favicon.ico /i.png");
    let (targets, told) = requests(&[]);
    assert_eq!(targets, "", "{told}");
    assert!(told.contains("0 captured") && told.contains("there before"), "{told}");
    assert_eq!(requests(&["--retry-errors"]).0, "/2");
    assert_eq!(requests(&["--stale-before", "2000-01-01"]).0, "");
    assert_eq!(requests(&["--stale-before", "2999-01-01"]).0, "/ /1 /favicon.ico /i.png");
    assert_eq!(requests(&["--again"]).0, "/ /1 /2 /favicon.ico /i.png");
}

#[test]
fn a_url_that_an_alias_leaves_on_the_live_web_is_skipped_and_the_others_are_captured() {
    let web = Web::serve(Site::new().page("/here", Answer::html("<a href=/away/x>x</a>")));
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("lab.crystalproj");
    let project = project.to_str().unwrap();
    let call = |words: &[&str]| {
        let output = varve().args(["-C", project]).args(words).output().unwrap();
        (output.status.code(), format!("{}{}", stdout(&output), stderr(&output)))
    };
    assert_eq!(varve().args(["crystal", "new", project]).output().unwrap().status.code(), Some(0));
    let added =
        call(&["plan", "alias", "add", &web.url("/away/"), "http://elsewhere.example/", "--external"]);
    assert_eq!(added.0, Some(0), "{}", added.1);
    let (away, here) = (web.url("/away/page"), web.url("/here"));
    let words = ["capture", &away, &here, "--allow-private", "--delay", "0", "--ignore-robots", "--json"];
    let (status, told) = call(&words);
    assert_eq!((status, web.count("/here"), web.count("/away/page")), (Some(0), 1, 0), "{told}");
    assert!(told.contains("plan:external") && told.contains("/away/page"), "{told}");
}

#[test]
fn an_archive_is_exported_with_its_plan_and_on_request_with_all_versions() {
    let place = crate::history::Place::new(true);
    for text in ["one", "two"] {
        place.file("page", text);
        place.data(&["commit", "--url", "http://h.example/1", "page", "-m", text]);
    }
    place.data(&["tag", "first", "HEAD~1"]);
    place.data(&["plan", "root", "add", "http://h.example/", "--name", "Home"]);
    let group = ["--name", "Numbers", "--found-on", "Home"];
    place.data(&[&["plan", "group", "add", "http://h.example/#"][..], &group].concat());
    place.data(&["plan", "alias", "add", "http://www.h.example/", "http://h.example/"]);
    let export = |name: &str, more: &[&str]| {
        let words = [&["export", "--format", "crystal", name, "--json"][..], more].concat();
        let exported = place.object(&words);
        let project = varve_crystal::Project::open(place.path(name)).unwrap();
        (exported, project)
    };
    let (exported, project) = export("head.crystalproj", &[]);
    assert_eq!(exported["revisions"], 1, "{exported}");
    let root = project.roots().next().unwrap().unwrap();
    let group = project.groups().next().unwrap().unwrap();
    let alias = project.aliases().next().unwrap().unwrap();
    assert_eq!((root.name.as_str(), group.name.as_str()), ("Home", "Numbers"));
    assert_eq!(group.source, Some(varve_crystal::GroupSource::Root(root.id)));
    assert_eq!(alias.source_url_prefix, "http://www.h.example/");
    let (exported, project) = export("all.crystalproj", &["--all"]);
    assert_eq!((&exported["revisions"], project.roots().count()), (&serde_json::json!(2), 1), "{exported}");
    let bodies: Vec<String> = project
        .revisions()
        .map(|revision| {
            let varve_crystal::BodyLookup::Found(mut body) = project.body_of(&revision.unwrap()).unwrap()
            else {
                panic!("no body")
            };
            let mut text = String::new();
            std::io::Read::read_to_string(&mut body, &mut text).unwrap();
            text
        })
        .collect();
    assert_eq!(bodies, ["one", "two"]);
    let left = exported["left_behind"].to_string();
    assert!(left.contains("messages and authors") && left.contains("tags"), "{left}");
    // The plan that was in force with an older version, which had none.
    let (exported, project) = export("old.crystalproj", &["--version", "HEAD~1"]);
    assert_eq!((&exported["revisions"], project.roots().count()), (&serde_json::json!(1), 0), "{exported}");
}

/// Crystal removes the transfer coding of a body and keeps its content coding.
#[test]
fn a_raw_response_has_headers_that_agree_with_its_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let packed = b"\x1f\x8b\x08\x00not really gzip";
    let headers = [("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked"), ("Server", "x")];
    let path = made(folder.path(), [Download::answer(HOME, 200, &headers, packed)]);
    let output = run(&["-C", &path, "cat", HOME, "--raw"]);
    let at = output.stdout.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&output.stdout[..at]);
    assert_eq!(&output.stdout[at + 4..], packed, "{head}");
    assert!(head.contains("Content-Encoding: gzip") && head.contains("Server: x"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}", packed.len())), "{head}");
    assert!(!head.contains("chunked"), "{head}");
}

#[test]
fn captures_are_searched_by_error_status_and_cookie() {
    let folder = tempfile::tempdir().unwrap();
    let date = ("Date", "Thu, 01 Jan 2026 00:00:00 GMT");
    let path = made(
        folder.path(),
        [
            Download::answer(HOME, 200, &[date], b"good"),
            Download::answer("https://site.example/gone", 404, &[date], b"gone"),
            Download::failed("https://site.example/failed", DownloadError::timed_out()),
        ],
    );
    let database = rusqlite_of(&path);
    database.execute_batch("UPDATE resource_revision SET request_cookie = 'a=b' WHERE id = 1").unwrap();
    drop(database);
    let rows = |words: &[&str]| -> Vec<serde_json::Value> {
        let words = [&["-C", path.as_str(), "log", "--json"], words].concat();
        said(0, &words).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let urls = |words: &[&str]| -> Vec<String> {
        rows(words)
            .iter()
            .map(|row| row["url"].as_str().unwrap().rsplit('/').next().unwrap().into())
            .collect()
    };
    for without_index in [false, true] {
        if without_index {
            rusqlite_of(&path).execute_batch("DROP INDEX resource_revision__status_code").unwrap();
        }
        assert_eq!(urls(&["--errors"]), ["failed", "gone"]);
        assert_eq!(urls(&["--status", "404"]), ["gone"]);
        assert_eq!(urls(&["--status", "200"]), [""]);
        assert_eq!(urls(&["--without-cookie"]), ["failed", "gone"]);
        assert_eq!(urls(&["--errors", "--without-cookie", "--limit", "1"]), ["failed"]);
    }
    assert_eq!(urls(&[HOME, "--errors"]), [] as [&str; 0]);
    assert_eq!(urls(&[HOME, "--status", "200"]), [""]);
    let all = rows(&[]);
    assert_eq!(
        (&all[0]["error"]["type"], &all[0]["time_is_invented"]),
        (&"TimeoutError".into(), &true.into())
    );
    assert_eq!((&all[2]["error"], &all[2]["has_cookie"]), (&serde_json::Value::Null, &true.into()));
    assert_eq!(all[1]["time_is_invented"], false);
}

fn rusqlite_of(path: &str) -> rusqlite::Connection {
    rusqlite::Connection::open(Path::new(path).join("database.sqlite")).unwrap()
}

#[test]
fn a_quick_overview_counts_no_bodies() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path());
    let info = |words: &[&str]| -> serde_json::Value {
        serde_json::from_str(&said(0, &[&["crystal", "info", &path, "--json"], words].concat())).unwrap()
    };
    assert_eq!((info(&[])["bodies"].clone(), info(&[])["bytes"].clone()), (2.into(), 8.into()));
    let quick = info(&["--quick"]);
    assert_eq!((&quick["revisions"], &quick["bodies"]), (&2.into(), &serde_json::Value::Null));
    std::fs::remove_dir_all(Path::new(&path).join("revisions/000")).unwrap();
    assert_eq!(info(&["--quick"]), quick);
}

/// Only the pages with a revision between the two states are read.
#[test]
fn a_diff_of_two_states_reads_only_the_pages_between_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = made(
        folder.path(),
        [
            Download::plain(HOME, "one\n"),
            Download::plain("https://site.example/same", "same\n"),
            Download::plain("https://site.example/same", "same\n"),
            Download::plain(HOME, "two\n"),
            Download::plain("https://site.example/new", "new\n"),
        ],
    );
    // Reading a page that cannot differ would fail here.
    let body = Path::new(&path).join("revisions/000/000/000/000/003");
    std::fs::remove_file(&body).unwrap();
    std::os::unix::fs::symlink("/nowhere", &body).unwrap();
    let names = said(0, &["-C", &path, "diff", "r3", "HEAD", "--name-only"]);
    assert_eq!(names.lines().count(), 2, "{names}");
    assert!(names.contains(HOME) && names.contains("/new"), "{names}");
}

#[test]
fn the_members_of_a_group_and_the_tree_of_a_project_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = made(
        folder.path(),
        [
            Download::plain(HOME, "home"),
            Download::plain("https://site.example/1/", "one"),
            Download::failed("https://site.example/2/", DownloadError::timed_out()),
        ],
    );
    let mut writer = varve_crystal::ProjectWriter::open(&path).unwrap();
    writer.add_resource("https://site.example/3/").unwrap();
    writer.add_resource("https://site.example/about").unwrap();
    writer.close().unwrap();
    said(
        0,
        &[
            "-C",
            &path,
            "plan",
            "group",
            "add",
            "https://site.example/#/",
            "--name",
            "Pages",
            "--found-on",
            "Home",
        ],
    );
    said(0, &["-C", &path, "plan", "group", "add", "https://site.example/about**"]);
    let members = said(0, &["-C", &path, "plan", "members", "Pages"]);
    assert_eq!(
        members,
        "https://site.example/1/\nhttps://site.example/2/\nhttps://site.example/3/  missing\n"
    );
    let missing = said(0, &["-C", &path, "plan", "members", "Pages", "--missing"]);
    assert_eq!(missing, "https://site.example/3/\n");
    let tree: serde_json::Value =
        serde_json::from_str(&said(0, &["-C", &path, "plan", "tree", "--json"])).unwrap();
    let pages = &tree["roots"][0]["groups"][0];
    assert_eq!(tree["roots"][0]["captured"], true, "{tree}");
    assert_eq!((&pages["captured"], &pages["missing"]), (&2.into(), &1.into()), "{tree}");
    assert_eq!(tree["groups"][0]["pattern"], "https://site.example/about**", "{tree}");
}

#[test]
fn a_project_is_migrated_to_packs_and_a_queued_migration_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = made(folder.path(), (0..20).map(|number| Download::plain(HOME, format!("body {number}"))));
    let database = rusqlite::Connection::open(Path::new(&path).join("database.sqlite")).unwrap();
    database
        .execute_batch(
            "INSERT INTO project_property VALUES ('major_version_old', '2'); \
             UPDATE project_property SET value = '3' WHERE name = 'major_version'",
        )
        .unwrap();
    drop(database);
    let info: serde_json::Value =
        serde_json::from_str(&said(0, &["crystal", "info", &path, "--json"])).unwrap();
    assert_eq!(info["migration"], serde_json::json!({ "to": 3, "stage": "queued" }));
    let told = run(&["crystal", "info", &path, "--quick"]);
    assert!(stderr(&told).contains("a migration to major version 3 is queued"), "{}", stderr(&told));
    let migrated = said(0, &["crystal", "migrate", &path, "--major-version", "3"]);
    assert_eq!(migrated, "major version 3: the migration is complete\n");
    let info: serde_json::Value =
        serde_json::from_str(&said(0, &["crystal", "info", &path, "--json"])).unwrap();
    assert_eq!((&info["migration"], &info["bodies"]), (&serde_json::Value::Null, &20.into()));
    assert!(Path::new(&path).join("revisions/000/000/000/000/00_.zip").is_file());
    assert!(said(0, &["-C", &path, "cat", HOME]).contains("body 19"));
    let other = folder.path().join("other");
    let other = said(0, &["crystal", "new", other.to_str().unwrap(), "--major-version", "3"]);
    assert_eq!(said(0, &["crystal", "verify", other.trim_end()]), "ok: 0 revisions, 0 with bodies\n");
    let flat = made_flat(folder.path());
    let migrated = said(0, &["crystal", "migrate", &flat, "--major-version", "3"]);
    assert_eq!(migrated, "major version 1 to 3: 32 files moved\n");
}

/// A project of version 1 with one full pack of bodies and a bit more.
fn made_flat(folder: &Path) -> String {
    let downloads = (0..17).map(|number| Download::plain(HOME, format!("body {number}")));
    project::make(&folder.join("flat"), MajorVersion::Flat, downloads).to_str().unwrap().to_owned()
}

/// An export that is killed leaves a folder, and the next one removes it.
#[test]
fn what_a_killed_export_leaves_is_removed_by_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let downloads = (0..400).map(|number| Download::plain(format!("{HOME}{number}"), "body ".repeat(number)));
    let path = made(folder.path(), downloads);
    let museum = folder.path().join("museum").to_str().unwrap().to_owned();
    said(0, &["init", &museum]);
    said(0, &["-C", &museum, "import", &path]);
    let place = folder.path().join("out");
    std::fs::create_dir(&place).unwrap();
    let target = place.join("back.crystalproj").to_str().unwrap().to_owned();
    let words = ["-C", &museum, "export", "--format", "crystal", &target];
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir(&place).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let mut child = varve().args(words).stdout(std::process::Stdio::null()).spawn().unwrap();
    while names().is_empty() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "it came to its end");
    assert!(matches!(&names()[..], [left] if left.starts_with(".varve-export-")), "{:?}", names());
    said(0, &words);
    assert_eq!(names(), ["back.crystalproj"]);
    let info = said(0, &["crystal", "verify", &target, "--bodies"]);
    assert_eq!(info, "ok: 400 revisions, 400 with bodies\n");
}

/// A body that cannot be read shows whether one was read.
#[test]
fn the_pages_of_a_project_are_listed_without_reading_bodies() {
    let folder = tempfile::tempdir().unwrap();
    let downloads =
        (0..15).map(|number| Download::plain(format!("{HOME}{}", number % 5), format!("body {number}")));
    let path = project::make(&folder.path().join("lab"), MajorVersion::Packed, downloads);
    let pack = path.join("revisions/000/000/000/000/00_.zip");
    let mut bytes = std::fs::read(&pack).unwrap();
    for at in 0..bytes.len() - 5 {
        if bytes[at..].starts_with(b"body ") {
            bytes[at] = b'B';
        }
    }
    std::fs::write(&pack, bytes).unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(run(&["-C", path, "cat", &format!("{HOME}1")]).status.code(), Some(2));
    let shown = said(0, &["-C", path, "show"]);
    assert_eq!(shown.lines().filter(|line| line.starts_with("A ")).count(), 5, "{shown}");
}
