//! `varve gc`: what is no longer wanted goes.

use std::time::Duration;

use serde::Serialize;
use varve_archive::history::Holdings;
use varve_archive::verbs::gc::{
    Action, Actions, Performed, Policy, TooSoon, perform, plan_to_show, too_soon, totals,
};
use varve_archive::{ArchiveError, Moment, RepositoryError};

use super::log::short;
use super::{Outcome, Verb};
use crate::clock;
use crate::duration;
use crate::error::{self, Error};
use crate::printer::{Printer, counted, readable, visible};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve gc --dry-run
  varve gc --keep-last 50 --keep-within 90d
  varve gc --keep-last 50 --at-most-every 1d
  varve gc --keep-tag relaunch --keep-last 1 --json";

/// Remove versions, diffs and bodies that are no longer wanted
///
/// In a Moku site, versions go that no `--keep` option keeps, with their diffs and scores; HEAD and what has a tag always
/// stays. What descended from a version that goes descends from its parent then, and its diff with that parent is made in
/// place of the one that goes. Then bodies are removed that nothing refers to, unless another program that is using the
/// site may just have written them. Last, the database gives back the room that was freed in it; where there is no room to do so, that is said,
/// and the next `gc` that removes something does it.
///
/// In an archive nothing leaves a silo by this verb, and all versions stay. `varve rewrite` takes things out of silos.
///
/// Without a `--keep` option, in an archive as in a site, all versions and all kept diffs stay. Diffs that were computed
/// before `--keep-within` are pruned: they can be computed again. In an archive `--keep-within 0s` prunes all of them.
///
/// Where HEAD named a version that has no rows, or one descends from such a version, nothing is done: others may have lost theirs
/// too, and their bodies would seem unwanted. `--accept-lost` says that those rows are gone for good; what descended from them
/// descends from nothing then.
///
/// When it was done is written down as the last thing, with or without anything to do; a dry run writes nothing, and one that was
/// stopped does not count. With `--at-most-every` nothing is looked at and nothing goes if that was less than so long ago: it is
/// said when it may be done again, and the exit code is 0. `--dry-run` says the same then, and lists nothing, because nothing would be done. A
/// time that is still to come, from a clock that was ahead, keeps nobody from it, and an archive whose catalog was made again
/// does not know it.
///
/// What is to be done is listed first; with `--dry-run` that is all, and nothing is written. With `--json` there is one object for
/// each action (`action`: `accept_lost` with one `child`, `make_diff`, `forget_version` with how many `diffs` go with it, `prune_diffs` or `remove_body`), and a last
/// one with `summary`: `diffs` counts all that go, `made` those with a new parent. Where it was done a short while ago, `summary` is all there is, and has `too_soon`: when it was
/// `done`, and when it may be done `again`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Gc {
    /// Keep the newest so many versions
    #[arg(long, value_name = "N")]
    keep_last: Option<u64>,

    /// Keep the version with this tag; may be given several times
    #[arg(long = "keep-tag", value_name = "TAG")]
    keep_tags: Vec<String>,

    /// Keep what is younger: `90d`, and `s`, `m`, `h`, `w` or `y` instead of `d`
    #[arg(long, value_name = "TIME", value_parser = duration::parse_with_unit)]
    keep_within: Option<Duration>,

    /// Do nothing if gc was done less than this ago: `1d`, and units as above
    #[arg(long, value_name = "TIME", value_parser = duration::parse_with_unit)]
    at_most_every: Option<Duration>,

    /// Go on though HEAD named a version without rows, or one descends from it: they are gone for good
    #[arg(long)]
    accept_lost: bool,

    /// Only list what would be done
    #[arg(long)]
    dry_run: bool,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Verb for Gc {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let policy = Policy {
            keep_last: self.keep_last,
            keep_tags: self.keep_tags.clone(),
            keep_within: self.keep_within,
            accept_lost: self.accept_lost,
        };
        // Whoever only wants to know changes nothing, and needs no disk that can be written.
        let history = if self.dry_run { None } else { Some(session.open_history()?) };
        let shown;
        let (holdings, now): (&dyn Holdings, Moment) = match &history {
            Some(history) => (history.as_holdings(), history.now()),
            None => {
                shown = session.holdings()?;
                (&*shown, clock::moment())
            }
        };
        let every = self.at_most_every.map(|every| too_soon(holdings, now, every)).transpose()?;
        if let Some(lately) = every.flatten() {
            return self.leave(holdings, lately, &mut session.printer);
        }
        let actions = plan_to_show(holdings, now, &policy)?;
        for action in &actions.list {
            if self.json {
                session.printer.json(&Line::of(action))?;
            } else {
                print(action, &mut session.printer)?;
            }
        }
        session.printer.flush()?;
        let mut done = Performed::default();
        if let Some(history) = &history {
            let progress = session.printer.progress(Some(actions.list.len() as u64), "actions");
            done = perform(&**history, &actions, &|more| progress.inc(more))?;
            drop(progress);
            remark(&mut done, &mut session.printer);
        }
        self.conclude(&actions, &done, &mut session.printer)?;
        Ok(Outcome::Done)
    }
}

impl Gc {
    /// Says that nothing is done yet.
    fn leave(
        &self,
        holdings: &dyn Holdings,
        lately: TooSoon,
        printer: &mut Printer,
    ) -> Result<Outcome, Error> {
        let TooSoon { done, again } = lately;
        printer.say(format_args!(
            "nothing is done: gc was done at {} UTC, and may be done again from {} UTC on",
            done.for_people(),
            again.for_people()
        ));
        if self.json {
            let kept = holdings.catalog().count_versions(u64::MAX).map_err(ArchiveError::from)?;
            let too_soon = Some(NotYet { done, again });
            let summary = Summary { kept, dry_run: self.dry_run, too_soon, ..Summary::default() };
            printer.json(&Last { summary })?;
        }
        Ok(Outcome::Done)
    }

