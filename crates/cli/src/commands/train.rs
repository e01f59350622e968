//! `varve train`: makes a compression dictionary.

use varve_archive::ByteSize;
use varve_archive::verbs::train::{self, MAX_DICTIONARY_BYTES};

use crate::printer::{counted, human_size};
use crate::verb::{Error, ExitStatus, Session, Verb};

/// Make a dictionary, so that new records are smaller
///
/// Samples records from the whole archive, and stores their common parts as `dictionary.zstd`,
/// followed by pages of the version at HEAD as space allows. Pages that change most come first, and
/// shared parts are stored once: later captures of these pages compress to little more than their
/// differences. New silos begin with the dictionary and are compressed with it. Existing silos stay
/// as they are, and the open one is sealed. Each silo contains its own copy, so it can be read
/// alone; reading and writing such a silo holds the dictionary in memory several times.
///
/// Useful for pages with a common template that are captured again and again; train again when the
/// template changes. Needs zstd silos (`packing = "zstd"`).
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve train
  varve train --size '1 MiB' --json")]
pub(super) struct TrainArgs {
    /// Maximum size of the dictionary, from 1 KiB to 8 MiB [default: 8 MiB]; up to 112 KiB it
    /// contains no pages
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    size: Option<ByteSize>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A smaller dictionary would be empty.
const MIN_DICTIONARY_BYTES: u64 = 1 << 10;

fn parse_size(text: &str) -> Result<ByteSize, String> {
    let size: ByteSize = text.parse().map_err(|error| format!("{error}"))?;
    match (MIN_DICTIONARY_BYTES..=MAX_DICTIONARY_BYTES as u64).contains(&size.0) {
        true => Ok(size),
        false => Err("a dictionary has 1 KiB to 8 MiB, because readers hold it in memory".to_owned()),
    }
}

impl Verb for TrainArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let history = session.open_archive_history()?;
        let size =
            self.size.map_or(MAX_DICTIONARY_BYTES, |size| usize::try_from(size.0).unwrap_or(usize::MAX));
        let done = train::train(&history, size)?;
        if self.json {
            session.printer.json(&done)?;
        } else {
            let train::Trained { samples, bytes, pages, size, packed } = done;
            let (bytes, size, packed) = (human_size(bytes), human_size(size), human_size(packed));
            let (seen, pages) = (counted(samples, "record"), counted(pages, "page"));
            let text = format_args!(
                "a dictionary of {size} ({packed} compressed) from {seen}, {bytes}, and {pages}"
            );
            session.printer.line(text)?;
        }
        Ok(ExitStatus::Done)
    }
}
