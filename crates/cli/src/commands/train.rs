//! `varve train`: a dictionary for the silos to come.

use serde::Serialize;
use varve_archive::Size;
use varve_archive::verbs::train::{self, LARGEST_SIZE};

use super::{Outcome, Verb};
use crate::error::Error;
use crate::printer::{counted, readable};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve train
  varve train --size '1 MiB' --json";

/// Make a dictionary, so that records to come are smaller
///
/// Looks at records of the archive, spread over all of it, and keeps what they have in common as `dictionary.zstd`, and behind it as many
/// pages of the version at HEAD as there is room for, those first that change the most, and what they share only once: later captures of
/// these pages are packed to little more than what differs. Silos to come begin with it and are packed by it; those
/// that exist stay as they are, and the one that grows is closed. A silo holds its own copy, packed, so it is read by
/// itself alone; whoever reads or writes such a silo holds the dictionary in memory, some times over. Worth its while for pages
/// of one make that are captured again and again, and again when the make has changed; only where records are packed by zstd (`packing = "zstd"`).
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Train {
    /// How large the dictionary may be: from 1 KiB to 8 MiB, which it is if nobody says; up to 112 KiB holds no pages
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    size: Option<Size>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// No dictionary is smaller: there would be nothing in it.
const SMALLEST_SIZE: u64 = 1 << 10;

fn parse_size(text: &str) -> Result<Size, String> {
    let size: Size = text.parse().map_err(|error| format!("{error}"))?;
    match (SMALLEST_SIZE..=LARGEST_SIZE as u64).contains(&size.0) {
        true => Ok(size),
        false => Err("a dictionary has from 1 KiB to 8 MiB: readers must hold it in memory".to_owned()),
    }
}

#[derive(Serialize)]
struct Line {
    samples: u64,
    bytes: u64,
    pages: u64,
    size: u64,
    packed: u64,
}

impl Verb for Train {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let history = session.open_archive_history()?;
        let size = self.size.map_or(LARGEST_SIZE, |size| usize::try_from(size.0).unwrap_or(usize::MAX));
        let done = train::train(&history, size)?;
        let train::Trained { samples, bytes, pages, size, packed } = done;
        if self.json {
            session.printer.json(&Line { samples, bytes, pages, size, packed })?;
        } else {
            let (bytes, size, packed) = (readable(bytes), readable(size), readable(packed));
            let (seen, pages) = (counted(samples, "record"), counted(pages, "page"));
            let text =
                format_args!("a dictionary of {size}, packed {packed}, from {seen}, {bytes}, and {pages}");
            session.printer.line(text)?;
        }
        Ok(Outcome::Done)
    }
}
