//! Scores are kept, explained, and attributed to the changes that caused them, on both layouts.

use crate::scene::*;
use std::path::Path;
use varve_archive::RepositoryError;
use varve_archive::history::{HistoryWriter, VersionPages};
use varve_archive::verbs::commit::{NewBody, Request, commit};
use varve_archive::verbs::score::{ScoredVersion, score};
use varve_archive::verbs::{diff, tag};
use varve_archive::{ArchiveError, VersionId};
use varve_diff::text::{BodyDiff, VersionDiff};

const QUIET: &str = "<html><body><p>nothing to see</p></body></html>";
const LOGIN: &str =
    "<html><body><p>nothing to see</p><form action=/login><input type=password name=p></form></body></html>";

#[test]
fn a_new_form_raises_the_score_and_is_named_as_the_cause() {
    for kind in KINDS {
        let root = tempfile::tempdir().expect("a folder");
        make(kind, root.path());
        let writer = history(root.path());
        let first = commit_pages(&writer, "first", &[("https://e.org/", QUIET)]).version;
        let second = commit_pages(&writer, "second", &[("https://e.org/", LOGIN)]).version;
        let low = score(&writer, first, &|_| {}).expect("scored");
        let high = score(&writer, second, &|_| {}).expect("scored");
        assert!(high.row.normalized > low.row.normalized, "{kind:?}");
        assert_eq!(
            high.since.before.as_ref().map(|before| before.normalized),
            Some(low.row.normalized),
            "{kind:?}"
        );
        assert!(low.row.attributions.is_empty());
        let percent: f64 = high.row.attributions.iter().map(|one| one.percent).sum();
        assert!((percent - 100.0).abs() < 1e-6, "{kind:?}: {percent}");
        let form = high.row.attributions.iter().find(|one| one.key == "input_password").expect("named");
        assert!(form.chunk_index >= 0 && form.base == Some(first), "{form:?}");
        assert_eq!(
            form.note.as_deref(),
            Some("added /"),
            "{kind:?}: a root page has a path that can be seen"
        );
        assert!(high.since.moves.iter().any(|sentence| sentence.contains("new:")), "{:?}", high.since.moves);
        assert!(ScoredVersion::explain(&high.pages[0])[0].contains("of 100"));
        let kept = writer.catalog().scores(&second).expect("read");
        assert_eq!(kept, [high.row], "{kind:?}: what is kept is what was found");
    }
}

/// Stored attributions are those of the page that determines the score, and add up to the change.
#[test]
fn attributions_are_of_the_page_that_makes_the_score_and_add_up_to_its_change() {
    let more = LOGIN.replace("</body>", "<form action=/x><input name=q></form></body>");
    let [top, other, low] = ["https://e.org/top", "https://e.org/other", "https://e.org/low"];
    for kind in KINDS {
        let root = tempfile::tempdir().expect("a folder");
        make(kind, root.path());
        let writer = history(root.path());
        let versions = [
            &[(top, LOGIN), (other, LOGIN)][..],
            // One page goes, the other has more.
            &[(top, &more)],
            // What is below the most exposed page moves nothing.
            &[(top, &more), (low, LOGIN)],
            // The most exposed page goes, and another is what is left.
            &[(low, LOGIN)],
        ]
        .map(|pages| commit_pages(&writer, "m", pages).version);
        let mut before = 0.0;
        for (number, version) in versions.into_iter().enumerate() {
            let scored = score(&writer, version, &|_| {}).expect("scored");
            let sum: f64 = scored.row.attributions.iter().map(|one| one.contribution).sum();
            let wanted = if number == 0 { 0.0 } else { scored.row.score - before };
            assert!((sum - wanted).abs() < 1e-9, "{kind:?}, {number}: {sum} is not {wanted}");
            assert!(
                scored.since.attributed.iter().all(|path| path == "/top"),
                "{kind:?}: {:?}",
                scored.since.attributed
            );
            assert_eq!(scored.row.attributions.is_empty(), matches!(number, 0 | 2), "{kind:?}, {number}");
            assert_eq!(
                scored.since.makers.is_some(),
                number == 3,
                "{kind:?}, {number}: {:?}",
                scored.since.makers
            );
            assert_eq!(
                scored.since.others.is_some(),
                matches!(number, 1 | 2),
                "{kind:?}: {:?}",
                scored.since.others
            );
            assert_eq!(
                writer.catalog().scores(&version).expect("read"),
                std::slice::from_ref(&scored.row),
                "{kind:?}"
            );
            before = scored.row.score;
        }
    }
}

