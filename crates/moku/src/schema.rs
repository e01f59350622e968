//! Prepares a site for writing, checks its project, and reads and writes its settings.

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior};
use varve_core::headers::Redaction;
use varve_core::{Moment, VersionId};

use crate::MokuOptions;
use crate::create_tables::MokuTables;
use crate::era::Era;
use crate::{create_tables, head_rule, upgrade, vacuum};
use varve_sqlite::column::text_id;
use varve_sqlite::{SqlResult, UnlocatedError, collect_rows, parsed_state};

/// The key of a version that HEAD named and that has no rows.
const LOST_HEAD_KEY: &str = "lost_head";
/// The key of the time of the last garbage collection.
const LAST_GC_KEY: &str = "last_gc";
/// The key of the setting whether sensitive headers are redacted.
const REDACTION_KEY: &str = "redaction";

/// Prepares a site for writing, in one transaction: upgrades it if the options allow that, creates
/// missing tables and sets the project.
pub(crate) fn prepare_to_write(connection: &mut Connection, options: &MokuOptions) -> SqlResult<()> {
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
    let is_first = !head_rule::has_seen_versions(&transaction)?;
    create_tables::create_tables(&transaction)?;
    if is_first {
        head_rule::record_seen_versions(&transaction)?;
    }
    set_project(&transaction, options)?;
    Ok(transaction.commit()?)
}

/// The project of a site.
pub(crate) fn project(connection: &Connection) -> SqlResult<Option<String>> {
    let sql = "SELECT value FROM meta WHERE key = 'project_id'";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?)
}

/// Refuses a site of another project before anything is changed.
fn check_project(connection: &Connection, era: Era, options: &MokuOptions) -> SqlResult<()> {
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

pub(crate) fn set_setting(connection: &Connection, key: &str, value: &str) -> SqlResult<()> {
    connection.execute("INSERT OR REPLACE INTO varve_state (key, value) VALUES (?1, ?2)", [key, value])?;
    Ok(())
}

/// A version that HEAD named and that has no rows.
pub(crate) fn lost_head(connection: &Connection) -> SqlResult<Option<VersionId>> {
    parsed_state::<MokuTables, _>(connection, LOST_HEAD_KEY)
}

/// Stores a version that HEAD named and that has no rows, or removes it.
pub(crate) fn set_lost_head(connection: &Connection, version: Option<VersionId>) -> SqlResult<()> {
    if let Some(version) = version {
        return set_setting(connection, LOST_HEAD_KEY, &version.to_string());
    }
    connection.execute("DELETE FROM varve_state WHERE key = ?1", [LOST_HEAD_KEY])?;
    Ok(())
}

/// Stores the time of a garbage collection.
pub(crate) fn set_last_gc(connection: &Connection, time: Moment) -> SqlResult<()> {
    set_setting(connection, LAST_GC_KEY, &time.to_string())
}

/// Whether sensitive headers of new captures are redacted. The default is yes.
pub(crate) fn redaction(connection: &Connection) -> SqlResult<Redaction> {
    let value: Option<String> = parsed_state::<MokuTables, _>(connection, REDACTION_KEY)?;
    Ok(if value.as_deref() == Some("off") { Redaction::Off } else { Redaction::On })
}

/// Stores whether sensitive headers of new captures are redacted.
pub(crate) fn set_redaction(connection: &Connection, redaction: Redaction) -> SqlResult<()> {
    set_setting(connection, REDACTION_KEY, if redaction == Redaction::Off { "off" } else { "on" })
}

/// The parent that a version was committed with, if retention has given it another.
pub(crate) fn first_parent(connection: &Connection, id: &VersionId) -> SqlResult<Option<VersionId>> {
    let sql = "SELECT parent_id FROM varve_parents WHERE version_id = ?1";
    let read = |row: &Row<'_>| text_id(row, 0, "varve_parents");
    Ok(collect_rows(connection, sql, [id.to_string()], read)?.pop().flatten())
}

fn set_project(connection: &Connection, options: &MokuOptions) -> SqlResult<()> {
    if let Some(project) = &options.project_id {
        let sql = "INSERT INTO meta (key, value) VALUES ('project_id', ?1)
            ON CONFLICT (key) DO UPDATE SET value = excluded.value";
        connection.execute(sql, [project])?;
    }
    Ok(())
}
