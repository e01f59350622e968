//! What is inside a body: tokens, links, metadata, charset and tree, and the same body with other
//! links.
//!
//! Functions from bytes to values. The caller passes a body with its URL and headers; nothing here
//! knows a network or storage. All input is hostile, so every module reads a stream or has a limit,
//! and reports what it left out.

pub mod anchors;
pub mod charset;
pub mod dom;
pub mod kind;
pub mod links;
pub mod markdown;
pub mod metadata;
pub mod rewrite;
pub mod tokenizer;
