//! `varve serve`: the archive in a browser.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use varve_archive::Layout;
use varve_serve::{ServeSettings, Server};

use super::choosing::Choosing;
use super::{Outcome, Verb};
use crate::error::Error;
use crate::interrupt;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve serve
  varve -C museum.crystalproj serve --listen 127.0.0.1:0 --replay-listen 127.0.0.1:0
  varve serve --allow-remote --listen 0.0.0.0:8080 --replay-listen 0.0.0.0:8081 --host museum.example";

/// Show the archive in a browser
///
/// Pages for people (home, pages, history, changes) and the CDX API are at one address, archived pages as they were at another, so that what
/// archived scripts do concerns nobody else. Nothing that a replayed page asks for ever leaves for the live web. An archive, a Moku
/// site or a Crystal project is only read, beside whoever writes to it. Ends with Ctrl-C.
///
/// A page that is asked for without a time is shown by its newest good capture; in a Crystal project by its newest revision, even
/// if that records a failure, as Crystal does, unless `--newest-good` is given.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Serve {
    /// Where the pages for people and the API are; port 0 means any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// Where archived pages are
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8081")]
    replay_listen: SocketAddr,

    /// A name by which this server is called, besides its addresses; may be given several times
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,

    #[command(flatten)]
    choosing: Choosing,

    /// Let other machines read the archive
    #[arg(long)]
    allow_remote: bool,

    /// Print where it listens as one JSON object
    #[arg(long)]
    json: bool,
}

impl Verb for Serve {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        for address in [self.listen, self.replay_listen] {
            if !address.ip().is_loopback() && !self.allow_remote {
                return Err(Error::Reachable { address });
            }
        }
        let root = session.root()?;
        let holdings = session.holdings_by(self.choosing.choice())?;
        let settings = ServeSettings {
            name: name_of(&root),
            size: size_of(&root),
            listen: self.listen,
            replay_listen: self.replay_listen,
            hosts: self.host,
        };
        let stop = interrupt::flag();
        let server = Server::bind(holdings, settings)?;
        let (ui, replay) =
            (format!("http://{}/", server.address()), format!("http://{}/web/", server.replay_address()));
        if self.json {
            session.printer.json(&serde_json::json!({ "ui": ui, "replay": replay }))?;
        } else {
            session.printer.line(&ui)?;
        }
        session.printer.flush()?;
        session.printer.say(format_args!("archived pages are at {replay}; Ctrl-C ends this"));
        server.run(&stop);
        Ok(Outcome::Done)
    }
}

/// What people call the archive: its folder.
fn name_of(root: &Path) -> String {
    let whole = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    whole.file_name().unwrap_or(root.as_os_str()).to_string_lossy().into_owned()
}

/// The size of the silos, which are few files. Other layouts have a file for each body, which is too many to look at.
fn size_of(root: &Path) -> Box<dyn Fn() -> Option<u64> + Send + Sync> {
    let layout = Layout::new(root);
    if !layout.is_archive() {
        return Box::new(|| None);
    }
    let silos: PathBuf = layout.silos();
    Box::new(move || sum(&silos, 4))
}

fn sum(folder: &Path, deeper: usize) -> Option<u64> {
    let mut total = 0;
    for entry in std::fs::read_dir(folder).ok()? {
        let entry = entry.ok()?;
        let about = entry.metadata().ok()?;
        total += match about.is_dir() && deeper > 0 {
            true => sum(&entry.path(), deeper - 1)?,
            false => about.len(),
        };
    }
    Some(total)
}
