//! Moku sites: what an audit of them finds, a HEAD that was left behind, and what the original's
//! own statements see.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use varve_archive::RepositoryError;

use crate::scene::*;
use rusqlite::{Connection, params};
use varve_archive::history::{HeadState, MokuHistoryReader};
use varve_archive::verbs::audit::{AuditFinding, AuditKind, AuditReport, CheckedItems};
use varve_archive::verbs::audit_site::audit_site;
use varve_archive::verbs::checkout;
use varve_archive::verbs::commit::{NewPage, Request, commit};
use varve_archive::verbs::gc::{RetentionPolicy, perform, plan};
use varve_archive::verbs::score::score;
use varve_archive::{ArchiveError, BodyId, VersionId};
use varve_catalog::CatalogRow;

fn audit(root: &Path) -> (AuditReport, Vec<AuditFinding>) {
    let mut found = Vec::new();
    let done = audit_site(root, false, &|_| {}, &mut |finding| found.push(finding)).expect("audited");
    assert_eq!(done.findings, found.len() as u64);
    (done, found)
}

/// The numbers of versions and bodies that an audit checked.
fn versions_and_bodies(done: AuditReport) -> (u64, u64) {
    match done.checked {
        CheckedItems::Site { versions, bodies } => (versions, bodies),
        other => panic!("not the audit of a site: {other:?}"),
    }
}

fn kinds(root: &Path) -> Vec<AuditKind> {
    audit(root).1.into_iter().map(|finding| finding.kind).collect()
}

/// A site with two versions: a page that changed, one that stayed, one that is new.
pub(crate) fn site(root: &Path) -> [VersionId; 2] {
    make(Kind::Moku, root);
    let writer = history(root);
    let first = commit_pages(&writer, "1", &[("https://e.org/", "old"), ("https://e.org/a", "same")]);
    let second = commit_pages(
        &writer,
        "2",
        &[("https://e.org/", "new"), ("https://e.org/a", "same"), ("https://e.org/b", "more")],
    );
    [first.version, second.version]
}

pub(crate) fn blob(root: &Path, content: &str) -> PathBuf {
    use sha2::Digest as _;
    let id = BodyId::new(sha2::Sha256::digest(content).into()).to_string();
    root.join(".moku/blobs").join(&id[..2]).join(id)
}

pub(crate) fn sql(root: &Path) -> Connection {
    let connection = Connection::open(root.join(".moku/moku.db")).expect("opened");
    connection.pragma_update(None, "foreign_keys", false).expect("set");
    connection
}

/// Leaves a move of HEAD that was not completed, as a kill does: `to`, or `to from`.
pub(crate) fn intend(root: &Path, ids: &str) {
    let insert = "INSERT OR REPLACE INTO varve_state (key, value) VALUES ('intended_head', ?1)";
    sql(root).execute(insert, [ids]).expect("inserted");
}

/// Whether a move of HEAD is not completed.
pub(crate) fn is_intending(root: &Path) -> bool {
    let count = "SELECT count(*) FROM varve_state WHERE key = 'intended_head'";
    sql(root).query_row(count, [], |row| row.get::<_, i64>(0)).expect("counted") > 0
}

#[test]
fn a_site_that_varve_wrote_is_sound() {
    let root = tempfile::tempdir().expect("a folder");
    site(root.path());
    let (done, found) = audit(root.path());
    assert!(found.is_empty(), "{found:?}");
    assert_eq!((versions_and_bodies(done), done.records, done.bytes), ((2, 4), 5, 14));
}

#[test]
fn damaged_and_lost_bodies_are_named() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    site(root);
    fs::write(blob(root, "old"), "odd").expect("written");
    fs::remove_file(blob(root, "same")).expect("removed");
    let (_, found) = audit(root);
    let kinds: Vec<_> = found.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [AuditKind::Digest, AuditKind::BodyMissing], "{found:?}");
    assert!(found[1].message.contains("https://e.org/a") && found[1].message.contains("1 more"), "{found:?}");
    let mut quick = Vec::new();
    audit_site(root, true, &|_| {}, &mut |finding| quick.push(finding.kind)).expect("audited");
    assert_eq!(quick, [AuditKind::BodyMissing]);
}

