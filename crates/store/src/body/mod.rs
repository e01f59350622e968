//! Bodies, in three ways: in silos, as loose files, in memory.
//!
//! One contract for all of them (`varve_core::body`), and one suite of tests, in the testkit.

mod loose;
mod loose_files;
mod memory;
mod silo;

pub use loose::LooseBodies;
pub use loose_files::LooseFile;
pub use memory::MemoryBodies;
