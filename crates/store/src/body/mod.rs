//! The body stores: silos and loose files.
//!
//! Both implement the traits of `varve_core::body`, and one contract suite in the testkit runs over
//! each.

mod loose_bodies;
mod loose_files;
mod silo_bodies;
mod verified_body;

pub use loose_bodies::{LooseBodies, too_long_body};
pub use loose_files::LooseFile;
pub(crate) use silo_bodies::read_head;
