//! Requests and retries: a failure counts only after the URL has failed again in a later pass.
//!
//! A URL that was not requested, because its host was given up or is forbidden, gets the verdict
//! "skipped".

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use varve_core::exchange::Exchange;

use super::{CheckCase, CheckProgress, Judgement};
use crate::expectations::report::{CheckedUrl, ContentComparison, FollowedRedirects};
use crate::expectations::{ProbeFailure, ProbeRequest, ProbeResponse, Prober, Verdict, judge_redirect_end};
use crate::verbs::urls::check::Request;
use varve_fetch::FetchErrorKind;

/// Interval at which the stop flag is read while waiting.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The final result of one case.
#[derive(Debug)]
pub(crate) struct CheckFinding {
    /// Whether its expectation is met.
    pub(crate) verdict: Verdict,
    /// What is wrong although the expectation is met.
    pub(crate) warning: Option<String>,
    /// How the body compares with an earlier one.
    pub(crate) comparison: Option<ContentComparison>,
    /// The status of the judged response.
    pub(crate) status: Option<u16>,
    /// The redirects that were followed, and where they ended.
    pub(crate) redirects: FollowedRedirects,
    /// The recorded requests and responses.
    pub(crate) exchanges: Vec<Exchange>,
    /// The position of the judged response among them.
    pub(crate) judged: Option<usize>,
    /// How long the requests took, if any were made.
    pub(crate) took: Option<Duration>,
    /// Why there is no usable response.
    pub(crate) trouble: Option<ProbeFailure>,
}

impl CheckFinding {
    fn without_answer(verdict: Verdict) -> Self {
        Self {
            verdict,
            warning: None,
            comparison: None,
            status: None,
            redirects: FollowedRedirects::default(),
            exchanges: Vec::new(),
            judged: None,
            took: None,
            trouble: None,
        }
    }

    fn of(case: &CheckCase<'_>, answer: ProbeResponse, follow: bool) -> Self {
        let Judgement { verdict, comparison } = match (&answer.unasked, &answer.redirect_end) {
            (Some(why), None) => Judgement { verdict: Verdict::Skipped(why.clone()), comparison: None },
            _ => case.target.judge(&answer),
        };
        let (verdict, warning) = with_redirect_end(verdict, &answer, follow);
        let redirects = FollowedRedirects::of(answer.redirect_end.as_deref().unwrap_or(&answer.observed));
        let judged = match answer.redirect_end {
            Some(_) => (!answer.exchanges.is_empty()).then_some(0),
            None => answer.exchanges.len().checked_sub(1),
        };
        let ProbeResponse { observed, exchanges, took, failure: trouble, .. } = answer;
        let status = observed.status;
        Self { verdict, warning, comparison, status, redirects, exchanges, judged, took, trouble }
    }

    /// The result as it is reported.
    pub(crate) fn reported(self, case: &CheckCase<'_>) -> CheckedUrl {
        let Self { verdict, warning, comparison, status, redirects, took, trouble, .. } = self;
        let referrers = case.target.referrers(&verdict);
        let known = case.checked.clone();
        CheckedUrl { verdict, warning, comparison, status, redirects, referrers, took, trouble, ..known }
    }

    /// Whether the address guard refused the request. The guard would refuse a retry as well.
    fn is_refused(&self) -> bool {
        self.trouble.as_ref().is_some_and(|trouble| trouble.kind == FetchErrorKind::Guard)
    }
}

/// Adds where the redirects end to the verdict on the first response: with `follow` as a verdict,
/// without as a warning.
fn with_redirect_end(verdict: Verdict, answer: &ProbeResponse, follow: bool) -> (Verdict, Option<String>) {
    let Some(end) = answer.redirect_end.as_deref().filter(|_| verdict == Verdict::Ok) else {
        return (verdict, None);
    };
    let end = match &answer.unasked {
        Some(why) => Verdict::Skipped(why.clone()),
        None => judge_redirect_end(end),
    };
    match end {
        Verdict::Ok => (verdict, None),
        end if follow => (end, None),
        Verdict::Skipped(_) => (verdict, None),
        end => (verdict, end.reason()),
    }
}

/// The retry settings of a check.
#[derive(Clone, Copy)]
pub(crate) struct RetryPasses<'a> {
    /// Number of additional passes over failed cases.
    pub(crate) retries: u32,
    /// Delay before each additional pass.
    pub(crate) pause: Duration,
    /// Whether redirects must end in a page.
    pub(crate) follow: bool,
    /// Set by the caller to stop.
    pub(crate) stop: Option<&'a AtomicBool>,
}

impl RetryPasses<'_> {
    fn are_over(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Waits before another pass, unless the check was stopped.
    fn pause(&self) {
        let begun = Instant::now();
        while !self.are_over() && begun.elapsed() < self.pause {
            std::thread::sleep(STOP_POLL_INTERVAL.min(self.pause - begun.elapsed().min(self.pause)));
        }
    }
}

