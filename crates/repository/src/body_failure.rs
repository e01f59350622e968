//! Reasons why the body of a page cannot be read: it is missing, it is damaged, or the operating
//! system refuses access.
//!
//! The reason is determined from the typed error, never from its message. Such a failure affects
//! only its page and is counted and reported; any other error ends the operation.

use std::collections::BTreeMap;
use std::io;

use varve_file::FolderError;
use varve_webarchive::WebArchiveError;

use crate::error::RepositoryError;

/// Maximum number of pages listed by URL per failure; the others are only counted.
const MAX_NAMED_PAGES: usize = 1000;

/// The reason why a body cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BodyFailure {
    /// The body is known but missing: a rewrite removed it, or it is lost. `audit` distinguishes
    /// the two.
    Missing,
    /// The body is present but damaged.
    Damaged,
    /// The operating system refused access, for this reason. Whether the body is intact is unknown.
    Unreadable(io::ErrorKind),
}

impl BodyFailure {
    /// Classifies an error from reading a body. Any error that is neither from the operating system
    /// nor about the kind of a file means a damaged body.
    fn of(error: &(dyn std::error::Error + 'static)) -> Self {
        let refusal = |error: &(dyn std::error::Error + 'static)| {
            let error = error.downcast_ref::<io::Error>()?;
            let is_refused = error.raw_os_error().is_some()
                || error.get_ref().is_some_and(|inner| inner.is::<FolderError>());
            is_refused.then(|| error.kind())
        };
        match std::iter::successors(Some(error), |error| error.source()).find_map(refusal) {
            Some(io::ErrorKind::NotFound) => Self::Missing,
            Some(kind) => Self::Unreadable(kind),
            None => Self::Damaged,
        }
    }
}

impl RepositoryError {
    /// The reason why a body cannot be read, if that is what this error is about. Such an error
    /// does not affect other pages.
    pub fn body_failure(&self) -> Option<BodyFailure> {
        match self {
            Self::Absent { .. } | Self::BodyLost { .. } => Some(BodyFailure::Missing),
            Self::WebArchive(WebArchiveError::NoOriginal { .. }) => Some(BodyFailure::Missing),
            Self::WebArchive(error) => Some(BodyFailure::of(error)),
            Self::Body(error) => Some(BodyFailure::of(error.carried())),
            Self::ReadObject { source, .. } => Some(BodyFailure::of(source)),
            Self::Store(error) => Some(BodyFailure::of(error)),
            _ => None,
        }
    }
}

/// Pages whose bodies cannot be read, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyFailures(BTreeMap<BodyFailure, FailedPages>);

/// Pages with the same failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailedPages {
    /// The number of pages.
    pub count: u64,
    /// The URLs of the first pages.
    pub urls: Vec<String>,
}

impl BodyFailures {
    /// Adds a page.
    pub fn add(&mut self, trouble: BodyFailure, url: &str) {
        let pages = self.0.entry(trouble).or_default();
        pages.count += 1;
        if pages.urls.len() < MAX_NAMED_PAGES {
            pages.urls.push(url.to_owned());
        }
    }

    /// Iterates over the failures.
    pub fn iter(&self) -> impl Iterator<Item = (BodyFailure, &FailedPages)> {
        self.0.iter().map(|(trouble, pages)| (*trouble, pages))
    }

    /// The number of pages with a failure that `is_such` accepts.
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
        let (id, message) = (String::new(), String::new());
        let damaged = StoreError::Damaged { id, silo: 0, offset: 0, message, misdirected: false };
        let unreadable = BodyFailure::Unreadable(io::ErrorKind::PermissionDenied);
        for (error, expected) in [
            (RepositoryError::Absent { id: String::new() }, Some(BodyFailure::Missing)),
            (object(refused(2)), Some(BodyFailure::Missing)),
            (object(refused(EACCES_CODE)), Some(unreadable)),
            // The cause is found at any depth of wrapping.
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
