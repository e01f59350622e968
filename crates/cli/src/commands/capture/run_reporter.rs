//! Reports a run while it goes on, to people and to programs.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Instant;

use serde_json::json;
use varve_archive::Moment;
use varve_archive::verbs::capture::{CapturedPage, CrawlEvent, CrawlProgress};

use super::skipped_urls::SkippedUrlFile;
use super::unsent_credentials::UnsentCredentials;
use crate::error::Error;
use crate::error_hints::NetworkHints;
use crate::printer::{self, Printer, WARNING_STYLE, counted, human_size, visible};

/// URLs named for each rule; the rest is counted.
const MAX_LISTED_URLS: usize = 5;

/// Prints events as they happen.
pub(in crate::commands) struct RunReporter<'a> {
    printer: &'a mut Printer,
    progress: Option<printer::ProgressHandle>,
    json: bool,
    began: Instant,
    /// The file of `--skipped`.
    list: Option<SkippedUrlFile>,
    summary: CaptureSummary,
    /// The first error while printing.
    failure: Result<(), Error>,
}

/// A count of URLs, and the first of them.
#[derive(Default)]
struct UrlSample {
    count: u64,
    /// The first few.
    first: Vec<String>,
}

impl UrlSample {
    fn add(&mut self, url: &str) {
        self.count += 1;
        if self.first.len() < MAX_LISTED_URLS {
            self.first.push(url.to_owned());
        }
    }

    /// Prints a heading and the first URLs.
    fn name(&self, what: fmt::Arguments<'_>, printer: &mut Printer) {
        printer.say_list(format_args!("{what}:"), self.first.iter().map(|url| visible(url)), self.count);
    }
}

/// Printed at the end of a run.
pub(in crate::commands) struct CaptureSummary {
    /// Skipped URLs by rule.
    skipped: BTreeMap<String, UrlSample>,
    /// Pages with a status of 400 or above, by status.
    refused: BTreeMap<u16, UrlSample>,
    /// Whether skipped URLs are in a file.
    is_listed: bool,
    /// Hints for failures.
    hints: NetworkHints,
    unsent: UnsentCredentials,
}

impl<'a> RunReporter<'a> {
    /// Reports a run; `list` is the file for skipped URLs, and whether to append to it.
    pub(in crate::commands) fn new(
        printer: &'a mut Printer,
        json: bool,
        list: Option<(&Path, bool)>,
        unsent: UnsentCredentials,
    ) -> Result<Self, Error> {
        let list = list.map(|(path, append)| SkippedUrlFile::open(path, append)).transpose()?;
        let progress = (!json).then(|| printer.progress_said());
        let summary = CaptureSummary {
            skipped: BTreeMap::new(),
            refused: BTreeMap::new(),
            is_listed: list.is_some(),
            hints: NetworkHints::default(),
            unsent,
        };
        Ok(Self { printer, progress, json, began: Instant::now(), list, summary, failure: Ok(()) })
    }

    /// Ends the report.
    pub(in crate::commands) fn end(self) -> Result<CaptureSummary, Error> {
        self.failure?;
        self.list.map_or(Ok(()), SkippedUrlFile::end)?;
        Ok(self.summary)
    }

