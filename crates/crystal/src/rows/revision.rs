//! Revisions: what one download of a resource gave, or why it failed. The body lies beside the database.
//!
//! The two JSON texts are kept as texts and read on demand, so that one that cannot be read costs nobody the row,
//! and a copy of a project is exact.

use rusqlite::Row;
use rusqlite::types::Value;
use varve_core::secret::Secret;

use super::Columns;
use crate::database::stream::{Stream, id_down};
use crate::error::Result;
use crate::ids::{ResourceId, RevisionId};
use crate::project::Project;
use crate::revision::{DownloadError, JsonProblem, Metadata};

/// One download of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// Its id, from which the name of its body's file is made. Ids of deleted revisions are given again.
    pub id: RevisionId,
    /// The resource. A damaged project may not have it.
    pub resource: ResourceId,
    /// The `Cookie` header that was sent.
    pub request_cookie: Option<Secret<String>>,
    /// `null`, or the error as JSON, exactly as it is kept.
    pub error: String,
    /// `null`, or status and headers as JSON, exactly as it is kept.
    pub metadata: String,
}

impl Revision {
    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        let columns = Columns::of("resource_revision", row, 0);
        Ok(Self {
            id: RevisionId(columns.id()),
            resource: ResourceId(columns.integer(1, "resource_id")?),
            request_cookie: columns.optional_text(2, "request_cookie")?.map(Secret::new),
            error: columns.text(3, "error")?,
            metadata: columns.text(4, "metadata")?,
        })
    }

    /// Whether the download gave a body, be it empty. That is so exactly if no error is recorded.
    pub fn has_body(&self) -> bool {
        self.error.trim_ascii() == "null"
    }

    /// The recorded error, if the download failed.
    pub fn download_error(&self) -> Result<Option<DownloadError>, JsonProblem> {
        DownloadError::read(&self.error)
    }

    /// Status and headers, where the download had any: failed ones and those that were no HTTP have none.
    pub fn metadata(&self) -> Result<Option<Metadata>, JsonProblem> {
        Metadata::read(&self.metadata)
    }
}

impl Project {
    fn revision_columns(&self) -> String {
        let cookie = self.shape.request_cookie();
        format!("SELECT id, resource_id, {cookie}, error, metadata FROM resource_revision")
    }

    /// The revision with that id.
    pub fn revision(&self, id: RevisionId) -> Result<Option<Revision>> {
        self.one(&format!("{} WHERE id = ?1", self.revision_columns()), [id], Revision::read)
    }

    /// All revisions, in the order of their ids.
    pub fn revisions(&self) -> Stream<'_, Revision> {
        self.by_id(&format!("{} WHERE id >= ?1 ORDER BY id", self.revision_columns()), Revision::read)
    }

    /// The revisions of a resource, the newest first.
    pub fn revisions_of(&self, resource: ResourceId) -> Stream<'_, Revision> {
        self.revisions_of_down_from(resource, RevisionId(i64::MAX))
    }

    /// The revisions of a resource that are not newer than this one, the newest first.
    pub fn revisions_of_down_from(&self, resource: ResourceId, newest: RevisionId) -> Stream<'_, Revision> {
        let columns = self.revision_columns();
        let sql = format!("{columns} WHERE id <= ?1 AND resource_id = ?2 ORDER BY id DESC");
        let mut query = self.id_query(&sql);
        query.first = Value::Integer(newest.get());
        query.after = id_down;
        query.others = vec![Value::Integer(resource.get())];
        query.read = Box::new(|row| Revision::read(row).map(Some));
        Stream::new(query)
    }

    /// The revisions of a resource that are not older than this one, the oldest first.
    pub fn revisions_of_up_from(&self, resource: ResourceId, oldest: RevisionId) -> Stream<'_, Revision> {
        let columns = self.revision_columns();
        let mut query = self.id_query(&format!("{columns} WHERE id >= ?1 AND resource_id = ?2 ORDER BY id"));
        query.first = Value::Integer(oldest.get());
        query.others = vec![Value::Integer(resource.get())];
        query.read = Box::new(|row| Revision::read(row).map(Some));
        Stream::new(query)
    }

    /// All revisions that are not newer than this one, the newest first.
    pub fn revisions_down_from(&self, newest: RevisionId) -> Stream<'_, Revision> {
        let mut query =
            self.id_query(&format!("{} WHERE id <= ?1 ORDER BY id DESC", self.revision_columns()));
        query.first = Value::Integer(newest.get());
        query.after = id_down;
        query.read = Box::new(|row| Revision::read(row).map(Some));
        Stream::new(query)
    }

    /// The newest revision of a resource that is not newer than this one.
    pub fn revision_of_at(&self, resource: ResourceId, newest: RevisionId) -> Result<Option<Revision>> {
        let columns = self.revision_columns();
        let sql = format!("{columns} WHERE id <= ?1 AND resource_id = ?2 ORDER BY id DESC LIMIT 1");
        self.one(&sql, (newest, resource), Revision::read)
    }

    /// How many resources had a revision when this one was the newest.
    pub fn downloaded_resources(&self, newest: RevisionId) -> Result<u64> {
        let sql = "SELECT count(DISTINCT resource_id) FROM resource_revision WHERE id <= ?1";
        let counted = self.connection.query_row(sql, [newest], |row| row.get::<_, u64>(0));
        counted.map_err(crate::error::database_at(&self.layout.dir))
    }

    /// Whether a revision is the only one of its resource.
    pub fn is_only_revision(&self, revision: &Revision) -> Result<bool> {
        let sql = "SELECT 1 FROM resource_revision WHERE resource_id = ?1 AND id <> ?2 LIMIT 1";
        Ok(self.one(sql, (revision.resource, revision.id), |_| Ok(()))?.is_none())
    }

    /// How many revisions are newer than this one.
    pub fn revisions_after(&self, revision: RevisionId) -> Result<u64> {
        let sql = "SELECT count(*) FROM resource_revision WHERE id > ?1";
        let counted = self.connection.query_row(sql, [revision], |row| row.get::<_, u64>(0));
        counted.map_err(crate::error::database_at(&self.layout.dir))
    }

    /// The highest id of a revision, or nothing if there is no revision.
    pub fn newest_revision(&self) -> Result<Option<RevisionId>> {
        let id = |row: &Row<'_>| Ok(RevisionId(Columns::of("resource_revision", row, 0).id()));
        self.one("SELECT id FROM resource_revision ORDER BY id DESC LIMIT 1", [], id)
    }

    /// The cookies that revisions were downloaded with, each once, the newest first.
    pub fn request_cookies(&self) -> Result<Vec<Secret<String>>> {
        let mut found: Vec<Secret<String>> = Vec::new();
        if !self.shape.has_request_cookie {
            return Ok(found);
        }
        let sql = "SELECT id, request_cookie FROM resource_revision \
                   WHERE id <= ?1 AND request_cookie IS NOT NULL ORDER BY id DESC";
        let mut query = self.id_query(sql);
        query.first = Value::Integer(i64::MAX);
        query.after = id_down;
        query.read = Box::new(|row| {
            Columns::of("resource_revision", row, 0).optional_text(1, "request_cookie").map_err(Into::into)
        });
        for cookie in Stream::new(query) {
            let cookie = Secret::new(cookie?);
            if found.len() < MOST_COOKIES && !found.contains(&cookie) {
                found.push(cookie);
            }
        }
        Ok(found)
    }
}

/// A session has one cookie; a project with more of them than this is answered with the newest.
const MOST_COOKIES: usize = 100;