/// Requests all cases, stores nothing, and calls `each` with the results in the order of the cases.
pub(crate) fn report_all<E>(
    cases: &[CheckCase<'_>],
    request: &Request,
    prober: &dyn Prober,
    progress: &mut dyn FnMut(CheckProgress),
    each: impl FnMut(CheckedUrl) -> Result<(), E>,
) -> Result<(), E> {
    let mut verdicts: Vec<Option<CheckedUrl>> = cases.iter().map(|_| None).collect();
    ask_all(cases, request.passes(), prober, progress, |number, finding| {
        verdicts[number] = Some(finding.reported(&cases[number]));
        Ok::<(), E>(())
    })?;
    verdicts.into_iter().flatten().try_for_each(each)
}

/// Requests all cases. `settle` is called once per case with its number and final result, in any
/// order. After a stop, only results reached by then are reported; a failed case that was not
/// retried has no verdict.
pub(crate) fn ask_all<E>(
    cases: &[CheckCase<'_>],
    passes: RetryPasses<'_>,
    prober: &dyn Prober,
    progress: &mut dyn FnMut(CheckProgress),
    mut settle: impl FnMut(usize, CheckFinding) -> Result<(), E>,
) -> Result<(), E> {
    let mut done = 0;
    let mut settle = |number: usize, finding: CheckFinding| {
        done += 1;
        progress(CheckProgress { done, total: cases.len() });
        settle(number, finding)
    };
    let mut waiting: Vec<(usize, ProbeRequest)> = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        match case.target.probe_request() {
            Ok(question) => waiting.push((number, question)),
            Err(verdict) => settle(number, CheckFinding::without_answer(verdict))?,
        }
    }
    let mut before = HashMap::new();
    for pass in 0..=passes.retries {
        if waiting.is_empty() {
            break;
        }
        if pass > 0 {
            passes.pause();
        }
        let turn = ProbePass { passes, last: pass == passes.retries, before: &mut before };
        waiting = ask_once(cases, waiting, turn, prober, &mut settle)?;
        if passes.are_over() {
            return Ok(());
        }
    }
    for (number, _) in waiting {
        let verdict = Verdict::Unreachable("the question was not answered".to_owned());
        settle(number, CheckFinding::without_answer(verdict))?;
    }
    Ok(())
}

/// One pass.
struct ProbePass<'a> {
    passes: RetryPasses<'a>,
    /// Whether this is the last pass.
    last: bool,
    /// Results of cases that failed in earlier passes, without their exchanges.
    before: &'a mut HashMap<usize, CheckFinding>,
}

/// Runs one pass. Returns the cases to retry and those without a response.
fn ask_once<E>(
    cases: &[CheckCase<'_>],
    waiting: Vec<(usize, ProbeRequest)>,
    ProbePass { passes, last, before }: ProbePass<'_>,
    prober: &dyn Prober,
    settle: &mut dyn FnMut(usize, CheckFinding) -> Result<(), E>,
) -> Result<Vec<(usize, ProbeRequest)>, E> {
    let questions: Vec<ProbeRequest> = waiting.iter().map(|(_, question)| question.clone()).collect();
    let (mut settled, mut asked) = (vec![false; waiting.len()], vec![false; waiting.len()]);
    let mut failure = Ok(());
    if passes.are_over() {
        return Ok(waiting);
    }
    prober.probe(&questions, &mut |at, answer| {
        let (Some((number, _)), Some(settled)) = (waiting.get(at), settled.get_mut(at)) else {
            return ControlFlow::Continue(());
        };
        asked[at] = answer.unasked.is_none() || answer.redirect_end.is_some();
        let mut finding = CheckFinding::of(&cases[*number], answer, passes.follow);
        let is_worth_another = !finding.is_refused()
            && (finding.verdict.is_failure() || finding.warning.is_some() || !asked[at]);
        if *settled || (is_worth_another && !last) {
            if asked[at] {
                before.insert(*number, CheckFinding { exchanges: Vec::new(), judged: None, ..finding });
            }
            return if passes.are_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        }
        *settled = true;
        if let Some(found) = before.remove(number).filter(|_| !asked[at]) {
            // It was requested before its host was given up, and failed for its own reason.
            finding = found;
        }
        failure = settle(*number, finding);
        if failure.is_err() || passes.are_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    failure?;
    // Cases that were not requested because their host was given up come first: the failure of the
    // others need not apply to them.
    let left = waiting.into_iter().zip(settled).zip(asked).filter(|((_, settled), _)| !settled);
    let (asked, spared): (Vec<_>, Vec<_>) = left.partition(|(_, asked)| *asked);
    Ok(spared.into_iter().chain(asked).map(|((waiting, _), _)| waiting).collect())
}
