//! The rules by which varve parses, cleans, compares and orders URLs.
//!
//! Equality of URLs depends on the purpose. So there is one file for each question, and none of
//! them depends on hidden changes by another:
//!
//! | question | file |
//! | --- | --- |
//! | what does this text say, byte for byte? | [`reference`](mod@reference) |
//! | the same page without tracking parameters | [`clean`](mod@clean) |
//! | what does a client send? | [`request_url`](mod@request_url) |
//! | which spellings are one page? | [`page_url`], by [`sort_query`](mod@sort_query) |
//! | the number under which rows are found | [`lookup_key`] |
//! | one text for all spellings | [`normalise`](mod@normalise) |
//! | where does a link on this page lead? | [`resolve`](mod@resolve) |
//! | what does the page call itself? | [`declared_canonical`] |
//! | where does it stand in a sorted index? | [`surt`] |
//! | which captured URL answers a request of a script? | [`fuzzy`] |
//! | where does the page lie in a working tree? | [`tree_path`](mod@tree_path) |
//! | all of these, step by step | [`explain`](mod@explain) |
//!
//! The `url` crate is used only where the behaviour of browsers is required. Elsewhere it changes
//! too much: it maps hosts, adds slashes and resolves dots. A key made from its output would differ
//! from the keys of other programs.

pub mod clean;
pub mod declared_canonical;
mod error;
pub mod escape;
pub mod explain;
pub mod fuzzy;
pub mod lookup_key;
pub mod normalise;
pub mod page_url;
pub mod query;
pub mod reference;
pub mod request_url;
pub mod resolve;
pub mod sort_query;
pub mod split;
pub mod surt;
pub mod tree_path;
mod web_url;

pub use clean::clean;
pub use declared_canonical::{Candidates, Canonical, CanonicalSource, canonical};
pub use error::{UrlError, UrlProblem};
pub use explain::{ExplainStep, Explanation, explain};
pub use fuzzy::{FuzzyMatch, FuzzyRule, fuzzy_match};
pub use lookup_key::{KeyReport, key};
pub use normalise::normalise;
pub use page_url::{PageUrl, page_identity};
pub use reference::Reference;
pub use request_url::{RequestUrl, request_url};
pub use resolve::{Base, ResolveError, resolve};
pub use sort_query::sort_query;
pub use tree_path::tree_path;
pub use web_url::WebUrl;
