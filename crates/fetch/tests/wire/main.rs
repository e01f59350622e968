//! The client against real sockets on loopback, and servers that misbehave in every way a server
//! can.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

mod connections;
mod encrypted;
mod guarded;
mod hostile;
mod proxied;
mod server;
