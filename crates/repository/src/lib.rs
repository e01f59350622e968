//! Opens, reads and writes archives of every layout.
//!
//! Owns where the parts of an archive lie, its settings and its lock, history readers and writers, the one
//! function that makes catalog rows from records, working trees, and trees of files kept as objects. It reads
//! neither the network, the environment nor the clock: callers pass the time in.

pub mod archive;
pub mod body_trouble;
pub mod content;
pub mod error;
pub mod history;
pub mod in_order;
pub mod layout;
pub mod media_type;
pub mod objects;
pub mod page_path;
pub mod rows;
pub mod seen_files;
pub mod settings;
pub mod size;
pub mod tree;
pub mod unsettled;
pub mod writer;

pub use archive::Archive;
pub use body_trouble::{BodyTrouble, TroubledPages, Troubles};
pub use error::RepositoryError;
pub use layout::{Layout, find_root};
pub use objects::Objects;
pub use settings::{ArchiveSettings, PackingMethod, SettingsError};
pub use size::{Size, SizeError};
pub use writer::{ArchiveWriter, Clock, Opening};
