//! Crawls of a web on loopback: what is asked for, what is not, and what is kept.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

mod again;
mod bounds;
mod exchanged;
mod following;
mod given_up;
mod misbehaving;
mod planned;
mod polite;
mod rendered;
mod scene;
mod spelling;
mod states;
