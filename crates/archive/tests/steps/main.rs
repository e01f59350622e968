//! Real deaths: commit, checkout, gc and rewrite are killed before each of their steps, on every
//! layout.
//!
//! A step is a change of the disk: a file made, written (also half), synced, renamed or removed, a
//! transaction begun or done. Each operation runs in a process of its own, which SIGKILL ends
//! before its first step, then before its second, and so on until it comes to its end. After each
//! death the layout is looked at, opened for writing, looked at again, and committed to.
//!
//! `VARVE_STEPS` names operations to run alone, or a part of their names.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test says by panicking that something is not so"
)]

mod check;
mod operations;
#[path = "../history/scene.rs"]
#[expect(dead_code, reason = "the other tests use more of it")]
mod scene;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use operations::{OPERATIONS, Operation};
use varve_testkit::{memory_folder, sum_in_parallel};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, child, name, home, step] = arguments.as_slice()
        && child == "child"
    {
        let operation = OPERATIONS.iter().find(|operation| operation.name == name).unwrap();
        // The clock of the child goes on where that of the parent stands.
        scene::SECONDS.fetch_add(1_000, Ordering::SeqCst);
        kill_before(step.parse().unwrap());
        (operation.run)(Path::new(home));
        return;
    }
    let only = std::env::var("VARVE_STEPS").ok();
    let is_chosen = |one: &&Operation| only.as_deref().is_none_or(|only| one.name.contains(only));
    let chosen: Vec<&Operation> = OPERATIONS.iter().filter(is_chosen).collect();
    let kills = sum_in_parallel(&chosen, |operation| kill_before_each_step(operation));
    println!("{kills} kills, nothing lost");
    assert!(only.is_some() || kills > 250, "only {kills}");
}

/// Kills this process before the step with this number, counted from 0.
fn kill_before(step: usize) {
    let count = AtomicUsize::new(0);
    varve_store::steps::watch(move |what, path| {
        if count.fetch_add(1, Ordering::SeqCst) == step {
            // For the parent to say, should something be wrong afterwards.
            eprintln!("{what} {}", path.display());
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            loop {
                std::thread::park();
            }
        }
    });
}

/// Returns the number of steps.
fn kill_before_each_step(operation: &Operation) -> usize {
    let template = memory_folder();
    (operation.prepare)(template.path());
    let known = check::Known::of(template.path());
    for step in 0.. {
        let home = memory_folder();
        copy(template.path(), home.path());
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.arg("child").arg(operation.name).arg(home.path()).arg(step.to_string());
        let output = child.output().unwrap();
        let (done, said) = (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned());
        assert!(done || output.status.code().is_none(), "{}: {said}", operation.name);
        let what = format!("{} before step {step}: {}", operation.name, said.trim());
        (operation.check)(&check::Death { home: home.path(), known: &known, done, what: &what });
        if done {
            println!("{}: killed before each of {step} steps", operation.name);
            return step;
        }
    }
    unreachable!("an operation has an end")
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status().unwrap();
    assert!(status.success());
}
