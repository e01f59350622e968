//! `varve crystal`: what only Crystal projects have. One file a verb below it.

pub(super) mod audit;
pub(super) mod import;
mod info;
mod migrate;
mod new;
mod property;
mod save_as;
mod verify;

use std::path::PathBuf;

use varve_archive::verbs::crystal::{Error as CrystalError, OpenReport};

use super::{Outcome, Verb};
use crate::error::Error;
use crate::printer::{Printer, counted};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve crystal new museum
  varve crystal info museum.crystalproj --json
  varve crystal verify museum.crystalproj --repair
  varve crystal save-as museum.crystalproj copy.crystalproj";

/// Work on Crystal projects
///
/// Everything that reads, such as `log`, `cat` and `diff`, works on a project with `-C museum.crystalproj`; so do `capture`
/// and `plan`, which write it. These verbs are for what only such projects have.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
pub(super) struct Crystal {
    #[command(subcommand)]
    verb: CrystalVerb,
}

#[derive(clap::Subcommand)]
enum CrystalVerb {
    New(new::New),
    Info(info::Info),
    Migrate(migrate::Migrate),
    Verify(verify::Verify),
    SaveAs(save_as::SaveAs),
    Property(property::Property),
}

impl Verb for Crystal {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
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

/// Which project is meant.
#[derive(clap::Args)]
struct Which {
    /// The project: its folder or the opener in it; without it, the one named by `-C` or the nearest upwards
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
}

impl Which {
    fn path(&self, session: &Session) -> Result<PathBuf, Error> {
        match &self.path {
            Some(path) => Ok(path.clone()),
            None => session.root(),
        }
    }
}

/// Says what had to be put in order when a project was opened.
pub(in crate::commands) fn say_opened(report: &OpenReport, printer: &mut Printer) {
    if !report.upgraded.added.is_empty() {
        printer.say(format_args!("added what newer projects have: {}", report.upgraded.added.join(", ")));
    }
    if let Some(moved) = report.resumed_migration {
        let bodies = counted(moved, "body").replace("bodys", "bodies");
        printer.say(format_args!("finished a migration that had been interrupted: {bodies} moved"));
    }
    if let Some(revision) = report.undone_revision {
        printer.say(format_args!("revision {revision} was deleted, as Crystal does: its body never came"));
    }
}

/// What can be done about a failure.
pub(crate) fn hint(failure: &CrystalError) -> Option<&'static str> {
    match failure {
        CrystalError::Absent { .. } => Some("`varve crystal new PATH` makes a project"),
        CrystalError::NotNamedSo { .. } => Some("the name of a project's folder ends with `.crystalproj`"),
        CrystalError::Partial { .. } => Some("copy the original again, with `varve crystal save-as`"),
        CrystalError::Exists { .. } => Some("choose another name"),
        CrystalError::TooNew { .. } => Some("a later varve may know it; nothing was changed"),
        CrystalError::NotWritten { .. } => Some("it can be read, and copied with `varve crystal save-as`"),
        CrystalError::ReadOnly { .. } => {
            Some("copy it with `varve crystal save-as` to a place that you may write to")
        }
        CrystalError::Locked { .. } => Some("wait until it has finished; reading needs no waiting"),
        CrystalError::InUse { .. } => Some("close the project there first; reading needs no waiting"),
        CrystalError::NoRoom { .. } => Some("make room on that disk, or choose another"),
        CrystalError::Io { source, .. } => crate::error::for_writing(source.kind()),
        _ => None,
    }
}
