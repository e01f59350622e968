//! Readers that run during a purge see either the old archive or the new one.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use varve_archive::RepositoryError;

use crate::purge::*;
use crate::scene::*;
use varve_archive::history::open_reader;
use varve_archive::verbs::cat::{self, CaptureSelector, look_up};
use varve_archive::{Archive, ArchiveWriter};

const KEPT: &str = "https://e.org/kept";

/// Reads a page that is not purged until the purges are done, with a reader opened before them and
/// with new ones.
fn read_until(root: &Path, is_done: &AtomicBool) -> u64 {
    let long_open = open_reader(root).expect("opened");
    let mut reads = 0;
    loop {
        let is_last = is_done.load(Ordering::SeqCst);
        for reader in [&long_open, &open_reader(root).expect("opened")] {
            let capture = look_up(reader, KEPT, &CaptureSelector::Newest).expect("found");
            let mut text = String::new();
            let read = cat::body(reader, &capture).expect("opened");
            std::io::Read::read_to_string(&mut { read }, &mut text).expect("read");
            assert_eq!(text, "stays as it is");
            reads += 1;
        }
        if is_last {
            return reads;
        }
    }
}

#[test]
fn readers_get_no_error_during_a_purge() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    let gone: Vec<String> = (0..12).map(|number| format!("https://e.org/{number}")).collect();
    let mut pages: Vec<(&str, &str)> = gone.iter().map(|url| (url.as_str(), url.as_str())).collect();
    // Behind what goes, so that it comes to lie elsewhere.
    pages.push((KEPT, "stays as it is"));
    commit_pages(&history(root), "1", &pages);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3).map(|_| scope.spawn(|| read_until(root, &is_done))).collect();
        for url in &gone {
            assert_eq!(rewrite(root, &request(&[url])).tombstones.len(), 1);
        }
        is_done.store(true, Ordering::SeqCst);
        for reader in readers {
            assert!(reader.join().expect("no read failed") >= 2);
        }
    });
    assert_sound(root);
}

/// Puts an archive into the state after a kill right after the exchange of the silos.
fn leave_swap_pending(root: &Path) {
    std::fs::create_dir_all(root.join("tmp/purge")).expect("made");
    for name in ["index", "catalog.db", "HEAD"] {
        std::fs::rename(root.join(name), root.join("tmp/purge").join(name)).expect("moved");
    }
    std::fs::write(root.join("warc/pending-swap"), b"").expect("written");
}

#[test]
fn the_next_writer_completes_a_pending_swap() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    make(Kind::Archive, root);
    commit_pages(&history(root), "1", &[(KEPT, "stays as it is")]);
    let before = rows(&open_reader(root).expect("opened"));
    let index =
        || std::fs::metadata(root.join("index/appendix")).and_then(|file| file.modified()).expect("read");
    let made = index();
    leave_swap_pending(root);
    // Caches of the silos before may still be there.
    std::fs::create_dir(root.join("index")).expect("made");
    std::fs::write(root.join("catalog.db-wal"), b"of another catalog").expect("written");
    let is_swap_pending =
        |opened: Option<RepositoryError>| matches!(opened, Some(RepositoryError::PendingSwap { .. }));
    assert!(is_swap_pending(open_reader(root).err()) && is_swap_pending(Archive::open(root).err()));
    drop(ArchiveWriter::open(root, opening()).expect("opened"));
    assert_eq!(index(), made, "it was put there, and not made again");
    assert_eq!(rows(&open_reader(root).expect("opened")), before);
    assert_sound(root);
    // And where somebody emptied the folder, all is made again.
    leave_swap_pending(root);
    std::fs::remove_dir_all(root.join("tmp")).expect("removed");
    drop(history(root));
    assert_eq!(rows(&open_reader(root).expect("opened")), before);
    assert_sound(root);
}
