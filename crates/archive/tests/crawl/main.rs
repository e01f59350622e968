//! Crawls of a web on loopback: what is asked for, what is not, and what is kept.

mod again;
mod following;
mod misbehaving;
mod polite;
mod scene;
