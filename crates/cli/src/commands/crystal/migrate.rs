//! `varve crystal migrate`: moves bodies from a flat folder into a tree.

use std::cell::{Cell, RefCell};

use serde_json::json;
use varve_archive::verbs::crystal::project::migrate;
use varve_archive::verbs::crystal::verify::revisions_at_most;

use super::{ProjectPathArgs, say_opened};
use crate::printer::counted;
use crate::verb::{Error, ExitStatus, Session};

/// Move the bodies of a project from a flat folder into a tree
///
/// Migrates from major version 1 to 2, as Crystal does. If it is interrupted, varve or Crystal
/// continues when the project is next opened for writing. States in which Crystal fails are
/// completed. A project of a later version stays as it is. Nothing is deleted: files that are not
/// bodies are moved to the folder `salvage`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve crystal migrate museum.crystalproj
  varve -C museum.crystalproj crystal migrate --json")]
pub(super) struct CrystalMigrateArgs {
    #[command(flatten)]
    which: ProjectPathArgs,

    /// Print one JSON object: `from`, `to`, `moved`
    #[arg(long)]
    json: bool,
}

impl CrystalMigrateArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        session.require_writable()?;
        let path = self.which.path(session)?;
        let printer = RefCell::new(&mut session.printer);
        let bar = printer.borrow_mut().progress(Some(revisions_at_most(&path)?), "bodies");
        let told = Cell::new(0);
        let migrated = migrate(&path, &|moved, _| {
            bar.inc(moved.saturating_sub(told.replace(moved)));
        })?;
        let printer = printer.into_inner();
        say_opened(&migrated.opened, printer);
        if self.json {
            printer.json(&json!({ "from": migrated.from, "to": migrated.to, "moved": migrated.moved }))?;
        } else if migrated.from == migrated.to && migrated.opened.resumed_migration.is_some() {
            printer
                .line(format_args!("major version {}: the migration is complete", migrated.to.number()))?;
        } else if migrated.from == migrated.to && migrated.moved == 0 {
            printer.line(format_args!("nothing to do: major version {}", migrated.to.number()))?;
        } else {
            let moved = counted(migrated.moved, "file");
            printer.line(format_args!(
                "major version {} to {}: {moved} moved",
                migrated.from.number(),
                migrated.to.number()
            ))?;
        }
        Ok(ExitStatus::Done)
    }
}
