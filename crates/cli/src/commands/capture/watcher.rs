//! What a run tells people and machines while it goes on.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Instant;

use serde_json::json;
use varve_archive::Moment;
use varve_archive::verbs::capture::{CapturedPage, CrawlEvent, CrawlProgress};

use super::list::List;
use super::people_size;
use super::unsent::Unsent;
use crate::error::Error;
use crate::hints::Hints;
use crate::printer::{self, Printer, WARN, counted, visible};

/// So many URLs are named for each rule that skipped some; the rest is counted.
const NAMED: usize = 5;

/// Prints what happens while it happens.
pub(super) struct Watcher<'a> {
    printer: &'a mut Printer,
    progress: Option<printer::Progress>,
    json: bool,
    began: Instant,
    /// What each rule skipped.
    skipped: BTreeMap<String, Urls>,
    /// Pages whose answer was not what was asked for, by its status.
    refused: BTreeMap<u16, Urls>,
    /// Where all of it is listed, if that is wanted.
    list: Option<List>,
    /// What can be done about failures.
    hints: Hints,
    unsent: Unsent,
    /// Printing failed: nobody reads any more.
    failure: Result<(), Error>,
}

/// URLs that have something in common.
#[derive(Default)]
struct Urls {
    count: u64,
    /// The first few.
    first: Vec<String>,
}

impl Urls {
    fn add(&mut self, url: &str) {
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(url.to_owned());
        }
    }

    /// Says what they have in common, and names the first of them.
    fn name(&self, what: fmt::Arguments<'_>, printer: &mut Printer) {
        printer.say(format_args!("{what}:"));
        for url in &self.first {
            printer.say(format_args!("  {}", visible(url)));
        }
        if self.count > self.first.len() as u64 {
            printer.say(format_args!("  and {} more", self.count - self.first.len() as u64));
        }
    }
}

/// What is left to say at the end.
pub(super) struct Seen {
    skipped: BTreeMap<String, Urls>,
    refused: BTreeMap<u16, Urls>,
    /// Whether all that was skipped is in a file.
    is_listed: bool,
    hints: Hints,
    unsent: Unsent,
}

impl<'a> Watcher<'a> {
    /// Watches a run, and lists what it skips in a file, if one is given: behind what is there already, if the run goes on.
    pub(super) fn new(
        printer: &'a mut Printer,
        json: bool,
        list: Option<(&Path, bool)>,
        unsent: Unsent,
    ) -> Result<Self, Error> {
        let list = list.map(|(path, goes_on)| List::open(path, goes_on)).transpose()?;
        let progress = (!json).then(|| printer.progress_said());
        Ok(Self {
            printer,
            progress,
            json,
            began: Instant::now(),
            skipped: BTreeMap::new(),
            refused: BTreeMap::new(),
            list,
            hints: Hints::default(),
            unsent,
            failure: Ok(()),
        })
    }

    /// Ends the watch.
    pub(super) fn end(self) -> Result<Seen, Error> {
        self.failure?;
        let is_listed = self.list.is_some();
        self.list.map_or(Ok(()), List::end)?;
        let Self { skipped, refused, hints, unsent, .. } = self;
        Ok(Seen { skipped, refused, is_listed, hints, unsent })
    }

    pub(super) fn see(&mut self, event: &CrawlEvent<'_>) {
        if let CrawlEvent::Failed { url, kind, .. } = event {
            self.hints.see(kind, url);
        }
        if let CrawlEvent::HostUnreachable { host, kind: kind @ ("guard" | "tls:issuer"), .. } = event {
            self.hints.see(kind, host);
        }
        if let CrawlEvent::TlsRequired { url } = event {
            self.hints.see("tls:wanted", url);
        }
        if let CrawlEvent::Captured(CapturedPage { url, .. }) = event {
            self.unsent.see(url);
        }
        if let CrawlEvent::Captured(CapturedPage { url, status: status @ 400.., is_page: true, .. }) = event {
            self.refused.entry(*status).or_default().add(url);
        }
        if let Some(list) = self.list.as_mut().filter(|_| self.failure.is_ok()) {
            self.failure = list.see(event);
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
            CrawlEvent::Captured(CapturedPage { url, truncated: Some(why), .. }) => {
                self.remark("cut short", url, cut(why));
            }
            CrawlEvent::Failed { url, message, .. } => self.remark("failed", url, message),
            CrawlEvent::Noted { url, note } => self.remark("note", url, note),
            CrawlEvent::Skipped { url, rule, is_seed } => self.count(url, &rule.to_string(), *is_seed),
            CrawlEvent::RetryAfter { host, until, left } => self.waits(host, *until, *left),
            CrawlEvent::HostUnreachable { host, message, .. } => {
                self.remark(
                    "given up",
                    host,
                    &format!("{message}: what was not asked of it is left for `--resume`"),
                );
            }
            CrawlEvent::Progress(progress) => self.tell(progress),
            _ => {}
        }
    }

    fn remark(&mut self, what: &str, url: &str, message: &str) {
        self.printer.say(format_args!("{WARN}{what}:{WARN:#} {}: {}", visible(url), visible(message)));
    }

