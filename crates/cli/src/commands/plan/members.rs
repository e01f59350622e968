//! `varve plan members|tree`: the pages of groups, and the plan as a tree.

use serde_json::json;
use varve_archive::verbs::plan::members::members;
use varve_archive::verbs::plan::tree::{GroupNode, tree};

use super::edit::alias_line;
use super::layout;
use crate::printer::{Printer, WARNING_STYLE, visible};
use crate::verb::{Error, ExitStatus, Session};

/// List the known pages of a group
///
/// In a Crystal project, these are the URLs that the project has seen in links. In an archive, they
/// are the captured pages, and the links to others on the newest good captures of the pages that the
/// group is found on. With `--json`, prints one object per page: `url`, `captured`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  varve plan members Comics\n  varve plan members 'https://xkcd.com/#/' --missing\n  varve -C museum.crystalproj plan members Comics --missing --json"
)]
pub(super) struct PlanMembersArgs {
    /// The name or the pattern of the group
    group: String,

    /// List only pages that were never captured
    #[arg(long)]
    missing: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl PlanMembersArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let (layout, history) = (layout(session)?, session.open_reader()?);
        let printer = &mut session.printer;
        let mut printed = Ok(());
        members(&layout, &history, &self.group, &mut |member| {
            if printed.is_err() || self.missing && member.is_captured {
                return;
            }
            printed = match (self.json, member.is_captured || self.missing) {
                (true, _) => printer.json(&json!({ "url": member.url, "captured": member.is_captured })),
                (false, true) => printer.line(visible(&member.url)),
                (false, false) => printer
                    .line(format_args!("{}  {WARNING_STYLE}missing{WARNING_STYLE:#}", visible(&member.url))),
            };
        })?;
        printed?;
        Ok(ExitStatus::Done)
    }
}

/// Show the plan as a tree of what is found on what, with the numbers of captured pages
///
/// With `--json`, prints one object: `roots`, `groups`, `aliases`. A root has `name`, `url`,
/// `captured` and `groups`; a group has `name`, `pattern`, `found_on`, `do_not_download`, `captured`
/// and `missing` as numbers of pages, and `groups`. Groups that are found on all pages are at the top.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  varve plan tree\n  varve -C museum.crystalproj plan tree --json")]
pub(super) struct PlanTreeArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl PlanTreeArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let tree = tree(&layout(session)?, &session.open_reader()?)?;
        let printer = &mut session.printer;
        if self.json {
            printer.json(&tree)?;
            return Ok(ExitStatus::Done);
        }
        for root in &tree.roots {
            let state = if root.captured { "" } else { "  missing" };
            printer.line(visible(&format!("root  {}  {}{state}", root.root.name, root.root.url)))?;
            print_groups(&root.groups, 1, printer)?;
        }
        print_groups(&tree.groups, 0, printer)?;
        for alias in &tree.aliases {
            printer.line(visible(&format!("alias  {}", alias_line(alias))))?;
        }
        Ok(ExitStatus::Done)
    }
}

fn print_groups(groups: &[GroupNode], depth: usize, printer: &mut Printer) -> Result<(), Error> {
    for node in groups {
        let indent = "  ".repeat(depth);
        let excluded = if node.group.do_not_download { "  not downloaded" } else { "" };
        printer.line(visible(&format!(
            "{indent}group  {}  {}  {} captured, {} missing{excluded}",
            node.group.name, node.group.pattern, node.captured, node.missing
        )))?;
        print_groups(&node.groups, depth + 1, printer)?;
    }
    Ok(())
}
