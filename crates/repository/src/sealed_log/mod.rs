//! The log of versions: its files beside the silos, and whether versions, leaves, checkpoints,
//! timestamps and files match.
//!
//! Leaves, checkpoints and timestamps are facts in the silos. The folder `seal` is made from them and
//! can be made again, byte for byte. What a log is, without archives, is in `varve-tlog`; signing is in
//! the verb `seal`.

mod log_content;
mod log_files;
mod update_files;

pub use log_content::{LogContent, LogFinding, LogFindingKind, LogVersions};
pub use log_files::LogFiles;
pub use update_files::{find_wrong_files, rebuild_log_files, update_log_files};

use varve_tlog::LogError;

/// An entry of the log: the 32 bytes of a manifest digest. The manifest itself may be longer than an
/// entry can be, and may be removed.
pub fn log_entry(manifest: &varve_core::ManifestDigest) -> &[u8] {
    manifest.as_bytes()
}

/// The error of a log whose leaves have a gap.
fn gap_error(leaf: u64) -> LogError {
    LogError::Range(format!("leaf {leaf} of the log is missing"))
}