    fn conclude(&self, actions: &Actions, done: &Performed, printer: &mut Printer) -> Result<(), Error> {
        let totals = totals(&actions.list);
        let total = |name| totals.get(name).copied().unwrap_or_default();
        let (versions, diffs, (bodies, bytes)) = (total("versions").0, total("diffs").0, total("bodies"));
        let (bodies, bytes) = (bodies - done.stayed.bodies, bytes - done.stayed.bytes);
        let made = total("made").0.saturating_sub(done.unmade);
        let young = actions.young + done.stayed.bodies;
        if self.json {
            let (kept, dry_run) = (actions.kept, self.dry_run);
            let too_soon = None;
            let summary = Summary { versions, diffs, made, bodies, bytes, kept, young, dry_run, too_soon };
            return printer.json(&Last { summary });
        }
        let done = if self.dry_run { "would go" } else { "gone" };
        if actions.in_silos {
            printer.say(format_args!("{} {done}; nothing leaves a silo by gc", counted(diffs, "diff")));
            return Ok(());
        }
        printer.say(format_args!(
            "{}, {} and {} {done} ({}); {} kept",
            counted(versions, "version"),
            counted(diffs, "diff"),
            match bodies {
                1 => "1 body".to_owned(),
                _ => format!("{bodies} bodies"),
            },
            readable(bytes),
            counted(actions.kept, "version")
        ));
        if made > 0 {
            let done = if self.dry_run { "would be made" } else { "made" };
            printer.say(format_args!(
                "{} {done}, with the parent that a version has then",
                counted(made, "diff")
            ));
        }
        if young > 0 {
            printer.say(format_args!(
                "{young} bodies stay that no version has: another program has the site open, or wrote them just now, and may be about to name them"
            ));
        }
        Ok(())
    }
}

/// Says what did not come about as it was meant.
fn remark(done: &mut Performed, printer: &mut Printer) {
    let mut say = |what: &str, why: Option<RepositoryError>| {
        if let Some(why) = why {
            printer.say(format_args!("{what}: {}", error::report(&why.into()).one_line()));
        }
    };
    say("the database keeps the room that was freed in it", done.kept_room.take());
    say("gc is done, but when could not be written down", done.undated.take());
    if done.unmade > 0 {
        printer.say(format_args!(
            "{} not made: a body is damaged or not here; `varve audit` names it",
            counted(done.unmade, "diff")
        ));
    }
}

fn print(action: &Action, printer: &mut Printer) -> Result<(), Error> {
    match action {
        Action::AcceptLost { version, child: Some(child) } => printer.line(format_args!(
            "let version {} be gone: version {} descends from nothing then",
            short(version),
            short(child)
        )),
        Action::AcceptLost { version, child: None } => {
            printer.line(format_args!("let version {} be gone", short(version)))
        }
        Action::MakeDiff { base, head } => {
            printer.line(format_args!("make the diff of version {} with {}", short(head), short(base)))
        }
        Action::ForgetVersion { info, diffs } => printer.line(format_args!(
            "forget version {} of {} with {}: {}",
            short(&info.version.id),
            info.version.time.for_people(),
            counted(*diffs, "diff"),
            visible(info.version.message.lines().next().unwrap_or_default())
        )),
        Action::PruneDiffs { count, .. } => printer.line(format_args!("prune {}", counted(*count, "diff"))),
        Action::RemoveBody(file) => match &file.id {
            Some(id) => printer.line(format_args!("remove body {id}, {}", readable(file.length))),
            None => printer.line(format_args!("remove the unfinished `{}`", file.path.display())),
        },
    }
}

#[derive(Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
enum Line<'a> {
    AcceptLost { version: String, child: Option<String> },
    MakeDiff { base: String, head: String },
    ForgetVersion { version: String, message: &'a str, time: Moment, captures: u64, diffs: u64 },
    PruneDiffs { before: Moment, count: u64 },
    RemoveBody { body: Option<String>, path: String, length: u64 },
}

impl<'a> Line<'a> {
    fn of(action: &'a Action) -> Self {
        match action {
            Action::AcceptLost { version, child } => {
                let child = child.as_ref().map(ToString::to_string);
                Self::AcceptLost { version: version.to_string(), child }
            }
            Action::MakeDiff { base, head } => {
                Self::MakeDiff { base: base.to_string(), head: head.to_string() }
            }
            Action::ForgetVersion { info, diffs } => Self::ForgetVersion {
                version: info.version.id.to_string(),
                message: &info.version.message,
                time: info.version.time,
                captures: info.captures,
                diffs: *diffs,
            },
            Action::PruneDiffs { before, count } => Self::PruneDiffs { before: *before, count: *count },
            Action::RemoveBody(file) => Self::RemoveBody {
                body: file.id.map(|id| id.to_string()),
                path: file.path.display().to_string(),
                length: file.length,
            },
        }
    }
}

#[derive(Serialize)]
struct Last {
    summary: Summary,
}

#[derive(Default, Serialize)]
struct Summary {
    versions: u64,
    diffs: u64,
    made: u64,
    bodies: u64,
    bytes: u64,
    kept: u64,
    young: u64,
    dry_run: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    too_soon: Option<NotYet>,
}

#[derive(Serialize)]
struct NotYet {
    done: Moment,
    again: Moment,
}
