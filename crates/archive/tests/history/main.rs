//! History over both layouts: commits, branches, tags, working trees, and a catalog that is only a cache.

mod behind;
mod io_counts;
mod layouts;
mod lists;
mod losing;
mod moku_beside;
mod packing;
mod pairing;
mod rebuilding;
mod retention;
mod rewriting;
mod rewriting_beside;
mod rewriting_holders;
mod rewriting_pages;
mod scene;
mod scoring;
mod seen_files;
mod sites;
mod trees;
