//! The format of `catalog.db`: what it is known by, and how one is made.
//!
//! A catalog is a cache. A format of the past is therefore not migrated: it is made again by `rebuild`, which is said.

use std::collections::BTreeMap;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, TransactionBehavior};

use varve_sqlite::UnlocatedError;

/// `vrvc`: what SQLite's header says about whose file this is.
const APPLICATION: i64 = 0x7672_7663;
/// The format that this program reads and writes.
const FORMAT: i64 = 5;
/// The shape of the views: the one that the tables of a `.moku` have.
const SCHEMA_VERSION: &str = "2";

const TABLES: &str = include_str!("../../sql/tables.sql");
const VIEWS: &str = include_str!("../../sql/views.sql");
const HIDDEN: &str = include_str!("../../sql/hidden.sql");
const FRONTIER: &str = include_str!("../../sql/frontier.sql");

/// Refuses what is no catalog, or another one than this program knows.
pub(super) fn check(connection: &Connection) -> Result<(), UnlocatedError> {
    strict(connection)?;
    let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let format: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match (application, format) {
        (APPLICATION, FORMAT) => Ok(()),
        (APPLICATION, newer) if newer > FORMAT => Err(UnlocatedError::Newer(format!(
            "it was written by a newer varve (format {newer}; this one knows {FORMAT})"
        ))),
        (APPLICATION, older) => Err(UnlocatedError::Older(older)),
        _ => Err(UnlocatedError::Foreign("this database is not a catalog of varve".to_owned())),
    }
}

/// Makes the tables where nothing is yet, all or none.
pub(super) fn create_if_empty(connection: &mut Connection) -> Result<(), UnlocatedError> {
    strict(connection)?;
    if !is_empty(connection)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another may have made them while this one waited.
    if is_empty(&transaction)? {
        for sql in [TABLES, HIDDEN, VIEWS, FRONTIER] {
            transaction.execute_batch(sql)?;
        }
        transaction
            .execute("INSERT INTO meta (key, value) VALUES ('schema_version', ?1)", [SCHEMA_VERSION])?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
    }
    Ok(transaction.commit()?)
}

/// Gives a catalog the views of this program, where an earlier one made others. They hold nothing.
pub(super) fn renew_views(connection: &mut Connection) -> Result<(), UnlocatedError> {
    if has_views(connection)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (name, _) in views() {
        transaction.execute_batch(&format!("DROP VIEW IF EXISTS {name}"))?;
    }
    transaction.execute_batch(VIEWS)?;
    Ok(transaction.commit()?)
}

/// Gives a catalog the table that an earlier program did not know. It is empty where it was missing, because only who knows it
/// writes what it is filled from, into a catalog that is made anew.
pub(super) fn add_tables(connection: &Connection) -> Result<(), UnlocatedError> {
    Ok(connection.execute_batch(HIDDEN)?)
}

/// Whether pages may be hidden: the catalog of an earlier program, which is only read, has no place for that.
pub(super) fn has_hidden_pages(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE name = 'hidden_pages')";
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0))
}

/// The views of this program, each with its name and the statement that makes it.
fn views() -> impl Iterator<Item = (&'static str, &'static str)> {
    VIEWS.split(';').filter_map(|part| {
        let statement = &part[part.find("CREATE VIEW ")?..];
        Some((statement.split(' ').nth(2)?, statement))
    })
}

/// Whether the views are those of this program.
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

/// Double quotes are names here and never texts.
fn strict(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    Ok(())
}
