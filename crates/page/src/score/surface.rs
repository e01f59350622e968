//! The attack surface of a page: everything that a visitor, honest or not, can touch.
//!
//! Owns the shape of it, as JSON beside a score has it: names and omissions are those that readers of such files
//! already know (`dom_index` 0 is left out, empty lists are left out). Places in the body are kept beside it and never
//! written: they belong to [evidence](super::evidence).

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
    /// How to find the element.
    pub selector: String,
    /// Where it stands.
    pub place: Place,
}

/// An element with a script in an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handler {
    /// How to find the element.
    pub selector: String,
    /// Where it stands.
    pub place: Place,
}

impl Form {
    /// How to find the form: by its id, else by where it sends to. Chosen over a path through the tree because it
    /// still names the same form when the page around it was rebuilt.
    pub fn selector(&self) -> String {
        if !self.dom_id.is_empty() {
            return format!("form{}", super::text::attribute_selector("id", &self.dom_id));
        }
        if self.action.is_empty() {
            return "form".to_owned();
        }
        format!("form{}", super::text::attribute_selector("action", &self.action))
    }

    /// How to find an input of the form.
    pub fn input_selector(&self, input: &Input) -> String {
        format!("{} {}", self.selector(), super::text::attribute_selector("name", &input.name))
    }
}

impl Script {
    /// How to find the script.
    pub fn selector(&self) -> String {
        if self.inline {
            return "script:not([src])".to_owned();
        }
        format!("script{}", super::text::attribute_selector("src", &self.src))
    }
}

impl Frame {
    /// How to find the frame.
    pub fn selector(&self) -> String {
        if self.src.is_empty() {
            return "iframe".to_owned();
        }
        super::text::attribute_selector("src", &self.src)
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
