//! Lookups in ten million entries: varve's index beside a bare interpolation search, SQLite and redb, in one run.
//!
//! Prints a table of medians and their ratios to the bare search. Nothing is asserted about time.

mod bare;

use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use redb::{ReadableDatabase, TableDefinition};
use rusqlite::OptionalExtension;
use varve_store::disk::LocalDisk;
use varve_store::index::{IndexEntry, IndexReader, IndexOptions, IndexWriter, SiloPlace, SiloPlaces, IndexPrefix, IndexRebuild};

const TABLE: TableDefinition<u64, u64> = TableDefinition::new("entries");
const ROUNDS: usize = 3;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let count = arguments.get(2).map_or(Ok(10_000_000), |text| text.parse())?;
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../work/index"));
    match arguments.get(1).map(String::as_str) {
        Some("build-varve") => measured(|| build_varve(&folder, count)),
        Some("build-sqlite") => measured(|| build_sqlite(&folder, count)),
        Some("build-redb") => measured(|| build_redb(&folder, count)),
        _ => compare(&folder, count),
    }
}

/// Well mixed numbers in a fixed order: what SHA-256 would give, without its cost.
fn mixed(number: u64) -> u64 {
    let mut value = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

fn entry(number: u64) -> IndexEntry {
    let place = SiloPlace::new((number >> 16) as u32, number & 0xffff).expect("small numbers fit");
    IndexEntry { prefix: IndexPrefix(mixed(number)), place }
}

fn sorted(count: u64) -> Vec<(u64, u64)> {
    let mut all: Vec<_> = (0..count).map(|number| (mixed(number), number)).collect();
    all.sort_unstable();
    all
}

fn build_varve(folder: &Path, count: u64) -> Outcome<()> {
    let folder = folder.join("varve");
    let disk = LocalDisk::new(&folder);
    let mut rebuild = IndexRebuild::begin(&disk, &folder, IndexOptions::default())?;
    for number in 0..count {
        rebuild.push(entry(number))?;
    }
    rebuild.finish()?;
    Ok(())
}

fn build_sqlite(folder: &Path, count: u64) -> Outcome<()> {
    let mut database = rusqlite::Connection::open(folder.join("sqlite"))?;
    database.execute_batch(
        "pragma journal_mode = off; pragma synchronous = off;
         create table entries (prefix integer, place integer, primary key (prefix, place)) without rowid",
    )?;
    let transaction = database.transaction()?;
    {
        let mut insert = transaction.prepare("insert into entries values (?1, ?2)")?;
        // Signed order is what a sorted load means to SQLite.
        let mut all = sorted(count);
        all.sort_unstable_by_key(|(prefix, _)| *prefix as i64);
        for (prefix, place) in all {
            insert.execute((prefix as i64, place as i64))?;
        }
    }
    Ok(transaction.commit()?)
}

fn build_redb(folder: &Path, count: u64) -> Outcome<()> {
    let database = redb::Database::create(folder.join("redb"))?;
    let transaction = database.begin_write()?;
    {
        let mut table = transaction.open_table(TABLE)?;
        for (prefix, place) in sorted(count) {
            table.insert(prefix, place)?;
        }
    }
    Ok(transaction.commit()?)
}

/// Runs a build and prints its wall time, CPU time and peak memory for the parent to read.
fn measured(build: impl FnOnce() -> Outcome<()>) -> Outcome<()> {
    let start = Instant::now();
    build()?;
    let wall = start.elapsed().as_secs_f64();
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let cpu = (fields[11].parse::<f64>()? + fields[12].parse::<f64>()?) / 100.0;
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    let peak: f64 = peak.trim().trim_end_matches(" kB").parse()?;
    println!("{wall} {cpu} {}", peak / 1024.0);
    Ok(())
}

fn compare(folder: &Path, count: u64) -> Outcome<()> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)?;
    println!("{count} entries, medians of {ROUNDS} rounds\n");
    println!("| build | wall s | CPU s | peak MiB | bytes an entry |\n| --- | --- | --- | --- | --- |");
    for name in ["varve", "sqlite", "redb"] {
        build(folder, name, count)?;
    }
    upkeep(folder, count)?;
    let keys: Vec<IndexPrefix> = (0..1_000_000).map(|n| IndexPrefix(mixed(mixed(n) % count))).collect();
    let absent: Vec<IndexPrefix> = (0..1_000_000).map(|n| IndexPrefix(mixed(count + n))).collect();
    println!("\n| lookup | ns a key | to bare | absent key, ns | to bare |\n| --- | --- | --- | --- | --- |");
    let mut contenders = contenders(folder)?;
    let mut times = vec![Vec::new(); contenders.len()];
    for _ in 0..ROUNDS {
        for (times, (name, lookup)) in times.iter_mut().zip(&mut contenders) {
            times.push((time(name, lookup, &keys, keys.len())?, time(name, lookup, &absent, 0)?));
        }
    }
    let medians: Vec<(f64, f64)> =
        times.into_iter().map(|times| times.into_iter().unzip()).map(middle).collect();
    let bare = medians[0];
    for ((name, _), (present, absent)) in contenders.iter().zip(medians) {
        println!(
            "| {name} | {present:.0} | {:.2} | {absent:.0} | {:.2} |",
            present / bare.0,
            absent / bare.1
        );
    }
    fs::remove_dir_all(folder)?;
    Ok(())
}

