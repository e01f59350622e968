//! `varve crystal info`: a project in numbers.

use serde::Serialize;
use varve_archive::verbs::crystal::info::{About, info};
use varve_archive::verbs::crystal::{GroupInfo, Info as Numbers, Reading};

use super::super::Outcome;
use super::Which;
use crate::error::Error;
use crate::printer::{FAINT, Printer, STRONG, WARN, readable, visible};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve crystal info museum.crystalproj
  varve -C museum.crystalproj crystal info --json";

/// Show a project in numbers
///
/// Nothing is changed, whatever state the project is in. With `--json` there is one object: `major_version`, `resources`,
/// `revisions`, `error_revisions`, `roots`, `groups`, `aliases`, `bodies`, `missing_bodies`, `bytes`, `database_bytes`,
/// `half_migrated`, `reading`, `hibernated_tasks`, `path`, `default_url_prefix` and `group_members`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Info {
    #[command(flatten)]
    which: Which,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    path: String,
    #[serde(flatten)]
    numbers: &'a Numbers,
    default_url_prefix: Option<&'a str>,
    group_members: Vec<GroupLine<'a>>,
}

#[derive(Serialize)]
struct GroupLine<'a> {
    id: i64,
    name: &'a str,
    url_pattern: &'a str,
    do_not_download: bool,
    members: u64,
    downloaded_members: u64,
}

impl<'a> GroupLine<'a> {
    fn of(info: &'a GroupInfo) -> Self {
        Self {
            id: info.group.id.get(),
            name: &info.group.name,
            url_pattern: &info.group.url_pattern,
            do_not_download: info.group.do_not_download,
            members: info.members,
            downloaded_members: info.downloaded_members,
        }
    }
}

impl Info {
    pub(super) fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let about = info(&self.which.path(session)?)?;
        if !self.json {
            print(&about, &mut session.printer)?;
            return Ok(Outcome::Done);
        }
        session.printer.json(&Line {
            path: about.path.to_string_lossy().into_owned(),
            numbers: &about.info,
            default_url_prefix: about.default_url_prefix.as_deref(),
            group_members: about.groups.iter().map(GroupLine::of).collect(),
        })?;
        Ok(Outcome::Done)
    }
}

fn print(about: &About, printer: &mut Printer) -> Result<(), Error> {
    let numbers = &about.info;
    printer.line(format_args!("{STRONG}{}{STRONG:#}", visible(&about.path.to_string_lossy())))?;
    let rows = [
        ("major version", numbers.major_version.number().to_string()),
        ("resources", numbers.resources.to_string()),
        ("revisions", format!("{}, {} of them errors", numbers.revisions, numbers.error_revisions)),
        ("bodies", format!("{}, {}", numbers.bodies, readable(numbers.bytes))),
        ("missing bodies", numbers.missing_bodies.to_string()),
        ("database", readable(numbers.database_bytes)),
        ("roots", numbers.roots.to_string()),
        ("aliases", numbers.aliases.to_string()),
        ("waiting tasks", numbers.hibernated_tasks.to_string()),
        ("groups", numbers.groups.to_string()),
    ];
    for (name, value) in rows {
        printer.line(format_args!("{name:<16}{value}"))?;
    }
    for group in &about.groups {
        print_group(group, printer)?;
    }
    say_state(numbers, printer);
    Ok(())
}

fn print_group(info: &GroupInfo, printer: &mut Printer) -> Result<(), Error> {
    let name = match info.group.name.as_str() {
        "" => String::new(),
        name => format!("  {FAINT}{}{FAINT:#}", visible(name)),
    };
    printer.line(format_args!(
        "  {} of {} downloaded  {}{name}",
        info.downloaded_members,
        info.members,
        visible(&info.group.url_pattern)
    ))
}

fn say_state(numbers: &Numbers, printer: &mut Printer) {
    if numbers.half_migrated {
        printer.say(format_args!(
            "{WARN}warning:{WARN:#} a migration was begun and not finished; `varve crystal migrate` finishes it"
        ));
    }
    if numbers.reading == Reading::Copy {
        printer
            .say("the database was read from a copy, since a log beside it could not be merged in its place");
    }
}