/// One numbering of chunks: that of the row, of `diff --mode letters`, and of the attributions.
#[test]
fn chunks_of_attributions_are_those_of_the_diff_by_letters() {
    let base = format!("<html><body><p>old</p><i>same</i><p>{}</p></body></html>", "x".repeat(50));
    let head = base
        .replace("old", "new")
        .replace("</body>", "<form action=/login><input type=file name=f></form></body>");
    for kind in KINDS {
        let root = tempfile::tempdir().expect("a folder");
        make(kind, root.path());
        let writer = history(root.path());
        let first = commit_pages(&writer, "first", &[("https://e.org/", &base)]).version;
        let second = commit_pages(&writer, "second", &[("https://e.org/", &head)]).version;
        diff::keep(&writer, Some(first), second).expect("kept");
        let row = writer.catalog().diff(Some(&first), &second).expect("read").expect("kept").json;
        let row = VersionDiff::parse(&row).expect("the shape of Moku");
        let shown = by_letters(&writer, [first, second]);
        assert_eq!(row.files[0].body_diff, shown, "{kind:?}");
        let scored = score(&writer, second, &|_| {}).expect("scored");
        let file = scored.row.attributions.iter().find(|one| one.key == "input_file").expect("named");
        let chunk = &shown.chunks[usize::try_from(file.chunk_index).expect("in a chunk")];
        assert!(chunk.content.contains("type=file"), "{kind:?}: {chunk:?}");
        assert_eq!(scored.since.attributed, vec![String::new(); scored.row.attributions.len()], "{kind:?}");
    }
}

/// A page that is not UTF-8 has fewer bytes than its text has, and evidence counts the bytes.
#[test]
fn attributions_of_a_page_that_is_not_utf_8_name_their_chunk() {
    let page = |word: &str, form: &str| {
        let text = format!("<p>{}</p><i>the same on both sides</i>{form}</body></html>", word.repeat(40));
        let mut body = [b"<html><body>".to_vec(), b"\xe9".repeat(300), text.into_bytes()].concat();
        body.push(b'\n');
        let mut page = page("https://e.org/", "");
        page.body = NewBody::Bytes(body);
        page
    };
    let form = "<form action=/login><input type=password name=p></form>";
    for kind in KINDS {
        let root = tempfile::tempdir().expect("a folder");
        make(kind, root.path());
        let writer = history(root.path());
        let request = Request { message: "m".to_owned(), threads: 1, ..Request::default() };
        let versions = [("old", ""), ("new", form)].map(|(word, form)| {
            commit(&writer, &request, vec![page(word, form)], &|_| {}).expect("committed").version
        });
        let shown = by_letters(&writer, versions);
        let scored = score(&writer, versions[1], &|_| {}).expect("scored");
        let input = scored.row.attributions.iter().find(|one| one.key == "input_password").expect("named");
        let chunk = &shown.chunks[usize::try_from(input.chunk_index).expect("in a chunk")];
        assert!(chunk.content.contains("type=password"), "{kind:?}: {chunk:?}");
    }
}

/// The first page of a diff by letters.
fn by_letters(writer: &HistoryWriter, [base, head]: [VersionId; 2]) -> BodyDiff {
    let options = diff::CompareOptions { mode: diff::DiffMode::Letters, ..diff::CompareOptions::default() };
    let request = diff::Request { base: Some(base), head: Some(head), options, ..Default::default() };
    let mut shown = None;
    diff::diff::<ArchiveError>(writer.as_reader(), &request, |page| {
        shown = page.comparison.map(|comparison| comparison.report(false).body_diff);
        Ok(())
    })
    .expect("compared");
    shown.expect("one page")
}

/// Appends to the file of a body, in a Moku site.
fn damage(root: &Path, history: &HistoryWriter, version: VersionId, url: &str) {
    let pages = VersionPages::new(history.catalog(), Some(version)).map(|page| page.expect("read"));
    let id = pages.filter(|page| page.url == url).map(|page| page.body.to_string()).next().expect("there");
    let path = root.join(".moku/blobs").join(&id[..2]).join(&id);
    let body = [std::fs::read(&path).expect("read"), b"more".to_vec()].concat();
    std::fs::write(&path, body).expect("written");
}

