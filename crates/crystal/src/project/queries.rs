//! The rows of a project: resources, revisions, roots, groups with their members, aliases and
//! properties.
//!
//! URLs are found by ranges of the unique index on `url`. A `GLOB`, which Crystal uses, would
//! interpret brackets in a URL. The members of a group are the resources that its pattern matches:
//! the text before the first wildcard is a range of the index, and the matcher of `varve_core`
//! decides within it. No query collects its rows in memory.

use rusqlite::Row;
use rusqlite::types::Value;

use super::Project;
use crate::database::stream::{RowStream, StreamQuery, id_down, id_up, text_up};
use crate::error::{Result, database_at};
use crate::ids::{GroupId, ResourceId, RevisionId, RootId};
use crate::rows::{
    HibernatedState, ProjectAlias, Resource, ResourceGroup, Revision, RootResource, RowColumns,
    property_name, property_name_of, property_text,
};

/// A resource with one of its revisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceState {
    /// The resource.
    pub resource: Resource,
    /// The revision.
    pub revision: Revision,
}

/// Resources.
impl Project {
    /// The resource with this id.
    pub fn resource(&self, id: ResourceId) -> Result<Option<Resource>> {
        self.one("SELECT id, url FROM resource WHERE id = ?1", [id], Resource::read)
    }

    /// The resource with exactly this URL. [`Project::find`] gives the one that a URL means.
    pub fn resource_at(&self, url: &str) -> Result<Option<Resource>> {
        self.one("SELECT id, url FROM resource WHERE url = ?1", [url], Resource::read)
    }

    /// All resources, in the order of their ids.
    pub fn resources(&self) -> RowStream<'_, Resource> {
        self.by_id("SELECT id, url FROM resource WHERE id >= ?1 ORDER BY id", Resource::read)
    }

    /// The resources whose URL begins with a text, in the order of their URLs, from the first after
    /// `after` on.
    pub fn resources_under_after(&self, prefix: &str, after: Option<&str>) -> RowStream<'_, Resource> {
        let mut query = self.url_query(prefix, |_| true);
        if let Some(after) = after {
            // The least text that is greater than `after` is `after` with a zero byte.
            let first = format!("{after}\0");
            query.first = Value::Blob(first.into_bytes().max(prefix.as_bytes().to_vec()));
        }
        RowStream::new(query)
    }

    fn url_query<'p>(&'p self, prefix: &str, keep: impl Fn(&str) -> bool + 'p) -> StreamQuery<'p, Resource> {
        let end = end_of_range(prefix);
        // A blob is greater than every text: where no text ends the range, the end of all texts
        // does.
        let below = if end.is_some() { "CAST(?2 AS TEXT)" } else { "x''" };
        let sql = format!(
            "SELECT url, id FROM resource WHERE url >= CAST(?1 AS TEXT) AND url < {below} ORDER BY url"
        );
        StreamQuery {
            connection: &self.connection,
            dir: &self.layout.dir,
            sql,
            first: Value::Blob(prefix.as_bytes().to_vec()),
            after: text_up,
            others: end.map(|text| Value::Blob(text.into_bytes())).into_iter().collect(),
            read: Box::new(move |row| {
                // Most rows may not match, so the URL is compared before it is copied.
                let url = row.get_ref(0).ok().and_then(|value| value.as_str().ok());
                match url.is_some_and(|url| !keep(url)) {
                    true => Ok(None),
                    false => Resource::read_with_url_first(row).map(Some),
                }
            }),
        }
    }
}

/// Revisions.
impl Project {
    fn revision_columns(&self) -> String {
        let cookie = self.shape.request_cookie();
        format!("SELECT id, resource_id, {cookie}, error, metadata FROM resource_revision")
    }

    /// The revision with this id.
    pub fn revision(&self, id: RevisionId) -> Result<Option<Revision>> {
        self.one(&format!("{} WHERE id = ?1", self.revision_columns()), [id], Revision::read)
    }

