//! The settings for all URLs of one domain.

use varve_yaml::{Entry, Value};

/// The first document of a domain file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domain {
    /// Aliases: hosts at which every URL must answer as at the domain itself.
    pub cnames: Option<Vec<String>>,
    /// Whether URLs are requested by https. The default is http.
    pub https: Option<bool>,
    /// Whether paths are case-sensitive, which is the default.
    pub case_sensitive_paths: Option<bool>,
    /// All other keys, unchanged.
    pub extras: Vec<Entry>,
}

pub(crate) const CNAMES_KEY: &str = "cnames";
pub(crate) const HTTPS_KEY: &str = "https";
pub(crate) const CASE_SENSITIVE_PATHS_KEY: &str = "case-sensitive-paths";

impl Domain {
    /// The aliases.
    pub fn cnames(&self) -> &[String] {
        self.cnames.as_deref().unwrap_or_default()
    }

    /// The scheme of its URLs.
    pub fn scheme(&self) -> &'static str {
        if self.https == Some(true) { "https" } else { "http" }
    }

    /// Whether upper and lower case matter in paths.
    pub fn has_case_sensitive_paths(&self) -> bool {
        self.case_sensitive_paths != Some(false)
    }

    /// The domain as YAML.
    pub(crate) fn value(&self) -> Value {
        let mut entries = self.extras.clone();
        entries.extend(self.cnames.as_ref().map(|names| Entry::new(CNAMES_KEY, Value::texts(names))));
        entries.extend(self.https.map(|https| Entry::new(HTTPS_KEY, Value::bool(https))));
        let sensitive = self.case_sensitive_paths;
        entries.extend(sensitive.map(|value| Entry::new(CASE_SENSITIVE_PATHS_KEY, Value::bool(value))));
        Value::mapping(entries)
    }
}
