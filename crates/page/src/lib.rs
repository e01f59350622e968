//! What is inside a body: charset, kind, tree, and how two bodies differ.
//!
//! Owns the reading of what people put on the web: text in any encoding, HTML however broken. Deliberately knows no network
//! and no storage: it is given bytes and headers, and answers with values. All of it is hostile: sizes, depths and costs
//! are capped, and what was left out is said.

pub mod charset;
pub mod compare;
pub mod dom;
pub mod dom_diff;
pub mod kind;
pub mod noise;
