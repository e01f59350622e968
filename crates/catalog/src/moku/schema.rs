//! The tables of a `.moku` site, and the rules about the project that it belongs to.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::MokuOptions;
use super::era::Era;
use super::upgrade;
use crate::problem::Problem;

pub(super) const TABLES: &str = include_str!("../../sql/moku/tables.sql");
pub(super) const OWN: &str = include_str!("../../sql/moku/own.sql");
const INDEXES: &str = include_str!("../../sql/moku/indexes.sql");
const OWN_INDEXES: &str = include_str!("../../sql/moku/own_indexes.sql");

/// Makes the site ready to be written: tables that it lacks, and its project. All or none.
pub(super) fn settle(connection: &mut Connection, options: &MokuOptions) -> Result<(), Problem> {
    let era = Era::of(connection)?;
    check_project(connection, era, options)?;
    if era.is_old() {
        if !options.upgrade {
            let what = "it has the tables of an early Moku: it can be read as it is, and must be upgraded before \
                        it can be written";
            return Err(Problem::Unknown(what.to_owned()));
        }
        upgrade::to_today(connection, era)?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    create(&transaction)?;
    set_project(&transaction, options)?;
    Ok(transaction.commit()?)
}

/// Makes the tables and indexes that are not there.
pub(super) fn create(connection: &Connection) -> Result<(), Problem> {
    for sql in [TABLES, INDEXES, OWN, OWN_INDEXES] {
        connection.execute_batch(sql)?;
    }
    connection.execute("INSERT OR IGNORE INTO meta (key, value) VALUES ('schema_version', '2')", [])?;
    Ok(())
}

/// The project that a site says it belongs to.
pub(super) fn project(connection: &Connection) -> Result<Option<String>, Problem> {
    let sql = "SELECT value FROM meta WHERE key = 'project_id'";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?)
}

/// Refuses another project before anything is changed.
fn check_project(connection: &Connection, era: Era, options: &MokuOptions) -> Result<(), Problem> {
    let Some(wanted) = &options.project_id else { return Ok(()) };
    if wanted.is_empty() {
        return Err(Problem::Unknown("an empty text is no project id".to_owned()));
    }
    if era == Era::Empty || !connection.table_exists(Some("main"), "meta")? {
        return Ok(());
    }
    match project(connection)? {
        Some(found) if found != *wanted && !options.force_project_id => {
            Err(Problem::OtherProject { wanted: wanted.clone(), found })
        }
        _ => Ok(()),
    }
}

fn set_project(connection: &Connection, options: &MokuOptions) -> Result<(), Problem> {
    if let Some(project) = &options.project_id {
        let sql = "INSERT INTO meta (key, value) VALUES ('project_id', ?1)
            ON CONFLICT (key) DO UPDATE SET value = excluded.value";
        connection.execute(sql, [project])?;
    }
    Ok(())
}
