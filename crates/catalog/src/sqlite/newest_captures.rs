//! Looks up the newest captures of many URLs.
//!
//! A crawl asks for the earlier captures of hundreds of URLs at once. Two statements answer for all
//! of them: one finds the rows of the URLs, and one reads their captures. Each takes its numbers as a
//! JSON array, so that the prepared statements serve any number of URLs.

use std::collections::HashMap;

use rusqlite::{Connection, params};
use varve_core::catalog::UrlMatch;
use varve_core::history::Capture;
use varve_core::url::PageUrl;
use varve_sqlite::{SqlResult, collect_rows, sql_limit};

use super::read_captures::{CaptureKey, capture_columns, read_capture, url_key};

/// The rows of `page_urls` with the keys `?1`, each with the position of its key.
const SELECT_URLS: &str = "SELECT j.key, u.no, u.url FROM json_each(?1) AS j
    CROSS JOIN page_urls AS u ON u.url_key = j.value";

/// The newest `?2` captures of each URL in `?1`, with the numbers of the owner and the URL.
const SELECT_NEWEST: &str = concat!(
    "SELECT ",
    capture_columns!(),
    ", c.owner_no, c.url_no, c.no FROM json_each(?1) AS j
    CROSS JOIN captures AS c ON c.no IN (
        SELECT n.no FROM captures AS n WHERE n.url_no = j.value
        ORDER BY n.time DESC, n.owner_no DESC, n.no DESC LIMIT ?2)
    CROSS JOIN owners AS o ON o.no = c.owner_no CROSS JOIN page_urls AS u ON u.no = c.url_no
    LEFT JOIN headers AS h ON h.no = c.headers_no"
);

/// For each URL at most `limit` captures, newest first.
pub(super) fn newest_captures(
    connection: &Connection,
    urls: &[&str],
    matching: UrlMatch,
    limit: usize,
) -> SqlResult<Vec<Vec<Capture>>> {
    let wanted_by = url_numbers(connection, urls, matching)?;
    let mut numbers: Vec<i64> = wanted_by.keys().copied().collect();
    numbers.sort_unstable();
    let numbers = json_numbers(&numbers);
    let mut found: Vec<Vec<(CaptureKey, Capture)>> = urls.iter().map(|_| Vec::new()).collect();
    let rows = collect_rows(connection, SELECT_NEWEST, params![numbers, sql_limit(limit)], |row| {
        let key: CaptureKey = (row.get(1)?, row.get(15)?, row.get(17)?);
        Ok((row.get::<_, i64>(16)?, key, read_capture(row)?))
    })?;
    for (url_no, key, capture) in rows {
        for at in wanted_by.get(&url_no).into_iter().flatten() {
            found[*at].push((key, capture.clone()));
        }
    }
    let newest = |mut found: Vec<(CaptureKey, Capture)>| {
        found.sort_by_key(|(key, _)| std::cmp::Reverse(*key));
        found.into_iter().take(limit).map(|(_, capture)| capture).collect()
    };
    Ok(found.into_iter().map(newest).collect())
}

/// The numbers of all rows of the URLs, each with the positions of the URLs that it matches.
fn url_numbers(
    connection: &Connection,
    urls: &[&str],
    matching: UrlMatch,
) -> SqlResult<HashMap<i64, Vec<usize>>> {
    let keys: Vec<i64> = urls.iter().map(|url| url_key(url)).collect();
    let pages: Vec<Option<PageUrl>> = match matching {
        UrlMatch::Exact => Vec::new(),
        UrlMatch::SamePage => urls.iter().map(|url| PageUrl::parse(url)).collect(),
    };
    let is_wanted = |at: usize, text: &str| {
        urls.get(at) == Some(&text)
            || pages.get(at).is_some_and(|page| page.is_some() && PageUrl::parse(text) == *page)
    };
    let rows = collect_rows(connection, SELECT_URLS, [json_numbers(&keys)], |row| {
        Ok((row.get::<_, usize>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?))
    })?;
    let mut wanted_by: HashMap<i64, Vec<usize>> = HashMap::new();
    for (at, url_no, text) in rows {
        if is_wanted(at, &text) {
            wanted_by.entry(url_no).or_default().push(at);
        }
    }
    Ok(wanted_by)
}

/// Numbers as a JSON array, for `json_each`.
fn json_numbers(numbers: &[i64]) -> String {
    serde_json::to_string(numbers).expect("numbers can be written as JSON")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rusqlite::trace::{TraceEvent, TraceEventCodes};
    use varve_core::catalog::Catalog as _;
    use varve_testkit::contract::catalog::histories::{numbered_capture, version_with_captures};

    use super::*;
    use crate::SqliteCatalog;
    use crate::sqlite::ArchiveTables;
    use varve_sqlite::CaptureTables as _;

    #[test]
    fn the_number_of_statements_does_not_depend_on_the_number_of_urls() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("catalog.db");
        let catalog = SqliteCatalog::open_to_write(&path).expect("opened");
        catalog.apply(&mut version_with_captures(1, 200).into_iter()).expect("applied");
        let urls: Vec<String> = (0..200).map(|number| numbered_capture(1, number).url).collect();
        let mut connection = Connection::open(&path).expect("opened");
        let statements = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&statements);
        let count = move |_: TraceEvent<'_>| {
            counter.fetch_add(1, Ordering::Relaxed);
        };
        connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(count)).expect("traced");
        let texts: Vec<&str> = urls.iter().map(String::as_str).collect();
        for matching in [UrlMatch::Exact, UrlMatch::SamePage] {
            for wanted in [&texts[..1], &texts[..]] {
                let found = ArchiveTables::newest_captures(&connection, wanted, matching, 8).expect("read");
                assert!(found.len() == wanted.len() && found.iter().all(|captures| captures.len() == 1));
                assert_eq!(statements.swap(0, Ordering::Relaxed), 2, "{} URLs", wanted.len());
            }
        }
    }
}
