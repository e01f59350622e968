//! Files that appear under their name whole or not at all.
//!
//! [`NewFile`] is written first and named last. [`replace()`] puts new content in the place of an existing file. Neither
//! leaves a partial file when the process is killed.

mod new_file;
mod replace;

pub use new_file::{NewFile, NotNamed};
pub use replace::replace;
