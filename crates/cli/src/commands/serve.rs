//! `varve serve`: shows the archive in a browser.

use std::net::SocketAddr;
use std::path::Path;

use varve_archive::{ArchivePaths, EntryKind, RootedFiles};
use varve_serve::{ServeSettings, Server};

use super::capture_choice::CaptureChoiceArgs;
use crate::signals;
use crate::verb::{Error, ExitStatus, Session, Verb};

/// Show the archive in a browser
///
/// Listens on two addresses: one for the web pages (overview, pages, history, changes) and the CDX
/// API, another for archived pages, so that archived scripts are isolated. Archived pages cannot
/// send requests to the live web. An archive, a Moku site or a Crystal project is only read, also
/// while another process writes to it. Ctrl-C ends the server.
///
/// Without a time, a page is shown by its newest good capture; in a Crystal project by its newest
/// revision, even if that is a failure, unless `--newest-good` is given. Links lead to captures of
/// the same time; in a Crystal project they do so only if a time was chosen, and otherwise lead to
/// the newest revisions, as in Crystal.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve serve
  varve -C museum.crystalproj serve --listen 127.0.0.1:0 --replay-listen 127.0.0.1:0
  varve serve --allow-remote --listen 0.0.0.0:8080 --replay-listen 0.0.0.0:8081 --host museum.example")]
pub(super) struct ServeArgs {
    /// Address of the web pages and the API; port 0 selects a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// Address of archived pages
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8081")]
    replay_listen: SocketAddr,

    /// A host name of this server; may be repeated
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,

    #[command(flatten)]
    choosing: CaptureChoiceArgs,

    /// Allow other machines to connect; they can read the whole archive
    #[arg(long)]
    allow_remote: bool,

    /// Print both addresses as one JSON object
    #[arg(long)]
    json: bool,
}

impl Verb for ServeArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        for address in [self.listen, self.replay_listen] {
            if !address.ip().is_loopback() && !self.allow_remote {
                return Err(Error::Reachable { address });
            }
        }
        let root = session.root()?;
        let history = session.open_reader_choosing(self.choosing.choice())?;
        let settings = ServeSettings {
            name: name_of(&root),
            size: size_of(&root),
            listen: self.listen,
            replay_listen: self.replay_listen,
            hosts: self.host,
        };
        let stop = signals::stop_flag();
        let server = Server::bind(history, settings)?;
        let (ui, replay) =
            (format!("http://{}/", server.address()), format!("http://{}/web/", server.replay_address()));
        if self.json {
            session.printer.json(&serde_json::json!({ "ui": ui, "replay": replay }))?;
        } else {
            session.printer.line(&ui)?;
        }
        session.printer.flush()?;
        session.printer.say(format_args!("archived pages are at {replay}; press Ctrl-C to stop"));
        server.run(&stop);
        Ok(ExitStatus::Done)
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
