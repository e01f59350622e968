//! Evidence: findings with points and places.
//!
//! Owns the form of evidence in JSON and rows. Everything that adds to a score has evidence, so
//! that points add up. Forms, password inputs and missing flags of cookies have one piece of
//! evidence each; scripts, hidden inputs and parameters have one piece with many places.

use crate::rule_id::{ExposureSeverity, RuleCategory, RuleId};
use crate::surface::{ElementPlace, told};
use serde::Serialize;

/// Maximum number of listed places of one piece of evidence. Further ones are counted.
pub const MAX_EVIDENCE_LOCATIONS: usize = 200;

/// A finding of a rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExposureEvidence {
    /// The rule that found it.
    pub key: RuleId,
    /// The same, under its public name.
    pub rule_id: RuleId,
    /// Its severity.
    pub severity: ExposureSeverity,
    /// Its category.
    pub category: RuleCategory,
    /// Its title.
    pub description: String,
    /// The number of findings.
    #[serde(rename = "value")]
    pub count: usize,
    /// The places, at most [`MAX_EVIDENCE_LOCATIONS`] of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<EvidenceLocation>,
    /// The points that it adds to the exposure; for a missing header, the points that the header
    /// would take off.
    #[serde(skip_serializing_if = "is_nothing")]
    pub contribution: f64,
    /// The points that it adds to the exposure. 0 for a missing header.
    #[serde(skip)]
    pub exposure: f64,
}

/// The kind of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LocationKind {
    /// A form.
    Form,
    /// An input of a form.
    Input,
    /// A script.
    Script,
    /// A frame.
    Frame,
    /// Another element.
    Element,
    /// A cookie.
    Cookie,
    /// A header.
    Header,
    /// A parameter.
    Param,
}

/// The place of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvidenceLocation {
    /// The kind of a place.
    #[serde(rename = "type")]
    pub kind: LocationKind,
    /// A selector that selects only this element, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// The descriptor of the element, the same in all versions. Several elements may share it.
    #[serde(skip)]
    pub descriptor: String,
    /// The page, by its path in the working tree.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file_path: String,
    /// The page, by its capture.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub snapshot_id: String,
    /// The number of the form that the element is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_dom_index: Option<usize>,
    /// The number of the element among its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dom_index: Option<usize>,
    /// The offset of its start tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_start: Option<usize>,
    /// The offset behind its start tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_end: Option<usize>,
    /// Its first line, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_start: Option<usize>,
    /// The last line of its start tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_end: Option<usize>,
    /// The header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header_name: Option<String>,
    /// The cookie.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cookie_name: Option<String>,
    /// The parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub param_name: Option<String>,
    /// A note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl EvidenceLocation {
    /// An empty place of that kind.
    pub(crate) const fn new(kind: LocationKind) -> Self {
        Self {
            kind,
            selector: None,
            descriptor: String::new(),
            file_path: String::new(),
            snapshot_id: String::new(),
            parent_dom_index: None,
            dom_index: None,
            byte_start: None,
            byte_end: None,
            line_start: None,
            line_end: None,
            header_name: None,
            cookie_name: None,
            param_name: None,
            note: None,
        }
    }

    /// An element of the body.
    pub(crate) fn element(kind: LocationKind, descriptor: String, place: &ElementPlace) -> Self {
        let line = |line: usize| (line > 0).then_some(line);
        Self {
            selector: place.selector.clone(),
            descriptor,
            byte_start: place.bytes.as_ref().map(|bytes| bytes.start),
            byte_end: place.bytes.as_ref().map(|bytes| bytes.end),
            line_start: line(place.lines.0),
            line_end: line(place.lines.1),
            ..Self::new(kind)
        }
    }

    /// The same with the element's number.
    pub(crate) fn numbered(self, index: usize) -> Self {
        Self { dom_index: Some(index), ..self }
    }

    /// A cookie.
    pub(crate) fn cookie(name: &str) -> Self {
        Self { cookie_name: Some(name.to_owned()), ..Self::new(LocationKind::Cookie) }
    }

    /// A header, and a note.
    pub(crate) fn header(name: &str, note: Option<String>) -> Self {
        Self { header_name: Some(name.to_owned()), note, ..Self::new(LocationKind::Header) }
    }

    /// The place in sentences: a name or a selector.
    pub fn told(&self) -> String {
        let element = || told(self.selector.as_deref(), &self.descriptor);
        if self.own_name().is_empty() { element() } else { self.own_name().to_owned() }
    }

    /// The name of a cookie, header or parameter.
    fn own_name(&self) -> &str {
        let names = [&self.note, &self.param_name, &self.cookie_name, &self.header_name];
        names.into_iter().flatten().map(String::as_str).next().unwrap_or_default()
    }

    /// The key of the place, which stays when it moves.
    pub(crate) fn identity(&self) -> (LocationKind, &str, &str) {
        (self.kind, &self.descriptor, self.own_name())
    }
}

impl ExposureEvidence {
    /// The points of each finding.
    pub(crate) fn exposure_each(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.exposure / self.count as f64 }
    }
}

/// For fields that are left out if 0.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
fn is_nothing(number: &f64) -> bool {
    *number == 0.0
}
