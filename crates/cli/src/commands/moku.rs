//! `varve moku`: what only Moku sites have.

use std::path::PathBuf;

use serde::Serialize;
use varve_archive::verbs::moku::{Settings, SiteInfo, create, info, set};

use super::{Outcome, Verb};
use crate::error::Error;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve moku new site --project 7f0c
  varve moku info site --json
  varve moku set site --redaction off
  varve moku set site --project 9a41 --force
  varve moku upgrade old-site
  varve -C site --of-project 9a41 log";

const NEW_EXAMPLES: &str = "\
Examples:
  varve moku new site
  varve moku new site --project 7f0c --redaction off";

const INFO_EXAMPLES: &str = "\
Examples:
  varve moku info site
  varve -C site moku info --json";

const SET_EXAMPLES: &str = "\
Examples:
  varve moku set site --redaction on
  varve moku set site --project 9a41 --force";

const UPGRADE_EXAMPLES: &str = "\
Examples:
  varve moku upgrade old-site
  varve -C old-site moku upgrade";

/// Work on Moku sites
///
/// Everything about history, such as `commit`, `log`, `diff`, `checkout`, `gc` and `score`, works on a site with `-C SITE`. These verbs
/// are for what only such sites have.
///
/// With every verb, here and elsewhere, `--of-project ID`, or `VARVE_PROJECT` in the environment, refuses a site that belongs to another
/// project. One that belongs to none may be read, and becomes that project's by the first verb that writes.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
pub(super) struct Moku {
    #[command(subcommand)]
    verb: MokuVerb,
}

#[derive(clap::Subcommand)]
enum MokuVerb {
    New(New),
    Info(Info),
    Set(Set),
    Upgrade(Upgrade),
}

/// Make a site that holds nothing yet
///
/// The folder is made if need be; one that holds anything is refused.
#[derive(clap::Args)]
#[command(after_help = NEW_EXAMPLES)]
struct New {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// The project that the site belongs to, instead of that of `--of-project`; Moku's server asks for it
    #[arg(long, value_name = "ID")]
    project: Option<String>,

    /// Whether sensitive headers, such as cookies, are hidden in what is committed
    #[arg(long, value_name = "WHEN", default_value = "on", value_parser = ["on", "off"])]
    redaction: String,
}

/// Show what is set in a site
///
/// With `--json` there is one object: `project`, `redaction` (`on` or `off`), `tags`, `head`.
#[derive(clap::Args)]
#[command(after_help = INFO_EXAMPLES)]
struct Info {
    #[command(flatten)]
    which: Which,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Set what is set in a site
///
/// Where redaction is turned on later, what was kept before stays in the database as it is, and is hidden in all that is shown, checked out or
/// exported, and in the working tree. A kept diff from before still holds it, until `varve diff BASE HEAD --keep` makes it again.
#[derive(clap::Args)]
#[command(after_help = SET_EXAMPLES)]
#[command(group = clap::ArgGroup::new("what").args(["project", "redaction"]).required(true).multiple(true))]
struct Set {
    #[command(flatten)]
    which: Which,

    /// The project that the site belongs to; one that belongs to another is refused
    #[arg(long, value_name = "ID")]
    project: Option<String>,

    /// Take the site from another project
    #[arg(long, requires = "project")]
    force: bool,

    /// Whether sensitive headers, such as cookies, are hidden in what is committed from now on and in what is shown
    #[arg(long, value_name = "WHEN", value_parser = ["on", "off"])]
    redaction: Option<String>,
}

/// Give a site of an early Moku the tables of today
///
/// An early site can be read as it is; it must be upgraded before it can be written. All of it is upgraded, or nothing.
#[derive(clap::Args)]
#[command(after_help = UPGRADE_EXAMPLES)]
struct Upgrade {
    #[command(flatten)]
    which: Which,
}

/// Which site is meant.
#[derive(clap::Args)]
struct Which {
    /// The folder of the site; without it, the one named by `-C` or the nearest upwards
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl Which {
    fn root(&self, session: &Session) -> Result<PathBuf, Error> {
        match &self.folder {
            Some(folder) => {
                session.must_belong(folder)?;
                Ok(folder.clone())
            }
            None => session.root(),
        }
    }

    /// The same, whatever project it belongs to.
    fn root_of_any_project(&self, session: &Session) -> Result<PathBuf, Error> {
        self.folder.clone().map_or_else(|| session.found_root(), Ok)
    }
}

impl Verb for Moku {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        match self.verb {
            MokuVerb::New(New { folder, project, redaction }) => {
                let redacts = Some(redaction == "on");
                let project = project.or_else(|| session.project());
                create(&folder, Settings { project, redacts, ..Settings::default() }, session.opening()?)?;
                session.printer.say(format_args!("made a Moku site in `{}`", folder.display()));
            }
            MokuVerb::Info(verb) => verb.run(session)?,
            MokuVerb::Set(Set { which, project, force, redaction }) => {
                let redacts = redaction.map(|word| word == "on");
                // Whoever takes a site from another project has named that project here.
                let root = if force { which.root_of_any_project(session)? } else { which.root(session)? };
                let project = project.or_else(|| session.project());
                let settings = Settings { project, force, redacts, upgrade: false };
                set(&root, settings, session.opening()?)?;
            }
            MokuVerb::Upgrade(Upgrade { which }) => {
                let settings = Settings { project: session.project(), upgrade: true, ..Settings::default() };
                set(&which.root(session)?, settings, session.opening()?)?;
                session.printer.say("the site has the tables of today");
            }
        }
        Ok(Outcome::Done)
    }
}

impl Info {
    fn run(&self, session: &mut Session) -> Result<(), Error> {
        let SiteInfo { project, redacts, tags, head } = info(&self.which.root(session)?)?;
        let redaction = if redacts { "on" } else { "off" };
        let head = head.map(|head| head.to_string());
        if self.json {
            return session.printer.json(&Line { project, redaction, tags, head });
        }
        let none = || "none".to_owned();
        let project = project.map_or_else(none, |project| crate::printer::visible(&project).into_owned());
        session.printer.line(format_args!("project    {project}"))?;
        session.printer.line(format_args!("redaction  {redaction}"))?;
        session.printer.line(format_args!("tags       {tags}"))?;
        session.printer.line(format_args!("HEAD       {}", head.unwrap_or_else(none)))
    }
}

#[derive(Serialize)]
struct Line {
    project: Option<String>,
    redaction: &'static str,
    tags: u64,
    head: Option<String>,
}
