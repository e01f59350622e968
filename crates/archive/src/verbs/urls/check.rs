//! `urls check`: compares the live web with the expectations, and stores nothing.
//!
//! Verdicts are reported in the order of the files, regardless of the order of the responses.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use varve_core::Moment;

use super::list::UrlFilter;
use crate::checking::{RetryPasses, expected_cases, report_all};
use crate::expectations::report::CheckedUrl;
use crate::expectations::{Prober, UrlDatabase, UrlsError};

pub use crate::checking::CheckProgress;

/// The options of a check.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The expectations to check.
    pub filter: UrlFilter,
    /// Host mappings: requests for the first host, a domain or an alias, go to the second.
    pub map: Vec<(String, String)>,
    /// Also check every alias.
    pub cnames: bool,
    /// Number of additional passes over failed URLs.
    pub retries: u32,
    /// Delay before each additional pass. A URL that fails and then succeeds in a later pass does
    /// not count as failed.
    pub pause: Duration,
    /// Whether redirects must end in a page.
    pub follow: bool,
    /// URLs with a stored verdict `ok` since this time are not requested again.
    pub known_since: Option<Moment>,
    /// Set by the caller to stop. Only verdicts reached by then are reported.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Request {
    pub(crate) fn passes(&self) -> RetryPasses<'_> {
        let Self { retries, pause, follow, .. } = *self;
        RetryPasses { retries, pause, follow, stop: self.stop.as_deref() }
    }
}

/// Checks all selected URLs and calls `each` with the verdicts in order.
pub fn check<E: From<UrlsError>>(
    database: &UrlDatabase,
    request: &Request,
    prober: &dyn Prober,
    progress: &mut dyn FnMut(CheckProgress),
    each: impl FnMut(CheckedUrl) -> Result<(), E>,
) -> Result<(), E> {
    report_all(&expected_cases(database, request)?, request, prober, progress, each)
}
