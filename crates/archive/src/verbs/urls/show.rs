//! `urls show`: shows the expectation for one URL.

use crate::expectations::{Expectation, Loaded, Target, UrlDatabase, UrlsError};

/// The record of a URL, and the file that contains it.
pub fn show(database: &UrlDatabase, url: &str) -> Result<(Loaded, Expectation), UrlsError> {
    let target = Target::parse(url)?;
    let loaded = database.find(&target)?;
    let path = target.path_in(&loaded.file);
    // A path that was written by hand may have another spelling.
    let found = loaded.file.find(&path).or_else(|| loaded.file.find(target.path_as_given()));
    match found.cloned() {
        Some(record) => Ok((loaded, record)),
        None => Err(UrlsError::Unexpected { url: loaded.file.url(&Expectation::new(path)) }),
    }
}

/// The record as a YAML document.
pub fn text(record: &Expectation) -> String {
    varve_yaml::emit([&record.value()])
}
