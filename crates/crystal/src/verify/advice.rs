//! What a person can do about a finding: what is left to do after it was repaired, and what to do
//! where nobody may guess.

use super::ProjectFinding;

impl ProjectFinding {
    /// What is left to do once it was repaired, where something is.
    pub(super) const fn after_repair(&self) -> Option<&'static str> {
        Some(match self {
            Self::BodyMissing { .. } => "capture the page again; the file in `salvage` names its URL",
            Self::BodyWithoutRow { .. } => "look at it: no row says which page it is of",
            Self::BodyOfError { .. } => "look at it: it may be what was downloaded before the error",
            Self::MetadataUnreadable { .. } => "capture the page again if its headers matter",
            Self::SourceDangling { .. } | Self::SourceCycle { .. } | Self::SourceUnknown { .. } => {
                "if it should have one, remove the group and add it with `varve plan group add --found-on`"
            }
            Self::RootWithoutResource { .. } => "add it again with `varve plan root add URL`",
            Self::HibernatedUnreadable { .. } => "begin those downloads again",
            _ => return None,
        })
    }

    /// What to do about it where nothing could be done without guessing.
    pub(super) const fn by_hand(&self) -> &'static str {
        match self {
            Self::BodyMissing { .. } => {
                "more bodies are missing than are there: see that the disk of `revisions` is mounted, or bring the files \
                 back from a copy, and verify again"
            }
            Self::BodyUnreadable { .. } => {
                "bring the file back from a copy, or remove it, repair, and capture the page again"
            }
            Self::PackUnreadable { .. } => "bring the pack back from a copy; other packs are not concerned",
            Self::RevisionWithoutResource { .. } => {
                "nothing says of which page it is: look at its body, and give `resource_revision.resource_id` the id of \
                 the right resource with `sqlite3`, or delete the row"
            }
            Self::IdOutOfRange { .. } => "delete the row with `sqlite3`: no program can read a body for it",
            Self::RowUnreadable { .. } => {
                "put the value right with `sqlite3`, on a copy of the project first"
            }
            Self::DatabaseDamaged { .. } => {
                "copy the project, bring `database.sqlite` back from a copy, or let `sqlite3` save what it can: `.recover`"
            }
            Self::SchemaOlder { .. } => {
                "rows stand in the way: put right what else was found, and repair again"
            }
            _ => "nothing was done; verify again, and report what it says",
        }
    }
}
