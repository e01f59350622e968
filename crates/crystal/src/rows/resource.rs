//! Resources: every URL that a project ever saw, downloaded or not.
//!
//! `url` is compared byte by byte; when two URLs mean the same resource is decided in `identity`, not here. URLs
//! are found by ranges of the unique index. A `GLOB`, which Crystal uses, would read brackets in a URL as signs.

use rusqlite::Row;
use rusqlite::types::Value;

use super::Columns;
use crate::database::stream::{Query, Stream, text_up};
use crate::error::Result;
use crate::ids::ResourceId;
use crate::project::Project;

/// A URL that the project knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its id.
    pub id: ResourceId,
    /// Its URL, exactly as it is kept.
    pub url: String,
}

impl Resource {
    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        let columns = Columns::of("resource", row, 0);
        Ok(Self { id: ResourceId(columns.id()), url: columns.text(1, "url")? })
    }

    fn read_with_url_first(row: &Row<'_>) -> Result<Self> {
        let columns = Columns::of("resource", row, 1);
        Ok(Self { id: ResourceId(columns.id()), url: columns.text(0, "url")? })
    }
}

impl Project {
    /// The resource with that id.
    pub fn resource(&self, id: ResourceId) -> Result<Option<Resource>> {
        self.one("SELECT id, url FROM resource WHERE id = ?1", [id], Resource::read)
    }

    /// The resource with exactly that URL. [`Project::find`] gives the one that a URL means.
    pub fn resource_at(&self, url: &str) -> Result<Option<Resource>> {
        self.one("SELECT id, url FROM resource WHERE url = ?1", [url], Resource::read)
    }

    /// All resources, in the order of their ids.
    pub fn resources(&self) -> Stream<'_, Resource> {
        self.by_id("SELECT id, url FROM resource WHERE id >= ?1 ORDER BY id", Resource::read)
    }

    /// The resources whose URL begins with that text, in the order of their URLs.
    pub fn resources_under(&self, prefix: &str) -> Stream<'_, Resource> {
        self.resources_in_url_order(prefix, |_| true)
    }

    /// The same, but only those whose URL comes behind `after`: to go on with a list.
    pub fn resources_under_after(&self, prefix: &str, after: Option<&str>) -> Stream<'_, Resource> {
        let mut query = self.url_query(prefix, |_| true);
        if let Some(after) = after {
            // No text stands between one and the same with a zero behind it.
            let first = format!("{after}\0");
            query.first = Value::Blob(first.into_bytes().max(prefix.as_bytes().to_vec()));
        }
        Stream::new(query)
    }

    /// The resources under `prefix` that `keep` chooses, in the order of their URLs.
    pub(crate) fn resources_in_url_order<'p>(
        &'p self,
        prefix: &str,
        keep: impl Fn(&str) -> bool + 'p,
    ) -> Stream<'p, Resource> {
        Stream::new(self.url_query(prefix, keep))
    }

    fn url_query<'p>(&'p self, prefix: &str, keep: impl Fn(&str) -> bool + 'p) -> Query<'p, Resource> {
        let end = end_of_range(prefix);
        // A blob is greater than every text: where no text ends the range, the end of all texts does.
        let below = if end.is_some() { "CAST(?2 AS TEXT)" } else { "x''" };
        let sql = format!(
            "SELECT url, id FROM resource WHERE url >= CAST(?1 AS TEXT) AND url < {below} ORDER BY url"
        );
        Query {
            connection: &self.connection,
            dir: &self.layout.dir,
            sql,
            first: Value::Blob(prefix.as_bytes().to_vec()),
            after: text_up,
            others: end.map(|text| Value::Blob(text.into_bytes())).into_iter().collect(),
            read: Box::new(move |row| {
                // Most rows may be none of those asked for: they are judged where they lie.
                let url = row.get_ref(0).ok().and_then(|value| value.as_str().ok());
                match url.is_some_and(|url| !keep(url)) {
                    true => Ok(None),
                    false => Resource::read_with_url_first(row).map(Some),
                }
            }),
        }
    }

    /// The resources that `keep` chooses, in the order of their ids: every one is looked at.
    pub(crate) fn resources_in_id_order<'p>(
        &'p self,
        keep: impl Fn(&Resource) -> bool + 'p,
    ) -> Stream<'p, Resource> {
        let mut all = self.id_query("SELECT id, url FROM resource WHERE id >= ?1 ORDER BY id");
        all.read = Box::new(move |row| Resource::read(row).map(|found| Some(found).filter(&keep)));
        Stream::new(all)
    }
}

/// The least text that is greater than every text with this prefix, if there is one.
fn end_of_range(prefix: &str) -> Option<String> {
    let mut rest = prefix.to_owned();
    while let Some(last) = rest.pop() {
        // The order of code points is the order of their UTF-8.
        let mut larger = (last..=char::MAX).skip(1);
        if let Some(next) = larger.next() {
            rest.push(next);
            return Some(rest);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_range_ends_where_its_prefix_does() {
        assert_eq!(end_of_range("http://a/").as_deref(), Some("http://a0"));
        assert_eq!(end_of_range("a\u{d7ff}").as_deref(), Some("a\u{e000}"));
        assert_eq!(end_of_range("a\u{10ffff}").as_deref(), Some("b"));
        assert_eq!(end_of_range("\u{10ffff}"), None);
        assert_eq!(end_of_range(""), None);
    }

    proptest! {
        #[test]
        fn a_text_is_in_the_range_exactly_if_it_has_the_prefix(prefix in ".{0,4}", text in ".{0,6}", joined: bool) {
            let text = if joined { format!("{prefix}{text}") } else { text };
            let below = end_of_range(&prefix).is_none_or(|end| text < end);
            prop_assert_eq!(text.as_str() >= prefix.as_str() && below, text.starts_with(&prefix));
        }
    }
}
