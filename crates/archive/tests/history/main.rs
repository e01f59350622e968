//! History over both layouts: commits, branches, tags, working trees, and a catalog that is only a cache.

mod behind;
mod importing;
mod io_counts;
mod layouts;
mod losing;
mod moku_beside;
mod packing;
mod pairing;
mod purge;
mod purge_beside;
mod purge_holders;
mod purge_pages;
mod purge_runs;
mod rebuilding;
mod retention;
mod scene;
mod scoring;
mod sealing;
mod searching;
mod seen_files;
mod site_files;
mod sites;
mod states;
mod trees;
