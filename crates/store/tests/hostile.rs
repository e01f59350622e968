//! An archive that someone else made: links and pipes in place of its files change nothing outside,
//! nothing waits, and opening for writing fails.

mod scene;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use varve_store::disk::LocalDisk;
use varve_store::{StoreError, StoreReader, StoreWriter};
use varve_warc::write::Packing;

use scene::{files, resource, settings};

/// A writer that takes longer hangs.
const HANG_TIMEOUT: Duration = Duration::from_secs(60);

/// The files and folders that a writer opens.
const PLACES: &[&str] = &[
    "index",
    "index/appendix",
    "index/sorted",
    "tmp",
    "warc",
    "warc/0",
    "warc/0/00000000.warc.gz",
    "warc/0/00000001.warc.gz",
    "warc/next-number",
];

/// Opens the store, stores two objects, seals the silo between them, and reads one back.
fn write(root: &Path) -> Result<(), StoreError> {
    let disk = Arc::new(LocalDisk::new(root));
    let (writer, _) = StoreWriter::open(files(disk.clone(), root), settings(root, 1, Packing::Gzip))?;
    let mut packer = writer.packer()?;
    for content in ["one", "two", "three"] {
        let stored = writer.store_reader(&mut packer, &resource(), &mut content.as_bytes())?;
        writer.wait(stored.ticket)?;
    }
    let _ = writer.housekeeping()?;
    StoreReader::open(files(disk, root), &root.join("index")).map(drop)
}

fn write_with_deadline(root: &Path, what: &str) -> Result<(), StoreError> {
    let (sender, receiver) = mpsc::channel();
    let root = root.to_owned();
    std::thread::spawn(move || sender.send(write(&root)));
    receiver.recv_timeout(HANG_TIMEOUT).unwrap_or_else(|_| panic!("{what}: the writer hangs"))
}

fn snapshot(folder: &Path) -> Vec<(String, u32, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("listed") {
        let path = entry.expect("an entry").path();
        let mode = fs::metadata(&path).expect("examined").permissions().mode();
        if path.is_dir() {
            found.push((path.display().to_string(), mode, Vec::new()));
            found.extend(snapshot(&path));
        } else {
            found.push((path.display().to_string(), mode, fs::read(&path).expect("read")));
        }
    }
    found.sort();
    found
}

#[test]
fn links_and_pipes_in_an_archive_change_nothing_outside() {
    for place in PLACES {
        for kind in ["link to it", "link to a file", "link to a folder", "dangling link", "pipe"] {
            let folder = tempfile::tempdir().expect("a folder");
            let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
            fs::create_dir_all(outside.join("victim")).expect("made");
            fs::write(outside.join("victim/file"), "precious").expect("written");
            fs::create_dir(&root).expect("made");
            write(&root).expect("written");
            let path = root.join(place);
            match path.symlink_metadata() {
                Ok(_) => fs::rename(&path, outside.join("moved")).expect("moved"),
                Err(_) => fs::write(outside.join("moved"), "").expect("written"),
            }
            let before = snapshot(&outside);
            let link = |target: &str| symlink(outside.join(target), &path).expect("linked");
            match kind {
                "link to it" => link("moved"),
                "link to a file" => link("victim/file"),
                "link to a folder" => link("victim"),
                "dangling link" => link("new"),
                _ => assert!(Command::new("mkfifo").arg(&path).status().expect("run").success()),
            }
            let what = format!("{place}: {kind}");
            let result = write_with_deadline(&root, &what);
            assert_eq!(snapshot(&outside), before, "{what}");
            let Err(error) = result else { panic!("{what}: it was written") };
            let mut text = error.to_string();
            let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(&error);
            while let Some(source) = cause {
                text = format!("{text}: {source}");
                cause = source.source();
            }
            let said = if kind == "pipe" { "a named pipe" } else { "a symbolic link" };
            assert!(text.contains(said) && text.contains(path.to_str().expect("text")), "{what}: {text}");
        }
    }
}
