//! `varve serve`: shows the archive in a browser.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use varve_archive::history::{ArchiveHistoryReader, HistoryReader};
use varve_archive::pages::{PageService, PageServiceOptions};
use varve_archive::verbs::replay::ReplayTime;
use varve_archive::{ArchivePaths, EntryKind, RootedFiles};
use varve_serve::{MuseumSettings, ServeSettings, Server};

use super::authority::AuthorityArgs;
use super::capture::find_chromium;
use super::capture_choice::CaptureChoiceArgs;
use super::extract::index_warning;
use super::open::parse_replay_time;
use super::signing_key::SigningKeyArgs;
use crate::network_args::NetworkArgs;
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::{duration, signals};

/// Show the archive in a browser
///
/// Listens on two addresses: one for the web pages (overview, pages, history, changes) and the
/// APIs, another for archived pages, so that archived scripts are isolated. Archived pages cannot
/// send requests to the live web. Web pages, archived pages and CDX only read, also while another
/// process writes. Ctrl-C ends the server.
///
/// The extraction API (`/extract`, `/batch`, `/feed`, `/history`, `/settings/domain`) answers what a page
/// says, as scrape does. A page without a valid extraction is fetched, and captured into the archive as a
/// version. With `--readonly` nothing is fetched and nothing is written: the API answers from
/// history. It needs an archive; a Moku site or a Crystal project has no such API.
///
/// With a signing key, clients of the extraction API need a token: see `varve token`. The web pages, archived
/// pages and CDX need none. A server that other machines can reach and that has no signing key answers from
/// history only, unless `--allow-remote-fetch` is given.
///
/// Without a time, a page is shown by its newest good capture; in a Crystal project by its newest
/// revision, even if that is a failure, unless `--newest-good` is given. Links lead to captures of
/// the same time; in a Crystal project they do so only if a time was chosen, and otherwise lead to
/// the newest revisions, as in Crystal.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve serve
  varve serve crawl.wacz
  varve serve --readonly
  varve serve --proxy-listen 127.0.0.1:8082 --at 2024-05-01
  varve serve --signing-key-file signing.key --ttl 1d
  varve -C museum.crystalproj serve --listen 127.0.0.1:0 --replay-listen 127.0.0.1:0
  varve serve --allow-remote --listen 0.0.0.0:8080 --replay-listen 0.0.0.0:8081 --host museum.example")]
pub(super) struct ServeArgs {
    /// Show this archive, WARC, ARC or WACZ file, or folder of them [default: the archive of `-C`]
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,

    /// Address of the web pages and the API; port 0 selects a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// Address of archived pages
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8081")]
    replay_listen: SocketAddr,

    /// A host name of this server; may be repeated
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,

    /// Show archived pages also through an HTTP proxy at this address: original URLs and bytes, and
    /// nothing from the live web. Clients must trust its certificates: open that address
    #[arg(long, value_name = "ADDRESS")]
    proxy_listen: Option<SocketAddr>,

    /// With `--proxy-listen`: show pages as they were at this time
    #[arg(long, value_name = "TIME", value_parser = parse_replay_time, requires = "proxy_listen")]
    at: Option<ReplayTime>,

    #[command(flatten)]
    authority: AuthorityArgs,

    #[command(flatten)]
    choosing: CaptureChoiceArgs,

    /// Allow other machines to connect; they can read the whole archive
    #[arg(long)]
    allow_remote: bool,

    /// Without a signing key, let other machines have pages fetched and written to the archive
    #[arg(long, requires = "allow_remote")]
    allow_remote_fetch: bool,

    /// Print both addresses as one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    extraction: ExtractionArgs,

    #[command(flatten)]
    network: NetworkArgs,
}

/// How the extraction API answers.
#[derive(clap::Args)]
#[command(next_help_heading = "Extraction API")]
struct ExtractionArgs {
    #[command(flatten)]
    key: SigningKeyArgs,

    /// How long an extraction is an answer, before the page is fetched again [default: the setting of
    /// the archive, or 30d]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    ttl: Option<Duration>,

    /// Enable `/extract/headless`, which loads pages in headless Chromium, and load those of domains whose settings say
    /// so in it
    #[arg(long)]
    enable_headless: bool,

    /// Path of Chromium [default: looked for in PATH]
    #[arg(long, value_name = "FILE", env = "VARVE_CHROMIUM")]
    chromium: Option<PathBuf>,
}

