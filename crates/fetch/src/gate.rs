//! Who is asked before a page gets what it asks for: a seam, because what may be asked and when is not the browser's to know.

use crate::fetcher::Pending;

/// Held while a request is under way; dropping it says that it has ended.
pub type Turn = Box<dyn Send>;

/// Decides about every request that a page makes, the one for the page itself included.
pub trait Gate: Send + Sync {
    /// Waits until the URL may be asked for. An error is the name of the rule by which it may not.
    fn admit(&self, url: String) -> Pending<'_, Result<Turn, String>>;
}
