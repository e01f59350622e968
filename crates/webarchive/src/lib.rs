//! WARC, ARC and WACZ files, and folders of them, as one read-only history.
//!
//! Owns what a foreign archive means: which files belong to it, which records are captures, which
//! versions they form, and which record a revisit repeats. [`WebArchive::open`] reads all files once
//! and keeps what it found in an index in a folder that the caller names; the next opening compares
//! the files with the index and reads none of them. Nothing is written beside the files.
//!
//! The rows of captures and versions go to a [`Catalog`](varve_core::catalog::Catalog) that the
//! caller makes in the folder of the index, so everything that reads a catalog reads a foreign
//! archive. This crate keeps only the places of records. It knows no verb and no other layout.
//!
//! Files come from strangers and may be damaged: every readable record counts, and the rest is an
//! [`ArchiveFinding`] with its file and offset. Memory does not grow with the files.

mod catalog_rows;
mod error;
mod file_state;
mod finding;
mod index_folder;
mod record_files;
mod record_places;
mod response;
mod revisits;
mod scan_records;
mod staging;
mod version_key;
mod web_archive;

pub use error::WebArchiveError;
pub use finding::ArchiveFinding;
pub use index_folder::{CatalogMaker, CreateCatalog};
pub use record_files::{RecordFile, is_web_archive};
pub use response::RecordLocation;
pub use web_archive::{IndexPlace, OpenProgress, WebArchive};
