//! `varve checkout`: writes the pages of a version as files, or moves HEAD.

use std::path::PathBuf;

use serde_json::{Value, json};
use varve_archive::VersionId;
use varve_archive::history::HistoryReader;
use varve_archive::verbs::checkout::{
    CheckoutReport, CoveredPages, FileOptions, FolderLayout, checkout, export, folder_url,
};

use crate::body_problems::{self, word};
use crate::printer::{Printer, counted, visible};
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_names::resolve_version;
use crate::version_text::short_version_id;

/// Write the pages of a version as files, or move HEAD to it
///
/// With `--to`, writes the pages in the state of the version to a folder that is new, empty, or was
/// written by an earlier checkout; files of the earlier checkout that are not in the version are
/// removed, unless they were changed. Folders of the archive itself, such as `warc` and `tmp`, are
/// rejected.
///
/// Each page is a file that a browser opens: `https://example.com/news/` is `news/index.html`,
/// `/about` is `about.html`, and `/list?page=2` is `list@page=2.html`. Files get the extension of
/// their media type where they need one. If there are several hosts, each has its folder. Of pages
/// that would have the same name, all but one get a digest in theirs. Redirects have no file. What
/// `commit --from DIR` took in is written as it was, byte for byte: with `--below`, the pages below
/// its `--base-url`, and with `--index`, under the name of index pages that was given there.
///
/// With `--relative-links`, links between the pages of the version lead from file to file, in HTML,
/// SVG and style sheets; links to other pages lead to the web. Browsers load no JavaScript modules
/// from files.
///
/// With `--layout moku`, each page is a folder with `.page_body` and `.page_headers.json`. This is
/// the layout of Moku sites, and the default there.
///
/// Bodies are checked against their digests. Files are not synced one by one, because they can be
/// written again. The file `.varve-checkout` names the version; `commit --from` leaves it out. It also
/// says if a checkout was interrupted, which the next checkout to the same folder completes.
///
/// Pages whose bodies are missing, damaged or unreadable are skipped and listed, and the exit code
/// is 1. In the layout of Moku the same holds for pages that share a path with another, on different
/// hosts or with and without a trailing slash.
///
/// Without `--to`, HEAD moves to the version, which becomes the parent of the next one. In a Moku
/// site the working tree is updated: pages of the old HEAD that are not in the version are removed,
/// unless their files were changed or their bodies are stored nowhere else; those are counted.
/// Other files stay. HEAD moves even if a page was skipped. If a file cannot be
/// written, HEAD and the tree are restored.
///
/// With `--json`, prints one object: `version`, the numbers of pages `written`, `removed`,
/// `stayed`, `absent`, `damaged`, `unreadable`, `covered` (by another page with the same path) and of
/// `redirects`, and `left_out`: the first thousand of each kind with `url` and the problem of the `body`, or the
/// page that they are `covered_by`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve checkout HEAD --to /tmp/now
  varve checkout 2026-03-01 --to /tmp/march --relative-links
  varve checkout HEAD --to /tmp/site --below https://example.com/docs/
  varve checkout before-the-relaunch")]
pub(super) struct CheckoutArgs {
    #[arg(help = crate::version_names::VERSION_HELP)]
    version: String,

    /// Write the pages to this folder, and do not move HEAD
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,

    /// Make links between the pages lead from file to file
    #[arg(long, requires = "to")]
    relative_links: bool,

    /// The file name of index pages
    #[arg(long, value_name = "NAME", default_value = "index.html", value_parser = file_name)]
    index: String,

    /// Only write pages below this URL, with its folder as the root
    #[arg(long, value_name = "URL", requires = "to")]
    below: Option<String>,

