//! Replaces files atomically, so that a name always leads to the old content or to the new.
//!
//! The name of the unfinished file is derived from that of the target. If the process dies midway,
//! the next replacement of the file reuses that name, so nothing is left behind. A link in the place of
//! the file is replaced itself, and no link above it is followed.

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use varve_file::RootedFiles;
use varve_store::steps::step;

/// Replaces a file. Without `durable` a power cut may leave an empty file, which is acceptable for
/// data that can be rebuilt.
pub fn replace(files: &RootedFiles, path: &Path, content: &mut dyn BufRead, durable: bool) -> io::Result<()> {
    let unfinished = unfinished(path);
    let written = write(files, &unfinished, content, durable).and_then(|()| {
        step("rename", path);
        files.rename(&unfinished, path)
    });
    if written.is_err() {
        // The first error is the one to report.
        let _ = files.remove(&unfinished);
        return written;
    }
    if durable {
        step("sync a folder", path);
        files.sync_folder(path.parent().unwrap_or(files.root()))?;
    }
    Ok(())
}

/// The name of a file before it is complete.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".tmp-varve-");
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
}

fn write(files: &RootedFiles, path: &Path, content: &mut dyn BufRead, durable: bool) -> io::Result<()> {
    step("create", path);
    let mut file = create(files, path)?;
    step("write", path);
    pour(content, &mut file)?;
    if durable {
        step("sync", path);
        file.sync_all()?;
    }
    Ok(())
}

/// Copies content to a file, one buffer at a time; content in memory takes one write.
pub(crate) fn pour(content: &mut dyn BufRead, file: &mut File) -> io::Result<()> {
    loop {
        let bytes = match content.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            bytes => bytes?,
        };
        if bytes.is_empty() {
            return Ok(());
        }
        file.write_all(bytes)?;
        let count = bytes.len();
        content.consume(count);
    }
}

/// Creates a new file and never opens an existing one: a symbolic link with that name could lead
/// anywhere.
pub(crate) fn create(files: &RootedFiles, path: &Path) -> io::Result<File> {
    match files.create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            files.remove(path)?;
            files.create_new(path)
        }
        created => created,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_was_left_unfinished_is_taken_over_and_links_are_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, elsewhere) = (folder.path().join("HEAD"), folder.path().join("elsewhere"));
        fs::write(&elsewhere, "untouched").expect("written");
        std::os::unix::fs::symlink(&elsewhere, unfinished(&path)).expect("linked");
        replace(&RootedFiles::new(folder.path()), &path, &mut &b"new"[..], true).expect("replaced");
        assert_eq!(fs::read(&path).expect("read"), b"new");
        assert_eq!(fs::read(&elsewhere).expect("read"), b"untouched");
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 2);
    }

    #[test]
    fn a_content_that_cannot_be_read_replaces_nothing() {
        struct Broken;
        impl io::Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("page");
        replace(&RootedFiles::new(folder.path()), &path, &mut &b"old"[..], false).expect("replaced");
        assert!(
            replace(&RootedFiles::new(folder.path()), &path, &mut io::BufReader::new(Broken), false).is_err()
        );
        assert_eq!(fs::read(&path).expect("read"), b"old");
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1);
    }
}
