//! Which files are opened below a folder, as the kernel reports it.
//!
//! A recording disk sees only the calls that go through it. This sees every open of a regular file by
//! any means, and neither looks at metadata nor opens of folders count. Only Linux reports opens.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

/// Size of the buffer for events, in bytes.
const EVENT_BUFFER_BYTES: usize = 64 << 10;

/// The files that are opened below some folders.
pub struct OpenedFiles {
    watcher: OwnedFd,
    folders: HashMap<i32, PathBuf>,
}

impl OpenedFiles {
    /// Watches these folders and all folders below them that exist now.
    pub fn below(roots: &[&Path]) -> io::Result<Self> {
        let watcher = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let mut folders = HashMap::new();
        let mut waiting: Vec<PathBuf> = roots.iter().map(|root| root.to_path_buf()).collect();
        while let Some(folder) = waiting.pop() {
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    waiting.push(entry.path());
                }
            }
            folders.insert(inotify::add_watch(&watcher, &folder, WatchFlags::OPEN)?, folder);
        }
        Ok(Self { watcher, folders })
    }

    /// The files opened since the last call, each once. Fails if there were too many events to be
    /// reported.
    pub fn take(&self) -> io::Result<BTreeSet<PathBuf>> {
        let (mut opened, mut buffer) = (BTreeSet::new(), vec![MaybeUninit::uninit(); EVENT_BUFFER_BYTES]);
        let mut events = Reader::new(&self.watcher, &mut buffer);
        loop {
            let event = match events.next() {
                Err(Errno::WOULDBLOCK) => return Ok(opened),
                event => event?,
            };
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                return Err(io::Error::other("events were lost"));
            }
            let folder = self.folders.get(&event.wd()).filter(|_| !event.events().contains(ReadFlags::ISDIR));
            if let (Some(folder), Some(name)) = (folder, event.file_name()) {
                opened.insert(folder.join(std::ffi::OsStr::from_bytes(name.to_bytes())));
            }
        }
    }
}
