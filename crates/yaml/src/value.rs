//! Values as YAML has them: scalars of a type, lists, mappings.
//!
//! Numbers are kept as the text that is written for them, so that an integer of any length survives. Lists and mappings
//! are shared, not copied: two places that an alias joined are written as one value with an anchor again.

use std::sync::Arc;

use super::error::Place;
use super::number;
use super::resolve::{Implicit, resolve};
use super::timestamp;

/// Any value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A single value.
    Scalar(Arc<Scalar>),
    /// A list.
    Sequence(Arc<Sequence>),
    /// Keys with values.
    Mapping(Arc<Mapping>),
}

/// A single value.
#[derive(Clone, Debug)]
pub struct Scalar {
    /// Its type.
    pub kind: Kind,
    /// What is written for it: of each type one spelling.
    pub text: String,
    /// How it was spelled, where that is different.
    pub written: Option<String>,
}

/// The type of a single value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Nothing.
    Null,
    /// `true` or `false`.
    Bool,
    /// An integer of any length, in decimal.
    Int,
    /// A floating-point number, in the shortest form that is read as the same.
    Float,
    /// A date, perhaps with a time.
    Timestamp,
    /// Bytes; the text is their base64.
    Binary,
    /// A text.
    Text,
    /// A plain word that is no text and has no value either, as `=` or the 31st of February.
    Plain,
    /// A value of a foreign type.
    Tagged(String),
}

/// A list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// Its foreign type, if it has one.
    pub tag: Option<String>,
    /// What is in it.
    pub items: Vec<Value>,
}

/// Keys with values. Keys are unique in what was read; the order is that of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// Its foreign type, if it has one.
    pub tag: Option<String>,
    /// The keys with their values.
    pub entries: Vec<Entry>,
}

/// One key with its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key: a scalar in everything that was read.
    pub key: Value,
    /// Its value.
    pub value: Value,
    /// Where the key stands; the beginning where it was not read.
    pub place: Place,
}

/// How something was spelled is no part of what it is.
impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.text == other.text
    }
}

impl Eq for Scalar {}

/// Where something stood is no part of what it is.
impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.value == other.value
    }
}

impl Eq for Entry {}

impl Scalar {
    fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), written: None }
    }

    /// What a plain word says by the rules of YAML 1.1.
    pub(super) fn of_plain(word: &str) -> Self {
        let (kind, text) = match resolve(word) {
            Implicit::Null => (Kind::Null, Some("null".to_owned())),
            Implicit::Bool(true) => (Kind::Bool, Some("true".to_owned())),
            Implicit::Bool(false) => (Kind::Bool, Some("false".to_owned())),
            Implicit::Int => (Kind::Int, number::integer(word)),
            Implicit::Float => (Kind::Float, number::float(word)),
            Implicit::Timestamp => (Kind::Timestamp, timestamp::canonical(word)),
            Implicit::Merge | Implicit::Value => (Kind::Plain, Some(word.to_owned())),
            Implicit::Text => (Kind::Text, Some(word.to_owned())),
        };
        match text {
            Some(text) => {
                let written = (text != word).then(|| word.to_owned());
                Self { kind, text, written }
            }
            None => Self::new(Kind::Plain, word),
        }
    }

    /// The text as it stands in the file, before a type was resolved.
    pub fn written(&self) -> &str {
        self.written.as_deref().unwrap_or(&self.text)
    }
}

impl Value {
    fn scalar(kind: Kind, text: impl Into<String>) -> Self {
        Self::Scalar(Arc::new(Scalar::new(kind, text)))
    }

    /// Nothing.
    pub fn null() -> Self {
        Self::scalar(Kind::Null, "null")
    }

    /// A truth value.
    pub fn bool(value: bool) -> Self {
        Self::scalar(Kind::Bool, if value { "true" } else { "false" })
    }

    /// An integer.
    pub fn int(value: impl Into<i128>) -> Self {
        Self::scalar(Kind::Int, value.into().to_string())
    }

    /// A floating-point number.
    pub fn float(value: f64) -> Self {
        Self::scalar(Kind::Float, number::written(value))
    }

    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::scalar(Kind::Text, text)
    }

    /// A list.
    pub fn sequence(items: Vec<Value>) -> Self {
        Self::Sequence(Arc::new(Sequence { tag: None, items }))
    }

    /// A list of texts.
    pub fn texts(texts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::sequence(texts.into_iter().map(Self::text).collect())
    }

    /// Keys with values.
    pub fn mapping(entries: Vec<Entry>) -> Self {
        Self::Mapping(Arc::new(Mapping { tag: None, entries }))
    }

    /// The single value that it is, if it is one.
    pub fn as_scalar(&self) -> Option<&Scalar> {
        match self {
            Self::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The text that it is, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        self.as_scalar().filter(|scalar| scalar.kind == Kind::Text).map(|scalar| scalar.text.as_str())
    }

    /// Whether it is nothing.
    pub fn is_null(&self) -> bool {
        self.as_scalar().is_some_and(|scalar| scalar.kind == Kind::Null)
    }
}

impl Mapping {
    /// The value of the key that is the text `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|entry| entry.key.as_text() == Some(key)).map(|entry| &entry.value)
    }
}

impl Entry {
    /// A key that is a text, with its value.
    pub fn new(key: impl Into<String>, value: Value) -> Self {
        Self { key: Value::text(key), value, place: Place::START }
    }
}
