//! `varve urls check`: compares the live web with expected responses, and stores nothing.

use super::super::check::{CheckFilterArgs, ReportFormatArgs, check_database};
use super::DatabaseLocation;
use crate::probe_args::ProbeArgs;
use crate::verb::{Error, ExitStatus, Session};

/// Check that URLs answer as expected
///
/// A failed request is retried after a pause before it counts. The exit code is 1 if any URL is not
/// as expected, cannot be reached or was skipped. Nothing is stored; `varve check` in an archive
/// keeps the responses as evidence. `varve check --help` explains verdicts, redirects and `--json`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve urls check
  varve urls --db urldb check --domain example.com --map example.com=staging.example.com
  varve urls --db urldb check --format junit")]
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
        check_database(&database, (&self.manner, &self.web, &self.form), session)
    }
}
