//! The rows of a project, typed: properties, resources, roots, groups, aliases and revisions, as
//! they are read.
//!
//! SQLite lets any value stand in any column, and a project may come from a stranger, so that each
//! value is checked as it is read; a row with a wrong one is a [`RowError`] that names it. Changing
//! rows is in `edit`.

mod alias;
mod group;
mod hibernated;
mod property;
mod resource;
mod revision;
mod root;

pub use alias::ProjectAlias;
pub use group::{GroupSource, ResourceGroup};
pub use hibernated::{GroupProgress, HibernatedState, HibernatedTask};
pub use property::property_name;
pub(crate) use property::{expected_value, property_name_of, property_text};
pub use resource::Resource;
pub use revision::Revision;
pub use root::RootResource;

use rusqlite::Row;
use rusqlite::types::{Type, ValueRef};

use crate::format_error::{ColumnProblem, RowError};

/// One row of a table, with its id for errors.
pub(crate) struct RowColumns<'r, 's> {
    table: &'static str,
    row: &'r Row<'s>,
    id: i64,
}

impl<'r, 's> RowColumns<'r, 's> {
    /// The row of a table; its id is in the column with the number `id`.
    pub(crate) fn of(table: &'static str, row: &'r Row<'s>, id: usize) -> Self {
        let id = row.get_ref(id).ok().and_then(|value| value.as_i64().ok()).unwrap_or_default();
        Self { table, row, id }
    }

    pub(crate) const fn id(&self) -> i64 {
        self.id
    }

    pub(crate) fn error(&self, column: &'static str, problem: ColumnProblem) -> RowError {
        RowError { table: self.table, id: self.id, column, problem }
    }

    fn value(&self, index: usize, column: &'static str) -> Result<ValueRef<'_>, RowError> {
        self.row.get_ref(index).map_err(|_| self.error(column, ColumnProblem::WrongType(Type::Null)))
    }

    pub(crate) fn text(&self, index: usize, column: &'static str) -> Result<String, RowError> {
        match self.optional_text(index, column)? {
            Some(text) => Ok(text),
            None => Err(self.error(column, ColumnProblem::WrongType(Type::Null))),
        }
    }

    pub(crate) fn optional_text(
        &self,
        index: usize,
        column: &'static str,
    ) -> Result<Option<String>, RowError> {
        match self.value(index, column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(text.to_owned())),
                Err(_) => Err(self.error(column, ColumnProblem::NotUtf8)),
            },
            other => Err(self.error(column, ColumnProblem::WrongType(other.data_type()))),
        }
    }

    pub(crate) fn integer(&self, index: usize, column: &'static str) -> Result<i64, RowError> {
        match self.optional_integer(index, column)? {
            Some(number) => Ok(number),
            None => Err(self.error(column, ColumnProblem::WrongType(Type::Null))),
        }
    }

    pub(crate) fn optional_integer(
        &self,
        index: usize,
        column: &'static str,
    ) -> Result<Option<i64>, RowError> {
        match self.value(index, column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(number) => Ok(Some(number)),
            other => Err(self.error(column, ColumnProblem::WrongType(other.data_type()))),
        }
    }
}
