//! `varve rebuild`: index, catalog and HEAD made again from the silos.

use serde::Serialize;
use varve_archive::Layout;
use varve_archive::verbs::rebuild::{self, Rebuilt};

use super::{Outcome, Verb};
use crate::error::Error;
use crate::printer::{WARN, counted, counted_entries};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve rebuild
  varve -C museum rebuild --json";

/// Make index, catalog and HEAD again from the silos alone
///
/// The silos are the truth; what is made from them can be made again: the index byte for byte the same, the catalog row by row. Reads every
/// silo on all cores. What cannot be read is said, and so is what is about a version that is lost: all the rest is there. `varve audit` says more.
///
/// Two things are not in the silos and do not come back: diffs that `varve diff --keep` kept, which can be computed and kept
/// again, and what a crawl that is not finished had still to do.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Rebuild {
    /// Print one JSON object; `left_out` says what has no rows because something else is lost
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct RebuiltLine<'a> {
    silos: u64,
    records: u64,
    entries: u64,
    findings: u64,
    left_out: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set_aside: Option<&'a std::path::Path>,
}

impl Verb for Rebuild {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let layout = Layout::new(&session.root()?);
        let opening = session.opening()?;
        let printer = &mut session.printer;
        let bar = printer.progress_bytes(Some(rebuild::bytes_to_read(&layout)?));
        let Rebuilt { index: done, left_out } = rebuild::rebuild(&layout, opening, &|bytes| bar.inc(bytes))?;
        let findings = (done.findings.len() + left_out.len()) as u64;
        for (silo, finding) in &done.findings {
            printer.say(format_args!(
                "{WARN}warning{WARN:#} silo {silo} at byte {}: {}",
                finding.offset, finding.message
            ));
        }
        for left_out in &left_out {
            printer.say(format_args!("{WARN}warning{WARN:#} {left_out}"));
        }
        if let Some(path) = &done.set_aside {
            printer.say(format_args!(
                "{WARN}warning{WARN:#} the end of the last silo is no whole record; it was cut off and is kept in `{}`",
                path.display()
            ));
        }
        if self.json {
            printer.json(&RebuiltLine {
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
        Ok(if findings > 0 { Outcome::Findings } else { Outcome::Done })
    }
}
