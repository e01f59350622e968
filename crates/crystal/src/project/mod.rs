//! An open project, to read. Writing is in `writer`, which holds the lock.
//!
//! Opening costs the same for a project of any size: it lists the folder, opens the database and
//! reads its schema and version. Rows are read when they are requested.
//!
//! A project is used by one thread at a time. Opening it several times is cheap.

mod guard;
mod info;
mod open;
mod queries;
mod revision_choice;
mod search;
mod url_lookup;

pub use info::{GroupInfo, ProjectInfo};
pub(crate) use open::layout_at;
pub use queries::ResourceState;
pub use revision_choice::ResolvedRevision;
pub use search::RevisionSearch;
pub use url_lookup::UrlLookup;

use rusqlite::types::Value;
use rusqlite::{Connection, Params, Row};
use std::path::Path;
use tempfile::TempDir;

use crate::body::{BodyFinder, BodyFolderCache, BodyLookup, RevisionBody};
use crate::database::mode::{DatabaseReadMode, ProjectDatabaseFiles};
use crate::database::shape::Shape;
use crate::database::stream::{RowStream, StreamQuery, id_up};
use crate::error::{Result, database_at};
use crate::ids::RevisionId;
use crate::location::ProjectLayout;
use crate::rows::Revision;
use crate::version::MajorVersion;

/// An open project, to read.
pub struct Project {
    pub(crate) connection: Connection,
    pub(crate) layout: ProjectLayout,
    pub(crate) shape: Shape,
    pub(crate) version: MajorVersion,
    reading: DatabaseReadMode,
    pub(crate) folder_cache: BodyFolderCache,
    /// The state of the database's files when they were opened, if the reader cannot see changes.
    frozen: Option<ProjectDatabaseFiles>,
    /// The copy that the database is read from, if it is not read in place. Removed when dropped.
    _copy: Option<TempDir>,
}

impl Project {
    /// The project's folder.
    pub fn path(&self) -> &Path {
        &self.layout.dir
    }

    /// How the project's bodies are stored.
    pub const fn version(&self) -> MajorVersion {
        self.version
    }

    /// How the database is read.
    pub const fn reading(&self) -> DatabaseReadMode {
        self.reading
    }

    /// Whether another program has written and this reader cannot see it. The caller should then
    /// open the project again. A reader that reads in place and with locks always sees changes.
    pub fn is_behind(&self) -> bool {
        self.frozen.is_some_and(|frozen| frozen != ProjectDatabaseFiles::of(&self.layout))
    }

    /// The finder of this project's bodies.
    pub(crate) fn bodies(&self) -> BodyFinder<'_> {
        BodyFinder { layout: &self.layout, version: self.version, folder_cache: &self.folder_cache }
    }

    /// The body of a revision.
    pub fn body_of(&self, revision: &Revision) -> Result<BodyLookup> {
        if !revision.has_body() {
            return Ok(BodyLookup::NeverHad);
        }
        Ok(match self.body(revision.id)? {
            Some(body) => BodyLookup::Found(body),
            None => BodyLookup::Missing { expected: self.bodies().expected_place(revision.id) },
        })
    }

    /// The body with this id, whether or not there is a row.
    pub fn body(&self, id: RevisionId) -> Result<Option<RevisionBody>> {
        self.bodies().body(id)
    }

    /// The length of the body with this id, whether or not there is a row.
    pub fn body_length(&self, id: RevisionId) -> Result<Option<u64>> {
        self.bodies().body_length(id)
    }

    /// At most one row.
    pub(crate) fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let failed = database_at(&self.layout.dir);
        let mut statement = self.connection.prepare_cached(sql).map_err(&failed)?;
        let mut rows = statement.query(params).map_err(&failed)?;
        rows.next().map_err(&failed)?.map(read).transpose()
    }

    /// Rows in the order of their ids. `sql` ends with `id >= ?1 ORDER BY id`.
    pub(crate) fn by_id<'p, T: 'p>(&'p self, sql: &str, read: fn(&Row<'_>) -> Result<T>) -> RowStream<'p, T> {
        let mut query = self.id_query(sql);
        query.read = Box::new(move |row| read(row).map(Some));
        RowStream::new(query)
    }

    /// A query over ids that reads nothing yet.
    pub(crate) fn id_query<'p, T: 'p>(&'p self, sql: &str) -> StreamQuery<'p, T> {
        StreamQuery {
            connection: &self.connection,
            dir: &self.layout.dir,
            sql: sql.to_owned(),
            first: Value::Integer(i64::MIN),
            after: id_up,
            others: Vec::new(),
            read: Box::new(|_| Ok(None)),
        }
    }

    /// The number that a statement counts.
    pub(crate) fn count(&self, sql: &str, params: impl Params) -> Result<u64> {
        let counted = self.connection.query_row(sql, params, |row| row.get::<_, u64>(0));
        counted.map_err(database_at(&self.layout.dir))
    }

    /// Runs a statement that changes rows. Returns their number.
    pub(crate) fn execute(&self, sql: &str, params: impl Params) -> Result<usize> {
        let failed = database_at(&self.layout.dir);
        let mut statement = self.connection.prepare_cached(sql).map_err(&failed)?;
        statement.execute(params).map_err(&failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_and_bodies_can_be_sent_to_other_threads() {
        const fn can_be_sent<T: Send>() {}
        can_be_sent::<Project>();
        can_be_sent::<crate::RevisionBody>();
        can_be_sent::<crate::Error>();
    }
}
