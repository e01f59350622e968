//! A folder whose content may be hostile: every name is reached without following a link.
//!
//! A layout may have been made by someone else. A link in it could lead a writing verb to a file of
//! the user elsewhere, and a named pipe could make a reading verb wait for ever. So everything in a
//! layout is reached through a [`Folder`], a handle of the folder that the user named. That folder
//! itself may be reached through links; below it
//!
//! - names are relative and have no `..`;
//! - no component of a name is followed if it is a symbolic link, at the moment of the system call;
//! - only regular files are opened, and opening never waits;
//! - permissions are changed on open files and never by name.
//!
//! A folder or mount below may be on another file system. Hard links are regular files: a file that
//! has another name outside is not recognised, as nobody else can make one to a file that is not
//! theirs.
//!
//! Advisory locks are those of [`File::try_lock`] on a file from [`Folder::open_or_create`].
//!
//! This module does not know which names a layout has, or what is in its files.

mod beneath;
mod entry;
mod error;
mod listing;
mod pending_file;
mod remove_tree;

#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, Mode, OFlags, RawMode, Timespec, Timestamps, UTIME_OMIT, fchmod, fstat, futimens, linkat,
    mkdirat, openat, readlinkat, renameat, statat, symlinkat, unlinkat, utimensat,
};
use rustix::io::Errno;

use beneath::{NameResolution, PASSAGE_FLAGS, ParentFolder, SAFE_FLAGS, is_below, open_beneath, open_parent};

pub use entry::{EntryInfo, EntryKind, FolderEntry};
pub use error::{ExpectedKind, FolderError};
pub use listing::FolderListing;
pub use pending_file::PendingFile;

/// The mode of new files before the umask.
const NEW_FILE_MODE: Mode = Mode::from_raw_mode(0o666);
/// The mode of new folders before the umask.
const NEW_FOLDER_MODE: Mode = Mode::from_raw_mode(0o777);

/// An open folder. See the module documentation for what it guarantees.
///
/// Names are relative to it; the empty name is the folder itself where a folder is expected. The
/// handle keeps referring to the same folder if that is renamed. Clones share the handle.
#[derive(Clone, Debug)]
pub struct Folder {
    handle: Arc<OwnedFd>,
    /// For messages, and for libraries that insist on a path.
    path: PathBuf,
    resolution: NameResolution,
}

