//! Audits computed rows: scores and diffs. Changes nothing.
//!
//! Owns the checks that SQL can make: values out of range, text that is no JSON, rows that
//! contradict the rows they refer to. Whether a diff is right depends on bodies, which this crate
//! does not read.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

use crate::audit_rows::MokuFinding;
use crate::write::derived_id;
use varve_sqlite::{SqlResult, UnlocatedError};

/// A table, a condition that is true for invalid rows `t`, and the message.
type ScoreCheck = (&'static str, &'static str, &'static str);

const SCORE_CHECKS: [ScoreCheck; 14] = [
    ("version_scores", "typeof(t.score) NOT IN ('real', 'integer')", "its score is no number"),
    ("version_scores", "t.confidence NOT BETWEEN 0 AND 1", "its confidence is not between 0 and 1"),
    ("version_scores", "NOT json_valid(t.score_json)", "what it says is no JSON"),
    (
        "version_scores",
        // A value that one of the two does not have is no contradiction.
        "CASE WHEN json_valid(t.score_json) THEN
             abs(t.score - json_extract(t.score_json, '$.score')) > 0.000001
             OR t.normalized <> json_extract(t.score_json, '$.normalized')
             OR abs(t.confidence - json_extract(t.score_json, '$.confidence')) > 0.000001 END",
        "its numbers are not those of what it says",
    ),
    (
        "version_evidence_locations",
        "t.evidence_index < 0 OR t.location_index < -1",
        "the number of its evidence or place is negative",
    ),
    (
        "version_evidence_locations",
        "t.byte_start < 0 OR t.byte_end < t.byte_start OR t.line_start < 0 OR t.line_end < t.line_start",
        "its place ends before it begins",
    ),
    (
        "version_evidence_locations",
        "t.loc_confidence NOT BETWEEN 0 AND 1",
        "its confidence is not between 0 and 1",
    ),
    (
        "version_evidence_locations",
        "NOT json_valid(t.evidence_json) OR (t.location_json <> '' AND NOT json_valid(t.location_json))",
        "what it says is no JSON",
    ),
    (
        "version_evidence_locations",
        "t.scoring_version <> '' AND NOT EXISTS (SELECT 1 FROM version_scores AS s
             WHERE s.version_id = t.version_id AND s.scoring_version = t.scoring_version)",
        "its version has no score by these rules",
    ),
    (
        "diff_attributions",
        "typeof(t.contribution) NOT IN ('real', 'integer')
             OR NOT coalesce(t.contribution_pct BETWEEN -0.001 AND 100.001, 0)",
        "its share is not between 0 and 100 percent",
    ),
    (
        "diff_attributions",
        "EXISTS (SELECT 1 FROM diffs AS d WHERE d.id = t.diff_id AND d.head_version_id <> t.head_version_id)",
        "it names a diff of another version",
    ),
    (
        "diff_attributions",
        "EXISTS (SELECT 1 FROM version_evidence_locations AS l
             WHERE l.id = t.version_evidence_location_id AND l.evidence_id <> t.evidence_id)",
        "it names the place of other evidence",
    ),
    (
        "diff_attributions",
        "t.chunk_index < -1 OR t.chunk_index >= (SELECT max(
                 coalesce(json_array_length(d.diff_json, '$.body_diff.chunks'), 0),
                 coalesce((SELECT max(json_array_length(f.value, '$.body_diff.chunks'))
                           FROM json_each(d.diff_json, '$.files') AS f), 0))
             FROM diffs AS d WHERE d.id = t.diff_id AND json_valid(d.diff_json))",
        "its diff has no chunk of that number",
    ),
    (
        "diff_attributions",
        "NOT EXISTS (SELECT 1 FROM version_scores AS s
             WHERE s.version_id = t.head_version_id AND s.scoring_version = t.scoring_version)",
        "its version has no score by these rules",
    ),
];

/// A check for scores by rules with a known scale.
const SCALE_CHECK: ScoreCheck = (
    "version_scores",
    "t.scoring_version = ?1 AND NOT (coalesce(t.normalized BETWEEN 0 AND 100, 0) AND t.score >= 0)",
    "its score is not between 0 and 100",
);

/// Reports invalid scores. Scores by `rules` must be between 0 and 100; the scale of other rules is
/// unknown.
pub(crate) fn audit_scores(
    connection: &Connection,
    rules: &str,
    report: &mut dyn FnMut(MokuFinding),
) -> SqlResult<()> {
    for (table, condition, what) in SCORE_CHECKS {
        run_check(connection, (table, condition, what), &[], report)?;
    }
    run_check(connection, SCALE_CHECK, &[rules], report)
}

fn run_check(
    connection: &Connection,
    (table, condition, what): ScoreCheck,
    values: &[&str],
    report: &mut dyn FnMut(MokuFinding),
) -> SqlResult<()> {
    let version = if table == "diff_attributions" { "head_version_id" } else { "version_id" };
    let sql = format!(
        "SELECT t.rowid, CAST(t.{version} AS TEXT), CAST(t.scoring_version AS TEXT) FROM {table} AS t
         WHERE {condition} ORDER BY t.rowid"
    );
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(rusqlite::params_from_iter(values))?;
    while let Some(row) = rows.next()? {
        let text = |column| Ok::<_, UnlocatedError>(lossy(row.get_ref(column)?));
        report(MokuFinding::Score { table, row: row.get(0)?, version: text(1)?, rules: text(2)?, what });
    }
    Ok(())
}

/// The raw row of a diff, which may be invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MokuDiffRow {
    /// The version that it starts from; empty for none.
    pub base: String,
    /// The version that it leads to.
    pub head: String,
    /// The diff as JSON.
    pub json: String,
    /// Whether varve wrote it. Moku computes diffs in a slightly different way.
    pub is_ours: bool,
}

/// The row numbers of all diffs.
pub(crate) fn diff_numbers(connection: &Connection) -> SqlResult<Vec<i64>> {
    let mut statement = connection.prepare("SELECT rowid FROM diffs ORDER BY rowid")?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// The raw row of a diff.
pub(crate) fn diff(connection: &Connection, number: i64) -> SqlResult<Option<MokuDiffRow>> {
    let sql = "SELECT id, base_version_id, head_version_id, diff_json FROM diffs WHERE rowid = ?1";
    let read = |row: &rusqlite::Row<'_>| {
        let text = |column| row.get_ref(column).map(lossy);
        let (id, base, head, json) = (text(0)?, text(1)?, text(2)?, text(3)?);
        let is_ours = id == derived_id(&["diff", &base, &head]);
        Ok(MokuDiffRow { base, head, json, is_ours })
    };
    Ok(connection.prepare_cached(sql)?.query_row([number], read).optional()?)
}

/// A value of any type as text.
fn lossy(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    }
}
