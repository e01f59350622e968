//! What is inside a body: links, metadata, charset, what it exposes, and how two of them differ.
//!
//! Functions from bytes to values. Knows no network and no storage: whoever holds a body hands it in, with its URL
//! and headers, and nothing here ever asks for another one. All input is hostile, so every module reads as a stream
//! or under a cap, and says in its report what it left out.

pub mod links;
pub mod metadata;
pub mod score;
//! What is inside a body: charset, kind, tree, and how two bodies differ.
//! Owns the reading of what people put on the web: text in any encoding, HTML however broken. Deliberately knows no network
//! and no storage: it is given bytes and headers, and answers with values. All of it is hostile: sizes, depths and costs
//! are capped, and what was left out is said.
pub mod charset;
pub mod compare;
pub mod dom;
pub mod dom_diff;
pub mod kind;
pub mod noise;