impl Folder {
    /// Opens the folder that a user named. Links on the way to it are followed.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let named = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(named, flags, Mode::empty())
            .map_err(|error| folder_error("open folder", path, error))?;
        let path = path.to_owned();
        Ok(Self { handle: Arc::new(handle), path, resolution: NameResolution::Kernel })
    }

    /// The path that the user named, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a folder below. The name is resolved now; later renames do not affect the handle.
    pub fn subfolder(&self, name: impl AsRef<Path>) -> Result<Self, FolderError> {
        let name = self.checked_name(name.as_ref())?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | SAFE_FLAGS;
        let handle = match name.as_os_str().is_empty() {
            true => openat(self.handle(), ".", flags, Mode::empty()),
            false => open_beneath(self.handle(), name, flags, Mode::empty(), self.resolution),
        };
        let handle =
            handle.map_err(|error| self.explain("open folder", name, ExpectedKind::Folder, error))?;
        Ok(Self { handle: Arc::new(handle), path: self.full_path(name), resolution: self.resolution })
    }

    /// Opens a regular file for reading.
    pub fn open_to_read(&self, name: impl AsRef<Path>) -> Result<File, FolderError> {
        self.open_file(name.as_ref(), OFlags::RDONLY)
    }

    /// Opens an existing regular file for reading and writing, keeping its bytes.
    pub fn open_to_write(&self, name: impl AsRef<Path>) -> Result<File, FolderError> {
        self.open_file(name.as_ref(), OFlags::RDWR)
    }

    /// Opens a regular file for reading and writing, keeping its bytes, or creates it.
    pub fn open_or_create(&self, name: impl AsRef<Path>) -> Result<File, FolderError> {
        self.open_file(name.as_ref(), OFlags::RDWR | OFlags::CREATE)
    }

    /// Creates a file for reading and writing. Fails with `AlreadyExists` when the name is taken, also
    /// by a link.
    pub fn create_new(&self, name: impl AsRef<Path>) -> Result<File, FolderError> {
        self.open_file(name.as_ref(), OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
    }

    /// Reads a whole file of at most `limit` bytes.
    pub fn read(&self, name: impl AsRef<Path>, limit: u64) -> Result<Vec<u8>, FolderError> {
        let name = name.as_ref();
        let file = self.open_to_read(name)?;
        let failed = |source| FolderError::Io { operation: "read", path: self.full_path(name), source };
        if file.metadata().map_err(failed)?.len() > limit {
            return Err(FolderError::TooLarge { path: self.full_path(name), limit });
        }
        let mut bytes = Vec::new();
        // The length is not trusted: the file may grow.
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        match bytes.len() as u64 > limit {
            true => Err(FolderError::TooLarge { path: self.full_path(name), limit }),
            false => Ok(bytes),
        }
    }

    /// A new file for reading and writing that has no name and never gets one.
    pub fn unnamed_file(&self) -> Result<File, FolderError> {
        pending_file::create_unnamed(self)
    }

    /// Creates a folder with a name that begins with `prefix`, and returns its name. Only its owner can
    /// access it.
    pub fn create_folder_with_prefix(&self, prefix: &str) -> Result<OsString, FolderError> {
        let create = |name: &OsStr| {
            mkdirat(self.handle(), name, Mode::RWXU)
                .map_err(|error| folder_error("create folder", &self.path.join(name), error))
        };
        Ok(pending_file::with_random_name(self, prefix, create)?.0)
    }

    /// A new file that gets the name when it is published, complete.
    pub fn pending_file(&self, name: impl AsRef<Path>) -> Result<PendingFile, FolderError> {
        let name = self.checked_name(name.as_ref())?;
        let last = name.file_name().ok_or_else(|| self.outside(name))?;
        PendingFile::new(self.subfolder(name.parent().unwrap_or(Path::new("")))?, last)
    }

    /// Replaces a regular file, or creates it, durably: at every instant there is the old file or
    /// the new one, complete. Its permissions stay.
    pub fn replace(&self, name: impl AsRef<Path>, content: &[u8]) -> Result<(), FolderError> {
        self.replace_with(name, |file| file.write_all(content))
    }

    /// Like [`replace`](Self::replace), with what `write` writes. If it fails, the old file stays.
    pub fn replace_with(
        &self,
        name: impl AsRef<Path>,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FolderError> {
        let name = name.as_ref();
        let mut file = self.pending_file(name)?;
        let failed = |source| FolderError::Io { operation: "write", path: self.full_path(name), source };
        if let Some(old) = self.entry(name)? {
            let permissions = Permissions::from_mode(old.mode);
            if old.kind == EntryKind::File {
                file.as_file().set_permissions(permissions).map_err(failed)?;
            }
        }
        let mut buffered = BufWriter::new(&mut file);
        write(&mut buffered).and_then(|()| buffered.flush()).map_err(failed)?;
        drop(buffered);
        file.as_file().sync_all().map_err(failed)?;
        file.publish()?;
        self.sync(name.parent().unwrap_or(Path::new("")))
    }

    /// The metadata of an entry, which is not followed if it is a link; `None` when it does not exist.
    pub fn entry(&self, name: impl AsRef<Path>) -> Result<Option<EntryInfo>, FolderError> {
        let name = self.checked_name(name.as_ref())?;
        let found = match name.as_os_str().is_empty() {
            true => fstat(self.handle()),
            false => self
                .parent_of(name)
                .and_then(|(parent, last)| statat(parent, last, AtFlags::SYMLINK_NOFOLLOW)),
        };
        match found {
            Ok(stat) => Ok(Some(EntryInfo::from_stat(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(self.explain("examine", name, ExpectedKind::Folder, error)),
        }
    }

    /// The entries of a folder, by name.
    pub fn list(&self, name: impl AsRef<Path>) -> Result<Vec<FolderEntry>, FolderError> {
        let mut entries = self.entries(name)?.collect::<Result<Vec<_>, _>>()?;
        entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }

    /// The entries of a folder of any size, in no order, as the system lists them.
    pub fn entries(&self, name: impl AsRef<Path>) -> Result<FolderListing, FolderError> {
        FolderListing::new(self.subfolder(name)?)
    }

    /// Creates a folder. Fails with `AlreadyExists` when the name is taken, also by a link.
    pub fn create_folder(&self, name: impl AsRef<Path>) -> Result<(), FolderError> {
        let name = self.checked_name(name.as_ref())?;
        self.parent_of(name)
            .and_then(|(parent, last)| mkdirat(parent, last, NEW_FOLDER_MODE))
            .map_err(|error| self.explain("create folder", name, ExpectedKind::Folder, error))
    }

    /// Creates a folder that only its owner can access. Fails with `AlreadyExists` when the name is
    /// taken, also by a link.
    pub fn create_private_folder(&self, name: impl AsRef<Path>) -> Result<(), FolderError> {
        let name = self.checked_name(name.as_ref())?;
        self.parent_of(name)
            .and_then(|(parent, last)| mkdirat(parent, last, Mode::RWXU))
            .map_err(|error| self.explain("create folder", name, ExpectedKind::Folder, error))
    }

    /// Creates a file for writing that only its owner can access. Fails with `AlreadyExists` when the
    /// name is taken, also by a link.
    pub fn create_private_file(&self, name: impl AsRef<Path>) -> Result<File, FolderError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        self.open_file_with_mode(name.as_ref(), flags, Mode::RUSR | Mode::WUSR)
    }

    /// Sets the modification time of an entry, which is not followed if it is a link.
    pub fn set_modified(&self, name: impl AsRef<Path>, modified: Timespec) -> Result<(), FolderError> {
        let name = self.checked_name(name.as_ref())?;
        let unchanged = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        let times = Timestamps { last_access: unchanged, last_modification: modified };
        let changed = match name.as_os_str().is_empty() {
            true => futimens(self.handle(), &times),
            false => self
                .parent_of(name)
                .and_then(|(parent, last)| utimensat(parent, last, &times, AtFlags::SYMLINK_NOFOLLOW)),
        };
        changed.map_err(|error| self.explain("set the time of", name, ExpectedKind::NotFolder, error))
    }

    /// Sets the permissions of this folder.
    pub fn set_permissions(&self, mode: u32) -> Result<(), FolderError> {
        fchmod(self.handle(), Mode::from_raw_mode(mode as RawMode))
            .map_err(|error| folder_error("set the permissions of", &self.path, error))
    }

    /// Creates a folder and those above it, and opens it. Succeeds when it exists.
    pub fn make_folders(&self, name: impl AsRef<Path>) -> Result<Self, FolderError> {
        let name = self.checked_name(name.as_ref())?;
        let mut at = ParentFolder::Same(self.handle());
        for part in name.components().map(Component::as_os_str) {
            let made = match mkdirat(&at, part, NEW_FOLDER_MODE) {
                Err(Errno::EXIST) => Ok(()),
                made => made,
            };
            let opened = made.and_then(|()| openat(&at, part, PASSAGE_FLAGS, Mode::empty()));
            let opened =
                opened.map_err(|error| self.explain("make folder", name, ExpectedKind::Folder, error))?;
            at = ParentFolder::Below(opened);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | SAFE_FLAGS;
        let handle = openat(&at, ".", flags, Mode::empty())
            .map_err(|error| folder_error("open folder", &self.full_path(name), error))?;
        Ok(Self { handle: Arc::new(handle), path: self.full_path(name), resolution: self.resolution })
    }

    /// Renames an entry of any kind, replacing an existing one. Links are renamed, not followed.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), FolderError> {
        self.with_two("rename", from.as_ref(), to.as_ref(), |parent, name, new_parent, new_name| {
            renameat(parent, name, new_parent, new_name)
        })
    }

    /// Renames an entry of any kind. Fails with `AlreadyExists` when the new name is taken.
    pub fn rename_new(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), FolderError> {
        self.rename_new_into(from, self, to)
    }

    /// Renames an entry of any kind into another folder of the same file system. Fails with
    /// `AlreadyExists` when the new name is taken.
    pub fn rename_new_into(
        &self,
        from: impl AsRef<Path>,
        target: &Self,
        to: impl AsRef<Path>,
    ) -> Result<(), FolderError> {
        let (from, to) = (self.checked_name(from.as_ref())?, target.checked_name(to.as_ref())?);
        let (parent, name) = self.parent_to_rename(from)?;
        let (new_parent, new_name) = target.parent_to_rename(to)?;
        rename_unless_taken(parent.as_fd(), name, new_parent.as_fd(), new_name)
            .map_err(|error| folder_error("rename", &self.full_path(from), error))
    }

    fn parent_to_rename<'n>(&self, name: &'n Path) -> Result<(ParentFolder<'_>, &'n OsStr), FolderError> {
        self.parent_of(name).map_err(|error| self.explain("rename", name, ExpectedKind::Folder, error))
    }

    /// The target of a symbolic link, which is not followed.
    pub fn read_link(&self, name: impl AsRef<Path>) -> Result<PathBuf, FolderError> {
        let name = self.checked_name(name.as_ref())?;
        let target = self
            .parent_of(name)
            .and_then(|(parent, last)| readlinkat(parent, last, Vec::new()))
            .map_err(|error| folder_error("read link", &self.full_path(name), error))?;
        Ok(PathBuf::from(OsStr::from_bytes(target.as_bytes())))
    }

    /// Creates a symbolic link. Its target may be anything: no operation of a folder follows it.
    pub fn create_link(&self, name: impl AsRef<Path>, target: &Path) -> Result<(), FolderError> {
        let name = self.checked_name(name.as_ref())?;
        self.parent_of(name)
            .and_then(|(parent, last)| symlinkat(target, parent, last))
            .map_err(|error| self.explain("create link", name, ExpectedKind::NotFolder, error))
    }

    /// Exchanges two entries of any kind in one step. Not all file systems can.
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    pub fn exchange(&self, one: impl AsRef<Path>, other: impl AsRef<Path>) -> Result<(), FolderError> {
        use rustix::fs::{RenameFlags, renameat_with};
        self.with_two("exchange", one.as_ref(), other.as_ref(), |parent, name, new_parent, new_name| {
            renameat_with(parent, name, new_parent, new_name, RenameFlags::EXCHANGE)
        })
    }

    /// Gives a regular file a second name. Fails with `AlreadyExists` when that is taken.
    pub fn hard_link(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), FolderError> {
        let (from, to) = (from.as_ref(), to.as_ref());
        // A link that is swapped in after this check gets a second name itself and is not followed.
        self.check_kind(from, ExpectedKind::File)?;
        self.with_two("link", from, to, |parent, name, new_parent, new_name| {
            linkat(parent, name, new_parent, new_name, AtFlags::empty())
        })
    }

    /// Removes an entry that is not a folder. A link is removed, not followed.
    pub fn remove(&self, name: impl AsRef<Path>) -> Result<(), FolderError> {
        let name = self.checked_name(name.as_ref())?;
        self.parent_of(name)
            .and_then(|(parent, last)| unlinkat(parent, last, AtFlags::empty()))
            .map_err(|error| self.explain("remove", name, ExpectedKind::NotFolder, error))
    }

    /// Removes an empty folder.
    pub fn remove_folder(&self, name: impl AsRef<Path>) -> Result<(), FolderError> {
        let name = self.checked_name(name.as_ref())?;
        self.parent_of(name)
            .and_then(|(parent, last)| unlinkat(parent, last, AtFlags::REMOVEDIR))
            .map_err(|error| self.explain("remove", name, ExpectedKind::Folder, error))
    }

    /// Removes an entry, and everything in it if it is a folder. A link is removed, at any depth, and
    /// never entered. Succeeds when the entry does not exist.
    pub fn remove_tree(&self, name: impl AsRef<Path>) -> Result<(), FolderError> {
        let name = name.as_ref();
        match self.entry(name)?.map(|found| found.kind) {
            None => Ok(()),
            Some(EntryKind::Folder) => {
                remove_tree::empty(&self.subfolder(name)?)?;
                self.remove_folder(name)
            }
            Some(_) => self.remove(name),
        }
    }

    /// Removes write permission from a regular file.
    pub fn set_read_only(&self, name: impl AsRef<Path>) -> Result<(), FolderError> {
        let name = name.as_ref();
        let file = self.open_to_read(name)?;
        let changed = file.metadata().and_then(|found| file.set_permissions(permissions_read_only(&found)));
        changed.map_err(|source| FolderError::Io {
            operation: "make read-only",
            path: self.full_path(name),
            source,
        })
    }

    /// Waits until the names in a folder survive a power cut.
    pub fn sync(&self, name: impl AsRef<Path>) -> Result<(), FolderError> {
        let folder = self.subfolder(name)?;
        rustix::fs::fsync(folder.handle()).map_err(|error| folder_error("sync folder", &folder.path, error))
    }

    /// The path of a regular file or of none, for a library that insists on a path. Fails if a
    /// component is a link or the file is of another kind.
    ///
    /// The check holds at the moment of the call. A library must itself refuse a link that is swapped
    /// in later, as SQLite does with `SQLITE_OPEN_NOFOLLOW`.
    pub fn checked_path(&self, name: impl AsRef<Path>) -> Result<PathBuf, FolderError> {
        let name = name.as_ref();
        match self.check_kind(name, ExpectedKind::File) {
            Err(error) if !error.is_absent() => Err(error),
            _ => Ok(self.full_path(name)),
        }
    }

    /// The folder as a file, which can be locked and synced.
    pub fn to_file(&self) -> io::Result<File> {
        Ok(File::from(self.handle.try_clone()?))
    }

    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    fn full_path(&self, name: &Path) -> PathBuf {
        if name.as_os_str().is_empty() { self.path.clone() } else { self.path.join(name) }
    }

    fn outside(&self, name: &Path) -> FolderError {
        FolderError::OutsideName { folder: self.path.clone(), name: name.to_owned() }
    }

    fn checked_name<'n>(&self, name: &'n Path) -> Result<&'n Path, FolderError> {
        if is_below(name) { Ok(name) } else { Err(self.outside(name)) }
    }

    fn parent_of<'n>(&self, name: &'n Path) -> rustix::io::Result<(ParentFolder<'_>, &'n OsStr)> {
        open_parent(self.handle(), name, self.resolution)
    }

    /// Opens a file, and fails unless it is a regular one.
    fn open_file(&self, name: &Path, flags: OFlags) -> Result<File, FolderError> {
        let mode = if flags.contains(OFlags::CREATE) { NEW_FILE_MODE } else { Mode::empty() };
        self.open_file_with_mode(name, flags, mode)
    }

    fn open_file_with_mode(&self, name: &Path, flags: OFlags, mode: Mode) -> Result<File, FolderError> {
        let name = self.checked_name(name)?;
        if name.as_os_str().is_empty() {
            let (path, found) = (self.path.clone(), EntryKind::Folder);
            return Err(FolderError::WrongKind { path, found, expected: ExpectedKind::File });
        }
        let operation = if flags.contains(OFlags::EXCL) { "create" } else { "open" };
        let opened = open_beneath(self.handle(), name, flags | SAFE_FLAGS, mode, self.resolution);
        // A file that was just created is a regular one.
        let found = |file: &OwnedFd| match flags.contains(OFlags::EXCL) {
            true => Ok(EntryKind::File),
            false => fstat(file).map(|stat| EntryInfo::from_stat(&stat).kind),
        };
        let (found, file) = opened
            .and_then(|file| Ok((found(&file)?, file)))
            .map_err(|error| self.explain(operation, name, ExpectedKind::File, error))?;
        if found != EntryKind::File {
            let path = self.full_path(name);
            return Err(FolderError::WrongKind { path, found, expected: ExpectedKind::File });
        }
        Ok(File::from(file))
    }

    /// Fails with `NotFound` for an absent entry, and for one of another kind.
    fn check_kind(&self, name: &Path, expected: ExpectedKind) -> Result<(), FolderError> {
        let path = self.full_path(name);
        match self.entry(name)? {
            None => Err(folder_error("open", &path, Errno::NOENT)),
            Some(found) if fits(found.kind, expected) => Ok(()),
            Some(found) => Err(FolderError::WrongKind { path, found: found.kind, expected }),
        }
    }

    fn with_two(
        &self,
        operation: &'static str,
        from: &Path,
        to: &Path,
        change: impl FnOnce(BorrowedFd<'_>, &OsStr, BorrowedFd<'_>, &OsStr) -> rustix::io::Result<()>,
    ) -> Result<(), FolderError> {
        let (from, to) = (self.checked_name(from)?, self.checked_name(to)?);
        let parent = |name| {
            self.parent_of(name).map_err(|error| self.explain(operation, name, ExpectedKind::Folder, error))
        };
        let ((old_parent, old_name), (new_parent, new_name)) = (parent(from)?, parent(to)?);
        change(old_parent.as_fd(), old_name, new_parent.as_fd(), new_name)
            .map_err(|error| folder_error(operation, &self.full_path(from), error))
    }

    /// The error of a system call on a name. Names the entry of the wrong kind if one explains it.
    ///
    /// This only words the error: the system call has already refused.
    fn explain(
        &self,
        operation: &'static str,
        name: &Path,
        expected: ExpectedKind,
        error: Errno,
    ) -> FolderError {
        if !matches!(error, Errno::NOENT | Errno::EXIST | Errno::NOSPC)
            && let Some(wrong) = self.find_wrong_kind(name, expected)
        {
            return wrong;
        }
        folder_error(operation, &self.full_path(name), error)
    }

    /// The first component of a name that is of the wrong kind.
    fn find_wrong_kind(&self, name: &Path, expected: ExpectedKind) -> Option<FolderError> {
        let mut so_far = PathBuf::new();
        let mut parts = name.components().peekable();
        let mut at = ParentFolder::Same(self.handle());
        while let Some(part) = parts.next() {
            so_far.push(part);
            let wanted = if parts.peek().is_some() { ExpectedKind::Folder } else { expected };
            let stat = statat(&at, part.as_os_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
            let found = EntryInfo::from_stat(&stat).kind;
            if !fits(found, wanted) {
                let path = self.path.join(so_far);
                return Some(FolderError::WrongKind { path, found, expected: wanted });
            }
            if parts.peek().is_some() {
                let opened = openat(&at, part.as_os_str(), PASSAGE_FLAGS, Mode::empty()).ok()?;
                at = ParentFolder::Below(opened);
            }
        }
        None
    }
}

