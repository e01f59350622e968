//! `varve capture` into a Crystal project: the same arguments and events, and revisions instead of a version.

use std::sync::atomic::Ordering;

use serde_json::json;
use varve_archive::verbs::capture::{CrawlEvent, CrawlSettings, NetworkOptions};
use varve_archive::verbs::crystal::capture::{self as into_project, ProjectCaptured};
use varve_archive::verbs::plan::Plan;

use super::{Capture, Outcome, Seen, Unsent, Watcher, people_size};
use crate::error::Error;
use crate::interrupt;
use crate::printer::counted;
use crate::session::Session;

impl Capture {
    /// Captures into a Crystal project.
    pub(super) fn fill_project(
        &self,
        session: &mut Session,
        reach: NetworkOptions,
    ) -> Result<Outcome, Error> {
        let root = session.root()?;
        let plan = self.follows_plan()?.then(Plan::default);
        let settings = CrawlSettings { plan: None, ..self.settings_with(session, plan)? };
        let stop = interrupt::flag();
        let (threads, clock) = (Session::threads(), session.opening()?.clock);
        let unsent = Unsent::new(&reach);
        let manner = into_project::ProjectRunOptions { reach, threads, stop: &stop, clock };
        let mut watcher = Watcher::new(&mut session.printer, self.json, self.list(), unsent)?;
        let mut report = |event: CrawlEvent<'_>| watcher.see(&event);
        let captured = match (self.finish, self.resume) {
            (true, _) => into_project::finish(&root),
            (_, true) => {
                let change = |kept: &mut CrawlSettings| self.given.change(kept, &settings);
                into_project::resume(&root, change, &manner, &mut report)
            }
            _ => into_project::capture(&root, settings, &manner, &mut report),
        };
        let seen = watcher.end()?;
        let captured = captured?;
        super::super::crystal::say_opened(&captured.opened, &mut session.printer);
        self.print_project(session, &captured, &seen)?;
        Ok(match (captured.finished, captured.tally.failed + captured.tally.seeds_refused) {
            (false, _) if stop.load(Ordering::Relaxed) => Outcome::Interrupted,
            (false, _) => Outcome::Findings,
            (true, 0) => Outcome::Done,
            (true, _) => Outcome::Findings,
        })
    }

    fn print_project(
        &self,
        session: &mut Session,
        captured: &ProjectCaptured,
        seen: &Seen,
    ) -> Result<(), Error> {
        let ProjectCaptured { tally, revisions, queued, finished, .. } = captured;
        if self.json {
            return session.printer.json(&json!({
                "version": null,
                "run": captured.run.to_string(),
                "finished": finished,
                "captured": tally.captured,
                "revisions": revisions,
                "pages": tally.pages,
                "unchanged": tally.unchanged,
                "truncated": tally.truncated,
                "failed": tally.failed,
                "skipped": tally.skipped,
                "bytes": tally.bytes,
                "queued": queued,
            }));
        }
        seen.tell(&mut session.printer);
        session.printer.line(format_args!(
            "{}: {} captured ({} unchanged), {} failed, {} received",
            counted(*revisions, "revision"),
            tally.captured,
            tally.unchanged,
            tally.failed,
            people_size(tally.bytes)
        ))?;
        if !finished {
            session.printer.say(format_args!(
                "stopped, {queued} waiting\n`varve capture --resume` goes on; `varve capture --finish` leaves it at that"
            ));
        }
        Ok(())
    }
}
