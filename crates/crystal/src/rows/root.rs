//! Root resources: the places that people chose to begin at. At most one for a resource.

use rusqlite::Row;
use serde::{Deserialize, Serialize};

use super::RowColumns;
use crate::error::Result;
use crate::ids::{ResourceId, RootId};

/// A place to begin at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootResource {
    /// Its id.
    pub id: RootId,
    /// Its name, often empty.
    pub name: String,
    /// The resource it names. A damaged project may not have it.
    pub resource: ResourceId,
}

impl RootResource {
    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        let columns = RowColumns::of("root_resource", row, 0);
        Ok(Self {
            id: RootId(columns.id()),
            name: columns.text(1, "name")?,
            resource: ResourceId(columns.integer(2, "resource_id")?),
        })
    }
}
