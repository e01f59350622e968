//! Finds the capture that a revisit repeats, across all files.
//!
//! By the id that it refers to, else by URL and date, else by the payload digest; the nearest
//! earlier capture counts, else the nearest later one. A revisit of a revisit leads to the original.
//! A "not modified" without any of these repeats the newest earlier capture of its own URL.

use rusqlite::Connection;
use varve_sqlite::SqlResult;

/// The payload digests of nothing. Some programs write them for answers without a body.
const EMPTY_DIGESTS: &str =
    "'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ', 'sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709',
    'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'";
/// A chain of revisits of revisits is followed this far.
const MAX_REVISIT_CHAIN: usize = 16;

/// Sets the originals of all revisits.
pub(crate) fn resolve_revisits(connection: &Connection) -> SqlResult<()> {
    connection.execute_batch(
        "CREATE INDEX captures_by_id ON captures (id);
         CREATE INDEX captures_by_url ON captures (url, time);
         CREATE INDEX captures_by_payload ON captures (payload, time) WHERE payload IS NOT NULL AND NOT is_revisit;
         CREATE INDEX captures_by_original ON captures (original) WHERE is_revisit;",
    )?;
    let original = "(SELECT o.no FROM captures AS o WHERE NOT o.is_revisit AND";
    let set = |condition: &str, found: &str| {
        format!(
            "UPDATE captures AS r SET original = {found} WHERE r.is_revisit AND r.original IS NULL {condition}"
        )
    };
    let by_id = format!("{original} o.id = r.refers_to LIMIT 1)");
    connection.execute(&set("AND r.refers_to IS NOT NULL", &by_id), [])?;
    // Dates of records often have whole seconds, and the date of a reference always the same ones.
    let by_date = format!(
        "{original} o.url = r.refers_url AND o.time BETWEEN r.refers_time AND r.refers_time + 999999
            AND (o.payload IS NULL OR r.payload IS NULL OR o.payload = r.payload) ORDER BY o.time LIMIT 1)"
    );
    connection.execute(&set("AND r.refers_url IS NOT NULL AND r.refers_time IS NOT NULL", &by_date), [])?;
    follow_chains(connection)?;
    let has_payload = format!("AND r.payload IS NOT NULL AND r.payload NOT IN ({EMPTY_DIGESTS})");
    for (compare, order) in [("<=", "DESC"), (">", "ASC")] {
        let by_payload = format!(
            "{original} o.payload = r.payload AND o.time {compare} r.time ORDER BY o.time {order} LIMIT 1)"
        );
        connection.execute(&set(&has_payload, &by_payload), [])?;
    }
    let by_url = format!(
        "{original} o.url = r.url AND o.time <= r.time AND o.status BETWEEN 200 AND 299
            ORDER BY o.time DESC LIMIT 1)"
    );
    connection.execute(&set("AND r.not_modified", &by_url), [])?;
    follow_chains(connection)
}

/// Gives a revisit of a revisit the original of that one.
fn follow_chains(connection: &Connection) -> SqlResult<()> {
    let sql = "UPDATE captures AS r SET original =
            (SELECT m.original FROM captures AS m WHERE m.is_revisit AND m.original IS NOT NULL AND
                (m.id = r.refers_to OR m.url = r.refers_url AND m.time = r.refers_time) LIMIT 1)
        WHERE r.is_revisit AND r.original IS NULL AND (r.refers_to IS NOT NULL OR r.refers_time IS NOT NULL)
            AND EXISTS (SELECT 1 FROM captures AS m WHERE m.is_revisit AND m.original IS NOT NULL AND
                (m.id = r.refers_to OR m.url = r.refers_url AND m.time = r.refers_time))";
    for _ in 0..MAX_REVISIT_CHAIN {
        if connection.execute(sql, [])? == 0 {
            break;
        }
    }
    Ok(())
}
