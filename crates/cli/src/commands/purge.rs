//! `varve purge`: removes content from the silos.

use serde_json::{Value, json};
use varve_archive::history::{ArchiveHistoryReader, ArchiveHistoryWriter, HistoryReader};
use varve_archive::verbs::purge::{
    AtSign, Dictionaries, GroupPattern, PurgeSelection, Report, Request, perform, plan,
};
use varve_archive::{ArchiveError, Moment, Tombstone};
use varve_archive::{Layout, detect_layout};

use crate::printer::{Printer, STRONG_STYLE, counted, human_size, visible};
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_names::resolve_named_version;

/// Remove captures, pages, versions or objects from the silos
///
/// All other verbs only add to silos. This one writes new silos without the removed records, and
/// replaces the old ones when the new ones are complete; until then the archive is unchanged. A
/// capture that refers to removed content (a revisit) becomes a full record. Each removed record
/// leaves a tombstone: who removed it, when and why, its URL and digest. `audit` accepts what a
/// tombstone explains.
///
/// A committed page is removed from all versions, also where its body stays because another page or
/// a stored folder has the same content: `cat`, `diff`, `checkout` and replay no longer show it. It
/// can be committed again later.
///
/// Content of a stored folder stays as long as that folder stays. Silos before the first changed
/// one are not copied. A dictionary made by `varve train` contains pages; after a purge a new one
/// is made, and silos that begin with the old one are compressed again, which takes time.
///
/// Remaining versions keep their ids, which are digests of their manifests. So the manifests in the
/// silos still contain the URL, headers, length and digest of removed committed pages; no verb
/// shows these headers, and the catalog does not contain them. To remove them, drop the versions.
/// Copies of the archive are not changed.
///
/// Prints a receipt: one line per removed record, and one of kind `page` for each page whose body
/// stays. With `--json`, one object each (`record`, `kind`, `url`, `digest`, `replaced_by`), and
/// last one with `summary`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve purge --drop https://example.com/private --reason 'requested by the owner' --dry-run
  varve purge --drop-pattern 'https://example.com/users/**' --reason 'personal data' > receipt.txt
  varve purge --drop-version 0b8af3c1 --reason 'committed by mistake' --json")]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["urls", "patterns", "versions", "objects"]))]
pub(super) struct PurgeArgs {
    /// Remove every capture and page of this URL; may be repeated
    #[arg(long = "drop", value_name = "URL")]
    urls: Vec<String>,

    /// Remove URLs that match: `*` is any text without `/`, `**` any text; may be repeated
    #[arg(long = "drop-pattern", value_name = "PATTERN")]
    patterns: Vec<String>,

    /// Remove this version, and what only it contains: HEAD, a tag, an id or its first digits; may
    /// be repeated
    #[arg(long = "drop-version", value_name = "VERSION")]
    versions: Vec<String>,

    /// Remove this object; for a stored folder, everything that only it contains; may be repeated
    #[arg(long = "drop-object", value_name = "ID")]
    objects: Vec<String>,

    /// Why, for the tombstones
    #[arg(long, value_name = "TEXT")]
    reason: String,

    /// Who, for the tombstones [default: the operator of the archive]
    #[arg(long, env = "VARVE_AUTHOR", hide_env_values = true)]
    author: Option<String>,

    /// Only list what would be removed
    #[arg(long)]
    dry_run: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Verb for PurgeArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let root = session.root()?;
        if detect_layout(&root) == Some(Layout::Moku) {
            return Err(ArchiveError::NoSilos(root).into());
        }
        // Bring the catalog up to date, so that all versions can be named.
        drop(session.wait_for_lock(|opening| Ok(ArchiveHistoryWriter::open(&root, opening)?))?);
        let request = self.request(session)?;
        let writer = session.open_to_write()?;
        let choice = plan(&writer, &request)?;
        if self.dry_run || choice.is_empty() {
            return self.list_removals(&choice, &mut session.printer);
        }
        let progress = session.printer.progress(None, "records");
        let receipt = perform(writer, &request, &choice, &|more| progress.inc(more))?;
        drop(progress);
        self.print(&request, &receipt, &mut session.printer)?;
        Ok(ExitStatus::Done)
    }
}

impl PurgeArgs {
    fn request(&self, session: &Session) -> Result<Request, Error> {
        let history = ArchiveHistoryReader::open(&session.root()?)?;
        let reader = HistoryReader::from(&history);
        let versions = self.versions.iter().map(|text| resolve_named_version(&reader, text));
        let objects = self.objects.iter().map(|text| history.archive().resolve(text));
        let pattern = |text: &String| GroupPattern::new(text, AtSign::default());
        let operator = history.archive().settings().operator.clone();
        Ok(Request {
            urls: self.urls.clone(),
            patterns: self.patterns.iter().map(pattern).collect(),
            versions: versions.collect::<Result<_, _>>()?,
            objects: objects.collect::<Result<_, _>>()?,
            who: self.author.clone().or(operator).unwrap_or_else(|| "not given".to_owned()),
            why: self.reason.clone(),
        })
    }

