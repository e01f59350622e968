//! `varve rebuild`: makes index, catalog and HEAD again from the silos.

use serde::Serialize;
use varve_archive::ArchivePaths;
use varve_archive::verbs::rebuild::{self, Rebuilt};

use crate::printer::{WARNING_STYLE, counted, counted_entries};
use crate::verb::{Error, ExitStatus, Session, Verb};

const REBUILD_EXAMPLES: &str = "\
Examples:
  varve rebuild
  varve -C museum rebuild --json";

/// Make index, catalog and HEAD again from the silos
///
/// Reads every silo on all cores. The new index is identical byte for byte, and the catalog row by
/// row. Unreadable records, and facts about versions that are lost, are reported; everything else
/// is restored. `varve audit` gives more detail.
///
/// Two things are not in the silos and are lost: diffs stored by `varve diff --keep`, which can be
/// computed again, and the queue of an unfinished crawl.
#[derive(clap::Args)]
#[command(after_help = REBUILD_EXAMPLES)]
pub(super) struct RebuildArgs {
    /// Print one JSON object; `left_out` lists facts without rows because a version is lost
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct RebuildRow<'a> {
    silos: u64,
    records: u64,
    entries: u64,
    findings: u64,
    left_out: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set_aside: Option<&'a std::path::Path>,
}

impl Verb for RebuildArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let layout = ArchivePaths::new(&session.root()?);
        let opening = session.open_options()?;
        let printer = &mut session.printer;
        let bar = printer.progress_bytes(Some(rebuild::bytes_to_read(&layout)?));
        let Rebuilt { index: done, left_out } = rebuild::rebuild(&layout, opening, &|bytes| bar.inc(bytes))?;
        let findings = (done.findings.len() + left_out.len()) as u64;
        for (silo, finding) in &done.findings {
            printer.say(format_args!(
                "{WARNING_STYLE}warning{WARNING_STYLE:#} silo {silo} at byte {}: {}",
                finding.offset, finding.message
            ));
        }
        for left_out in &left_out {
            printer.say(format_args!("{WARNING_STYLE}warning{WARNING_STYLE:#} {left_out}"));
        }
        if let Some(path) = &done.set_aside {
            printer.say(format_args!(
                "{WARNING_STYLE}warning{WARNING_STYLE:#} the last silo ended with an incomplete record; it was moved to `{}`",
                path.display()
            ));
        }
        if self.json {
            printer.json(&RebuildRow {
                silos: done.silos,
                records: done.records,
                entries: done.entries,
                findings,
                left_out: left_out.iter().map(ToString::to_string).collect(),
                set_aside: done.set_aside.as_deref(),
            })?;
        } else {
            printer.line(format_args!(
                "{} from {} in {}",
                counted_entries(done.entries),
                counted(done.records, "record"),
                counted(done.silos, "silo"),
            ))?;
        }
        Ok(ExitStatus::of_findings(findings))
    }
}