    pub(in crate::commands) fn see(&mut self, event: &CrawlEvent<'_>) {
        if let CrawlEvent::Failed { url, kind, .. } = event {
            self.summary.hints.add(kind, url);
        }
        if let CrawlEvent::HostUnreachable { host, kind: kind @ ("guard" | "tls:issuer"), .. } = event {
            self.summary.hints.add(kind, host);
        }
        if let CrawlEvent::TlsRequired { url } = event {
            self.summary.hints.add("tls:wanted", url);
        }
        if let CrawlEvent::Captured(CapturedPage { url, .. }) = event {
            self.summary.unsent.see(url);
        }
        if let CrawlEvent::Captured(CapturedPage { url, status: status @ 400.., is_page: true, .. }) = event {
            self.summary.refused.entry(*status).or_default().add(url);
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
                self.remark("truncated", url, truncation_text(why));
            }
            CrawlEvent::ClockBehind { version, time, now } => self.printer.say(format_args!(
                "{WARNING_STYLE}clock:{WARNING_STYLE:#} version {version} was made at {}, but it is {}: \
                 the clock is behind, or was ahead then",
                time.for_people(),
                now.for_people()
            )),
            CrawlEvent::Failed { url, message, .. } => self.remark("failed", url, message),
            CrawlEvent::Listening { address } => self
                .printer
                .say(format_args!("recording at http://{address}; press Ctrl-C to end and make a version")),
            CrawlEvent::Noted { url, note } => self.remark("note", url, note),
            CrawlEvent::Skipped { url, rule, is_seed } => self.count(url, &rule.to_string(), *is_seed),
            CrawlEvent::LinksSkipped { url, links, rule } => {
                self.remark("skipped", url, &format!("{} of it, by {rule}", counted(*links, "link")));
            }
            CrawlEvent::RetryAfter { host, until, left } => self.waits(host, *until, *left),
            CrawlEvent::HostUnreachable { host, message, .. } => {
                self.remark(
                    "given up",
                    host,
                    &format!("{message}: the rest of its pages is left for `--resume`"),
                );
            }
            CrawlEvent::Progress(progress) => self.tell(progress),
            _ => {}
        }
    }

    fn remark(&mut self, what: &str, url: &str, message: &str) {
        self.printer.say(format_args!(
            "{WARNING_STYLE}{what}:{WARNING_STYLE:#} {}: {}",
            visible(url),
            visible(message)
        ));
    }

    /// Says that the run waits, so that it does not seem to hang.
    fn waits(&mut self, host: &str, until: Moment, left: bool) {
        let then = if left { ": its pages are left for `--resume`" } else { "" };
        self.printer.say(format_args!(
            "{WARNING_STYLE}waiting:{WARNING_STYLE:#} {} asks to wait until {}{then}",
            visible(host),
            until.for_people()
        ));
    }

    /// Counts a skipped URL; one that the user named is reported at once.
    fn count(&mut self, url: &str, rule: &str, is_seed: bool) {
        let group = group_of(rule);
        if is_seed {
            self.remark("skipped", url, rule);
            self.summary.hints.add(&group, url);
        }
        self.summary.skipped.entry(group).or_default().add(url);
    }

    /// Flushes the output, so that a program that reads the events need not wait for a full buffer.
    fn show(&mut self, event: &CrawlEvent<'_>) -> Result<(), Error> {
        match event {
            CrawlEvent::Began { .. }
            | CrawlEvent::Listening { .. }
            | CrawlEvent::RetryAfter { .. }
            | CrawlEvent::Checkpoint { .. } => self.printer.flush(),
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
                human_size(tally.bytes),
                progress.queued,
                tally.failed,
                rest(progress),
                visible(&progress.hosts.join(" "))
            ));
        }
    }
}

/// Names a long wait for `Crawl-delay` in the progress line.
fn rest(progress: &CrawlProgress) -> String {
    match progress.idle_for.map(|rest| rest.as_secs()).filter(|seconds| *seconds > 0) {
        Some(seconds) => format!("waiting {seconds} s for "),
        None => String::new(),
    }
}

impl CaptureSummary {
    /// Number of pages by status of 400 and above.
    pub(in crate::commands) fn refused(&self) -> BTreeMap<String, u64> {
        self.refused.iter().map(|(status, urls)| (status.to_string(), urls.count)).collect()
    }

    /// Prints skipped URLs, failed pages and hints.
    pub(in crate::commands) fn tell(&self, printer: &mut Printer) {
        for (rule, urls) in &self.skipped {
            urls.name(format_args!("{} skipped by {}", counted(urls.count, "URL"), visible(rule)), printer);
        }
        for (status, urls) in &self.refused {
            urls.name(format_args!("{} answered {status}", counted(urls.count, "page")), printer);
        }
        let is_short = self
            .skipped
            .values()
            .any(|skipped| !skipped.first.is_empty() && skipped.count > skipped.first.len() as u64);
        if is_short && !self.is_listed {
            printer.say("hint: `--skipped FILE` lists every skipped URL, and so does `--json`");
        }
        self.hints.iter().for_each(|hint| printer.hint(hint));
        self.unsent.tell(printer);
    }
}

/// Why a response is truncated.
fn truncation_text(why: &str) -> &str {
    match why {
        "length" => "it is larger than `--max-size` or `--limit-bytes`",
        "time" => "it took longer than `--timeout`, `--idle-timeout` or `--limit-time`",
        "disconnect" => "the connection was lost",
        "unspecified" => "its header, length or chunks are contradictory or malformed",
        _ => why,
    }
}

/// The rule without the details of one case.
fn group_of(rule: &str) -> String {
    rule.strip_prefix("robots:").map_or_else(|| rule.to_owned(), |_| "robots".to_owned())
}

fn line(event: &CrawlEvent<'_>) -> Option<serde_json::Value> {
    Some(match event {
        CrawlEvent::Began { run, resumed } => {
            json!({"event": "began", "run": run.to_string(), "resumed": resumed})
        }
        CrawlEvent::Listening { address } => {
            json!({"event": "listening", "proxy": format!("http://{address}")})
        }
        CrawlEvent::ClockBehind { version, time, now } => json!({
            "event": "clock_behind", "version": version.to_string(), "time": time.to_string(),
            "now": now.to_string(),
        }),
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
        CrawlEvent::LinksSkipped { url, links, rule } => {
            json!({"event": "links_skipped", "url": url, "links": links, "rule": rule.to_string()})
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
