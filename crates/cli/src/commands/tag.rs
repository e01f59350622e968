//! `varve tag`: names versions.

use varve_archive::verbs::tag::{list, set};

use crate::printer::STRONG_STYLE;
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_names::resolve_version;
use crate::version_text::short_version_id;

/// Name a version, or list the tags
///
/// An existing tag moves to the version. HEAD, ids and times such as `2d` cannot be tags. With
/// `--json`, prints one object per line: `name`, `version`, `time`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve tag
  varve tag before-the-relaunch
  varve tag first 0b8af3c1
  varve tag --remove first")]
pub(super) struct TagArgs {
    /// The tag; without it, all tags are listed
    name: Option<String>,

    #[arg(default_value = "HEAD", help = crate::version_names::VERSION_HELP)]
    version: String,

    /// Remove the tag
    #[arg(long, requires = "name", conflicts_with = "version")]
    remove: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Verb for TagArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let Some(name) = &self.name else {
            self.list(session)?;
            return Ok(ExitStatus::Done);
        };
        let history = session.open_history()?;
        let version = match self.remove {
            true => None,
            false => Some(resolve_version(history.as_reader(), &self.version)?),
        };
        set(&history, name, version)?;
        match version {
            Some(version) => {
                session.printer.say(format_args!("{name} is now {}", short_version_id(&version)))
            }
            None => session.printer.say(format_args!("removed the tag {name}; the version stays")),
        }
        Ok(ExitStatus::Done)
    }
}

impl TagArgs {
    fn list(&self, session: &mut Session) -> Result<(), Error> {
        let history = session.open_reader()?;
        for tag in list(&history)? {
            if self.json {
                session.printer.json(&tag)?;
            } else {
                session
                    .printer
                    .line(format_args!("{STRONG_STYLE}{}{STRONG_STYLE:#}  {}", tag.name, tag.version))?;
            }
        }
        Ok(())
    }
}
