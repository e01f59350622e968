//! The search index of a layout: what is in it, and where it is.
//!
//! Owns the way from captures to texts, and from texts to the rows of the index. Queries are in
//! `varve-archive`, and what a word or a hit is in `varve-search`.
//!
//! The index is a cache of the catalog and the bodies. A capture writes it last, after silos, index,
//! catalog and HEAD, so it may be behind, and a reader or the next writer adds what is missing. The
//! only cursor is the set of versions whose pages it has.

mod built_index;
mod declared_urls;
mod dump_index;
mod kept_index;
mod open_index;
mod page_parts;
mod page_text;
mod update_index;

pub use built_index::BuiltIndex;
pub use dump_index::dump_search_index;
pub use open_index::{
    IndexGap, IndexGapCause, OpenedIndex, index_new_versions, open_search_index, rebuild_search_index,
};
pub use page_parts::{page_key, texts_of_records};
pub use page_text::page_text;
pub use update_index::{IndexUpdate, build_index, missing_versions, update_index};
