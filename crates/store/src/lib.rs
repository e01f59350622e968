//! Where bytes are stored.
//!
//! The store keeps objects in silos, which are numbered WARC files, and finds them through an index
//! that can always be rebuilt from the silos. It owns files and their durability. It deliberately
//! does not know SQL, versions, URLs, terminals or clocks.
//!
//! [`StoreWriter`] writes and [`StoreReader`] reads. Files that change are accessed through
//! [`disk`], so that a test can make any single call fail; sealed silos are accessed through a
//! [`medium`].
//!
//! Modules depend on each other in one direction: `disk`, `medium` and `index` at the bottom, then
//! `record` and `silo`, then `reader`, then `verify_silo_chain` and `writer`, and on top of both `exchange`,
//! `body`, `audit`, `rebuild`, `purge` and `aardwarc`.

pub mod aardwarc;
pub mod audit;
pub mod body;
pub mod dictionary_samples;
pub mod disk;
mod error;
pub mod exchange;
pub mod index;
pub mod lock;
pub mod medium;
pub mod purge;
mod reader;
pub mod rebuild;
pub mod record;
mod settings;
pub mod silo;
pub mod steps;
mod verify_silo_chain;
mod writer;

pub use error::{StoreError, error_text, is_out_of_space};
pub use index::MIN_LOOKUP_DIGITS;
pub use reader::{LocatedRecord, Object, ObjectReader, StoreReader, VerifiedRecord};
pub use settings::StoreSettings;
pub use silo::describes_silo;
pub use verify_silo_chain::ChainBreak;
pub use writer::{
    BufferedObject, KeptRecord, MAX_BUFFERED_BYTES, NewObject, StoreRecovery, StoreWriter, StoredObject,
    Ticket,
};