    /// All revisions, in the order of their ids.
    pub fn revisions(&self) -> RowStream<'_, Revision> {
        self.by_id(&format!("{} WHERE id >= ?1 ORDER BY id", self.revision_columns()), Revision::read)
    }

    /// The newest revision before this one, of any resource.
    pub fn revision_before(&self, id: RevisionId) -> Result<Option<Revision>> {
        let sql = format!("{} WHERE id < ?1 ORDER BY id DESC LIMIT 1", self.revision_columns());
        self.one(&sql, [id], Revision::read)
    }

    /// The revisions of a resource, the newest first.
    pub fn revisions_of(&self, resource: ResourceId) -> RowStream<'_, Revision> {
        self.revisions_of_down_from(resource, RevisionId(i64::MAX))
    }

    /// The revisions of a resource that are not newer than this one, the newest first.
    pub fn revisions_of_down_from(
        &self,
        resource: ResourceId,
        newest: RevisionId,
    ) -> RowStream<'_, Revision> {
        self.revisions_where("id <= ?1 AND resource_id = ?2 ORDER BY id DESC", newest, Some(resource))
    }

    /// The revisions of a resource that are not older than this one, the oldest first.
    pub fn revisions_of_up_from(&self, resource: ResourceId, oldest: RevisionId) -> RowStream<'_, Revision> {
        self.revisions_where("id >= ?1 AND resource_id = ?2 ORDER BY id", oldest, Some(resource))
    }

    /// All revisions that are not newer than this one, the newest first.
    pub fn revisions_down_from(&self, newest: RevisionId) -> RowStream<'_, Revision> {
        self.revisions_where("id <= ?1 ORDER BY id DESC", newest, None)
    }

    /// The revisions that meet SQL conditions, each begun with `AND`, and a test, the newest first.
    pub(super) fn revisions_matching<'p>(
        &'p self,
        conditions: &str,
        newest: RevisionId,
        keep: impl Fn(&Revision) -> bool + 'p,
    ) -> RowStream<'p, Revision> {
        let columns = self.revision_columns();
        let mut query = self.id_query(&format!("{columns} WHERE id <= ?1{conditions} ORDER BY id DESC"));
        query.first = Value::Integer(newest.get());
        query.after = id_down;
        query.read = Box::new(move |row| Revision::read(row).map(|revision| Some(revision).filter(&keep)));
        RowStream::new(query)
    }

    fn revisions_where(
        &self,
        condition: &str,
        first: RevisionId,
        resource: Option<ResourceId>,
    ) -> RowStream<'_, Revision> {
        let mut query = self.id_query(&format!("{} WHERE {condition}", self.revision_columns()));
        query.first = Value::Integer(first.get());
        query.after = if condition.ends_with("DESC") { id_down } else { id_up };
        query.others = resource.map(|resource| Value::Integer(resource.get())).into_iter().collect();
        query.read = Box::new(|row| Revision::read(row).map(Some));
        RowStream::new(query)
    }

    /// The newest revision of a resource that is not newer than this one.
    pub fn revision_of_at(&self, resource: ResourceId, newest: RevisionId) -> Result<Option<Revision>> {
        let columns = self.revision_columns();
        let sql = format!("{columns} WHERE id <= ?1 AND resource_id = ?2 ORDER BY id DESC LIMIT 1");
        self.one(&sql, (newest, resource), Revision::read)
    }

    /// The newest revision of each resource that is not newer than `newest`, in the order of URLs
    /// from the first after `after` on, in one pass. Resources without one are left out.
    pub fn newest_revisions_after(
        &self,
        newest: RevisionId,
        after: Option<&str>,
    ) -> RowStream<'_, ResourceState> {
        let cookie = self.shape.request_cookie();
        let sql = format!(
            "SELECT r.url, r.id, v.id, v.resource_id, {cookie}, v.error, v.metadata \
             FROM resource r JOIN resource_revision v ON v.id = \
             (SELECT max(n.id) FROM resource_revision n WHERE n.resource_id = r.id AND n.id <= ?2) \
             WHERE r.url >= CAST(?1 AS TEXT) AND r.url < x'' ORDER BY r.url"
        );
        let first = after.map(|after| format!("{after}\0").into_bytes()).unwrap_or_default();
        RowStream::new(StreamQuery {
            connection: &self.connection,
            dir: &self.layout.dir,
            sql,
            first: Value::Blob(first),
            after: text_up,
            others: vec![Value::Integer(newest.get())],
            read: Box::new(|row| {
                let resource = Resource::read_with_url_first(row)?;
                let revision = Revision::read_from(row, 2)?;
                Ok(Some(ResourceState { resource, revision }))
            }),
        })
    }

    /// The URLs of the resources that have a revision after `older` and not after `newer`, in their
    /// order.
    pub fn urls_changed_between(&self, older: RevisionId, newer: RevisionId) -> Result<Vec<String>> {
        let sql = "SELECT DISTINCT r.url FROM resource_revision v JOIN resource r ON r.id = v.resource_id \
                   WHERE v.id > ?1 AND v.id <= ?2 ORDER BY r.url";
        let failed = database_at(&self.layout.dir);
        let mut statement = self.connection.prepare_cached(sql).map_err(&failed)?;
        let urls = statement.query_map((older, newer), |row| row.get(0)).map_err(&failed)?;
        urls.collect::<rusqlite::Result<_>>().map_err(&failed)
    }

    /// The number of resources that had a revision when this one was the newest.
    pub fn downloaded_resources(&self, newest: RevisionId) -> Result<u64> {
        let sql = "SELECT count(DISTINCT resource_id) FROM resource_revision WHERE id <= ?1";
        self.count(sql, [newest])
    }

    /// The number of revisions that are newer than this one.
    pub fn revisions_after(&self, revision: RevisionId) -> Result<u64> {
        let sql = "SELECT count(*) FROM resource_revision WHERE id > ?1";
        self.count(sql, [revision])
    }

    /// The highest id of a revision, or nothing if there is no revision.
    pub fn newest_revision(&self) -> Result<Option<RevisionId>> {
        let id = |row: &Row<'_>| Ok(RevisionId(RowColumns::of("resource_revision", row, 0).id()));
        self.one("SELECT id FROM resource_revision ORDER BY id DESC LIMIT 1", [], id)
    }
}

