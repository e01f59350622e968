//! `crystal migrate`: moves bodies from the flat folder to the tree.

use std::ops::ControlFlow;
use std::path::Path;

use varve_crystal::{MajorVersion, MigrationProgress, OpenOptions, OpenReport, Project, ProjectWriter};

use crate::error::ArchiveError;

/// The result of a migration.
#[derive(Debug)]
pub struct Migrated {
    /// The version before.
    pub from: MajorVersion,
    /// The version after.
    pub to: MajorVersion,
    /// Number of bodies moved, including those of a migration begun earlier.
    pub moved: u64,
    /// Repairs made when the project was opened.
    pub opened: OpenReport,
}

/// Migrates a project, or completes an interrupted migration. `progress` is called with the number
/// of bodies moved and its maximum.
pub fn migrate(path: &Path, progress: &dyn Fn(u64, u64)) -> Result<Migrated, ArchiveError> {
    let from = Project::open(path)?.version();
    let mut tell = |MigrationProgress { moved, expected }: MigrationProgress| {
        progress(moved, expected);
        ControlFlow::Continue(())
    };
    // Rows without a body are left to `verify --repair`, which preserves their contents.
    let options =
        OpenOptions { on_progress: Some(&mut tell), keep_last_without_body: true, ..OpenOptions::default() };
    let mut writer = ProjectWriter::open_with(path, options)?;
    let opened = writer.report().clone();
    let moved = writer.migrate(&mut tell)? + opened.resumed_migration.unwrap_or(0);
    let to = writer.version();
    writer.close()?;
    Ok(Migrated { from, to, moved, opened })
}
