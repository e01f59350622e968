//! Noise: changes between two captures of a page that no person made, such as nonces, build hashes
//! and advertisements.
//!
//! A change is noise for one of two reasons. A [rule](NoiseRule) knows the value that changed by
//! its form and its place. Or two captures taken together differ at the same place, which makes it
//! [`Volatile`]. The change keeps the name of the rule, so that nothing is hidden without a reason
//! that a user can read.
//!
//! # One implementation on nodes
//!
//! 1. `document` splits a body once into source tokens with byte ranges: tags, text, scripts,
//!    comments.
//! 2. `value` searches one token for values that a rule knows. A value needs the form of the rule,
//!    the shape of a token, hash or time, and the place that the rule asks for. `position` decides
//!    the place exactly: the attribute around the value, the element around a script, the words
//!    before a time.
//! 3. `explain` walks over two ranges of two documents in step. They differ by noise if their
//!    tokens pair up, and each pair is equal outside of the values of the same rules. The slot of
//!    an advertisement counts as one token; two slots are compared as trees, by `ad_content`.
//!
//! `nodes` applies this to a changed node, written as a fragment of HTML. `lines` applies it to the
//! byte ranges of changed lines, and the mode by words shows the same changes. `headers` applies it
//! to header values. So all modes agree, and the place of a value never depends on where a line
//! breaks.
//!
//! # What is never noise
//!
//! A value must look like what the rule says: a token is no word, no number and no address. It must
//! have the name of a token, and not merely stand near one. New or removed content is never
//! explained by a rule. A number in a sentence is a number, and a date is a person's unless the
//! words before it say that the page made it. Nothing that runs, loads or is filled in is noise
//! because of its place, except for what the slot of an advertisement shows from an origin that the
//! same slot named before.
//!
//! # Bounds
//!
//! Tokens, searched bytes, parsed slots and learned lines are all limited by constants. Content
//! past a limit is a change, never noise. Work is counted and no clock is read, so that the result
//! depends on the input alone.

mod ad_content;
mod ad_slots;
mod document;
mod explain;
mod headers;
mod learned_noise;
mod line_places;
mod lines;
mod nodes;
mod origins;
mod pattern;
mod position;
mod rules;
mod skeleton;
mod swapped_links;
mod token_shape;
mod value;

pub use document::BodySyntax;
pub use headers::{classify_headers, classify_redacted};
pub use learned_noise::Volatile;
pub use lines::classify_lines;
pub use nodes::classify_nodes;
pub use rules::NoiseRule;
