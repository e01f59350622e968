//! Upgrades an early `moku.db` to the current schema, in one transaction.
//!
//! Tables that have another shape in the current schema stay under the name `varve_old_…`, so that
//! no value is lost that could not be moved.

use rusqlite::{Connection, TransactionBehavior, params};
use sha2::{Digest, Sha256};
use varve_core::history::uuid_of;

use crate::create_tables;
use crate::era::{Era, columns};
use varve_sqlite::{SqlResult, UnlocatedError};

/// Tables, each with a column that only its current shape has.
const CURRENT_COLUMNS: [(&str, &str); 4] = [
    ("snapshots", "version_id"),
    ("score_results", "snapshot_id"),
    ("evidence_items", "contribution"),
    ("evidence_locations", "parameter_name"),
];

/// Upgrades a site.
pub(crate) fn upgrade(connection: &mut Connection, era: Era) -> SqlResult<()> {
    // References are by table name, and tables are renamed here. They are checked before the
    // commit.
    connection.pragma_update(None, "foreign_keys", false)?;
    connection.pragma_update(None, "legacy_alter_table", true)?;
    let done = upgrade_tables(connection, era);
    connection.pragma_update(None, "legacy_alter_table", false)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    done
}

fn upgrade_tables(connection: &mut Connection, era: Era) -> SqlResult<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    era.create_views(&transaction)?;
    transaction.execute_batch(
        "CREATE TEMP TABLE moved_versions AS SELECT * FROM commits;
         CREATE TEMP TABLE moved_snapshots AS SELECT * FROM pages;
         DROP VIEW temp.pages; DROP VIEW temp.commits;",
    )?;
    drop_temporary_tables(&transaction)?;
    for (table, mark) in CURRENT_COLUMNS {
        rename_old_table(&transaction, table, |columns| !columns.contains(mark))?;
    }
    rename_old_table(&transaction, "versions", |columns| columns.contains("snapshot_id"))?;
    create_tables::create_tables(&transaction)?;
    transaction.execute_batch(
        "INSERT OR IGNORE INTO versions (id, parent_id, message, author, timestamp)
             SELECT id, parent_id, message, author, timestamp FROM temp.moved_versions ORDER BY place;",
    )?;
    copy_snapshots(&transaction)?;
    transaction.execute_batch(
        "DROP TABLE temp.moved_versions; DROP TABLE temp.moved_snapshots;
         UPDATE meta SET value = '2' WHERE key = 'schema_version';",
    )?;
    check_references(&transaction)?;
    Ok(transaction.commit()?)
}

/// Drops the empty tables that stood in for tables that the site did not have.
fn drop_temporary_tables(connection: &Connection) -> SqlResult<()> {
    let sql = "SELECT name FROM temp.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'moved_%'
        AND name NOT LIKE 'sqlite_%'";
    let names: Vec<String> =
        connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for name in names {
        connection.execute_batch(&format!("DROP TABLE temp.{name}"))?;
    }
    Ok(())
}

/// Renames a table that does not have its current shape, and drops its indexes to free their names.
fn rename_old_table(
    connection: &Connection,
    table: &str,
    is_old: impl FnOnce(&std::collections::BTreeSet<String>) -> bool,
) -> SqlResult<()> {
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

/// Copies a snapshot that several versions share to each of them. All copies but the first get an
/// id that is derived from version and snapshot.
fn copy_snapshots(connection: &Connection) -> SqlResult<()> {
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

fn check_references(connection: &Connection) -> SqlResult<()> {
    let sql = "SELECT count(*) FROM pragma_foreign_key_check WHERE \"table\" NOT LIKE 'varve_old_%'";
    let broken: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    if broken > 0 {
        let what = format!("{broken} rows refer to rows that are not there, so it cannot be upgraded");
        return Err(UnlocatedError::Damaged("the whole", what));
    }
    Ok(())
}
