//! The verbs, one file each, paired with the file of the same name in the command line.
//!
//! A verb takes plain values and returns plain values. The words of `varve-core` that it speaks in are exported
//! beside it, so that a caller needs this crate alone.

pub mod doctor;
pub mod explain;
pub mod key;
