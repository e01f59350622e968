//! Counters of URLs: by state for a run, and of ready URLs for a host. Counting rows would take too
//! long in a large frontier.

use rusqlite::Connection;
use varve_core::frontier::FrontierCounts;
use varve_sqlite::UnlocatedError;

use super::url_state::UrlState;

/// The number of URLs in each state.
pub(super) fn read_counts(connection: &Connection, run_no: i64) -> Result<FrontierCounts, UnlocatedError> {
    let sql = "SELECT state, urls FROM frontier_counts WHERE run_no = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([run_no])?;
    let mut counts = FrontierCounts::default();
    while let Some(row) = rows.next()? {
        let urls: u64 = row.get(1)?;
        match row.get(0)? {
            0 => counts.ready = urls,
            1 => counts.claimed = urls,
            2 => counts.done = urls,
            3 => counts.waiting = urls,
            4 => counts.failed = urls,
            5 => counts.skipped = urls,
            state => {
                let what = format!("run {run_no}: there is no state {state}");
                return Err(UnlocatedError::Damaged("frontier_counts", what));
            }
        }
    }
    Ok(counts)
}

/// Adds to the number of URLs in a state. `more` is negative for URLs that left it.
pub(super) fn add_to_state(
    connection: &Connection,
    run_no: i64,
    state: UrlState,
    more: i64,
) -> Result<(), UnlocatedError> {
    if more != 0 {
        connection
            .prepare_cached(
                "INSERT INTO frontier_counts (run_no, state, urls) VALUES (?1, ?2, ?3)
                 ON CONFLICT (run_no, state) DO UPDATE SET urls = urls + excluded.urls",
            )?
            .execute([run_no, state as i64, more])?;
    }
    Ok(())
}

/// Adds to the number of ready URLs of a host.
pub(super) fn add_to_host(connection: &Connection, host_no: i64, more: i64) -> Result<(), UnlocatedError> {
    connection
        .prepare_cached("UPDATE frontier_hosts SET ready = ready + ?2 WHERE no = ?1")?
        .execute([host_no, more])?;
    Ok(())
}
