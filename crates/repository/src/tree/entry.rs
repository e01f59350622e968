//! One entry of a tree, and the line it is written as.

use std::borrow::Cow;

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use varve_core::RecordId;

use crate::tree_manifest_error::ManifestProblem;

/// The permission bits that are stored.
const MODE_BITS: u32 = 0o7777;
const NANOSECONDS_PER_SECOND: i128 = 1_000_000_000;

/// A file, folder or link in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// The path relative to the tree, with `/` between its parts.
    pub path: Vec<u8>,
    /// The modification time.
    pub modified: FileTime,
    /// The kind of the entry.
    pub kind: TreeEntryKind,
}

/// The kind of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeEntryKind {
    /// A folder.
    Folder {
        /// The permission bits.
        mode: u32,
    },
    /// A file.
    File {
        /// The permission bits.
        mode: u32,
        /// The length in bytes.
        size: u64,
        /// The object that holds its content.
        id: RecordId,
    },
    /// A symbolic link.
    Link {
        /// The target.
        target: Vec<u8>,
    },
}

/// A timestamp of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileTime {
    /// Whole seconds since 1970, rounded down.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanoseconds: u32,
}

/// An entry as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TreeEntryJson<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none", borrow)]
    path: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_base64: Option<String>,
    kind: KindName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    mtime: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", borrow)]
    target: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target_base64: Option<String>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum KindName {
    File,
    Folder,
    Link,
}

impl TreeEntry {
    /// The line of the entry, with its line end.
    pub fn line(&self) -> Vec<u8> {
        let (path, path_base64) = as_text(&self.path);
        let mut line = TreeEntryJson {
            path,
            path_base64,
            kind: KindName::Folder,
            mode: None,
            mtime: self.modified.text(),
            size: None,
            id: None,
            target: None,
            target_base64: None,
        };
        match &self.kind {
            TreeEntryKind::Folder { mode } => line.mode = Some(mode_text(*mode)),
            TreeEntryKind::File { mode, size, id } => {
                line.kind = KindName::File;
                line.mode = Some(mode_text(*mode));
                line.size = Some(*size);
                line.id = Some(crate::archive::hex_digits(*id));
            }
            TreeEntryKind::Link { target } => {
                line.kind = KindName::Link;
                (line.target, line.target_base64) = as_text(target);
            }
        }
        let mut text = serde_json::to_vec(&line).expect("text and numbers can always be written as JSON");
        text.push(b'\n');
        text
    }

    /// Parses a line without its line end. [`ManifestReader`](super::ManifestReader) validates the
    /// path.
    pub(super) fn parse(line: &[u8]) -> Result<Self, ManifestProblem> {
        let line: TreeEntryJson<'_> =
            serde_json::from_slice(line).map_err(|error| ManifestProblem::Json(error.to_string()))?;
        let path = as_bytes(line.path, line.path_base64)?;
        let modified = FileTime::parse(&line.mtime)?;
        let kind = match line.kind {
            KindName::Folder => TreeEntryKind::Folder { mode: parse_mode(line.mode)? },
            KindName::File => TreeEntryKind::File {
                mode: parse_mode(line.mode)?,
                size: line.size.ok_or(ManifestProblem::Missing("size"))?,
                id: line.id.and_then(|id| id.parse().ok()).ok_or(ManifestProblem::Missing("id"))?,
            },
            KindName::Link => TreeEntryKind::Link { target: as_bytes(line.target, line.target_base64)? },
        };
        Ok(Self { path, modified, kind })
    }
}

fn as_text(bytes: &[u8]) -> (Option<Cow<'_, str>>, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(Cow::Borrowed(text)), None),
        Err(_) => (None, Some(BASE64.encode(bytes))),
    }
}

fn as_bytes(text: Option<Cow<'_, str>>, base64: Option<String>) -> Result<Vec<u8>, ManifestProblem> {
    match (text, base64) {
        (Some(text), None) => Ok(text.into_owned().into_bytes()),
        (None, Some(base64)) => BASE64.decode(base64.as_bytes()).map_err(|_| ManifestProblem::Base64),
        _ => Err(ManifestProblem::Missing("path or target")),
    }
}

fn mode_text(mode: u32) -> String {
    format!("{:04o}", mode & MODE_BITS)
}

fn parse_mode(text: Option<String>) -> Result<u32, ManifestProblem> {
    let text = text.ok_or(ManifestProblem::Missing("mode"))?;
    let is_octal = text.len() == 4 && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    let mode = u32::from_str_radix(&text, 8).ok().filter(|_| is_octal);
    mode.ok_or(ManifestProblem::Missing("mode"))
}

impl FileTime {
    /// The time as decimal seconds.
    fn text(self) -> String {
        let total = i128::from(self.seconds) * NANOSECONDS_PER_SECOND + i128::from(self.nanoseconds);
        let sign = if total < 0 { "-" } else { "" };
        let total = total.unsigned_abs();
        let unit = NANOSECONDS_PER_SECOND.unsigned_abs();
        format!("{sign}{}.{:09}", total / unit, total % unit)
    }

