//! `tag`: names versions.

use varve_core::fact::{TagSet, media_type};
use varve_core::history::VersionTag;
use varve_core::{Moment, VersionId};

use crate::error::ArchiveError;
use varve_catalog::CatalogRow;
use varve_repository::history::{HistoryReader, HistoryWriter, known_version};

/// Maximum length of a tag name, in bytes.
const MAX_TAG_BYTES: usize = 200;

/// All tags, by name.
pub fn list(history: &HistoryReader) -> Result<Vec<VersionTag>, ArchiveError> {
    Ok(history.catalog().tags()?)
}

/// Sets a tag on a version, or removes the tag if `version` is `None`.
pub fn set(history: &HistoryWriter, name: &str, version: Option<VersionId>) -> Result<(), ArchiveError> {
    // A name that is no longer valid can still be removed.
    if version.is_some() && !is_name(name) {
        return Err(ArchiveError::BadTag(name.to_owned()));
    }
    let about = match (version, history.catalog().tag(name)?) {
        // The tag is already set, and keeps its time.
        (Some(version), Some(tag)) if tag.version == version => return Ok(()),
        (Some(version), _) => known_version(history.as_reader(), &version)?.version.id,
        (None, Some(tag)) => tag.version,
        (None, None) => return Err(ArchiveError::NoTag(name.to_owned())),
    };
    let time = history.now();
    let fact = TagSet { name: name.to_owned(), version, time };
    let json = serde_json::to_vec(&fact).expect("a tag can be written as JSON");
    history.write_fact(&format!("urn:uuid:{about}"), media_type::TAG, &json)?;
    Ok(history.apply(vec![CatalogRow::Tag { name: fact.name, version, time }])?)
}

/// Whether a name is valid: a tag must not be mistaken for another way to name a version.
fn is_name(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._-/+".contains(letter);
    let is_id = name.len() >= 4 && name.chars().all(|letter| letter.is_ascii_hexdigit() || letter == '-');
    !name.is_empty()
        && name.len() <= MAX_TAG_BYTES
        && name.chars().all(is_plain)
        && !name.starts_with(['-', '.', '/'])
        && !matches!(name, "HEAD" | "@")
        && !is_id
        && !is_span(name)
        && name.parse::<Moment>().is_err()
}

/// Whether the name is a time span: `90m`, `2d`.
fn is_span(name: &str) -> bool {
    let unit = name.trim_start_matches(|letter: char| letter.is_ascii_digit());
    unit.len() < name.len() && matches!(unit, "ms" | "s" | "m" | "h" | "d" | "w" | "y")
}
