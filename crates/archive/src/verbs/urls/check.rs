//! `urls check`: holds the live web against what is expected of it, and keeps nothing.
//!
//! Verdicts come in the order of the files, whatever the order of the answers.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::list::UrlFilter;
use crate::checking::{CheckFinding, RetryPasses, ask_all, expected_cases};
use crate::expectations::report::CheckedUrl;
use crate::expectations::{Prober, UrlDatabase, UrlsError};

pub use crate::checking::CheckProgress;

/// What is checked, and how.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Which expectations.
    pub filter: UrlFilter,
    /// Hosts that stand in for others: the second is asked in place of the first, a domain or an alias of one.
    pub map: Vec<(String, String)>,
    /// Every alias is asked as well.
    pub cnames: bool,
    /// How many more passes there are for what failed.
    pub retries: u32,
    /// How long is waited before each of them: what fails now and not a moment later did not fail.
    pub pause: Duration,
    /// Raised by whoever wants no more: what has its verdict by then is all.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Request {
    pub(crate) fn passes(&self) -> RetryPasses<'_> {
        RetryPasses { retries: self.retries, pause: self.pause, stop: self.stop.as_deref() }
    }
}

/// Checks all that is asked for; `each` is told the verdicts in order.
pub fn check<E: From<UrlsError>>(
    database: &UrlDatabase,
    request: &Request,
    prober: &dyn Prober,
    progress: &mut dyn FnMut(CheckProgress),
    each: impl FnMut(CheckedUrl) -> Result<(), E>,
) -> Result<(), E> {
    let cases = expected_cases(database, request)?;
    let mut verdicts: Vec<Option<CheckedUrl>> = cases.iter().map(|_| None).collect();
    ask_all(&cases, request.passes(), prober, progress, |number, finding| {
        let CheckFinding { verdict, status, took, trouble, .. } = finding;
        verdicts[number] =
            Some(CheckedUrl { verdict, status, took, trouble, ..cases[number].checked.clone() });
        Ok::<(), E>(())
    })?;
    verdicts.into_iter().flatten().try_for_each(each)
}
