//! Is everything in a project as it should be? Rows, bodies, and each against the other.
//!
//! Findings are data and are handed on as they are found, so that a project of millions costs no
//! memory; only what keeps the looking itself from going on is an error. Repairing is in `repair`,
//! and asks here first.

mod advice;
mod bodies;
mod finding;
mod repair;
mod rows;

pub use finding::{FindingSeverity, ProjectFinding};
pub use repair::{FindingRepair, RepairSummary};

use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::project::Project;

/// Problems that SQLite reports at most.
const MAX_DATABASE_PROBLEMS: usize = 100;

/// How closely to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VerifyOptions {
    /// Let SQLite compare its file with itself, which reads all of it.
    pub check_database: bool,
    /// Read every body to its end, instead of only checking that it exists.
    pub read_bodies: bool,
}

/// Counts of the rows and bodies that were checked, and of the findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct VerifySummary {
    /// Revisions looked at.
    pub revisions: u64,
    /// Bodies found that a revision should have.
    pub bodies: u64,
    /// Bodies not found that a revision should have.
    pub missing_bodies: u64,
    /// The bytes of the bodies found.
    pub bytes: u64,
    /// Findings of all kinds. An older schema is reported and is none: a writer upgrades it.
    pub findings: u64,
}

/// A look at a project that is under way.
struct Verification<'a> {
    project: &'a Project,
    options: VerifyOptions,
    progress: &'a mut dyn FnMut(&VerifySummary),
    report: &'a mut dyn FnMut(ProjectFinding) -> Result<()>,
    verified: VerifySummary,
    /// Links that were reported in the place of bodies, or of folders on the way to them.
    reported_links: BTreeSet<PathBuf>,
    /// Whether findings are repaired as they are reported, which may delete rows.
    may_delete: bool,
}

impl Project {
    /// Looks at everything, and hands on what is wrong.
    pub fn verify(
        &self,
        options: VerifyOptions,
        report: &mut dyn FnMut(ProjectFinding),
    ) -> Result<VerifySummary> {
        self.verify_watched(options, &mut |_| {}, report)
    }

    /// The same, and tells after each revision how far it is.
    pub fn verify_watched(
        &self,
        options: VerifyOptions,
        progress: &mut dyn FnMut(&VerifySummary),
        report: &mut dyn FnMut(ProjectFinding),
    ) -> Result<VerifySummary> {
        self.look(options, false, progress, &mut |finding| {
            report(finding);
            Ok(())
        })
    }

    fn look(
        &self,
        options: VerifyOptions,
        may_delete: bool,
        progress: &mut dyn FnMut(&VerifySummary),
        report: &mut dyn FnMut(ProjectFinding) -> Result<()>,
    ) -> Result<VerifySummary> {
        let verified = VerifySummary::default();
        let reported_links = BTreeSet::new();
        let mut look =
            Verification { project: self, options, progress, report, verified, reported_links, may_delete };
        look.whole()?;
        look.rows()?;
        look.revisions()?;
        look.files()?;
        Ok(look.verified)
    }
}

impl Verification<'_> {
    fn found(&mut self, finding: ProjectFinding) -> Result<()> {
        let is_older_schema = matches!(finding, ProjectFinding::SchemaOlder { .. });
        self.verified.findings += u64::from(!is_older_schema);
        (self.report)(finding)
    }

    /// What is wrong with the project as a whole.
    fn whole(&mut self) -> Result<()> {
        if self.project.pending_migration()?.is_some() {
            self.found(ProjectFinding::MigrationUnfinished)?;
        }
        for name in self.project.lacking()? {
            self.found(ProjectFinding::SchemaOlder { name })?;
        }
        if self.options.check_database {
            for problem in self.project.check_database(MAX_DATABASE_PROBLEMS)? {
                self.found(ProjectFinding::DatabaseDamaged { problem })?;
            }
        }
        Ok(())
    }

    /// The row, unless it cannot be understood, which is a finding. Other errors end the look.
    fn readable<T>(&mut self, row: Result<T>) -> Result<Option<T>> {
        match row {
            Ok(row) => Ok(Some(row)),
            Err(Error::Row(error)) => self.found(error.into()).map(|()| None),
            Err(error) => Err(error),
        }
    }
}
