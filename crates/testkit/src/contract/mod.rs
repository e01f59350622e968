//! One contract suite per trait, run over every implementation.
//!
//! A suite states what callers may rely on. Each implementation's tests run it; tests of one
//! implementation alone are beside that implementation.

mod body_store;
pub mod catalog;
mod fetcher;
mod frontier;
mod head;
mod lock;
mod medium;
mod search_index;

pub use body_store::body_store;
pub use catalog::catalog;
pub use catalog::silos::silo_catalog;
pub use catalog::states::state_catalog;
pub use fetcher::fetcher;
pub use frontier::frontier;
pub use head::head;
pub use lock::lock;
pub use medium::medium;
pub use search_index::search_index;
