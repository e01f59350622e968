//! Everything that is true of whole projects: the fixtures, what we write, what we interrupt, what strangers send.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test says by panicking that something is not so"
)]

mod fixture;
mod reading;
