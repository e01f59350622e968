//! Groups: resources whose URLs match one pattern, found where the group's source links to them.
//!
//! `project/queries.rs` finds the members of a group.

use rusqlite::Row;
use serde::{Deserialize, Serialize};
use varve_core::pattern::{AtSign, GroupPattern};

use super::RowColumns;
use crate::error::Result;
use crate::format_error::ColumnProblem;
use crate::ids::{GroupId, RootId};

/// Where a group's members are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupSource {
    /// On the page of a root.
    Root(RootId),
    /// On the pages of another group.
    Group(GroupId),
}

impl GroupSource {
    /// The word for the kind, as it is kept in `source_type`.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Root(_) => "root_resource",
            Self::Group(_) => "resource_group",
        }
    }

    pub(crate) const fn number(self) -> i64 {
        match self {
            Self::Root(id) => id.get(),
            Self::Group(id) => id.get(),
        }
    }

    fn read(columns: &RowColumns<'_, '_>, word: usize, number: usize) -> Result<Option<Self>> {
        let id = columns.optional_integer(number, "source_id")?;
        match (columns.optional_text(word, "source_type")?.as_deref(), id) {
            (None, _) | (Some("root_resource" | "resource_group"), None) => Ok(None),
            (Some("root_resource"), Some(id)) => Ok(Some(Self::Root(RootId(id)))),
            (Some("resource_group"), Some(id)) => Ok(Some(Self::Group(GroupId(id)))),
            (Some(word), _) => {
                Err(columns.error("source_type", ColumnProblem::UnknownWord(word.to_owned())).into())
            }
        }
    }
}

/// A group of resources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceGroup {
    /// Its id.
    pub id: GroupId,
    /// Its name, often empty.
    pub name: String,
    /// The pattern of its members' URLs.
    pub url_pattern: String,
    /// Where its members are found. What it names may not be there any more: then it counts as
    /// none.
    pub source: Option<GroupSource>,
    /// Members are not downloaded because a page embeds them.
    pub do_not_download: bool,
}

impl ResourceGroup {
    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        let columns = RowColumns::of("resource_group", row, 0);
        Ok(Self {
            id: GroupId(columns.id()),
            name: columns.text(1, "name")?,
            url_pattern: columns.text(2, "url_pattern")?,
            source: GroupSource::read(&columns, 3, 4)?,
            do_not_download: columns.integer(5, "do_not_download")? != 0,
        })
    }

    /// The pattern, compiled as Crystal reads it: an `@` is the character itself.
    pub fn pattern(&self) -> GroupPattern {
        GroupPattern::new(&self.url_pattern, AtSign::Literal)
    }
}
