//! Crystal projects: read in place, captured into, imported, and exported again.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

mod capture;
mod doors;
mod in_place;
mod planned;
mod project;
mod warc;
