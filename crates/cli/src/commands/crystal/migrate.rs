//! `varve crystal migrate`: from the flat folder of bodies to the tree.

use std::cell::{Cell, RefCell};

use serde::Serialize;
use varve_archive::verbs::crystal::MajorVersion;
use varve_archive::verbs::crystal::migrate::migrate;
use varve_archive::verbs::crystal::verify::revisions_at_most;

use super::super::Outcome;
use super::{Which, say_opened};
use crate::error::Error;
use crate::printer::counted;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve crystal migrate museum.crystalproj
  varve -C museum.crystalproj crystal migrate --json";

/// Move a project's bodies from one flat folder into a tree
///
/// From major version 1 to 2, as Crystal does it. It may be interrupted at any instant: varve or Crystal goes on with it
/// when the project is next opened for writing. States in which Crystal gives up are completed. A project that is of a
/// later version stays as it is. Nothing is deleted: what is no body goes to the folder `salvage`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Migrate {
    #[command(flatten)]
    which: Which,

    /// Print one JSON object: `from`, `to`, `moved`
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Line {
    from: MajorVersion,
    to: MajorVersion,
    moved: u64,
}

impl Migrate {
    pub(super) fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        session.must_write()?;
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
            let line = Line { from: migrated.from, to: migrated.to, moved: migrated.moved };
            printer.json(&line)?;
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
        Ok(Outcome::Done)
    }
}