    /// How pages are written [default: moku for Moku sites, otherwise files]
    #[arg(long, requires = "to", conflicts_with_all = ["relative_links", "below"], value_parser = ["files", "moku"])]
    layout: Option<String>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Verb for CheckoutArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let (version, done) = if let Some(folder) = &self.to {
            let history = session.open_reader()?;
            let version = resolve_version(&history, &self.version)?;
            let (layout, progress) = (self.folder_layout(&history)?, session.printer.progress(None, "pages"));
            (version, export(&history, version, folder, layout, &mut |more| progress.inc(more))?)
        } else {
            let history = session.open_history()?;
            let version = resolve_version(history.as_reader(), &self.version)?;
            let progress = session.printer.progress(None, "pages");
            (version, checkout(&history, version, &mut |more| progress.inc(more))?)
        };
        if self.json {
            session.printer.json(&checkout_json(version, &done))?;
        } else if self.to.is_some() || done.written > 0 || done.removed > 0 {
            let pages = counted(done.written.saturating_sub(done.covered.count), "page");
            let removed = match done.removed {
                0 => String::new(),
                removed => format!("; {} of the version before removed", counted(removed, "page")),
            };
            let redirects = match done.redirects {
                0 => String::new(),
                redirects => format!("; {} without a file", counted(redirects, "redirect")),
            };
            session
                .printer
                .say(format_args!("{pages} of {} written{redirects}{removed}", short_version_id(&version)));
        }
        body_problems::say(&done.left_out, "skipped", &mut session.printer);
        report_covered_pages(&done.covered, &mut session.printer);
        report_kept_pages(done.stayed, &mut session.printer);
        if self.to.is_none() {
            session.printer.say(format_args!("HEAD is {}", short_version_id(&version)));
        }
        let left_out = done.left_out.count(|_| true) + done.covered.count;
        Ok(ExitStatus::of_findings(left_out))
    }
}

impl CheckoutArgs {
    fn folder_layout(&self, history: &HistoryReader) -> Result<FolderLayout, Error> {
        let is_moku = match &self.layout {
            Some(layout) => layout == "moku",
            None => history.working_tree().is_some() && !self.relative_links && self.below.is_none(),
        };
        if is_moku {
            return Ok(FolderLayout::Moku);
        }
        let below = self.below.as_deref().map(folder_url).transpose()?;
        let (relative_links, index) = (self.relative_links, self.index.clone());
        Ok(FolderLayout::Files(FileOptions { relative_links, index, below }))
    }
}

/// A name that is that of one file.
fn file_name(text: &str) -> Result<String, String> {
    match text {
        "" | "." | ".." => Err("it must be the name of a file".to_owned()),
        _ if text.contains(['/', '\0']) => Err("it must be a name without folders".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// Lists pages that share the path of another.
pub(super) fn report_covered_pages(covered: &CoveredPages, printer: &mut Printer) {
    if covered.count == 0 {
        return;
    }
    let heading = format!(
        "{} skipped: another page has the same path; `varve cat URL` prints each of them",
        counted(covered.count, "page")
    );
    let item = |(url, by): &(String, String)| format!("{} (the path holds {})", visible(url), visible(by));
    printer.say_list(heading, covered.first.iter().map(item), covered.count);
}

/// Reports pages that stay in a tree though the version does not have them.
pub(super) fn report_kept_pages(stayed: u64, printer: &mut Printer) {
    if stayed > 0 {
        let stayed = counted(stayed, "page");
        printer.say(format_args!(
            "kept in the tree, though not in the version: {stayed} with changed files or missing bodies"
        ));
    }
}

fn checkout_json(version: VersionId, done: &CheckoutReport) -> Value {
    let count = |wanted: &str| done.left_out.count(|trouble| word(trouble) == wanted);
    let unread = done.left_out.iter().flat_map(|(trouble, pages)| {
        pages.urls.iter().map(move |url| json!({ "url": url, "body": word(trouble) }))
    });
    let covered = done.covered.first.iter().map(|(url, by)| json!({ "url": url, "covered_by": by }));
    json!({
        "version": version,
        "written": done.written.saturating_sub(done.covered.count),
        "removed": done.removed,
        "absent": count("absent"),
        "damaged": count("damaged"),
        "unreadable": count("unreadable"),
        "covered": done.covered.count,
        "redirects": done.redirects,
        "stayed": done.stayed,
        "left_out": unread.chain(covered).collect::<Vec<_>>(),
    })
}
