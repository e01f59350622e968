//! The rows of extracted pages: what a page said when it was last fetched on request, how requested
//! URLs lead to it, and how the pages of a domain are fetched.
//!
//! The shapes are those of the tables `urls`, `id_map` and `domain_settings`. Keys are part of the
//! values, because two URLs may share one: a reader compares the texts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Moment, UrlKey};

/// How a page was fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FetchMethod {
    /// Not known.
    #[default]
    Unspecified,
    /// With the HTTP client.
    Direct,
    /// With a browser.
    ChromiumHeadless,
}

impl FetchMethod {
    /// Its number in the table `urls`.
    pub const fn number(self) -> i64 {
        match self {
            Self::Unspecified => 0,
            Self::Direct => 1,
            Self::ChromiumHeadless => 2,
        }
    }

    /// The method with this number.
    pub const fn from_number(number: i64) -> Option<Self> {
        match number {
            0 => Some(Self::Unspecified),
            1 => Some(Self::Direct),
            2 => Some(Self::ChromiumHeadless),
            _ => None,
        }
    }

    /// Its name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Direct => "direct",
            Self::ChromiumHeadless => "chromium-headless",
        }
    }

    /// The method with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Unspecified, Self::Direct, Self::ChromiumHeadless]
            .into_iter()
            .find(|method| method.name() == name)
    }
}

/// A URL with its [key](crate::url::key), under which rows are found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct KeyedUrl {
    /// The key.
    pub key: UrlKey,
    /// The URL.
    pub url: String,
}

impl KeyedUrl {
    /// A URL with its own key.
    pub fn new(url: &str) -> Result<Self, crate::url::UrlError> {
        Ok(Self { key: crate::url::key(url)?, url: url.to_owned() })
    }
}

/// The extraction of a page that was saved last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredExtraction {
    /// The canonical URL.
    pub page: KeyedUrl,
    /// The URL that was requested.
    pub requested: KeyedUrl,
    /// When the page was fetched.
    pub fetch_time: Moment,
    /// How it was fetched.
    pub fetch_method: FetchMethod,
    /// When the row is no longer an answer.
    pub expires: Moment,
    /// The page object without what has a column of its own, as JSON.
    pub metadata: String,
    /// The extracted text.
    pub content_text: Option<String>,
}

/// How the pages of a domain are fetched. Absent values are those of the archive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainSettings {
    /// The name of the site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sitename: Option<String>,
    /// The method by which its pages are fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetch_client: Option<FetchMethod>,
    /// The `User-Agent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// Further request headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// How long an extraction is an answer, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
}

/// The settings of one domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredDomainSettings {
    /// The domain, in lower case.
    pub domain: String,
    /// Its settings.
    pub settings: DomainSettings,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_is_found_by_number_and_name() {
        for method in [FetchMethod::Unspecified, FetchMethod::Direct, FetchMethod::ChromiumHeadless] {
            assert_eq!(FetchMethod::from_number(method.number()), Some(method));
            assert_eq!(FetchMethod::from_name(method.name()), Some(method));
            assert_eq!(serde_json::to_value(method).unwrap(), method.name());
        }
        assert_eq!(FetchMethod::from_number(3), None);
    }
}
