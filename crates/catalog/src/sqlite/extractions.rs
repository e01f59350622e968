//! Saved extractions, the requested URLs that lead to them, and the settings of domains: the tables
//! `urls`, `id_map` and `domain_settings`.
//!
//! A row is found by its key, and counts only if its text is the one that is looked for.

use rusqlite::{Connection, OptionalExtension, Row, params};
use varve_core::history::{
    DomainSettings, FetchMethod, KeyedUrl, ListCursor, StoredDomainSettings, StoredExtraction,
};
use varve_core::{Moment, UrlKey};
use varve_sqlite::{ExtractionTables, SqlResult, UnlocatedError, collect_rows, sql_limit};

use super::ArchiveTables;
use super::write_batch::WriteBatch;

/// The columns that [`read_extraction`] expects. The request is the one that saved the row.
const SELECT_EXTRACTIONS: &str =
    "SELECT u.id, u.url, u.parsed_url, u.fetch_time, u.fetch_method, u.expires, u.metadata, u.content_text,
         (SELECT m.requested_id FROM id_map AS m WHERE m.canonical_id = u.id AND m.canonical_url = u.url
          AND m.requested_url = u.parsed_url)
     FROM urls AS u";
/// The columns that [`read_domain_settings`] expects.
const SELECT_DOMAINS: &str =
    "SELECT domain, sitename, fetch_client, user_agent, headers, ttl FROM domain_settings";

impl WriteBatch<'_> {
    pub(super) fn extraction(&self, extraction: &StoredExtraction) -> SqlResult<()> {
        let StoredExtraction { page, requested, fetch_time, fetch_method, expires, metadata, content_text } =
            extraction;
        self.execute(
            "INSERT OR REPLACE INTO urls
                 (id, url, parsed_url, fetch_time, fetch_method, expires, metadata, content_text)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                page.key.get(),
                page.url,
                requested.url,
                fetch_time.seconds(),
                fetch_method.number(),
                expires.seconds(),
                metadata,
                content_text
            ],
        )?;
        self.execute(
            "INSERT OR REPLACE INTO id_map (requested_id, canonical_id, requested_url, canonical_url)
             VALUES (?1, ?2, ?3, ?4)",
            params![requested.key.get(), page.key.get(), requested.url, page.url],
        )
    }

    pub(super) fn remove_extraction(&mut self, page: &KeyedUrl) -> SqlResult<()> {
        let page = params![page.key.get(), page.url];
        self.execute("DELETE FROM id_map WHERE canonical_id = ?1 AND canonical_url = ?2", page)?;
        self.execute("DELETE FROM urls WHERE id = ?1 AND url = ?2", page)
    }

    pub(super) fn domain_settings(&self, stored: &StoredDomainSettings) -> SqlResult<()> {
        let DomainSettings { sitename, fetch_client, user_agent, headers, ttl } = &stored.settings;
        let headers = serde_json::to_string(headers)
            .map_err(|error| UnlocatedError::Damaged("domain_settings", error.to_string()))?;
        self.execute(
            "INSERT OR REPLACE INTO domain_settings (domain, sitename, fetch_client, user_agent, headers, ttl)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                stored.domain,
                sitename,
                fetch_client.map(FetchMethod::name),
                user_agent,
                headers,
                ttl
            ],
        )
    }
}

