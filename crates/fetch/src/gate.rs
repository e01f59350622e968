//! Who is asked before a page gets what it asks for: a seam, because what may be asked, when, and what is known already is
//! not the browser's to know.

use varve_core::exchange::Exchange;

use crate::fetcher::Pending;

/// What a page wants to ask.
#[derive(Clone, Debug)]
pub struct Question {
    /// The URL.
    pub url: String,
    /// The method.
    pub method: String,
    /// Whether it is for the page itself, which is always asked for.
    pub is_page: bool,
    /// Whether any answer to a `GET` of the URL will do: nothing in the request is of its own.
    pub is_plain: bool,
}

/// What a page may do.
pub enum Admitted {
    /// Ask, now.
    Ask(Box<dyn Turn>),
    /// It need not: this was the answer.
    Recalled(Box<Exchange>),
}

/// Held while a request is under way; dropping it says that it has ended.
pub trait Turn: Send {
    /// An answer came.
    fn answered(self: Box<Self>, exchange: &Exchange);
}

/// Decides about every request that a page makes, the one for the page itself included.
pub trait Gate: Send + Sync {
    /// Waits until something may be asked. An error is the name of the rule by which it may not.
    fn admit(&self, question: Question) -> Pending<'_, Result<Admitted, String>>;
}
