//! `varve init`: makes an archive.

use std::path::PathBuf;

use varve_archive::verbs::init::init;
use varve_archive::{ArchiveSettings, ByteSize, PackingMethod};

use crate::verb::{Error, ExitStatus, Session, Verb};

/// Make an archive
///
/// Creates the folder if necessary; a folder that is not empty is rejected. The settings are stored
/// in `varve.toml` and can be changed there: they apply to new silos.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve init
  varve init museum
  varve init museum --contact mailto:archive@museum.example
  varve init museum --name 'The lake' --silo-size '4 GiB' --packing zstd")]
pub(super) struct InitArgs {
    /// The folder [default: the current one]
    #[arg(value_name = "DIR", default_value = ".", hide_default_value = true)]
    folder: PathBuf,

    /// The name of the archive, which each silo records [default: the name of the folder]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Who runs the archive; each silo records it
    #[arg(long, value_name = "WHO")]
    operator: Option<String>,

    /// A URL where operators of captured sites can reach you; it is sent with each request
    #[arg(long, value_name = "URL")]
    contact: Option<String>,

    /// Largest size of a silo
    #[arg(long, value_name = "SIZE", default_value = "1 GiB")]
    silo_size: ByteSize,

    /// Compression: gzip is read by every tool; zstd is faster and smaller, and read by fewer tools
    #[arg(long, value_name = "METHOD", default_value = "gzip", value_parser = ["gzip", "zstd"])]
    packing: String,

    /// Compression level: 1 to 12 for gzip, 1 to 19 for zstd
    #[arg(long, value_name = "LEVEL")]
    packing_level: Option<u8>,
}

impl Verb for InitArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
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
        init(&self.folder, &settings, session.open_options()?)?;
        session.printer.say(format_args!("made the archive `{name}` in `{}`", self.folder.display()));
        Ok(ExitStatus::Done)
    }
}
