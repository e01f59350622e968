//! Opens, reads and writes archives of every layout.
//!
//! Owns the paths of an archive, its settings and its lock, history readers and writers, and the
//! only conversion from records to catalog rows. It also owns working trees, and trees of files
//! stored as objects. It uses neither the network, the environment nor the clock: callers pass the
//! time in.

pub mod archive;
pub mod archive_paths;
pub mod archive_writer;
pub mod atomic_replace;
pub mod backends;
pub mod body_failure;
pub mod build_caches;
pub mod byte_size;
mod cache_folder;
pub mod content;
pub mod error;
mod head_file;
pub mod history;
pub mod layout;
pub mod media_type;
pub mod objects;
pub mod ordered_workers;
pub mod page_path;
pub mod pending_swap;
pub mod rows;
pub mod sealed_log;
pub mod search;
pub mod seen_files;
pub mod settings;
mod substitute_store;
pub mod tree;
pub mod tree_manifest_error;

pub use archive::Archive;
pub use archive_paths::ArchivePaths;
pub use archive_writer::{ArchiveWriter, Clock, WriterOptions};
pub use body_failure::{BodyFailure, BodyFailures, FailedPages};
pub use byte_size::{ByteSize, SizeError};
pub use error::RepositoryError;
pub use layout::{Layout, detect_layout, detect_own_layout, find_root};
pub use objects::Objects;
pub use settings::{ArchiveSettings, PackingMethod, SettingsError};
pub use substitute_store::SubstituteStore;
pub use varve_webarchive::{IndexPlace, OpenProgress, WebArchive, WebArchiveError};
