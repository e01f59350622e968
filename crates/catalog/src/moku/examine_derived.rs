//! Are the rows that were computed, scores and diffs, what such rows must be? For audits: nothing is changed or refused.
//!
//! Owns what SQL can tell: values out of range, text that is no JSON, rows that contradict those that they name. Whether a
//! diff says what its versions say takes their bodies, which nobody here knows.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

use super::examine::RowTrouble;
use super::write::derived_id;
use crate::problem::Problem;

/// A table, what is wrong with its rows `t`, and the words for it.
type Check = (&'static str, &'static str, &'static str);

const CHECKS: [Check; 14] = [
    ("version_scores", "typeof(t.score) NOT IN ('real', 'integer')", "its score is no number"),
    ("version_scores", "t.confidence NOT BETWEEN 0 AND 1", "its confidence is not between 0 and 1"),
    ("version_scores", "NOT json_valid(t.score_json)", "what it says is no JSON"),
    (
        "version_scores",
        // What one of the two does not tell is no contradiction.
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

/// What only holds for scores by rules whose scale is known.
const ON_OUR_SCALE: Check = (
    "version_scores",
    "t.scoring_version = ?1 AND NOT (coalesce(t.normalized BETWEEN 0 AND 100, 0) AND t.score >= 0)",
    "its score is not between 0 and 100",
);

/// Tells what is wrong with scores. `rules` are those whose scale goes from 0 to 100; that of others nobody knows.
pub(super) fn scores(
    connection: &Connection,
    rules: &str,
    found: &mut dyn FnMut(RowTrouble),
) -> Result<(), Problem> {
    for (table, condition, what) in CHECKS {
        tell(connection, (table, condition, what), &[], found)?;
    }
    tell(connection, ON_OUR_SCALE, &[rules], found)
}

fn tell(
    connection: &Connection,
    (table, condition, what): Check,
    values: &[&str],
    found: &mut dyn FnMut(RowTrouble),
) -> Result<(), Problem> {
    let version = if table == "diff_attributions" { "head_version_id" } else { "version_id" };
    let sql = format!(
        "SELECT t.rowid, CAST(t.{version} AS TEXT), CAST(t.scoring_version AS TEXT) FROM {table} AS t
         WHERE {condition} ORDER BY t.rowid"
    );
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(rusqlite::params_from_iter(values))?;
    while let Some(row) = rows.next()? {
        let text = |column| Ok::<_, Problem>(lossy(row.get_ref(column)?));
        found(RowTrouble::Score { table, row: row.get(0)?, version: text(1)?, rules: text(2)?, what });
    }
    Ok(())
}

/// A diff as its row has it, however odd that may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffRow {
    /// The version it begins with; empty for none.
    pub base: String,
    /// The version it ends with.
    pub head: String,
    /// What it says.
    pub json: String,
    /// Whether varve wrote it, and not Moku, which compares a little otherwise.
    pub is_ours: bool,
}

/// The numbers of all rows of diffs.
pub(super) fn diff_numbers(connection: &Connection) -> Result<Vec<i64>, Problem> {
    let mut statement = connection.prepare("SELECT rowid FROM diffs ORDER BY rowid")?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// One of them.
pub(super) fn diff(connection: &Connection, number: i64) -> Result<Option<DiffRow>, Problem> {
    let sql = "SELECT id, base_version_id, head_version_id, diff_json FROM diffs WHERE rowid = ?1";
    let read = |row: &rusqlite::Row<'_>| {
        let text = |column| row.get_ref(column).map(lossy);
        let (id, base, head, json) = (text(0)?, text(1)?, text(2)?, text(3)?);
        let is_ours = id == derived_id(&["diff", &base, &head]);
        Ok(DiffRow { base, head, json, is_ours })
    };
    Ok(connection.prepare_cached(sql)?.query_row([number], read).optional()?)
}

/// A value as text, whatever it is.
fn lossy(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    }
}
