//! `varve housekeeping`: merges the index.

use varve_archive::verbs::housekeeping::{HousekeepingDone, housekeeping};

use crate::printer::{counted, counted_entries};
use crate::verb::{Error, ExitStatus, Session, Verb};

/// Merge recent index entries into the sorted index
///
/// It runs automatically when there are many. Run it before an archive is copied, or will only be
/// read. Silos are not changed.
///
/// With `--json`, prints one object: entries `merged`, files `written` and `removed`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve housekeeping")]
pub(super) struct HousekeepingArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Verb for HousekeepingArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let writer = session.open_to_write()?;
        let done = housekeeping(&writer)?;
        if self.json {
            session.printer.json(&done)?;
        } else {
            let HousekeepingDone { merged, written, removed } = done;
            let (entries, files) = (counted_entries(merged), counted(written, "index file"));
            session.printer.say(format_args!("merged {entries}; {files} written, {removed} removed"));
        }
        Ok(ExitStatus::Done)
    }
}
