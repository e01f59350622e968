//! The major version of a project: how its bodies are stored, and nothing else.
//!
//! The number is a text that Crystal reads with Python's `int`, so that `02` and ` 2 ` are 2; this
//! reads the same texts. A number past 3 is refused by name, since a later layout cannot be
//! guessed.

use serde::Serialize;

/// How the bodies of a project are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "u8")]
pub enum MajorVersion {
    /// 1: every body in one folder, named by the decimal id.
    Flat,
    /// 2: a tree of folders of at most 4,096 entries each.
    Tree,
    /// 3: as 2, with every sixteen bodies packed in one zip.
    Packed,
}

/// A text that is no version that is understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VersionProblem {
    /// A version past the last one understood, in decimal.
    TooNew(String),
    /// Not a version at all.
    Unreadable,
}

impl MajorVersion {
    /// The version as a number.
    pub const fn number(self) -> u8 {
        match self {
            Self::Flat => 1,
            Self::Tree => 2,
            Self::Packed => 3,
        }
    }

    /// Reads the property's text; projects older than the property are version 1.
    pub(crate) fn read(text: &str) -> Result<Self, VersionProblem> {
        match python_int(text).ok_or(VersionProblem::Unreadable)?.as_str() {
            "1" => Ok(Self::Flat),
            "2" => Ok(Self::Tree),
            "3" => Ok(Self::Packed),
            "0" => Err(VersionProblem::Unreadable),
            larger => Err(VersionProblem::TooNew(larger.to_owned())),
        }
    }
}

impl From<MajorVersion> for u8 {
    fn from(version: MajorVersion) -> Self {
        version.number()
    }
}

/// The decimal digits of a text that Python's `int` would take for a number from zero up, of any
/// length.
fn python_int(text: &str) -> Option<String> {
    let text = text.trim();
    let digits = text.strip_prefix('+').unwrap_or(text);
    let well_formed = digits.split('_').all(|run| !run.is_empty() && run.bytes().all(|b| b.is_ascii_digit()));
    if !well_formed {
        return None;
    }
    let digits = digits.replace('_', "");
    let significant = digits.trim_start_matches('0');
    Some(if significant.is_empty() { "0".to_owned() } else { significant.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_python_reads_numbers() {
        for (text, version) in [
            ("1", Ok(MajorVersion::Flat)),
            ("2", Ok(MajorVersion::Tree)),
            ("02", Ok(MajorVersion::Tree)),
            (" 2 ", Ok(MajorVersion::Tree)),
            ("+3\n", Ok(MajorVersion::Packed)),
            ("4", Err(VersionProblem::TooNew("4".into()))),
            ("1_0", Err(VersionProblem::TooNew("10".into()))),
            ("99999999999999999999", Err(VersionProblem::TooNew("99999999999999999999".into()))),
            ("abc", Err(VersionProblem::Unreadable)),
            ("2.0", Err(VersionProblem::Unreadable)),
            ("", Err(VersionProblem::Unreadable)),
            ("0", Err(VersionProblem::Unreadable)),
            ("-1", Err(VersionProblem::Unreadable)),
            ("1__0", Err(VersionProblem::Unreadable)),
            ("_1", Err(VersionProblem::Unreadable)),
        ] {
            assert_eq!(MajorVersion::read(text), version, "{text:?}");
        }
    }
}