/// The medians of the times for keys that are there and for keys that are not.
fn middle((mut present, mut absent): (Vec<f64>, Vec<f64>)) -> (f64, f64) {
    present.sort_by(f64::total_cmp);
    absent.sort_by(f64::total_cmp);
    (present[ROUNDS / 2], absent[ROUNDS / 2])
}

fn build(folder: &Path, name: &str, count: u64) -> Outcome<()> {
    let program = std::env::current_exe()?;
    let output = Command::new(program).args([&format!("build-{name}"), &count.to_string()]).output()?;
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [wall, cpu, peak] = numbers[..] else {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    };
    let size = size(&folder.join(name))? as f64 / count as f64;
    println!("| {name} | {wall:.2} | {cpu:.2} | {peak:.0} | {size:.2} |");
    Ok(())
}

/// Seconds that opening takes: the middle of nine.
fn opening(folder: &Path) -> Outcome<f64> {
    let mut seconds = Vec::new();
    for _ in 0..9 {
        let start = Instant::now();
        drop(IndexReader::open(&LocalDisk::new(folder), folder)?);
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[4])
}

/// What opening and housekeeping cost, on a copy.
fn upkeep(folder: &Path, count: u64) -> Outcome<()> {
    let copy = folder.join("copy");
    fs::create_dir_all(&copy)?;
    for name in ["sorted", "appendix"] {
        fs::copy(folder.join("varve").join(name), copy.join(name))?;
    }
    println!("\nopening to read: {:.0} µs", opening(&copy)? * 1e6);
    let (writer, _) = IndexWriter::open(Arc::new(LocalDisk::new(&copy)), &copy, IndexOptions::default())?;
    let more: Vec<IndexEntry> = (count..count + 100_000).map(entry).collect();
    let start = Instant::now();
    for batch in more.chunks(100) {
        let _ = writer.append(batch)?;
    }
    println!("appending 100,000 entries, 100 a call: {:.0} ns an entry", start.elapsed().as_secs_f64() * 1e4);
    println!("opening to read with them waiting: {:.1} ms", opening(&copy)? * 1e3);
    let start = Instant::now();
    let done = writer.housekeeping()?;
    println!("housekeeping of {} entries: {:.2} s", done.merged, start.elapsed().as_secs_f64());
    Ok(fs::remove_dir_all(copy)?)
}

fn size(path: &Path) -> Outcome<u64> {
    if path.is_file() {
        return Ok(path.metadata()?.len());
    }
    fs::read_dir(path)?.map(|found| Ok(found?.metadata()?.len())).sum()
}