#[test]
fn changed_rows_of_committed_versions_are_reported() {
    let changes = [
        "UPDATE versions SET message = 'another' WHERE message = '1'",
        "UPDATE versions SET author = 'another' WHERE message = '1'",
        "UPDATE versions SET timestamp = timestamp - 1 WHERE message = '1'",
        "UPDATE snapshots SET status_code = 404 WHERE url = 'https://e.org/a'",
        "UPDATE snapshots SET headers = '{}' WHERE url = 'https://e.org/a'",
        "DELETE FROM snapshots WHERE url = 'https://e.org/b'",
        "UPDATE snapshots SET blob_id = (SELECT blob_id FROM snapshots WHERE url = 'https://e.org/a') WHERE url = 'https://e.org/'",
    ];
    for change in changes {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        site(root);
        assert!(sql(root).execute(change, []).expect("changed") > 0, "{change}");
        let (_, found) = audit(root);
        let told = found.iter().any(|finding| finding.message.contains("is not what was committed"));
        assert!(told, "{change}: {found:?}");
    }
}

#[test]
fn retention_and_fractional_times_are_not_reported_as_changed_rows() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Moku, root);
    let writer = history(root);
    for number in 0..4 {
        let time = Some("2020-11-16T10:11:12.345678Z".parse().expect("a time"));
        let pages = vec![NewPage { time, ..page("https://e.org/", &number.to_string()) }];
        let request = Request { message: number.to_string(), threads: 1, ..Request::default() };
        commit(&writer, &request, pages, &|_| {}).expect("committed");
    }
    let newest = writer.head().expect("read").expect("a version");
    let parent = |version: &VersionId| {
        let info = writer.catalog().version(version).expect("read").expect("there");
        info.version.parent.expect("a parent")
    };
    let middle = [parent(&newest), parent(&parent(&newest))];
    for version in middle {
        writer.apply(vec![CatalogRow::ForgetVersion(version)]).expect("forgotten");
    }
    drop(writer);
    let (done, found) = audit(root);
    assert!(found.is_empty() && versions_and_bodies(done).0 == 2, "{found:?}");
}

#[test]
fn rows_that_contradict_each_other_are_named() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let [first, second] = site(root);
    let absent = "00000000-0000-4000-8000-000000000000";
    let database = sql(root);
    database
        .execute("UPDATE versions SET parent_id = ?1 WHERE id = ?2", params![absent, first.to_string()])
        .expect("changed");
    database.execute("UPDATE diffs SET base_version_id = ?1", [absent]).expect("changed");
    database.execute("INSERT INTO meta (key, value) VALUES ('project_id', '')", []).expect("changed");
    database
        .execute(
            "UPDATE snapshots SET blob_id = '../../x' WHERE version_id = ?1 AND file_path = '/b'",
            [second.to_string()],
        )
        .expect("changed");
    drop(database);
    let (_, found) = audit(root);
    let kinds: Vec<_> = found.iter().map(|finding| finding.kind).collect();
    let wanted = [AuditKind::Derived, AuditKind::History, AuditKind::Rows, AuditKind::BodyMissing];
    assert_eq!(kinds[..4], wanted, "{found:?}");
    assert!(found[1].message.contains(absent), "{found:?}");
    let database = sql(root);
    database
        .execute(
            "UPDATE versions SET parent_id = ?1 WHERE id = ?2",
            params![second.to_string(), first.to_string()],
        )
        .expect("changed");
    drop(database);
    let circles = audit(root).1;
    assert_eq!(circles.iter().filter(|found| found.message.contains("descends from itself")).count(), 2);
}

#[test]
fn a_tree_that_differs_from_head_is_reported_and_repaired_by_a_checkout() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let [_, second] = site(root);
    fs::write(root.join("a/.page_body"), "edited").expect("written");
    fs::write(root.join("b/.page_headers.json"), "{}").expect("written");
    fs::remove_file(root.join(".page_body")).expect("removed");
    assert_eq!(kinds(root), [AuditKind::WorkingTree; 3]);
    checkout::checkout(&history(root), second, &mut |_| {}).expect("checked out");
    assert_eq!(kinds(root), []);
}

