//! `varve plan`: edits and shows what to capture. One file for editing, one for viewing, one for the
//! pages of groups.

mod edit;
mod members;
mod view;

use varve_archive::ArchivePaths;

use crate::verb::{Error, ExitStatus, Session, Verb};

/// Edit the plan: roots, groups of linked pages, and aliases
///
/// The plan is `plan.yaml` in the archive, sorted and written in one format, made for version
/// control. In a Crystal project it is the project's own roots, groups and aliases. `varve capture`
/// without URLs follows it: it captures the roots, then the members of groups that are linked from
/// their sources, each with what it embeds.
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "\
Examples:
  varve plan root add https://xkcd.com/ --name Home
  varve plan group add 'https://xkcd.com/#/' --name Comics --found-on Home
  varve plan alias add https://old.example.com/ https://example.com/
  varve plan suggest https://xkcd.com/archive/
  varve plan members Comics --missing
  varve plan check
  varve capture"
)]
pub(super) struct PlanArgs {
    #[command(subcommand)]
    verb: PlanVerb,
}

#[derive(clap::Subcommand)]
enum PlanVerb {
    Root(edit::PlanRootArgs),
    Group(edit::PlanGroupArgs),
    Alias(edit::PlanAliasArgs),
    Show(view::PlanShowArgs),
    Members(members::PlanMembersArgs),
    Tree(members::PlanTreeArgs),
    Check(view::PlanCheckArgs),
    Suggest(view::PlanSuggestArgs),
    Restore(view::PlanRestoreArgs),
}

impl Verb for PlanArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        match self.verb {
            PlanVerb::Root(verb) => verb.run(session),
            PlanVerb::Group(verb) => verb.run(session),
            PlanVerb::Alias(verb) => verb.run(session),
            PlanVerb::Show(verb) => verb.run(session),
            PlanVerb::Members(verb) => verb.run(session),
            PlanVerb::Tree(verb) => verb.run(session),
            PlanVerb::Check(verb) => verb.run(session),
            PlanVerb::Suggest(verb) => verb.run(session),
            PlanVerb::Restore(verb) => verb.run(session),
        }
    }
}

fn layout(session: &Session) -> Result<ArchivePaths, Error> {
    Ok(ArchivePaths::new(&session.root()?))
}
