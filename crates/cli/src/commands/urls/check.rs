//! `varve urls check`: compares the live web with expected responses, and stores nothing.

use std::sync::Arc;

use varve_archive::verbs::urls::check::check;

use super::super::check::{CheckFilterArgs, ReportFormatArgs, VerdictPrinter};
use super::DatabaseLocation;
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::probe_args::ProbeArgs;
use crate::session::Session;
use crate::signals;

const URLS_CHECK_EXAMPLES: &str = "\
Examples:
  varve urls check
  varve urls --db urldb check --domain example.com --map example.com=staging.example.com
  varve urls --db urldb check --format junit";

/// Check that URLs answer as expected
///
/// A failed request is retried after a pause before it counts. The exit code is 1 if any URL is not
/// as expected, cannot be reached or was skipped. Nothing is stored; `varve check` in an archive
/// keeps the responses as evidence. `varve check --help` explains the verdicts.
///
/// With `--json`, prints one object per URL: `url`, `verdict`, `status`, `expected`, `got`,
/// `since`, `capture`, `reason`; the last object has the `summary`, the
/// number of URLs by verdict: `ok`, `changed`, `broken`, `unreachable`, `skipped`.
#[derive(clap::Args)]
#[command(after_help = URLS_CHECK_EXAMPLES)]
pub(super) struct UrlsCheckArgs {
    #[command(flatten)]
    manner: CheckFilterArgs,

    #[command(flatten)]
    web: ProbeArgs,

    #[command(flatten)]
    form: ReportFormatArgs,
}

impl UrlsCheckArgs {
    pub(super) fn run(self, place: &DatabaseLocation, session: &mut Session) -> Result<ExitStatus, Error> {
        let database = place.open(session)?;
        let stop = signals::stop_flag();
        let prober = self.web.prober(session, None, false, Some(Arc::clone(&stop)))?;
        let request = self.manner.request(&stop);
        let mut teller = VerdictPrinter::new(&mut session.printer, &self.form);
        let mut progress = teller.progress();
        check(&database, &request, &prober, &mut progress, |checked| teller.tell(&checked))?;
        teller.close(&self.manner, &stop)
    }
}
