//! `varve moku` and other verbs on Moku sites.

use crate::history::Place;
use crate::stderr;

/// An empty folder for a test.
fn place() -> Place {
    Place::new(false)
}

#[test]
fn a_site_is_made_with_its_settings() {
    let place = place();
    place.data(&["moku", "new", "site", "--project", "one"]);
    let told = place.object(&["moku", "info", "site", "--json"]);
    assert_eq!((told["project"].as_str(), told["redaction"].as_str()), (Some("one"), Some("on")));
    assert!(place.failure(&["moku", "new", "site"]).contains("hint: "));
    assert!(place.failure(&["moku", "info", "nothing"]).contains("is not a Moku site"));
}

#[test]
fn a_site_goes_to_another_project_only_by_force() {
    let place = place();
    place.data(&["moku", "new", "site", "--project", "one"]);
    let refused = place.failure(&["moku", "set", "site", "--project", "two"]);
    assert!(refused.contains("belongs to the project one") && refused.contains("--force"), "{refused}");
    assert_eq!(place.object(&["moku", "info", "site", "--json"])["project"], "one");
    place.data(&["moku", "set", "site", "--project", "two", "--force"]);
    assert_eq!(place.object(&["moku", "info", "site", "--json"])["project"], "two");
    // Also with `--of-project`.
    place.data(&["--of-project", "three", "moku", "set", "site", "--project", "three", "--force"]);
    place.data(&["--of-project", "three", "moku", "new", "other"]);
    for site in ["site", "other"] {
        assert_eq!(place.object(&["moku", "info", site, "--json"])["project"], "three");
    }
}

/// With `--of-project`, every verb rejects a site of another project; a site without one is assigned by the first write.
#[test]
fn every_verb_checks_the_project() {
    let place = place();
    place.file("page.html", "x");
    let commit = ["commit", "page.html", "--url", "https://example.com/", "-m", "one"];
    place.data(&[&["--of-project", "one"], &commit[..]].concat());
    assert_eq!(place.object(&["moku", "info", "--json"])["project"], "one");
    for words in [
        &commit[..],
        &["log"],
        &["show"],
        &["cat", "https://example.com/"],
        &["diff"],
        &["score"],
        &["gc"],
        &["audit"],
        &["tag", "name"],
        &["checkout", "HEAD"],
        &["moku", "info"],
        &["moku", "info", "museum"],
        &["moku", "set", "--redaction", "off"],
    ] {
        let refused = place.failure(&[words, &["--of-project", "two"]].concat());
        assert!(refused.contains("belongs to the project one, not to two"), "{words:?}: {refused}");
        let named = place.command().args(words).env("VARVE_PROJECT", "two").output().unwrap();
        assert_eq!(named.status.code(), Some(2), "{words:?}");
    }
    assert_eq!(place.lines(&["log", "--json", "--of-project", "one"]).len(), 1);
    // A site without a project can be read, and is not changed by that.
    let free = self::place();
    free.file("page.html", "x");
    free.data(&commit);
    free.data(&["log", "--of-project", "two"]);
    assert!(free.object(&["moku", "info", "--json"])["project"].is_null());
    let archive = Place::new(true);
    archive.file("page.html", "x");
    archive.data(&[&commit[..], &["--of-project", "two"]].concat());
}

