//! Groups: resources whose URLs match one pattern, found where the group's source links to them.
//!
//! Which resources are members is asked in `members`, of the pattern in `varve_core`; here is only the row.

use rusqlite::Row;
use varve_core::pattern::{AtSign, GroupPattern};

use super::{ColumnProblem, Columns};
use crate::database::stream::Stream;
use crate::error::Result;
use crate::ids::{GroupId, RootId};
use crate::project::Project;

/// Where a group's members are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// On the page of a root.
    Root(RootId),
    /// On the pages of another group.
    Group(GroupId),
}

impl Source {
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

    fn read(columns: &Columns<'_, '_>, word: usize, number: usize) -> Result<Option<Self>> {
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its id.
    pub id: GroupId,
    /// Its name, often empty.
    pub name: String,
    /// The pattern of its members' URLs.
    pub url_pattern: String,
    /// Where its members are found. What it names may not be there any more: then it counts as none.
    pub source: Option<Source>,
    /// Members are not downloaded because a page embeds them.
    pub do_not_download: bool,
}

impl Group {
    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        let columns = Columns::of("resource_group", row, 0);
        Ok(Self {
            id: GroupId(columns.id()),
            name: columns.text(1, "name")?,
            url_pattern: columns.text(2, "url_pattern")?,
            source: Source::read(&columns, 3, 4)?,
            do_not_download: columns.integer(5, "do_not_download")? != 0,
        })
    }

    /// The pattern, compiled as Crystal reads it: an `@` is the character itself.
    pub fn pattern(&self) -> GroupPattern {
        GroupPattern::new(&self.url_pattern, AtSign::Literal)
    }
}

impl Project {
    fn group_columns(&self) -> String {
        let last = self.shape.do_not_download();
        format!("SELECT id, name, url_pattern, source_type, source_id, {last} FROM resource_group")
    }

    /// The group with that id.
    pub fn group(&self, id: GroupId) -> Result<Option<Group>> {
        self.one(&format!("{} WHERE id = ?1", self.group_columns()), [id], Group::read)
    }

    /// All groups, in the order of their ids.
    pub fn groups(&self) -> Stream<'_, Group> {
        self.by_id(&format!("{} WHERE id >= ?1 ORDER BY id", self.group_columns()), Group::read)
    }

    /// The group's source, if what it names is there.
    pub fn source_of(&self, group: &Group) -> Result<Option<Source>> {
        let found = match group.source {
            Some(Source::Root(id)) => self.root(id)?.is_some(),
            Some(Source::Group(id)) => self.group(id)?.is_some(),
            None => false,
        };
        Ok(group.source.filter(|_| found))
    }
}
