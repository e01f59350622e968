//! Why the body of a page cannot be had: it is not here, it is not what it was, or the system does not let it be read.
//!
//! Told from the typed error and never from its words. Such trouble costs the page that has it, and is counted and named for
//! people; whatever else fails ends the work.

use std::collections::BTreeMap;
use std::io;

use crate::error::RepositoryError;

/// So many pages are named for each kind of trouble; the others are counted.
const MAX_NAMED_PAGES: usize = 1000;

/// Why a body cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BodyFailure {
    /// It is known and not here: taken out by a rewrite, or lost, which audit tells apart.
    Missing,
    /// It is here, and not what it was.
    Damaged,
    /// The system does not let it be read, for this reason. Whether it is what it was nobody has seen.
    Unreadable(io::ErrorKind),
}

impl BodyFailure {
    /// What an error says that came of reading a body. Whatever the system did not refuse is a body that is not what it should be.
    fn of(error: &(dyn std::error::Error + 'static)) -> Self {
        let refusal = |error: &(dyn std::error::Error + 'static)| {
            let error = error.downcast_ref::<io::Error>()?;
            error.raw_os_error().map(|_| error.kind())
        };
        match std::iter::successors(Some(error), |error| error.source()).find_map(refusal) {
            Some(io::ErrorKind::NotFound) => Self::Missing,
            Some(kind) => Self::Unreadable(kind),
            None => Self::Damaged,
        }
    }
}

impl RepositoryError {
    /// Why a body cannot be had, if that is what this is about: one page's trouble, which keeps nobody from the others.
    pub fn body_failure(&self) -> Option<BodyFailure> {
        match self {
            Self::Absent { .. } | Self::BodyLost { .. } => Some(BodyFailure::Missing),
            Self::Body(error) => Some(BodyFailure::of(error.carried())),
            Self::ReadObject { source, .. } => Some(BodyFailure::of(source)),
            Self::Store(error) => Some(BodyFailure::of(error)),
            _ => None,
        }
    }
}

/// Pages whose bodies cannot be had, by the trouble that each has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyFailures(BTreeMap<BodyFailure, FailedPages>);

/// Pages that have the same trouble.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailedPages {
    /// How many there are.
    pub count: u64,
    /// The URLs of the first of them.
    pub urls: Vec<String>,
}

impl BodyFailures {
    /// Counts a page.
    pub fn add(&mut self, trouble: BodyFailure, url: &str) {
        let pages = self.0.entry(trouble).or_default();
        pages.count += 1;
        if pages.urls.len() < MAX_NAMED_PAGES {
            pages.urls.push(url.to_owned());
        }
    }

    /// Each kind of trouble that there is.
    pub fn iter(&self) -> impl Iterator<Item = (BodyFailure, &FailedPages)> {
        self.0.iter().map(|(trouble, pages)| (*trouble, pages))
    }

    /// How many pages have trouble of such a kind.
    pub fn count(&self, is_such: impl Fn(BodyFailure) -> bool) -> u64 {
        self.iter().filter(|(trouble, _)| is_such(*trouble)).map(|(_, pages)| pages.count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_core::body::BodyError;
    use varve_store::StoreError;

    #[test]
    fn why_a_body_cannot_be_had_is_told_by_what_the_system_said() {
        const EACCES_CODE: i32 = 13;
        let refused = |code: i32| io::Error::from_raw_os_error(code);
        let object = |source: io::Error| RepositoryError::ReadObject { id: String::new(), source };
        let damaged = StoreError::Damaged { id: String::new(), silo: 0, offset: 0, message: String::new() };
        let unreadable = BodyFailure::Unreadable(io::ErrorKind::PermissionDenied);
        for (error, expected) in [
            (RepositoryError::Absent { id: String::new() }, Some(BodyFailure::Missing)),
            (object(refused(2)), Some(BodyFailure::Missing)),
            (object(refused(EACCES_CODE)), Some(unreadable)),
            // However deep it is wrapped.
            (object(io::Error::other(StoreError::Content(refused(EACCES_CODE)))), Some(unreadable)),
            (RepositoryError::Body(BodyError::new(refused(EACCES_CODE))), Some(unreadable)),
            (
                RepositoryError::Body(BodyError::new(io::Error::other(StoreError::Content(refused(
                    EACCES_CODE,
                ))))),
                Some(unreadable),
            ),
            (object(io::Error::other(damaged)), Some(BodyFailure::Damaged)),
            (object(io::ErrorKind::UnexpectedEof.into()), Some(BodyFailure::Damaged)),
            (RepositoryError::NoVersions, None),
        ] {
            assert_eq!(error.body_failure(), expected, "{error:?}");
        }
    }
}
