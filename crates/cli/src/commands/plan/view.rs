//! `varve plan show|check|suggest|restore`: views, validates, extends and restores the plan.

use serde_json::json;
use varve_archive::history::ArchiveHistoryReader;
use varve_archive::verbs::capture::CrawlSettings;
use varve_archive::verbs::intent;
use varve_archive::verbs::plan::load;
use varve_archive::verbs::plan::private_roots::{PrivateRoot, private_roots};
use varve_archive::verbs::plan::suggest::{of_capture, of_live_page};

use super::edit::{alias_line, group_line, root_line};
use super::layout;
use crate::network_args::NetworkArgs;
use crate::printer::{BAD_STYLE, counted, visible};
use crate::verb::{Error, ExitStatus, Session};
use crate::version_names::resolve_version;

/// Show the plan
///
/// With `--json`, prints one object: `roots`, `groups`, `aliases`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  varve plan show\n  varve plan show --json")]
pub(super) struct PlanShowArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl PlanShowArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let plan = load(&layout(session)?)?.plan;
        let printer = &mut session.printer;
        if self.json {
            printer.json(&plan)?;
            return Ok(ExitStatus::Done);
        }
        let roots = plan.roots.iter().map(|root| format!("root  {}", root_line(root)));
        let groups = plan.groups.iter().map(|group| format!("group  {}", group_line(group)));
        let aliases = plan.aliases.iter().map(|alias| format!("alias  {}", alias_line(alias)));
        for line in roots.chain(groups).chain(aliases) {
            printer.line(visible(&line))?;
        }
        if plan.is_empty() {
            printer.say("the plan is empty; `varve plan root add URL` adds a root");
        }
        Ok(ExitStatus::Done)
    }
}

/// Check the plan for problems
///
/// The exit code is 1 if there are any. With `--json`, prints one object per problem: `problem`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  varve plan check")]
pub(super) struct PlanCheckArgs {
    /// Accept roots at private addresses, as `varve capture --allow-private` does
    #[arg(long)]
    allow_private: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl PlanCheckArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let layout = layout(session)?;
        let plan = load(&layout)?.plan;
        let mut problems: Vec<String> = plan.problems().iter().map(ToString::to_string).collect();
        if plan.roots.is_empty() {
            problems.push("there is no root: `varve capture` has nothing to begin with".to_owned());
        }
        if !self.allow_private {
            problems.extend(private_roots(&layout, &plan)?.iter().map(|PrivateRoot { root, kind }| {
                format!(
                    "the root `{}` has {kind}: `varve capture` needs `--allow-private`, or `allow_private` in `varve.toml`",
                    root.name
                )
            }));
        }
        let printer = &mut session.printer;
        for problem in &problems {
            match self.json {
                true => printer.json(&json!({ "problem": problem }))?,
                false => {
                    printer.line(format_args!("{BAD_STYLE}problem{BAD_STYLE:#}  {}", visible(problem)))?
                }
            }
        }
        if problems.is_empty() {
            let count = |number: usize, noun| counted(number as u64, noun);
            let (roots, groups) = (count(plan.roots.len(), "root"), count(plan.groups.len(), "group"));
            printer.say(format_args!("{roots}, {groups}: no problems"));
        }
        Ok(if problems.is_empty() { ExitStatus::Done } else { ExitStatus::Findings })
    }
}

/// Suggest groups from the links of a page
///
/// Reads the page from the archive if it was captured; otherwise fetches it without storing it.
/// Links to siblings of the page are grouped by the beginning of their names; the number of other
/// links is printed. With `--json`, prints one object per group: `pattern`, and in `members` the
/// number of matching links.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  varve plan suggest https://xkcd.com/archive/\n  varve plan suggest https://xkcd.com/archive/ --live --json"
)]
pub(super) struct PlanSuggestArgs {
    /// The page
    url: String,

    /// Fetch the page even if it was captured
    #[arg(long)]
    live: bool,

    #[command(flatten)]
    reaching: NetworkArgs,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl PlanSuggestArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let here = match session.open_reader() {
            Ok(history) if !self.live => of_capture(&history, &self.url)?,
            _ => None,
        };
        let suggestion = match here {
            Some(suggestion) => suggestion,
            None => {
                let reach = self.reaching.network_options(session)?;
                let user_agent = self.reaching.user_agent(session)?;
                let settings =
                    CrawlSettings::default().with(|settings| settings.politeness.user_agent = user_agent);
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
            printer.say(format_args!(
                "{left} to siblings of the page: too few with a common prefix for a group"
            ));
        }
        if suggestion.left_over > 0 && !suggestion.groups.is_empty() {
            let left = counted(suggestion.left_over as u64, "other link");
            printer.say(format_args!("{left}: too few with a common pattern for a group"));
        }
        if suggestion.groups.is_empty() {
            printer.say("its links have no common pattern");
        } else {
            printer.say("`varve plan group add PATTERN --found-on NAME` adds one to the plan");
        }
        Ok(ExitStatus::Done)
    }
}

/// Restore the plan and the expectations of a version
///
/// Each version stores them, so they can be restored from the silos alone. Files with other content
/// are not overwritten without `--force`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  varve plan restore HEAD~1")]
pub(super) struct PlanRestoreArgs {
    #[arg(default_value = "HEAD", help = crate::version_names::VERSION_HELP)]
    version: String,

    /// Overwrite files with other content
    #[arg(long)]
    force: bool,
}

impl PlanRestoreArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        session.require_writable()?;
        let history = ArchiveHistoryReader::open(&session.root()?)?;
        let version = resolve_version(&(&history).into(), &self.version)?;
        for file in intent::restore(&history, version, self.force)? {
            let path = file.path.to_string_lossy();
            let word = if file.written { "restored" } else { "the same" };
            session.printer.line(format_args!("{word}  {}", visible(&path)))?;
        }
        Ok(ExitStatus::Done)
    }
}
