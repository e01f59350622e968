//! The attack surface of a page: everything that a visitor can use or manipulate.
//!
//! Owns its JSON form, with the names and omissions of the original (`dom_index` 0 and empty lists
//! are left out). Places in the body are not part of the JSON; [evidence](crate::evidence) has
//! them.

use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;

/// The place of an element in a body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ElementPlace {
    /// The byte range of its start tag. `None` if the body was transcoded.
    pub bytes: Option<Range<usize>>,
    /// Its first and last line, counted from 1; 0 without a place.
    pub lines: (usize, usize),
    /// A selector that selects only this element, if there is one.
    pub selector: Option<String>,
    /// The offset of the tag in the scanned text.
    pub(crate) start: usize,
}

impl ElementPlace {
    /// The name of the element in sentences, which identifies it.
    pub(crate) fn told(&self, descriptor: &str) -> String {
        let name = told(self.selector.as_deref(), descriptor);
        // A selector by attribute identifies the element; a path needs the descriptor as well.
        let is_by_attribute = self.selector.as_ref().is_some_and(|selector| selector.contains('['));
        match self.lines.0 {
            line if line > 0 && !is_by_attribute => format!("{name}, line {line}"),
            _ => name,
        }
    }
}

/// A selector, after the descriptor if that adds information.
pub(crate) fn told(selector: Option<&str>, descriptor: &str) -> String {
    let attributes = descriptor.find('[').map(|at| &descriptor[at..]);
    match selector {
        Some(selector) if attributes.is_some_and(|attributes| !selector.contains(attributes)) => {
            format!("{descriptor}, {selector}")
        }
        Some(selector) => selector.to_owned(),
        None => descriptor.to_owned(),
    }
}

/// The attack surface of a page.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct AttackSurface {
    /// The address of the page.
    pub url: String,
    /// The capture that this was collected from.
    pub snapshot_id: String,
    /// When, as RFC 3339.
    pub collected_at: String,
    /// The status of the response.
    pub status_code: u16,
    /// The headers, lower-case names, sorted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Vec<String>>,
    /// The cookies that are set, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cookies: Vec<PageCookie>,
    /// The names in the query.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub get_params: Vec<RequestParameter>,
    /// The names that forms send.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub post_params: Vec<RequestParameter>,
    /// The forms, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forms: Vec<PageForm>,
    /// The scripts, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<PageScript>,
    /// The frames, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<PageFrame>,
    /// The media type of the body.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub content_type: String,
    /// Elements that the JSON of the original does not have.
    #[serde(skip)]
    pub elements: RiskyElements,
    /// Whether cookies are redacted.
    #[serde(skip)]
    pub has_redacted_cookies: bool,
    /// Whether a limit was reached.
    #[serde(skip)]
    pub is_truncated: bool,
}

/// Elements besides forms, scripts and frames that raise the exposure of a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RiskyElements {
    /// Elements of an HTTPS page that load over HTTP.
    pub insecure: Vec<InsecureElement>,
    /// Elements with inline handlers.
    pub handlers: Vec<InlineHandler>,
    /// Other outbound elements.
    pub outbound: Vec<OutboundElement>,
}

/// A cookie that a response sets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct PageCookie {
    /// Its name.
    pub name: String,
    /// The `Domain` attribute.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub domain: String,
    /// The `Path` attribute.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Whether it is `Secure`.
    pub secure: bool,
    /// Whether it is `HttpOnly`.
    pub http_only: bool,
    /// The `SameSite` attribute, as written.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub same_site: String,
}

/// A parameter of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestParameter {
    /// The name.
    pub name: String,
    /// `query` or `form`.
    pub origin: String,
    /// The place of the input, for parameters of forms.
    #[serde(skip)]
    pub place: ElementPlace,
}

/// A form.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct PageForm {
    /// Its action, as written.
    pub action: String,
    /// In upper case; `GET` if not given.
    pub method: String,
    /// The inputs that have names, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<FormInput>,
    /// The number of the form in the page.
    #[serde(skip_serializing_if = "is_zero")]
    pub dom_index: usize,
    /// Its `id`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dom_id: String,
    /// Its classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dom_classes: Vec<String>,
    /// Its place.
    #[serde(skip)]
    pub place: ElementPlace,
    /// Its resolved action; as written if that is no URL.
    #[serde(skip)]
    pub target: String,
    /// Whether it sends over HTTP from an HTTPS page.
    #[serde(skip)]
    pub is_insecure: bool,
    /// Whether it sends to another site.
    #[serde(skip)]
    pub is_third_party: bool,
}

