//! Opens a name below a folder without following a link on the way.
//!
//! Linux resolves a whole name in one system call, `openat2`. Where that is missing or forbidden,
//! and on other systems, the name is walked one component at a time, each opened with `O_NOFOLLOW`
//! relative to the one before. Both refuse the same names; a link that is swapped in between two
//! components is refused as well, because a component is opened and never looked up again.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::{Errno, Result};

/// Flags of every open: a name that is a link or a terminal has no effect, and nothing waits.
pub(super) const SAFE_FLAGS: OFlags =
    OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Flags to open a folder that is only a starting point for other names. Linux needs no permission
/// to list it.
#[cfg(target_os = "linux")]
pub(super) const PASSAGE_FLAGS: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Flags to open a folder that is only a starting point for other names.
#[cfg(not(target_os = "linux"))]
pub(super) const PASSAGE_FLAGS: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How names are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameResolution {
    /// By the kernel where it can, else by walking.
    Kernel,
    /// By walking, always.
    #[cfg(test)]
    Walk,
}

/// A folder that contains the last component of a name.
pub(super) enum ParentFolder<'a> {
    /// The folder itself.
    Same(BorrowedFd<'a>),
    /// A folder below it.
    Below(OwnedFd),
}

impl AsFd for ParentFolder<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Same(folder) => *folder,
            Self::Below(folder) => folder.as_fd(),
        }
    }
}

/// Whether a name consists of ordinary components only. The empty name is the folder itself.
pub(super) fn is_below(name: &Path) -> bool {
    name.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Opens a name that [`is_below`], which must not be empty.
pub(super) fn open_beneath(
    folder: BorrowedFd<'_>,
    name: &Path,
    flags: OFlags,
    mode: Mode,
    resolution: NameResolution,
) -> Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    if resolution == NameResolution::Kernel {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(folder, name, flags, mode, resolve) {
            // Old kernels, sandboxes that forbid the call, and renames during the resolution.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
            opened => return opened,
        }
    }
    let _ = resolution;
    let (parent, last) = walk_to_parent(folder, name)?;
    openat(&parent, last, flags, mode)
}

/// The folder that contains the last component of a name, and that component.
pub(super) fn open_parent<'a, 'n>(
    folder: BorrowedFd<'a>,
    name: &'n Path,
    resolution: NameResolution,
) -> Result<(ParentFolder<'a>, &'n OsStr)> {
    let last = name.file_name().ok_or(Errno::INVAL)?;
    match name.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        None => Ok((ParentFolder::Same(folder), last)),
        Some(parent) => {
            let opened = open_beneath(folder, parent, PASSAGE_FLAGS, Mode::empty(), resolution)?;
            Ok((ParentFolder::Below(opened), last))
        }
    }
}

/// Opens the folders of a name one after the other, up to its last component.
fn walk_to_parent<'a, 'n>(folder: BorrowedFd<'a>, name: &'n Path) -> Result<(ParentFolder<'a>, &'n OsStr)> {
    let mut parts = name.components().map(Component::as_os_str).peekable();
    let mut at = ParentFolder::Same(folder);
    loop {
        let part = parts.next().ok_or(Errno::INVAL)?;
        if parts.peek().is_none() {
            return Ok((at, part));
        }
        at = ParentFolder::Below(openat(&at, part, PASSAGE_FLAGS, Mode::empty())?);
    }
}
