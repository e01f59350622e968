//! The numbers of a project's rows, one type for each table, so that a root's id is never taken for
//! a group's.
//!
//! Each is SQLite's rowid: any 64-bit number may stand in a hostile database, negative ones too, so
//! that an id is not proof of anything. What may become the name of a file is decided in
//! `body::place`, not here.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! row_ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl $name {
            /// The number.
            pub const fn get(self) -> i64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl rusqlite::ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                self.0.to_sql()
            }
        }
    )*};
}

row_ids! {
    /// The id of a resource: a URL that was ever seen.
    ResourceId
    /// The id of a root resource: a place to begin at.
    RootId
    /// The id of a group of resources.
    GroupId
    /// The id of a revision: one download of a resource. The name of its body's file comes from it.
    RevisionId
    /// The id of an alias.
    AliasId
}
