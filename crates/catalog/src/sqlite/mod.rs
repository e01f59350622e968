//! The catalog of an archive in SQLite.
//!
//! Owns the tables of `sql/tables.sql`. Rows refer to each other by number, and the interface uses
//! ids. A capture of a run belongs to a row of `owners` without a version id; finishing the run
//! sets the id. Many readers may read beside one writer.

mod ancestry;
mod extractions;
mod hidden_pages;
mod newest_captures;
mod read_captures;
mod read_removals;
mod read_states;
mod remove_version;
mod schema;
mod sealed_log;
mod shared_headers;
mod write_batch;
mod write_cache;
mod write_captures;
mod write_states;

use rusqlite::{Connection, Row};
use serde::de::DeserializeOwned;
use varve_core::catalog::CatalogRow;
use varve_core::history::StoredScore;
use varve_sqlite::column::{ColumnIdForm, TimeUnit};
use varve_sqlite::{
    BatchEffect, DatabasePath, DiffTable, SqlResult, TableCatalog, TableLayout, TagTable, UnlocatedError,
    VersionTable,
};

use write_cache::UrlCache;

/// The catalog of an archive.
pub type SqliteCatalog = TableCatalog<ArchiveTables>;

/// The tables of `catalog.db`.
pub enum ArchiveTables {}

impl TableLayout for ArchiveTables {
    type WriteOptions = ();
    type Cache = UrlCache;

    const ID_FORM: ColumnIdForm = ColumnIdForm::Bytes;
    const TIME_UNIT: TimeUnit = TimeUnit::Microseconds;
    const VERSIONS: VersionTable = VersionTable {
        table: "owners",
        columns: "v.id, v.parent, v.message, v.author, v.time, coalesce(v.run, v.named), v.record, v.coverage",
        parent: "parent",
        time: "time",
        order: "no",
        capture_count: "SELECT captures + unchanged FROM owners WHERE id = ?1",
    };
    const DIFFS: DiffTable = DiffTable {
        table: "kept_diffs",
        base: "base",
        no_base: "x''",
        head: "head",
        json: "json",
        time: "time",
    };
    const TAGS: TagTable = TagTable { table: "tags", version: "version" };
    const CHECKS: &'static str = "checks";
    const VERDICTS: &'static str = "verdicts";
    const STATE: &'static str = "meta";
    const SELECT_SCORES: &'static str =
        "SELECT scoring_version, score, normalized, confidence, json, time, evidence, attributions
        FROM scores WHERE version = ?1 ORDER BY time DESC, no DESC";
    const OPEN_RUNS: &'static str = "SELECT run FROM owners WHERE id IS NULL AND captures > 0 ORDER BY no";
    const CAPTURES_OF_RUN: &'static str = "SELECT coalesce((SELECT captures FROM owners WHERE run = ?1), 0)";
    const VERSION_OF_RUN: &'static str = "SELECT id FROM owners WHERE run = ?1 AND id IS NOT NULL";
    const RECORDS_OF_RUN: &'static str =
        "SELECT iif(typeof(c.record) = 'integer', (SELECT b.body FROM captures AS b
             WHERE b.no = iif(typeof(c.body) = 'integer', c.body, c.no)), c.record)
        FROM captures AS c JOIN owners AS o ON o.no = c.owner_no
        WHERE o.run = ?1 AND c.record IS NOT NULL";

    fn open_writer(path: &DatabasePath, (): &()) -> SqlResult<Connection> {
        let mut connection = varve_sqlite::open_to_write(path)?;
        // Refuses a foreign database before anything in it is changed.
        schema::create_if_empty(&mut connection)?;
        schema::check(&connection)?;
        schema::renew_views(&mut connection)?;
        varve_sqlite::configure_writer(&connection)?;
        Ok(connection)
    }

    fn prepare_reader(connection: &Connection) -> SqlResult<()> {
        schema::check(connection)
    }

    fn apply(
        connection: &Connection,
        cache: &mut UrlCache,
        rows: &mut dyn Iterator<Item = CatalogRow>,
    ) -> SqlResult<BatchEffect> {
        write_batch::apply(connection, cache, rows)
    }

    fn add_evidence(_: &Connection, row: &Row<'_>, score: &mut StoredScore) -> SqlResult<()> {
        score.evidence = read_json_list(row, 6)?;
        score.attributions = read_json_list(row, 7)?;
        Ok(())
    }
}

fn read_json_list<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> SqlResult<Vec<T>> {
    let json: String = row.get(column)?;
    serde_json::from_str(&json).map_err(|error| UnlocatedError::Damaged("scores", error.to_string()))
}
