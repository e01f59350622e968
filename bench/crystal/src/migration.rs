//! A migration beside the least it can cost: one rename for each body.
//!
//! Both begin with the same flat folder, filled in the order of ids and written out, and run in turn.

use rusqlite::Connection;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use varve_crystal::{MajorVersion, ProjectWriter};

use crate::generate::{body_path, has_failed};
use crate::{Cost, Outcome, cpu_seconds};

/// Moves every body from one layout into the other, with nothing around it.
fn rename_all(from: &Path, to: &Path, layouts: [MajorVersion; 2], count: u64) -> Outcome<()> {
    for number in (1..=count).filter(|number| !has_failed(*number)) {
        let [from, to] = [(from, layouts[0]), (to, layouts[1])]
            .map(|(folder, layout)| Some(folder.join(body_path(layout, number)?)));
        let (from, to) = (from.ok_or("no place")?, to.ok_or("no place")?);
        match fs::rename(&from, &to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(to.parent().ok_or("no folder")?)?;
                fs::rename(&from, &to)?;
            }
            done => done?,
        }
    }
    Ok(())
}

/// The floor: the renames alone, or the renames made durable in the end, which is the least that a migration owes.
pub fn bare(path: &Path, count: u64, is_durable: bool) -> Outcome<Cost> {
    timed(|| {
        let (flat, tree) = (path.join("revisions"), path.join("revisions.bare"));
        fs::create_dir(&tree)?;
        rename_all(&flat, &tree, [MajorVersion::Flat, MajorVersion::Tree], count)?;
        fs::remove_dir(&flat)?;
        fs::rename(&tree, &flat)?;
        if is_durable {
            Command::new("sync").arg("-f").arg(path).status()?;
        }
        Ok(())
    })
}

/// Ours, from opening the project to closing it.
pub fn varve(path: &Path) -> Outcome<Cost> {
    timed(|| {
        let mut writer = ProjectWriter::open(path)?;
        writer.migrate(MajorVersion::Tree, &mut |_| ControlFlow::Continue(()))?;
        writer.close()?;
        Ok(())
    })
}

/// Puts every body back into the flat folder, and writes that out.
pub fn undo(path: &Path, count: u64) -> Outcome<()> {
    let (flat, tree) = (path.join("revisions.flat"), path.join("revisions"));
    fs::create_dir(&flat)?;
    rename_all(&tree, &flat, [MajorVersion::Tree, MajorVersion::Flat], count)?;
    fs::remove_dir_all(&tree)?;
    fs::rename(&flat, &tree)?;
    let connection = Connection::open(path.join("database.sqlite"))?;
    connection.execute("UPDATE project_property SET value = '1' WHERE name = 'major_version'", [])?;
    Ok(())
}

fn timed(act: impl FnOnce() -> Outcome<()>) -> Outcome<Cost> {
    Command::new("sync").status()?;
    let (cpu, start) = (cpu_seconds()?, Instant::now());
    act()?;
    Ok(Cost { wall: start.elapsed().as_secs_f64(), cpu: cpu_seconds()? - cpu })
}
