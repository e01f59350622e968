//! `proxy` and `record`: records what passes a proxy, and makes one version of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::mpsc;
use varve_core::url::request_url;
use varve_crawl::{CrawlError, RecordingRun, RunEnvironment};
use varve_proxy::ProxyServer;
use varve_repository::history::ArchiveHistoryWriter;

use super::capture::{
    CrawlEvent, CrawlSettings, CrawlTally, NetworkOptions, RunEnd, RunOptions, client, refuse_user_info,
    resumed,
};
use crate::error::ArchiveError;
use crate::recording::{
    ExchangeRecorder, LiveHandler, RecordJob, RecordedUrls, RecordingActivity, RecordingEnd,
};

pub use varve_fetch::browser::{BrowserWindow, WindowOptions};
pub use varve_file::TemporaryFolder;
pub use varve_proxy::{AuthorityError, CertificateAuthority, ListenError};

/// Responses that may wait for the recorder; each has at most 256 KiB in memory.
const MAX_WAITING_JOBS: usize = 256;

/// Threads that move bytes between clients and servers.
const NETWORK_THREADS: usize = 2;

/// The options of a recording.
pub struct RecordingOptions<'a> {
    /// The network options, the stop flag and the intent, as for a capture.
    pub manner: RunOptions<'a>,
    /// The address of the proxy; port 0 selects a free one.
    pub listen: SocketAddr,
    /// Who makes certificates for hosts.
    pub authority: Arc<CertificateAuthority>,
    /// The recording ends when nothing has passed for this long.
    pub idle_exit: Option<Duration>,
}

/// The program that is recorded, as far as the recording knows it.
pub trait RecordedProgram {
    /// The proxy listens at this address.
    fn start(&mut self, _address: SocketAddr) -> Result<(), ArchiveError> {
        Ok(())
    }

    /// Whether the program has ended, and the recording with it.
    fn has_ended(&mut self) -> bool {
        false
    }
}

/// How a recording begins.
pub enum RecordingStart {
    /// With these settings.
    New(Box<CrawlSettings>),
    /// As the one that was interrupted, with another message if there is one.
    Resume {
        /// The message.
        message: Option<String>,
    },
}

/// Records what passes the proxy until it is stopped, and makes a version of it.
pub fn record(
    history: &ArchiveHistoryWriter,
    start: RecordingStart,
    options: RecordingOptions<'_>,
    program: &mut dyn RecordedProgram,
    report: &mut dyn FnMut(CrawlEvent<'_>),
) -> Result<RunEnd, ArchiveError> {
    let RecordingOptions { manner, listen, authority, idle_exit } = options;
    let RunOptions { reach, threads, stop, intent } = manner;
    let failed = |source| ArchiveError::from(CrawlError::Threads(source));
    let runtime =
        Builder::new_multi_thread().worker_threads(NETWORK_THREADS).enable_all().build().map_err(failed)?;
    // The address is bound before the run begins: a port in use must leave no run behind.
    let server = {
        let _inside = runtime.enter();
        ProxyServer::bind(listen)?
    };
    let environment = RunEnvironment { history, threads, stop, intent };
    let is_resumed = matches!(start, RecordingStart::Resume { .. });
    let (run, reach) = begin_run(environment, start, reach)?;
    let layout = history.writer().layout();
    report(CrawlEvent::Began { run: run.record().id, resumed: is_resumed });
    let made = reach
        .within(layout)
        .and_then(|reach| client(&layout.temporary_folder(), run.settings(), &reach, None));
    let client = match made {
        Ok(client) => client,
        Err(error) => return Err(give_up(run, is_resumed, error.into())),
    };
    let (urls, activity) = (Arc::new(RecordedUrls::default()), Arc::new(RecordingActivity::new()));
    let (sender, mut jobs) = mpsc::channel::<RecordJob>(MAX_WAITING_JOBS);
    let handler = LiveHandler::new(client, Arc::clone(&urls), sender, Arc::clone(&activity));
    let address = server.address();
    let serving = runtime.spawn(server.serve(Arc::new(handler), authority));
    report(CrawlEvent::Listening { address });
    if let Err(error) = program.start(address) {
        return Err(give_up(run, is_resumed, error));
    }
    let recorder = ExchangeRecorder::new(history, &run, urls, is_resumed)?;
    let mut end = RecordingEnd { stop, idle_exit, is_over: &mut || program.has_ended(), activity };
    let recorded = recorder.run(&mut jobs, runtime.handle(), &mut end, report);
    serving.abort();
    runtime.shutdown_background();
    Ok(run.finish(recorded?)?)
}

/// Ends a new run that cannot record anything, so that it is not left as unfinished. Returns the
/// reason.
fn give_up(run: RecordingRun<'_>, is_resumed: bool, error: ArchiveError) -> ArchiveError {
    if !is_resumed {
        // The reason is more useful than a second failure.
        let _ = run.finish(CrawlTally::default());
    }
    error
}

/// Begins or resumes the run. Returns the network options of its requests too.
fn begin_run(
    environment: RunEnvironment<'_>,
    start: RecordingStart,
    reach: NetworkOptions,
) -> Result<(RecordingRun<'_>, NetworkOptions), ArchiveError> {
    let message = match start {
        RecordingStart::New(mut settings) => {
            settings.is_recording = true;
            settings.network = reach.to_save(&settings.seeds)?;
            return Ok((RecordingRun::begin(environment, *settings)?, reach));
        }
        RecordingStart::Resume { message } => message,
    };
    let mut merged = reach.clone();
    let run = RecordingRun::resume(environment, |settings| {
        settings.message = message.unwrap_or_else(|| std::mem::take(&mut settings.message));
        merged = resumed(&reach, settings)?;
        Ok(())
    })?;
    Ok((run, merged))
}

/// The URL of a page that a browser is opened with.
pub fn page_url(text: &str) -> Result<String, ArchiveError> {
    refuse_user_info(text)?;
    request_url(text).ok_or_else(|| ArchiveError::NotOnTheWeb(text.to_owned()))
}

/// A recording without a program of its own: it ends when it is stopped.
impl RecordedProgram for () {}
