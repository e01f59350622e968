//! `varve rewrite`: takes things out of the silos for good.

use serde::Serialize;
use varve_archive::history::{ArchiveHistory, ArchiveHoldings, Kind, kind_of};
use varve_archive::verbs::rewrite::{
    AtSign, Choice, Dictionaries, GroupPattern, Receipt, Request, perform, plan,
};
use varve_archive::{ArchiveError, Moment};

use super::{Outcome, Verb};
use crate::error::Error;
use crate::printer::{Printer, STRONG, counted, readable, visible};
use crate::revision::resolve_named_version;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve rewrite --drop https://example.com/private --reason 'asked for by the owner' --dry-run
  varve rewrite --drop-pattern 'https://example.com/users/**' --reason 'personal data' > receipt.txt
  varve rewrite --drop-version 0b8af3c1 --reason 'committed by mistake' --json";

/// Take captures, pages or versions out of the silos for good
///
/// Everything else only adds. This verb writes new silos without what is to go, and puts them in the place of the old
/// ones when they are complete; until then the archive is as it was. A capture that repeated something which goes gets
/// the content itself. Each record that goes leaves a tombstone that says who took it out, when and why, its URL and
/// digest; `audit` accepts what a tombstone explains.
///
/// A page that was committed is gone from all versions, also where its body stays because another page or a tree holds the same:
/// `cat`, `diff`, `checkout` and replay show nothing of it. If it is committed again later, it is there from then on.
///
/// What a tree holds that stays, stays with it. Silos before the first that loses something are not copied: they stay the
/// files that they are. A dictionary of `varve train` holds pages as they were: when something goes, another is made of what stays, and silos
/// that begin with the old one are packed anew, which takes its time.
///
/// Versions that stay keep their ids, which are digests of their manifests. So the manifests in the silos still say, of committed pages
/// that went, the URL, the headers that they were committed with, length and digest; no verb shows these headers, and the catalog does not hold them. Who
/// must be rid of them drops the versions. Copies elsewhere are not touched.
///
/// What went is printed as a receipt: one line for each record, and one of the kind `page` for each page whose body stays; or with `--json` one object (`record`, `kind`, `url`,
/// `digest`, `replaced_by`), and a last one with `summary`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["urls", "patterns", "versions", "objects"]))]
pub(super) struct Rewrite {
    /// Drop every capture and page of this URL
    #[arg(long = "drop", value_name = "URL")]
    urls: Vec<String>,

    /// Drop those whose URL matches: `*` stands for anything but `/`, `**` for anything
    #[arg(long = "drop-pattern", value_name = "PATTERN")]
    patterns: Vec<String>,

    /// Drop this version, with all that only it holds: HEAD, a tag, an id or its beginning, and no time
    #[arg(long = "drop-version", value_name = "VERSION")]
    versions: Vec<String>,

    /// Drop this object; of a tree that was stowed, all that only it holds
    #[arg(long = "drop-object", value_name = "ID")]
    objects: Vec<String>,

    /// Why, for the tombstones
    #[arg(long, value_name = "TEXT")]
    reason: String,

    /// Who, for the tombstones
    #[arg(long, env = "VARVE_AUTHOR", hide_env_values = true)]
    author: Option<String>,

    /// Only list what would go
    #[arg(long)]
    dry_run: bool,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Verb for Rewrite {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let root = session.root()?;
        if kind_of(&root) == Some(Kind::Moku) {
            return Err(ArchiveError::NoSilos { path: root }.into());
        }
        // The catalog must know all versions that may be named.
        drop(ArchiveHistory::open(&root, session.opening()?)?);
        let request = self.request(session)?;
        let writer = session.open_to_write()?;
        let choice = plan(&writer, &request)?;
        if self.dry_run || choice.is_empty() {
            return self.would_go(&choice, &mut session.printer);
        }
        let progress = session.printer.progress(None, "records");
        let receipt = perform(writer, &request, &choice, &|more| progress.inc(more))?;
        drop(progress);
        self.print(&request, &receipt, &mut session.printer)?;
        Ok(Outcome::Done)
    }
}

impl Rewrite {
    fn request(&self, session: &Session) -> Result<Request, Error> {
        let holdings = ArchiveHoldings::open(&session.root()?)?;
        let versions = self.versions.iter().map(|text| resolve_named_version(&holdings, text));
        let objects = self.objects.iter().map(|text| holdings.archive().resolve(text));
        let pattern = |text: &String| GroupPattern::new(text, AtSign::default());
        let operator = holdings.archive().settings().operator.clone();
        Ok(Request {
            urls: self.urls.clone(),
            patterns: self.patterns.iter().map(pattern).collect(),
            versions: versions.collect::<Result<_, _>>()?,
            objects: objects.collect::<Result<_, _>>()?,
            who: self.author.clone().or(operator).unwrap_or_else(|| "not said".to_owned()),
            why: self.reason.clone(),
        })
    }

