//! `varve housekeeping`: merges the index.

use serde::Serialize;
use varve_archive::verbs::housekeeping::{HousekeepingDone, housekeeping};

use crate::printer::counted;
use crate::verb::{Error, ExitStatus, Session, Verb};

const HOUSEKEEPING_EXAMPLES: &str = "\
Examples:
  varve housekeeping";

/// Merge recent index entries into the sorted index
///
/// It runs automatically when there are many. Run it before an archive is copied, or will only be
/// read. Silos are not changed.
///
/// With `--json`, prints one object: entries `merged`, files `written` and `removed`.
#[derive(clap::Args)]
#[command(after_help = HOUSEKEEPING_EXAMPLES)]
pub(super) struct HousekeepingArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Verb for HousekeepingArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let writer = session.open_to_write()?;
        let HousekeepingDone { merged, written, removed } = housekeeping(&writer)?;
        if self.json {
            session.printer.json(&HousekeepingRow { merged, written, removed })?;
        } else {
            let index = if merged == 1 { "1 entry".to_owned() } else { format!("{merged} entries") };
            session.printer.say(format_args!(
                "merged {index}; {} written, {} removed",
                counted(written, "index file"),
                removed,
            ));
        }
        Ok(ExitStatus::Done)
    }
}

#[derive(Serialize)]
struct HousekeepingRow {
    merged: u64,
    written: u64,
    removed: u64,
}
