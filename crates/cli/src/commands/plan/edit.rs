//! `varve plan root|group|alias add|list|remove`.

use varve_archive::EditError;
use varve_archive::verbs::plan::{Alias, Group, Notice, Plan, Root, edit, is_project, load};

use super::super::Outcome;
use super::super::crystal::say_opened;
use super::{layout, warn_of_loss};
use crate::error::Error;
use crate::printer::visible;
use crate::session::Session;

const ROOT_EXAMPLES: &str = "\
Examples:
  varve plan root add https://xkcd.com/ --name Home
  varve plan root list";

/// Pages to begin with
#[derive(clap::Args)]
#[command(after_help = ROOT_EXAMPLES, disable_help_subcommand = true)]
pub(super) struct RootArgs {
    #[command(subcommand)]
    verb: RootVerb,
}

#[derive(clap::Subcommand)]
enum RootVerb {
    /// Add a page to begin with
    #[command(after_help = "Examples:\n  varve plan root add https://xkcd.com/ --name Home")]
    Add {
        /// Its URL
        url: String,
        /// What it is called; without it, its URL
        #[arg(long)]
        name: Option<String>,
    },
    /// List the roots: name and URL
    #[command(after_help = "Examples:\n  varve plan root list --json")]
    List(ListArgs),
    /// Remove a root
    #[command(
        after_help = "Examples:\n  varve plan root remove Home\n  varve plan root remove https://xkcd.com/ --cascade"
    )]
    Remove(RemoveArgs),
}

const GROUP_EXAMPLES: &str = "\
Examples:
  varve plan group add 'https://xkcd.com/#/' --name Comics --found-on Home
  varve plan group list";

/// Pages that are found on others
#[derive(clap::Args)]
#[command(after_help = GROUP_EXAMPLES, disable_help_subcommand = true)]
pub(super) struct GroupArgs {
    #[command(subcommand)]
    verb: GroupVerb,
}

#[derive(clap::Subcommand)]
enum GroupVerb {
    /// Add a group of pages
    ///
    /// Patterns: `**` is any text, `*` any text without `/`, `?`, `=` and `&`, `#` a number; they match the whole URL.
    #[command(
        after_help = "Examples:\n  varve plan group add 'https://xkcd.com/#/' --name Comics --found-on Home\n  varve plan group add 'https://xkcd.com/cart/**' --do-not-download"
    )]
    Add {
        /// What the URLs of its members match
        pattern: String,
        /// What it is called; without it, its pattern
        #[arg(long)]
        name: Option<String>,
        /// The root or group on whose pages links to members are looked for; without it, all pages that are captured
        #[arg(long, value_name = "NAME")]
        found_on: Option<String>,
        /// Leave its members out, wherever they are met
        #[arg(long)]
        do_not_download: bool,
    },
    /// Add the group of everything on a site, found from its root
    #[command(after_help = "Examples:\n  varve plan group site Home")]
    Site {
        /// The root, whose path is `/`: what it is called, or its URL
        root: String,
    },
    /// List the groups: name, pattern and where they are found
    #[command(after_help = "Examples:\n  varve plan group list --json")]
    List(ListArgs),
    /// Remove a group
    #[command(after_help = "Examples:\n  varve plan group remove Comics")]
    Remove(RemoveArgs),
}

const ALIAS_EXAMPLES: &str = "\
Examples:
  varve plan alias add https://old.example.com/ https://example.com/
  varve plan alias list";

/// What stands for something else
#[derive(clap::Args)]
#[command(after_help = ALIAS_EXAMPLES, disable_help_subcommand = true)]
pub(super) struct AliasArgs {
    #[command(subcommand)]
    verb: AliasVerb,
}

#[derive(clap::Subcommand)]
enum AliasVerb {
    /// Say that URLs with one beginning are meant as URLs with another
    #[command(
        after_help = "Examples:\n  varve plan alias add https://old.example.com/ https://example.com/\n  varve plan alias add https://example.com/forum/ https://forum.example.com/ --external"
    )]
    Add {
        /// The beginning, up to a `/`
        source: String,
        /// What is meant, up to a `/`
        target: String,
        /// The target is on the live web, and is never captured
        #[arg(long)]
        external: bool,
    },
    /// List the aliases: source and target
    #[command(after_help = "Examples:\n  varve plan alias list --json")]
    List(ListArgs),
    /// Remove an alias
    #[command(after_help = "Examples:\n  varve plan alias remove https://old.example.com/")]
    Remove {
        /// Its source
        source: String,
    },
}

