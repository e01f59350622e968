//! The verbs for Crystal projects.
//!
//! `varve-crystal` does the work. This module opens projects as each verb needs it and re-exports
//! the types, so that a caller needs this crate alone.

pub mod capture;
pub mod export;
mod fact;
mod hibernated_tasks;
pub mod import;
pub(crate) mod plan;
pub mod project;
mod seal;
pub mod verify;
pub mod warc;

pub use varve_crystal::{
    DatabaseReadMode, Error, FindingRepair, FindingSeverity, GroupInfo, MajorVersion, MigrationStage,
    OpenReport, PROJECT_SUFFIX, PendingMigration, ProjectFinding, ProjectInfo, RepairSummary, RevisionSearch,
    VerifySummary,
};
