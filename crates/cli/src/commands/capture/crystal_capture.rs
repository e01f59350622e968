//! `varve capture` into a Crystal project: the same arguments and events, but revisions instead of
//! a version.

use std::sync::atomic::Ordering;

use serde_json::json;
use varve_archive::verbs::capture::{CrawlEvent, CrawlSettings, NetworkOptions};
use varve_archive::verbs::crystal::capture::{self as into_project, ProjectCaptured};
use varve_archive::verbs::plan::Plan;

use super::{CaptureArgs, CaptureSummary, RunReporter, UnsentCredentials};
use crate::printer::{counted, human_size};
use crate::signals;
use crate::verb::{Error, ExitStatus, Session};

impl CaptureArgs {
    /// Captures into a Crystal project.
    pub(super) fn capture_into_project(
        &self,
        session: &mut Session,
        reach: NetworkOptions,
    ) -> Result<ExitStatus, Error> {
        let root = session.root()?;
        let plan = self.follows_plan()?.then(Plan::default);
        let refetch = self.refetch.for_project();
        let settings = CrawlSettings { plan: None, refetch, ..self.settings_with(session, plan)? };
        let stop = signals::stop_flag();
        let (threads, clock) = (Session::threads(), session.open_options()?.clock);
        let unsent = UnsentCredentials::new(&reach);
        let manner = into_project::ProjectRunOptions { reach, threads, stop: &stop, clock };
        let mut watcher = RunReporter::new(&mut session.printer, self.json, self.list(), unsent)?;
        let mut report = |event: CrawlEvent<'_>| watcher.see(&event);
        let captured = match (self.finish, self.resume) {
            (true, _) => into_project::finish(&root),
            (_, true) => {
                let change = |kept: &mut CrawlSettings| self.written.change(kept, &settings);
                into_project::resume(&root, settings.clone(), change, &manner, &mut report)
            }
            _ => into_project::capture(&root, settings, &manner, &mut report),
        };
        let seen = watcher.end()?;
        let captured = captured?;
        super::super::crystal::say_opened(&captured.opened, &mut session.printer);
        self.print_project(session, &captured, &seen)?;
        Ok(match (captured.finished, captured.tally.failed + captured.tally.seeds_refused) {
            (false, _) if stop.load(Ordering::Relaxed) => ExitStatus::Interrupted,
            (false, _) => ExitStatus::Findings,
            (true, 0) => ExitStatus::Done,
            (true, _) => ExitStatus::Findings,
        })
    }

    fn print_project(
        &self,
        session: &mut Session,
        captured: &ProjectCaptured,
        seen: &CaptureSummary,
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
                "present": tally.present,
                "failed": tally.failed,
                "skipped": tally.skipped,
                "bytes": tally.bytes,
                "queued": queued,
            }));
        }
        seen.tell(&mut session.printer);
        session.printer.line(format_args!(
            "{}: {} captured ({} unchanged), {} there before, {} failed, {} received",
            counted(*revisions, "revision"),
            tally.captured,
            tally.unchanged,
            tally.present,
            tally.failed,
            human_size(tally.bytes)
        ))?;
        if !finished {
            session.printer.say(format_args!(
                "stopped, {queued} waiting\n`varve capture --resume` continues; `varve capture --finish` ends the run"
            ));
        }
        Ok(())
    }
}
