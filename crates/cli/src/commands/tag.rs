//! `varve tag`: names for versions.

use serde::Serialize;
use varve_archive::Moment;
use varve_archive::verbs::tag::{list, set};

use super::log::short;
use super::{Outcome, Verb};
use crate::error::Error;
use crate::printer::STRONG;
use crate::revision::resolve_version;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve tag
  varve tag before-the-relaunch
  varve tag first 0b8af3c1
  varve tag --remove first";

/// Name a version, or list the names
///
/// A tag that is there already moves to the version. What means a version already, HEAD, an id or a time such as `2d`, cannot be one. With `--json` there is one object a line: `name`, `version`, `time`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Tag {
    /// The name; without one, all are listed
    name: Option<String>,

    #[arg(default_value = "HEAD", help = crate::revision::NAMES)]
    version: String,

    /// Take the name away
    #[arg(long, requires = "name", conflicts_with = "version")]
    remove: bool,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Verb for Tag {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let Some(name) = &self.name else {
            self.list(session)?;
            return Ok(Outcome::Done);
        };
        let history = session.open_history()?;
        let version = match self.remove {
            true => None,
            false => Some(resolve_version(history.as_holdings(), &self.version)?),
        };
        set(&*history, name, version)?;
        match version {
            Some(version) => session.printer.say(format_args!("{name} is {}", short(&version))),
            None => session.printer.say(format_args!("{name} is gone; the version is not")),
        }
        Ok(Outcome::Done)
    }
}

impl Tag {
    fn list(&self, session: &mut Session) -> Result<(), Error> {
        let holdings = session.holdings()?;
        for tag in list(&*holdings)? {
            if self.json {
                let line = Line { name: &tag.name, version: tag.version.to_string(), time: tag.time };
                session.printer.json(&line)?;
            } else {
                session.printer.line(format_args!("{STRONG}{}{STRONG:#}  {}", tag.name, tag.version))?;
            }
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    version: String,
    time: Moment,
}
