//! `varve plan root|group|alias`: edits the plan.

use serde::Serialize;
use varve_archive::EditError;
use varve_archive::verbs::plan::{Alias, Group, Plan, PlanNotice, Root, edit, is_project, load};

use super::super::crystal::say_opened;
use super::layout;
use crate::printer::visible;
use crate::verb::{Error, ExitStatus, Session};

/// Edit the roots: pages to start with
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "\
Examples:
  varve plan root add https://xkcd.com/ --name Home
  varve plan root list"
)]
pub(super) struct PlanRootArgs {
    #[command(subcommand)]
    verb: PlanRootVerb,
}

#[derive(clap::Subcommand)]
enum PlanRootVerb {
    /// Add a root
    #[command(after_help = "Examples:\n  varve plan root add https://xkcd.com/ --name Home")]
    Add {
        /// Its URL
        url: String,
        /// The name [default: the URL]
        #[arg(long)]
        name: Option<String>,
    },
    /// List the roots: name and URL
    #[command(after_help = "Examples:\n  varve plan root list --json")]
    List(PlanListArgs),
    /// Remove a root
    #[command(
        after_help = "Examples:\n  varve plan root remove Home\n  varve plan root remove https://xkcd.com/ --cascade"
    )]
    Remove(PlanRemoveArgs),
}

/// Edit the groups: pages linked from other pages
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "\
Examples:
  varve plan group add 'https://xkcd.com/#/' --name Comics --found-on Home
  varve plan group list"
)]
pub(super) struct PlanGroupArgs {
    #[command(subcommand)]
    verb: PlanGroupVerb,
}

#[derive(clap::Subcommand)]
enum PlanGroupVerb {
    /// Add a group of pages
    ///
    /// Patterns: `**` is any text, `*` any text without `/`, `?`, `=` and `&`, `#` a number; they match the whole URL.
    #[command(
        after_help = "Examples:\n  varve plan group add 'https://xkcd.com/#/' --name Comics --found-on Home\n  varve plan group add 'https://xkcd.com/cart/**' --do-not-download"
    )]
    Add {
        /// The URLs of its members
        pattern: String,
        /// The name [default: the pattern]
        #[arg(long)]
        name: Option<String>,
        /// The root or group whose pages link to the members [default: all captured pages]
        #[arg(long, value_name = "NAME")]
        found_on: Option<String>,
        /// Never capture its members
        #[arg(long)]
        do_not_download: bool,
    },
    /// Add a group of all pages of a site
    #[command(after_help = "Examples:\n  varve plan group site Home")]
    Site {
        /// The name or URL of a root whose path is `/`
        root: String,
    },
    /// List the groups: name, pattern and source
    #[command(after_help = "Examples:\n  varve plan group list --json")]
    List(PlanListArgs),
    /// Remove a group
    #[command(after_help = "Examples:\n  varve plan group remove Comics")]
    Remove(PlanRemoveArgs),
}

/// Edit the aliases: URL prefixes that stand for others
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "\
Examples:
  varve plan alias add https://old.example.com/ https://example.com/
  varve plan alias list"
)]
pub(super) struct PlanAliasArgs {
    #[command(subcommand)]
    verb: PlanAliasVerb,
}

#[derive(clap::Subcommand)]
enum PlanAliasVerb {
    /// Add an alias: URLs with one prefix are replaced by another prefix
    #[command(
        after_help = "Examples:\n  varve plan alias add https://old.example.com/ https://example.com/\n  varve plan alias add https://example.com/forum/ https://forum.example.com/ --external"
    )]
    Add {
        /// The prefix to replace, up to a `/`
        source: String,
        /// The new prefix, up to a `/`
        target: String,
        /// The target is on the live web and is never captured
        #[arg(long)]
        external: bool,
    },
    /// List the aliases: source and target
    #[command(after_help = "Examples:\n  varve plan alias list --json")]
    List(PlanListArgs),
    /// Remove an alias
    #[command(after_help = "Examples:\n  varve plan alias remove https://old.example.com/")]
    Remove {
        /// Its source
        source: String,
    },
}

