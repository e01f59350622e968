//! `varve gc`: removes versions, diffs and bodies that are no longer wanted.

use std::time::Duration;

use serde_json::{Value, json};
use varve_archive::history::HistoryReader;
use varve_archive::verbs::gc::{
    GcAction, GcActions, GcReport, GcTotals, LooseFile, RetentionPolicy, TooSoon, perform, plan_to_show,
    too_soon, totals,
};
use varve_archive::{ArchiveError, Moment, RepositoryError};

use crate::clock;
use crate::duration;
use crate::error_report::one_line;
use crate::printer::{Printer, counted, counted_bodies, human_size, visible, with_fields};
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_text::short_version_id;

/// Remove versions, diffs and bodies that are no longer wanted
///
/// In a Moku site, removes versions that no `--keep` option selects, with their diffs and scores.
/// HEAD and tagged versions always stay. Children of a removed version get its parent as theirs,
/// and a new diff. Then bodies without references are removed, unless another program that uses the
/// site may just have written them. Finally the database returns its free space; if the disk is too
/// full for that, a message says so, and the next `gc` tries again.
///
/// In an archive, nothing is removed from silos and all versions stay; only stored diffs are
/// removed. `varve purge` removes content from silos.
///
/// Without a `--keep` option, all versions stay. `--diffs-older-than` removes diffs computed before
/// that time; they can be computed again. Without it, `--keep-within` is also the limit for diffs.
/// In an archive `--diffs-older-than 0s` removes all of them.
///
/// If HEAD or the parent of a version has no row, `gc` fails, because other rows may be lost too
/// and their bodies would seem unused. `--accept-lost` treats those rows as lost for good; their
/// children then have no parent.
///
/// The time of the last `gc` is stored. With `--min-interval`, `gc` does nothing if the last one is
/// more recent, says when it may run again, and exits with 0. A time in the future is ignored. An
/// archive forgets the time when its catalog is rebuilt.
///
/// Actions are listed before they are performed. With `--dry-run`, they are only listed, and
/// nothing is written. With `--json`, prints one object per action (`action`: `accept_lost` with
/// one `child`, `make_diff`, `forget_version` with its number of `diffs`, `prune_diffs` or
/// `remove_body`), and last one with `summary`: `diffs` counts all removed diffs, `made` those with
/// a new parent. If it is too soon, only the `summary` is printed, with `too_soon`: when `gc` was
/// `done`, and when it may run `again`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve gc --dry-run
  varve gc --keep-last 50 --keep-within 90d
  varve gc --keep-last 50 --min-interval 1d
  varve gc --diffs-older-than 30d
  varve gc --keep-tag relaunch --keep-last 1 --json")]
pub(super) struct GcArgs {
    /// Keep the newest N versions
    #[arg(long, value_name = "N")]
    keep_last: Option<u64>,

    /// Keep the version with this tag; may be repeated
    #[arg(long = "keep-tag", value_name = "TAG")]
    keep_tags: Vec<String>,

    /// Keep versions and diffs younger than this: `90d`, also with `s`, `m`, `h`, `w` or `y`
    #[arg(long, value_name = "TIME", value_parser = duration::parse_with_unit)]
    keep_within: Option<Duration>,

    /// Remove stored diffs older than this, instead of those that `--keep-within` selects: `30d`
    #[arg(long, value_name = "TIME", value_parser = duration::parse_with_unit)]
    diffs_older_than: Option<Duration>,

    /// Do nothing if the last gc is more recent than this: `1d`
    #[arg(long, value_name = "TIME", value_parser = duration::parse_with_unit)]
    min_interval: Option<Duration>,

    /// Continue though the rows of HEAD or of a parent are lost
    #[arg(long)]
    accept_lost: bool,

    /// Only list the actions
    #[arg(long)]
    dry_run: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Verb for GcArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let policy = RetentionPolicy {
            keep_last: self.keep_last,
            keep_tags: self.keep_tags.clone(),
            keep_within: self.keep_within,
            keep_diffs_within: self.diffs_older_than,
            accept_lost: self.accept_lost,
        };
        // A dry run needs no lock and no writable disk.
        let writer = if self.dry_run { None } else { Some(session.open_history()?) };
        let shown;
        let (history, now): (&HistoryReader, Moment) = match &writer {
            Some(writer) => (writer.as_reader(), writer.now()),
            None => {
                shown = session.open_reader()?;
                (&shown, clock::moment())
            }
        };
        let every = self.min_interval.map(|every| too_soon(history, now, every)).transpose()?;
        if let Some(lately) = every.flatten() {
            return self.leave(history, lately, &mut session.printer);
        }
        let actions = plan_to_show(history, now, &policy)?;
        for action in &actions.list {
            if self.json {
                session.printer.json(&action_json(action))?;
            } else {
                print(action, &mut session.printer)?;
            }
        }
        session.printer.flush()?;
        let mut done = GcReport::default();
        if let Some(writer) = &writer {
            let progress = session.printer.progress(Some(actions.list.len() as u64), "actions");
            done = perform(writer, &actions, &|more| progress.inc(more))?;
            drop(progress);
            remark(&mut done, &mut session.printer);
        }
        self.conclude(&actions, &done, &mut session.printer)?;
        Ok(ExitStatus::Done)
    }
}

