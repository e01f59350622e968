//! The body stores: silos, loose files and memory.
//!
//! All implement the traits of `varve_core::body`, and one contract suite in the testkit runs over
//! each.

mod loose_bodies;
mod loose_files;
mod memory_bodies;
mod silo_bodies;

pub use loose_bodies::LooseBodies;
pub use loose_files::LooseFile;
pub use memory_bodies::MemoryBodies;
