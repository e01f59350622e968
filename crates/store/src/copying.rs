//! A large record that has its place in the silo, and whose bytes are on their way there.
//!
//! Whoever appends a large record takes its place while the state is held, and writes it while it is not: others append
//! behind it meanwhile. If the power fails then, recovery cuts the silo where that record begins. So what is behind it
//! stays in memory until it is whole, is not promised and does not go to the index; and there is one such record at a time.

use crate::index::Place;

/// The record that is being written.
#[derive(Clone, Copy)]
pub(crate) struct Copying {
    /// Its ticket: neither it nor a later one can be promised yet.
    pub(crate) ticket: u64,
    /// Where it begins.
    pub(crate) place: Place,
    /// Its id.
    pub(crate) id: Option<[u8; 32]>,
}
