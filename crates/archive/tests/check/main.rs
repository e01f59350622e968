//! Checks of a web on loopback: what is asked, what is found, and what is kept of it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

mod against;
mod evidence;
mod probing;
mod scene;
