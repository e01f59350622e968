//! A browser window behind a proxy that answers from the archive.

use std::net::SocketAddr;
use std::sync::Arc;

use varve_archive::ArchiveError;
use varve_archive::history::HistoryReader;
use varve_archive::verbs::proxy::{CertificateAuthority, RecordedProgram, page_url};
use varve_archive::verbs::replay::ReplayTime;
use varve_serve::{MuseumServer, MuseumSettings, START_URL};

use super::super::record::WindowArgs;
use crate::signals;
use crate::verb::{Error, ExitStatus, Session};

/// What the window shows.
#[derive(clap::Args)]
pub(super) struct MuseumArgs {
    /// Show pages as they were at this time: 2024, 2024-05-01, 20240501120000
    #[arg(long, value_name = "TIME", value_parser = parse_replay_time)]
    at: Option<ReplayTime>,

    #[command(flatten)]
    window: WindowArgs,
}

/// Parses a time: a date or up to 14 digits.
pub(in crate::commands) fn parse_replay_time(text: &str) -> Result<ReplayTime, String> {
    let digits: String =
        text.chars().filter(|character| !matches!(character, '-' | ':' | 'T' | 'Z' | ' ')).collect();
    ReplayTime::read(&digits)
        .ok_or_else(|| "write a time such as `2024`, `2024-05-01` or `20240501120000`".to_owned())
}

impl MuseumArgs {
    /// Shows a page of an archive until the window is closed.
    pub(super) fn show(
        &self,
        session: &mut Session,
        history: HistoryReader,
        url: Option<&str>,
    ) -> Result<ExitStatus, Error> {
        let url = url.map(page_url).transpose()?.unwrap_or_else(|| START_URL.to_owned());
        let authority = Arc::new(CertificateAuthority::for_session().map_err(ArchiveError::from)?);
        let mut window = self.window.window(Some(url), &authority)?;
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = MuseumServer::bind(history, MuseumSettings { listen, time: self.at, authority })?;
        let stop = signals::stop_flag();
        window.start(server.address())?;
        session.printer.say("close the window or press Ctrl-C to end");
        server.run(&mut || stop.load(std::sync::atomic::Ordering::Relaxed) || window.has_ended());
        Ok(ExitStatus::Done)
    }
}
