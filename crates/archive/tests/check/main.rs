//! Checks of a web on loopback: requests, verdicts and stored evidence.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

mod against;
mod evidence;
mod links;
mod probing;
mod scene;
