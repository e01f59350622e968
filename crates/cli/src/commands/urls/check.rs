//! `varve urls check`: holds the live web against what is expected of it.

use std::sync::Arc;

use varve_archive::verbs::urls::check::check;

use super::super::Outcome;
use super::super::check::{Form, Manner, Teller};
use super::DatabasePlace;
use crate::error::Error;
use crate::interrupt;
use crate::prober::Web;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve urls check
  varve urls --db urldb check --domain example.com --map example.com=staging.example.com
  varve urls --db urldb check --format junit";

/// Check that URLs answer as expected
///
/// A URL that fails is asked again, after a pause, before it counts. The exit code is 1 if any is not as expected, cannot be reached or was skipped.
/// Nothing is kept; `varve check` in an archive keeps the answers as evidence.
///
/// With `--json` there is one object a URL: `url`, `verdict`, `status`, `expected`, `got`, `since`, `capture`,
/// `reason`; and a last one with the `summary`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Check {
    #[command(flatten)]
    manner: Manner,

    #[command(flatten)]
    web: Web,

    #[command(flatten)]
    form: Form,
}

impl Check {
    pub(super) fn run(self, place: &DatabasePlace, session: &mut Session) -> Result<Outcome, Error> {
        let database = place.open(session)?;
        let stop = interrupt::flag();
        let prober = self.web.prober(session, None, false, Some(Arc::clone(&stop)))?;
        let request = self.manner.request(&stop);
        let mut teller = Teller::new(&mut session.printer, &self.form);
        let mut progress = teller.progress();
        check(&database, &request, &prober, &mut progress, |checked| teller.tell(&checked))?;
        teller.close(&self.manner, &stop)
    }
}
