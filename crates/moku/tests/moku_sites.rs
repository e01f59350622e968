//! Sites of every era that Moku wrote can be read unchanged, and are upgraded only on request.

#![expect(clippy::unwrap_used, reason = "the functions that tests share are tests too")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use rusqlite::Connection;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use varve_core::catalog::{Catalog, CatalogError, CatalogRead, CatalogRow, dump_rows};
use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::{Capture, CaptureOwner, ListCursor, Version, VersionFilter};
use varve_core::{BodyId, Moment, VersionId};
use varve_moku::{MokuCatalog, MokuOptions};
use varve_testkit::fixtures;

/// A site from the fixtures, unpacked to be opened; none if they are not here.
fn site(name: &str) -> Option<(TempDir, PathBuf)> {
    let packed = fixtures(&format!("moku/{name}.tar.gz"))?;
    let folder = tempfile::tempdir().unwrap();
    let unpacked = Command::new("tar").arg("xzf").arg(&packed).arg("-C").arg(folder.path()).status().unwrap();
    assert!(unpacked.success(), "{} cannot be unpacked", packed.display());
    let database = folder.path().join(name).join(".moku/moku.db");
    Some((folder, database))
}

fn expected(name: &str) -> Vec<Value> {
    let text = std::fs::read(fixtures(&format!("moku/{name}.expected.json")).unwrap()).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn lines(catalog: &dyn CatalogRead) -> Vec<String> {
    let mut lines = Vec::new();
    let mut push = |line: &str| {
        lines.push(line.to_owned());
        Ok(())
    };
    dump_rows(catalog, &mut push).unwrap();
    lines
}

fn all_versions(catalog: &dyn CatalogRead) -> Vec<Version> {
    let all = catalog.versions(&VersionFilter::default(), ListCursor::first(100)).unwrap();
    all.into_iter().map(|info| info.version).collect()
}

/// Every commit that Moku answered is found as it answered it.
fn assert_same_as_moku_printed(catalog: &dyn CatalogRead, name: &str) -> usize {
    let mut found = 0;
    for step in expected(name) {
        let Some(said) = step["out"].get("Version") else { continue };
        let id: VersionId = said["id"].as_str().unwrap().parse().unwrap();
        let info = catalog.version(&id).unwrap().unwrap();
        assert_eq!(info.version.parent.map(|id| id.to_string()).as_deref(), said["parent"].as_str());
        assert_eq!(info.version.message, said["message"].as_str().unwrap());
        assert_eq!(info.version.author.as_deref(), said["author"].as_str());
        assert_eq!(info.version.time, seconds_of(&said["timestamp"]));
        let snapshots = step["out"]["Snapshots"].as_array().unwrap();
        assert_eq!(info.captures, snapshots.len() as u64);
        let captures = catalog.captures_in(&id, ListCursor::first(100)).unwrap();
        for snapshot in snapshots {
            is_snapshot(
                captures.iter().find(|capture| capture.id.to_string() == snapshot["id"]).unwrap(),
                snapshot,
            );
        }
        if let (Some(parent), Some(json)) = (&info.version.parent, step["out"]["DiffJSON"].as_str()) {
            assert_eq!(catalog.diff(Some(parent), &id).unwrap().unwrap().json, json);
        }
        found += 1;
    }
    found
}

/// Moku stores whole seconds of times that it prints in nanoseconds.
fn seconds_of(time: &Value) -> Moment {
    let moment: Moment = time.as_str().unwrap().parse().unwrap();
    Moment::from_seconds(moment.seconds())
}

fn is_snapshot(capture: &Capture, snapshot: &Value) {
    assert_eq!(capture.url, snapshot["url"].as_str().unwrap());
    assert_eq!(u64::from(capture.status), snapshot["status_code"].as_u64().unwrap());
    assert_eq!(capture.time, seconds_of(&snapshot["created_at"]));
    let body = data_encoding::BASE64.decode(snapshot["body"].as_str().unwrap_or("").as_bytes()).unwrap();
    assert_eq!(capture.body, BodyId::new(Sha256::digest(body).into()));
    // Names are lower-case and values in order, also where Moku left them as they came.
    let mut headers: BTreeMap<String, Vec<String>> =
        serde_json::from_value(snapshot["headers"].clone()).unwrap();
    headers.remove("Status-Code");
    let pairs = headers.iter().flat_map(|(name, values)| values.iter().map(move |value| (name, value)));
    let headers = HeaderView::from_pairs(pairs, Redaction::Off);
    assert_eq!(capture.headers, headers);
}

#[test]
fn single_commits_with_a_fork() {
    let Some((_folder, database)) = site("a-single-commits") else { return };
    let catalog = MokuCatalog::open_to_read(&database).unwrap();
    assert_eq!(assert_same_as_moku_printed(&*catalog, "a-single-commits"), 4);
    let listed: Vec<_> = expected("a-single-commits")
        .into_iter()
        .find(|step| step["step"] == "list")
        .map(|step| step["out"].as_array().unwrap().clone())
        .unwrap()
        .into_iter()
        .map(|version| version["id"].as_str().unwrap().to_owned())
        .collect();
    let ids: Vec<_> = all_versions(&*catalog).iter().map(|version| version.id.to_string()).collect();
    assert_eq!(ids, listed);
    let first = all_versions(&*catalog).last().unwrap().id;
    assert_eq!(catalog.children(&first).unwrap().len(), 2);
    assert_eq!(catalog.project_id().unwrap().as_deref(), Some("fixture-project"));
}

#[test]
fn batches_with_raw_headers_and_the_year_one() {
    let Some((_folder, database)) = site("b-pending-batch-scored") else { return };
    let catalog = MokuCatalog::open_to_read(&database).unwrap();
    assert_eq!(assert_same_as_moku_printed(&*catalog, "b-pending-batch-scored"), 2);
    let newest = catalog.captures_of(
        "https://ex.test/new",
        &Default::default(),
        Default::default(),
        ListCursor::first(1),
    );
    assert_eq!(newest.unwrap()[0].time.to_string(), "0001-01-01T00:00:00Z");
    let batch = all_versions(&*catalog)[0].id;
    assert_eq!(
        catalog.version(&batch).unwrap().unwrap().version.message,
        "batch",
        "the last of two equals is first"
    );
    assert_eq!(catalog.captures_at_path(&batch, "/login").unwrap().len(), 1);
}

#[test]
fn an_early_site_is_read_as_it_is_and_upgraded_when_asked() {
    let Some((_folder, database)) = site("e-legacy-2025-12-15") else { return };
    let before = std::fs::read(&database).unwrap();
    let read = MokuCatalog::open_to_read(&database).unwrap();
    let rows = lines(&*read);
    let newest = &all_versions(&*read)[0];
    let scores = read.scores(&newest.id).unwrap();
    assert_eq!((scores[0].score.to_string().as_str(), scores[0].normalized), ("0.7999999999999999", 80));
    assert!(scores[0].evidence.len() >= 3 && scores[0].attributions.len() >= 3);
    assert_eq!(scores[0].attributions[0].base, newest.parent);
    assert_eq!(scores[0].evidence[0].lines, Some((3, 3)));
    drop(read);
    let refused = MokuCatalog::open_to_write(&database, &MokuOptions::default()).err().unwrap();
    assert!(matches!(&refused, CatalogError::EarlyMoku { .. }), "{refused}");
    assert_eq!(std::fs::read(&database).unwrap(), before, "a refused site is not touched");

    let options = MokuOptions { upgrade: true, ..MokuOptions::default() };
    let upgraded = MokuCatalog::open_to_write(&database, &options).unwrap();
    assert_eq!(lines(&*upgraded), rows);
    commit(&*upgraded, newest.id);
    drop(upgraded);
    let again = MokuCatalog::open_to_write(&database, &MokuOptions::default()).unwrap();
    assert_eq!(all_versions(&*again).len(), 3);
}

/// Commits a version with a capture.
fn commit(catalog: &dyn Catalog, parent: VersionId) -> VersionId {
    let id: VersionId = "0b557054-d8ee-41f2-8af5-b9e8d60508bf".parse().unwrap();
    let time = Moment::from_seconds(1_900_000_000);
    let version = Version {
        id,
        parent: Some(parent),
        message: "by varve".to_owned(),
        author: None,
        time,
        run: None,
        record: None,
        coverage: None,
    };
    let capture = Capture {
        id: "1b557054-d8ee-41f2-8af5-b9e8d60508bf".parse().unwrap(),
        owner: CaptureOwner::Version(id),
        url: "https://l.test/<page>".to_owned(),
        path: "/page".to_owned(),
        time,
        status: 200,
        headers: serde_json::from_str(r#"{"x-note":["<b>&"]}"#).unwrap(),
        body: BodyId::new([7; 32]),
        length: Some(7),
        record: None,
        truncated: false,
    };
    let rows = [CatalogRow::Version(version), CatalogRow::Capture(Box::new(capture.clone()))];
    catalog.apply(&mut rows.into_iter()).unwrap();
    assert_eq!(catalog.captures_in(&id, ListCursor::first(10)).unwrap(), [capture]);
    id
}

#[test]
fn the_commit_of_the_seed() {
    let Some((_folder, database)) = site("f-seed-commit-2025-12-20") else { return };
    let catalog = MokuCatalog::open_to_write(&database, &MokuOptions::default()).unwrap();
    let versions = all_versions(&*catalog);
    assert_eq!(
        versions.iter().map(|version| &*version.message).collect::<Vec<_>>(),
        ["Batch commit", "Initial commit"]
    );
    let raw = &catalog.captures_at_path(&versions[0].id, "/example").unwrap()[0];
    assert_eq!(raw.headers.get("authorization"), Some(&["secret".to_owned()][..]), "as it was kept");
    let id = commit(&*catalog, versions[0].id);
    let headers: String = Connection::open(&database)
        .unwrap()
        .query_row("SELECT headers FROM snapshots WHERE version_id = ?1", [id.to_string()], |row| row.get(0))
        .unwrap();
    assert_eq!(headers, r#"{"x-note":["\u003cb\u003e\u0026"]}"#);
}

#[test]
fn foreign_columns_and_tables_stay() {
    let Some((_folder, database)) = site("g-constructed-by-reading-the-code") else { return };
    let rows = lines(&*MokuCatalog::open_to_read(&database).unwrap());
    let catalog = MokuCatalog::open_to_write(&database, &MokuOptions::default()).unwrap();
    assert_eq!(lines(&*catalog), rows);
    assert_eq!(catalog.project_id().unwrap().as_deref(), Some("constructed"));
    let parent = all_versions(&*catalog)[0].id;
    commit(&*catalog, parent);
    drop(catalog);
    let plain = Connection::open(&database).unwrap();
    plain.prepare("SELECT varve_extra FROM snapshots").unwrap();
    plain.prepare("SELECT k, v FROM varve_extension").unwrap();
}

#[test]
fn rows_in_the_log_after_a_crash_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let (live, crashed) = (folder.path().join("moku.db"), folder.path().join("copy.db"));
    let catalog = MokuCatalog::open_to_write(&live, &MokuOptions::default()).unwrap();
    let first: VersionId = "2b557054-d8ee-41f2-8af5-b9e8d60508bf".parse().unwrap();
    let root = Version {
        id: first,
        parent: None,
        message: "root".to_owned(),
        author: None,
        time: Moment::from_seconds(1_800_000_000),
        run: None,
        record: None,
        coverage: None,
    };
    catalog.apply(&mut [CatalogRow::Version(root)].into_iter()).unwrap();
    commit(&*catalog, first);
    std::fs::copy(&live, &crashed).unwrap();
    std::fs::copy(folder.path().join("moku.db-wal"), folder.path().join("copy.db-wal")).unwrap();
    let recovered = MokuCatalog::open_to_read(&crashed).unwrap();
    assert_eq!(lines(&*recovered), lines(&*catalog));
    drop((recovered, catalog));
    assert!(!folder.path().join("moku.db-wal").exists(), "closing puts the log back");
}

#[test]
fn a_row_without_headers_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("moku.db");
    drop(MokuCatalog::open_to_write(&database, &MokuOptions::default()).unwrap());
    let plain = Connection::open(&database).unwrap();
    let insert = |id: &str, headers: Option<&str>| {
        let sql = "INSERT INTO snapshots VALUES (?1, '11111111-1111-4111-8111-111111111111', 200, 'u', '', ?2, 1, ?3)";
        plain.execute(sql, (id, "ab".repeat(32), headers)).unwrap();
    };
    plain
        .execute_batch(
            "INSERT INTO versions VALUES ('11111111-1111-4111-8111-111111111111', NULL, 'm', '', 1)",
        )
        .unwrap();
    insert("aaaaaaaa-0000-4000-8000-000000000001", Some("null"));
    insert("aaaaaaaa-0000-4000-8000-000000000002", None);
    insert("aaaaaaaa-0000-4000-8000-000000000003", Some(r#"{"a":"b","c":[1,null]}"#));
    let catalog = MokuCatalog::open_to_read(&database).unwrap();
    let version = all_versions(&*catalog)[0].clone();
    assert_eq!(version.author, None);
    let captures = catalog.captures_in(&version.id, ListCursor::first(10)).unwrap();
    assert!(captures[0].headers.is_empty() && captures[1].headers.is_empty());
    assert_eq!(captures[2].headers.get("c"), Some(&["1".to_owned()][..]));
    insert("not an id", Some("{}"));
    let error = catalog.captures_in(&version.id, ListCursor::first(10)).unwrap_err();
    assert!(matches!(error, CatalogError::Damaged { table: "snapshots", .. }), "{error}");
}

/// The first shapes, as they are described: a version names its snapshot, and bodies are in
/// `version_files`.
#[test]
fn the_first_era_is_read_and_upgraded() {
    for more in ["", ", headers TEXT", ", headers TEXT, status_code INTEGER NOT NULL DEFAULT 200"] {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("moku.db");
        let blob = "ab".repeat(32);
        Connection::open(&database)
            .unwrap()
            .execute_batch(&format!(
                "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
                 INSERT INTO meta VALUES ('schema_version', '1');
                 CREATE TABLE snapshots (id TEXT PRIMARY KEY, url TEXT NOT NULL, file_path TEXT NOT NULL,
                     created_at INTEGER NOT NULL{more});
                 CREATE TABLE versions (id TEXT PRIMARY KEY, parent_id TEXT, snapshot_id TEXT NOT NULL,
                     message TEXT NOT NULL, author TEXT, timestamp INTEGER NOT NULL,
                     FOREIGN KEY (parent_id) REFERENCES versions (id));
                 CREATE TABLE version_files (version_id TEXT NOT NULL REFERENCES versions (id), file_path TEXT,
                     blob_id TEXT, size INTEGER, PRIMARY KEY (version_id, file_path));
                 CREATE INDEX idx_snapshots_url ON snapshots (url);
                 INSERT INTO snapshots (id, url, file_path, created_at)
                     VALUES ('aaaaaaaa-0000-4000-8000-000000000001', 'https://l.test/p', '/p', 5);
                 INSERT INTO versions VALUES ('11111111-1111-4111-8111-111111111111', NULL,
                     'aaaaaaaa-0000-4000-8000-000000000001', 'one', 'a', 5);
                 INSERT INTO versions VALUES ('21111111-1111-4111-8111-111111111111',
                     '11111111-1111-4111-8111-111111111111', 'aaaaaaaa-0000-4000-8000-000000000001', 'two', '', 6);
                 INSERT INTO version_files VALUES ('11111111-1111-4111-8111-111111111111', '/p', '{blob}', 3);
                 INSERT INTO version_files VALUES ('21111111-1111-4111-8111-111111111111', '/p', '{blob}', 3);"
            ))
            .unwrap();
        let read = MokuCatalog::open_to_read(&database).unwrap();
        let versions = all_versions(&*read);
        assert_eq!(versions.len(), 2);
        assert_eq!(
            read.captures_in(&versions[0].id, ListCursor::first(9)).unwrap()[0].body.to_string(),
            blob
        );
        drop(read);
        let options = MokuOptions { upgrade: true, ..MokuOptions::default() };
        let upgraded = MokuCatalog::open_to_write(&database, &options).unwrap();
        assert_eq!(all_versions(&*upgraded), versions);
        for version in &versions {
            assert_eq!(upgraded.captures_in(&version.id, ListCursor::first(9)).unwrap().len(), 1);
        }
        commit(&*upgraded, versions[0].id);
    }
}

#[test]
fn a_site_belongs_to_one_project() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("moku.db");
    let of = |project: &str, force| MokuOptions {
        project_id: Some(project.to_owned()),
        force_project_id: force,
        upgrade: false,
    };
    drop(MokuCatalog::open_to_write(&database, &of("one", false)).unwrap());
    drop(MokuCatalog::open_to_write(&database, &MokuOptions::default()).unwrap());
    let error = MokuCatalog::open_to_write(&database, &of("two", false)).err().unwrap();
    assert!(matches!(&error, CatalogError::OtherProject { found, .. } if found == "one"), "{error}");
    assert!(MokuCatalog::open_to_write(&database, &of("", false)).is_err());
    let forced = MokuCatalog::open_to_write(&database, &of("two", true)).unwrap();
    assert_eq!(forced.project_id().unwrap().as_deref(), Some("two"));
}
