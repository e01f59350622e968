//! The attack surface of a page: everything that a visitor, honest or not, can touch.
//!
//! Owns the shape of it, as JSON beside a score has it: names and omissions are those that readers of such files
//! already know (`dom_index` 0 is left out, empty lists are left out). Places in the body are kept beside it and never
//! written: they belong to [evidence](crate::evidence).

use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;

/// Where something stands in a body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The bytes of its start tag. Unknown where the body had to be transcoded first.
    pub bytes: Option<Range<usize>>,
    /// The first and the last line of it, counted from 1; 0 if it stands nowhere.
    pub lines: (usize, usize),
    /// A selector that selects this element and no other, if there is one that is sure.
    pub selector: Option<String>,
    /// Where the tag begins in the text that was scanned.
    pub(crate) start: usize,
}

impl Place {
    /// What people call an element that is known by a descriptor: in a way that tells it from others.
    pub(crate) fn told(&self, descriptor: &str) -> String {
        let name = told(self.selector.as_deref(), descriptor);
        // An attribute tells it apart; a path does not tell what it is, and where.
        let is_by_attribute = self.selector.as_ref().is_some_and(|selector| selector.contains('['));
        match self.lines.0 {
            line if line > 0 && !is_by_attribute => format!("{name}, line {line}"),
            _ => name,
        }
    }
}

/// A selector, after the descriptor where that says what the selector does not.
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

/// A page as it can be attacked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Surface {
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
    pub cookies: Vec<Cookie>,
    /// The names in the query.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub get_params: Vec<Parameter>,
    /// The names that forms send.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub post_params: Vec<Parameter>,
    /// The forms, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forms: Vec<Form>,
    /// The scripts, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<Script>,
    /// The frames, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<Frame>,
    /// The media type of the body.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub content_type: String,
    /// What an encrypted page loads unencrypted.
    #[serde(skip)]
    pub insecure: Vec<Insecure>,
    /// Elements with scripts in attributes.
    #[serde(skip)]
    pub handlers: Vec<Handler>,
    /// How the page reaches out besides.
    #[serde(skip)]
    pub reaches: Vec<Reach>,
    /// Whether cookies were set of which only the marker of redaction is left.
    #[serde(skip)]
    pub has_redacted_cookies: bool,
    /// Whether there was more than the limits allow to look at.
    #[serde(skip)]
    pub is_truncated: bool,
}

/// A cookie that a response sets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Cookie {
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

/// A name that a request can carry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// The name.
    pub name: String,
    /// `query` or `form`.
    pub origin: String,
    /// Where the input stands, for those of forms.
    #[serde(skip)]
    pub place: Place,
}

/// A form.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Form {
    /// Where it sends to, as written.
    pub action: String,
    /// In upper case; `GET` if not given.
    pub method: String,
    /// The inputs that have names, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// The number of the form in the page.
    #[serde(skip_serializing_if = "is_zero")]
    pub dom_index: usize,
    /// Its `id`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dom_id: String,
    /// Its classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dom_classes: Vec<String>,
    /// Where it stands.
    #[serde(skip)]
    pub place: Place,
    /// Where it sends to, resolved; as written where that is no URL.
    #[serde(skip)]
    pub target: String,
    /// Whether it sends unencrypted from an encrypted page.
    #[serde(skip)]
    pub is_insecure: bool,
    /// Whether it sends to another site.
    #[serde(skip)]
    pub is_third_party: bool,
}

/// A named `input`, `textarea` or `select` of a form.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its type in lower case; `text` if not given.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it must be filled in.
    pub required: bool,
    /// The number of the input in its form. Those without a name count.
    #[serde(skip_serializing_if = "is_zero")]
    pub dom_index: usize,
    /// Its `id`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dom_id: String,
    /// Its classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dom_classes: Vec<String>,
    /// Where it stands.
    #[serde(skip)]
    pub place: Place,
}

/// A script.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Script {
    /// Where it is loaded from, as written.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub src: String,
    /// Whether it stands in the page.
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
    /// Where a script of an SVG is loaded from, as written; such a one has no `src` and counts as inline.
    #[serde(skip)]
    pub svg_href: String,
    /// Where it stands.
    #[serde(skip)]
    pub place: Place,
}

/// An `iframe` or `frame`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Frame {
    /// What it shows, as written.
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
    /// Where it stands.
    #[serde(skip)]
    pub place: Place,
}

/// Something that an encrypted page loads unencrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insecure {
    /// Whether it can act: a script, a style, a frame.
    pub is_active: bool,
    /// What the element is known by.
    pub descriptor: String,
    /// Where it stands.
    pub place: Place,
}

/// An element with a script in an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handler {
    /// What the element is known by.
    pub descriptor: String,
    /// The scripts of all its attributes.
    pub code: String,
    /// Where it stands.
    pub place: Place,
}

/// How a page reaches out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReachKind {
    /// What relative addresses are relative to.
    Base,
    /// A button that sends its form elsewhere.
    Submitter,
    /// An `object` or `embed`.
    Embed,
    /// The page sends visitors on by itself.
    Refresh,
    /// An address that is a script.
    ScriptLink,
    /// A module that a script in the page imports.
    Module,
}

/// A way out of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// In which way.
    pub kind: ReachKind,
    /// Where to, resolved; the script, of an address that is one.
    pub target: String,
    /// Whether that is another site.
    pub third_party: bool,
    /// Whether it is unencrypted, from an encrypted page.
    pub insecure: bool,
    /// What the element is known by.
    pub descriptor: String,
    /// Where it stands.
    pub place: Place,
}

impl Form {
    /// What the form is known by: its id, else where it sends to. Chosen over a path through the tree because it
    /// still names the same form when the page around it was rebuilt. Several may be known by the same.
    pub fn descriptor(&self) -> String {
        if !self.dom_id.is_empty() {
            return format!("form{}", crate::text::attribute_selector("id", &self.dom_id));
        }
        if self.action.is_empty() {
            return "form".to_owned();
        }
        format!("form{}", crate::text::attribute_selector("action", &self.action))
    }

    /// What an input of the form is known by.
    pub fn input_descriptor(&self, input: &Input) -> String {
        format!("{} {}", self.descriptor(), crate::text::attribute_selector("name", &input.name))
    }
}

impl Script {
    /// Where it is loaded from, as written; empty if it stands in the page.
    pub fn address(&self) -> &String {
        if self.inline { &self.svg_href } else { &self.src }
    }

    /// What the script is known by.
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

impl Frame {
    /// What the frame is known by.
    pub fn descriptor(&self) -> String {
        if self.src.is_empty() {
            return "iframe".to_owned();
        }
        crate::text::attribute_selector("src", &self.src)
    }
}

/// For what is left out when 0.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// For what is left out when false.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}
