//! `varve crystal`: manages Crystal projects.

pub(super) mod import;
mod info;
mod project;
mod verify;

use std::path::PathBuf;

use varve_archive::verbs::crystal::OpenReport;

use crate::printer::{Printer, counted_bodies};
use crate::verb::{Error, ExitStatus, Session, Verb};

/// Manage Crystal projects
///
/// Reading verbs, such as `log`, `cat` and `diff`, work on a project with `-C museum.crystalproj`;
/// so do `capture` and `plan`, which write it. These verbs are for what only Crystal projects have.
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "\
Examples:
  varve crystal new museum
  varve crystal info museum.crystalproj --json
  varve crystal verify museum.crystalproj --repair
  varve crystal save-as museum.crystalproj copy.crystalproj"
)]
pub(super) struct CrystalArgs {
    #[command(subcommand)]
    verb: CrystalVerb,
}

#[derive(clap::Subcommand)]
enum CrystalVerb {
    New(project::CrystalNewArgs),
    Info(info::CrystalInfoArgs),
    Migrate(project::CrystalMigrateArgs),
    Verify(verify::CrystalVerifyArgs),
    SaveAs(project::CrystalSaveAsArgs),
    Property(project::CrystalPropertyArgs),
}

impl Verb for CrystalArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        match self.verb {
            CrystalVerb::New(verb) => verb.run(session),
            CrystalVerb::Info(verb) => verb.run(session),
            CrystalVerb::Migrate(verb) => verb.run(session),
            CrystalVerb::Verify(verb) => verb.run(session),
            CrystalVerb::SaveAs(verb) => verb.run(session),
            CrystalVerb::Property(verb) => verb.run(session),
        }
    }
}

/// Which project to use.
#[derive(clap::Args)]
struct ProjectPathArgs {
    /// The project: its folder or the opener in it; without it, the one named by `-C` or the nearest upwards
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
}

impl ProjectPathArgs {
    fn path(&self, session: &Session) -> Result<PathBuf, Error> {
        self.path.clone().map_or_else(|| session.root(), Ok)
    }
}

/// Reports changes and recoveries made when a project was opened.
pub(in crate::commands) fn say_opened(report: &OpenReport, printer: &mut Printer) {
    if !report.upgraded.added.is_empty() {
        printer.say(format_args!("upgraded the schema: {}", report.upgraded.added.join(", ")));
    }
    if let Some(done) = report.resumed_migration {
        let bodies = counted_bodies(done.moved);
        printer.say(format_args!("completed an interrupted migration: {bodies} moved"));
    }
    if let Some(revision) = report.undone_revision {
        printer.say(format_args!("revision {revision} was deleted, as Crystal does, because it has no body"));
    }
}
