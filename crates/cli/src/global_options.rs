//! Options of every verb: which archive, how to open it, and how to print.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgMatches, Args, FromArgMatches as _};

use crate::duration;

/// Options that may stand before or after any verb.
#[derive(Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalOptions {
    /// Work in this archive, or read this WARC, ARC or WACZ file or folder of them [default: the
    /// nearest archive from the current folder upwards]
    #[arg(
        short = 'C',
        long,
        global = true,
        value_name = "PATH",
        env = "VARVE_ARCHIVE",
        hide_env_values = true
    )]
    pub(crate) archive: Option<PathBuf>,

    /// Open the archive for reading only; verbs that would write fail
    #[arg(long, global = true)]
    pub(crate) readonly: bool,

    /// How long a verb that writes waits for another one: `10s`, `5m`; with `0` it fails at once
    #[arg(long, global = true, value_name = "TIME", default_value = "30s", value_parser = duration::parse)]
    pub(crate) wait: Duration,

    /// Read with an index and a catalog in this folder, built there from the silos where they are
    /// missing or out of date
    #[arg(long, global = true, value_name = "DIR", hide_short_help = true)]
    pub(crate) index_in: Option<PathBuf>,

    /// Keep no index of WARC, ARC and WACZ files for the next time; by default it is in the user's
    /// cache folder
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) no_cache: bool,

    // Only Moku sites have projects, so the option is described in `varve moku --help` alone.
    /// Fail if a Moku site belongs to another project; a site without a project is assigned to it when it is written
    #[arg(
        long,
        global = true,
        hide = true,
        value_name = "ID",
        env = "VARVE_PROJECT",
        hide_env_values = true
    )]
    pub(crate) of_project: Option<String>,

    /// When to use colours; `auto` means on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", value_parser = ["auto", "always", "never"])]
    color: String,

    /// Print only data and errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

impl GlobalOptions {
    /// The options that `matches` of `arguments::root` hold.
    pub(crate) fn of(matches: &ArgMatches) -> Self {
        let options = Self::from_arg_matches(matches).expect("clap has checked these options");
        // An empty environment variable counts as none.
        Self { of_project: options.of_project.filter(|id| !id.is_empty()), ..options }
    }
}
