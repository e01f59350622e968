//! `datapackage.json` and `datapackage-digest.json` as values.
//!
//! Fields that are absent in older files are optional, and a field of an unexpected type counts as
//! absent: it describes the package and must not keep anybody from reading it.

use serde::Deserialize;
use serde_json::{Map, Value};

/// What a package says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackageProfile {
    /// A WACZ file: `data-package`, `wacz`, or no profile.
    Wacz,
    /// A package of WACZ files.
    MultiWacz,
    /// Another profile, which is read as a WACZ file.
    Unknown,
}

/// A file that the package lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageResource {
    /// Its name without folder.
    pub name: Option<String>,
    /// The name of its member, or in a package of packages its path or URL.
    pub path: String,
    /// Its digest, with the algorithm before a colon.
    pub hash: Option<String>,
    /// The number of its bytes.
    pub bytes: Option<u64>,
}

/// `datapackage.json`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataPackage {
    /// `wacz_version`.
    pub wacz_version: Option<String>,
    /// `title`.
    pub title: Option<String>,
    /// `description`.
    pub description: Option<String>,
    /// `created`, as it is written.
    pub created: Option<String>,
    /// `modified`, as it is written.
    pub modified: Option<String>,
    /// `software`.
    pub software: Option<String>,
    /// `mainPageUrl`, or `mainPageURL` of early files.
    pub main_page_url: Option<String>,
    /// `mainPageDate`, or `mainPageTS` of early files, as it is written.
    pub main_page_date: Option<String>,
    /// `resources`, without those that have no path.
    pub resources: Vec<PackageResource>,
    profile: Option<String>,
}

impl DataPackage {
    /// Reads the text of `datapackage.json`.
    pub fn parse(json: &[u8]) -> serde_json::Result<Self> {
        let fields: Map<String, Value> = serde_json::from_slice(json)?;
        let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let resources = fields.get("resources").and_then(Value::as_array);
        Ok(Self {
            wacz_version: text("wacz_version"),
            title: text("title"),
            description: text("description"),
            created: text("created"),
            modified: text("modified"),
            software: text("software"),
            main_page_url: text("mainPageUrl").or_else(|| text("mainPageURL")),
            main_page_date: text("mainPageDate").or_else(|| text("mainPageTS")),
            resources: resources.into_iter().flatten().filter_map(PackageResource::read).collect(),
            profile: text("profile"),
        })
    }

    /// What the package says that it is.
    pub fn profile(&self) -> PackageProfile {
        match self.profile.as_deref() {
            None | Some("data-package" | "wacz" | "wacz-package") => PackageProfile::Wacz,
            Some("multi-wacz-package") => PackageProfile::MultiWacz,
            Some(_) => PackageProfile::Unknown,
        }
    }
}

impl PackageResource {
    fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let path = text("path").or_else(|| text("name"))?;
        let bytes = value.get("bytes").and_then(Value::as_u64);
        Some(Self { name: text("name"), path, hash: text("hash"), bytes })
    }
}

/// `datapackage-digest.json`: what the signature of a package signs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PackageDigest {
    /// The member whose digest it is: `datapackage.json`.
    pub path: String,
    /// Its digest, with the algorithm before a colon.
    pub hash: String,
    /// The signature as wacz-auth describes it.
    #[serde(rename = "signedData")]
    pub signed_data: Option<Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_old_files_and_of_wrong_types_do_not_fail() {
        let json = br#"{"mainPageURL":"https://a.example/","title":7,"resources":[{"path":"archive/a.warc.gz","bytes":"x"},5,{}]}"#;
        let package = DataPackage::parse(json).unwrap();
        assert_eq!(package.profile(), PackageProfile::Wacz);
        assert_eq!(package.main_page_url.as_deref(), Some("https://a.example/"));
        assert_eq!(package.title, None);
        assert_eq!(package.resources.len(), 1);
        assert!(DataPackage::parse(b"[]").is_err());
    }

    #[test]
    fn a_package_of_packages_says_so() {
        let json = br#"{"profile":"multi-wacz-package","resources":[{"name":"a.wacz","path":"https://h.example/a.wacz"}]}"#;
        assert_eq!(DataPackage::parse(json).unwrap().profile(), PackageProfile::MultiWacz);
    }
}
