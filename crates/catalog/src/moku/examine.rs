//! Are the rows of a site what rows must be? For audits: nothing is changed, and whatever is wrong is told, not refused.

use rusqlite::{Connection, Row};

use crate::problem::Problem;

/// So many troubles of one kind are told by SQLite itself.
const MOST: u32 = 100;

/// Something about the rows of a site that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowTrouble {
    /// The database itself is damaged.
    Damaged {
        /// What SQLite says.
        what: String,
    },
    /// A row refers to one that is not there.
    Dangling {
        /// The table that it is in.
        table: String,
        /// Its number there, where it has one.
        row: Option<i64>,
        /// The table in which nothing answers.
        refers_to: String,
    },
    /// A version descends from one that is not there.
    NoParent {
        /// The version.
        version: String,
        /// What it descends from.
        parent: String,
    },
    /// A version was committed here by varve, and its row is gone.
    LostVersion {
        /// The version.
        version: String,
    },
    /// A row of a score contradicts what it is about, or holds what such a row may not hold.
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
    /// Following the parents of a version never ends.
    Circle {
        /// The version.
        version: String,
    },
    /// The site belongs to a project without a name.
    EmptyProject,
}

/// A capture as its row has it, however odd that may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotRow {
    /// Its id.
    pub id: String,
    /// Its version; none for captures of a run that is not finished.
    pub version: Option<String>,
    /// Its URL.
    pub url: String,
    /// The body that it names.
    pub body: String,
}

/// Tells all that is wrong with the rows. `quick` leaves out what takes reading everything.
pub(super) fn examine(
    connection: &Connection,
    quick: bool,
    found: &mut dyn FnMut(RowTrouble),
) -> Result<(), Problem> {
    let check = if quick { "quick_check" } else { "integrity_check" };
    each(connection, &format!("PRAGMA main.{check}({MOST})"), &mut |row| {
        let what: String = row.get(0)?;
        if what != "ok" {
            found(RowTrouble::Damaged { what });
        }
        Ok(())
    })?;
    each(connection, "PRAGMA main.foreign_key_check", &mut |row| {
        let table: String = row.get(0)?;
        let refers_to: String = row.get(2)?;
        // Which version, and which parent, says more than a number.
        if table != "versions" || refers_to != "versions" {
            found(RowTrouble::Dangling { table, row: row.get(1)?, refers_to });
        }
        Ok(())
    })?;
    parents(connection, found)?;
    for version in lost_versions(connection)? {
        found(RowTrouble::LostVersion { version });
    }
    if super::schema::project(connection)?.is_some_and(|project| project.trim().is_empty()) {
        found(RowTrouble::EmptyProject);
    }
    Ok(())
}

/// The versions that varve committed and that have no rows; those from which others descend are told of there.
pub(super) fn lost_versions(connection: &Connection) -> Result<Vec<String>, Problem> {
    let mut lost = Vec::new();
    let sql = "SELECT version_id FROM varve_versions AS x
        WHERE NOT EXISTS (SELECT 1 FROM versions AS v WHERE v.id = x.version_id)
          AND NOT EXISTS (SELECT 1 FROM versions AS c WHERE c.parent_id = x.version_id) ORDER BY version_id";
    each(connection, sql, &mut |row| {
        lost.push(row.get(0)?);
        Ok(())
    })?;
    Ok(lost)
}

fn parents(connection: &Connection, found: &mut dyn FnMut(RowTrouble)) -> Result<(), Problem> {
    let sql = "SELECT id, parent_id FROM commits AS c WHERE parent_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM versions WHERE id = c.parent_id) ORDER BY place";
    each(connection, sql, &mut |row| {
        found(RowTrouble::NoParent { version: row.get(0)?, parent: row.get(1)? });
        Ok(())
    })?;
    // Whatever can be reached from a root is in no circle.
    let sql = "WITH RECURSIVE reached (id) AS (
            SELECT id FROM commits WHERE parent_id IS NULL
                OR NOT EXISTS (SELECT 1 FROM versions AS p WHERE p.id = commits.parent_id)
            UNION SELECT v.id FROM versions AS v JOIN reached ON v.parent_id = reached.id)
        SELECT id FROM commits WHERE id NOT IN (SELECT id FROM reached) ORDER BY place";
    each(connection, sql, &mut |row| {
        found(RowTrouble::Circle { version: row.get(0)? });
        Ok(())
    })
}

/// Gives every capture, in the order in which they were written.
pub(super) fn snapshots(connection: &Connection, tell: &mut dyn FnMut(SnapshotRow)) -> Result<(), Problem> {
    let sql = "SELECT id, version_id, url, CAST(blob_id AS TEXT) FROM pages ORDER BY place";
    each(connection, sql, &mut |row| {
        tell(SnapshotRow {
            id: row.get(0)?,
            version: row.get(1)?,
            url: row.get(2)?,
            body: row.get::<_, Option<_>>(3)?.unwrap_or_default(),
        });
        Ok(())
    })
}

fn each(
    connection: &Connection,
    sql: &str,
    tell: &mut dyn FnMut(&Row<'_>) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        tell(row)?;
    }
    Ok(())
}
