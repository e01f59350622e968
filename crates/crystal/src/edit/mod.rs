//! Changing a project: roots, groups, aliases, properties, resources and revisions.
//!
//! Each change is one transaction that is durable when the call returns, and a change that the project's rules
//! forbid is refused before anything is written. What is read is in `rows`; what a URL means is in `identity`.

mod aliases;
mod groups;
mod properties;
mod resources;
mod restore;
mod revisions;
mod roots;

pub use groups::NewGroup;
pub use revisions::{NewRevision, Outcome};

use rusqlite::{Params, Transaction, TransactionBehavior};

use crate::error::{Error, Refusal, Result, database_at};
use crate::project::ProjectWriter;

impl ProjectWriter {
    /// Runs a change as one transaction: wholly, or, if it fails, not at all.
    pub(crate) fn change<T>(
        &self,
        what: &'static str,
        act: impl FnOnce(&Change<'_>) -> Result<T>,
    ) -> Result<T> {
        let failed = database_at(self.path());
        let begun = Transaction::new_unchecked(&self.project.connection, TransactionBehavior::Immediate);
        let change = Change { transaction: begun.map_err(&failed)?, writer: self };
        let value = act(&change)?;
        self.disk.before_commit(self.path(), what)?;
        change.transaction.commit().map_err(&failed)?;
        Ok(value)
    }
}

/// A transaction that is under way.
pub(crate) struct Change<'w> {
    transaction: Transaction<'w>,
    pub(crate) writer: &'w ProjectWriter,
}

impl Change<'_> {
    /// Runs one statement, and says how many rows it changed.
    pub(crate) fn run(&self, sql: &str, params: impl Params) -> Result<usize> {
        self.writer.project.execute(sql, params)
    }

    /// Runs one statement that must change a row of that kind.
    pub(crate) fn run_on(&self, what: &'static str, id: i64, sql: &str, params: impl Params) -> Result<()> {
        match self.run(sql, params)? {
            0 => Err(Refusal::Unknown { what, id }.into()),
            _ => Ok(()),
        }
    }

    /// Inserts a row and gives its id. A row that may not be there twice is refused as `taken`.
    pub(crate) fn insert(
        &self,
        sql: &str,
        params: impl Params,
        taken: impl FnOnce() -> String,
    ) -> Result<i64> {
        match self.run(sql, params) {
            Ok(_) => Ok(self.transaction.last_insert_rowid()),
            Err(error) if error.is_constraint() => Err(Refusal::Taken { what: taken() }.into()),
            Err(error) => Err(error),
        }
    }
}

/// An id that a row may be given: Crystal counts from 1.
pub(crate) fn fit_id(id: i64) -> Result<i64> {
    if id >= 1 { Ok(id) } else { Err(Error::Refused(Refusal::BadId { id })) }
}
