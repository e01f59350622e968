//! `varve crystal new`: makes an empty project.

use std::path::PathBuf;

use varve_archive::verbs::crystal::MajorVersion;
use varve_archive::verbs::crystal::project::new;

use crate::verb::{Error, ExitStatus, Session};

/// Make an empty project, and print its folder
///
/// Adds `.crystalproj` to the name if it is missing. An existing file or folder is not changed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve crystal new museum.crystalproj
  varve crystal new museum --major-version 1")]
pub(super) struct CrystalNewArgs {
    /// The folder of the project
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Layout of bodies: 1 for one flat folder, 2 for a tree of folders
    #[arg(long, value_name = "N", default_value = "2", value_parser = ["1", "2"])]
    major_version: String,
}

impl CrystalNewArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        session.require_writable()?;
        let version = if self.major_version == "1" { MajorVersion::Flat } else { MajorVersion::Tree };
        let folder = new(&self.path, version)?;
        session.printer.line(folder.display())?;
        Ok(ExitStatus::Done)
    }
}