    fn would_go(&self, choice: &Choice, printer: &mut Printer) -> Result<Outcome, Error> {
        for gone in choice.records.iter().chain(choice.pages_alone()) {
            let line = Line { replaced_by: None, ..Line::of(gone) };
            if self.json { printer.json(&line)? } else { printer.line(line.text())? }
        }
        let (records, pages) = (choice.records.len() as u64, choice.pages_alone().count() as u64);
        if self.json {
            let summary = Summary { records, pages, dry_run: self.dry_run, ..Summary::default() };
            printer.json(&Last { summary })?;
        } else if choice.is_empty() {
            printer.say("nothing is to go: nothing here is like that, or other things hold it that stay");
        } else {
            printer.say(format_args!("{} would go{}", counted(records, "record"), and_pages(pages)));
        }
        Ok(Outcome::Done)
    }

    fn print(&self, request: &Request, receipt: &Receipt, printer: &mut Printer) -> Result<(), Error> {
        let time = receipt.tombstones.iter().chain(&receipt.pages).next().map(|tombstone| tombstone.time);
        if !self.json {
            let when = time.map(Moment::for_people).unwrap_or_default();
            printer.line(format_args!("{STRONG}Rewritten {when}{STRONG:#}"))?;
            printer.line(format_args!("by {}: {}", visible(&request.who), visible(&request.why)))?;
        }
        for tombstone in receipt.tombstones.iter().chain(receipt.pages_alone()) {
            let line = Line::of(tombstone);
            if self.json { printer.json(&line)? } else { printer.line(line.text())? }
        }
        let summary = Summary {
            records: receipt.tombstones.len() as u64,
            pages: receipt.pages_alone().count() as u64,
            kept: receipt.kept,
            promoted: receipt.promoted.len() as u64,
            bytes_before: receipt.bytes_before,
            bytes_after: receipt.bytes_after,
            who: &request.who,
            why: &request.why,
            time,
            dictionary: match receipt.dictionaries {
                Dictionaries::AsTheyWere => None,
                Dictionaries::MadeAgain => Some("made again"),
                Dictionaries::Removed => Some("removed"),
            },
            dry_run: false,
        };
        if self.json {
            return printer.json(&Last { summary });
        }
        match receipt.dictionaries {
            Dictionaries::AsTheyWere => {}
            Dictionaries::MadeAgain => {
                printer
                    .line("dictionaries could hold what went: one was made of what stays, in place of all")?;
            }
            Dictionaries::Removed => {
                printer.line("dictionaries could hold what went: all were removed")?;
            }
        }
        if !receipt.pages.is_empty() {
            printer.say(
                "manifests of versions that stay still say the URLs, headers and digests of these pages, in the silos \
                 alone; `--drop-version` takes them out",
            );
        }
        printer.line(format_args!(
            "{} gone{}, {} kept, {} made whole; silos were {}, are {}",
            counted(summary.records - summary.promoted, "record"),
            and_pages(summary.pages),
            summary.kept,
            counted(summary.promoted, "revisit"),
            readable(summary.bytes_before),
            readable(summary.bytes_after)
        ))
    }
}

/// Pages that are gone and whose bodies are not; nothing where there are none.
fn and_pages(pages: u64) -> String {
    match pages {
        0 => String::new(),
        1 => " and 1 page whose body something else holds".to_owned(),
        more => format!(" and {more} pages whose bodies something else holds"),
    }
}

#[derive(Serialize)]
struct Line<'a> {
    record: String,
    kind: &'a str,
    url: Option<&'a str>,
    digest: Option<&'a str>,
    version: Option<String>,
    replaced_by: Option<String>,
}

impl<'a> Line<'a> {
    fn of(tombstone: &'a varve_archive::Tombstone) -> Self {
        Self {
            record: tombstone.record.to_string(),
            kind: &tombstone.kind,
            url: tombstone.url.as_deref(),
            digest: tombstone.digest.as_deref(),
            version: tombstone.version.map(|version| version.to_string()),
            replaced_by: tombstone.replaced_by.map(|record| record.to_string()),
        }
    }

    fn text(&self) -> String {
        let what = self.url.map(|url| format!(" {}", visible(url))).unwrap_or_default();
        let version = self.version.as_ref().map(|version| format!(" version {version}")).unwrap_or_default();
        let fate = match &self.replaced_by {
            Some(record) => format!(", whole now as {record}"),
            None => String::new(),
        };
        format!("{:<8} {}{what}{version}{fate}", self.kind, self.record)
    }
}

#[derive(Serialize)]
struct Last<'a> {
    summary: Summary<'a>,
}

#[derive(Serialize, Default)]
struct Summary<'a> {
    records: u64,
    pages: u64,
    kept: u64,
    promoted: u64,
    bytes_before: u64,
    bytes_after: u64,
    who: &'a str,
    why: &'a str,
    time: Option<Moment>,
    /// What became of dictionaries that could hold what went.
    dictionary: Option<&'a str>,
    dry_run: bool,
}