/// An unreadable body of the parent is unknown, not empty: the stored score of the parent is used,
/// and is not replaced.
#[test]
fn a_score_with_a_damaged_parent_does_not_replace_a_stored_one() {
    let [top, low] = ["https://e.org/top", "https://e.org/low"];
    let more = LOGIN.replace("</body>", "<form action=/x><input name=q></form></body>");
    for is_scored in [true, false] {
        let root = tempfile::tempdir().expect("a folder");
        make(Kind::Moku, root.path());
        let writer = history(root.path());
        let first = commit_pages(&writer, "1", &[(top, LOGIN), (low, QUIET)]).version;
        let second = commit_pages(&writer, "2", &[(top, &more), (low, "other")]).version;
        if is_scored {
            score(&writer, first, &|_| {}).expect("scored");
        }
        let whole = score(&writer, second, &|_| {}).expect("scored");
        assert!(whole.is_kept && whole.since.is_explained && !whole.row.attributions.is_empty());
        damage(root.path(), &writer, first, top);
        let partial = score(&writer, second, &|_| {}).expect("scored");
        let before = partial.since.before.map(|before| (before.normalized, before.is_from_row));
        assert_eq!(before, is_scored.then(|| (whole.since.before.expect("known").normalized, true)));
        assert_eq!(partial.since.change.is_some(), is_scored);
        assert!(!partial.since.is_explained && !partial.is_kept && partial.row.attributions.is_empty());
        assert_eq!((partial.row.score, partial.since.uncompared.count(|_| true)), (whole.row.score, 1));
        assert_eq!(writer.catalog().scores(&second).expect("read"), [whole.row], "what was kept stays");
        let damaged = partial.since.changes.iter().find(|diff| diff.url == top);
        assert!(
            damaged.is_none_or(|diff| diff.scores.score_base.is_none() && !diff.bodies_compared),
            "{damaged:?}"
        );
    }
}

/// Where the pages that are known make the score of the parent that is kept, they explain the
/// change.
#[test]
fn a_damaged_page_that_made_no_score_hides_no_explanation() {
    let [top, low] = ["https://e.org/top", "https://e.org/low"];
    let more = LOGIN.replace("</body>", "<form action=/x><input name=q></form></body>");
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Moku, root.path());
    let writer = history(root.path());
    let first = commit_pages(&writer, "1", &[(top, LOGIN), (low, QUIET)]).version;
    let second = commit_pages(&writer, "2", &[(top, &more), (low, "other")]).version;
    score(&writer, first, &|_| {}).expect("scored");
    damage(root.path(), &writer, first, low);
    let scored = score(&writer, second, &|_| {}).expect("scored");
    assert!(scored.since.is_explained && scored.is_kept && !scored.row.attributions.is_empty());
    // A page of the version itself that cannot be had may be the most exposed: then nothing is said
    // of the change.
    damage(root.path(), &writer, second, low);
    let scored = score(&writer, second, &|_| {}).expect("scored");
    assert!(!scored.since.is_explained && !scored.is_kept && scored.since.change.is_none());
    assert_eq!(scored.troubles.count(|_| true), 1);
}

