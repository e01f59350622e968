//! A copy is the same project, or is not there.

use std::fs;
use std::ops::ControlFlow;
use varve_crystal::{Error, Project, ProjectMedium, ProjectWriter, SaveAsOptions};

use crate::checklist::{Made, assert_acceptable};
use crate::fixture::{Scratch, bodies, expected, expected_bodies, files, lab};
use crate::reading::assert_tables;

#[test]
fn a_copy_is_complete_in_every_state_of_the_original() {
    let Some(expected) = expected() else { return };
    for name in [
        "lab-v2",
        "lab-v1-flat",
        "lab-v1-migration-interrupted",
        "lab-v2-commit-interrupted",
        "lab-v3-pack16",
    ] {
        for medium in [ProjectMedium::Unknown, ProjectMedium::ReadOnly] {
            let scratch = lab(name).unwrap();
            fs::create_dir(scratch.at("my notes")).unwrap();
            fs::write(scratch.at("my notes/a.txt"), "mine").unwrap();
            fs::write(scratch.at("tmp/half.body"), "half").unwrap();
            fs::create_dir(scratch.at("varve.tmp")).unwrap();
            let before = files(&scratch.path);
            let target = Scratch::empty();
            let project = Project::open_on(&scratch.path, medium).unwrap();
            let saved = project.save_as(&target.path, SaveAsOptions::default()).unwrap();
            assert_eq!(saved, target.path);
            drop(project);
            assert_eq!(files(&scratch.path), before, "the original of {name} was changed");
            let copy = Project::open(&saved).unwrap();
            assert_tables(&copy, &expected, &[]);
            assert_eq!(bodies(&copy), (expected_bodies(&expected), vec![]), "{name}");
            assert_eq!(fs::read(target.at("my notes/a.txt")).unwrap(), b"mine");
            assert!(
                !target.at("tmp/half.body").exists()
                    && !target.at("varve.lock").exists()
                    && !target.at("varve.tmp").exists()
            );
        }
    }
}

#[test]
fn a_project_can_be_copied_while_it_is_written() {
    let Some(scratch) = lab("lab-v2") else { return };
    let target = Scratch::empty();
    let mut writer = ProjectWriter::open(&scratch.path).unwrap();
    writer.add_resource("http://only.in.the.log.example/").unwrap();
    writer.save_as(&target.path, SaveAsOptions::default()).unwrap();
    assert_acceptable(&target.path, Made::ByCrystal);
    assert_eq!(Project::open(&target.path).unwrap().resources().count(), 65);
}

#[test]
fn a_copy_that_is_stopped_leaves_nothing() {
    let Some(scratch) = lab("lab-v2") else { return };
    let target = Scratch::empty();
    let project = Project::open(&scratch.path).unwrap();
    let mut stop_late = |progress: varve_crystal::CopyProgress| match progress.files {
        20.. => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let options = SaveAsOptions { on_progress: Some(&mut stop_late), watcher: None };
    assert!(matches!(project.save_as(&target.path, options), Err(Error::Stopped { .. })));
    assert_eq!(fs::read_dir(target.path.parent().unwrap()).unwrap().count(), 0);
}

#[test]
fn names_that_are_taken_wrong_or_inside_are_refused() {
    let Some(scratch) = lab("lab-v2") else { return };
    let project = Project::open(&scratch.path).unwrap();
    let save = |path: std::path::PathBuf| project.save_as(path, SaveAsOptions::default());
    assert!(matches!(save(scratch.path.clone()), Err(Error::Exists { .. })));
    assert!(matches!(save(scratch.path.with_file_name("copy")), Err(Error::NotNamedSo { .. })));
    assert!(matches!(save(scratch.at("inner.crystalproj")), Err(Error::Inside { .. })));
    // A copy that Crystal may be making this moment is not ours to remove.
    fs::create_dir(scratch.path.with_file_name("copy.crystalproj-partial")).unwrap();
    assert!(matches!(save(scratch.path.with_file_name("copy.crystalproj")), Err(Error::Exists { .. })));
    assert!(scratch.path.with_file_name("copy.crystalproj-partial").exists());
}
