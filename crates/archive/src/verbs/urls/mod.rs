//! `urls`: what URLs are expected to answer, edited and checked.
//!
//! One file a verb. All take an open [`UrlDatabase`], wherever it lies, and return plain values.

pub mod add;
pub mod check;
pub mod fmt;
pub mod list;
pub mod remove;
pub mod show;

use std::path::Path;

use crate::expectations::{Loaded, UrlDatabase, UrlsError};

/// Is told of the comments of a file, by their lines, before they are lost.
pub type OnLoss<'a> = &'a mut dyn FnMut(&Path, &[u64]);

/// Saves a file that was changed. Tells of its comments first.
fn save(database: &UrlDatabase, loaded: &Loaded, on_loss: OnLoss<'_>) -> Result<(), UrlsError> {
    tell_of_comments(loaded, on_loss);
    database.save(loaded)
}

fn tell_of_comments(loaded: &Loaded, on_loss: OnLoss<'_>) {
    if !loaded.file.comments.is_empty() {
        on_loss(&loaded.path, &loaded.file.comments);
    }
}