/// An incomplete score is stored, and marked, if the version has none. The next version is not
/// compared with it.
#[test]
fn an_incomplete_score_is_no_baseline_for_the_next_version() {
    let [top, low] = ["https://e.org/top", "https://e.org/low"];
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Moku, root.path());
    let writer = history(root.path());
    let first = commit_pages(&writer, "1", &[(top, LOGIN), (low, QUIET)]).version;
    let second = commit_pages(&writer, "2", &[(top, QUIET), (low, QUIET)]).version;
    damage(root.path(), &writer, first, top);
    let partial = score(&writer, first, &|_| {}).expect("scored");
    assert!(partial.is_kept && partial.row.json.contains(r#""pages_not_scored":1"#), "{}", partial.row.json);
    let scored = score(&writer, second, &|_| {}).expect("scored");
    assert_eq!((scored.since.before, scored.since.change), (None, None));
}

#[test]
fn the_score_of_each_page_is_stored_where_moku_reads_it() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Moku, root);
    let writer = history(root);
    let pages = [
        ("https://e.org/", "<form action=/login><input type=password name=p></form>"),
        ("https://e.org/a", ""),
    ];
    let version = commit_pages(&writer, "1", &pages).version;
    let scored = score(&writer, version, &|_| {}).expect("scored");
    let read = || -> Vec<(String, f64, i64, String, String)> {
        let database = crate::sites::sql(root);
        let sql = "SELECT r.url, r.score, r.normalized, r.score_json, s.file_path FROM score_results AS r
            JOIN snapshots AS s ON s.id = r.snapshot_id AND s.version_id = r.version_id
            WHERE r.version_id = ?1 AND r.matched_rules = '[]' AND r.raw_features = '{}' ORDER BY r.url";
        let mut statement = database.prepare(sql).expect("understood");
        let row =
            |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?));
        statement
            .query_map([version.to_string()], row)
            .expect("asked")
            .map(|row| row.expect("read"))
            .collect()
    };
    let rows = read();
    assert_eq!(
        rows.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(),
        ["https://e.org/", "https://e.org/a"]
    );
    for (url, found, normalized, json, _) in &rows {
        let page = scored.pages.iter().find(|page| page.url == *url).expect("scored");
        assert_eq!((*found, *normalized), (page.score, i64::from(page.normalized)));
        let json: serde_json::Value = serde_json::from_str(json).expect("JSON");
        assert_eq!(
            (&json["attack_surface"]["url"], &json["normalized"]),
            (&url.as_str().into(), &(*normalized).into())
        );
    }
    // They are made again if they are lost, and rows of Moku's own rules stay.
    let database = crate::sites::sql(root);
    database.execute("DELETE FROM score_results WHERE url = 'https://e.org/a'", []).expect("deleted");
    database
        .execute("UPDATE score_results SET scoring_version = 'v0.1.0', score_json = 'theirs'", [])
        .expect("changed");
    score(&writer, version, &|_| {}).expect("scored");
    let again = read();
    assert_eq!((again.len(), again[0].3.as_str()), (2, "theirs"));
    assert_eq!(again[1].1, rows[1].1);
}

#[test]
fn a_score_made_again_replaces_the_first() {
    for kind in KINDS {
        let root = tempfile::tempdir().expect("a folder");
        make(kind, root.path());
        let writer = history(root.path());
        let version = commit_pages(&writer, "first", &[("https://e.org/", LOGIN)]).version;
        score(&writer, version, &|_| {}).expect("scored");
        score(&writer, version, &|_| {}).expect("scored");
        assert_eq!(writer.catalog().scores(&version).expect("read").len(), 1, "{kind:?}");
        tag::set(&writer, "t", Some(version)).expect("set");
    }
}

#[test]
fn a_moku_site_keeps_the_diff_of_every_version() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Moku, root.path());
    let writer = history(root.path());
    let first =
        commit_pages(&writer, "1", &[("https://e.org/", "Old Title"), ("https://e.org/a", "x")]).version;
    let second =
        commit_pages(&writer, "2", &[("https://e.org/", "New Title"), ("https://e.org/b", "y")]).version;
    let kept = writer.catalog().diff(Some(&first), &second).expect("read").expect("kept with the version");
    let row = VersionDiff::parse(&kept.json).expect("the shape of Moku");
    assert_eq!((row.base_version_id, row.head_version_id), (first.to_string(), second.to_string()));
    let paths: Vec<_> = row.files.iter().map(|file| file.file_path.as_str()).collect();
    assert_eq!(paths, ["", "/a", "/b"]);
    let contents: Vec<_> = row.files[0].body_diff.chunks.iter().map(|chunk| chunk.content.as_str()).collect();
    assert_eq!(contents, ["Old", "New"]);
    assert!(row.files[0].headers_diff.redacted.contains("set-cookie"));
    assert!(!kept.json.contains("secret"));
}

#[test]
fn a_diff_of_an_archive_is_kept_when_asked_and_is_the_same_when_computed_again() {
    let root = tempfile::tempdir().expect("a folder");
    make(Kind::Archive, root.path());
    let writer = history(root.path());
    let first = commit_pages(&writer, "1", &[("https://e.org/", "one")]).version;
    let second = commit_pages(&writer, "2", &[("https://e.org/", "two")]).version;
    assert!(writer.catalog().diff(Some(&first), &second).expect("read").is_none());
    diff::keep(&writer, Some(first), second).expect("kept");
    let kept = writer.catalog().diff(Some(&first), &second).expect("read").expect("kept").json;
    diff::keep(&writer, Some(first), second).expect("kept");
    assert_eq!(writer.catalog().diff(Some(&first), &second).expect("read").expect("kept").json, kept);
    let none = score(&writer, varve_archive::VersionId::new(uuid::Uuid::nil()), &|_| {});
    assert!(matches!(none, Err(ArchiveError::Repository(RepositoryError::NoVersion { .. }))));
}
