//! The verbs of varve, as a library for programs to call.
//!
//! This crate composes the crates below it, and decides which of them is called in which order. It
//! has few rules of its own: those of URLs are in `varve-core`, those of silos and their index in
//! `varve-store`. The layout of an archive on disk and the lock of its single writer are in
//! `varve-repository`.
//!
//! It deliberately uses no terminal and reads neither the environment, nor the current folder, nor
//! the clock: the caller passes what it needs. It prints nothing, prompts for nothing and decides
//! no exit code. Findings are returned as data, failures as typed errors.

mod checking;
mod error;
pub mod expectations;
mod json_text;
pub mod pages;
mod recording;
mod site_files;
mod text;
mod unfinished_folder;
pub mod verbs;

pub use error::ArchiveError;
pub use json_text::{MAX_EXACT_INTEGER, json_text};
pub use text::{grouped, visible, visible_line};
pub use varve_catalog::CatalogError;
pub use varve_core::body::BodyError;
pub use varve_core::fact::{Tombstone, TombstoneKind};
pub use varve_core::headers::Headers;
pub use varve_core::history::{
    Capture, CaptureChoice, CaptureOwner, Coverage, CoverageScope, VerdictKind, Version, VersionTag,
};
pub use varve_core::id::IdError;
pub use varve_core::receipt::Renderings;
pub use varve_core::{BodyId, CheckId, Moment, RecordId, VersionId};
pub use varve_crawl::CrawlError;
pub use varve_file::{EntryKind, FolderError, RootedFiles};
pub use varve_plan::{EditError, PlanError, Problem};
pub use varve_repository::build_caches::{needs_other_caches, with_built_caches};
pub use varve_repository::byte_size::human_size;
pub use varve_repository::error::UnreadableFact;
pub use varve_repository::page_path::page_path;
pub use varve_repository::rows::MissingChanges;
pub use varve_repository::settings::FORMAT_NUMBER;
pub use varve_repository::{
    Archive, ArchivePaths, ArchiveSettings, ArchiveWriter, BodyFailure, BodyFailures, ByteSize, Clock,
    FailedPages, IndexPlace, Layout, Objects, OpenProgress, PackingMethod, RepositoryError, SettingsError,
    SizeError, SubstituteStore, WebArchiveError, WriterOptions, detect_layout, detect_own_layout, find_root,
    history, tree,
};
pub use varve_store::aardwarc::{AardwarcError, AardwarcStore};
pub use varve_store::index::IndexError;
pub use varve_store::lock::LockError;
pub use varve_store::{StoreError, StoreRecovery};
pub use varve_warc::date::Date;
pub use varve_warc::write::RecordPackError;
