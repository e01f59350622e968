//! The move of HEAD that a writer is about to make, as a row of `varve_state`.
//!
//! A commit stores it in the transaction that makes its version. The row stays until the writer has
//! moved HEAD; a writer that finds one completes the move. Moku knows neither the row nor the lock of
//! varve, so the row also says where HEAD was: if HEAD is at neither end, it was moved since.

use std::fmt;
use std::str::FromStr;

use rusqlite::Connection;
use varve_core::VersionId;
use varve_core::catalog::{CatalogResult, CatalogRow};
use varve_sqlite::{SqlResult, execute, parsed_state};

use crate::create_tables::MokuTables;
use crate::{MokuCatalog, schema, write};

/// The key of the row.
const INTENDED_HEAD_KEY: &str = "intended_head";

/// A move of HEAD that a writer is about to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntendedHead {
    /// The target version.
    pub to: VersionId,
    /// The previous version, if any.
    pub from: Option<VersionId>,
}

impl IntendedHead {
    /// Whether the intent is still valid: HEAD is at its previous or its target version. Otherwise
    /// HEAD has been moved since, and the intent is obsolete.
    pub fn stands(&self, head: Option<VersionId>) -> bool {
        self.from.is_none() || head.is_none() || head == self.from || head == Some(self.to)
    }
}

impl fmt::Display for IntendedHead {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.from {
            Some(from) => write!(formatter, "{} {from}", self.to),
            None => write!(formatter, "{}", self.to),
        }
    }
}

impl FromStr for IntendedHead {
    type Err = <VersionId as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (to, from) = text.split_once(' ').map_or((text, None), |(to, from)| (to, Some(from)));
        Ok(Self { to: to.parse()?, from: from.map(str::parse).transpose()? })
    }
}

fn store(connection: &Connection, intended: IntendedHead) -> SqlResult<()> {
    schema::set_setting(connection, INTENDED_HEAD_KEY, &intended.to_string())
}

impl MokuCatalog {
    /// The intended move of HEAD, if a writer has not completed one.
    pub fn intended_head(&self) -> CatalogResult<Option<IntendedHead>> {
        self.query(|connection| parsed_state::<MokuTables, _>(connection, INTENDED_HEAD_KEY))
    }

    /// Records the intended move of HEAD, in place of any other.
    pub fn intend_head(&self, intended: IntendedHead) -> CatalogResult<()> {
        self.write(|connection| store(connection, intended))
    }

    /// Stores the rows of a new version together with the intended move of HEAD to it.
    pub fn enter_version(&self, rows: Vec<CatalogRow>, intended: IntendedHead) -> CatalogResult<()> {
        self.write(|connection| {
            write::apply(connection, &mut rows.into_iter())?;
            store(connection, intended)
        })
    }

    /// Removes the intended move of HEAD. Does not wait for the disk: if a power cut brings the row
    /// back, HEAD is at its target.
    pub fn clear_intended_head(&self) -> CatalogResult<()> {
        let sql = "DELETE FROM varve_state WHERE key = ?1";
        self.write_unsynced(|connection| execute(connection, sql, [INTENDED_HEAD_KEY]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intended_move_is_read_as_it_was_written() {
        let [one, two, three] = [1, 2, 3]
            .map(|number| format!("{number:08}-0000-4000-8000-000000000000").parse().expect("an id"));
        for from in [None, Some(two)] {
            let intended = IntendedHead { to: one, from };
            assert_eq!(intended.to_string().parse(), Ok(intended));
            assert!(intended.stands(Some(one)) && intended.stands(from) && intended.stands(None));
        }
        assert!(!IntendedHead { to: one, from: Some(two) }.stands(Some(three)));
        assert!("no id".parse::<IntendedHead>().is_err());
    }
}
