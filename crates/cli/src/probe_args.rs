//! Options of the verbs that compare the live web with expected responses.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use varve_archive::ByteSize;
use varve_archive::expectations::{ProbeOptions, RunClock, TemporaryFolder, WebProber};

use crate::clock;
use crate::duration;
use crate::error::Error;
use crate::network_args::NetworkArgs;
use crate::session::Session;

/// How requests are sent.
#[derive(clap::Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct ProbeArgs {
    /// Requests at a time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..1001))]
    concurrency: u16,

    /// Pause between two requests to a host; with 0, a host gets up to `--concurrency` requests at
    /// a time
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = duration::parse)]
    delay: Duration,

    /// Time for all requests of a URL, from connecting to the end of the last response, redirects
    /// included; a record with a `content-length` gets one more second for each MiB
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration::parse)]
    timeout: Duration,

    /// Truncate a response at this size, unless a larger one is expected. A truncated response
    /// counts as failed where its content matters
    #[arg(long, value_name = "SIZE", default_value = "1 GiB")]
    max_size: ByteSize,

    #[command(flatten)]
    reaching: NetworkArgs,
}

impl ProbeArgs {
    /// The client with these options. With `whole`, responses keep their wire format.
    pub(crate) fn prober(
        &self,
        session: &Session,
        temporary: Option<TemporaryFolder>,
        whole: bool,
        stop: Option<Arc<AtomicBool>>,
    ) -> Result<WebProber, Error> {
        let asking = ProbeOptions {
            concurrency: usize::from(self.concurrency),
            delay: self.delay,
            timeout: self.timeout,
            max_size: self.max_size.0,
            user_agent: self.reaching.user_agent(session)?,
            network: self.reaching.network_options(session)?,
            threads: Session::threads(),
            whole,
            stop,
            ..ProbeOptions::new(temporary.unwrap_or_else(|| std::env::temp_dir().into()))
        };
        Ok(WebProber::new(asking, RunClock::new(&clock::moment))?)
    }
}
