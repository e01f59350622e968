//! `urls remove`: removes an expectation.

use crate::expectations::{UrlDatabase, UrlsError};

/// Removes the record of a URL, unless it is a dry run. Returns the URL in the spelling of the
/// database.
pub fn remove(
    database: &UrlDatabase,
    url: &str,
    rehearsal: bool,
    on_loss: super::OnLoss<'_>,
) -> Result<String, UrlsError> {
    let _editing = database.edit()?;
    let (mut loaded, record) = super::show::show(database, url)?;
    let removed = loaded.file.url(&record);
    loaded.file.remove(&record.path);
    if !rehearsal {
        super::save(database, &loaded, on_loss)?;
    }
    Ok(removed)
}