/// For system calls on the folder itself, such as those about its file system.
impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle()
    }
}

/// Renames without replacing, in one step where the file system can.
fn rename_unless_taken(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    new_parent: BorrowedFd<'_>,
    new_name: &OsStr,
) -> rustix::io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        match renameat_with(parent, name, new_parent, new_name, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            renamed => return renamed,
        }
    }
    // Writers of a layout hold its lock, so that none of them takes the name in between.
    match statat(new_parent, new_name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Err(Errno::EXIST),
        Err(Errno::NOENT) => renameat(parent, name, new_parent, new_name),
        Err(error) => Err(error),
    }
}

fn fits(kind: EntryKind, expected: ExpectedKind) -> bool {
    match expected {
        ExpectedKind::File => kind == EntryKind::File,
        ExpectedKind::Folder => kind == EntryKind::Folder,
        ExpectedKind::NotFolder => kind != EntryKind::Folder,
    }
}

/// The permissions of a file without any write permission.
fn permissions_read_only(metadata: &std::fs::Metadata) -> Permissions {
    let mut permissions = metadata.permissions();
    permissions.set_readonly(true);
    permissions
}

fn folder_error(operation: &'static str, path: &Path, error: Errno) -> FolderError {
    FolderError::Io { operation, path: path.to_owned(), source: io::Error::from(error) }
}
