//! Captures over HTTP.
//!
//! One process, two origins. On the first are the pages for people and what programs ask; on the second are archived pages
//! as they were, and nothing else, so that an archived script shares its origin with nothing that is ours. Both only read,
//! beside whoever writes.
//!
//! Owns HTTP: addresses, headers, policies, the pages for people. Which capture answers is decided by `varve-archive`, how a
//! body is rewritten by `varve-page`; how bodies are stored is not known here. Every answer is made on a thread that may block
//! and goes out while it is made, so that a body of any length costs a few buffers.
//!
//! A hyper server and a table of paths: what is asked for is a URL inside a URL, which routers like to decode, split and merge.

mod answer;
mod cdx;
mod connection;
mod guard;
mod pages;
mod replay;
mod request;
mod serve;
mod shelf;
mod text;
mod ui;

pub use serve::{ServeError, Server, Settings};