#[derive(clap::Args)]
struct PlanListArgs {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl PlanListArgs {
    /// Prints the entries, one per line.
    fn print<T: Serialize>(
        &self,
        session: &mut Session,
        entries: &[T],
        line: fn(&T) -> String,
    ) -> Result<(), Error> {
        entries.iter().try_for_each(|entry| match self.json {
            true => session.printer.json(entry),
            false => session.printer.line(visible(&line(entry))),
        })
    }
}

#[derive(clap::Args)]
struct PlanRemoveArgs {
    /// The name, URL or pattern
    name: String,
    /// Look for the groups that it is the source of on all pages; always so in a Crystal project
    #[arg(long)]
    cascade: bool,
}

impl PlanRootArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        match self.verb {
            PlanRootVerb::Add { url, name } => {
                let name = name.unwrap_or_else(|| url.clone());
                change(session, |plan| plan.add_root(Root { name: name.clone(), url }))?;
                session.printer.line(visible(&name))?;
            }
            PlanRootVerb::Remove(PlanRemoveArgs { name, cascade }) => {
                let cascade = cascade || is_project(&layout(session)?);
                let removed = change(session, |plan| plan.remove_root(&name, cascade))?;
                say_cleared(session, &removed.cleared);
                session.printer.line(visible(&removed.removed.name))?;
            }
            PlanRootVerb::List(list) => {
                let roots = load(&layout(session)?)?.plan.roots;
                list.print(session, &roots, root_line)?;
            }
        }
        Ok(ExitStatus::Done)
    }
}

impl PlanGroupArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        match self.verb {
            PlanGroupVerb::Add { pattern, name, found_on, do_not_download } => {
                let name = name.unwrap_or_else(|| pattern.clone());
                let group = Group { name: name.clone(), pattern, found_on, do_not_download };
                change(session, |plan| plan.add_group(group))?;
                session.printer.line(visible(&name))?;
            }
            PlanGroupVerb::Site { root } => {
                let added = change(session, |plan| plan.add_site(&root))?;
                session.printer.line(visible(&added.name))?;
            }
            PlanGroupVerb::Remove(PlanRemoveArgs { name, cascade }) => {
                let cascade = cascade || is_project(&layout(session)?);
                let removed = change(session, |plan| plan.remove_group(&name, cascade))?;
                say_cleared(session, &removed.cleared);
                session.printer.line(visible(&removed.removed.name))?;
            }
            PlanGroupVerb::List(list) => {
                let groups = load(&layout(session)?)?.plan.groups;
                list.print(session, &groups, group_line)?;
            }
        }
        Ok(ExitStatus::Done)
    }
}

/// A root, on one line.
pub(super) fn root_line(root: &Root) -> String {
    format!("{}  {}", root.name, root.url)
}

/// A group, on one line.
pub(super) fn group_line(group: &Group) -> String {
    let place = match (&group.found_on, group.do_not_download) {
        (_, true) => "not captured".to_owned(),
        (Some(name), false) => format!("on {name}"),
        (None, false) => "on all pages".to_owned(),
    };
    format!("{}  {}  {place}", group.name, group.pattern)
}

impl PlanAliasArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        match self.verb {
            PlanAliasVerb::Add { source, target, external } => {
                let shown = source.clone();
                change(session, |plan| plan.add_alias(Alias { source, target, external }))?;
                session.printer.line(visible(&shown))?;
            }
            PlanAliasVerb::Remove { source } => {
                let removed = change(session, |plan| plan.remove_alias(&source))?;
                session.printer.line(visible(&removed.source))?;
            }
            PlanAliasVerb::List(list) => {
                let aliases = load(&layout(session)?)?.plan.aliases;
                list.print(session, &aliases, alias_line)?;
            }
        }
        Ok(ExitStatus::Done)
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
    session.require_writable()?;
    let layout = layout(session)?;
    let printer = &mut session.printer;
    let mut tell = |notice: PlanNotice<'_>| match notice {
        PlanNotice::CommentsLost(file) => printer.warn_of_lost_comments(&file.path, &file.comments),
        PlanNotice::PutInOrder(opened) => say_opened(opened, printer),
    };
    Ok(edit(&layout, &mut tell, change)?)
}

fn say_cleared(session: &mut Session, names: &[String]) {
    for name in names {
        session.printer.say(format_args!("members of `{}` are now looked for on all pages", visible(name)));
    }
}
