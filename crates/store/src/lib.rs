//! Where bytes lie.
//!
//! The store keeps objects in silos and finds them again through an index that can always be made anew from the
//! silos. It owns files and their durability. It deliberately does not know SQL, versions, URLs, terminals or clocks.
//!
//! Everything local and mutable is touched through [`disk`], so that a test can break it at any call; sealed silos may
//! lie on a [`medium`]. [`StoreWriter`] and [`Store`] are the doors.

pub mod aardwarc;
pub mod audit;
pub mod body;
mod copying;
mod derived;
mod describe;
pub mod disk;
mod error;
pub mod exchange;
mod follow;
mod held;
pub mod index;
mod keep;
pub mod lock;
mod measure;
pub mod medium;
mod object;
pub mod rebuild;
mod recover;
pub mod rewrite;
mod rooms;
pub mod samples;
mod segments;
mod settings;
pub mod silo;
mod sound;
mod state;
pub mod steps;
mod store;
mod visit;
mod writer;

pub use describe::describes_silo;
pub use error::StoreError;
pub use held::{Held, LARGEST_HELD};
pub use keep::{NewObject, Stored};
pub use object::{Object, ObjectReader};
pub use recover::Recovered;
pub use settings::Settings;
pub use store::{Located, Store};
pub use writer::{Kept, StoreWriter, Ticket};
