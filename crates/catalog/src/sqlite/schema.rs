//! The format of `catalog.db`: what it is known by, and how one is made.
//!
//! A catalog is a cache. A format of the past is therefore not migrated: it is made again by `rebuild`, which is said.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, TransactionBehavior};

use crate::problem::Problem;

/// `vrvc`: what SQLite's header says about whose file this is.
const APPLICATION: i64 = 0x7672_7663;
/// The format that this program reads and writes.
const FORMAT: i64 = 4;
/// The shape of the views: the one that the tables of a `.moku` have.
const SCHEMA_VERSION: &str = "2";

const TABLES: &str = include_str!("../../sql/sqlite/tables.sql");
const VIEWS: &str = include_str!("../../sql/sqlite/views.sql");
const FRONTIER: &str = include_str!("../../sql/sqlite/frontier.sql");

/// Refuses what is no catalog, or another one than this program knows.
pub(super) fn check(connection: &Connection) -> Result<(), Problem> {
    strict(connection)?;
    let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let format: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match (application, format) {
        (APPLICATION, FORMAT) => Ok(()),
        (APPLICATION, newer) if newer > FORMAT => Err(Problem::Unknown(format!(
            "it was written by a newer varve (format {newer}; this one knows {FORMAT})"
        ))),
        (APPLICATION, older) => Err(Problem::Older(older)),
        _ => Err(Problem::Unknown("this database is not a catalog of varve".to_owned())),
    }
}

/// Makes the tables where nothing is yet, all or none.
pub(super) fn create_if_empty(connection: &mut Connection) -> Result<(), Problem> {
    strict(connection)?;
    if !is_empty(connection)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another may have made them while this one waited.
    if is_empty(&transaction)? {
        for sql in [TABLES, VIEWS, FRONTIER] {
            transaction.execute_batch(sql)?;
        }
        transaction
            .execute("INSERT INTO meta (key, value) VALUES ('schema_version', ?1)", [SCHEMA_VERSION])?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
    }
    Ok(transaction.commit()?)
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
