//! `urls fmt`: rewrites every file in canonical form.

use std::path::{Path, PathBuf};

use crate::expectations::{Remark, UrlDatabase, UrlsError};

/// The result for one file.
#[derive(Debug)]
pub struct Formatted {
    /// The file.
    pub path: PathBuf,
    /// Whether it was not in canonical form; with `check`, it still is not.
    pub differs: bool,
    /// Oddities in it that were left unchanged.
    pub remarks: Vec<Remark>,
}

/// Rewrites every file in canonical form, or with `check` only reports which are not. An unusable
/// file is reported and left unchanged.
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
