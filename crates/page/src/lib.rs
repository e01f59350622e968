//! What is inside a body: links, metadata, text, rewriting, charset.
//!
//! Functions from bytes to values. Knows no network and no storage: whoever holds a body hands it in, with its URL
//! and headers, and nothing here ever asks for another one. All input is hostile, so every module reads as a stream
//! or under a cap, and says in its report what it left out.

pub mod links;
pub mod metadata;
//! What is inside a body: links, metadata, text, rewriting, charset, and what it exposes.
//! Owns the reading of bodies. Deliberately knows no network and no storage: everything here is a function of the
//! bytes and headers it is given, total and bounded, so that it can be trusted with whatever the web sent.
pub mod score;
//! x
