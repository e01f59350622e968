//! The tables of a `.moku` site, and the rules about the project that it belongs to.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use varve_core::headers::Redaction;
use varve_core::{Moment, VersionId};

use super::MokuOptions;
use super::era::Era;
use super::{room, upgrade};
use crate::problem::Problem;

pub(super) const TABLES: &str = include_str!("../../sql/moku/tables.sql");
pub(super) const OWN: &str = include_str!("../../sql/moku/own.sql");
const INDEXES: &str = include_str!("../../sql/moku/indexes.sql");
/// Under this key stands a version that HEAD named though it had no rows.
const LOST_HEAD: &str = "lost_head";
/// And under this one, when gc was done last.
const LAST_GC: &str = "last_gc";
const OWN_INDEXES: &str = include_str!("../../sql/moku/own_indexes.sql");

/// Makes the site ready to be written: tables that it lacks, and its project. All or none.
pub(super) fn settle(connection: &mut Connection, options: &MokuOptions) -> Result<(), Problem> {
    let era = Era::of(connection)?;
    check_project(connection, era, options)?;
    if era.is_old() {
        if !options.upgrade {
            return Err(Problem::Early);
        }
        upgrade::to_today(connection, era)?;
    }
    if era == Era::Empty {
        room::prepare(connection)?;
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

/// What varve itself wrote down about a site.
fn state(connection: &Connection, key: &str) -> Result<Option<String>, Problem> {
    if !connection.table_exists(Some("main"), "varve_state")? {
        return Ok(None);
    }
    let sql = "SELECT value FROM varve_state WHERE key = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()?)
}

/// A version that HEAD named though it had no rows.
pub(super) fn lost_head(connection: &Connection) -> Result<Option<VersionId>, Problem> {
    let damaged = |error| Problem::Damaged("varve_state", format!("lost_head: {error}"));
    state(connection, LOST_HEAD)?.map(|text| text.parse().map_err(damaged)).transpose()
}

/// Writes down such a version, or that there is none any more.
pub(super) fn set_lost_head(connection: &Connection, version: Option<VersionId>) -> Result<(), Problem> {
    match version {
        Some(version) => connection.execute(
            "INSERT OR REPLACE INTO varve_state (key, value) VALUES (?1, ?2)",
            [LOST_HEAD, &version.to_string()],
        )?,
        None => connection.execute("DELETE FROM varve_state WHERE key = ?1", [LOST_HEAD])?,
    };
    Ok(())
}

/// When gc was done last. What is no time is as good as none: it keeps nobody from gc, which writes it anew.
pub(super) fn last_gc(connection: &Connection) -> Result<Option<Moment>, Problem> {
    Ok(state(connection, LAST_GC)?.and_then(|text| text.parse().ok()))
}

/// Writes down when that was.
pub(super) fn set_last_gc(connection: &Connection, time: Moment) -> Result<(), Problem> {
    let sql = "INSERT OR REPLACE INTO varve_state (key, value) VALUES (?1, ?2)";
    connection.execute(sql, [LAST_GC, &time.to_string()])?;
    Ok(())
}

/// Whether sensitive headers of new captures are hidden: they are, unless it was decided otherwise.
pub(super) fn redaction(connection: &Connection) -> Result<Redaction, Problem> {
    let said = state(connection, "redaction")?;
    Ok(if said.as_deref() == Some("off") { Redaction::Off } else { Redaction::On })
}

/// Decides whether they are.
pub(super) fn set_redaction(connection: &Connection, redaction: Redaction) -> Result<(), Problem> {
    let word = if redaction == Redaction::Off { "off" } else { "on" };
    let sql = "INSERT OR REPLACE INTO varve_state (key, value) VALUES ('redaction', ?1)";
    connection.execute(sql, [word])?;
    Ok(())
}

/// The parent that a version was committed with, where retention has given it another.
pub(super) fn first_parent(connection: &Connection, id: &VersionId) -> Result<Option<VersionId>, Problem> {
    if !connection.table_exists(Some("main"), "varve_parents")? {
        return Ok(None);
    }
    let sql = "SELECT parent_id FROM varve_parents WHERE version_id = ?1";
    let found: Option<String> =
        connection.prepare_cached(sql)?.query_row([id.to_string()], |row| row.get(0)).optional()?;
    let damaged = |error| Problem::Damaged("varve_parents", format!("{id}: {error}"));
    found.map(|text| text.parse().map_err(damaged)).transpose()
}

fn set_project(connection: &Connection, options: &MokuOptions) -> Result<(), Problem> {
    if let Some(project) = &options.project_id {
        let sql = "INSERT INTO meta (key, value) VALUES ('project_id', ?1)
            ON CONFLICT (key) DO UPDATE SET value = excluded.value";
        connection.execute(sql, [project])?;
    }
    Ok(())
}
