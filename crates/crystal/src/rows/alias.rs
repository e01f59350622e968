//! Aliases: prefixes of URLs that are replaced by others, tried in the order of their ids.
//!
//! How one is applied is the same everywhere and lives in `varve_core`; the marker by which Crystal
//! shows that a target is outside is this format's alone and lives here.

use rusqlite::Row;
use serde::{Deserialize, Serialize};

use super::RowColumns;
use crate::error::Result;
use crate::ids::AliasId;

/// A prefix that is replaced by another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectAlias {
    /// Its id.
    pub id: AliasId,
    /// URLs that begin with this …
    pub source_url_prefix: String,
    /// … are meant as URLs that begin with this instead.
    pub target_url_prefix: String,
    /// Whether the target is on the live web, outside of the project.
    pub target_is_external: bool,
}

impl ProjectAlias {
    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        let columns = RowColumns::of("alias", row, 0);
        Ok(Self {
            id: AliasId(columns.id()),
            source_url_prefix: columns.text(1, "source_url_prefix")?,
            target_url_prefix: columns.text(2, "target_url_prefix")?,
            target_is_external: columns.integer(3, "target_is_external")? != 0,
        })
    }

    /// Whether Crystal would take it: both prefixes must be whole folders.
    pub fn is_sound(&self) -> bool {
        self.source_url_prefix.ends_with('/') && self.target_url_prefix.ends_with('/')
    }

    /// The rule, as `varve_core` applies it.
    pub fn rule(&self) -> varve_core::alias::Alias {
        varve_core::alias::Alias {
            source: self.source_url_prefix.clone(),
            target: self.target_url_prefix.clone(),
            external: self.target_is_external,
        }
    }
}
