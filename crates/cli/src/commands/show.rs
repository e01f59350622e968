//! `varve show`: shows one version, page by page.

use serde_json::{Value, json};
use varve_archive::history::{CapturePair, HistoryReader};
use varve_archive::verbs::show::{PageChange, pages, version};

use super::capture_choice::CaptureChoiceArgs;
use crate::printer::{FAINT_STYLE, WARNING_STYLE, visible};
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_names::resolve_version;
use crate::version_text::{
    change_letter, change_word, describe_version, missing_parent_note, status_text, version_json,
};

/// Show a version and the changes of its pages
///
/// A version is named by HEAD, a tag, its id or the first digits of it, or a time; `~1` after any
/// of them is its parent. Pages that are the same as in the parent are only counted, unless `--all`
/// is given.
///
/// In a Crystal project, a version is the state of the project at one revision, named by a time or
/// by `r` and the number of the revision. A page is shown by its newest revision at that point,
/// even if that is a failure; `--newest-good` skips failures.
///
/// With `--json`, the first object is the version, as in `log`; then one object per page: `url`,
/// `path`, `change` (as in `varve diff`, or unchanged), `status`, `body`, `length`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve show
  varve show HEAD~1
  varve show 0b8af3c1 --json
  varve show before-the-relaunch --all")]
pub(super) struct ShowArgs {
    #[arg(default_value = "HEAD", help = crate::version_names::VERSION_HELP)]
    version: String,

    #[command(flatten)]
    choosing: CaptureChoiceArgs,

    /// List unchanged pages too
    #[arg(long)]
    all: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Verb for ShowArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let history = self.choosing.open_reader(session)?;
        let id = resolve_version(&history, &self.version)?;
        let info = version(&history, &id)?;
        if self.json {
            session.printer.json(&version_json(&info))?;
        } else {
            for line in describe_version(&info, history.head()?)
                .into_iter()
                .chain(missing_parent_note(&history, &info)?)
            {
                session.printer.line(line)?;
            }
            session.printer.line("")?;
        }
        let (pairs, mut unchanged) = pages(&history, &info, self.json || self.all)?;
        for pair in pairs {
            let pair = pair?;
            if self.json {
                session.printer.json(&page_json(&history, &pair)?)?;
            } else if pair.lasting_change() == PageChange::Unchanged && !self.all {
                unchanged += 1;
            } else {
                session.printer.line(line(&pair))?;
            }
        }
        if unchanged > 0 {
            session.printer.line(format_args!("{FAINT_STYLE}{unchanged} unchanged{FAINT_STYLE:#}"))?;
        }
        Ok(ExitStatus::Done)
    }
}

fn line(pair: &CapturePair) -> String {
    let page = pair.any();
    let letter = change_letter(pair.lasting_change());
    let length = page.length.map_or(String::new(), |length| length.to_string());
    let cut =
        if page.truncated { format!("  {WARNING_STYLE}truncated{WARNING_STYLE:#}") } else { String::new() };
    format!("{letter} {} {length:>10}  {}{cut}", status_text(page.status), visible(&page.url))
}

fn page_json(history: &HistoryReader, pair: &CapturePair) -> Result<Value, Error> {
    let page = pair.any();
    Ok(json!({
        "url": page.url,
        "path": page.path,
        "change": change_word(pair.lasting_change()),
        "status": page.status,
        "body": history.body_id(page)?,
        "length": page.length,
        "truncated": page.truncated,
    }))
}
