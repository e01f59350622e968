//! What only Crystal projects have. One file a verb below it.
//!
//! The work is that of `varve-crystal`; here it is opened in the way that each verb needs, and its words are handed on,
//! so that a caller needs this crate alone.

pub mod capture;
pub mod export;
mod fact;
pub mod import;
pub mod info;
pub mod migrate;
pub mod new;
pub(crate) mod plan;
pub mod property;
pub mod save_as;
mod seal;
pub mod verify;
pub mod warc;

pub use varve_crystal::{
    DatabaseReadMode, Error, FindingRepair, FindingSeverity, GroupInfo, MajorVersion, OpenReport,
    PROJECT_SUFFIX, ProjectFinding, ProjectInfo, RepairSummary, VerifySummary,
};
