//! A body that is being written: a file in `tmp` that nobody sees until its revision is kept.
//!
//! Its writer may finish it before it is handed over, so that many of them can wait for their rows
//! without an open file each. Dropping a draft removes it. One that a crash leaves behind is
//! removed when the project is next opened.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use tempfile::TempPath;

use crate::disk::ProjectDisk;
use crate::error::{Error, Result, io_at};
use crate::location::ProjectLayout;

/// A body that is being written. Write the bytes, then hand it to `ProjectWriter::add_revision`.
#[derive(Debug)]
pub struct BodyDraft {
    /// None once it is finished.
    file: Option<BufWriter<File>>,
    path: TempPath,
    length: u64,
}

/// A body whose bytes are durable under a name of its own.
#[derive(Debug)]
pub(crate) struct SettledBody {
    path: TempPath,
}

impl BodyDraft {
    pub(crate) fn begin(layout: &ProjectLayout) -> Result<Self> {
        let tmp = layout.tmp();
        let made = tempfile::Builder::new().prefix("").suffix(".body").tempfile_in(&tmp);
        let (file, path) = made.map_err(io_at("create a file in", &tmp))?.into_parts();
        Ok(Self { file: Some(BufWriter::new(file)), path, length: 0 })
    }

    /// How many bytes were written so far.
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Makes the bytes durable and closes the file. Nothing can be written afterwards; handing it
    /// over is all there is.
    pub fn finish(&mut self) -> Result<()> {
        self.finish_on(&ProjectDisk::watched(None))
    }

    /// Makes the bytes durable.
    pub(crate) fn settle(mut self, disk: &ProjectDisk) -> Result<SettledBody> {
        self.finish_on(disk)?;
        Ok(SettledBody { path: self.path })
    }

    fn finish_on(&mut self, disk: &ProjectDisk) -> Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let file = file.into_inner().map_err(|error| io_at("write", &self.path)(error.into_error()))?;
        disk.sync_file(&file, &self.path)
    }
}

impl SettledBody {
    /// The name it has, which it now keeps until it gets another.
    pub(crate) fn keep(self) -> Result<PathBuf> {
        let failed = |error: tempfile::PathPersistError| (error.path.to_path_buf(), error.error);
        self.path.keep().map_err(|error| {
            let (path, source) = failed(error);
            Error::Io { doing: "keep", path, source }
        })
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