impl Verb for ServeArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        for address in [self.listen, self.replay_listen].into_iter().chain(self.proxy_listen) {
            if !address.ip().is_loopback() && !self.allow_remote {
                return Err(Error::Reachable { address });
            }
        }
        if let Some(path) = &self.path {
            session.use_archive(path.clone());
        }
        let signing_key = self.extraction.key.read()?;
        let root = session.root()?;
        let (history, pages) = self.open(&root, signing_key.is_some(), session)?;
        let settings = ServeSettings {
            name: name_of(&root),
            size: size_of(&root),
            listen: self.listen,
            replay_listen: self.replay_listen,
            hosts: self.host,
            pages,
            signing_key,
        };
        let stop = signals::stop_flag();
        let mut server = Server::bind(history.clone(), settings)?;
        let proxy = match self.proxy_listen {
            Some(listen) => {
                let museum = MuseumSettings { listen, time: self.at, authority: self.authority.open()? };
                Some(format!("http://{}", server.add_museum(history, museum)?))
            }
            None => None,
        };
        let (ui, replay) =
            (format!("http://{}/", server.address()), format!("http://{}/web/", server.replay_address()));
        if self.json {
            session.printer.json(&serde_json::json!({ "ui": ui, "replay": replay, "proxy": proxy }))?;
        } else {
            session.printer.line(&ui)?;
        }
        session.printer.flush()?;
        session.printer.say(format_args!("archived pages are at {replay}; press Ctrl-C to stop"));
        if let Some(proxy) = proxy {
            session.printer.say(format_args!("the archive is also behind the proxy {proxy}"));
        }
        server.run(&stop);
        Ok(ExitStatus::Done)
    }
}

impl ServeArgs {
    /// Opens the archive, and the service that reads pages for the extraction API. Other layouts have
    /// no such service.
    fn open(
        &self,
        root: &Path,
        has_key: bool,
        session: &mut Session,
    ) -> Result<(HistoryReader, Option<PageService>), Error> {
        if !ArchivePaths::new(root).is_archive() {
            return Ok((session.open_reader_choosing(self.choosing.choice())?, None));
        }
        let archive = session.open_archive_reader()?;
        let mut network = self.network.network_options(session)?;
        network.browser = self.extraction.browser(session);
        let writer = match self.read_only_reason(root, has_key, &archive) {
            Some(reason) => {
                session.printer.say(format_args!("the extraction API answers from history only: {reason}"));
                None
            }
            None => session.writer_opener(),
        };
        let user_agent = self.network.user_agent(session)?;
        let options = PageServiceOptions {
            ttl: self.extraction.ttl,
            warn_of_index: Some(index_warning(session)),
            ..PageServiceOptions::new(network, user_agent, writer)
        };
        let history = HistoryReader::from(&archive);
        Ok((history, Some(PageService::open(archive, options)?)))
    }

    /// Why the API may not fetch and write, besides `--readonly`.
    fn read_only_reason(
        &self,
        root: &Path,
        has_key: bool,
        archive: &ArchiveHistoryReader,
    ) -> Option<&'static str> {
        if archive.archive().layout().catalog() != ArchivePaths::new(root).catalog() {
            return Some("index and catalog are not those of the archive");
        }
        if self.listen.ip().is_loopback() || has_key || self.allow_remote_fetch {
            return None;
        }
        Some(
            "other machines can connect, and there is no signing key; `--signing-key-file FILE` or \
             `--allow-remote-fetch` lets it fetch pages",
        )
    }
}

impl ExtractionArgs {
    /// The browser of `/extract/headless`, if it is enabled.
    fn browser(&self, session: &mut Session) -> Option<PathBuf> {
        if !self.enable_headless {
            return None;
        }
        let browser = self.chromium.clone().or_else(find_chromium);
        if browser.is_none() {
            session.printer.warn("there is no Chromium in PATH, so `/extract/headless` answers 503");
        }
        browser
    }
}

/// The name of the archive: its folder.
fn name_of(root: &Path) -> String {
    let whole = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    whole.file_name().unwrap_or(root.as_os_str()).to_string_lossy().into_owned()
}

/// The size of the silos, which are few files. Other layouts have a file per body, too many to look
/// at.
fn size_of(root: &Path) -> Box<dyn Fn() -> Option<u64> + Send + Sync> {
    let layout = ArchivePaths::new(root);
    if !layout.is_archive() {
        return Box::new(|| None);
    }
    Box::new(move || sum(layout.files(), &layout.silos(), 4))
}

fn sum(files: &RootedFiles, folder: &Path, deeper: usize) -> Option<u64> {
    let mut total: u64 = 0;
    for entry in files.list(folder).ok()? {
        let path = folder.join(&entry.name);
        total = total.saturating_add(match entry.kind == EntryKind::Folder && deeper > 0 {
            true => sum(files, &path, deeper - 1)?,
            false => files.entry(&path).ok()??.length,
        });
    }
    Some(total)
}
