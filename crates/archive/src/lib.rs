//! What varve does, verb by verb, for a program to call.
//!
//! Owns composition: which room is asked what, and in which order; and the layout of an archive on disk, with the
//! lock that makes its writer the only one. It holds few rules of its own; those of URLs are in `varve-core`, those of
//! silos and their index in `varve-store`. Deliberately it knows no terminal and reads neither the environment nor the
//! current folder nor the clock: whoever calls it says what it needs. It prints nothing, asks nothing and decides no
//! exit code. Findings are returned as data, failures as typed errors.

mod checking;
mod error;
pub mod expectations;
pub mod verbs;

pub use error::ArchiveError;
pub use varve_catalog::CatalogError;
pub use varve_core::body::BodyError;
pub use varve_core::fact::Tombstone;
pub use varve_core::headers::Headers;
pub use varve_core::history::{Capture, CaptureChoice, Version, VersionTag};
pub use varve_core::id::IdError;
pub use varve_core::receipt::Renderings;
pub use varve_core::{BodyId, Moment, RecordId, VersionId};
pub use varve_crawl::CrawlError;
pub use varve_plan::{EditError, PlanError, Problem};
pub use varve_repository::byte_size::human_size;
pub use varve_repository::page_path::page_path;
pub use varve_repository::rows::{MissingPageList, UnreadableFact};
pub use varve_repository::settings::FORMAT_NUMBER;
pub use varve_repository::{
    Archive, ArchivePaths, ArchiveSettings, ArchiveWriter, BodyFailure, BodyFailures, ByteSize, Clock,
    FailedPages, Objects, PackingMethod, RepositoryError, SettingsError, SizeError, WriterOptions, find_root,
    history, tree,
};
pub use varve_store::aardwarc::{AardwarcError, AardwarcStore};
pub use varve_store::index::IndexError;
pub use varve_store::lock::LockError;
pub use varve_store::{StoreError, StoreRecovery};
pub use varve_warc::date::Date;
pub use varve_warc::write::RecordPackError;
