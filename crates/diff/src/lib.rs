//! How two captures of a page differ: by lines, by words, by nodes and by headers.
//!
//! Owns the comparison of two captures ([`compare`]), the shapes in which a difference is stored
//! and shown ([`text`], [`nodes`], [`headers`]), and [`noise`]: the rules that recognize changes
//! without meaning, such as nonces and build hashes. Knows neither network nor storage: the caller
//! passes both bodies and both header views.
//!
//! Input is hostile. Time and memory are bounded by counting work, never by a clock, so that the
//! answer depends on the input alone.

pub mod compare;
pub mod headers;
pub mod nodes;
pub mod noise;
pub mod text;
