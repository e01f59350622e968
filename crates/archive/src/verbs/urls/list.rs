//! `urls list`: every URL that something is expected of.

use crate::expectations::{DomainFile, Expectation, Loaded, UrlDatabase, UrlsError};

/// Which expectations are meant; without anything, all.
#[derive(Clone, Debug, Default)]
pub struct UrlFilter {
    /// Those that have this category.
    pub category: Option<String>,
    /// Those of this domain, by its name or an alias.
    pub domain: Option<String>,
    /// Those whose path begins so.
    pub path_prefix: Option<String>,
}

impl UrlFilter {
    /// Whether a record is meant.
    pub fn takes(&self, record: &Expectation) -> bool {
        self.category.as_deref().is_none_or(|category| record.has_category(category))
            && self.path_prefix.as_deref().is_none_or(|prefix| record.path.starts_with(prefix))
    }

    /// Whether the domain of a file is meant.
    pub fn takes_domain(&self, file: &DomainFile) -> bool {
        let is = |name: &String, wanted: &str| name.eq_ignore_ascii_case(wanted);
        self.domain.as_deref().is_none_or(|wanted| {
            is(&file.name, wanted) || file.domain.cnames().iter().any(|name| is(name, wanted))
        })
    }
}

/// The files that a filter takes, in the order of their names. A domain that was named must be there.
pub fn files(database: &UrlDatabase, filter: &UrlFilter) -> Result<Vec<Loaded>, UrlsError> {
    let mut files = database.load_all()?;
    files.retain(|loaded| filter.takes_domain(&loaded.file));
    match &filter.domain {
        Some(host) if files.is_empty() => Err(UrlsError::UnknownDomain { host: host.clone() }),
        _ => Ok(files),
    }
}

/// Calls `each` for every expectation that a filter takes, in the order of domains and then of files.
pub fn list<E: From<UrlsError>>(
    database: &UrlDatabase,
    filter: &UrlFilter,
    mut each: impl FnMut(&DomainFile, &Expectation) -> Result<(), E>,
) -> Result<(), E> {
    for loaded in files(database, filter)? {
        for record in loaded.file.records.iter().filter(|record| filter.takes(record)) {
            each(&loaded.file, record)?;
        }
    }
    Ok(())
}
