//! The files around a project that hold nothing of it: the opener, the README_TEXT, the icon and
//! what names it.
//!
//! Each is made when a project is made or opened for writing, if it is missing and the rules say
//! so: a README_TEXT that its owner deleted stays deleted, and no existing file is ever rewritten.
//! The texts and the icon are varve's own.

mod icon;

use std::path::Path;

use crate::disk::ProjectDisk;
use crate::error::Result;
use crate::location::{OPENER_SUFFIX, ProjectLayout, ends_with};

/// What every opener holds, so that a file can be known by it.
pub(crate) const OPENER_CONTENT: &[u8; 4] = b"CrOp";

const README_TEXT: &str = "\
This folder is a website, or a part of one, as it was on the day it was downloaded.\r\n\
\r\n\
It is a Crystal project. Do not move, rename or delete anything in it:\r\n\
\r\n\
  database.sqlite  says which pages there are and what the servers said about them\r\n\
  revisions        holds the pages, pictures and other files themselves\r\n\
\r\n\
To look at it, open it with Crystal (https://dafoster.net/projects/crystal-web-archiver/)\r\n\
or with varve: varve -C \"this folder\" serve\r\n";

const DESKTOP_INI: &str = "\
[.ShellClassInfo]\r\n\
DirectoryClass=crystalproj\r\n\
ConfirmFileOp=0\r\n\
IconFile=icons\\docicon.ico\r\n\
IconIndex=0\r\n\
InfoTip=Crystal project\r\n";

const DIRECTORY_ENTRY: &str = "[Desktop Entry]\nIcon=crystalproj\n";

/// Makes those that are missing.
pub(crate) fn ensure_files(disk: &ProjectDisk, layout: &ProjectLayout) -> Result<()> {
    let dir = &layout.dir;
    if !has_opener(layout)? {
        disk.create_file(&dir.join("README.txt"), README_TEXT.as_bytes())?;
        // Last, since a README_TEXT is made only while the opener is missing.
        disk.create_file(&dir.join("OPEN ME.crystalopen"), OPENER_CONTENT)?;
    }
    if layout.folder().entry("desktop.ini")?.is_none() {
        if layout.folder().entry("icons")?.is_none() {
            disk.create_folder(&dir.join("icons"))?;
            disk.create_file(&dir.join("icons").join("docicon.ico"), &icon::icon())?;
        }
        disk.create_file(&dir.join("desktop.ini"), DESKTOP_INI.as_bytes())?;
    }
    if layout.folder().entry(".directory")?.is_none() {
        disk.create_file(&dir.join(".directory"), DIRECTORY_ENTRY.as_bytes())?;
    }
    Ok(())
}

/// Whether there is an opener, under any name.
fn has_opener(layout: &ProjectLayout) -> Result<bool> {
    for entry in layout.folder().entries("")? {
        if ends_with(Path::new(&entry?.name), OPENER_SUFFIX) {
            return Ok(true);
        }
    }
    Ok(false)
}
