//! Which version HEAD of a Moku site should name.
//!
//! Moku commits its rows first and moves HEAD last, and ignores a failure of the latter. HEAD then
//! names the previous version, and Moku's next commit forks. Rows of Moku do not show whether a
//! user checked out that version or Moku was stopped. So every writer of varve records the versions
//! that it found (`varve_seen_versions`; those that varve committed are in `varve_versions`). If
//! HEAD has exactly one line of descendants that no writer has seen, HEAD was left behind. Children
//! that a writer has seen are no evidence: HEAD was moved back to their parent on purpose.
//!
//! Times are no evidence either: those of rows are whole seconds, and those of files change with
//! every copy. Versions from before varve first wrote to a site count as seen.

use std::collections::HashSet;

use rusqlite::{Connection, Row};
use varve_core::VersionId;
use varve_core::catalog::CatalogResult;
use varve_sqlite::column::text_id;
use varve_sqlite::{SqlResult, UnlocatedError, collect_rows};

use crate::MokuCatalog;

/// The condition for a row of `versions AS v` that no writer has seen.
const IS_UNSEEN: &str = "NOT EXISTS (SELECT 1 FROM varve_versions AS w WHERE w.version_id = v.id)
    AND NOT EXISTS (SELECT 1 FROM varve_seen_versions AS s WHERE s.version_id = v.id)";

/// Whether a writer of varve has ever recorded the versions that it found.
pub(crate) fn has_seen_versions(connection: &Connection) -> SqlResult<bool> {
    Ok(connection.table_exists(Some("main"), "varve_seen_versions")?)
}

/// Whether there is a version that no writer has seen.
fn has_unseen(connection: &Connection) -> SqlResult<bool> {
    let sql = format!("SELECT EXISTS (SELECT 1 FROM versions AS v WHERE {IS_UNSEEN})");
    Ok(connection.prepare_cached(&sql)?.query_row([], |row| row.get(0))?)
}

/// Records that a writer has seen all present versions.
pub(crate) fn record_seen_versions(connection: &Connection) -> SqlResult<()> {
    let sql = format!(
        "INSERT INTO varve_seen_versions (version_id) SELECT v.id FROM versions AS v WHERE {IS_UNSEEN}"
    );
    connection.prepare_cached(&sql)?.execute([])?;
    Ok(())
}

fn unseen_children(connection: &Connection, version: VersionId) -> SqlResult<Vec<VersionId>> {
    if !has_seen_versions(connection)? {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT v.id FROM versions AS v WHERE v.parent_id = ?1 AND {IS_UNSEEN}");
    let missing = || UnlocatedError::Damaged("versions", "a version has no id".to_owned());
    let read = |row: &Row<'_>| text_id(row, 0, "versions")?.ok_or_else(missing);
    collect_rows(connection, &sql, [version.to_string()], read)
}

impl MokuCatalog {
    /// The last of the single line of descendants of `from` that no writer has seen. Returns `from`
    /// if there is none, or if the line forks, because the correct version is then unknown.
    pub fn last_unseen_descendant(&self, from: VersionId) -> CatalogResult<VersionId> {
        let (mut at, mut passed) = (from, HashSet::new());
        while passed.insert(at) {
            match self.query(|connection| unseen_children(connection, at))?.as_slice() {
                [child] => at = *child,
                [] => return Ok(at),
                _ => return Ok(from),
            }
        }
        // The parents form a cycle, which an audit reports.
        Ok(from)
    }

    /// Records that a writer has seen all present versions, and HEAD beside them.
    pub fn record_seen_versions(&self) -> CatalogResult<()> {
        match self.query(has_unseen)? {
            true => self.write(record_seen_versions),
            false => Ok(()),
        }
    }
}
