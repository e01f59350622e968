//! What a name in a folder is: its kind, length, time and permissions.

use std::ffi::OsString;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Mode, Stat};

/// The kind of an entry. A symbolic link is a kind of its own: it is never followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    SymbolicLink,
    /// A named pipe.
    NamedPipe,
    /// A socket.
    Socket,
    /// A character or block device.
    Device,
    /// A kind that the system does not name.
    Unknown,
}

impl EntryKind {
    pub(super) fn from_type(file_type: FileType) -> Self {
        match file_type {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::SymbolicLink,
            FileType::Fifo => Self::NamedPipe,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice => Self::Device,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::File => "a regular file",
            Self::Folder => "a folder",
            Self::SymbolicLink => "a symbolic link",
            Self::NamedPipe => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Unknown => "of an unknown kind",
        })
    }
}

/// An entry in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderEntry {
    /// Its name in the listed folder.
    pub name: OsString,
    /// Its kind.
    pub kind: EntryKind,
}

/// The metadata of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryInfo {
    /// Its kind.
    pub kind: EntryKind,
    /// Its length in bytes.
    pub length: u64,
    /// The time of its last change of content; `UNIX_EPOCH` if it cannot be represented.
    pub modified: SystemTime,
    /// The permission bits of its mode.
    pub mode: u32,
}

impl EntryInfo {
    pub(super) fn from_stat(stat: &Stat) -> Self {
        let mode = Mode::from_raw_mode(stat.st_mode);
        Self {
            kind: EntryKind::from_type(FileType::from_raw_mode(stat.st_mode)),
            length: u64::try_from(stat.st_size).unwrap_or(0),
            modified: modified(stat).unwrap_or(UNIX_EPOCH),
            mode: (u64::from(mode.bits()) & 0o7777) as u32,
        }
    }

    /// Whether no one has write permission.
    pub fn is_read_only(&self) -> bool {
        self.mode & 0o222 == 0
    }
}

/// The modification time. The types of the fields differ between systems.
fn modified(stat: &Stat) -> Option<SystemTime> {
    let (seconds, nanoseconds) = (stat.st_mtime as i128, stat.st_mtime_nsec as i128);
    let nanoseconds = u32::try_from(nanoseconds).ok().filter(|count| *count < 1_000_000_000)?;
    let whole = Duration::from_secs(u64::try_from(seconds.unsigned_abs()).ok()?);
    let second = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    second?.checked_add(Duration::from_nanos(nanoseconds.into()))
}
