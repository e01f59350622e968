//! Audits the rows of a site. Changes nothing; reports findings and does not fail because of them.

use rusqlite::{Connection, Row};
use varve_sqlite::SqlResult;

/// The maximum number of findings that SQLite's own check reports.
const MAX_INTEGRITY_FINDINGS: u32 = 100;

/// Something that is wrong with the rows of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MokuFinding {
    /// The database itself is damaged.
    Damaged {
        /// The report of SQLite.
        what: String,
    },
    /// A row refers to one that does not exist.
    Dangling {
        /// The table that it is in.
        table: String,
        /// Its number there, if the table has row numbers.
        row: Option<i64>,
        /// The table that it refers to.
        refers_to: String,
    },
    /// The parent of a version does not exist.
    NoParent {
        /// The version.
        version: String,
        /// Its parent.
        parent: String,
    },
    /// Varve committed a version here whose row is gone.
    LostVersion {
        /// The version.
        version: String,
    },
    /// A row of a score contradicts the row it refers to, or holds an invalid value.
    Score {
        /// The table that it is in.
        table: &'static str,
        /// Its number there.
        row: i64,
        /// The version that was scored.
        version: String,
        /// The rules of the score.
        rules: String,
        /// What is wrong, as a sentence.
        what: &'static str,
    },
    /// A version is its own ancestor.
    ParentCycle {
        /// The version.
        version: String,
    },
    /// The site belongs to a project without a name.
    EmptyProject,
}

/// The raw row of a capture, which may be invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotRow {
    /// Its id.
    pub id: String,
    /// Its version; `None` for a capture of an unfinished run.
    pub version: Option<String>,
    /// Its URL.
    pub url: String,
    /// The id of its body.
    pub body: String,
    /// The length of its body, if varve recorded it.
    pub length: Option<u64>,
}

/// Reports what is wrong with the rows. `quick` leaves out checks that read all of them.
pub(crate) fn audit_rows(
    connection: &Connection,
    quick: bool,
    report: &mut dyn FnMut(MokuFinding),
) -> SqlResult<()> {
    let check = if quick { "quick_check" } else { "integrity_check" };
    each_result(connection, &format!("PRAGMA main.{check}({MAX_INTEGRITY_FINDINGS})"), &mut |row| {
        let what: String = row.get(0)?;
        if what != "ok" {
            report(MokuFinding::Damaged { what });
        }
        Ok(())
    })?;
    each_result(connection, "PRAGMA main.foreign_key_check", &mut |row| {
        let table: String = row.get(0)?;
        let refers_to: String = row.get(2)?;
        // `audit_parents` reports these with the ids of version and parent.
        if table != "versions" || refers_to != "versions" {
            report(MokuFinding::Dangling { table, row: row.get(1)?, refers_to });
        }
        Ok(())
    })?;
    audit_parents(connection, report)?;
    for version in lost_versions(connection)? {
        report(MokuFinding::LostVersion { version });
    }
    if crate::schema::project(connection)?.is_some_and(|project| project.trim().is_empty()) {
        report(MokuFinding::EmptyProject);
    }
    Ok(())
}

/// The versions that varve committed and that have no rows, except parents of other versions, which
/// [`audit_parents`] reports.
pub(crate) fn lost_versions(connection: &Connection) -> SqlResult<Vec<String>> {
    let mut lost = Vec::new();
    let sql = "SELECT version_id FROM varve_versions AS x
        WHERE NOT EXISTS (SELECT 1 FROM versions AS v WHERE v.id = x.version_id)
          AND NOT EXISTS (SELECT 1 FROM versions AS c WHERE c.parent_id = x.version_id) ORDER BY version_id";
    each_result(connection, sql, &mut |row| {
        lost.push(row.get(0)?);
        Ok(())
    })?;
    Ok(lost)
}

/// Reports versions without their parent, and cycles of parents.
fn audit_parents(connection: &Connection, report: &mut dyn FnMut(MokuFinding)) -> SqlResult<()> {
    let sql = "SELECT id, parent_id FROM commits AS c WHERE parent_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM versions WHERE id = c.parent_id) ORDER BY place";
    each_result(connection, sql, &mut |row| {
        report(MokuFinding::NoParent { version: row.get(0)?, parent: row.get(1)? });
        Ok(())
    })?;
    // A version that can be reached from a root is in no cycle.
    let sql = "WITH RECURSIVE reached (id) AS (
            SELECT id FROM commits WHERE parent_id IS NULL
                OR NOT EXISTS (SELECT 1 FROM versions AS p WHERE p.id = commits.parent_id)
            UNION SELECT v.id FROM versions AS v JOIN reached ON v.parent_id = reached.id)
        SELECT id FROM commits WHERE id NOT IN (SELECT id FROM reached) ORDER BY place";
    each_result(connection, sql, &mut |row| {
        report(MokuFinding::ParentCycle { version: row.get(0)? });
        Ok(())
    })
}

/// Calls `each` with the raw row of every capture, in the order in which they were written.
pub(crate) fn each_snapshot(connection: &Connection, each: &mut dyn FnMut(SnapshotRow)) -> SqlResult<()> {
    let sql = "SELECT id, version_id, url, CAST(blob_id AS TEXT),
                   CASE WHEN typeof(length) = 'integer' AND length >= 0 THEN length END
               FROM pages ORDER BY place";
    each_result(connection, sql, &mut |row| {
        each(SnapshotRow {
            id: row.get(0)?,
            version: row.get(1)?,
            url: row.get(2)?,
            body: row.get::<_, Option<_>>(3)?.unwrap_or_default(),
            length: row.get(4)?,
        });
        Ok(())
    })
}

fn each_result(
    connection: &Connection,
    sql: &str,
    each: &mut dyn FnMut(&Row<'_>) -> SqlResult<()>,
) -> SqlResult<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        each(row)?;
    }
    Ok(())
}
