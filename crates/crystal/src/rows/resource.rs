//! Resources: every URL that a project ever saw, downloaded or not.
//!
//! `url` is compared byte by byte; when two URLs mean the same resource is decided in
//! `project/url_lookup.rs`.

use rusqlite::Row;

use super::RowColumns;
use crate::error::Result;
use crate::ids::ResourceId;

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
        let columns = RowColumns::of("resource", row, 0);
        Ok(Self { id: ResourceId(columns.id()), url: columns.text(1, "url")? })
    }

    pub(crate) fn read_with_url_first(row: &Row<'_>) -> Result<Self> {
        let columns = RowColumns::of("resource", row, 1);
        Ok(Self { id: ResourceId(columns.id()), url: columns.text(0, "url")? })
    }
}
