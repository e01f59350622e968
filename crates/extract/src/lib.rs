//! Reading a page: title, authors, date, main text, and main content as HTML and Markdown.
//!
//! A function from a body to a value. [`extract`] decodes a body once, parses it once, and passes
//! the tree to [`metadata`] and to the choice of main content. It knows no network, storage or
//! clock. It returns a page for every input: if the main content could not be read, the page has
//! the metadata that was found, and [`Extraction::failure`] says why.
//!
//! Every body is hostile. The tree is limited in bytes, nodes, depth and attributes
//! ([`varve_page::dom::TreeLimits`]); all that follows takes time and memory in proportion to the
//! tree, and nothing recurses.

mod content;
mod content_type;
mod document;
mod extraction;
pub mod feed;
pub mod metadata;
mod page_object;
pub mod training;

pub use content_type::ContentType;
pub use extraction::{ExtractError, ExtractOptions, Extraction, PageInput, extract};
pub use feed::{FeedError, FeedLimits, ParsedFeed, read_feed};
pub use page_object::ExtractedPage;
pub use varve_core::history::FetchMethod;
