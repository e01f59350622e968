//! A temporary folder in memory, for tests that sync files thousands of times.
//!
//! A killed process loses nothing that it wrote to the file system, synced or not. So a file system
//! in memory shows the same as a disk, and nobody waits for syncs.

use std::path::Path;

/// Where Linux has a file system in memory.
const MEMORY_FILE_SYSTEM: &str = "/dev/shm";
/// The space that must be free there.
const MIN_FREE_BYTES: u64 = 1 << 30;

/// A folder in memory, or an ordinary temporary one if there is no file system for it with space.
///
/// # Panics
///
/// Panics when no folder can be made.
pub fn memory_folder() -> tempfile::TempDir {
    let memory = Path::new(MEMORY_FILE_SYSTEM);
    let has_space = rustix::fs::statvfs(memory)
        .is_ok_and(|found| found.f_bavail.saturating_mul(found.f_frsize) >= MIN_FREE_BYTES);
    let in_memory = has_space.then(|| tempfile::tempdir_in(memory).ok()).flatten();
    in_memory.unwrap_or_else(|| tempfile::tempdir().expect("a temporary folder can be made"))
}
