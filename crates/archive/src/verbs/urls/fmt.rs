//! `urls fmt`: every file in canonical form.

use std::path::{Path, PathBuf};

use crate::expectations::{Remark, UrlDatabase, UrlsError};

/// What was found of one file.
#[derive(Debug)]
pub struct Formatted {
    /// The file.
    pub path: PathBuf,
    /// Whether it was, or is, in another form.
    pub differs: bool,
    /// What is odd about it and was left alone.
    pub remarks: Vec<Remark>,
}

/// Brings every file into canonical form, or with `check` only says which are not. A file that cannot be used is told of
/// and left alone.
pub fn fmt<E: From<UrlsError>>(
    database: &UrlDatabase,
    check: bool,
    on_loss: super::OnLoss<'_>,
    mut each: impl FnMut(Result<Formatted, UrlsError>) -> Result<(), E>,
) -> Result<(), E> {
    let _editing = database.edit()?;
    for path in database.paths()? {
        each(one(database, &path, check, on_loss))?;
    }
    Ok(())
}

fn one(
    database: &UrlDatabase,
    path: &Path,
    check: bool,
    on_loss: super::OnLoss<'_>,
) -> Result<Formatted, UrlsError> {
    let loaded = database.load(path)?;
    let remarks = loaded.file.remarks();
    let text = loaded.file.clone().canonical().text();
    let differs = loaded.text.as_deref() != Some(&text);
    if differs {
        super::tell_of_comments(&loaded, on_loss);
        if !check {
            database.save_text(path, &text)?;
        }
    }
    Ok(Formatted { path: path.to_owned(), differs, remarks })
}
