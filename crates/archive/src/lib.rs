//! What varve does, verb by verb, for a program to call.
//!
//! Owns composition: which room is asked what, and in which order; and the layout of an archive on disk, with the
//! lock that makes its writer the only one. It holds few rules of its own; those of URLs are in `varve-core`, those of
//! silos and their index in `varve-store`. Deliberately it knows no terminal and reads neither the environment nor the
//! current folder nor the clock: whoever calls it says what it needs. It prints nothing, asks nothing and decides no
//! exit code. Findings are returned as data, failures as typed errors.

mod archive;
mod body_trouble;
mod checking;
mod content;
pub mod crawl;
mod error;
pub mod expectations;
pub mod history;
mod in_order;
mod layout;
mod media_type;
mod network_options;
mod objects;
mod page_path;
mod probe;
mod rows;
mod run_description;
mod seen_files;
mod settings;
mod size;
pub mod tree;
mod unsettled;
pub mod verbs;
mod wire_exchange;
mod writer;

pub use archive::Archive;
pub use body_trouble::{BodyTrouble, TroubledPages, Troubles};
pub use error::ArchiveError;
pub use layout::{Layout, find_root};
pub use objects::Objects;
pub use page_path::page_path;
pub use rows::{LostList, OddFact};
pub use settings::{ArchiveSettings, FORMAT, PackingMethod, SettingsError};
pub use size::{Size, SizeError, readable};
pub use varve_catalog::CatalogError;
pub use varve_core::body::BodyError;
pub use varve_core::fact::Tombstone;
pub use varve_core::headers::Headers;
pub use varve_core::history::{Capture, Choice, Tag, Version};
pub use varve_core::id::IdError;
pub use varve_core::receipt::Renderings;
pub use varve_core::{BodyId, Moment, RecordId, VersionId};
pub use varve_plan::{EditError, PlanError, Problem};
pub use varve_store::aardwarc::{AardwarcError, AardwarcStore};
pub use varve_store::index::IndexError;
pub use varve_store::lock::LockError;
pub use varve_store::{StoreError, StoreRecovery};
pub use varve_warc::date::Date;
pub use varve_warc::write::PackError;
pub use writer::{ArchiveWriter, Clock, Opening};
