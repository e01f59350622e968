//! The seam to the live web: questions go out, answers come back in any order.

use std::ops::ControlFlow;
use std::time::Duration;

use varve_core::exchange::Exchange;
use varve_expect::{Expectation, Follow, Observed};
use varve_fetch::FetchErrorKind;

use crate::run_description::RunDescription;

/// One thing to ask the web.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeRequest {
    /// The URL.
    pub url: String,
    /// Whether redirects are followed.
    pub follow: Follow,
    /// Whether the content must be read to its end, and hashed.
    pub content: bool,
    /// How long the content is promised to be.
    pub length: Option<u64>,
}

impl ProbeRequest {
    /// What must be asked so that the answer can be held against `expectation`.
    pub fn about(expectation: &Expectation, url: String) -> Self {
        Self {
            url,
            follow: Follow::needed(expectation),
            content: expectation.is_static(),
            length: expectation.length,
        }
    }
}

/// Why a server could not be asked as it was meant, where whoever asks may do something about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeFailure {
    /// The sort of failure.
    pub kind: FetchErrorKind,
    /// What was asked for; redirects may have led there.
    pub url: String,
}

/// What came of a question.
#[derive(Clone, Debug, Default)]
pub struct ProbeResponse {
    /// What can be judged of it.
    pub observed: Observed,
    /// What was on the wire, redirects first, from whoever hands that over.
    pub exchanges: Vec<Exchange>,
    /// How long the web took for it, redirects included and waiting for a turn not; none when it was not asked.
    pub took: Option<Duration>,
    /// Why there is no answer, or none worth having.
    pub failure: Option<ProbeFailure>,
    /// Why it was not asked, or not to the end, if it was not: then nothing can be said of it.
    pub unasked: Option<String>,
}

impl From<Observed> for ProbeResponse {
    fn from(observed: Observed) -> Self {
        Self { observed, ..Self::default() }
    }
}

/// Is told the answers, each with the number of its question. Breaks when no more are wanted.
pub type OnAnswer<'a> = &'a mut dyn FnMut(usize, ProbeResponse) -> ControlFlow<()>;

/// Whoever can ask the web.
///
/// `probe` gives every question exactly one answer, by its number in the list, in whatever order they come, unless it is
/// told to break. A failure is an answer ([`Observed::failed`]): nothing that one server does may end the run. Lengths and
/// digests are those of the body with its codings removed.
pub trait Prober {
    /// Asks them all.
    fn probe(&self, questions: &[ProbeRequest], answer: OnAnswer<'_>);

    /// How politely it asks; none where nothing can be said of that.
    fn run_description(&self) -> Option<RunDescription> {
        None
    }

    /// Asks one.
    fn probe_one(&self, question: ProbeRequest) -> ProbeResponse {
        let mut found = None;
        self.probe(&[question], &mut |_, answer| {
            found = Some(answer);
            ControlFlow::Continue(())
        });
        found.unwrap_or_else(|| Observed::failed("the question was not answered").into())
    }
}
