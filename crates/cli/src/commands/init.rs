//! `varve init`: makes an archive.

use std::path::PathBuf;

use varve_archive::verbs::init::init;
use varve_archive::{ArchiveSettings, PackingMethod, Size};

use super::{Outcome, Verb};
use crate::error::Error;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve init
  varve init museum
  varve init museum --contact mailto:archive@museum.example
  varve init museum --name 'The lake' --silo-size '4 GiB' --packing zstd";

/// Make an archive
///
/// The folder is made if need be; one that holds anything is refused. What is chosen here stands in `varve.toml` and
/// can be changed there: silos that exist stay as they are, and the next one follows.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Init {
    /// The folder; the current one without it
    #[arg(value_name = "DIR", default_value = ".", hide_default_value = true)]
    folder: PathBuf,

    /// What the archive is called; each silo says it. Without it, the name of the folder
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Who keeps the archive; each silo says it
    #[arg(long, value_name = "WHO")]
    operator: Option<String>,

    /// An address under which whoever runs the sites that are captured can reach you; it is sent with each request
    #[arg(long, value_name = "URL")]
    contact: Option<String>,

    /// A silo is sealed before it would grow beyond this
    #[arg(long, value_name = "SIZE", default_value = "1 GiB")]
    silo_size: Size,

    /// How records are packed: every tool reads gzip; zstd is faster and smaller, and fewer tools read it
    #[arg(long, value_name = "METHOD", default_value = "gzip", value_parser = ["gzip", "zstd"])]
    packing: String,

    /// How hard the packer tries: for gzip 1 to 12, for zstd 1 to 19
    #[arg(long, value_name = "LEVEL")]
    packing_level: Option<u8>,
}

impl Verb for Init {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let folder = std::path::absolute(&self.folder).map_err(Error::CurrentFolder)?;
        let name = self.name.unwrap_or_else(|| ArchiveSettings::name_of(&folder));
        let settings = ArchiveSettings {
            operator: self.operator,
            contact: self.contact,
            silo_size: self.silo_size,
            packing: if self.packing == "zstd" { PackingMethod::Zstd } else { PackingMethod::Gzip },
            packing_level: self.packing_level,
            ..ArchiveSettings::new(&name)
        };
        init(&self.folder, &settings, session.opening()?)?;
        session.printer.say(format_args!("made the archive `{name}` in `{}`", self.folder.display()));
        Ok(Outcome::Done)
    }
}