impl GcArgs {
    /// Reports that it is too soon.
    fn leave(
        &self,
        history: &HistoryReader,
        lately: TooSoon,
        printer: &mut Printer,
    ) -> Result<ExitStatus, Error> {
        let TooSoon { done, again } = lately;
        printer.say(format_args!(
            "nothing to do: the last gc was at {} UTC; the next may run from {} UTC",
            done.for_people(),
            again.for_people()
        ));
        if self.json {
            let kept = history.catalog().count_versions(u64::MAX).map_err(ArchiveError::from)?;
            let mut summary = summary_json(&GcTotals::default(), 0, kept, self.dry_run);
            summary["too_soon"] = json!({ "done": done, "again": again });
            printer.json_summary(&summary)?;
        }
        Ok(ExitStatus::Done)
    }

    fn conclude(&self, actions: &GcActions, done: &GcReport, printer: &mut Printer) -> Result<(), Error> {
        let totals = totals(&actions.list).without(done);
        let young = actions.young + done.stayed.bodies;
        if self.json {
            return printer.json_summary(&summary_json(&totals, young, actions.kept, self.dry_run));
        }
        let GcTotals { versions, diffs, made, bodies, bytes } = totals;
        let done = if self.dry_run { "would be removed" } else { "removed" };
        if actions.in_silos {
            let what = match diffs {
                0 => "nothing to do: in an archive".to_owned(),
                diffs => format!("{} {done}; in an archive", counted(diffs, "diff")),
            };
            printer.say(format_args!(
                "{what} gc removes neither versions nor bodies; `varve purge` removes content from silos"
            ));
            return Ok(());
        }
        printer.say(format_args!(
            "{}, {} and {} {done} ({}); {} kept",
            counted(versions, "version"),
            counted(diffs, "diff"),
            counted_bodies(bodies),
            human_size(bytes),
            counted(actions.kept, "version")
        ));
        if made > 0 {
            let done = if self.dry_run { "would be computed" } else { "computed" };
            printer.say(format_args!("{} with a new parent {done}", counted(made, "diff")));
        }
        if young > 0 {
            printer.say(format_args!(
                "{young} unreferenced bodies kept: another program has the site open, or wrote them just now"
            ));
        }
        Ok(())
    }
}

/// Reports what could not be completed.
fn remark(done: &mut GcReport, printer: &mut Printer) {
    let mut say = |what: &str, why: Option<RepositoryError>| {
        if let Some(why) = why {
            printer.say(format_args!("{what}: {}", one_line(&why.into())));
        }
    };
    say("the database could not return its free space", done.kept_room.take());
    say("gc is done, but its time could not be stored", done.undated.take());
    if done.unmade > 0 {
        printer.say(format_args!(
            "{} not computed: a body is damaged or missing; `varve audit` lists it",
            counted(done.unmade, "diff")
        ));
    }
}

fn print(action: &GcAction, printer: &mut Printer) -> Result<(), Error> {
    match action {
        GcAction::AcceptLost { version, child: Some(child) } => printer.line(format_args!(
            "accept the loss of version {}: version {} then has no parent",
            short_version_id(version),
            short_version_id(child)
        )),
        GcAction::AcceptLost { version, child: None } => {
            printer.line(format_args!("accept the loss of version {}", short_version_id(version)))
        }
        GcAction::MakeDiff { base, head } => printer.line(format_args!(
            "compute the diff of version {} with {}",
            short_version_id(head),
            short_version_id(base)
        )),
        GcAction::ForgetVersion { info, diffs } => printer.line(format_args!(
            "remove version {} of {} with {}: {}",
            short_version_id(&info.version.id),
            info.version.time.for_people(),
            counted(*diffs, "diff"),
            visible(info.version.message.lines().next().unwrap_or_default())
        )),
        GcAction::PruneDiffs { count, .. } => {
            printer.line(format_args!("remove {}", counted(*count, "diff")))
        }
        GcAction::RemoveBody(file) => match &file.id {
            Some(id) => printer.line(format_args!("remove body {id}, {}", human_size(file.length))),
            None => printer.line(format_args!("remove the incomplete file `{}`", file.path.display())),
        },
    }
}

fn action_json(action: &GcAction) -> Value {
    match action {
        GcAction::AcceptLost { version, child } => {
            json!({ "action": "accept_lost", "version": version, "child": child })
        }
        GcAction::MakeDiff { base, head } => json!({ "action": "make_diff", "base": base, "head": head }),
        GcAction::ForgetVersion { info, diffs } => json!({
            "action": "forget_version",
            "version": info.version.id,
            "message": info.version.message,
            "time": info.version.time,
            "captures": info.captures,
            "diffs": diffs,
        }),
        GcAction::PruneDiffs { before, count } => {
            json!({ "action": "prune_diffs", "before": before, "count": count })
        }
        GcAction::RemoveBody(LooseFile { id, path, length }) => {
            json!({ "action": "remove_body", "body": id, "path": path.to_string_lossy(), "length": length })
        }
    }
}

fn summary_json(totals: &GcTotals, young: u64, kept: u64, dry_run: bool) -> Value {
    with_fields(json!(totals), &json!({ "kept": kept, "young": young, "dry_run": dry_run }))
}