    /// A run that waits must not look as if it hung.
    fn waits(&mut self, host: &str, until: Moment, left: bool) {
        let then = if left { ": what is wanted of it is left for `--resume`" } else { "" };
        self.printer.say(format_args!(
            "{WARN}waiting:{WARN:#} {} asks to be left alone until {}{then}",
            visible(host),
            until.for_people()
        ));
    }

    /// What people named themselves, and do not get, is said at once.
    fn count(&mut self, url: &str, rule: &str, is_seed: bool) {
        let group = group_of(rule);
        if is_seed {
            self.remark("skipped", url, rule);
            self.hints.see(&group, url);
        }
        self.skipped.entry(group).or_default().add(url);
    }

    /// Whoever watches must not wait for a buffer to fill.
    fn show(&mut self, event: &CrawlEvent<'_>) -> Result<(), Error> {
        match event {
            CrawlEvent::Began { .. } | CrawlEvent::RetryAfter { .. } | CrawlEvent::Checkpoint { .. } => {
                self.printer.flush()
            }
            _ => Ok(()),
        }
    }

    fn tell(&self, progress: &CrawlProgress) {
        if let Some(bar) = &self.progress {
            let tally = &progress.tally;
            let rate = tally.captured as f64 / self.began.elapsed().as_secs_f64().max(0.1);
            bar.say(format!(
                "{}, {} captured, {rate:.1}/s, {}, {} queued, {} failed  {}{}",
                counted(tally.pages, "page"),
                tally.captured,
                people_size(tally.bytes),
                progress.queued,
                tally.failed,
                rest(progress),
                visible(&progress.hosts.join(" "))
            ));
        }
    }
}

/// A run that keeps to a long `Crawl-delay` must not look as if it hung.
fn rest(progress: &CrawlProgress) -> String {
    match progress.idle_for.map(|rest| rest.as_secs()).filter(|seconds| *seconds > 0) {
        Some(seconds) => format!("waiting {seconds} s for "),
        None => String::new(),
    }
}

impl Seen {
    /// How many pages were answered otherwise than asked for, by the status.
    pub(super) fn refused(&self) -> BTreeMap<String, u64> {
        self.refused.iter().map(|(status, urls)| (status.to_string(), urls.count)).collect()
    }

    /// Says what was skipped, and what to do about failures.
    pub(super) fn tell(&self, printer: &mut Printer) {
        for (rule, urls) in &self.skipped {
            urls.name(format_args!("{} skipped by {}", counted(urls.count, "URL"), visible(rule)), printer);
        }
        for (status, urls) in &self.refused {
            urls.name(format_args!("{} answered {status}", counted(urls.count, "page")), printer);
        }
        let is_short = self.skipped.values().any(|skipped| skipped.count > skipped.first.len() as u64);
        if is_short && !self.is_listed {
            printer.say("hint: `--skipped FILE` lists every URL that is skipped, and so does `--json`");
        }
        self.hints.tell(printer);
        self.unsent.tell(printer);
    }
}

/// Why an answer is not whole, in words.
fn cut(why: &str) -> &str {
    match why {
        "length" => "it is longer than `--largest` or `--limit-bytes` allows",
        "time" => "it took longer than `--timeout`, `--idle-timeout` or `--limit-time` allows",
        "disconnect" => "the connection was lost",
        "unspecified" => "its head, its length or its pieces contradict themselves or cannot be read",
        _ => why,
    }
}

/// The rule without what tells one case of it from another.
fn group_of(rule: &str) -> String {
    rule.strip_prefix("robots:").map_or_else(|| rule.to_owned(), |_| "robots".to_owned())
}

fn line(event: &CrawlEvent<'_>) -> Option<serde_json::Value> {
    Some(match event {
        CrawlEvent::Began { run, resumed } => {
            json!({"event": "began", "run": run.to_string(), "resumed": resumed})
        }
        CrawlEvent::Captured(CapturedPage { url, time, status, length, is_page, unchanged, truncated }) => {
            json!({
                "event": "captured", "url": url, "time": time.to_string(), "status": status, "length": length,
                "page": is_page, "unchanged": unchanged, "truncated": truncated,
            })
        }
        CrawlEvent::Exchanged { url, method, status, length } => {
            json!({"event": "exchanged", "url": url, "method": method, "status": status, "length": length})
        }
        CrawlEvent::Failed { url, kind, message } => {
            json!({"event": "failed", "url": url, "kind": kind, "message": message})
        }
        CrawlEvent::Noted { url, note } => json!({"event": "note", "url": url, "message": note}),
        CrawlEvent::Skipped { url, rule, is_seed } => {
            json!({"event": "skipped", "url": url, "rule": rule.to_string(), "seed": is_seed})
        }
        CrawlEvent::TlsRequired { url } => json!({"event": "wants_tls", "url": url}),
        CrawlEvent::RetryAfter { host, until, left } => {
            json!({"event": "waits", "host": host, "until": until.to_string(), "left": left})
        }
        CrawlEvent::HostUnreachable { host, kind, message } => {
            json!({"event": "given_up", "host": host, "kind": kind, "message": message})
        }
        CrawlEvent::Checkpoint { captured } => json!({"event": "checkpoint", "captured": captured}),
        CrawlEvent::Progress(_) => return None,
    })
}
