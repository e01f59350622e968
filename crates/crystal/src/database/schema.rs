//! The tables and indexes of a project: made anew, or brought up to date when a project is opened
//! for writing.
//!
//! Names and columns are the format's. The texts of the indexes quote their strings singly where
//! Crystal quotes them doubly: Crystal asks for an index by its name alone, the planner takes both
//! for the same, and an SQLite built without double-quoted strings can still vacuum a database
//! whose indexes are quoted so.
//!
//! Each upgrade stands alone and is skipped when it fails because of what rows hold: a project with
//! one piece of broken metadata is not to be shut out for want of an index that only makes a search
//! faster.

use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction};

use crate::version::MajorVersion;

/// The tables that every project has had since the first.
const FIRST_TABLES: [&str; 5] = [
    "CREATE TABLE project_property (name text unique not null, value text)",
    "CREATE TABLE resource (id integer primary key, url text unique not null)",
    "CREATE TABLE root_resource (id integer primary key, name text not null, \
     resource_id integer unique not null, foreign key (resource_id) references resource(id))",
    "CREATE TABLE resource_group (id integer primary key, name text not null, url_pattern text not null, \
     source_type text, source_id integer, do_not_download integer not null default 0)",
    "CREATE TABLE resource_revision (id integer primary key, resource_id integer not null, \
     request_cookie text, error text not null, metadata text not null)",
];

/// Parts of the schema that older projects lack, each with the query that finds it.
const SCHEMA_ADDITIONS: [Addition; 7] = [
    Addition::column("resource_group", "do_not_download", "integer not null default 0"),
    Addition::column("resource_revision", "request_cookie", "text"),
    Addition::index(
        "resource_revision__resource_id",
        "CREATE INDEX resource_revision__resource_id on resource_revision (resource_id)",
    ),
    Addition::index(
        "resource_revision__error_not_null",
        "CREATE INDEX resource_revision__error_not_null on resource_revision (id, resource_id) \
         where error != 'null'",
    ),
    Addition::index(
        "resource_revision__request_cookie_not_null",
        "CREATE INDEX resource_revision__request_cookie_not_null on resource_revision (id, request_cookie) \
         where request_cookie is not null",
    ),
    Addition::index(
        "resource_revision__status_code",
        "CREATE INDEX resource_revision__status_code on resource_revision \
         (json_extract(metadata, '$.status_code'), resource_id) \
         where json_extract(metadata, '$.status_code') != 200",
    ),
    Addition::table(
        "alias",
        "CREATE TABLE alias (id integer primary key, source_url_prefix text unique not null, \
         target_url_prefix text not null, target_is_external integer not null default 0)",
    ),
];

enum Addition {
    Column { table: &'static str, name: &'static str, definition: &'static str },
    Made { kind: &'static str, name: &'static str, statement: &'static str },
}

impl Addition {
    const fn column(table: &'static str, name: &'static str, definition: &'static str) -> Self {
        Self::Column { table, name, definition }
    }

    const fn index(name: &'static str, statement: &'static str) -> Self {
        Self::Made { kind: "index", name, statement }
    }

    const fn table(name: &'static str, statement: &'static str) -> Self {
        Self::Made { kind: "table", name, statement }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Column { name, .. } | Self::Made { name, .. } => name,
        }
    }

    fn is_there(&self, connection: &Connection) -> rusqlite::Result<bool> {
        match self {
            Self::Column { table, name, .. } => has_column(connection, table, name),
            Self::Made { kind, name, .. } => connection
                .query_row("SELECT 1 FROM sqlite_schema WHERE type = ?1 AND name = ?2", [kind, name], |_| {
                    Ok(())
                })
                .optional()
                .map(|found| found.is_some()),
        }
    }

    fn statement(&self) -> String {
        match self {
            Self::Column { table, name, definition } => {
                format!("ALTER TABLE {table} ADD COLUMN {name} {definition}")
            }
            Self::Made { statement, .. } => (*statement).to_owned(),
        }
    }
}

/// Whether there is an index on status codes.
pub(crate) fn has_status_index(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .query_row(
            "SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = 'resource_revision__status_code' \
             AND tbl_name = 'resource_revision' AND sql LIKE '%json_extract(metadata,%'",
            [],
            |_| Ok(()),
        )
        .optional()
        .map(|found| found.is_some())
}

pub(crate) fn has_column(connection: &Connection, table: &str, column: &str) -> rusqlite::Result<bool> {
    connection
        .query_row("SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2", [table, column], |_| Ok(()))
        .optional()
        .map(|found| found.is_some())
}

/// Makes the tables, indexes and first properties of a new project.
pub(crate) fn create(connection: &Connection, version: MajorVersion) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    for table in FIRST_TABLES {
        transaction.execute_batch(table)?;
    }
    upgrade(&transaction)?;
    let insert = "INSERT INTO project_property (name, value) VALUES (?1, ?2)";
    transaction.execute(insert, ["major_version", &version.number().to_string()])?;
    transaction.execute(insert, ["html_parser_type", "lxml"])?;
    transaction.commit()
}

/// Adds missing tables, columns and indexes. Returns the names of the additions, and of those that
/// existing rows prevent.
pub(crate) fn upgrade(transaction: &Transaction<'_>) -> rusqlite::Result<Upgraded> {
    let mut upgraded = Upgraded::default();
    for addition in &SCHEMA_ADDITIONS {
        if addition.is_there(transaction)? {
            continue;
        }
        match attempt(transaction, &addition.statement()) {
            Ok(()) => upgraded.added.push(addition.name()),
            Err(error) if is_about_rows(&error) => upgraded.skipped.push(addition.name()),
            Err(error) => return Err(error),
        }
    }
    Ok(upgraded)
}

/// The names of what newer projects have and this one has not.
pub(crate) fn lacking(connection: &Connection) -> rusqlite::Result<Vec<&'static str>> {
    let mut names = Vec::new();
    for addition in &SCHEMA_ADDITIONS {
        if !addition.is_there(connection)? {
            names.push(addition.name());
        }
    }
    Ok(names)
}

/// What an upgrade did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Upgraded {
    /// The columns, indexes and tables that were added.
    pub added: Vec<&'static str>,
    /// Those that could not be added, because of what some row holds.
    pub skipped: Vec<&'static str>,
}

fn attempt(transaction: &Transaction<'_>, statement: &str) -> rusqlite::Result<()> {
    transaction.execute_batch("SAVEPOINT addition")?;
    let done = transaction.execute_batch(statement);
    if done.is_err() {
        transaction.execute_batch("ROLLBACK TO addition")?;
    }
    transaction.execute_batch("RELEASE addition")?;
    done
}

/// Broken JSON shows as a plain error; a value past the limit as one of its own.
fn is_about_rows(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::Unknown | ErrorCode::TooBig | ErrorCode::ConstraintViolation)
    )
}
