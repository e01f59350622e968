//! The index: from how an id begins to where its record lies.
//!
//! It owns the folder `index/` of an archive. It deliberately does not know records, silos or full ids: it keeps sixteen
//! bytes for each, eight of which are the beginning of the id, and answers with candidates that the caller confirms in
//! the record itself. A false candidate costs a read and never an error. And it deliberately is not the truth: whatever
//! happens to it, [`Rebuild`] makes it again from the silos, byte for byte.
//!
//! # Why a lookup is so short
//!
//! Ids are hashes, spread evenly, so where an id stands in a sorted file is very nearly its value as a fraction times the
//! number of entries. How nearly, statistics tell: among ten million the guess is off by a thousand or so, which is
//! sixteen kilobytes, a handful of steps of guessing again and as many waits for memory. The original of this design
//! kept a "bias" for each of a few buckets, the correction that would never overshoot, and read forward from there. Here
//! a bucket is so small, 32 to 64 entries, and its bias so exact, the position itself at which the bucket starts,
//! that interpolating between two neighbouring biases is off by two or three entries: usually the same cache line, or
//! the next. The table costs less than one byte in a hundred and stays in the processor's cache.
//!
//! The guess is never trusted. A search ends between two neighbours that enclose the id, so ids that are not spread
//! evenly at all, or a damaged table, cost a logarithm of steps and no wrong answer.
//!
//! # Why writing is so simple
//!
//! New entries go to the end of the `appendix`, in one write. Housekeeping merges it into the sorted files now and then.
//! All of it stands on two facts: entries are never removed or changed, and an entry that is in two files counts once.
//! So every step may be interrupted, repeated or seen half done, as long as each entry is in the next file before it
//! leaves the last. [`IndexWriter::housekeeping`] spells the steps out.
//!
//! # Why there is no list of files
//!
//! A manifest naming the current files, as databases have, would make the switch from old to new files atomic. Nothing
//! here needs it to be: because entries only move forward and may be double, a reader that opens `appendix`, then
//! `appendix-<n>`, then `sorted…` sees everything whatever is going on, and the names of the sorted files, each the
//! digits its ids begin with, prove whether any is missing. A manifest would be one more file to write, to sync and to
//! lose, and names that change with every generation would make it impossible for a rebuilt index to be the same folder.
//!
//! # Rooms
//!
//! [`IndexWriter`] and [`Index`] are the doors; both ask one `view`. `appendix`, `appendices` and `memory` are the recent
//! entries as bytes, as files and as a tree; `layout`, `shard`, `shard_writer` and `batch` one sorted file; `names`,
//! `split` and `shards` all of them; `merge`, `housekeeping`, `runs` and `rebuild` make new ones; `by_place` sorts them
//! otherwise; `verify` reads it all with suspicion. Every byte is described in `docs/format-index.md`.

mod appendices;
mod appendix;
mod batch;
mod by_place;
mod entry;
mod error;
mod housekeeping;
mod layout;
mod memory;
mod merge;
mod names;
mod places;
mod reader;
mod rebuild;
mod runs;
mod shard;
mod shard_writer;
mod shards;
mod split;
mod verify;
mod view;
mod writer;

pub use appendices::Cut;
pub use by_place::ByPlace;
pub use entry::{ENTRY_SIZE, Entry, Place, PlaceError, Prefix, PrefixRange};
pub use error::IndexError;
pub use housekeeping::HousekeepingDone;
pub use places::Places;
pub use reader::Index;
pub use rebuild::{Rebuild, Rebuilt};
pub use verify::{Finding, FindingKind, Verified, verify};
pub use writer::{Appended, IndexOptions, IndexWriter, Recovery};
