//! Steps: the places between which a process may end, for tests that end it there.
//!
//! Whoever changes something on the disk says so first. Compiled with the feature `steps`, a watcher hears of each step and
//! may kill the process before it; without the feature there is no watcher, no counter and no call.

use std::path::Path;

#[cfg(feature = "steps")]
mod watched {
    use std::path::Path;
    use std::sync::OnceLock;

    pub(super) type Watcher = Box<dyn Fn(&'static str, &Path) + Send + Sync>;
    pub(super) static WATCHER: OnceLock<Watcher> = OnceLock::new();
}

/// Lets a watcher hear of every step of this process from now on; the first one stays.
#[cfg(feature = "steps")]
pub fn watch(watcher: impl Fn(&'static str, &Path) + Send + Sync + 'static) {
    let _ = watched::WATCHER.set(Box::new(watcher));
}

/// Something is about to change on the disk.
#[inline(always)]
pub fn step(what: &'static str, path: &Path) {
    #[cfg(feature = "steps")]
    if let Some(watcher) = watched::WATCHER.get() {
        watcher(what, path);
    }
    #[cfg(not(feature = "steps"))]
    let _ = (what, path);
}

/// After how many of so many bytes a write may be torn; 0 where nobody watches.
#[inline(always)]
pub(crate) fn torn(length: usize) -> usize {
    #[cfg(feature = "steps")]
    if watched::WATCHER.get().is_some() {
        return length / 2;
    }
    let _ = length;
    0
}
