//! SQL that was written for a `.moku` also reads a `catalog.db`: the views have the same names,
//! columns and meanings.

#![expect(clippy::unwrap_used, reason = "the functions that tests share are tests too")]

use std::collections::BTreeMap;

use rusqlite::Connection;
use rusqlite::types::Value;
use varve_catalog::{Catalog, CatalogRow, SqliteCatalog};
use varve_core::headers::{HeaderView, Redaction};
use varve_core::history::{
    Attribution, Capture, CaptureOwner, StoredDiff, StoredEvidenceLocation, StoredScore, Version,
};
use varve_core::{BodyId, Moment, RecordId, VersionId};
use varve_moku::{MokuCatalog, MokuOptions};

const FIRST_VERSION: &str = "10000000-0000-8000-8000-000000000001";
const SECOND_VERSION: &str = "20000000-0000-8000-8000-000000000002";

/// Each table, with the columns that mean the same in both databases. Row ids differ.
const SHARED_COLUMNS: [(&str, &str); 6] = [
    ("versions", "id, parent_id, message, author, timestamp"),
    ("snapshots", "version_id, status_code, url, file_path, blob_id, created_at"),
    ("diffs", "base_version_id, head_version_id, diff_json, created_at"),
    ("version_scores", "version_id, scoring_version, score, normalized, confidence, score_json, created_at"),
    (
        "version_evidence_locations",
        "version_id, evidence_id, evidence_index, location_index, evidence_key, selector, xpath, node_id, \
         file_path, byte_start, byte_end, line_start, line_end, loc_confidence, evidence_json, location_json, \
         scoring_version, created_at",
    ),
    (
        "diff_attributions",
        "(SELECT base_version_id FROM diffs WHERE diffs.id = diff_id), head_version_id, \
         (SELECT evidence_id || selector FROM version_evidence_locations AS l \
          WHERE l.id = version_evidence_location_id), evidence_id, \
         evidence_location_index, chunk_index, evidence_key, evidence_json, location_json, scoring_version, \
         contribution, contribution_pct, note, created_at",
    ),
];

fn id(text: &str) -> VersionId {
    text.parse().unwrap()
}

fn version(text: &str, parent: Option<&str>, time: i64) -> CatalogRow {
    CatalogRow::Version(Version {
        id: id(text),
        parent: parent.map(id),
        message: format!("made at {time}"),
        author: parent.map(|_| "Ann".to_owned()),
        time: Moment::from_seconds(time),
        run: None,
        record: None,
        coverage: None,
    })
}

fn capture(of: &str, time: i64) -> CatalogRow {
    let (belongs, url) = (CaptureOwner::Version(id(of)), "https://example.com/a%20b?x=1".to_owned());
    let (time, record) = (Moment::from_seconds(time), RecordId::new([3; 32]));
    CatalogRow::Capture(Box::new(Capture {
        id: Capture::derive_id(belongs, &url, time, &record),
        owner: belongs,
        url,
        path: "/a b".to_owned(),
        time,
        status: 404,
        headers: HeaderView::from_pairs([("date", "now"), ("content-type", "text/html")], Redaction::On),
        body: BodyId::new([9; 32]),
        length: Some(9),
        record: Some(record),
        truncated: false,
    }))
}

fn score() -> CatalogRow {
    let evidence = StoredEvidenceLocation {
        evidence_id: "e1".to_owned(),
        key: "form".to_owned(),
        selector: Some("form".to_owned()),
        bytes: Some((3, 9)),
        confidence: Some(0.25),
        evidence_json: "{}".to_owned(),
        ..StoredEvidenceLocation::default()
    };
    let attribution = Attribution {
        base: Some(id(FIRST_VERSION)),
        evidence_id: "e1".to_owned(),
        chunk_index: -1,
        key: "form".to_owned(),
        evidence_json: "{}".to_owned(),
        contribution: 1.5,
        percent: 100.0,
        ..Attribution::default()
    };
    CatalogRow::Score(Box::new(StoredScore {
        version: id(SECOND_VERSION),
        scoring_version: "one".to_owned(),
        score: 0.5,
        normalized: 50,
        confidence: 0.75,
        json: "{\"a\":1}".to_owned(),
        time: Moment::from_seconds(30),
        evidence: vec![evidence],
        attributions: vec![attribution],
    }))
}

fn history() -> Vec<CatalogRow> {
    let diff = |base: Option<&str>, head: &str| {
        let json = "{\"files\":[]}".to_owned();
        CatalogRow::Diff(StoredDiff {
            base: base.map(id),
            head: id(head),
            json,
            time: Moment::from_seconds(-7),
        })
    };
    vec![
        version(FIRST_VERSION, None, -5),
        capture(FIRST_VERSION, -62_135_596_800),
        version(SECOND_VERSION, Some(FIRST_VERSION), 20),
        capture(SECOND_VERSION, 20),
        diff(Some(FIRST_VERSION), SECOND_VERSION),
        diff(None, FIRST_VERSION),
        score(),
    ]
}

