//! The seam to the live web: questions go out, answers come back in any order.

use varve_core::expectation::{Expectation, Follow, Observed};

/// One thing to ask the web.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The URL.
    pub url: String,
    /// Whether redirects are followed.
    pub follow: Follow,
    /// Whether the content must be read to its end, and hashed.
    pub content: bool,
}

impl Question {
    /// What must be asked so that the answer can be held against `expectation`.
    pub fn about(expectation: &Expectation, url: String) -> Self {
        Self { url, follow: Follow::needed(expectation), content: expectation.is_static() }
    }
}

/// Whoever can ask the web.
///
/// `probe` gives every question exactly one answer, by its number in the list, in whatever order they come. A failure is
/// an answer ([`Observed::failed`]): nothing that one server does may end the run. Lengths and digests are those of the
/// body with its codings removed.
pub trait Prober {
    /// Asks them all.
    fn probe(&self, questions: &[Question], answer: &mut dyn FnMut(usize, Observed));

    /// Asks one.
    fn probe_one(&self, question: Question) -> Observed {
        let mut found = None;
        self.probe(&[question], &mut |_, observed| found = Some(observed));
        found.unwrap_or_else(|| Observed::failed("the question was not answered"))
    }
}
