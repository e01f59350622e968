//! Test doubles and contract suites.
//!
//! Knows the traits of the other crates and none of their implementations: the disks wrap or
//! implement [`varve_store::disk::Disk`], [`web`] is a test web server on loopback, and
//! [`aardwarc`] writes stores as another program does. Nothing here is part of the program.

pub mod aardwarc;
pub mod contract;
mod failing_disk;
mod memory_catalog;
mod memory_disk;
mod memory_folder;
mod memory_frontier;
mod memory_head;
mod memory_lock;
mod memory_medium;
#[cfg(target_os = "linux")]
mod opened_files;
mod parallel_runs;
mod recording_disk;
mod skip;
mod tiny_disk;
pub mod web;

pub use failing_disk::{DiskFailure, FailingDisk, FailurePlan, at_every_call};
pub use memory_catalog::{MemoryCatalog, MemoryModel};
pub use memory_disk::{MemoryDisk, PowerCut, UnsyncedBytes};
pub use memory_folder::memory_folder;
pub use memory_frontier::MemoryFrontierStore;
pub use memory_head::MemoryHead;
pub use memory_lock::MemoryLock;
pub use memory_medium::{MediumCounts, MemoryMedium};
#[cfg(target_os = "linux")]
pub use opened_files::OpenedFiles;
pub use parallel_runs::sum_in_parallel;
pub use recording_disk::{DiskCall, RecordingDisk};
pub use skip::{Requirement, chromium, fixtures, has_program, python, skip};
pub use tiny_disk::TinyDisk;