#[test]
fn a_lost_head_is_reported_and_restored_by_the_next_writer() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let [_, second] = site(root);
    let head = root.join(".moku/HEAD");
    for content in ["", "no id at all", "00000000-0000-4000-8000-000000000000"] {
        fs::write(&head, content).expect("written");
        assert_eq!(kinds(root), [AuditKind::Head], "{content}");
        assert!(history(root).repaired_head().is_some(), "{content}");
        assert_eq!(fs::read_to_string(&head).expect("read"), second.to_string());
        let (_, found) = audit(root);
        match content.parse::<VersionId>() {
            // The version itself is not found again by that.
            Ok(_) => assert!(found[0].message.contains("has no rows") && found.len() == 1, "{found:?}"),
            Err(_) => assert_eq!(found, []),
        }
    }
    let accepted = RetentionPolicy { accept_lost: true, ..RetentionPolicy::default() };
    let writer = history(root);
    perform(&writer, &plan(&writer, &accepted).expect("planned"), &|_| {}).expect("performed");
    drop(writer);
    assert_eq!(kinds(root), []);
    fs::remove_file(&head).expect("removed");
    assert_eq!(kinds(root), [AuditKind::Head]);
    drop(history(root));
    assert_eq!(fs::read_to_string(&head).expect("read"), second.to_string());
}

/// Leaves HEAD at a version, as if Moku had made the later ones and had crashed between the rows
/// and HEAD.
pub(crate) fn leave_behind(root: &Path, version: VersionId) {
    let database = sql(root);
    for table in ["varve_versions", "varve_seen_versions"] {
        let unseen = format!(
            "WITH RECURSIVE later (id) AS (SELECT id FROM versions WHERE parent_id = ?1
                UNION SELECT v.id FROM versions AS v JOIN later ON v.parent_id = later.id)
             DELETE FROM {table} WHERE version_id IN (SELECT id FROM later)"
        );
        database.execute(&unseen, [version.to_string()]).expect("deleted");
    }
    fs::write(root.join(".moku/HEAD"), version.to_string()).expect("written");
}

#[test]
fn an_old_head_is_reported_and_repaired_and_a_checkout_is_not() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let [first, second] = site(root);
    checkout::checkout(&history(root), first, &mut |_| {}).expect("checked out");
    assert_eq!(kinds(root), [], "somebody went back on purpose");
    assert_eq!(history(root).head().expect("read"), Some(first));
    leave_behind(root, first);
    let state = MokuHistoryReader::open(root).expect("opened").head_state().expect("read");
    assert_eq!(state, HeadState::Behind { at: first, to: second });
    assert_eq!(kinds(root), [AuditKind::Head]);
    let writer = history(root);
    assert_eq!((writer.head().expect("read"), writer.repaired_head()), (Some(second), Some(&state)));
    assert_eq!(fs::read_to_string(root.join("b/.page_body")).expect("read"), "more");
    let third = commit_pages(&writer, "3", &[("https://e.org/", "newer")]);
    assert_eq!(third.parent, Some(second), "and not a fork");
    drop(writer);
    assert_eq!(kinds(root), []);
}

#[test]
fn a_fork_after_head_leaves_head_undetermined() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let [first, _] = site(root);
    let writer = history(root);
    checkout::checkout(&writer, first, &mut |_| {}).expect("checked out");
    commit_pages(&writer, "fork", &[("https://e.org/", "fork")]);
    drop(writer);
    leave_behind(root, first);
    assert_eq!(MokuHistoryReader::open(root).expect("opened").head_state().expect("read"), HeadState::Right);
}

