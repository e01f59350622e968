//! One suite for every implementation of a seam.
//!
//! A suite states what callers may rely on, and each implementation's tests run it. What is particular to one is
//! tested beside it.

mod body_store;
mod medium;

pub use body_store::body_store;
pub use medium::medium;
