//! Queries on the tables of checks and verdicts, which have the same columns in every layout. Their
//! times are microseconds in all of them.

use rusqlite::types::Type;
use rusqlite::{Connection, Params, Row, ToSql, params};
use varve_core::history::{
    ListCursor, StoredCheck, StoredVerdict, UnknownVerdict, VerdictCounts, VerdictKind, uuid_range,
};
use varve_core::{CheckId, Moment};

use crate::column::required_blob_id;
use crate::table_layout::TableLayout;
use crate::{SqlResult, collect_rows, execute, sql_limit};

/// The columns that [`select_checks`] expects.
const CHECK_COLUMNS: &str =
    "id, run, time, message, author, record, ok, changed, broken, unreachable, skipped";
/// The columns that [`read_verdict`] expects.
const VERDICT_COLUMNS: &str = "url, time, verdict, status, json, check_id";

/// Stores a check.
pub fn store_check<L: TableLayout>(connection: &Connection, check: &StoredCheck) -> SqlResult<()> {
    let sql = format!(
        "INSERT OR REPLACE INTO {} ({CHECK_COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        L::CHECKS
    );
    let VerdictCounts { ok, changed, broken, unreachable, skipped } = check.counts;
    let counts = [ok, changed, broken, unreachable, skipped].map(sql_count);
    let (id, run) = (L::ID_FORM.value(&check.id), L::ID_FORM.value(&check.run));
    let (time, record) = (check.time.micros(), check.record.as_bytes());
    let mut values: Vec<&dyn ToSql> = vec![&id, &run, &time, &check.message, &check.author, record];
    values.extend(counts.iter().map(|count| count as &dyn ToSql));
    execute(connection, &sql, values.as_slice())
}

/// Stores a verdict.
pub fn store_verdict<L: TableLayout>(connection: &Connection, verdict: &StoredVerdict) -> SqlResult<()> {
    let sql =
        format!("INSERT OR REPLACE INTO {} ({VERDICT_COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6)", L::VERDICTS);
    let StoredVerdict { check, url, time, verdict, status, json } = verdict;
    let check = L::ID_FORM.value(check);
    execute(connection, &sql, params![url, time.micros(), verdict.name(), status, json, check])
}

fn sql_count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The checks after the cursor, newest first.
pub(crate) fn checks<L: TableLayout>(
    connection: &Connection,
    cursor: ListCursor<CheckId>,
) -> SqlResult<Vec<StoredCheck>> {
    let table = L::CHECKS;
    let Some(after) = cursor.after.map(|after| L::ID_FORM.value(&after)) else {
        let sql = format!("SELECT {CHECK_COLUMNS} FROM {table} ORDER BY time DESC, id DESC LIMIT ?1");
        return select_checks::<L>(connection, &sql, [sql_limit(cursor.limit)]);
    };
    let sql = format!(
        "SELECT {CHECK_COLUMNS} FROM {table} WHERE (time, id) < ((SELECT time FROM {table} WHERE id = ?1), ?1)
         ORDER BY time DESC, id DESC LIMIT ?2"
    );
    select_checks::<L>(connection, &sql, params![after, sql_limit(cursor.limit)])
}

/// A check.
pub(crate) fn check<L: TableLayout>(connection: &Connection, id: &CheckId) -> SqlResult<Option<StoredCheck>> {
    let sql = format!("SELECT {CHECK_COLUMNS} FROM {} WHERE id = ?1", L::CHECKS);
    Ok(select_checks::<L>(connection, &sql, [L::ID_FORM.value(id)])?.pop())
}

/// The checks whose ids begin with these hex digits.
pub(crate) fn checks_beginning<L: TableLayout>(
    connection: &Connection,
    prefix: &str,
    limit: usize,
) -> SqlResult<Vec<CheckId>> {
    let Some((first, last)) = uuid_range(prefix) else { return Ok(Vec::new()) };
    let (first, last) = (L::ID_FORM.value(&CheckId::new(first)), L::ID_FORM.value(&CheckId::new(last)));
    let sql = format!("SELECT id FROM {} WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3", L::CHECKS);
    collect_rows(connection, &sql, params![first, last, sql_limit(limit)], |row| {
        L::ID_FORM.read_required(row, 0, L::CHECKS)
    })
}

fn select_checks<L: TableLayout>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
) -> SqlResult<Vec<StoredCheck>> {
    collect_rows(connection, sql, values, |row| {
        let count = |column: usize| row.get::<_, i64>(column).map(|count| u64::try_from(count).unwrap_or(0));
        Ok(StoredCheck {
            id: L::ID_FORM.read_required(row, 0, L::CHECKS)?,
            run: L::ID_FORM.read_required(row, 1, L::CHECKS)?,
            time: Moment::from_micros(row.get(2)?),
            message: row.get(3)?,
            author: row.get(4)?,
            record: required_blob_id(row, 5, L::CHECKS)?,
            counts: VerdictCounts {
                ok: count(6)?,
                changed: count(7)?,
                broken: count(8)?,
                unreachable: count(9)?,
                skipped: count(10)?,
            },
        })
    })
}

/// The verdicts on a URL, newest first.
pub(crate) fn verdicts_of<L: TableLayout>(
    connection: &Connection,
    url: &str,
    limit: usize,
) -> SqlResult<Vec<StoredVerdict>> {
    let table = L::VERDICTS;
    let sql = format!("SELECT {VERDICT_COLUMNS} FROM {table} WHERE url = ?1 ORDER BY time DESC LIMIT ?2");
    collect_rows(connection, &sql, params![url, sql_limit(limit)], read_verdict::<L>)
}

/// The last verdict on each URL, by URL. The cost is two index lookups for each URL.
pub(crate) fn last_verdicts<L: TableLayout>(
    connection: &Connection,
    cursor: ListCursor<&str>,
) -> SqlResult<Vec<StoredVerdict>> {
    let table = L::VERDICTS;
    let first = format!("SELECT min(url) FROM {table}");
    let next = format!("SELECT min(url) FROM {table} WHERE url > ?1");
    let mut found: Vec<StoredVerdict> = Vec::new();
    while found.len() < cursor.limit {
        let url: Option<String> = match found.last().map(|last| last.url.as_str()).or(cursor.after) {
            None => connection.prepare_cached(&first)?.query_row([], |row| row.get(0))?,
            Some(last) => connection.prepare_cached(&next)?.query_row([last], |row| row.get(0))?,
        };
        let Some(url) = url else { break };
        found.append(&mut verdicts_of::<L>(connection, &url, 1)?);
    }
    Ok(found)
}

fn read_verdict<L: TableLayout>(row: &Row<'_>) -> SqlResult<StoredVerdict> {
    let verdict: VerdictKind = row.get::<_, String>(2)?.parse().map_err(unknown_verdict)?;
    Ok(StoredVerdict {
        url: row.get(0)?,
        time: Moment::from_micros(row.get(1)?),
        verdict,
        status: row.get(3)?,
        json: row.get(4)?,
        check: L::ID_FORM.read_required(row, 5, L::VERDICTS)?,
    })
}

/// The error for a value of the column `verdict`, the third, that is not a verdict.
fn unknown_verdict(error: UnknownVerdict) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(2, Type::Text, Box::new(error))
}