impl ExtractionTables for ArchiveTables {
    fn extraction(connection: &Connection, requested: &KeyedUrl) -> SqlResult<Option<StoredExtraction>> {
        let key = params![requested.key.get(), requested.url];
        let mapped = format!(
            "{SELECT_EXTRACTIONS} JOIN id_map AS r ON r.canonical_id = u.id AND r.canonical_url = u.url
             WHERE r.requested_id = ?1 AND r.requested_url = ?2"
        );
        let direct = format!("{SELECT_EXTRACTIONS} WHERE u.id = ?1 AND u.url = ?2");
        for sql in [mapped, direct] {
            let found = collect_rows(connection, &sql, key, read_extraction)?.pop();
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn extractions(connection: &Connection, cursor: ListCursor<&str>) -> SqlResult<Vec<StoredExtraction>> {
        let sql = format!("{SELECT_EXTRACTIONS} WHERE u.url > ?1 ORDER BY u.url LIMIT ?2");
        let after = cursor.after.unwrap_or_default();
        collect_rows(connection, &sql, params![after, sql_limit(cursor.limit)], read_extraction)
    }

    fn requests_of(connection: &Connection, page: &KeyedUrl) -> SqlResult<Vec<KeyedUrl>> {
        let sql = "SELECT requested_id, requested_url FROM id_map
             WHERE canonical_id = ?1 AND canonical_url = ?2 ORDER BY requested_url";
        collect_rows(connection, sql, params![page.key.get(), page.url], |row| {
            Ok(KeyedUrl { key: read_key(row, 0, "id_map")?, url: row.get(1)? })
        })
    }

    fn domain_settings(connection: &Connection, domain: &str) -> SqlResult<Option<StoredDomainSettings>> {
        let sql = format!("{SELECT_DOMAINS} WHERE domain = ?1");
        let mut statement = connection.prepare_cached(&sql)?;
        let found = statement.query_row([domain], |row| Ok(read_domain_settings(row)));
        found.optional()?.transpose()
    }

    fn all_domain_settings(
        connection: &Connection,
        cursor: ListCursor<&str>,
    ) -> SqlResult<Vec<StoredDomainSettings>> {
        let sql = format!("{SELECT_DOMAINS} WHERE domain > ?1 ORDER BY domain LIMIT ?2");
        let after = cursor.after.unwrap_or_default();
        collect_rows(connection, &sql, params![after, sql_limit(cursor.limit)], read_domain_settings)
    }
}

fn read_key(row: &Row<'_>, column: usize, table: &'static str) -> SqlResult<UrlKey> {
    UrlKey::new(row.get(column)?).map_err(|error| UnlocatedError::Damaged(table, error.to_string()))
}

fn read_extraction(row: &Row<'_>) -> SqlResult<StoredExtraction> {
    let method = FetchMethod::from_number(row.get(4)?);
    let page = KeyedUrl { key: read_key(row, 0, "urls")?, url: row.get(1)? };
    // The request that saved the row may lead to another page since.
    let requested: Option<u64> = row.get(8)?;
    let parsed_url: String = row.get(2)?;
    let requested = match requested {
        Some(_) => KeyedUrl { key: read_key(row, 8, "id_map")?, url: parsed_url },
        None => {
            KeyedUrl::new(&parsed_url).map_err(|error| UnlocatedError::Damaged("urls", error.to_string()))?
        }
    };
    Ok(StoredExtraction {
        page,
        requested,
        fetch_time: Moment::from_seconds(row.get(3)?),
        fetch_method: method
            .ok_or_else(|| UnlocatedError::Damaged("urls", "unknown `fetch_method`".to_owned()))?,
        expires: Moment::from_seconds(row.get(5)?),
        metadata: row.get(6)?,
        content_text: row.get(7)?,
    })
}

fn read_domain_settings(row: &Row<'_>) -> SqlResult<StoredDomainSettings> {
    let damaged = |what: String| UnlocatedError::Damaged("domain_settings", what);
    let client: Option<String> = row.get(2)?;
    let client = client.map(|name| {
        FetchMethod::from_name(&name).ok_or_else(|| damaged(format!("unknown `fetch_client` `{name}`")))
    });
    let headers: String = row.get(4)?;
    Ok(StoredDomainSettings {
        domain: row.get(0)?,
        settings: DomainSettings {
            sitename: row.get(1)?,
            fetch_client: client.transpose()?,
            user_agent: row.get(3)?,
            headers: serde_json::from_str(&headers).map_err(|error| damaged(error.to_string()))?,
            ttl: row.get(5)?,
        },
    })
}
