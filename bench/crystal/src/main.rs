//! A Crystal project of a million revisions: what it costs to open, to read one page, to list a
//! group, to migrate.
//!
//! Each of the small things runs in a process of its own, again and again, beside its floor: the
//! same answer from SQLite and the file system with nothing around it. Prints a table of medians.
//! Nothing is asserted about time.
//!
//! `varve-bench-crystal [REVISIONS]` measures all of it; `varve-bench-crystal REVISIONS ROUNDS`
//! migrations alone, so often.

mod floor;
mod generate;
mod migration;

use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use varve_crystal::{BodyLookup, CaptureChoice, MajorVersion, Project, UrlLookup};

const ROUNDS: usize = 7;
const MIGRATION_ROUNDS: usize = 3;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What something cost, in seconds.
#[derive(Clone, Copy)]
pub struct Cost {
    wall: f64,
    cpu: f64,
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, task, path, count] = arguments.as_slice() {
        return measured(task, Path::new(path), count.parse()?);
    }
    let count = arguments.get(1).map_or(Ok(1_000_000), |text| text.parse())?;
    let work = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../work/crystal"));
    if let Some(rounds) = arguments.get(2) {
        return compare_migrations(&work, count, rounds.parse()?);
    }
    let tree = work.join("tree.crystalproj");
    generate::generate(&tree, MajorVersion::Tree, count)?;
    println!("{count} revisions\n");
    println!("| task | wall ms | CPU ms | peak MB | floor: wall ms | CPU ms | peak MB |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for task in ["open", "cat", "members", "info"] {
        compare(task, &tree, count)?;
    }
    compare_migrations(&work, count, MIGRATION_ROUNDS)
}

/// Does one thing and prints what it cost: microseconds, and kilobytes at the most.
fn measured(task: &str, path: &Path, count: u64) -> Outcome<()> {
    let (cpu, start) = (cpu_seconds()?, Instant::now());
    let answer = match task {
        "open" => Project::open(path)?.version().number().into(),
        "cat" => cat(path, &generate::url(count / 2 + 1))?,
        "members" => members(path)?,
        "info" => Project::open(path)?.info()?.bytes.ok_or("bodies were not counted")?,
        "floor-open" => floor::open(path)?,
        "floor-cat" => floor::cat(path, &generate::url(count / 2 + 1))?,
        "floor-members" => floor::members(path)?,
        "floor-info" => floor::info(path)?,
        other => return Err(other.into()),
    };
    let wall = start.elapsed().as_secs_f64();
    println!("{answer} {wall} {} {}", cpu_seconds()? - cpu, peak_kilobytes()?);
    Ok(())
}

fn cat(path: &Path, url: &str) -> Outcome<u64> {
    let project = Project::open(path)?;
    let UrlLookup::Resource(resource) = project.find(url)? else { return Err("not found".into()) };
    let revision = project.default_revision(resource.id, CaptureChoice::Newest)?.ok_or("no revision")?;
    match project.body_of(&revision)? {
        BodyLookup::Found(mut body) => Ok(io::copy(&mut body, &mut io::sink())?),
        other => Err(format!("{other:?}").into()),
    }
}

fn members(path: &Path) -> Outcome<u64> {
    let project = Project::open(path)?;
    let group = project.groups().next().ok_or("no group")??;
    let mut members = 0;
    for member in project.members(&group) {
        members += u64::from(member?.id.get() > 0);
    }
    Ok(members)
}

/// Runs a task and its floor in turn, each in a process of its own, and prints a line of medians.
fn compare(task: &str, path: &Path, count: u64) -> Outcome<()> {
    let mut runs = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (runs, name) in runs.iter_mut().zip([task.to_owned(), format!("floor-{task}")]) {
            runs.push(run_alone(&name, path, count)?);
        }
    }
    if runs[0][0][0] != runs[1][0][0] {
        return Err(format!("{task}: {} is not {}", runs[0][0][0], runs[1][0][0]).into());
    }
    let mut line = format!("| {task} |");
    for runs in &runs {
        for (at, scale) in [(1, 1000.0), (2, 1000.0), (3, 1.0 / 1024.0)] {
            line.push_str(&format!(" {:.1} |", median(runs.iter().map(|run| run[at]).collect()) * scale));
        }
    }
    println!("{line}");
    Ok(())
}

fn run_alone(task: &str, path: &Path, count: u64) -> Outcome<Vec<f64>> {
    let output =
        Command::new(std::env::current_exe()?).arg(task).arg(path).arg(count.to_string()).output()?;
    if !output.status.success() {
        return Err(format!("{task}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let text = String::from_utf8(output.stdout)?;
    Ok(text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
}

fn compare_migrations(work: &Path, count: u64, rounds: usize) -> Outcome<()> {
    let path = &work.join("flat.crystalproj");
    generate::generate(path, MajorVersion::Flat, count)?;
    let (mut bare, mut durable, mut varve) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=rounds {
        bare.push(migration::bare(path, count, false)?);
        migration::undo(path, count)?;
        durable.push(migration::bare(path, count, true)?);
        migration::undo(path, count)?;
        varve.push(migration::varve(path)?);
        migration::undo(path, count)?;
        let walls = [&bare, &durable, &varve].map(|costs| costs[round - 1].wall);
        eprintln!(
            "round {round}: renames {:.1} s, with a sync {:.1} s, varve {:.1} s",
            walls[0], walls[1], walls[2]
        );
    }
    println!("\n| migration 1 to 2 | wall s | CPU s | wall, against renames | CPU, against renames |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    let wall = |costs: &[Cost]| median(costs.iter().map(|cost| cost.wall).collect());
    let cpu = |costs: &[Cost]| median(costs.iter().map(|cost| cost.cpu).collect());
    for (name, costs) in [("renames alone", &bare), ("renames and a sync", &durable), ("varve", &varve)] {
        println!(
            "| {name} | {:.1} | {:.1} | {:.2} | {:.2} |",
            wall(costs),
            cpu(costs),
            wall(costs) / wall(&bare),
            cpu(costs) / cpu(&bare)
        );
    }
    println!("\npeak memory of all migrations: {:.1} MB", peak_kilobytes()? / 1024.0);
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The processor time of this process so far, user and system.
pub fn cpu_seconds() -> Outcome<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Ok(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

/// The most memory that this process ever had.
fn peak_kilobytes() -> Outcome<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no peak")?;
    Ok(line.split_whitespace().nth(1).ok_or("no peak")?.parse()?)
}