#[test]
fn redaction_is_on_by_default() {
    let place = place();
    place.data(&["moku", "new", "site"]);
    place.file("page.html", "x");
    let commit = |message: &str| {
        let url = "https://example.com/";
        let words =
            ["-C", "site", "commit", "page.html", "--url", url, "--header", "Cookie: a=b", "-m", message];
        place.data(&words);
        place.data(&["-C", "site", "cat", url, "--headers"])
    };
    assert!(commit("hidden").contains("cookie: [REDACTED]"));
    place.data(&["moku", "set", "site", "--redaction", "off"]);
    assert!(commit("shown").contains("cookie: a=b"));
    let tree = || std::fs::read_to_string(place.path("site/.page_headers.json")).unwrap();
    assert!(tree().contains("a=b"));
    place.data(&["moku", "set", "site", "--redaction", "on"]);
    assert!(tree().contains("[REDACTED]") && !tree().contains("a=b"), "{}", tree());
    // Headers stored meanwhile are no longer shown, and not in new diffs.
    let shown = place.lines(&["-C", "site", "log", "--json"])[0]["id"].as_str().unwrap().to_owned();
    let head = place.data(&["-C", "site", "cat", "https://example.com/", "--headers", "--at", &shown]);
    assert!(head.contains("cookie: [REDACTED]"), "{head}");
    assert!(commit("hidden again").contains("cookie: [REDACTED]"));
    place.data(&["-C", "site", "diff", "HEAD~2", "HEAD~1", "--keep"]);
    place.data(&["-C", "site", "diff", "HEAD~1", "HEAD", "--keep"]);
    place.data(&["-C", "site", "checkout", "HEAD~1", "--to", "out"]);
    let tree = std::fs::read_to_string(place.path("out/.page_headers.json")).unwrap();
    assert!(tree.contains("[REDACTED]") && !tree.contains("a=b"), "{tree}");
    let database = rusqlite::Connection::open(place.path("site/.moku/moku.db")).unwrap();
    let told = "SELECT count(*) FROM diffs WHERE diff_json LIKE '%a=b%'";
    assert_eq!(database.query_row(told, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    drop(database);
    assert_eq!(place.run(&["-C", "site", "audit"]).status.code(), Some(0));
    let nothing = place.run(&["moku", "set", "site"]);
    assert_eq!(nothing.status.code(), Some(2), "{}", stderr(&nothing));
}

/// The error names what is in place of the database; it is newer only if it says so itself.
#[test]
fn a_foreign_database_is_named_in_the_error() {
    let place = place();
    let database = place.path("museum/.moku/moku.db");
    let make = |sql: &str| {
        let _ = std::fs::remove_file(&database);
        rusqlite::Connection::open(&database).unwrap().execute_batch(sql).unwrap();
    };
    let refused = |words: &str, is_newer: bool| {
        let said = place.failure(&["log"]);
        assert!(said.contains(words) && said.contains("nothing was changed"), "{said}");
        assert_eq!(said.contains("newer"), is_newer, "{said}");
    };
    std::fs::write(&database, [7; 5000]).unwrap();
    refused("this is not a database of SQLite", false);
    std::fs::write(&database, "").unwrap();
    refused("this database is empty", false);
    make("CREATE TABLE moz_places (url); CREATE TABLE moz_visits (at)");
    refused("not one of Moku: it has the tables `moz_places`, `moz_visits`", false);
    make(
        "CREATE TABLE meta (key, value); INSERT INTO meta VALUES ('schema_version', '9');
          CREATE TABLE versions (id); CREATE TABLE snapshots (id, version_id, blob_id)",
    );
    refused("schema 9", true);
}

/// A new empty database would make all bodies unreferenced, and the next gc would remove them.
#[test]
fn a_site_whose_database_is_lost_is_left_alone() {
    let place = place();
    place.file("page.html", "x");
    place.data(&["commit", "page.html", "--url", "https://example.com/", "-m", "one"]);
    let (database, blobs) = (place.path("museum/.moku/moku.db"), place.path("museum/.moku/blobs"));
    let bodies = || {
        let folders = std::fs::read_dir(&blobs).unwrap().map(|folder| folder.unwrap().path());
        folders.map(|folder| std::fs::read_dir(folder).unwrap().count()).sum::<usize>()
    };
    assert_eq!(bodies(), 1);
    let kept = std::fs::read(&database).unwrap();
    std::fs::remove_file(&database).unwrap();
    for is_empty in [false, true] {
        if is_empty {
            std::fs::write(&database, "").unwrap();
        }
        for words in [
            &["gc"] as &[&str],
            &["gc", "--keep-last", "1"],
            &["commit", "page.html", "--url", "https://example.com/new", "-m", "two"],
            &["checkout", "HEAD"],
            &["tag", "name"],
        ] {
            let refused = place.failure(words);
            assert!(refused.contains("is missing or empty") && refused.contains("hint: "), "{refused}");
        }
        assert_eq!((bodies(), database.exists()), (1, is_empty));
    }
    std::fs::write(&database, &kept).unwrap();
    assert_eq!(place.data(&["cat", "https://example.com/"]), "x");

    // A database without the version of HEAD does not reference its bodies either.
    let other = self::place();
    other.file("page.html", "y");
    other.data(&["commit", "page.html", "--url", "https://example.com/", "-m", "another site"]);
    std::fs::copy(other.path("museum/.moku/moku.db"), &database).unwrap();
    let refused = place.failure(&["gc"]);
    assert!(refused.contains("HEAD named version") && refused.contains("rows are lost"), "{refused}");
    assert_eq!(bodies(), 1);

    // HEAD was corrected, but the version stays lost until `--accept-lost`.
    for words in [&["gc"] as &[&str], &["gc", "--dry-run"], &["gc", "--keep-last", "1"]] {
        let refused = place.failure(words);
        assert!(refused.contains("rows are lost") && refused.contains("--accept-lost"), "{refused}");
    }
    let audit = place.run(&["audit"]);
    assert!(String::from_utf8_lossy(&audit.stdout).contains("has no rows"), "{audit:?}");
    assert_eq!(place.lines(&["gc", "--accept-lost", "--dry-run", "--json"]).len(), 2);
    assert_eq!(bodies(), 1);
    place.data(&["gc", "--accept-lost"]);
    assert_eq!(bodies(), 0);
    place.data(&["gc"]);
}

/// Pages that share a path have one place in a tree; long paths are shortened.
#[test]
fn pages_that_share_a_path_are_counted_and_long_paths_have_a_place() {
    for is_archive in [true, false] {
        let place = Place::new(is_archive);
        let long = format!("https://example.com{}", "/a-folder-with-quite-a-long-name".repeat(140));
        let lines =
            ["https://example.com/x", "https://other.example/x", "https://example.com/p", &long].map(|url| {
                serde_json::json!({ "url": url, "body": format!("<p>{}</p>", url.len()) }).to_string() + "\n"
            });
        place.file("pages.jsonl", &lines.concat());
        let output = place.run(&["commit", "--jsonl", "pages.jsonl", "-m", "two hosts", "--json"]);
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        // A site has its own tree, and the commit reports it.
        assert_eq!(told["covered"], u64::from(!is_archive), "{told}");
        let by = "https://example.com/x (the path holds https://other.example/x)";
        assert_eq!(stderr(&output).contains(by), !is_archive, "{}", stderr(&output));
        assert_eq!(
            stderr(&output).contains("1 page skipped: another page"),
            !is_archive,
            "{}",
            stderr(&output)
        );
        let output = place.run(&["checkout", "HEAD", "--to", "tree", "--layout", "moku"]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let told = stderr(&output);
        assert!(
            told.contains("3 pages of ") && told.contains("1 page skipped: another page has the same path"),
            "{told}"
        );
        assert!(told.contains("/x (the path holds https://other.example/x)"), "{told}");
        let output = place.run(&["checkout", "HEAD", "--to", "tree", "--layout", "moku", "--json"]);
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["left_out"][0]["covered_by"], "https://other.example/x", "{told}");
        assert_eq!((&told["covered"], told["left_out"].as_array().unwrap().len()), (&1.into(), 1), "{told}");
        assert_eq!(place.data(&["cat", "https://other.example/x"]), "<p>23</p>");
        assert_eq!(place.data(&["cat", &long]), format!("<p>{}</p>", long.len()));
    }
}

/// All spellings of a URL are one page, for lookups and for purge.
#[test]
fn committed_pages_are_found_and_purged_by_any_spelling() {
    let place = Place::new(true);
    place.file("page.html", "somebody's data");
    let commit = |url: &str| place.data(&["commit", "page.html", "--url", url, "-m", "kept"]);
    commit("https://Example.com:443/user/./1#top");
    assert_eq!(place.data(&["cat", "https://example.com/user/1"]), "somebody's data");
    assert_eq!(place.lines(&["log", "--touching", "https://example.com/user/1", "--json"]).len(), 1);
    assert!(place.failure(&["commit", "page.html", "--url", "example", "-m", "no"]).contains("is not a URL"));
    let went = place.lines(&["purge", "--drop", "HTTPS://example.com/user/1", "--reason", "asked", "--json"]);
    assert_eq!(went[0]["url"], "https://example.com/user/1", "{went:?}");
    let refused = place.failure(&["cat", "https://Example.com:443/user/1"]);
    assert!(refused.contains("was taken out"), "{refused}");
}

/// The error about an unexpected table is a sentence without SQL.
#[test]
fn an_unexpected_table_is_reported_without_sql() {
    let place = place();
    place.file("page.html", "x");
    place.data(&["commit", "page.html", "--url", "https://example.com/", "-m", "one"]);
    let database = rusqlite::Connection::open(place.path("museum/.moku/moku.db")).unwrap();
    database.execute_batch("ALTER TABLE versions RENAME COLUMN author TO writer").unwrap();
    drop(database);
    let told = place.failure(&["log"]);
    assert!(told.contains("no such column") && !told.contains("SELECT"), "{told}");
}

/// An obstacle in the working tree is reported and does not fail the commit.
#[test]
fn a_commit_names_pages_that_cannot_be_written_to_the_working_tree() {
    let place = place();
    place.data(&["moku", "new", "site"]);
    place.file("page.html", "x");
    place.file("site/robots.txt", "my own");
    let url = "https://example.com/robots.txt";
    let commit = |more: &[&str]| {
        let words = ["-C", "site", "commit", "page.html", "--url", url, "-m", "m"];
        place.run(&[&words[..], more].concat())
    };
    let told = commit(&[]);
    assert_eq!(told.status.code(), Some(0), "{}", stderr(&told));
    let head = std::fs::read_to_string(place.path("site/.moku/HEAD")).unwrap();
    assert_eq!(String::from_utf8(told.stdout.clone()).unwrap().trim(), head);
    let text = stderr(&told);
    assert!(text.contains("warning: 1 page committed, but not written to the working tree"), "{text}");
    assert!(text.contains(&format!("{url}: `site/robots.txt` is in the way")), "{text}");
    let told: serde_json::Value = serde_json::from_slice(&commit(&["--json"]).stdout).unwrap();
    assert_eq!((told["parent"].as_str(), &told["unwritten"]), (Some(head.as_str()), &serde_json::json!(1)));
    assert_eq!(told["not_in_tree"][0]["url"], url);
    let log = place.run(&["-C", "site", "log", "--json"]);
    assert_eq!(String::from_utf8(log.stdout.clone()).unwrap().lines().count(), 2);
    assert_eq!(stderr(&log), "", "nothing was stopped");
    assert_eq!(std::fs::read_to_string(place.path("site/robots.txt")).unwrap(), "my own");
}

/// A commit replaces a damaged blob with the same content.
#[test]
fn a_commit_replaces_a_damaged_blob() {
    let place = place();
    place.data(&["moku", "new", "site"]);
    place.file("page.html", "as it was");
    let commit = |url: &str| place.run(&["-C", "site", "commit", "page.html", "--url", url, "-m", "m"]);
    assert_eq!(commit("https://example.com/a").status.code(), Some(0));
    let folder = std::fs::read_dir(place.path("site/.moku/blobs")).unwrap().next().unwrap().unwrap();
    let blob = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    std::fs::write(blob, "as it wos").unwrap();
    let told = commit("https://example.com/b");
    assert_eq!(told.status.code(), Some(0), "{}", stderr(&told));
    assert!(!stderr(&told).contains("warning"), "{}", stderr(&told));
    for url in ["https://example.com/a", "https://example.com/b"] {
        assert_eq!(place.data(&["-C", "site", "cat", url]), "as it was");
    }
}

/// In an early Moku site a score is printed and not stored, with a hint to upgrade.
#[test]
fn an_early_site_is_scored_without_storing_the_score() {
    let Some(packed) = varve_testkit::fixtures("moku/e-legacy-2025-12-15.tar.gz") else { return };
    let place = Place::new(false);
    let unpacked =
        std::process::Command::new("tar").arg("xzf").arg(packed).arg("-C").arg(place.path("")).status();
    assert!(unpacked.unwrap().success());
    let score = place.run(&["-C", "e-legacy-2025-12-15", "score", "--json"]);
    assert_eq!(score.status.code(), Some(0), "{}", stderr(&score));
    assert!(
        stderr(&score).contains("not stored") && stderr(&score).contains("varve moku upgrade"),
        "{}",
        stderr(&score)
    );
    let scored: serde_json::Value = serde_json::from_slice(&score.stdout).unwrap();
    assert_eq!(scored["kept"], false);
    place.data(&["-C", "e-legacy-2025-12-15", "moku", "upgrade"]);
    assert_eq!(place.object(&["-C", "e-legacy-2025-12-15", "score", "--json"])["kept"], true);
}
