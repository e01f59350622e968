//! The format of `catalog.db`: how it is recognised, and how it is created.
//!
//! A catalog is a cache. An earlier format is therefore not migrated: the error tells the user that
//! `rebuild` makes it again.

use std::collections::BTreeMap;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, TransactionBehavior};

use varve_sqlite::{SqlResult, UnlocatedError};

/// `vrvc`: the application id in SQLite's header.
const APPLICATION_ID: i64 = 0x7672_7663;
/// The format that this program reads and writes.
const CATALOG_FORMAT: i64 = 10;
/// The Moku schema that the views imitate.
const MOKU_SCHEMA_VERSION: &str = "2";

const TABLES_SQL: &str = include_str!("../../sql/tables.sql");
const VIEWS_SQL: &str = include_str!("../../sql/views.sql");
const FRONTIER_SQL: &str = include_str!("../../sql/frontier.sql");

/// Refuses a database that is no catalog, or has another format.
pub(super) fn check(connection: &Connection) -> SqlResult<()> {
    set_strict_quotes(connection)?;
    let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let format: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match (application, format) {
        (APPLICATION_ID, CATALOG_FORMAT) => Ok(()),
        (APPLICATION_ID, newer) if newer > CATALOG_FORMAT => Err(UnlocatedError::Newer(format!(
            "it was written by a newer varve (format {newer}; this one knows {CATALOG_FORMAT})"
        ))),
        (APPLICATION_ID, older) => Err(UnlocatedError::Older(older)),
        _ => Err(UnlocatedError::Foreign("this database is not a catalog of varve".to_owned())),
    }
}

/// Creates the tables in an empty database, in one transaction.
pub(super) fn create_if_empty(connection: &mut Connection) -> SqlResult<()> {
    set_strict_quotes(connection)?;
    if !is_empty(connection)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have created them in the meantime.
    if is_empty(&transaction)? {
        for sql in [TABLES_SQL, VIEWS_SQL, FRONTIER_SQL] {
            transaction.execute_batch(sql)?;
        }
        transaction
            .execute("INSERT INTO meta (key, value) VALUES ('schema_version', ?1)", [MOKU_SCHEMA_VERSION])?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", CATALOG_FORMAT)?;
    }
    Ok(transaction.commit()?)
}

/// Replaces views that an earlier program created. Views hold no data.
pub(super) fn renew_views(connection: &mut Connection) -> SqlResult<()> {
    if has_views(connection)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (name, _) in views() {
        transaction.execute_batch(&format!("DROP VIEW IF EXISTS {name}"))?;
    }
    transaction.execute_batch(VIEWS_SQL)?;
    Ok(transaction.commit()?)
}

/// The views of this program: name and statement of each.
fn views() -> impl Iterator<Item = (&'static str, &'static str)> {
    VIEWS_SQL.split(';').filter_map(|part| {
        let statement = &part[part.find("CREATE VIEW ")?..];
        Some((statement.split(' ').nth(2)?, statement))
    })
}

/// Whether the views of the database are those of this program.
fn has_views(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT name, sql FROM main.sqlite_schema WHERE type = 'view'";
    let mut statement = connection.prepare(sql)?;
    let found: BTreeMap<String, String> =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    Ok(views().all(|(name, statement)| found.get(name).is_some_and(|sql| sql == statement)))
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

/// Treats double-quoted text as a name, and never as a string.
fn set_strict_quotes(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    Ok(())
}
