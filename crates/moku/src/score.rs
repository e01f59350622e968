//! Writes scores to the three tables that Moku's design describes, and those of single pages to
//! `score_results`, which Moku itself reads.

use rusqlite::{Connection, OptionalExtension, params};

use crate::write::{derived_id, require_version};
use varve_core::history::{Attribution, StoredEvidenceLocation, StoredScore};
use varve_sqlite::{SqlResult, execute};

/// Stores a score. It replaces the one by the same rules.
pub(crate) fn store_score(connection: &Connection, score: &StoredScore) -> SqlResult<()> {
    require_version(connection, &score.version)?;
    let version = score.version.to_string();
    let rules = &score.scoring_version;
    for sql in [
        "DELETE FROM version_scores WHERE version_id = ?1 AND scoring_version = ?2",
        "DELETE FROM diff_attributions WHERE head_version_id = ?1 AND scoring_version = ?2",
        "DELETE FROM varve_diff_attributions WHERE head_version_id = ?1 AND scoring_version = ?2",
        "DELETE FROM version_evidence_locations WHERE version_id = ?1 AND scoring_version = ?2",
    ] {
        execute(connection, sql, params![version, rules])?;
    }
    execute(
        connection,
        "INSERT INTO version_scores
             (id, version_id, scoring_version, score, normalized, confidence, score_json, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            derived_id(&["score", &version, rules]),
            version,
            rules,
            score.score,
            score.normalized,
            score.confidence,
            score.json,
            score.time.seconds()
        ],
    )?;
    score.evidence.iter().try_for_each(|evidence| store_evidence(connection, score, evidence))?;
    let mut attributions = score.attributions.iter().enumerate();
    attributions.try_for_each(|(place, attribution)| store_attribution(connection, score, place, attribution))
}

/// The score of one snapshot, as a row of `score_results`.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotScore {
    /// The snapshot.
    pub snapshot_id: String,
    /// Its URL.
    pub url: String,
    /// The score; 1 is the upper end of the normalised scale.
    pub score: f64,
    /// The score from 0 to 100.
    pub normalized: u8,
    /// The confidence, 0 to 1.
    pub confidence: f64,
    /// All of it, with evidence and attack surface. Moku reads only this.
    pub json: String,
}

/// Whether a version has a row of `score_results` for each of `count` snapshots.
pub(crate) fn has_snapshot_scores(connection: &Connection, version: &str, count: usize) -> SqlResult<bool> {
    let sql = "SELECT count(*) FROM score_results WHERE version_id = ?1";
    let found: i64 = connection.prepare_cached(sql)?.query_row([version], |row| row.get(0))?;
    Ok(usize::try_from(found).is_ok_and(|found| found >= count))
}

/// Stores the scores of the snapshots of a version. They replace those by the same rules. The table
/// has one row for each snapshot: a row by other rules, which Moku may have made, stays.
pub(crate) fn store_snapshot_scores(
    connection: &Connection,
    (version, rules, time): (&str, &str, i64),
    scores: &[SnapshotScore],
) -> SqlResult<()> {
    let delete = "DELETE FROM score_results WHERE version_id = ?1 AND scoring_version = ?2";
    execute(connection, delete, params![version, rules])?;
    for score in scores {
        let meta = serde_json::json!({ "snapshot_id": score.snapshot_id, "url": score.url }).to_string();
        execute(
            connection,
            "INSERT OR IGNORE INTO score_results (id, snapshot_id, version_id, url, score, normalized,
                 confidence, scoring_version, created_at, score_json, matched_rules, meta, raw_features)
             SELECT ?1, id, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, '[]', ?11, '{}' FROM snapshots WHERE id = ?2",
            params![
                derived_id(&["snapshot score", &score.snapshot_id, rules]),
                score.snapshot_id,
                version,
                score.url,
                score.score,
                score.normalized,
                score.confidence,
                rules,
                time,
                score.json,
                meta,
            ],
        )?;
    }
    Ok(())
}

/// Stores a place of evidence. It replaces one of other rules at the same place: the table holds
/// one.
fn store_evidence(
    connection: &Connection,
    score: &StoredScore,
    evidence: &StoredEvidenceLocation,
) -> SqlResult<()> {
    let version = score.version.to_string();
    let place = evidence.location_index.to_string();
    execute(
        connection,
        "INSERT OR REPLACE INTO version_evidence_locations (id, version_id, evidence_id, evidence_index,
             location_index, evidence_key, selector, file_path, byte_start, byte_end, line_start, line_end,
             loc_confidence, evidence_json, location_json, scoring_version, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        params![
            derived_id(&["evidence", &version, &evidence.evidence_id, &place]),
            version,
            evidence.evidence_id,
            evidence.evidence_index,
            evidence.location_index,
            evidence.key,
            evidence.selector,
            evidence.file_path,
            evidence.bytes.map(|bytes| bytes.0),
            evidence.bytes.map(|bytes| bytes.1),
            evidence.lines.map(|lines| lines.0),
            evidence.lines.map(|lines| lines.1),
            evidence.confidence,
            evidence.evidence_json,
            evidence.location_json,
            score.scoring_version,
            score.time.seconds(),
        ],
    )
}

/// The columns and values that both tables of attributions have.
macro_rules! insert_attribution {
    ($table:literal, $columns:literal, $values:literal) => {
        concat!(
            "INSERT INTO ",
            $table,
            " (evidence_id, evidence_location_index, chunk_index, evidence_key, evidence_json, location_json,
                 scoring_version, contribution, contribution_pct, note, created_at, head_version_id, ",
            $columns,
            ") SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ",
            $values
        )
    };
}

/// Stores an attribution with the diff `?13`.
const INSERT_ATTRIBUTION: &str = insert_attribution!(
    "diff_attributions",
    "diff_id, id, version_evidence_location_id",
    "?13, ?14, (SELECT id FROM version_evidence_locations
                WHERE version_id = ?12 AND evidence_id = ?1 AND location_index = ?2)"
);

/// Stores an attribution against the version `?13`, for a diff that is not stored. The row needs no
/// id of Moku.
const INSERT_ATTRIBUTION_ALONE: &str =
    insert_attribution!("varve_diff_attributions", "base_version_id", "?13 WHERE ?14 IS ?14");

/// Stores an attribution with its diff, or alone if the diff is not stored.
fn store_attribution(
    connection: &Connection,
    score: &StoredScore,
    place: usize,
    attribution: &Attribution,
) -> SqlResult<()> {
    let version = score.version.to_string();
    let base = attribution.base.map(|base| base.to_string());
    let sql = "SELECT id FROM diffs WHERE head_version_id = ?1 AND base_version_id IS ?2
        ORDER BY rowid DESC LIMIT 1";
    let diff: Option<String> =
        connection.prepare_cached(sql)?.query_row(params![version, base], |row| row.get(0)).optional()?;
    let sql = if diff.is_some() { INSERT_ATTRIBUTION } else { INSERT_ATTRIBUTION_ALONE };
    execute(
        connection,
        sql,
        params![
            attribution.evidence_id,
            attribution.location_index,
            attribution.chunk_index,
            attribution.key,
            attribution.evidence_json,
            attribution.location_json,
            score.scoring_version,
            attribution.contribution,
            attribution.percent,
            attribution.note,
            score.time.seconds(),
            version,
            diff.or(base),
            derived_id(&["attribution", &version, &score.scoring_version, &place.to_string()]),
        ],
    )
}
