//! `crystal migrate`: from the flat folder of bodies to the tree.

use std::ops::ControlFlow;
use std::path::Path;

use varve_crystal::{MajorVersion, MigrationProgress, OpenOptions, OpenReport, Project, ProjectWriter};

use crate::error::ArchiveError;

/// What a migration came to.
#[derive(Debug)]
pub struct Migrated {
    /// The version it was of.
    pub from: MajorVersion,
    /// The version it is of.
    pub to: MajorVersion,
    /// Bodies that were moved, be it to finish what another began.
    pub moved: u64,
    /// What opening it put in order.
    pub opened: OpenReport,
}

/// Migrates a project, or finishes what was begun. `progress` hears how many bodies were moved, and of how many at most.
pub fn migrate(path: &Path, progress: &dyn Fn(u64, u64)) -> Result<Migrated, ArchiveError> {
    let from = Project::open(path)?.version();
    let mut tell = |MigrationProgress { moved, expected }: MigrationProgress| {
        progress(moved, expected);
        ControlFlow::Continue(())
    };
    // A row whose body never came is not this verb's business: `verify --repair` deals with it, and keeps what it says.
    let options =
        OpenOptions { on_progress: Some(&mut tell), keep_last_without_body: true, ..OpenOptions::default() };
    let mut writer = ProjectWriter::open_with(path, options)?;
    let opened = writer.report().clone();
    let moved = writer.migrate(&mut tell)? + opened.resumed_migration.unwrap_or(0);
    let to = writer.version();
    writer.close()?;
    Ok(Migrated { from, to, moved, opened })
}
