//! `urls check`: holds the live web against what is expected of it, and keeps nothing.
//!
//! Verdicts come in the order of the files, whatever the order of the answers.

use super::list::Filter;
use crate::checking::{Finding, ask_all, expected_cases};
use crate::expectations::report::Checked;
use crate::expectations::{Prober, UrlDatabase, UrlsError};

pub use crate::checking::Progress;

/// What is checked, and how.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Which expectations.
    pub filter: Filter,
    /// Hosts that stand in for others: asked at the second, for what the file says of the first.
    pub map: Vec<(String, String)>,
    /// Every alias is asked as well.
    pub cnames: bool,
    /// How many more passes there are for what failed.
    pub retries: u32,
}

/// Checks all that is asked for; `each` is told the verdicts in order.
pub fn check<E: From<UrlsError>>(
    database: &UrlDatabase,
    request: &Request,
    prober: &dyn Prober,
    progress: &mut dyn FnMut(Progress),
    each: impl FnMut(Checked) -> Result<(), E>,
) -> Result<(), E> {
    let cases = expected_cases(database, request)?;
    let mut verdicts: Vec<Checked> = cases.iter().map(|case| case.checked.clone()).collect();
    ask_all(&cases, request.retries, prober, progress, |number, finding| {
        let Finding { verdict, status, .. } = finding;
        let checked = &mut verdicts[number];
        (checked.verdict, checked.status) = (verdict, status);
        Ok::<(), E>(())
    })?;
    verdicts.into_iter().try_for_each(each)
}
