//! `export`: writes what an archive has in the formats of other programs.
//!
//! A file appears under its name complete or not at all. The exports of Crystal projects are in
//! `verbs::crystal`.

pub mod cdx;
mod output;
mod page_resources;
mod selection;
pub mod wacz;
pub mod warc;

pub use output::ExportTarget;
pub use selection::{ExportPages, ExportScope, ExportSelection};