/// The audit computes stored diffs and scores again and compares them. Each finding says how to
/// repair it.
#[test]
fn wrong_diffs_and_scores_are_reported() {
    let page = "<p>x</p><form action=/login><input type=password name=p></form>";
    let changes = [
        (
            "UPDATE diffs SET diff_json = replace(diff_json, 'old', 'odd')",
            "differs from the diff computed now",
        ),
        ("UPDATE diffs SET diff_json = '{\"files\":7}'", "is not a valid diff"),
        ("UPDATE diffs SET diff_json = 'x'", "is not a valid diff"),
        (
            "UPDATE diffs SET id = 'moku', diff_json = replace(diff_json, 'old', 'odd')",
            "contains text that is not in its versions",
        ),
        ("UPDATE diffs SET base_version_id = 'gone'", "refers to a missing row of `versions`"),
        ("UPDATE version_scores SET normalized = 101", "its score is not between 0 and 100"),
        ("UPDATE version_scores SET score = 'high'", "its score is no number"),
        ("UPDATE version_scores SET confidence = 2", "its confidence is not between 0 and 1"),
        ("UPDATE version_scores SET normalized = 99", "its numbers are not those of what it says"),
        ("UPDATE version_scores SET score = score + 0.01", "its numbers are not those of what it says"),
        ("UPDATE version_scores SET confidence = 0.01", "its numbers are not those of what it says"),
        ("UPDATE version_scores SET score_json = '{'", "what it says is no JSON"),
        ("UPDATE version_scores SET version_id = 'gone'", "refers to a missing row of `versions`"),
        ("UPDATE version_evidence_locations SET byte_end = -1", "its place ends before it begins"),
        ("UPDATE version_evidence_locations SET evidence_index = -2", "is negative"),
        ("DELETE FROM version_scores", "its version has no score by these rules"),
        ("UPDATE diff_attributions SET contribution_pct = 200", "is not between 0 and 100 percent"),
        ("UPDATE diff_attributions SET chunk_index = 99", "its diff has no chunk of that number"),
        ("UPDATE diff_attributions SET diff_id = 'gone'", "refers to a missing row of `diffs`"),
        ("UPDATE diff_attributions SET version_evidence_location_id = 'gone'", "refers to a missing row of"),
        ("UPDATE diff_attributions SET evidence_id = 'other'", "it names the place of other evidence"),
    ];
    for (change, words) in changes {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        make(Kind::Moku, root);
        let writer = history(root);
        commit_pages(&writer, "1", &[("https://e.org/", "<p>old</p>")]);
        let second = commit_pages(&writer, "2", &[("https://e.org/", page)]).version;
        score(&writer, second, &|_| {}).expect("scored");
        drop(writer);
        assert_eq!(audit(root).1, [], "sound at first");
        assert!(sql(root).execute(change, []).expect("changed") > 0, "{change}");
        let (_, found) = audit(root);
        let told = found.iter().find(|finding| finding.message.contains(words));
        let told = told.unwrap_or_else(|| panic!("{change}: {found:?}"));
        assert_eq!(told.kind, AuditKind::Derived, "{told:?}");
        assert!(told.message.contains("; "), "what to do is said: {told:?}");
    }
}

#[test]
fn a_stored_diff_of_pages_of_two_hosts_is_valid() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Moku, root);
    let writer = history(root);
    let stays = ("https://a.org/x", "one\n");
    commit_pages(&writer, "1", &[stays, ("https://b.org/x", "two\n")]);
    commit_pages(&writer, "2", &[stays, ("https://c.org/x", "XYZ\n")]);
    drop(writer);
    assert_eq!(audit(root).1, []);
    sql(root).execute("UPDATE diffs SET diff_json = replace(diff_json, 'XYZ', 'XYY')", []).expect("changed");
    assert_eq!(audit(root).1.len(), 1);
}

/// A site of Moku has no findings, before and after varve adds a version.
#[test]
fn sites_that_moku_wrote_are_sound() {
    for name in
        ["a-single-commits", "b-pending-batch-scored", "f-seed-commit-2025-12-20", "e-legacy-2025-12-15"]
    {
        let Some(packed) = varve_testkit::fixtures(&format!("moku/{name}.tar.gz")) else { return };
        let root = tempfile::tempdir().expect("a folder");
        let unpacked =
            Command::new("tar").arg("xzf").arg(packed).arg("-C").arg(root.path()).status().expect("tar");
        assert!(unpacked.success());
        let site = root.path().join(name);
        let (done, found) = audit(&site);
        assert!(found.is_empty(), "{name}: {found:?}");
        let (versions, bodies) = versions_and_bodies(done);
        assert!(versions > 0 && done.records > 0 && bodies > 0, "{name}");
        if name.starts_with("e-") {
            continue; // What is that old is only read.
        }
        commit_pages(&history(&site), "more", &[("https://e.org/one/more", "more")]);
        let (after, found) = audit(&site);
        assert!(found.is_empty(), "{name}, after a commit: {found:?}");
        assert_eq!(versions_and_bodies(after).0, versions + 1, "{name}");
    }
}

/// The SQL statements of the original program: its own tables and columns only, each named.
mod original {
    use super::*;

