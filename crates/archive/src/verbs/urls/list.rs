//! `urls list`: lists every URL with an expectation.

use crate::expectations::{DomainFile, Expectation, Loaded, UrlDatabase, UrlsError};

/// Selects expectations; an empty filter selects all.
#[derive(Clone, Debug, Default)]
pub struct UrlFilter {
    /// Those with this category.
    pub category: Option<String>,
    /// Those of this domain, by its name or an alias.
    pub domain: Option<String>,
    /// Those whose path has this prefix.
    pub path_prefix: Option<String>,
}

impl UrlFilter {
    /// Whether the filter selects a record.
    pub fn takes(&self, record: &Expectation) -> bool {
        self.category.as_deref().is_none_or(|category| record.has_category(category))
            && self.path_prefix.as_deref().is_none_or(|prefix| record.path.starts_with(prefix))
    }

    /// Whether the filter selects the domain of a file.
    pub fn takes_domain(&self, file: &DomainFile) -> bool {
        let is = |name: &String, wanted: &str| name.eq_ignore_ascii_case(wanted);
        self.domain.as_deref().is_none_or(|wanted| {
            is(&file.name, wanted) || file.domain.cnames().iter().any(|name| is(name, wanted))
        })
    }
}

/// The files that a filter selects, in the order of their names. A named domain must exist.
pub fn files(database: &UrlDatabase, filter: &UrlFilter) -> Result<Vec<Loaded>, UrlsError> {
    let mut heads = database.heads()?;
    heads.retain(|head| filter.takes_domain(&head.file));
    let files = heads.iter().map(|head| database.load(&head.path)).collect::<Result<Vec<_>, _>>()?;
    match &filter.domain {
        Some(host) if files.is_empty() => Err(UrlsError::UnknownDomain { host: host.clone() }),
        _ => Ok(files),
    }
}

/// Calls `each` for every expectation that a filter selects, in the order of domains and then of
/// files.
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