    fn list_removals(&self, choice: &PurgeSelection, printer: &mut Printer) -> Result<ExitStatus, Error> {
        for gone in choice.records.iter().chain(choice.pages_alone()) {
            self.print_tombstone(gone, printer)?;
        }
        let (records, pages) = (choice.records.len() as u64, choice.pages_alone().count() as u64);
        if self.json {
            let summary = json!({ "records": records, "pages": pages, "dry_run": self.dry_run });
            printer.json_summary(&summary)?;
        } else if choice.is_empty() {
            printer.say("nothing matched, or the content is still referenced");
        } else {
            printer.say(format_args!("{} would be removed{}", counted(records, "record"), and_pages(pages)));
        }
        Ok(ExitStatus::Done)
    }

    fn print(&self, request: &Request, receipt: &Report, printer: &mut Printer) -> Result<(), Error> {
        let time = receipt.tombstones.iter().chain(&receipt.pages).next().map(|tombstone| tombstone.time);
        if !self.json {
            let when = time.map(Moment::for_people).unwrap_or_default();
            printer.line(format_args!("{STRONG_STYLE}Purged {when}{STRONG_STYLE:#}"))?;
            printer.line(format_args!("by {}: {}", visible(&request.who), visible(&request.why)))?;
        }
        for tombstone in receipt.tombstones.iter().chain(receipt.pages_alone()) {
            self.print_tombstone(tombstone, printer)?;
        }
        let dictionary = match receipt.dictionaries {
            Dictionaries::AsTheyWere => None,
            Dictionaries::MadeAgain => Some("made again"),
            Dictionaries::Removed => Some("removed"),
        };
        let (records, promoted) = (receipt.tombstones.len() as u64, receipt.promoted.len() as u64);
        let pages = receipt.pages_alone().count() as u64;
        if self.json {
            return printer.json_summary(&json!({
                "records": records,
                "pages": pages,
                "kept": receipt.kept,
                "promoted": promoted,
                "bytes_before": receipt.bytes_before,
                "bytes_after": receipt.bytes_after,
                "who": request.who,
                "why": request.why,
                "time": time,
                "dictionary": dictionary,
                "dry_run": false,
            }));
        }
        if let Some(fate) = dictionary {
            printer.line(format_args!("the dictionary contained removed pages: it was {fate}"))?;
        }
        if !receipt.pages.is_empty() {
            printer.say(
                "the manifests of remaining versions still contain the URLs, headers and digests of these pages; \
                 `--drop-version` removes them",
            );
        }
        printer.line(format_args!(
            "{} removed{}, {} kept, {} expanded; silos were {}, are {}",
            counted(records - promoted, "record"),
            and_pages(pages),
            receipt.kept,
            counted(promoted, "revisit"),
            human_size(receipt.bytes_before),
            human_size(receipt.bytes_after)
        ))
    }

    fn print_tombstone(&self, tombstone: &Tombstone, printer: &mut Printer) -> Result<(), Error> {
        match self.json {
            true => printer.json(&tombstone_json(tombstone)),
            false => printer.line(tombstone_text(tombstone)),
        }
    }
}

/// The number of removed pages whose bodies stay, if there are any.
fn and_pages(pages: u64) -> String {
    match pages {
        0 => String::new(),
        1 => " and 1 page whose body is still referenced".to_owned(),
        more => format!(" and {more} pages whose bodies are still referenced"),
    }
}

/// A removed record or page as JSON.
fn tombstone_json(tombstone: &Tombstone) -> Value {
    json!({
        "record": tombstone.record,
        "kind": tombstone.kind,
        "url": tombstone.url,
        "digest": tombstone.digest,
        "version": tombstone.version,
        "replaced_by": tombstone.replaced_by,
    })
}

/// A removed record or page on one line.
fn tombstone_text(tombstone: &Tombstone) -> String {
    let Tombstone { record, kind, url, version, replaced_by, .. } = tombstone;
    let url = url.as_deref().map(|url| format!(" {}", visible(url))).unwrap_or_default();
    let version = version.map(|version| format!(" version {version}")).unwrap_or_default();
    let fate = replaced_by.map(|record| format!(", expanded to {record}")).unwrap_or_default();
    format!("{:<8} {record}{url}{version}{fate}", kind.name())
}