    /// Opening creates missing tables and indexes. An index on a missing column fails.
    pub(super) const OPEN: &str = "
        CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE IF NOT EXISTS versions (id TEXT PRIMARY KEY);
        CREATE TABLE IF NOT EXISTS snapshots (id TEXT PRIMARY KEY);
        CREATE INDEX IF NOT EXISTS theirs_1 ON snapshots (created_at);
        CREATE INDEX IF NOT EXISTS theirs_2 ON snapshots (version_id, blob_id, url, file_path, status_code, headers);
        CREATE INDEX IF NOT EXISTS theirs_3 ON versions (timestamp DESC, parent_id, message, author);
        CREATE INDEX IF NOT EXISTS theirs_4 ON diffs (base_version_id, head_version_id, diff_json, created_at);
        CREATE INDEX IF NOT EXISTS theirs_5 ON endpoints (host, status, last_discovered_at, canonical_url, meta);
        CREATE INDEX IF NOT EXISTS theirs_6 ON score_results (snapshot_id, version_id, url, score_json, raw_features);
        CREATE INDEX IF NOT EXISTS theirs_7 ON evidence_items (score_result_id, severity, contribution);
        CREATE INDEX IF NOT EXISTS theirs_8 ON evidence_locations (evidence_item_id, snapshot_id, parameter_name);
        CREATE INDEX IF NOT EXISTS theirs_9 ON scans (version_id, created_at);
        INSERT OR IGNORE INTO meta (key, value) VALUES ('schema_version', '2');";

    pub(super) fn texts(database: &Connection, sql: &str, value: &str) -> Vec<Vec<String>> {
        let mut statement = database.prepare(sql).expect("understood");
        let columns = statement.column_count();
        let rows = statement.query_map([value], |row| {
            (0..columns).map(|at| Ok(text_of(row.get_ref(at)?))).collect::<rusqlite::Result<Vec<_>>>()
        });
        rows.expect("asked").map(|row| row.expect("read")).collect()
    }

    fn text_of(value: rusqlite::types::ValueRef<'_>) -> String {
        use rusqlite::types::ValueRef;
        match value {
            ValueRef::Null => String::new(),
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Text(text) => String::from_utf8(text.to_vec()).expect("text"),
            other => panic!("the original has no use for {other:?}"),
        }
    }

    /// A commit of one page, on top of HEAD: body, version, snapshot and diff, tree, HEAD.
    pub(super) fn commit(root: &Path, database: &Connection, id: &str, page: (&str, &str, &str)) {
        let (url, path, body) = page;
        let head = root.join(".moku/HEAD");
        let parent = fs::read_to_string(&head).expect("read");
        let blob = blob(root, body);
        fs::create_dir_all(blob.parent().expect("a folder")).expect("made");
        fs::write(&blob, body).expect("written");
        let name = blob.file_name().expect("a name").to_string_lossy().into_owned();
        let snapshot = id.replace('1', "2");
        let time = 1_800_000_000;
        let headers = r#"{"content-type":["text/html"]}"#;
        let version =
            "INSERT INTO versions (id, parent_id, message, author, timestamp) VALUES (?, ?, ?, ?, ?)";
        database.execute(version, params![id, parent, "theirs", "them", time]).expect("a version");
        let sql = "INSERT INTO snapshots (id, version_id, status_code, url, file_path, blob_id, created_at, headers)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
        database
            .execute(sql, params![snapshot, id, 200, url, path, name, time, headers])
            .expect("a snapshot");
        let diff = format!(r#"{{"base_version_id":"{parent}","head_version_id":"{id}","files":[]}}"#);
        let sql = "INSERT INTO diffs (id, base_version_id, head_version_id, diff_json, created_at)
            VALUES (?, ?, ?, ?, ?)";
        database.execute(sql, params![id.replace('1', "3"), parent, id, diff, time]).expect("a diff");
        let folder = root.join(path.trim_start_matches('/'));
        fs::create_dir_all(&folder).expect("made");
        fs::write(folder.join(".page_body"), body).expect("written");
        let headers =
            "{\n  \"Status-Code\": [\n    \"200\"\n  ],\n  \"content-type\": [\n    \"text/html\"\n  ]\n}";
        fs::write(folder.join(".page_headers.json"), headers).expect("written");
        fs::write(head, id).expect("written");
    }
}

#[test]
fn sql_of_the_original_reads_rows_of_varve_and_vice_versa() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let [first, second] = site(root);
    assert_eq!(fs::read(root.join(".moku/HEAD")).expect("read"), second.to_string().as_bytes());
    assert!(!root.join(".moku/moku.db-wal").exists(), "the log is put back on closing");
    let database = Connection::open(root.join(".moku/moku.db")).expect("opened");
    database.pragma_update(None, "foreign_keys", true).expect("set");
    database.execute_batch(original::OPEN).expect("opened as the original does");
    let ask = |sql: &str, value: &str| original::texts(&database, sql, value);
    assert_eq!(ask("SELECT value FROM meta WHERE key = ?", "schema_version"), [["2"]]);
    let versions = ask(
        "SELECT id, parent_id, message, author, timestamp FROM versions ORDER BY timestamp DESC LIMIT ?",
        "10",
    );
    assert_eq!([&versions[0][0], &versions[0][1]], [&second.to_string(), &first.to_string()]);
    assert_eq!((versions.len(), versions[1][1].as_str()), (2, ""));
    let pages = ask(
        "SELECT s.file_path, s.url, s.blob_id, s.headers, s.status_code FROM snapshots s WHERE s.version_id = ?
         ORDER BY s.file_path",
        &second.to_string(),
    );
    let paths: Vec<_> = pages.iter().map(|page| page[0].as_str()).collect();
    assert_eq!(paths, ["", "/a", "/b"], "as the original spells paths");
    for page in &pages {
        assert_eq!(page[2].len(), 64);
        assert!(root.join(".moku/blobs").join(&page[2][..2]).join(&page[2]).is_file());
        let headers: serde_json::Value = serde_json::from_str(&page[3]).expect("JSON");
        assert_eq!(headers["set-cookie"][0], "[REDACTED]");
    }
    let diffs =
        ask("SELECT diff_json, base_version_id FROM diffs WHERE head_version_id = ?", &second.to_string());
    let diff: serde_json::Value = serde_json::from_str(&diffs[0][0]).expect("JSON");
    assert_eq!((diff["files"].as_array().expect("a list").len(), &diffs[0][1]), (3, &first.to_string()));
    let id = "11111111-1111-4111-8111-111111111111";
    original::commit(root, &database, id, ("https://e.org/theirs", "/theirs", "their page"));
    drop(database);
    // And back: varve reads it, finds nothing wrong, and goes on from there.
    let (done, found) = audit(root);
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(versions_and_bodies(done).0, 3);
    let writer = history(root);
    let theirs: VersionId = id.parse().expect("an id");
    assert_eq!(writer.head().expect("read"), Some(theirs));
    assert_eq!(contents(writer.as_reader(), theirs), [("https://e.org/theirs".into(), "their page".into())]);
    assert_eq!(commit_pages(&writer, "4", &[("https://e.org/", "4")]).parent, Some(theirs));
}

