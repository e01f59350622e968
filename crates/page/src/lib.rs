//! What is inside a body: links, metadata, charset, how two of them differ, and the same body with other links.
//!
//! Functions from bytes to values. Knows no network and no storage: whoever holds a body hands it in, with its URL
//! and headers, and nothing here ever asks for another one. All input is hostile, so every module reads as a stream
//! or under a cap, and says in its report what it left out.

pub mod charset;
pub mod dom;
pub mod kind;
pub mod links;
pub mod metadata;
pub mod rewrite;
pub mod tokenizer;
