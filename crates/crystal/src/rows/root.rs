//! Root resources: the places that people chose to begin at. At most one for a resource.

use rusqlite::Row;

use super::Columns;
use crate::database::stream::Stream;
use crate::error::Result;
use crate::ids::{ResourceId, RootId};
use crate::project::Project;

/// A place to begin at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Its id.
    pub id: RootId,
    /// Its name, often empty.
    pub name: String,
    /// The resource it names. A damaged project may not have it.
    pub resource: ResourceId,
}

impl Root {
    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        let columns = Columns::of("root_resource", row, 0);
        Ok(Self {
            id: RootId(columns.id()),
            name: columns.text(1, "name")?,
            resource: ResourceId(columns.integer(2, "resource_id")?),
        })
    }
}

impl Project {
    /// The root with that id.
    pub fn root(&self, id: RootId) -> Result<Option<Root>> {
        self.one("SELECT id, name, resource_id FROM root_resource WHERE id = ?1", [id], Root::read)
    }

    /// The root that names this resource.
    pub fn root_of(&self, resource: ResourceId) -> Result<Option<Root>> {
        let sql = "SELECT id, name, resource_id FROM root_resource WHERE resource_id = ?1";
        self.one(sql, [resource], Root::read)
    }

    /// All roots, in the order of their ids.
    pub fn roots(&self) -> Stream<'_, Root> {
        self.by_id("SELECT id, name, resource_id FROM root_resource WHERE id >= ?1 ORDER BY id", Root::read)
    }
}