#[test]
fn a_checkout_that_fails_leaves_head_and_tree_as_they_were() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let [first, second] = site(root);
    let writer = history(root);
    checkout::checkout(&writer, first, &mut |_| {}).expect("moved");
    fs::write(root.join("b"), "in the way").expect("written");
    let failed = checkout::checkout(&writer, second, &mut |_| {});
    assert!(matches!(failed, Err(ArchiveError::Repository(RepositoryError::InTheWay { .. }))), "{failed:?}");
    drop(writer);
    let writer = history(root);
    assert_eq!((writer.head().expect("read"), writer.repaired_head()), (Some(first), None));
    assert_eq!(fs::read_to_string(root.join(".page_body")).expect("read"), "old");
}

/// Moku takes no lock of varve, so it may commit while a checkout writes the working tree.
#[test]
fn a_checkout_fails_if_another_program_moves_head_meanwhile() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let [first, second] = site(root);
    let writer = history(root);
    let third = VersionId::new(uuid::Uuid::from_u128(0x77));
    let failed = checkout::checkout(&writer, first, &mut |_| {
        fs::write(root.join(".moku/HEAD"), third.to_string()).expect("written");
    });
    match failed {
        Err(ArchiveError::Repository(RepositoryError::HeadMoved { expected, found })) => {
            assert_eq!((expected, found), (Some(second), Some(third)));
        }
        other => panic!("HEAD of another program was replaced: {other:?}"),
    }
    assert_eq!(writer.head().expect("read"), Some(third));
}

#[test]
fn an_interrupted_move_of_head_is_reported_when_it_is_completed() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let [first, second] = site(root);
    checkout::checkout(&history(root), first, &mut |_| {}).expect("moved");
    intend(root, &second.to_string());
    // One page cannot be written; the others are all the same.
    fs::write(root.join("b"), "in the way").expect("written");
    let writer = history(root);
    assert_eq!(writer.repaired_head(), Some(&HeadState::Intended { to: second }));
    assert_eq!(writer.head().expect("read"), Some(second));
    assert_eq!(fs::read_to_string(root.join(".page_body")).expect("read"), "new");
    drop(writer);
    assert_eq!(history(root).repaired_head(), None);
}
