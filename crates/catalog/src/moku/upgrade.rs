//! An early `moku.db` becomes one of today, in one transaction, only when asked.
//!
//! What has another shape today is kept under the name `varve_old_…`, so that nothing is lost that could not be moved.

use rusqlite::{Connection, TransactionBehavior, params};
use sha2::{Digest, Sha256};
use varve_core::history::uuid_of;

use super::era::{Era, columns};
use super::schema;
use crate::problem::Problem;

/// Tables, each with a column that its shape of today has and no earlier one.
const MARKS: [(&str, &str); 4] = [
    ("snapshots", "version_id"),
    ("score_results", "snapshot_id"),
    ("evidence_items", "contribution"),
    ("evidence_locations", "parameter_name"),
];

/// Upgrades a site.
pub(super) fn to_today(connection: &mut Connection, era: Era) -> Result<(), Problem> {
    // References are by name, and names change hands here; they are checked before the end.
    connection.pragma_update(None, "foreign_keys", false)?;
    connection.pragma_update(None, "legacy_alter_table", true)?;
    let done = upgrade(connection, era);
    connection.pragma_update(None, "legacy_alter_table", false)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    done
}

fn upgrade(connection: &mut Connection, era: Era) -> Result<(), Problem> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    era.prepare(&transaction)?;
    transaction.execute_batch(
        "CREATE TEMP TABLE moved_versions AS SELECT * FROM commits;
         CREATE TEMP TABLE moved_snapshots AS SELECT * FROM pages;
         DROP VIEW temp.pages; DROP VIEW temp.commits;",
    )?;
    drop_stand_ins(&transaction)?;
    for (table, mark) in MARKS {
        put_aside(&transaction, table, |columns| !columns.contains(mark))?;
    }
    put_aside(&transaction, "versions", |columns| columns.contains("snapshot_id"))?;
    schema::create(&transaction)?;
    transaction.execute_batch(
        "INSERT OR IGNORE INTO versions (id, parent_id, message, author, timestamp)
             SELECT id, parent_id, message, author, timestamp FROM temp.moved_versions ORDER BY place;",
    )?;
    move_snapshots(&transaction)?;
    transaction.execute_batch(
        "DROP TABLE temp.moved_versions; DROP TABLE temp.moved_snapshots;
         UPDATE meta SET value = '2' WHERE key = 'schema_version';",
    )?;
    check_references(&transaction)?;
    Ok(transaction.commit()?)
}

/// Takes away the empty tables that stood in for those that the site had not.
fn drop_stand_ins(connection: &Connection) -> Result<(), Problem> {
    let sql = "SELECT name FROM temp.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'moved_%'
        AND name NOT LIKE 'sqlite_%'";
    let names: Vec<String> =
        connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for name in names {
        connection.execute_batch(&format!("DROP TABLE temp.{name}"))?;
    }
    Ok(())
}

/// Renames a table if it has another shape than today's, and frees the names of its indexes.
fn put_aside(
    connection: &Connection,
    table: &str,
    is_old: impl FnOnce(&std::collections::BTreeSet<String>) -> bool,
) -> Result<(), Problem> {
    let columns = columns(connection, table)?;
    if columns.is_empty() || !is_old(&columns) {
        return Ok(());
    }
    let sql =
        "SELECT name FROM main.sqlite_schema WHERE type = 'index' AND tbl_name = ?1 AND sql IS NOT NULL";
    let indexes: Vec<String> =
        connection.prepare(sql)?.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for index in indexes {
        connection.execute_batch(&format!("DROP INDEX main.\"{}\"", index.replace('"', "\"\"")))?;
    }
    Ok(connection.execute_batch(&format!("ALTER TABLE main.{table} RENAME TO varve_old_{table}"))?)
}

/// A snapshot that several versions share becomes one of each; all but the first get an id that follows from both.
fn move_snapshots(connection: &Connection) -> Result<(), Problem> {
    let mut insert = connection.prepare(
        "INSERT OR IGNORE INTO snapshots
             (id, version_id, status_code, url, file_path, blob_id, created_at, headers)
         SELECT ?2, version_id, status_code, url, file_path, blob_id, created_at, headers
         FROM temp.moved_snapshots WHERE rowid = ?1",
    )?;
    let mut all = connection
        .prepare("SELECT rowid, id, version_id, file_path FROM temp.moved_snapshots ORDER BY place")?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let (no, id): (i64, String) = (row.get(0)?, row.get(1)?);
        if insert.execute(params![no, id])? == 0 {
            let (version, path): (String, String) = (row.get(2)?, row.get(3)?);
            let digest = Sha256::digest(format!("varve snapshot\n{version}\n{id}\n{path}"));
            insert.execute(params![no, uuid_of(&digest.into()).to_string()])?;
        }
    }
    Ok(())
}

fn check_references(connection: &Connection) -> Result<(), Problem> {
    let sql = "SELECT count(*) FROM pragma_foreign_key_check WHERE \"table\" NOT LIKE 'varve_old_%'";
    let broken: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    if broken > 0 {
        let what = format!("{broken} rows refer to rows that are not there, so it cannot be upgraded");
        return Err(Problem::Damaged("the whole", what));
    }
    Ok(())
}
