//! Extractions of earlier captures. They are computed when asked for, and not saved.

use serde::Serialize;
use varve_core::{CaptureId, Moment, VersionId};

/// A field of a page object that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    /// The name of the field, as in the page object.
    pub field: String,
    /// Its value before; `None` if it was absent.
    pub before: Option<serde_json::Value>,
    /// Its value since; `None` if it is absent.
    pub after: Option<serde_json::Value>,
}

/// The fields of a page that changed with one capture. The first capture of a page sets all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageChanges {
    /// When the page was captured.
    pub time: Moment,
    /// The version that the capture belongs to.
    pub version: Option<VersionId>,
    /// The capture.
    pub capture: CaptureId,
    /// The status of the response.
    pub status: u16,
    /// The fields, in the order of the page object.
    pub changes: Vec<FieldChange>,
}