#[derive(clap::Args)]
struct ListArgs {
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct RemoveArgs {
    /// What it is called; or its URL or pattern
    name: String,
    /// If groups are found on it, let them be found on all pages; in a Crystal project they always are then
    #[arg(long)]
    cascade: bool,
}

impl RootArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        match self.verb {
            RootVerb::Add { url, name } => {
                let name = name.unwrap_or_else(|| url.clone());
                change(session, |plan| plan.add_root(Root { name: name.clone(), url }))?;
                session.printer.line(visible(&name))?;
            }
            RootVerb::Remove(RemoveArgs { name, cascade }) => {
                let cascade = cascade || is_project(&layout(session)?);
                let removed = change(session, |plan| plan.remove_root(&name, cascade))?;
                say_cleared(session, &removed.cleared);
                session.printer.line(visible(&removed.removed.name))?;
            }
            RootVerb::List(list) => {
                for root in load(&layout(session)?)?.plan.roots {
                    match list.json {
                        true => session.printer.json(&root)?,
                        false => session.printer.line(visible(&format!("{}  {}", root.name, root.url)))?,
                    }
                }
            }
        }
        Ok(Outcome::Done)
    }
}

impl GroupArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        match self.verb {
            GroupVerb::Add { pattern, name, found_on, do_not_download } => {
                let name = name.unwrap_or_else(|| pattern.clone());
                let group = Group { name: name.clone(), pattern, found_on, do_not_download };
                change(session, |plan| plan.add_group(group))?;
                session.printer.line(visible(&name))?;
            }
            GroupVerb::Site { root } => {
                let added = change(session, |plan| plan.add_site(&root))?;
                session.printer.line(visible(&added.name))?;
            }
            GroupVerb::Remove(RemoveArgs { name, cascade }) => {
                let cascade = cascade || is_project(&layout(session)?);
                let removed = change(session, |plan| plan.remove_group(&name, cascade))?;
                say_cleared(session, &removed.cleared);
                session.printer.line(visible(&removed.removed.name))?;
            }
            GroupVerb::List(list) => {
                for group in load(&layout(session)?)?.plan.groups {
                    match list.json {
                        true => session.printer.json(&group)?,
                        false => session.printer.line(visible(&group_line(&group)))?,
                    }
                }
            }
        }
        Ok(Outcome::Done)
    }
}

/// A group, on one line.
pub(super) fn group_line(group: &Group) -> String {
    let place = match (&group.found_on, group.do_not_download) {
        (_, true) => "left out".to_owned(),
        (Some(name), false) => format!("on {name}"),
        (None, false) => "on all pages".to_owned(),
    };
    format!("{}  {}  {place}", group.name, group.pattern)
}

impl AliasArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        match self.verb {
            AliasVerb::Add { source, target, external } => {
                let shown = source.clone();
                change(session, |plan| plan.add_alias(Alias { source, target, external }))?;
                session.printer.line(visible(&shown))?;
            }
            AliasVerb::Remove { source } => {
                let removed = change(session, |plan| plan.remove_alias(&source))?;
                session.printer.line(visible(&removed.source))?;
            }
            AliasVerb::List(list) => {
                for alias in load(&layout(session)?)?.plan.aliases {
                    match list.json {
                        true => session.printer.json(&alias)?,
                        false => session.printer.line(visible(&alias_line(&alias)))?,
                    }
                }
            }
        }
        Ok(Outcome::Done)
    }
}

/// An alias, on one line.
pub(super) fn alias_line(alias: &Alias) -> String {
    let live = if alias.external { "  live" } else { "" };
    format!("{}  {}{live}", alias.source, alias.target)
}

fn change<T>(
    session: &mut Session,
    change: impl FnOnce(&mut Plan) -> Result<T, EditError>,
) -> Result<T, Error> {
    session.must_write()?;
    let layout = layout(session)?;
    let printer = &mut session.printer;
    let mut tell = |notice: Notice<'_>| match notice {
        Notice::CommentsLost(file) => warn_of_loss(printer, file),
        Notice::PutInOrder(opened) => say_opened(opened, printer),
    };
    Ok(edit(&layout, &mut tell, change)?)
}

fn say_cleared(session: &mut Session, names: &[String]) {
    for name in names {
        session.printer.say(format_args!("`{}` is found on all pages now", visible(name)));
    }
}
