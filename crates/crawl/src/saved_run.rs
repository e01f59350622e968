//! A run as the frontier saves it: its settings, and the versions of its stops.
//!
//! A user who stops a run has a version of its captures, and may resume it. A run that became a
//! version takes no more captures, so another run continues in its place. The version of that run
//! descends from the version of the stop, so its state is the one that an undisturbed run would have
//! made.

use serde::{Deserialize, Serialize};
use varve_core::VersionId;

use super::settings::CrawlSettings;
use crate::error::CrawlError;

/// The settings of a run and the versions of its stops. Stored with the frontier.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedRun {
    /// The settings.
    #[serde(flatten)]
    pub(crate) settings: CrawlSettings,
    /// The versions that were made when it was stopped. Each holds those before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) stop_versions: Vec<VersionId>,
}

impl SavedRun {
    /// A run that begins.
    pub(crate) fn new(settings: CrawlSettings) -> Self {
        Self { settings, stop_versions: Vec::new() }
    }

    /// The text for the frontier.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("settings can be written as JSON")
    }

    /// Reads the text of the frontier.
    pub(crate) fn parse(json: &str) -> Result<Self, CrawlError> {
        serde_json::from_str(json).map_err(CrawlError::RunSettings)
    }

    /// The version of the last stop.
    pub(crate) fn last_stop_version(&self) -> Option<VersionId> {
        self.stop_versions.last().copied()
    }
}
