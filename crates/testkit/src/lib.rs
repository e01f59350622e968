//! What tests need to break things on purpose.
//!
//! It knows the seams of the other crates and none of their implementations: a disk here wraps or plays any
//! [`varve_store::disk::Disk`], [`web`] plays the live web on loopback, and
//! [`aardwarc`] lays out a store as another program does. Nothing in it is part of the program.

pub mod aardwarc;
mod broken_disk;
pub mod contract;
mod memory_disk;
mod skip;
mod tiny_disk;
pub mod web;

pub use broken_disk::{BrokenDisk, Failure, Plan, at_every_call};
pub use memory_disk::{Bytes, MemoryDisk, PowerCut};
pub use skip::{Requirement, chromium, fixtures, has_program, python, skip};
pub use tiny_disk::TinyDisk;
