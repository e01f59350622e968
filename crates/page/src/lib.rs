//! What is inside a body: links, metadata, text, rewriting, charset, and what it exposes.
//!
//! Owns the reading of bodies. Deliberately knows no network and no storage: everything here is a function of the
//! bytes and headers it is given, total and bounded, so that it can be trusted with whatever the web sent.

pub mod score;
