//! The tables of `moku.db`, as [`varve_sqlite`] reads and writes them.

use rusqlite::{Connection, Row};
use varve_core::catalog::CatalogRow;
use varve_core::history::StoredScore;
use varve_sqlite::column::{ColumnIdForm, TimeUnit};
use varve_sqlite::{
    BatchEffect, DatabasePath, DiffTable, ExtractionTables, RemovalTables, SealedLogTables, SqlResult,
    TableLayout, TagTable, UnlocatedError, VersionTable,
};

use crate::create_tables::MokuTables;
use crate::era::Era;
use crate::{MokuOptions, read_scores, schema, write};

impl TableLayout for MokuTables {
    type WriteOptions = MokuOptions;
    type Cache = ();

    const ID_FORM: ColumnIdForm = ColumnIdForm::Text;
    const TIME_UNIT: TimeUnit = TimeUnit::Seconds;
    const VERSIONS: VersionTable = VersionTable {
        table: "commits",
        columns: "v.id, v.parent_id, v.message, nullif(v.author, ''), v.timestamp, v.run, v.record, NULL",
        parent: "parent_id",
        time: "timestamp",
        order: "place",
        capture_count: "SELECT count(*) FROM pages WHERE version_id = ?1",
    };
    const DIFFS: DiffTable = DiffTable {
        table: "diffs",
        base: "base_version_id",
        no_base: "NULL",
        head: "head_version_id",
        json: "diff_json",
        time: "created_at",
    };
    const TAGS: TagTable = TagTable { table: "varve_tags", version: "version_id" };
    const CHECKS: &'static str = "varve_checks";
    const VERDICTS: &'static str = "varve_verdicts";
    const STATE: &'static str = "varve_state";
    const SELECT_SCORES: &'static str =
        "SELECT scoring_version, score, normalized, confidence, score_json, created_at
        FROM version_scores WHERE version_id = ?1 ORDER BY created_at DESC, rowid DESC";
    const OPEN_RUNS: &'static str = "SELECT run FROM varve_run_snapshots GROUP BY run ORDER BY min(place)";
    const CAPTURES_OF_RUN: &'static str =
        "SELECT (SELECT count(*) FROM varve_run_snapshots WHERE run = ?1) + (SELECT count(*) FROM pages
        WHERE version_id = (SELECT version_id FROM varve_versions WHERE run = ?1 AND holds_run))";
    const VERSION_OF_RUN: &'static str = "SELECT version_id FROM varve_versions WHERE run = ?1 AND holds_run";
    const RECORDS_OF_RUN: &'static str =
        "SELECT record FROM varve_run_snapshots WHERE run = ?1 AND record IS NOT NULL
        UNION ALL SELECT record FROM pages WHERE record IS NOT NULL
            AND version_id = (SELECT version_id FROM varve_versions WHERE run = ?1 AND holds_run)";

    fn open_writer(path: &DatabasePath, options: &MokuOptions) -> SqlResult<Connection> {
        let mut connection = varve_sqlite::open_to_write(path)?;
        schema::prepare_to_write(&mut connection, options)?;
        varve_sqlite::configure_writer(&connection)?;
        Era::Current.create_views(&connection)?;
        Ok(connection)
    }

    fn prepare_reader(connection: &Connection) -> SqlResult<()> {
        match Era::of(connection)? {
            Era::Empty => Err(UnlocatedError::Foreign("this database is empty".to_owned())),
            era => era.create_views(connection),
        }
    }

    fn apply(
        connection: &Connection,
        (): &mut (),
        rows: &mut dyn Iterator<Item = CatalogRow>,
    ) -> SqlResult<BatchEffect> {
        write::apply(connection, rows).map(|()| BatchEffect::Added)
    }

    fn add_evidence(connection: &Connection, _: &Row<'_>, score: &mut StoredScore) -> SqlResult<()> {
        score.evidence = read_scores::evidence(connection, &score.version, &score.scoring_version)?;
        score.attributions = read_scores::attributions(connection, &score.version, &score.scoring_version)?;
        Ok(())
    }
}

/// A site has no silos, and so no removals.
impl RemovalTables for MokuTables {}

impl ExtractionTables for MokuTables {}

impl SealedLogTables for MokuTables {}
