//! `varve train`: a dictionary for the silos to come.

use serde::Serialize;
use varve_archive::Size;
use varve_archive::verbs::train::{self, USUAL_SIZE};

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
/// Looks at records of the archive, spread over all of it, and keeps what they have in common as `dictionary.zstd`. Silos to come
/// begin with it and are packed by it; those that exist stay as they are, and the one that grows is closed. A silo
/// holds its own copy, so it is read by itself alone. Worth its while for many pages of one make; only where records
/// are packed by zstd (`packing = \"zstd\"`).
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Train {
    /// How large the dictionary may be, 8 MiB at most
    #[arg(long, value_name = "SIZE")]
    size: Option<Size>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Line {
    samples: u64,
    bytes: u64,
    size: u64,
}

impl Verb for Train {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let writer = session.open_to_write()?;
        let size = self.size.map_or(USUAL_SIZE, |size| usize::try_from(size.0).unwrap_or(usize::MAX));
        let done = train::train(&writer, size.clamp(1 << 10, 8 << 20))?;
        if self.json {
            session.printer.json(&Line { samples: done.samples, bytes: done.bytes, size: done.size })?;
        } else {
            let (bytes, size) = (readable(done.bytes), readable(done.size));
            let seen = counted(done.samples, "record");
            session.printer.line(format_args!("a dictionary of {size} from {seen}, {bytes}"))?;
        }
        Ok(Outcome::Done)
    }
}
