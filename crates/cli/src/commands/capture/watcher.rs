//! What a run tells people and machines while it goes on.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::json;
use varve_archive::verbs::capture::{Captured, Event, Progress};

use super::people_size;
use crate::error::Error;
use crate::printer::{self, Printer, WARN, counted, visible};

/// So many URLs that look like traps are named for each rule; the rest is counted.
const NAMED_TRAPS: u64 = 10;

/// Prints what happens while it happens.
pub(super) struct Watcher<'a> {
    printer: &'a mut Printer,
    progress: Option<printer::Progress>,
    json: bool,
    began: Instant,
    /// How often each rule skipped something.
    skipped: BTreeMap<String, u64>,
    /// The sorts of failure about which something can be done.
    failures: Failures,
    /// Printing failed: nobody reads any more.
    failure: Result<(), Error>,
}

/// The sorts of failure that an option, or a line in `varve.toml`, would prevent.
#[derive(Clone, Copy, Default)]
struct Failures {
    guard: bool,
    tls: bool,
}

/// What is left to say at the end.
pub(super) struct Seen {
    skipped: BTreeMap<String, u64>,
    failures: Failures,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(printer: &'a mut Printer, json: bool) -> Self {
        let progress = (!json).then(|| printer.progress_said());
        Self {
            printer,
            progress,
            json,
            began: Instant::now(),
            skipped: BTreeMap::new(),
            failures: Failures::default(),
            failure: Ok(()),
        }
    }

    /// Ends the watch.
    pub(super) fn end(self) -> Result<Seen, Error> {
        self.failure?;
        Ok(Seen { skipped: self.skipped, failures: self.failures })
    }

    pub(super) fn see(&mut self, event: &Event<'_>) {
        if let Event::Failed { kind, .. } = event {
            self.failures.guard |= *kind == "guard";
            self.failures.tls |= *kind == "tls";
        }
        if self.json {
            if let Some(line) = line(event)
                && self.failure.is_ok()
            {
                self.failure = self.printer.json(&line).and_then(|()| self.show(event));
            }
            return;
        }
        match event {
            Event::Failed { url, message, .. } => self.remark("failed", url, message),
            Event::Noted { url, note } => self.remark("note", url, note),
            Event::Skipped { url, rule } => self.count(url, &rule.to_string()),
            Event::Progress(progress) => self.tell(progress),
            _ => {}
        }
    }

    fn remark(&mut self, what: &str, url: &str, message: &str) {
        self.printer.say(format_args!("{WARN}{what}:{WARN:#} {}: {}", visible(url), visible(message)));
    }

    /// What looks like a trap may be none, so it is named; what lies outside is only counted.
    fn count(&mut self, url: &str, rule: &str) {
        let count = self.skipped.entry(group_of(rule)).or_default();
        *count += 1;
        if *count <= NAMED_TRAPS && rule.starts_with("trap:") {
            self.remark("skipped", url, rule);
        }
    }

    /// Whoever watches must not wait for a buffer to fill.
    fn show(&mut self, event: &Event<'_>) -> Result<(), Error> {
        match event {
            Event::Began { .. } | Event::Checkpoint { .. } => self.printer.flush(),
            _ => Ok(()),
        }
    }

    fn tell(&self, progress: &Progress) {
        if let Some(bar) = &self.progress {
            let tally = &progress.tally;
            let rate = tally.captured as f64 / self.began.elapsed().as_secs_f64().max(0.1);
            bar.say(format!(
                "{} pages, {} captured, {rate:.1}/s, {}, {} queued, {} failed  {}",
                tally.pages,
                tally.captured,
                people_size(tally.bytes),
                progress.queued,
                tally.failed,
                visible(&progress.hosts.join(" "))
            ));
        }
    }
}

impl Seen {
    /// Says what was skipped, and what to do about failures.
    pub(super) fn tell(&self, printer: &mut Printer) {
        for (rule, count) in &self.skipped {
            printer.say(format_args!("{} skipped by {}", counted(*count, "URL"), visible(rule)));
        }
        if self.failures.guard {
            printer.say(
                "hint: `--allow-private` lets one run ask private addresses; \
                 `allow_private = [\"HOST\", \"10.0.0.0/8\"]` in `varve.toml` allows single ones for good",
            );
        }
        if self.failures.tls {
            printer.say("hint: `--ca FILE` trusts the certificates in a file besides the system's");
        }
    }
}

/// The rule without what tells one case of it from another.
fn group_of(rule: &str) -> String {
    rule.strip_prefix("robots:").map_or_else(|| rule.to_owned(), |_| "robots".to_owned())
}

fn line(event: &Event<'_>) -> Option<serde_json::Value> {
    Some(match event {
        Event::Began { run, resumed } => {
            json!({"event": "began", "run": run.to_string(), "resumed": resumed})
        }
        Event::Captured(Captured { url, time, status, length, is_page, unchanged, truncated }) => json!({
            "event": "captured", "url": url, "time": time.to_string(), "status": status, "length": length,
            "page": is_page, "unchanged": unchanged, "truncated": truncated,
        }),
        Event::Failed { url, kind, message } => {
            json!({"event": "failed", "url": url, "kind": kind, "message": message})
        }
        Event::Noted { url, note } => json!({"event": "note", "url": url, "message": note}),
        Event::Skipped { url, rule } => json!({"event": "skipped", "url": url, "rule": rule.to_string()}),
        Event::Checkpoint { captured } => json!({"event": "checkpoint", "captured": captured}),
        Event::Progress(_) => return None,
    })
}
