//! A body that is being written: a file in a folder of our own that nobody sees until its revision
//! is kept.
//!
//! The folder is not Crystal's `tmp`, which Crystal empties whenever it opens the project, also while
//! a capture writes it.
//!
//! Its writer may finish it before it is handed over, so that many of them can wait for their rows
//! without an open file each. Dropping a draft removes it. One that a crash leaves behind is
//! removed when the project is next opened for writing.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use varve_file::Folder;

use crate::disk::ProjectDisk;
use crate::error::{Result, io_at};
use crate::location::{DRAFT_FOLDER, ProjectLayout};

/// Makes the names of drafts differ. The lock keeps other processes out of the folder.
static DRAFT_NUMBER: AtomicU64 = AtomicU64::new(0);

/// A body that is being written. Write the bytes, then hand it to `ProjectWriter::add_revision`.
#[derive(Debug)]
pub struct BodyDraft {
    /// None once it is finished.
    file: Option<BufWriter<File>>,
    draft: DraftFile,
    length: u64,
}

/// A body whose bytes are durable under a name of its own.
#[derive(Debug)]
pub(crate) struct SettledBody {
    draft: DraftFile,
}

/// A file in the folder of drafts that is removed unless it is kept.
#[derive(Debug)]
pub(crate) struct DraftFile {
    folder: Folder,
    name: String,
    is_kept: bool,
}

impl DraftFile {
    /// Creates a file with this ending.
    pub(crate) fn begin(layout: &ProjectLayout, ending: &str) -> Result<(Self, File)> {
        let folder = layout.folder();
        loop {
            let number = DRAFT_NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("{DRAFT_FOLDER}/{}-{number}.{ending}", std::process::id());
            match folder.create_new(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return Ok((Self { folder: folder.clone(), name, is_kept: false }, created?)),
            }
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    /// Says that the file has got another name, or is about to, and gives the name it has here.
    pub(crate) fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        self.path()
    }
}

impl Drop for DraftFile {
    fn drop(&mut self) {
        if !self.is_kept {
            // The next writer empties the folder.
            let _ = self.folder.remove(&self.name);
        }
    }
}

impl BodyDraft {
    pub(crate) fn begin(layout: &ProjectLayout) -> Result<Self> {
        let (draft, file) = DraftFile::begin(layout, "body")?;
        Ok(Self { file: Some(BufWriter::new(file)), draft, length: 0 })
    }

    /// How many bytes were written so far.
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Makes the bytes durable and closes the file. Nothing can be written afterwards; handing it
    /// over is all there is.
    pub fn finish(&mut self) -> Result<()> {
        let Some(file) = self.flushed()? else { return Ok(()) };
        file.sync_all().map_err(io_at("sync", &self.draft.path()))
    }

    /// Makes the bytes durable.
    pub(crate) fn settle(mut self, disk: &ProjectDisk) -> Result<SettledBody> {
        let path = self.draft.path();
        if let Some(file) = self.flushed()? {
            disk.sync_file(&file, &path)?;
        }
        Ok(SettledBody { draft: self.draft })
    }

    /// The file with all bytes written to it; none if it was finished before.
    fn flushed(&mut self) -> Result<Option<File>> {
        let Some(file) = self.file.take() else { return Ok(None) };
        let flushed =
            file.into_inner().map_err(|error| io_at("write", &self.draft.path())(error.into_error()));
        flushed.map(Some)
    }
}

impl SettledBody {
    /// The path that it has until it is dropped.
    pub(crate) fn path(&self) -> PathBuf {
        self.draft.path()
    }

    /// Says that the file has got another name.
    pub(crate) fn renamed(self) {
        self.draft.keep();
    }
}

impl Write for BodyDraft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let finished = || io::Error::other("the body is finished");
        let written = self.file.as_mut().ok_or_else(finished)?.write(bytes)?;
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}
