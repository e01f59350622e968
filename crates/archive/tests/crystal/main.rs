//! Crystal projects beside archives: read in their place, brought in, and brought out again as they were.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

mod capture;
mod doors;
mod in_place;
mod planned;
mod project;
mod warc;
