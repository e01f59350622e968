//! Makes an archive of very many tiny records, as quickly as the store takes them: `tiny FOLDER COUNT`.

use std::path::Path;
use std::sync::Arc;

use varve_archive::verbs::init::init;
use varve_archive::{ArchiveSettings, ArchiveWriter, Date, Opening};
use varve_store::NewObject;

fn main() {
    let mut words = std::env::args().skip(1);
    let (Some(folder), Some(Ok(count))) = (words.next(), words.next().map(|word| word.parse::<u64>())) else {
        panic!("usage: tiny FOLDER COUNT");
    };
    let root = Path::new(&folder);
    init(root, &ArchiveSettings::new("tiny"), opening()).expect("an empty folder");
    let writer = ArchiveWriter::open(root, opening()).expect("an archive");
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let writer = &writer;
            scope.spawn(move || store(writer, (thread..count).step_by(threads as usize)));
        }
    });
    writer.store().sync().expect("durable");
}

fn opening() -> Opening {
    let date = Date::parse(b"2026-11-15T12:00:00Z").expect("a date");
    Opening { holder: "bench".into(), software: "varve bench".into(), clock: Arc::new(move || date) }
}

fn store(writer: &ArchiveWriter, numbers: impl Iterator<Item = u64>) {
    let mut packer = writer.store().packer().expect("a packer");
    let object =
        NewObject { date: writer.now(), content_type: "text/plain".into(), refers_to: None, known: None };
    for number in numbers {
        writer.store().store_bytes(&mut packer, &object, number.to_string().as_bytes()).expect("stored");
        // Not to hold all entries in memory until the end.
        if number % 65_536 < 2 {
            writer.store().sync().expect("durable");
        }
    }
}
