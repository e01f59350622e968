//! Hooks before every change on disk, for tests that kill the process at each of them.
//!
//! Code that changes the disk calls [`step`] first. With the feature `steps`, a watcher is called
//! at each step and may kill the process. Without the feature the call compiles to nothing.

use std::path::Path;

#[cfg(feature = "steps")]
mod watched {
    use std::path::Path;
    use std::sync::OnceLock;

    pub(super) type Watcher = Box<dyn Fn(&'static str, &Path) + Send + Sync>;
    pub(super) static WATCHER: OnceLock<Watcher> = OnceLock::new();
}

/// Installs the watcher of this process. A second call has no effect.
#[cfg(feature = "steps")]
pub fn watch(watcher: impl Fn(&'static str, &Path) + Send + Sync + 'static) {
    let _ = watched::WATCHER.set(Box::new(watcher));
}

/// Announces a change on disk.
#[inline(always)]
pub fn step(what: &'static str, path: &Path) {
    #[cfg(feature = "steps")]
    if let Some(watcher) = watched::WATCHER.get() {
        watcher(what, path);
    }
    #[cfg(not(feature = "steps"))]
    let _ = (what, path);
}

/// The length of the first part of a write that tests tear in two; 0 without a watcher.
#[inline(always)]
pub(crate) fn torn_write_length(length: usize) -> usize {
    #[cfg(feature = "steps")]
    if watched::WATCHER.get().is_some() {
        return length / 2;
    }
    let _ = length;
    0
}