    fn parse(text: &str) -> Result<Self, ManifestProblem> {
        let bad = ManifestProblem::Missing("mtime");
        let digits = text.strip_prefix('-').unwrap_or(text);
        let Some((whole, decimals)) = digits.split_once('.') else { return Err(bad) };
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(decimals) || decimals.len() != 9 || whole.len() > 19 {
            return Err(bad);
        }
        let total: i128 =
            format!("{whole}{decimals}").parse().map_err(|_| ManifestProblem::Missing("mtime"))?;
        let total = if text.starts_with('-') { -total } else { total };
        let seconds = i64::try_from(total.div_euclid(NANOSECONDS_PER_SECOND)).map_err(|_| bad)?;
        let nanoseconds =
            u32::try_from(total.rem_euclid(NANOSECONDS_PER_SECOND)).expect("less than a billion");
        Ok(Self { seconds, nanoseconds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(entry: &TreeEntry) -> TreeEntry {
        let line = entry.line();
        TreeEntry::parse(line.strip_suffix(b"\n").unwrap()).unwrap()
    }

    #[test]
    fn a_file_is_a_line_that_people_can_read() {
        let entry = TreeEntry {
            path: b"a/b c.txt".to_vec(),
            modified: FileTime { seconds: 1_700_000_000, nanoseconds: 5 },
            kind: TreeEntryKind::File { mode: 0o640, size: 7, id: RecordId::new([0xab; 32]) },
        };
        let wanted = format!(
            "{{\"path\":\"a/b c.txt\",\"kind\":\"file\",\"mode\":\"0640\",\"mtime\":\"1700000000.000000005\",\
             \"size\":7,\"id\":\"{}\"}}\n",
            "ab".repeat(32)
        );
        assert_eq!(String::from_utf8(entry.line()).unwrap(), wanted);
        assert_eq!(parsed(&entry), entry);
    }

    #[test]
    fn names_that_are_not_text_are_kept_to_the_byte() {
        let entry = TreeEntry {
            path: b"caf\xe9\xff".to_vec(),
            modified: FileTime { seconds: -1, nanoseconds: 999_999_999 },
            kind: TreeEntryKind::Link { target: b"../\xfe".to_vec() },
        };
        let line = String::from_utf8(entry.line()).unwrap();
        assert!(line.contains("path_base64") && line.contains("target_base64"), "{line}");
        assert!(line.contains("\"-0.000000001\""), "{line}");
        assert_eq!(parsed(&entry), entry);
    }

    #[test]
    fn lines_that_are_no_entries() {
        for line in [
            "",
            "null",
            "{}",
            r#"{"path":"a","kind":"pipe","mtime":"0.000000000"}"#,
            r#"{"path":"a","kind":"folder","mtime":"0.000000000"}"#,
            r#"{"path":"a","kind":"folder","mode":"99999","mtime":"0.000000000"}"#,
            r#"{"path":"a","kind":"folder","mode":"+755","mtime":"0.000000000"}"#,
            r#"{"path":"a","kind":"folder","mode":"0755","mtime":"0"}"#,
            r#"{"path":"a","kind":"folder","mode":"0755","mtime":"99999999999999999999.000000000"}"#,
            r#"{"path":"a","path_base64":"YQ==","kind":"folder","mode":"0755","mtime":"0.000000000"}"#,
            r#"{"path_base64":"!","kind":"folder","mode":"0755","mtime":"0.000000000"}"#,
            r#"{"path":"a","kind":"link","mtime":"0.000000000"}"#,
            r#"{"path":"a","kind":"file","mode":"0755","mtime":"0.000000000","size":1,"id":"abc"}"#,
            r#"{"path":"a","kind":"file","mode":"0755","mtime":"0.000000000","size":-1,"id":"abc"}"#,
            r#"{"path":"a","kind":"folder","mode":"0755","mtime":"0.000000000","owner":"root"}"#,
        ] {
            assert!(TreeEntry::parse(line.as_bytes()).is_err(), "{line}");
        }
    }

    proptest! {
        #[test]
        fn every_entry_reads_as_it_was_written(
            path: Vec<u8>, target: Vec<u8>, seconds: i64, nanoseconds in 0u32..1_000_000_000,
            mode in 0u32..0o10000, size: u64, id: [u8; 32],
        ) {
            let modified = FileTime { seconds, nanoseconds };
            let kinds = [
                TreeEntryKind::Folder { mode },
                TreeEntryKind::File { mode, size, id: RecordId::new(id) },
                TreeEntryKind::Link { target },
            ];
            for kind in kinds {
                let entry = TreeEntry { path: path.clone(), modified, kind };
                prop_assert_eq!(parsed(&entry), entry);
            }
        }

        #[test]
        fn no_line_panics(line: Vec<u8>) {
            let _ = TreeEntry::parse(&line);
        }
    }
}
