//! Everything that is true of whole projects: the fixtures, what we write, what we interrupt, what
//! strangers send.

#![expect(clippy::unwrap_used, reason = "a test says by panicking that something is not so")]

mod checklist;
mod durability;
mod fixture;
mod hostile;
#[path = "../made/mod.rs"]
mod made;
mod migrating;
mod opening;
mod other_kinds;
mod packing;
mod reading;
mod saving;
mod stuck;
mod vectors;
mod verifying;
mod writing;
