//! `varve crystal new`: a project that holds nothing yet.

use std::path::PathBuf;

use varve_archive::verbs::crystal::MajorVersion;
use varve_archive::verbs::crystal::new::new;

use super::super::Outcome;
use crate::error::Error;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve crystal new museum.crystalproj
  varve crystal new museum --major-version 1";

/// Make a project that holds nothing yet, and print its folder
///
/// `.crystalproj` is added to a name that lacks it. What is there already is never touched.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct New {
    /// The project's folder
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// How bodies lie: 1 for one flat folder, 2 for a tree of folders
    #[arg(long, value_name = "N", default_value = "2", value_parser = ["1", "2"])]
    major_version: String,
}

impl New {
    pub(super) fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        session.must_write()?;
        let version = if self.major_version == "1" { MajorVersion::Flat } else { MajorVersion::Tree };
        let folder = new(&self.path, version)?;
        session.printer.line(folder.display())?;
        Ok(Outcome::Done)
    }
}
