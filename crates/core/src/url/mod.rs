//! When two URLs are the same: every rule by which varve reads, cleans, compares and orders URLs.
//!
//! There is no one right answer, so there is one file for each question, and none of them changes a URL behind
//! another's back:
//!
//! | question | file |
//! | --- | --- |
//! | what does this text say, byte for byte? | [`reference`](mod@reference) |
//! | the same page without tracking parameters | [`clean`](mod@clean) |
//! | what does a crawl ask for? | [`asked`](mod@asked) |
//! | which spellings are one page? | [`address`](mod@address), by [`tidy`](mod@tidy) |
//! | the number under which rows are found | [`key`](mod@key) |
//! | one text for all spellings | [`normalise`](mod@normalise) |
//! | where does a link on this page lead? | [`resolve`](mod@resolve) |
//! | what does the page call itself? | [`canonical`](mod@canonical) |
//! | under which texts may a Crystal project know it? | [`alternatives`](mod@alternatives) |
//! | where does it stand in a sorted index? | [`surt`] |
//! | where does the page lie in a working tree? | [`tree_path`](mod@tree_path) |
//! | all of these, step by step | [`explain`](mod@explain) |
//!
//! The `url` crate is used only where a browser's reading is wanted: elsewhere it does too much, since it
//! maps hosts, adds slashes and resolves dots, and a key made from what it prints would match no other program's.

pub mod address;
pub mod alternatives;
pub mod asked;
pub mod canonical;
pub mod clean;
mod error;
pub(crate) mod escape;
pub mod explain;
pub mod key;
pub mod normalise;
pub mod query;
pub mod reference;
pub mod resolve;
pub(crate) mod split;
pub mod surt;
pub mod tidy;
pub mod tree_path;

pub use address::address;
pub use alternatives::{Alternatives, SiteRules, alternatives};
pub use asked::asked;
pub use canonical::{Candidates, Canonical, CanonicalSource, canonical};
pub use clean::clean;
pub use error::{UrlError, UrlProblem};
pub use explain::{Explanation, Step, explain};
pub use key::{KeyReport, key};
pub use normalise::normalise;
pub use reference::Reference;
pub use resolve::{Base, ResolveError, resolve};
pub use tidy::tidy;
pub use tree_path::tree_path;
