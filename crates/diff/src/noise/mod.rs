//! What changes each time a page is served without anyone having changed it.
//!
//! Two ways lead to calling a change noise. A rule knows the form: a nonce, a token against forgery, the time of day, the
//! hash in the name of an asset, a session in a link. And two captures taken together teach: what differs between them is
//! [`Volatile`] at that place. Either way the change keeps the name of what explains it, so that nothing is hidden without
//! a reason that can be read.
//!
//! Both are conservative. What a rule knows must look like it (a token is no word, no number and no address) and stand where such
//! things stand (under a name that is that of a token, and not near one). A rule explains a change only if both sides are the same once the values it knows are taken
//! out; so what is new or gone is never explained by it. A number in a sentence is a number, and a date is one that people
//! wrote unless its surroundings say that it is the page's own. And nothing that can run, be
//! filled in or load something is ever noise because of where it stands: but for what the slot of an advertisement shows from
//! where it showed something before.

mod adverts;
mod context;
mod forms;
mod headers;
mod learn;
mod lines;
mod looks;
mod markup;
mod mask;
mod nodes;
mod origins;
mod pages;
mod pattern;
mod place;
mod placed;
mod rules;
mod signs;
mod skeleton;
mod slots;
mod tag;

pub use headers::{classify_headers, classify_redacted};
pub use learn::Volatile;
pub use lines::{classify_lines, separate_noise};
pub use nodes::classify_nodes;
pub use rules::{NoiseRule, RULES, Rule};