/// How many keys of a slice a contender finds.
type Lookup = Box<dyn FnMut(&[IndexPrefix]) -> Outcome<usize>>;

fn contenders(folder: &Path) -> Outcome<Vec<(&'static str, Lookup)>> {
    let index = IndexReader::open(&LocalDisk::new(&folder.join("varve")), &folder.join("varve"))?;
    let (another, again) = (index.clone(), index.clone());
    // SAFETY: the file was finished before and nothing writes to it while this runs.
    let map = unsafe { memmap2::Mmap::map(&File::open(folder.join("varve/sorted"))?)? };
    let start = u64::from_be_bytes(map[40..48].try_into()?) as usize;
    let map: &'static memmap2::Mmap = Box::leak(Box::new(map));
    let entries = map[start..].as_chunks().0;
    let sqlite = rusqlite::Connection::open(folder.join("sqlite"))?;
    sqlite.execute_batch("pragma mmap_size = 1000000000")?;
    let redb = redb::Database::open(folder.join("redb"))?;
    Ok(vec![
        ("bare interpolation", Box::new(move |keys| one_by_one(keys, |key| Ok(bare::find(entries, key.0))))),
        (
            "bare interpolation, keys known ahead",
            Box::new(move |keys| back_to_back(keys, |key| Ok(bare::find(entries, key.0)))),
        ),
        ("varve", Box::new(move |keys| one_by_one(keys, |key| Ok(first(&index.find(key)?))))),
        (
            "varve, keys known ahead",
            Box::new(move |keys| back_to_back(keys, |key| Ok(first(&another.find(key)?)))),
        ),
        (
            "varve, batch",
            Box::new(move |keys| {
                let mut found = 0;
                again.find_many(keys, |_, _| found += 1)?;
                Ok(found)
            }),
        ),
        (
            "redb",
            Box::new(move |keys| {
                let table = redb.begin_read()?.open_table(TABLE)?;
                one_by_one(keys, |key| Ok(table.get(key.0)?.map(|place| place.value())))
            }),
        ),
        (
            "SQLite, without rowid",
            Box::new(move |keys| {
                let mut select = sqlite.prepare_cached("select place from entries where prefix = ?1")?;
                one_by_one(keys, |key| {
                    Ok(select
                        .query_row([key.0 as i64], |row| row.get::<_, i64>(0))
                        .optional()?
                        .map(|place| place as u64))
                })
            }),
        ),
    ])
}

/// Looks keys up as a program does that acts on each answer: the next key is not known before the answer is. Places are
/// small here, so the top bit that the next key is chosen by is always zero, which only the answer can tell.
fn one_by_one(keys: &[IndexPrefix], mut lookup: impl FnMut(IndexPrefix) -> Outcome<Option<u64>>) -> Outcome<usize> {
    let (mut found, mut answer) = (0, 0);
    for number in 0..keys.len() {
        match lookup(keys[number + (answer >> 63) as usize])? {
            Some(place) => {
                found += 1;
                answer = place;
            }
            None => answer = 0,
        }
    }
    Ok(found)
}

/// Looks keys up in a bare loop, in which the processor itself begins the next lookup before the last is over.
fn back_to_back(keys: &[IndexPrefix], mut lookup: impl FnMut(IndexPrefix) -> Outcome<Option<u64>>) -> Outcome<usize> {
    let mut found = 0;
    for key in keys {
        found += usize::from(lookup(*key)?.is_some());
    }
    Ok(found)
}

fn first(places: &SiloPlaces) -> Option<u64> {
    places.iter().next().map(|place| u64::from(place.silo()) << 44 | place.offset())
}

/// Nanoseconds a key.
fn time(name: &str, lookup: &mut Lookup, keys: &[IndexPrefix], expected: usize) -> Outcome<f64> {
    let start = Instant::now();
    let found = lookup(keys)?;
    let elapsed = start.elapsed().as_nanos() as f64;
    if found != expected {
        return Err(format!("{name} found {found} of {expected} keys").into());
    }
    Ok(elapsed / keys.len() as f64)
}
