//! What can be wrong with a project, as data.

use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

use crate::format_error::RowError;
use crate::ids::{AliasId, GroupId, ResourceId, RevisionId, RootId};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    /// Untidy, and harmless.
    Note,
    /// Something does not mean what it should, or is slower than it could be.
    Warning,
    /// Something is lost, or Crystal would not open the project.
    Damage,
}

/// One thing that is wrong with a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ProjectFinding {
    /// A migration was begun and not finished.
    MigrationUnfinished,
    /// A revision without an error has no body.
    BodyMissing {
        /// The revision.
        revision: RevisionId,
        /// Where its body should be.
        expected: PathBuf,
    },
    /// A body cannot be read to its end.
    BodyUnreadable {
        /// The revision.
        revision: RevisionId,
        /// Why.
        problem: String,
    },
    /// A body belongs to no revision.
    BodyWithoutRow {
        /// The id that its name says.
        revision: RevisionId,
        /// Its file.
        path: PathBuf,
    },
    /// A revision with an error has a body.
    BodyOfError {
        /// The revision.
        revision: RevisionId,
        /// The file.
        path: PathBuf,
    },
    /// A file among the bodies that is none.
    StrayFile {
        /// The file.
        path: PathBuf,
    },
    /// A pack cannot be read.
    PackUnreadable {
        /// The pack.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// A revision's metadata is not what metadata is.
    MetadataUnreadable {
        /// The revision.
        revision: RevisionId,
        /// Why.
        problem: String,
    },
    /// A revision's error is not what an error is.
    ErrorUnreadable {
        /// The revision.
        revision: RevisionId,
        /// Why.
        problem: String,
    },
    /// A revision's error is `null` among spaces: searches take it for an error.
    ErrorPadded {
        /// The revision.
        revision: RevisionId,
    },
    /// An id for which there can be no file.
    IdOutOfRange {
        /// The revision.
        revision: RevisionId,
    },
    /// A revision of a resource that is not there.
    RevisionWithoutResource {
        /// The revision.
        revision: RevisionId,
        /// The resource that is not there.
        resource: ResourceId,
    },
    /// A root for a resource that is not there: Crystal does not open such a project.
    RootWithoutResource {
        /// The root.
        root: RootId,
        /// The resource that is not there.
        resource: ResourceId,
    },
    /// A group whose source is not there.
    SourceDangling {
        /// The group.
        group: GroupId,
    },
    /// A group whose source leads back to itself.
    SourceCycle {
        /// The group.
        group: GroupId,
    },
    /// A group with a kind of source that Crystal does not know: it does not open such a project.
    SourceUnknown {
        /// The group.
        group: GroupId,
        /// The word for the kind.
        word: String,
    },
    /// A group with an empty pattern: Crystal does not open such a project.
    PatternEmpty {
        /// The group.
        group: GroupId,
    },
    /// An alias with a prefix that does not end with a slash: Crystal does not open such a project.
    AliasUnsound {
        /// The alias.
        alias: AliasId,
    },
    /// A row with a value that cannot be understood.
    RowUnreadable {
        /// The table.
        table: &'static str,
        /// The row.
        id: i64,
        /// The column.
        column: &'static str,
        /// What is wrong with the value.
        problem: String,
    },
    /// The tasks to continue cannot be read.
    HibernatedUnreadable {
        /// Why.
        problem: String,
    },
    /// A column, index or table that newer projects have is not there.
    SchemaOlder {
        /// Its name.
        name: &'static str,
    },
    /// SQLite finds its own file damaged.
    DatabaseDamaged {
        /// What it says.
        problem: String,
    },
}

impl ProjectFinding {
    /// How bad it is.
    pub const fn severity(&self) -> FindingSeverity {
        match self {
            Self::MigrationUnfinished
            | Self::BodyWithoutRow { .. }
            | Self::BodyOfError { .. }
            | Self::StrayFile { .. }
            | Self::SchemaOlder { .. } => FindingSeverity::Note,
            Self::SourceDangling { .. }
            | Self::SourceCycle { .. }
            | Self::RevisionWithoutResource { .. }
            | Self::HibernatedUnreadable { .. }
            | Self::ErrorPadded { .. }
            | Self::ErrorUnreadable { .. } => FindingSeverity::Warning,
            _ => FindingSeverity::Damage,
        }
    }
}

impl From<RowError> for ProjectFinding {
    fn from(error: RowError) -> Self {
        use crate::format_error::ColumnProblem::UnknownWord;
        match error {
            RowError { table: "resource_group", id, column: "source_type", problem: UnknownWord(word) } => {
                Self::SourceUnknown { group: GroupId(id), word }
            }
            RowError { table, id, column, problem } => {
                Self::RowUnreadable { table, id, column, problem: problem.to_string() }
            }
        }
    }
}

impl fmt::Display for ProjectFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MigrationUnfinished => write!(f, "a migration was begun and not finished"),
            Self::BodyMissing { revision, expected } => {
                write!(f, "revision {revision} has no body at `{}`", expected.display())
            }
            Self::BodyUnreadable { revision, problem } => {
                write!(f, "the body of revision {revision} cannot be read: {problem}")
            }
            Self::BodyWithoutRow { path, .. } => write!(f, "`{}` belongs to no revision", path.display()),
            Self::BodyOfError { revision, path } => {
                write!(f, "revision {revision} records an error and has a body at `{}`", path.display())
            }
            Self::StrayFile { path } => write!(f, "`{}` is no body", path.display()),
            Self::PackUnreadable { path, problem } => {
                write!(f, "the pack `{}` cannot be read: {problem}", path.display())
            }
            Self::MetadataUnreadable { revision, problem } => {
                write!(f, "the metadata of revision {revision} cannot be read: {problem}")
            }
            Self::ErrorUnreadable { revision, problem } => {
                write!(f, "the error of revision {revision} cannot be read: {problem}")
            }
            Self::ErrorPadded { revision } => {
                write!(
                    f,
                    "the error of revision {revision} is `null` among spaces, which searches take for an error"
                )
            }
            Self::IdOutOfRange { revision } => {
                write!(f, "revision {revision} has an id that no body can have")
            }
            Self::RevisionWithoutResource { revision, resource } => {
                write!(f, "revision {revision} is of resource {resource}, which is not there")
            }
            Self::RootWithoutResource { root, resource } => {
                write!(f, "root {root} is for resource {resource}, which is not there")
            }
            Self::SourceDangling { group } => write!(f, "the source of group {group} is not there"),
            Self::SourceCycle { group } => write!(f, "the source of group {group} leads back to itself"),
            Self::SourceUnknown { group, word } => {
                write!(f, "the source of group {group} is of the unknown kind {word:?}")
            }
            Self::PatternEmpty { group } => write!(f, "the pattern of group {group} is empty"),
            Self::AliasUnsound { alias } => write!(f, "a prefix of alias {alias} does not end with `/`"),
            Self::RowUnreadable { table, id, column, problem } => {
                write!(f, "row {id} of table `{table}` has {problem} in column `{column}`")
            }
            Self::HibernatedUnreadable { problem } => {
                write!(f, "the tasks to go on with cannot be read: {problem}")
            }
            Self::SchemaOlder { name } => write!(f, "the database has no `{name}`"),
            Self::DatabaseDamaged { problem } => write!(f, "the database is damaged: {problem}"),
        }
    }
}
