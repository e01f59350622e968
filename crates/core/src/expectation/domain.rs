//! What holds for all URLs of one domain.

use crate::yaml::{Entry, Value};

/// The first document of a domain file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domain {
    /// Other names under which every URL must answer the same, without the one that the file is named by.
    pub cnames: Option<Vec<String>>,
    /// Whether URLs are asked for by https; http where it is not said.
    pub https: Option<bool>,
    /// Whether upper and lower case matter in paths; they do where it is not said.
    pub case_sensitive_paths: Option<bool>,
    /// All other keys, kept as they are.
    pub extras: Vec<Entry>,
}

pub(super) const CNAMES: &str = "cnames";
pub(super) const HTTPS: &str = "https";
pub(super) const CASE_SENSITIVE_PATHS: &str = "case-sensitive-paths";

impl Domain {
    /// The aliases.
    pub fn cnames(&self) -> &[String] {
        self.cnames.as_deref().unwrap_or_default()
    }

    /// By which scheme its URLs are asked for.
    pub fn scheme(&self) -> &'static str {
        if self.https == Some(true) { "https" } else { "http" }
    }

    /// Whether upper and lower case matter in paths.
    pub fn has_case_sensitive_paths(&self) -> bool {
        self.case_sensitive_paths != Some(false)
    }

    /// As it is written.
    pub(super) fn value(&self) -> Value {
        let mut entries = self.extras.clone();
        entries.extend(self.cnames.as_ref().map(|names| Entry::new(CNAMES, Value::texts(names))));
        entries.extend(self.https.map(|https| Entry::new(HTTPS, Value::bool(https))));
        let sensitive = self.case_sensitive_paths;
        entries.extend(sensitive.map(|value| Entry::new(CASE_SENSITIVE_PATHS, Value::bool(value))));
        Value::mapping(entries)
    }
}
