//! Evidence: what was found, how much it counts, and where it stands.
//!
//! Owns the shape of a piece of evidence as JSON and rows have it. Everything that adds to a score leaves evidence, so
//! that the points add up: what comes singly (a form, a password input, a cookie's missing flag) is one piece each,
//! what comes in crowds (scripts, hidden inputs, parameters) is one piece with many places.

use crate::rule::{Category, RuleId, Severity};
use crate::surface::{Place, told};
use serde::Serialize;

/// More places of one piece of evidence than these are counted and not listed.
pub const MOST_LOCATIONS: usize = 200;

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// The rule that found it.
    pub key: RuleId,
    /// The same again, which is how readers know it.
    pub rule_id: RuleId,
    /// How bad it is.
    pub severity: Severity,
    /// What it is about.
    pub category: Category,
    /// What it is called.
    pub description: String,
    /// How often it was found.
    #[serde(rename = "value")]
    pub count: usize,
    /// Where, at most [`MOST_LOCATIONS`] of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// What it adds to the exposure; for a missing header, what the header would take off the score.
    #[serde(skip_serializing_if = "is_nothing")]
    pub contribution: f64,
    /// What it adds to the exposure. 0 for a missing header.
    #[serde(skip)]
    pub exposure: f64,
}

/// What kind of place.
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

/// A place where something was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Location {
    /// What kind of place.
    #[serde(rename = "type")]
    pub kind: LocationKind,
    /// A selector that selects this element and no other; none if there is none that is sure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// What the element is known by in every version; others may be known by the same.
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
    /// Where its start tag begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_start: Option<usize>,
    /// Where its start tag has ended.
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
    /// What else is to be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Location {
    /// A place of that kind with nothing said of it.
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
    pub(crate) fn element(kind: LocationKind, descriptor: String, place: &Place) -> Self {
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

    /// A header, and what of it.
    pub(crate) fn header(name: &str, note: Option<String>) -> Self {
        Self { header_name: Some(name.to_owned()), note, ..Self::new(LocationKind::Header) }
    }

    /// What people call the place: the name of what is there, or a selector.
    pub fn told(&self) -> String {
        let element = || told(self.selector.as_deref(), &self.descriptor);
        if self.own_name().is_empty() { element() } else { self.own_name().to_owned() }
    }

    /// The name of what is no element.
    fn own_name(&self) -> &str {
        let names = [&self.note, &self.param_name, &self.cookie_name, &self.header_name];
        names.into_iter().flatten().map(String::as_str).next().unwrap_or_default()
    }

    /// What stays the same when the place moves, to know it again in another version.
    pub(crate) fn identity(&self) -> (LocationKind, &str, &str) {
        (self.kind, &self.descriptor, self.own_name())
    }
}

impl Evidence {
    /// What each single find adds to the exposure.
    pub(crate) fn exposure_each(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.exposure / self.count as f64 }
    }
}

/// For what is left out when 0.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
fn is_nothing(number: &f64) -> bool {
    *number == 0.0
}