/// A named `input`, `textarea` or `select` of a form.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct FormInput {
    /// Its name.
    pub name: String,
    /// Its type in lower case; `text` if not given.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it is required.
    pub required: bool,
    /// The number of the input in its form, inputs without a name included.
    #[serde(skip_serializing_if = "is_zero")]
    pub dom_index: usize,
    /// Its `id`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dom_id: String,
    /// Its classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dom_classes: Vec<String>,
    /// Its place.
    #[serde(skip)]
    pub place: ElementPlace,
}

/// A script.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct PageScript {
    /// Its address, as written.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub src: String,
    /// Whether it is inline.
    pub inline: bool,
    /// The number of the script in the page.
    #[serde(skip_serializing_if = "is_zero")]
    pub dom_index: usize,
    /// Whether another site serves it.
    #[serde(skip_serializing_if = "is_false")]
    pub third_party: bool,
    /// Whether it has an `integrity` attribute.
    #[serde(skip_serializing_if = "is_false")]
    pub integrity: bool,
    /// The address of a script in SVG, as written. Such a script has no `src` and counts as inline.
    #[serde(skip)]
    pub svg_href: String,
    /// Its place.
    #[serde(skip)]
    pub place: ElementPlace,
}

/// An `iframe` or `frame`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct PageFrame {
    /// Its address, as written.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub src: String,
    /// The number of the frame in the page.
    #[serde(skip_serializing_if = "is_zero")]
    pub dom_index: usize,
    /// Whether it shows another site.
    #[serde(skip_serializing_if = "is_false")]
    pub third_party: bool,
    /// Whether it is sandboxed.
    #[serde(skip_serializing_if = "is_false")]
    pub sandbox: bool,
    /// Its place.
    #[serde(skip)]
    pub place: ElementPlace,
}

/// An element of an HTTPS page that loads over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsecureElement {
    /// Whether it is active content: a script, a style, a frame.
    pub is_active: bool,
    /// The descriptor of the element.
    pub descriptor: String,
    /// Its place.
    pub place: ElementPlace,
}

/// An element with inline handlers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineHandler {
    /// The descriptor of the element.
    pub descriptor: String,
    /// The scripts of all its attributes.
    pub code: String,
    /// Its place.
    pub place: ElementPlace,
}

/// The kind of an outbound element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboundKind {
    /// A `base`.
    Base,
    /// A button with its own target.
    Submitter,
    /// An `object` or `embed`.
    Embed,
    /// A refresh to another address.
    Refresh,
    /// An address that is a script.
    ScriptLink,
    /// A module that a script in the page imports.
    Module,
}

/// An outbound element of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundElement {
    /// Its kind.
    pub kind: OutboundKind,
    /// Its resolved target; for an address that is a script, the script.
    pub target: String,
    /// Whether the target is another site.
    pub third_party: bool,
    /// Whether the target of an HTTPS page is HTTP.
    pub insecure: bool,
    /// The descriptor of the element.
    pub descriptor: String,
    /// Its place.
    pub place: ElementPlace,
}

impl PageForm {
    /// The descriptor of the form: its id, else its action. Unlike a path through the tree, it
    /// stays when the page around the form changes. Several forms may share it.
    pub fn descriptor(&self) -> String {
        if !self.dom_id.is_empty() {
            return format!("form{}", crate::text::attribute_selector("id", &self.dom_id));
        }
        if self.action.is_empty() {
            return "form".to_owned();
        }
        format!("form{}", crate::text::attribute_selector("action", &self.action))
    }

    /// The descriptor of an input of the form.
    pub fn input_descriptor(&self, input: &FormInput) -> String {
        format!("{} {}", self.descriptor(), crate::text::attribute_selector("name", &input.name))
    }
}

impl PageScript {
    /// Its address as written; empty if it is inline.
    pub fn address(&self) -> &String {
        if self.inline { &self.svg_href } else { &self.src }
    }

    /// The descriptor of the script.
    pub fn descriptor(&self) -> String {
        if !self.svg_href.is_empty() {
            return format!("script{}", crate::text::attribute_selector("href", &self.svg_href));
        }
        if self.inline {
            return "script:not([src])".to_owned();
        }
        format!("script{}", crate::text::attribute_selector("src", &self.src))
    }
}

impl PageFrame {
    /// The descriptor of the frame.
    pub fn descriptor(&self) -> String {
        if self.src.is_empty() {
            return "iframe".to_owned();
        }
        crate::text::attribute_selector("src", &self.src)
    }
}

/// For fields that are left out if 0.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// For fields that are left out if false.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}
