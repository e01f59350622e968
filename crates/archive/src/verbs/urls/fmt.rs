//! `urls fmt`: rewrites every file in canonical form.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::expectations::{DomainFile, Place, Remark, UrlDatabase, UrlsError};

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
    let mut claims = HashMap::new();
    for path in database.paths()? {
        each(one(database, &path, &mut claims, check, on_loss))?;
    }
    Ok(())
}

/// Remarks on names of a domain that a file before it has as well: which of the two answers for the
/// name would depend on their order.
fn repeated_claims(claims: &mut HashMap<String, String>, file: &DomainFile) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let names: BTreeSet<&String> = std::iter::once(&file.name).chain(file.domain.cnames()).collect();
    for name in names {
        match claims.entry(name.to_ascii_lowercase()) {
            Entry::Vacant(free) => drop(free.insert(file.name.clone())),
            Entry::Occupied(taken) => {
                let message = format!("the name `{name}` is also that of `{}`", taken.get());
                remarks.push(Remark { place: Place::START, path: None, message: message.into() });
            }
        }
    }
    remarks
}

fn one(
    database: &UrlDatabase,
    path: &Path,
    claims: &mut HashMap<String, String>,
    check: bool,
    on_loss: super::OnLoss<'_>,
) -> Result<Formatted, UrlsError> {
    let mut loaded = database.load_to_format(path)?;
    let mut remarks = loaded.file.remarks();
    remarks.extend(repeated_claims(claims, &loaded.file));
    loaded.file = loaded.file.canonical();
    let text = loaded.file.text();
    let differs = loaded.text != text;
    if differs {
        super::tell_of_comments(&loaded, on_loss);
        if !check {
            database.save_text(path, &text)?;
        }
    }
    Ok(Formatted { path: path.to_owned(), differs, remarks })
}
