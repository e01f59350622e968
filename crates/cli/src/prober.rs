//! The way to the live web, for verbs that hold promises against it: their options, and who asks.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use varve_archive::Size;
use varve_archive::expectations::{ProbeOptions, WebProber};

use crate::duration;
use crate::error::Error;
use crate::reaching::Reaching;
use crate::session::Session;

/// How the web is asked.
#[derive(clap::Args)]
pub(crate) struct Web {
    /// Requests under way at a time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..1001))]
    concurrency: u16,

    /// Between two requests to a host; without any, a host gets as many at a time as there are
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = duration::parse)]
    delay: Duration,

    /// For a connection, for the beginning of an answer, and for a silence in it
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration::parse)]
    timeout: Duration,

    /// Bytes of one answer, unless it is promised to be longer; what is longer is cut off there, and is no answer where its content counts
    #[arg(long, value_name = "SIZE", default_value = "1 GiB")]
    largest: Size,

    #[command(flatten)]
    reaching: Reaching,
}

impl Web {
    /// Whoever asks in that manner. `whole` answers are handed over as they were on the wire.
    pub(crate) fn prober(
        &self,
        session: &Session,
        temporary: Option<PathBuf>,
        whole: bool,
        stop: Option<Arc<AtomicBool>>,
    ) -> Result<WebProber, Error> {
        let asking = ProbeOptions {
            concurrency: usize::from(self.concurrency),
            delay: self.delay,
            timeout: self.timeout,
            max_size: self.largest.0,
            user_agent: self.reaching.user_agent(session)?,
            network: self.reaching.reach(session)?,
            threads: Session::threads(),
            whole,
            stop,
            ..ProbeOptions::new(temporary.unwrap_or_else(std::env::temp_dir))
        };
        Ok(WebProber::new(asking)?)
    }
}
