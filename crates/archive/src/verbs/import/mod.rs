//! `import`: copies what other programs wrote into the archive.
//!
//! [`aardwarc`] copies the objects of an AardWARC store; [`web_archive`] makes versions of WARC and
//! ARC files. A Crystal project is imported by `verbs::crystal::import`, because it shares its code
//! with the export.
//!
//! An import can be repeated: every record has an id that follows from its content, so an import
//! that was interrupted continues, and a finished one adds nothing.

pub mod aardwarc;
mod find_files;
mod imported_version;
mod originals;
mod pending_exchange;
mod record_block;
mod report;
mod source_file;
mod warc_records;
pub mod web_archive;

pub use find_files::files_at;
pub use report::{FileImported, ImportFinding};