/// Roots, groups and aliases.
impl Project {
    /// The root with this id.
    pub fn root(&self, id: RootId) -> Result<Option<RootResource>> {
        self.one("SELECT id, name, resource_id FROM root_resource WHERE id = ?1", [id], RootResource::read)
    }

    /// All roots, in the order of their ids.
    pub fn roots(&self) -> RowStream<'_, RootResource> {
        self.by_id(
            "SELECT id, name, resource_id FROM root_resource WHERE id >= ?1 ORDER BY id",
            RootResource::read,
        )
    }

    fn group_columns(&self) -> String {
        let last = self.shape.do_not_download();
        format!("SELECT id, name, url_pattern, source_type, source_id, {last} FROM resource_group")
    }

    /// The group with this id.
    pub fn group(&self, id: GroupId) -> Result<Option<ResourceGroup>> {
        self.one(&format!("{} WHERE id = ?1", self.group_columns()), [id], ResourceGroup::read)
    }

    /// All groups, in the order of their ids.
    pub fn groups(&self) -> RowStream<'_, ResourceGroup> {
        self.by_id(&format!("{} WHERE id >= ?1 ORDER BY id", self.group_columns()), ResourceGroup::read)
    }

    /// The members of a group in the order of their URLs, reading only the part of the index where
    /// they can be.
    pub fn members<'p>(&'p self, group: &ResourceGroup) -> RowStream<'p, Resource> {
        let pattern = group.pattern();
        let prefix = pattern.literal_prefix().to_owned();
        RowStream::new(self.url_query(&prefix, move |url| pattern.matches(url)))
    }

    /// The members of a group in the order of their URLs, each with whether it was downloaded, even
    /// if that failed.
    pub fn members_with_state<'p>(
        &'p self,
        group: &ResourceGroup,
    ) -> impl Iterator<Item = Result<(Resource, bool)>> + 'p {
        let sql = "SELECT 1 FROM resource_revision WHERE resource_id = ?1 LIMIT 1";
        self.members(group).map(move |member| {
            let member = member?;
            let is_downloaded = self.one(sql, [member.id], |_| Ok(()))?.is_some();
            Ok((member, is_downloaded))
        })
    }

    /// All aliases, in the order in which they are tried. Projects older than aliases have none.
    pub fn aliases(&self) -> RowStream<'_, ProjectAlias> {
        if !self.shape.has_alias {
            return RowStream::empty(&self.connection, &self.layout.dir);
        }
        let columns = "SELECT id, source_url_prefix, target_url_prefix, target_is_external FROM alias";
        self.by_id(&format!("{columns} WHERE id >= ?1 ORDER BY id"), ProjectAlias::read)
    }
}

/// Properties.
impl Project {
    /// The text of a property, as it is stored.
    pub fn property(&self, name: &str) -> Result<Option<String>> {
        let sql = "SELECT value FROM project_property WHERE name = ?1";
        self.one(sql, [name], |row| property_text(row, 0)).map(Option::flatten)
    }

    /// All properties with their texts, in the order of their names.
    pub fn properties(&self) -> RowStream<'_, (String, Option<String>)> {
        let mut query = self.id_query(
            "SELECT name, value FROM project_property WHERE name >= CAST(?1 AS TEXT) AND name < x'' ORDER BY name",
        );
        query.first = rusqlite::types::Value::Blob(Vec::new());
        query.after = text_up;
        query.read = Box::new(|row| Ok(Some((property_name_of(row)?, property_text(row, 1)?))));
        RowStream::new(query)
    }

    fn known_property(&self, name: &str) -> Result<Option<String>> {
        Ok(self.property(name)?.filter(|text| !text.is_empty()))
    }

    /// The prefix that is left out where URLs are shown.
    pub fn default_url_prefix(&self) -> Result<Option<String>> {
        self.known_property(property_name::DEFAULT_URL_PREFIX)
    }

    /// The tasks that Crystal would continue; `None` if there are none. The inner error is that of
    /// the JSON parser.
    pub fn hibernated(&self) -> Result<Option<serde_json::Result<HibernatedState>>> {
        let text = self.property(property_name::HIBERNATED_STATE)?;
        Ok(text.filter(|text| !text.is_empty()).map(|text| serde_json::from_str(&text)))
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
