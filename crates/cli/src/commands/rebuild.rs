//! `varve rebuild`: makes index, catalog, HEAD and search index again from the silos.

use serde_json::json;
use varve_archive::ArchivePaths;
use varve_archive::verbs::rebuild::{self, RebuildDone, Rebuilt};

use crate::printer::{counted, counted_entries};
use crate::verb::{Error, ExitStatus, Session, Verb};

/// Make index, catalog, HEAD and search index again from the silos
///
/// Reads every silo on all cores. The new index is identical byte for byte, and the catalog row by
/// row; the search index is built again from all captures. Unreadable records, and facts about versions that are lost, are reported; everything else
/// is restored. `varve audit` gives more detail.
///
/// Every silo states the digest of the one before it, so silos that were changed, renamed or
/// swapped are named, as are files that have the number of another silo. The latter are not read.
///
/// Lost silos, and the versions and captures that only the old catalog, HEAD or a later version
/// still names, are listed before that catalog is replaced. HEAD moves to the newest version there
/// is.
///
/// Two things are not in the silos and are lost: diffs stored by `varve diff --keep`, which can be
/// computed again, and the queue of an unfinished crawl.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve rebuild
  varve -C museum rebuild --json

Exit codes:
  0    everything was restored
  1    something is lost or damaged
  2    the archive could not be rebuilt")]
pub(super) struct RebuildArgs {
    /// Print one JSON object; `left_out` lists facts without rows because a version is lost, and
    /// `wrong_silos` silos that are not the files that were sealed
    #[arg(long)]
    json: bool,
}

impl Verb for RebuildArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let layout = ArchivePaths::new(&session.root()?);
        let bar = session.printer.progress_bytes(Some(rebuild::bytes_to_read(&layout)?));
        let Rebuilt { index: done, left_out, lost } = session
            .wait_for_lock(|opening| Ok(rebuild::rebuild(&layout, opening, &|bytes| bar.inc(bytes))?))?;
        let printer = &mut session.printer;
        printer.end_progress();
        let lost: Vec<String> =
            lost_from_silos(&done).into_iter().chain(lost.iter().map(ToString::to_string)).collect();
        let wrong = wrong_files(&done);
        let findings = (done.findings.len() + left_out.len() + lost.len() + wrong.len()) as u64
            + u64::from(done.number_damage.is_some());
        for problem in lost.iter().chain(&wrong) {
            printer.warn(problem);
        }
        if let Some(damage) = &done.number_damage {
            printer.warn(format_args!("{damage}: done"));
        }
        for (silo, finding) in &done.findings {
            printer.warn(format_args!("silo {silo} at byte {}: {}", finding.offset, finding.message));
        }
        for left_out in &left_out {
            printer.warn(left_out);
        }
        if let Some(path) = &done.set_aside {
            let path = path.display();
            printer.warn(format_args!(
                "the last silo ended with an incomplete record; it was moved to `{path}`"
            ));
        }
        if self.json {
            printer.json(&json!({
                "silos": done.silos,
                "records": done.records,
                "entries": done.entries,
                "findings": findings,
                "lost": lost,
                "wrong_silos": wrong,
                "left_out": left_out.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "set_aside": done.set_aside.as_ref().map(|path| path.to_string_lossy()),
            }))?;
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

/// Describes the silos that are not the files that were sealed, and files beside the silos.
fn wrong_files(done: &RebuildDone) -> Vec<String> {
    let changed = done.chain_breaks.iter().map(ToString::to_string);
    changed.chain(done.unread_files.iter().map(ToString::to_string)).collect()
}

/// Describes the missing silos and the index entries that led into them.
fn lost_from_silos(done: &RebuildDone) -> Vec<String> {
    let mut lost: Vec<String> = done
        .lost_silos
        .iter()
        .map(|range| match (range.start(), range.end()) {
            (first, last) if first == last => format!("lost: silo {first}"),
            (first, last) => format!("lost: silos {first} to {last}"),
        })
        .collect();
    if done.lost_entries > 0 {
        lost.push(format!(
            "lost: records for {} of the old index; their silos are missing or were cut off",
            counted_entries(done.lost_entries)
        ));
    }
    lost
}
