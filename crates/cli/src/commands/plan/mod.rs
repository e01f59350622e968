//! `varve plan`: what is to be captured. One file for editing, one for looking.

mod edit;
mod look;

use varve_archive::Layout;
use varve_archive::verbs::plan::PlanFile;

use super::{Outcome, Verb};
use crate::error::Error;
use crate::printer::{Printer, WARN, visible};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve plan root add https://xkcd.com/ --name Home
  varve plan group add 'https://xkcd.com/#/' --name Comics --found-on Home
  varve plan alias add https://old.example.com/ https://example.com/
  varve plan suggest https://xkcd.com/archive/
  varve plan check
  varve capture";

/// Say what is to be captured: roots, groups of pages that are found on them, aliases
///
/// The plan is `plan.yaml` in the archive, sorted and written in one form, made for version control; in a Crystal project
/// it is the project's own roots, groups and aliases. `varve capture` without
/// URLs follows it: it captures the roots, then the members of groups that are found on their sources, each with what it
/// embeds.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
pub(super) struct Plan {
    #[command(subcommand)]
    verb: PlanVerb,
}

#[derive(clap::Subcommand)]
enum PlanVerb {
    Root(edit::RootArgs),
    Group(edit::GroupArgs),
    Alias(edit::AliasArgs),
    Show(look::Show),
    Check(look::Check),
    Suggest(look::Suggest),
    Restore(look::Restore),
}

impl Verb for Plan {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        match self.verb {
            PlanVerb::Root(verb) => verb.run(session),
            PlanVerb::Group(verb) => verb.run(session),
            PlanVerb::Alias(verb) => verb.run(session),
            PlanVerb::Show(verb) => verb.run(session),
            PlanVerb::Check(verb) => verb.run(session),
            PlanVerb::Suggest(verb) => verb.run(session),
            PlanVerb::Restore(verb) => verb.run(session),
        }
    }
}

fn layout(session: &Session) -> Result<Layout, Error> {
    Ok(Layout::new(&session.root()?))
}

/// Says which comments the plan loses when it is written.
fn warn_of_loss(printer: &mut Printer, file: &PlanFile) {
    let numbers: Vec<String> = file.comments.iter().take(5).map(ToString::to_string).collect();
    let more = if file.comments.len() > 5 { ", …" } else { "" };
    let noun = if file.comments.len() == 1 { "line" } else { "lines" };
    printer.say(format_args!(
        "{WARN}warning:{WARN:#} comments in `{}` are lost when it is written: {noun} {}{more}",
        visible(&file.path.to_string_lossy()),
        numbers.join(", ")
    ));
}
