//! The rules of Crystal for a project, each checked with SQLite and the file system alone.

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use varve_core::alias::Aliases;
use varve_crystal::{SiteRules, url_alternatives};

/// The schema as the format's own description has it.
const SCHEMA: &str = r#"
CREATE TABLE project_property (name text unique not null, value text);
CREATE TABLE resource (id integer primary key, url text unique not null);
CREATE TABLE root_resource (id integer primary key, name text not null,
    resource_id integer unique not null, foreign key (resource_id) references resource(id));
CREATE TABLE resource_group (id integer primary key, name text not null, url_pattern text not null,
    source_type text, source_id integer, do_not_download integer not null default 0);
CREATE TABLE resource_revision (id integer primary key, resource_id integer not null,
    request_cookie text, error text not null, metadata text not null);
CREATE TABLE alias (id integer primary key, source_url_prefix text unique not null,
    target_url_prefix text not null, target_is_external integer not null default 0);
CREATE INDEX resource_revision__resource_id on resource_revision (resource_id);
CREATE INDEX resource_revision__error_not_null on resource_revision (id, resource_id)
    where error != "null";
CREATE INDEX resource_revision__request_cookie_not_null on resource_revision (id, request_cookie)
    where request_cookie is not null;
CREATE INDEX resource_revision__status_code on resource_revision
    (json_extract(metadata, "$.status_code"), resource_id)
    where json_extract(metadata, "$.status_code") != 200;
"#;

/// Questions that Crystal asks, with the index that answers each.
const PLANS: [(&str, &str); 4] = [
    ("select id from resource_revision where resource_id = 1", "resource_revision__resource_id"),
    (
        r#"select id, resource_id from resource_revision where error != "null""#,
        "resource_revision__error_not_null",
    ),
    (
        "select id, request_cookie from resource_revision where request_cookie is not null",
        "resource_revision__request_cookie_not_null",
    ),
    (
        r#"select resource_id from resource_revision where json_extract(metadata, "$.status_code") != 200"#,
        "resource_revision__status_code",
    ),
];

/// How strictly a project is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    /// All of it by us.
    ByUs,
    /// Rows that Crystal wrote, with older forms of URLs and other files.
    ByCrystal,
}

