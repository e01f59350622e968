//! Crawls of a web on loopback: which URLs are requested, which are not, and what is stored.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

mod again;
mod bounds;
mod exchanged;
mod following;
mod given_up;
mod misbehaving;
mod month;
mod planned;
mod polite;
mod recorded;
mod rendered;
mod scene;
mod spelling;
mod states;
