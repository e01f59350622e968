//! `urls`: edits and checks the expected responses of URLs.
//!
//! One file per verb. All take an open [`UrlDatabase`] at any location, and return plain values.

pub mod add;
pub mod check;
pub mod fmt;
pub mod list;
pub mod remove;
pub mod show;

use std::path::Path;

use crate::expectations::{Loaded, UrlDatabase, UrlsError};

/// Called with a file and the line numbers of its comments before they are lost.
pub type OnLoss<'a> = &'a mut dyn FnMut(&Path, &[u64]);

/// Saves a changed file. Reports its comments first.
fn save(database: &UrlDatabase, loaded: &Loaded, on_loss: OnLoss<'_>) -> Result<(), UrlsError> {
    tell_of_comments(loaded, on_loss);
    database.save(loaded)
}

fn tell_of_comments(loaded: &Loaded, on_loss: OnLoss<'_>) {
    if !loaded.file.comments.is_empty() {
        on_loss(&loaded.path, &loaded.file.comments);
    }
}
