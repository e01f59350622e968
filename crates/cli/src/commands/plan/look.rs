//! `varve plan show|check|suggest|restore`.

use serde_json::json;
use varve_archive::history::ArchiveHoldings;
use varve_archive::verbs::capture::CrawlSettings;
use varve_archive::verbs::intent;
use varve_archive::verbs::plan::load;
use varve_archive::verbs::plan::suggest::{of_capture, of_live_page};

use super::super::Outcome;
use super::edit::{alias_line, group_line};
use super::layout;
use crate::error::Error;
use crate::printer::{BAD, counted, visible};
use crate::reaching::Reaching;
use crate::revision::resolve_version;
use crate::session::Session;

/// Show the plan
///
/// With `--json` there is one object: `roots`, `groups`, `aliases`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  varve plan show\n  varve plan show --json")]
pub(super) struct Show {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let plan = load(&layout(session)?)?.plan;
        let printer = &mut session.printer;
        if self.json {
            printer.json(&plan)?;
            return Ok(Outcome::Done);
        }
        let roots = plan.roots.iter().map(|root| format!("root  {}  {}", root.name, root.url));
        let groups = plan.groups.iter().map(|group| format!("group  {}", group_line(group)));
        let aliases = plan.aliases.iter().map(|alias| format!("alias  {}", alias_line(alias)));
        for line in roots.chain(groups).chain(aliases) {
            printer.line(visible(&line))?;
        }
        if plan.is_empty() {
            printer.say("the plan is empty; `varve plan root add URL` begins one");
        }
        Ok(Outcome::Done)
    }
}

/// Say what is wrong with the plan
///
/// The exit code is 1 if anything is. With `--json` there is one object a problem: `problem`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  varve plan check")]
pub(super) struct Check {
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let plan = load(&layout(session)?)?.plan;
        let problems = plan.problems();
        let printer = &mut session.printer;
        for problem in &problems {
            let problem = problem.to_string();
            match self.json {
                true => printer.json(&json!({ "problem": problem }))?,
                false => printer.line(format_args!("{BAD}problem{BAD:#}  {}", visible(&problem)))?,
            }
        }
        if problems.is_empty() {
            let count = |number: usize, noun| counted(number as u64, noun);
            let (roots, groups) = (count(plan.roots.len(), "root"), count(plan.groups.len(), "group"));
            printer.say(format_args!("{roots}, {groups}: nothing is wrong"));
        }
        Ok(if problems.is_empty() { Outcome::Done } else { Outcome::Findings })
    }
}

/// Suggest groups from the links of a page
///
/// The page is read from the archive if it was captured, and else fetched, without being kept. Links that lie beside the page are
/// grouped by how their names begin, because all of them together would be the site; how many are left then is said. With `--json` there is one
/// object a group: `pattern`, and in `members` how many links of the page it matches.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  varve plan suggest https://xkcd.com/archive/\n  varve plan suggest https://xkcd.com/archive/ --live --json"
)]
pub(super) struct Suggest {
    /// The page
    url: String,

    /// Fetch the page even if it was captured
    #[arg(long)]
    live: bool,

    #[command(flatten)]
    reaching: Reaching,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Suggest {
    pub(super) fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let here = match session.holdings() {
            Ok(holdings) if !self.live => of_capture(&*holdings, &self.url)?,
            _ => None,
        };
        let suggestion = match here {
            Some(suggestion) => suggestion,
            None => {
                let reach = self.reaching.reach(session)?;
                let user_agent = self.reaching.user_agent(session)?;
                let settings = CrawlSettings { user_agent, ..CrawlSettings::default() };
                of_live_page(&std::env::temp_dir(), &settings, &reach, &self.url)?
            }
        };
        let printer = &mut session.printer;
        let from = suggestion
            .captured
            .map_or("fetched now".to_owned(), |time| format!("captured {}", time.for_people()));
        let links = counted(suggestion.links as u64, "link");
        printer.say(format_args!("{} ({from}): {links}", visible(&suggestion.url)));
        for group in &suggestion.groups {
            match self.json {
                true => printer.json(&json!({ "pattern": group.pattern, "members": group.members }))?,
                false => printer.line(format_args!("{:>6}  {}", group.members, visible(&group.pattern)))?,
            }
        }
        if suggestion.left_beside > 0 {
            let left = counted(suggestion.left_beside as u64, "link");
            printer.say(format_args!("{left} beside the page: too few names begin alike to make a group"));
        }
        if suggestion.left_over > 0 && !suggestion.groups.is_empty() {
            let left = counted(suggestion.left_over as u64, "other link");
            printer.say(format_args!("{left}: too few are alike to make a group"));
        }
        if suggestion.groups.is_empty() {
            printer.say("its links have nothing in common that would make a group");
        } else {
            printer.say("`varve plan group add PATTERN --found-on NAME` takes one into the plan");
        }
        Ok(Outcome::Done)
    }
}

/// Bring back the plan and the expectations that were in force when a version was made
///
/// Each version keeps them, so they survive even if only the silos do. Files that say something else now are not
/// overwritten without `--force`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  varve plan restore HEAD~1")]
pub(super) struct Restore {
    #[arg(default_value = "HEAD", help = crate::revision::NAMES)]
    version: String,

    /// Overwrite files that say something else
    #[arg(long)]
    force: bool,
}

impl Restore {
    pub(super) fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        session.must_write()?;
        let holdings = ArchiveHoldings::open(&session.root()?)?;
        let version = resolve_version(&holdings, &self.version)?;
        for file in intent::restore(&holdings, version, self.force)? {
            let path = file.path.to_string_lossy();
            let word = if file.written { "restored" } else { "the same" };
            session.printer.line(format_args!("{word}  {}", visible(&path)))?;
        }
        Ok(Outcome::Done)
    }
}
