//! Which version a capture belongs to.
//!
//! A package is one version. Outside of packages, the records after a `warcinfo` record with the
//! field `isPartOf` belong to the version of that crawl, which many files may share. The records
//! after another `warcinfo` record are a version of their own, and so are those of a file before any.

use crate::scan_records::ScannedInfo;

/// A version, before its captures are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VersionKey {
    /// The same each time the archive is read. The id of the version is derived from it.
    pub(crate) key: String,
    pub(crate) message: String,
    pub(crate) author: Option<String>,
}

impl VersionKey {
    /// The version of a package.
    pub(crate) fn of_package(name: &str, title: Option<&str>) -> Self {
        let message = title.map_or_else(|| name.to_owned(), |title| format!("{title} ({name})"));
        Self { key: format!("package {name}"), message, author: None }
    }

    /// The version of the records in a file before any `warcinfo` record.
    pub(crate) fn of_file(name: &str) -> Self {
        Self { key: format!("file {name}"), message: name.to_owned(), author: None }
    }

    /// The version of the records after a `warcinfo` record. `is_first` is whether nothing before it
    /// in the file belongs to a version.
    pub(crate) fn of_info(name: &str, info: &ScannedInfo, is_first: bool) -> Self {
        let author = info.operator.clone();
        match &info.part_of {
            Some(crawl) => Self { key: format!("crawl {crawl}"), message: crawl.clone(), author },
            None if is_first => Self { author, ..Self::of_file(name) },
            None => Self {
                key: format!("file {name} {}", info.offset),
                message: format!("{name}, from byte {}", info.offset),
                author,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_crawl_share_a_version() {
        let info = |part_of: Option<&str>, offset| ScannedInfo {
            offset,
            part_of: part_of.map(str::to_owned),
            operator: None,
        };
        let key = |name, info: &ScannedInfo, is_first| VersionKey::of_info(name, info, is_first).key;
        assert_eq!(key("a", &info(Some("crawl"), 0), true), key("b", &info(Some("crawl"), 0), true));
        assert_ne!(key("a", &info(None, 0), true), key("b", &info(None, 0), true));
        assert_ne!(key("a", &info(None, 0), true), key("a", &info(None, 9), false));
    }
}
