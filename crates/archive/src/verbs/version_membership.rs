//! Selects the captures that belong to versions with a given author, message or tag.
//!
//! Used for the timeline of one URL, whose captures are found by URL and time. Each version is
//! looked up once.

use std::collections::HashMap;

use varve_core::VersionId;
use varve_core::history::{Capture, VersionFilter};

use super::cat::version_of;
use crate::error::ArchiveError;
use varve_repository::history::HistoryReader;

/// A filter for captures by the properties of their versions.
pub struct VersionMembership<'a> {
    history: &'a HistoryReader,
    filter: &'a VersionFilter,
    known: HashMap<VersionId, bool>,
}

impl<'a> VersionMembership<'a> {
    /// Selects captures of versions with the author, message and tag of this filter; its URL and
    /// times are ignored.
    pub fn new(history: &'a HistoryReader, filter: &'a VersionFilter) -> Self {
        Self { history, filter, known: HashMap::new() }
    }

    /// Whether a capture belongs to a selected version. A capture of an unfinished run belongs to
    /// none.
    pub fn takes(&mut self, capture: &Capture) -> Result<bool, ArchiveError> {
        let Some(version) = version_of(capture) else { return Ok(false) };
        if let Some(takes) = self.known.get(&version) {
            return Ok(*takes);
        }
        let info = self.history.catalog().version(&version)?;
        let takes = info.is_some_and(|info| self.filter.matches(&info));
        self.known.insert(version, takes);
        Ok(takes)
    }
}
