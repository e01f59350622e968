//! Bodies, in three ways: in silos, as loose files, in memory.
//!
//! One contract for all of them (`varve_core::body`), and one suite of tests, in the testkit.

mod loose;
mod memory;
mod silo;
mod sweep;

pub use loose::LooseBodies;
pub use memory::MemoryBodies;
pub use sweep::LooseFile;
