//! Asking, and asking again: a failure counts only after it has failed in a pass of its own.
//!
//! What was not asked, because its host was given up or may not be asked, has no verdict but that: it is skipped.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use varve_core::exchange::Exchange;

use super::{CheckCase, CheckProgress, Judgement};
use crate::expectations::report::ContentComparison;
use crate::expectations::{ProbeFailure, ProbeRequest, ProbeResponse, Prober, Verdict};
use varve_fetch::FetchErrorKind;

/// Whether to stop is asked so often.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What was found of one case in the end.
#[derive(Debug)]
pub(crate) struct CheckFinding {
    /// Whether its promise is kept.
    pub(crate) verdict: Verdict,
    /// How the body compares with an earlier one.
    pub(crate) comparison: Option<ContentComparison>,
    /// The status of the last answer.
    pub(crate) status: Option<u16>,
    /// What was on the wire.
    pub(crate) exchanges: Vec<Exchange>,
    /// How long that took, where the web was asked.
    pub(crate) took: Option<Duration>,
    /// Why there is no answer, or none worth having.
    pub(crate) trouble: Option<ProbeFailure>,
}

impl CheckFinding {
    fn without_answer(verdict: Verdict) -> Self {
        Self { verdict, comparison: None, status: None, exchanges: Vec::new(), took: None, trouble: None }
    }

    fn of(case: &CheckCase<'_>, answer: ProbeResponse) -> Self {
        let Judgement { verdict, comparison } = match &answer.unasked {
            Some(why) => Judgement { verdict: Verdict::Skipped(why.clone()), comparison: None },
            None => case.promise.judge(&answer),
        };
        let ProbeResponse { observed, exchanges, took, failure: trouble, .. } = answer;
        Self { verdict, comparison, status: observed.status, exchanges, took, trouble }
    }

    /// Whether the guard kept it from being asked, as it always will.
    fn is_refused(&self) -> bool {
        self.trouble.as_ref().is_some_and(|trouble| trouble.kind == FetchErrorKind::Guard)
    }
}

/// How often is asked.
#[derive(Clone, Copy)]
pub(crate) struct RetryPasses<'a> {
    /// How many more passes there are for what failed.
    pub(crate) retries: u32,
    /// How long is waited before each of them.
    pub(crate) pause: Duration,
    /// Raised by whoever wants no more.
    pub(crate) stop: Option<&'a AtomicBool>,
}

impl RetryPasses<'_> {
    fn are_over(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Waits before another pass, unless nobody wants one.
    fn pause(&self) {
        let begun = Instant::now();
        while !self.are_over() && begun.elapsed() < self.pause {
            std::thread::sleep(STOP_POLL_INTERVAL.min(self.pause - begun.elapsed().min(self.pause)));
        }
    }
}

/// Asks all cases. `settle` is given each case's number once, with what was found in the end, in whatever order. Whoever
/// stops it gets what was found by then; what failed and was not asked again has no verdict.
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
        match case.promise.question() {
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
    /// Whether none comes after it.
    last: bool,
    /// What earlier passes found of cases that failed in them, without what was on the wire.
    before: &'a mut HashMap<usize, CheckFinding>,
}

/// Asks once; gives what must be asked again, or never was answered.
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
        asked[at] = answer.unasked.is_none();
        let mut finding = CheckFinding::of(&cases[*number], answer);
        let is_worth_another = !finding.is_refused() && (finding.verdict.is_failure() || !asked[at]);
        if *settled || (is_worth_another && !last) {
            if asked[at] {
                before.insert(*number, CheckFinding { exchanges: Vec::new(), ..finding });
            }
            return if passes.are_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        }
        *settled = true;
        if let Some(found) = before.remove(number).filter(|_| !asked[at]) {
            // It was asked before its host was given up, and has failed for a reason of its own.
            finding = found;
        }
        failure = settle(*number, finding);
        if failure.is_err() || passes.are_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    failure?;
    // Those that were never asked, because their host was given up, come first: what is wrong with the others need not be
    // wrong with them.
    let left = waiting.into_iter().zip(settled).zip(asked).filter(|((_, settled), _)| !settled);
    let (asked, spared): (Vec<_>, Vec<_>) = left.partition(|(_, asked)| *asked);
    Ok(spared.into_iter().chain(asked).map(|((waiting, _), _)| waiting).collect())
}
