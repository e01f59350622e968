//! The index: maps the prefix of an id to the place of its record.
//!
//! Owns the folder `index/` of an archive. It deliberately does not know records, silos or full
//! ids: it has sixteen bytes for each record, eight of which are the beginning of its id, and
//! returns candidates that the caller confirms in the record itself. A false candidate costs a read
//! and never an error. The index is not the truth: [`IndexRebuild`] makes it again from the silos,
//! byte for byte.
//!
//! # Why a lookup is so short
//!
//! Ids are hashes, spread evenly, so the position of an id in a sorted file is nearly its value as
//! a fraction times the number of entries. Among ten million entries that guess is off by about a
//! thousand entries, which is sixteen kilobytes and several waits for memory. AardWARC, the model
//! of this design, has a "bias" for each of a few buckets and reads forward from there. Here a
//! bucket has 32 to 64 entries, and its bias is the exact position of its first entry.
//! Interpolation between two neighbouring biases is off by two or three entries, between every
//! eighth by about ten. Entries are read in blocks of 256, so nearly every lookup is one read of 4096
//! bytes. The table takes less than one percent of the file, and every eighth bias stays in memory.
//!
//! The guess is never trusted. A search ends between two neighbours that enclose the id, so
//! unevenly spread ids or a damaged table cost a logarithmic number of steps and never a wrong
//! result.
//!
//! # Why writing is so simple
//!
//! New entries are appended to the `appendix` in one write. Housekeeping merges it into the sorted
//! files at intervals. Two facts make this safe: entries are never removed or changed, and an entry
//! in two files counts once. So every step may be interrupted, repeated or observed half done, if
//! each entry is in the next file before it leaves the last. See [`IndexWriter::housekeeping`].
//!
//! # Why there is no list of files
//!
//! A manifest of the current files, as databases have, would make the switch from old to new files
//! atomic. That is not needed: entries only move forward and may be duplicated, so a reader that
//! opens `appendix`, then `appendix-<n>`, then `sorted…` sees every entry. The names of the sorted
//! files are the leading digits of their ids and prove whether one is missing. A manifest would be
//! one more file to write, sync and lose, and names with generation numbers would prevent a rebuilt
//! index from being identical.
//!
//! # Rooms
//!
//! [`IndexWriter`] and [`IndexReader`] are the entry points; both search one `view`. `appendix`,
//! `appendices` and `appendix_entries` are the recent entries as bytes, files and tree. `layout`,
//! `shard`, `shard_tables`, `shard_writer` and `batch_lookup` implement one sorted file; `file_names`,
//! `shard_division` and `shards` all of them. `merge`, `housekeeping`, `sorted_runs` and `rebuild`
//! write new ones, `entries_by_place` sorts by place, and `verify` checks everything.
//! `docs/format-index.md` describes every byte.

mod appendices;
mod appendix;
mod appendix_entries;
mod batch_lookup;
mod entries_by_place;
mod entry;
mod error;
mod file_names;
mod housekeeping;
mod layout;
mod merge;
mod places;
mod reader;
mod rebuild;
mod shard;
mod shard_division;
mod shard_tables;
mod shard_writer;
mod shards;
mod sorted_runs;
mod verify;
mod view;
mod writer;

pub use appendices::AppendixCut;
pub use entries_by_place::EntriesByPlace;
pub use entry::{ENTRY_SIZE, IndexEntry, IndexPrefix, MIN_LOOKUP_DIGITS, PlaceError, PrefixRange, SiloPlace};
pub use error::IndexError;
pub use housekeeping::HousekeepingDone;
pub use places::SiloPlaces;
pub use reader::IndexReader;
pub use rebuild::{IndexRebuild, IndexRebuildDone};
pub use verify::{IndexFinding, IndexFindingKind, IndexVerification, verify};
pub use writer::{Appended, IndexOptions, IndexRecovery, IndexWriter};