fn answers(database: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let mut statement = database.prepare(sql).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| (0..columns).map(|column| row.get(column)).collect()).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[test]
fn both_databases_have_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (folder.path().join("catalog.db"), folder.path().join("moku.db"));
    let catalogs: [Box<dyn Catalog>; 2] = [
        Box::new(SqliteCatalog::open_to_write(&ours).unwrap()),
        Box::new(MokuCatalog::open_to_write(&theirs, &MokuOptions::default()).unwrap().into_tables()),
    ];
    for catalog in catalogs {
        catalog.apply(&mut history().into_iter()).unwrap();
    }
    let (ours, theirs) = (Connection::open(ours).unwrap(), Connection::open(theirs).unwrap());
    for (table, columns) in SHARED_COLUMNS {
        let sql = format!("SELECT {columns} FROM {table} ORDER BY created_at, 1, 2")
            .replace(if table == "versions" { "created_at, " } else { "\0" }, "");
        let said = answers(&theirs, &sql);
        assert!(!said.is_empty(), "{table}");
        assert_eq!(answers(&ours, &sql), said, "{table}");
    }
    let schema = "SELECT value FROM meta WHERE key = 'schema_version'";
    assert_eq!(answers(&ours, schema), answers(&theirs, schema));
}

#[test]
fn headers_are_complete_in_sql() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog.db");
    let catalog = SqliteCatalog::open_to_write(&path).unwrap();
    catalog.apply(&mut history().into_iter()).unwrap();
    let sql = "SELECT s.headers FROM snapshots AS s JOIN versions AS v ON v.id = s.version_id
        WHERE v.parent_id IS NULL";
    let json: String = Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap();
    let headers: BTreeMap<String, Vec<String>> = serde_json::from_str(&json).unwrap();
    assert_eq!(headers["date"], ["now"]);
    assert_eq!(headers["content-type"], ["text/html"]);
}

/// Programs that were written for a `.moku` rely on columns that are never NULL there.
#[test]
fn columns_that_are_never_null_in_a_moku_are_not_null_here() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (folder.path().join("catalog.db"), folder.path().join("moku.db"));
    let catalog = SqliteCatalog::open_to_write(&ours).unwrap();
    // No diff is kept, which an archive need not.
    let rows = history().into_iter().filter(|row| !matches!(row, CatalogRow::Diff(_)));
    catalog.apply(&mut rows.into_iter()).unwrap();
    drop(MokuCatalog::open_to_write(&theirs, &MokuOptions::default()).unwrap());
    let (ours, theirs) = (Connection::open(ours).unwrap(), Connection::open(theirs).unwrap());
    for (table, _) in SHARED_COLUMNS {
        let promised = format!("SELECT name FROM pragma_table_info('{table}') WHERE \"notnull\"");
        let promised = answers(&theirs, &promised);
        for column in promised.iter().flatten() {
            let Value::Text(column) = column else { panic!("{column:?}") };
            let broken = format!("SELECT count(*) FROM {table} WHERE {column} IS NULL");
            assert_eq!(answers(&ours, &broken), [[Value::Integer(0)]], "{table}.{column}");
        }
    }
    let places = "SELECT count(*) FROM diff_attributions WHERE version_evidence_location_id IS NOT NULL";
    assert_eq!(answers(&ours, places), [[Value::Integer(1)]]);
}

/// `unhex` came in 2023, and many `sqlite3` programs are older.
#[test]
fn views_need_no_new_sqlite_and_are_renewed_by_a_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog.db");
    drop(SqliteCatalog::open_to_write(&path).unwrap());
    let made = "SELECT name, sql FROM sqlite_schema WHERE type = 'view' ORDER BY name";
    let database = Connection::open(&path).unwrap();
    let views = answers(&database, made);
    assert!(!format!("{views:?}").contains("unhex"), "{views:?}");
    let older =
        "DROP VIEW diffs; CREATE VIEW diffs AS SELECT unhex('00') AS id; CREATE VIEW mine AS SELECT 1";
    database.execute_batch(older).unwrap();
    drop(SqliteCatalog::open_to_write(&path).unwrap());
    let mut renewed = answers(&database, made);
    renewed.retain(|row| row[0] != Value::Text("mine".to_owned()));
    assert_eq!(renewed, views);
    assert_eq!(answers(&database, "SELECT * FROM mine"), [[Value::Integer(1)]]);
}
