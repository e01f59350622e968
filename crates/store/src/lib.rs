//! Where bytes lie.
//!
//! The store keeps objects in silos and finds them again through an index that can always be made anew from the
//! silos. It owns files and their durability. It deliberately does not know SQL, versions, URLs, terminals or clocks.
//!
//! Everything local and mutable is touched through [`disk`], so that a test can break it at any call.

pub mod disk;
pub mod index;