/// Checks every rule.
pub(crate) fn assert_acceptable(path: &Path, made: Made) {
    assert_files(path, made);
    let database = path.join("database.sqlite");
    let connection = Connection::open_with_flags(&database, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    assert_eq!(describe(&connection), described_schema());
    assert_plans(&connection);
    assert_rows(&connection, made);
    assert_bodies(&connection, path);
    for (pragma, value) in [("journal_mode", "delete"), ("user_version", "0"), ("encoding", "UTF-8")] {
        let found =
            connection.pragma_query_value(None, pragma, |row| row.get::<_, rusqlite::types::Value>(0));
        let found = match found.unwrap() {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(found, value, "{pragma}");
    }
    let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    keep_copy(path);
}

/// Keeps a copy of the project where the user wants to open them with Crystal itself.
fn keep_copy(path: &Path) {
    static NUMBER: AtomicUsize = AtomicUsize::new(1);
    let Some(folder) = std::env::var_os("VARVE_CRYSTAL_PROJECTS") else { return };
    fs::create_dir_all(&folder).unwrap();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    crate::fixture::copy_tree(path, &Path::new(&folder).join(format!("{number}.crystalproj")));
}

fn assert_files(path: &Path, made: Made) {
    assert!(path.file_name().unwrap().to_str().unwrap().ends_with(".crystalproj"));
    assert!(path.join("revisions").is_dir());
    assert_eq!(fs::read_dir(path.join("tmp")).unwrap().count(), 0, "tmp is not empty");
    for left in [
        "database.sqlite-wal",
        "database.sqlite-shm",
        "database.sqlite-journal",
        "varve.lock",
        "varve.tmp",
        "revisions.inprogress",
    ] {
        assert!(!path.join(left).exists(), "{left} is still there");
    }
    assert_eq!(fs::read(path.join("OPEN ME.crystalopen")).unwrap(), b"CrOp");
    let desktop = fs::read_to_string(path.join("desktop.ini")).unwrap();
    for line in [
        "[.ShellClassInfo]",
        "DirectoryClass=crystalproj",
        "ConfirmFileOp=0",
        "IconFile=icons\\docicon.ico",
        "IconIndex=0",
    ] {
        assert!(desktop.split("\r\n").any(|found| found == line), "{line}");
    }
    assert_eq!(fs::read_to_string(path.join(".directory")).unwrap(), "[Desktop Entry]\nIcon=crystalproj\n");
    if made == Made::ByUs {
        let readme = fs::read_to_string(path.join("README.txt")).unwrap();
        assert!(readme.lines().count() > 3 && !readme.replace("\r\n", "").contains('\n'));
        assert!(fs::metadata(path.join("icons/docicon.ico")).unwrap().len() > 1000);
    }
}

/// Columns and indexes of every table, in an order that does not depend on when a column was added.
fn describe(connection: &Connection) -> Vec<String> {
    let mut statement = connection
        .prepare(
            "SELECT 'column ' || m.name || '.' || c.name || ' ' || c.type || ' ' || c.\"notnull\" || ' ' \
                 || ifnull(c.dflt_value, '-') || ' ' || c.pk \
             FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' \
             UNION ALL \
             SELECT 'index ' || i.name || ' on ' || m.name || ' ' || i.\"unique\" || ' ' || i.partial || ' ' \
                 || ifnull((SELECT group_concat(ifnull(x.name, 'expression')) FROM pragma_index_info(i.name) x), '') \
             FROM sqlite_schema m, pragma_index_list(m.name) i WHERE m.type = 'table'",
        )
        .unwrap();
    let mut lines: Vec<String> =
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    lines.sort();
    lines
}

fn described_schema() -> Vec<String> {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(SCHEMA).unwrap();
    describe(&connection)
}

/// Runs what Crystal runs, and asks SQLite whether the index is of use for it.
fn assert_plans(connection: &Connection) {
    for (question, index) in PLANS {
        let plan = format!("EXPLAIN QUERY PLAN {question}");
        let mut statement = connection.prepare(&plan).unwrap();
        let lines: Vec<String> =
            statement.query_map([], |row| row.get(3)).unwrap().collect::<Result<_, _>>().unwrap();
        assert!(lines.iter().any(|line| line.contains(index)), "{question}: {lines:?}");
        connection.prepare(question).unwrap().query_map([], |_| Ok(())).unwrap().for_each(drop);
    }
}

fn texts(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

fn assert_rows(connection: &Connection, made: Made) {
    let none = |sql: &str| assert_eq!(texts(connection, sql), Vec::<String>::new(), "{sql}");
    let types =
        "SELECT typeof(value) FROM project_property WHERE name IN ('major_version', 'html_parser_type')";
    assert!(texts(connection, types).iter().all(|kind| kind == "text"));
    none(
        "SELECT name FROM root_resource r WHERE NOT EXISTS (SELECT 1 FROM resource WHERE id = r.resource_id)",
    );
    none(
        "SELECT source_url_prefix FROM alias WHERE substr(source_url_prefix, -1) != '/' OR substr(target_url_prefix, -1) != '/'",
    );
    none("SELECT CAST(id AS text) FROM resource_group WHERE url_pattern = ''");
    none("SELECT CAST(id AS text) FROM resource_group g WHERE source_type IS NOT NULL AND NOT (
              source_type = 'root_resource' AND EXISTS (SELECT 1 FROM root_resource WHERE id = g.source_id)
              OR source_type = 'resource_group' AND EXISTS (SELECT 1 FROM resource_group WHERE id = g.source_id))");
    none(
        "SELECT CAST(id AS text) FROM resource_revision r WHERE NOT EXISTS (SELECT 1 FROM resource WHERE id = r.resource_id)",
    );
    for error in texts(connection, "SELECT error FROM resource_revision WHERE error != 'null'") {
        let value: Value = serde_json::from_str(&error).unwrap();
        assert_eq!(value.as_object().unwrap().keys().collect::<Vec<_>>(), ["type", "message"], "{error}");
    }
    for metadata in texts(connection, "SELECT metadata FROM resource_revision WHERE metadata != 'null'") {
        assert_metadata(&metadata);
    }
    if made == Made::ByUs {
        for url in texts(connection, "SELECT url FROM resource") {
            let known = url_alternatives(&url, &SiteRules::built_in(), &Aliases::default());
            assert_eq!(known.canonical(), url);
        }
    }
}

fn assert_metadata(text: &str) {
    let value: Value = serde_json::from_str(text).unwrap();
    let keys: Vec<_> = value.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["http_version", "status_code", "reason_phrase", "headers"], "{text}");
    let headers = value["headers"].as_array().unwrap();
    assert!(headers.iter().all(|pair| pair.as_array().unwrap().len() == 2), "{text}");
    let is_date = |pair: &Value| pair[0].as_str().unwrap().eq_ignore_ascii_case("date");
    assert!(headers.iter().any(is_date), "{text}");
    assert!(text.is_ascii() && text.starts_with(r#"{"http_version": "#), "{text}");
}

/// For every row without an error a body, and for no row with one.
fn assert_bodies(connection: &Connection, path: &Path) {
    let version = texts(connection, "SELECT value FROM project_property WHERE name = 'major_version'");
    let mut statement = connection.prepare("SELECT id, error FROM resource_revision").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))).unwrap();
    for row in rows {
        let (id, error) = row.unwrap();
        let digits = format!("{id:015x}");
        let name = match version.first().map(String::as_str) {
            Some("2" | "3") => [0, 3, 6, 9, 12].map(|at| &digits[at..at + 3]).join("/"),
            _ => id.to_string(),
        };
        let loose = path.join("revisions").join(&name);
        let is_there = loose.is_file() || is_in_pack(&loose);
        assert_eq!(is_there, error == "null", "{name}");
    }
}

/// Whether a pack beside has the body, as another program reads it.
fn is_in_pack(loose: &Path) -> bool {
    let name = loose.file_name().unwrap().to_str().unwrap();
    let Ok(pack) = fs::File::open(loose.with_file_name(format!("{}_.zip", &name[..name.len() - 1]))) else {
        return false;
    };
    let mut pack = zip::ZipArchive::new(pack).unwrap();
    let is_there = pack.by_name(name).is_ok();
    assert!(!is_there || !loose.exists(), "{name} is twice there");
    is_there
}
