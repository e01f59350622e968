//! `varve crystal info`: statistics of a project.

use serde_json::json;
use varve_archive::verbs::crystal::project::{ProjectOverview, info};
use varve_archive::verbs::crystal::{
    DatabaseReadMode, GroupInfo, MigrationStage, PendingMigration, ProjectInfo as Numbers,
};

use super::ProjectPathArgs;
use crate::printer::{FAINT_STYLE, Printer, STRONG_STYLE, human_size, visible, with_fields};
use crate::verb::{Error, ExitStatus, Session};

/// Show statistics of a project
///
/// Changes nothing. `--quick` looks at no body and counts no members of groups: `bodies`,
/// `missing_bodies` and `bytes` are then `null`, and `group_members` is empty. With `--json`, prints one object: `major_version`, `resources`, `revisions`,
/// `error_revisions`, `roots`, `groups`, `aliases`, `bodies`, `missing_bodies`, `bytes`,
/// `database_bytes`, `migration` (`to`, and as `stage` queued or interrupted), `reading`, `hibernated_tasks`, `path`, `default_url_prefix`
/// and `group_members`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve crystal info museum.crystalproj
  varve crystal info museum.crystalproj --quick
  varve -C museum.crystalproj crystal info --json")]
pub(super) struct CrystalInfoArgs {
    #[command(flatten)]
    which: ProjectPathArgs,

    /// Count rows only, which takes no longer for many bodies
    #[arg(long)]
    quick: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl CrystalInfoArgs {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let about = info(&self.which.path(session)?, self.quick)?;
        if !self.json {
            print(&about, &mut session.printer)?;
            return Ok(ExitStatus::Done);
        }
        let group = |info: &GroupInfo| {
            json!({
                "id": info.group.id,
                "name": info.group.name,
                "url_pattern": info.group.url_pattern,
                "do_not_download": info.group.do_not_download,
                "members": info.members,
                "downloaded_members": info.downloaded_members,
            })
        };
        let rest = json!({
            "default_url_prefix": about.default_url_prefix,
            "group_members": about.groups.iter().map(group).collect::<Vec<_>>(),
        });
        let row = with_fields(json!({ "path": about.path.to_string_lossy() }), &about.info);
        session.printer.json(&with_fields(row, &rest))?;
        Ok(ExitStatus::Done)
    }
}

fn print(about: &ProjectOverview, printer: &mut Printer) -> Result<(), Error> {
    let numbers = &about.info;
    printer.line(format_args!("{STRONG_STYLE}{}{STRONG_STYLE:#}", visible(&about.path.to_string_lossy())))?;
    let rows = [
        ("major version", numbers.major_version.number().to_string()),
        ("resources", numbers.resources.to_string()),
        ("revisions", format!("{}, {} of them errors", numbers.revisions, numbers.error_revisions)),
        ("bodies", or_not_counted(numbers.bodies.zip(numbers.bytes).map(described_bodies))),
        ("missing bodies", or_not_counted(numbers.missing_bodies.map(|count| count.to_string()))),
        ("database", human_size(numbers.database_bytes)),
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

fn described_bodies((bodies, bytes): (u64, u64)) -> String {
    format!("{bodies}, {}", human_size(bytes))
}

fn or_not_counted(text: Option<String>) -> String {
    text.unwrap_or_else(|| "not counted".to_owned())
}

fn print_group(info: &GroupInfo, printer: &mut Printer) -> Result<(), Error> {
    let name = match info.group.name.as_str() {
        "" => String::new(),
        name => format!("  {FAINT_STYLE}{}{FAINT_STYLE:#}", visible(name)),
    };
    printer.line(format_args!(
        "  {} of {} downloaded  {}{name}",
        info.downloaded_members,
        info.members,
        visible(&info.group.url_pattern)
    ))
}

fn say_state(numbers: &Numbers, printer: &mut Printer) {
    if let Some(PendingMigration { to, stage }) = numbers.migration {
        let word = match stage {
            MigrationStage::Queued => "queued",
            MigrationStage::Interrupted => "interrupted",
        };
        printer.warn(format_args!(
            "a migration to major version {} is {word}; the next writer completes it, and so does `varve crystal migrate`",
            to.number()
        ));
    }
    if numbers.reading == DatabaseReadMode::Copy {
        printer.say(
            "the database was read from a copy, because its write-ahead log could not be merged in place",
        );
    }
}
