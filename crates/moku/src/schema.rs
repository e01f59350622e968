//! Prepares a site for writing, checks its project, and reads and writes its settings.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use varve_core::headers::Redaction;
use varve_core::{Moment, VersionId};

use crate::MokuOptions;
use crate::era::Era;
use crate::{tables, upgrade, vacuum};
use varve_sqlite::UnlocatedError;

/// The key of a version that HEAD named and that has no rows.
const LOST_HEAD_KEY: &str = "lost_head";
/// The key of the time of the last garbage collection.
const LAST_GC_KEY: &str = "last_gc";
/// The key of the setting whether sensitive headers are redacted.
const REDACTION_KEY: &str = "redaction";

/// Prepares a site for writing, in one transaction: upgrades it if the options allow that, creates
/// missing tables and sets the project.
pub(crate) fn prepare_to_write(
    connection: &mut Connection,
    options: &MokuOptions,
) -> Result<(), UnlocatedError> {
    let era = Era::of(connection)?;
    check_project(connection, era, options)?;
    if era.is_old() {
        if !options.upgrade {
            return Err(UnlocatedError::EarlyMoku);
        }
        upgrade::upgrade(connection, era)?;
    }
    if era == Era::Empty {
        vacuum::enable_incremental(connection)?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tables::create_tables(&transaction)?;
    set_project(&transaction, options)?;
    Ok(transaction.commit()?)
}

/// The project of a site.
pub(crate) fn project(connection: &Connection) -> Result<Option<String>, UnlocatedError> {
    let sql = "SELECT value FROM meta WHERE key = 'project_id'";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?)
}

/// Refuses a site of another project before anything is changed.
fn check_project(connection: &Connection, era: Era, options: &MokuOptions) -> Result<(), UnlocatedError> {
    let Some(wanted) = &options.project_id else { return Ok(()) };
    if wanted.is_empty() {
        return Err(UnlocatedError::Unsupported("an empty text is no project id".to_owned()));
    }
    if era == Era::Empty || !connection.table_exists(Some("main"), "meta")? {
        return Ok(());
    }
    match project(connection)? {
        Some(found) if found != *wanted && !options.force_project_id => {
            Err(UnlocatedError::OtherProject { wanted: wanted.clone(), found })
        }
        _ => Ok(()),
    }
}

/// A setting that varve stores in a site.
fn setting(connection: &Connection, key: &str) -> Result<Option<String>, UnlocatedError> {
    if !connection.table_exists(Some("main"), "varve_state")? {
        return Ok(None);
    }
    let sql = "SELECT value FROM varve_state WHERE key = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()?)
}

fn set_setting(connection: &Connection, key: &str, value: &str) -> Result<(), UnlocatedError> {
    connection.execute("INSERT OR REPLACE INTO varve_state (key, value) VALUES (?1, ?2)", [key, value])?;
    Ok(())
}

/// A version that HEAD named and that has no rows.
pub(crate) fn lost_head(connection: &Connection) -> Result<Option<VersionId>, UnlocatedError> {
    let damaged = |error| UnlocatedError::Damaged("varve_state", format!("lost_head: {error}"));
    setting(connection, LOST_HEAD_KEY)?.map(|text| text.parse().map_err(damaged)).transpose()
}

/// Stores a version that HEAD named and that has no rows, or removes it.
pub(crate) fn set_lost_head(
    connection: &Connection,
    version: Option<VersionId>,
) -> Result<(), UnlocatedError> {
    if let Some(version) = version {
        return set_setting(connection, LOST_HEAD_KEY, &version.to_string());
    }
    connection.execute("DELETE FROM varve_state WHERE key = ?1", [LOST_HEAD_KEY])?;
    Ok(())
}

/// The time of the last garbage collection. An invalid value counts as none: the next garbage
/// collection replaces it.
pub(crate) fn last_gc(connection: &Connection) -> Result<Option<Moment>, UnlocatedError> {
    Ok(setting(connection, LAST_GC_KEY)?.and_then(|text| text.parse().ok()))
}

/// Stores the time of a garbage collection.
pub(crate) fn set_last_gc(connection: &Connection, time: Moment) -> Result<(), UnlocatedError> {
    set_setting(connection, LAST_GC_KEY, &time.to_string())
}

/// Whether sensitive headers of new captures are redacted. The default is yes.
pub(crate) fn redaction(connection: &Connection) -> Result<Redaction, UnlocatedError> {
    let value = setting(connection, REDACTION_KEY)?;
    Ok(if value.as_deref() == Some("off") { Redaction::Off } else { Redaction::On })
}

/// Stores whether sensitive headers of new captures are redacted.
pub(crate) fn set_redaction(connection: &Connection, redaction: Redaction) -> Result<(), UnlocatedError> {
    set_setting(connection, REDACTION_KEY, if redaction == Redaction::Off { "off" } else { "on" })
}

/// The parent that a version was committed with, if retention has given it another.
pub(crate) fn first_parent(
    connection: &Connection,
    id: &VersionId,
) -> Result<Option<VersionId>, UnlocatedError> {
    if !connection.table_exists(Some("main"), "varve_parents")? {
        return Ok(None);
    }
    let sql = "SELECT parent_id FROM varve_parents WHERE version_id = ?1";
    let found: Option<String> =
        connection.prepare_cached(sql)?.query_row([id.to_string()], |row| row.get(0)).optional()?;
    let damaged = |error| UnlocatedError::Damaged("varve_parents", format!("{id}: {error}"));
    found.map(|text| text.parse().map_err(damaged)).transpose()
}

fn set_project(connection: &Connection, options: &MokuOptions) -> Result<(), UnlocatedError> {
    if let Some(project) = &options.project_id {
        let sql = "INSERT INTO meta (key, value) VALUES ('project_id', ?1)
            ON CONFLICT (key) DO UPDATE SET value = excluded.value";
        connection.execute(sql, [project])?;
    }
    Ok(())
}
