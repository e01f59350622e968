//! `varve housekeeping`: puts the index in order.

use serde::Serialize;
use varve_archive::verbs::housekeeping::{HousekeepingDone, housekeeping};

use super::{Outcome, Verb};
use crate::error::Error;
use crate::printer::counted;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve housekeeping";

/// Merge recent index entries into the sorted ones
///
/// It runs by itself when there are many; by hand it is of use before an archive is copied or only read from. What is
/// stored is not touched.
///
/// With `--json` there is one object: entries `merged`, files `written` and `removed`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Housekeeping {
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

impl Verb for Housekeeping {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let writer = session.open_to_write()?;
        let HousekeepingDone { merged, written, removed } = housekeeping(&writer)?;
        if self.json {
            session.printer.json(&Line { merged, written, removed })?;
        } else {
            let index = if merged == 1 { "1 entry".to_owned() } else { format!("{merged} entries") };
            session.printer.say(format_args!(
                "merged {index}; {} written, {} removed",
                counted(written, "index file"),
                removed,
            ));
        }
        Ok(Outcome::Done)
    }
}

#[derive(Serialize)]
struct Line {
    merged: u64,
    written: u64,
    removed: u64,
}
