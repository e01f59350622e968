//! `varve moku`: manages Moku sites.

use std::path::PathBuf;

use serde_json::json;
use varve_archive::verbs::moku::{SiteInfo, SiteSettings, create, info, set};

use crate::verb::{Error, ExitStatus, Session, Verb};

/// Manage Moku sites
///
/// Verbs about history, such as `commit`, `log`, `diff`, `checkout`, `gc` and `score`, work on a
/// site with `-C SITE`. These verbs are for what only Moku sites have.
///
/// With any verb, `--of-project ID`, or `VARVE_PROJECT` in the environment, rejects a site that
/// belongs to another project. A site without a project may be read, and is assigned to that
/// project by the first verb that writes.
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "\
Examples:
  varve moku new site --project 7f0c
  varve moku info site --json
  varve moku set site --redaction off
  varve moku set site --project 9a41 --force
  varve moku upgrade old-site
  varve -C site --of-project 9a41 log"
)]
pub(super) struct MokuArgs {
    #[command(subcommand)]
    verb: MokuVerb,
}

#[derive(clap::Subcommand)]
enum MokuVerb {
    New(MokuNewArgs),
    Info(MokuInfoArgs),
    Set(MokuSetArgs),
    Upgrade(MokuUpgradeArgs),
}

/// Make an empty site
///
/// Creates the folder if necessary; a folder that is not empty is rejected.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve moku new site
  varve moku new site --project 7f0c --redaction off")]
struct MokuNewArgs {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// The project of the site, instead of that of `--of-project`; Moku's server requires it
    #[arg(long, value_name = "ID")]
    project: Option<String>,

    /// Hide sensitive headers, such as cookies, in commits
    #[arg(long, value_name = "WHEN", default_value = "on", value_parser = ["on", "off"])]
    redaction: String,
}

/// Show the settings of a site
///
/// With `--json`, prints one object: `project`, `redaction` (`on` or `off`), `tags`, `head`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve moku info site
  varve -C site moku info --json")]
struct MokuInfoArgs {
    #[command(flatten)]
    which: SitePathArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Change the settings of a site
///
/// When redaction is turned on, headers committed before stay in the database, and are hidden in
/// all output, checkouts and exports, and in the working tree. A stored diff still contains them,
/// until `varve diff BASE HEAD --keep` computes it again.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve moku set site --redaction on
  varve moku set site --project 9a41 --force")]
#[command(group = clap::ArgGroup::new("what").args(["project", "redaction"]).required(true).multiple(true))]
struct MokuSetArgs {
    #[command(flatten)]
    which: SitePathArgs,

    /// The project of the site; a site of another project is rejected without `--force`
    #[arg(long, value_name = "ID")]
    project: Option<String>,

    /// Take the site from another project
    #[arg(long, requires = "project")]
    force: bool,

    /// Hide sensitive headers, such as cookies, in new commits and in output
    #[arg(long, value_name = "WHEN", value_parser = ["on", "off"])]
    redaction: Option<String>,
}

/// Upgrade a site of an early Moku to the current tables
///
/// An early site can be read as it is, and must be upgraded before it is written. The upgrade is
/// completed or has no effect.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve moku upgrade old-site
  varve -C old-site moku upgrade")]
struct MokuUpgradeArgs {
    #[command(flatten)]
    which: SitePathArgs,
}

/// Which site to use.
#[derive(clap::Args)]
struct SitePathArgs {
    /// The folder of the site [default: the one of `-C`, or the nearest upwards]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl SitePathArgs {
    fn root(&self, session: &Session) -> Result<PathBuf, Error> {
        match &self.folder {
            Some(folder) => {
                session.require_project(folder)?;
                Ok(folder.clone())
            }
            None => session.root(),
        }
    }

    /// The same, without checking the project.
    fn root_of_any_project(&self, session: &Session) -> Result<PathBuf, Error> {
        self.folder.clone().map_or_else(|| session.root_of_any_project(), Ok)
    }
}

impl Verb for MokuArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        match self.verb {
            MokuVerb::New(MokuNewArgs { folder, project, redaction }) => {
                let redacts = Some(redaction == "on");
                let project = project.or_else(|| session.project());
                create(
                    &folder,
                    SiteSettings { project, redacts, ..SiteSettings::default() },
                    session.open_options()?,
                )?;
                session.printer.say(format_args!("made a Moku site in `{}`", folder.display()));
            }
            MokuVerb::Info(verb) => verb.run(session)?,
            MokuVerb::Set(MokuSetArgs { which, project, force, redaction }) => {
                let redacts = redaction.map(|word| word == "on");
                // With `--force`, `--project` names the new project, so the old one is not checked.
                let root = if force { which.root_of_any_project(session)? } else { which.root(session)? };
                let project = project.or_else(|| session.project());
                let settings = SiteSettings { project, force, redacts, upgrade: false };
                session.wait_for_lock(|opening| Ok(set(&root, settings.clone(), opening)?))?;
            }
            MokuVerb::Upgrade(MokuUpgradeArgs { which }) => {
                let settings =
                    SiteSettings { project: session.project(), upgrade: true, ..SiteSettings::default() };
                let root = which.root(session)?;
                session.wait_for_lock(|opening| Ok(set(&root, settings.clone(), opening)?))?;
                session.printer.say("the site has the current tables");
            }
        }
        Ok(ExitStatus::Done)
    }
}

impl MokuInfoArgs {
    fn run(&self, session: &mut Session) -> Result<(), Error> {
        let SiteInfo { project, redacts, tags, head } = info(&self.which.root(session)?)?;
        let redaction = if redacts { "on" } else { "off" };
        if self.json {
            let row = json!({ "project": project, "redaction": redaction, "tags": tags, "head": head });
            return session.printer.json(&row);
        }
        let none = || "none".to_owned();
        let project = project.map_or_else(none, |project| crate::printer::visible(&project).into_owned());
        session.printer.line(format_args!("project    {project}"))?;
        session.printer.line(format_args!("redaction  {redaction}"))?;
        session.printer.line(format_args!("tags       {tags}"))?;
        session.printer.line(format_args!("HEAD       {}", head.map_or_else(none, |head| head.to_string())))
    }
}
