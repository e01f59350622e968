//! The order in which things are made durable: what a kill cannot show, since a killed process
//! loses no write.

use std::collections::BTreeSet;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use varve_crystal::{
    DiskStep, DownloadOutcome, MajorVersion, NewRevision, OpenOptions, ProjectWriter, ResourceId, Watcher,
};

use crate::fixture::Scratch;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Done {
    Folder(PathBuf),
    Renamed(PathBuf, PathBuf),
    Synced(PathBuf),
    Committed(&'static str),
    Other,
}

type Log = Arc<Mutex<Vec<Done>>>;

fn recorder() -> (Watcher, Log) {
    let log = Log::default();
    let seen = Arc::clone(&log);
    let watcher: Watcher = Arc::new(move |step| {
        seen.lock().unwrap().push(match step {
            DiskStep::CreateFolder(path) => Done::Folder(path.to_owned()),
            DiskStep::Rename { from, to } | DiskStep::Link { from, to } => {
                Done::Renamed(from.to_owned(), to.to_owned())
            }
            DiskStep::Sync(path) => Done::Synced(path.to_owned()),
            DiskStep::Commit(what) => Done::Committed(what),
            _ => Done::Other,
        });
        Ok(())
    });
    (watcher, log)
}

/// Runs a change on a made project and gives the steps that it took, without those of opening it.
fn steps_of(scratch: &Scratch, change: impl FnOnce(&mut ProjectWriter)) -> Vec<Done> {
    let (watcher, log) = recorder();
    let options = OpenOptions { watcher: Some(watcher), ..OpenOptions::default() };
    let mut writer = ProjectWriter::open_with(&scratch.path, options).unwrap();
    log.lock().unwrap().clear();
    change(&mut writer);
    log.lock().unwrap().clone()
}

fn position(steps: &[Done], step: &Done) -> usize {
    steps.iter().position(|found| found == step).unwrap_or_else(|| panic!("no {step:?} in {steps:#?}"))
}

/// Whether the names in the folder were made durable between two steps.
fn assert_synced(steps: &[Done], folder: &Path, after: usize, before: usize) {
    let synced = Done::Synced(folder.to_owned());
    assert!(steps[after..before].contains(&synced), "{folder:?} not synced in {:#?}", &steps[after..before]);
}

#[test]
fn every_folder_of_the_tree_is_durable_before_the_version_says_so() {
    let scratch = Scratch::made(MajorVersion::Flat);
    let steps = steps_of(&scratch, |writer| {
        writer.migrate(MajorVersion::Tree, &mut |_| ControlFlow::Continue(())).unwrap();
    });
    let committed = position(&steps, &Done::Committed("major version"));
    let tree = scratch.at("revisions.inprogress");
    // A rename into a folder that is not there yet is tried twice.
    let mut moved = BTreeSet::new();
    for (at, step) in steps[..committed].iter().enumerate() {
        let target = match step {
            Done::Renamed(from, to) => {
                moved.insert(from);
                assert_synced(&steps, from.parent().unwrap(), at, committed);
                to
            }
            Done::Folder(path) => path,
            _ => continue,
        };
        for folder in target.ancestors().skip(1).take_while(|folder| folder.starts_with(&tree)) {
            assert_synced(&steps, folder, at, committed);
        }
    }
    assert_eq!(moved.len(), crate::made::IDS.len());
    let named = position(&steps, &Done::Renamed(tree, scratch.at("revisions")));
    assert!(committed < named);
    assert_synced(&steps, &scratch.path, committed, named);
    assert_synced(&steps, &scratch.path, named, steps.len());
}

#[test]
fn a_body_is_durable_under_its_name_before_its_row_is() {
    for version in [MajorVersion::Flat, MajorVersion::Tree] {
        let scratch = Scratch::made(version);
        let steps = steps_of(&scratch, |writer| {
            let mut body = writer.begin_body().unwrap();
            body.write_all(b"new").unwrap();
            let outcome = DownloadOutcome::Fetched { metadata: None, body };
            let new = NewRevision {
                id: Some(varve_crystal::RevisionId(0xfff_f000)),
                resource: ResourceId(1),
                request_cookie: None,
                outcome,
            };
            writer.add_revision(new).unwrap();
        });
        let committed = position(&steps, &Done::Committed("revisions"));
        let named = steps.iter().position(|step| matches!(step, Done::Renamed(..))).unwrap();
        let Done::Renamed(from, to) = &steps[named] else { panic!("not a rename") };
        assert!(from.starts_with(scratch.at("varve.tmp")), "{from:?}");
        assert_synced(&steps, from, 0, named);
        assert_synced(&steps, to.parent().unwrap(), named, committed);
        for (at, step) in steps.iter().enumerate() {
            if let Done::Folder(folder) = step {
                assert_synced(&steps, folder.parent().unwrap(), at, committed);
            }
        }
        assert_eq!(committed, steps.len() - 1);
    }
}
