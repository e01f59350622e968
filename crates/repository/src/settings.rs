//! `varve.toml`: the name of an archive and how it is written.
//!
//! The format number is read first, so that an archive of a later varve is refused because of that
//! number and not because of an unknown key. Unknown keys are refused as well: ignoring them would
//! hide mistakes such as `silo-size` for `silo_size`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use varve_core::allowed_host::{AllowError, AllowedHost};
use varve_core::headers::Redaction;
use varve_core::history::DomainSettings;
use varve_warc::write::{Dictionary, Packing};

use crate::byte_size::ByteSize;

/// The only format number so far.
pub const FORMAT_NUMBER: u32 = 1;

/// Minimum silo size: each silo begins with a description, and a large object has a segment in
/// each.
const MIN_SILO_SIZE: ByteSize = ByteSize(1 << 20);
/// Maximum silo size, so that every offset fits the index.
const MAX_SILO_SIZE: ByteSize = ByteSize(1 << 40);
/// The default level of zstd.
const ZSTD_LEVEL: i32 = 3;
/// The zstd level with a dictionary. Most of a page matches the dictionary at once, so more effort
/// for the rest pays off. The pages of 200 versions of a site took 51.6 MB at level 3 and 44.5 MB
/// at this level, in twice the time.
const ZSTD_DICTIONARY_LEVEL: i32 = 6;
/// Maximum dictionary size, which a reader has to hold in memory.
pub const MAX_DICTIONARY_BYTES: usize = 8 << 20;
/// Maximum length of `varve.toml`, in bytes.
pub const MAX_SETTINGS_BYTES: u64 = 1 << 20;
/// Maximum length of a name or an operator, which must be one line.
const MAX_TEXT_BYTES: usize = 1000;

/// The contents of `varve.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArchiveSettings {
    /// The format number.
    pub format: u32,
    /// The name of the archive, which each silo states.
    pub name: String,
    /// The operator of the archive, which each silo states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// Maximum size of a silo: it is sealed before it would exceed this.
    #[serde(default = "default_silo_size")]
    pub silo_size: ByteSize,
    /// The compression method of records.
    #[serde(default)]
    pub packing: PackingMethod,
    /// Whether the values of sensitive headers (cookies, tokens) are redacted in rows, diffs and
    /// manifests.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub redact_headers: bool,
    /// The compression level: 1 to 12 for gzip, 1 to 19 for zstd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packing_level: Option<u8>,
    /// A contact address of the crawler's operator, for the operators of crawled sites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    /// Hosts, addresses and networks that may be fetched although they are private.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow_private: Vec<String>,
    /// How long an extraction of a page is an answer, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extract_ttl: Option<u64>,
    /// How the pages of single domains are fetched, by their names in lower case.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", rename = "domain")]
    pub domains: BTreeMap<String, DomainSettings>,
    /// The implementation of the catalog. The factory of backends knows the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog: Option<String>,
    /// The kind of place that silos are in. The factory of backends knows the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silos: Option<String>,
}

/// The compression method of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PackingMethod {
    /// One gzip member per record: every tool reads it.
    #[default]
    Gzip,
    /// Zstandard frames: faster to read, but supported by fewer tools.
    Zstd,
}

/// An error in `varve.toml`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The file is not TOML, or has an unknown key or value.
    #[error("line {line}: {message}")]
    Text {
        /// The line number, from 1.
        line: usize,
        /// The error message.
        message: String,
    },
    /// The format number is missing.
    #[error("it has no `format` number")]
    NoFormat,
    /// The format number is that of another varve.
    #[error("its format is number {found}, and this varve knows number {FORMAT_NUMBER}")]
    Format {
        /// The number found.
        found: i64,
    },
    /// The silo size is out of bounds.
    #[error("`silo_size` is {size}, and may be from {MIN_SILO_SIZE} to {MAX_SILO_SIZE}")]
    SiloSize {
        /// The given size.
        size: ByteSize,
    },
    /// The compression level is out of bounds.
    #[error("`packing_level` is {level}, and may be from 1 to {most}")]
    Level {
        /// The given level.
        level: u8,
        /// The maximum for the method.
        most: u8,
    },
    /// An invalid entry of `allow_private`.
    #[error("`allow_private`: {0}")]
    Allow(#[source] AllowError),
    /// An implementation that this varve does not have.
    #[error("`{key}` is `{name}`, and may be {}", list_of(known))]
    Backend {
        /// The key.
        key: &'static str,
        /// The value.
        name: String,
        /// The known values.
        known: &'static [&'static str],
    },
    /// A text that a silo's description cannot hold.
    #[error("`{key}` must be one line of at most {MAX_TEXT_BYTES} bytes, and not empty")]
    Line {
        /// The key.
        key: &'static str,
    },
}

fn list_of(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

fn default_silo_size() -> ByteSize {
    ByteSize(1 << 30)
}

impl ArchiveSettings {
    /// The settings of a new archive named `name`.
    pub fn new(name: &str) -> Self {
        Self {
            format: FORMAT_NUMBER,
            name: name.to_owned(),
            operator: None,
            silo_size: default_silo_size(),
            packing: PackingMethod::default(),
            redact_headers: true,
            packing_level: None,
            contact: None,
            allow_private: Vec::new(),
            extract_ttl: None,
            domains: BTreeMap::new(),
            catalog: None,
            silos: None,
        }
    }

    /// Whether sensitive headers are redacted.
    pub fn redaction(&self) -> Redaction {
        if self.redact_headers { Redaction::On } else { Redaction::Off }
    }

    /// A name for the archive in `folder`: the folder name without control characters.
    pub fn name_of(folder: &Path) -> String {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let name: String = name.chars().filter(|letter| !letter.is_control()).collect();
        if name.is_empty() { "archive".to_owned() } else { name }
    }

    /// Parses the text of a `varve.toml`.
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        let wrong = |error: toml::de::Error| SettingsError::Text {
            line: line_of(text, error.span().map_or(0, |span| span.start)),
            message: error.message().to_owned(),
        };
        let table: toml::Table = toml::from_str(text).map_err(wrong)?;
        match table.get("format").and_then(toml::Value::as_integer) {
            Some(found) if found == i64::from(FORMAT_NUMBER) => {}
            Some(found) => return Err(SettingsError::Format { found }),
            None => return Err(SettingsError::NoFormat),
        }
        let mut settings: Self = toml::from_str(text).map_err(wrong)?;
        let domains = std::mem::take(&mut settings.domains).into_iter();
        settings.domains = domains.map(|(name, of)| (name.to_ascii_lowercase(), of)).collect();
        settings.check()?;
        Ok(settings)
    }

    /// The text of the `varve.toml`.
    pub fn text(&self) -> String {
        let keys = toml::to_string(self).expect("plain values can always be written as TOML");
        format!(
            "# An archive made by varve. The silos in `warc` are the archive; `index` is made from them.\n{keys}"
        )
    }

    /// Checks that all values are within their bounds.
    pub fn check(&self) -> Result<(), SettingsError> {
        if !(MIN_SILO_SIZE..=MAX_SILO_SIZE).contains(&self.silo_size) {
            return Err(SettingsError::SiloSize { size: self.silo_size });
        }
        let most = match self.packing {
            PackingMethod::Gzip => 12,
            PackingMethod::Zstd => 19,
        };
        if let Some(level) = self.packing_level.filter(|level| !(1..=most).contains(level)) {
            return Err(SettingsError::Level { level, most });
        }
        let check_entry = |entry: &String| entry.parse::<AllowedHost>().map(|_| ());
        self.allow_private.iter().try_for_each(check_entry).map_err(SettingsError::Allow)?;
        check_line("name", &self.name)?;
        self.contact.as_deref().map_or(Ok(()), |contact| check_line("contact", contact))?;
        self.operator.as_deref().map_or(Ok(()), |operator| check_line("operator", operator))
    }

    /// Converts the settings to [`Packing`]. A dictionary is used only for zstd.
    pub fn packing(&self, dictionary: Option<Dictionary>) -> Packing {
        match (self.packing, self.packing_level) {
            (PackingMethod::Gzip, None) => Packing::Gzip,
            (PackingMethod::Gzip, Some(level)) => Packing::GzipLevel(level),
            (PackingMethod::Zstd, level) => {
                let usual = if dictionary.is_some() { ZSTD_DICTIONARY_LEVEL } else { ZSTD_LEVEL };
                let level = level.map_or(usual, i32::from);
                Packing::Zstd { level, dictionary: dictionary.map(Arc::new) }
            }
        }
    }

    /// The fields of the description at the beginning of every silo.
    pub fn description(&self, software: &str) -> Vec<(String, String)> {
        let mut fields = vec![
            ("software", software),
            ("format", "WARC File Format 1.1"),
            ("conformsTo", "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"),
            ("isPartOf", &self.name),
        ];
        fields.extend(self.operator.as_deref().map(|operator| ("operator", operator)));
        fields.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

fn check_line(key: &'static str, text: &str) -> Result<(), SettingsError> {
    if text.trim().is_empty() || text.len() > MAX_TEXT_BYTES || text.contains(char::is_control) {
        return Err(SettingsError::Line { key });
    }
    Ok(())
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_the_same() {
        let mut settings = ArchiveSettings::new("the \"lake\"");
        assert_eq!(ArchiveSettings::parse(&settings.text()), Ok(settings.clone()));
        settings.operator = Some("Anna".into());
        settings.silo_size = ByteSize(5_000_000);
        settings.packing = PackingMethod::Zstd;
        settings.packing_level = Some(19);
        settings.allow_private = vec!["10.0.0.0/8".into(), "wiki.example".into()];
        assert_eq!(ArchiveSettings::parse(&settings.text()), Ok(settings));
    }

    #[test]
    fn only_format_and_name_are_needed() {
        let settings = ArchiveSettings::parse("format = 1\nname = \"x\"\n").unwrap();
        assert_eq!(settings, ArchiveSettings::new("x"));
        let settings = ArchiveSettings::parse("format = 1\nname = \"x\"\nsilo_size = 2000000").unwrap();
        assert_eq!(settings.silo_size, ByteSize(2_000_000));
    }

    #[test]
    fn each_mistake_is_named_with_its_line() {
        let said = |text: &str| ArchiveSettings::parse(text).unwrap_err().to_string();
        assert_eq!(
            said("format = 2\nname = \"x\"\ncolour = 3"),
            "its format is number 2, and this varve knows number 1"
        );
        assert_eq!(said("name = \"x\""), "it has no `format` number");
        let unknown = said("format = 1\nname = \"x\"\nsilo-size = \"1 GiB\"");
        assert!(unknown.starts_with("line 3: unknown field `silo-size`"), "{unknown}");
        assert!(said("format = 1\nname = ").starts_with("line 2: "));
        let size = said("format = 1\nname = \"x\"\nsilo_size = \"1.5 GiB\"");
        assert!(size.starts_with("line 3: a size is a whole number"), "{size}");
        let small = said("format = 1\nname = \"x\"\nsilo_size = \"1 kB\"");
        assert_eq!(small, "`silo_size` is 1 kB, and may be from 1 MiB to 1 TiB");
        let level = said("format = 1\nname = \"x\"\npacking_level = 13");
        assert_eq!(level, "`packing_level` is 13, and may be from 1 to 12");
        assert!(said("format = 1\nname = \"a\\nb\"").starts_with("`name` must be one line"));
        let allow = said("format = 1\nname = \"x\"\nallow_private = [\"10.0.0.0/99\"]");
        assert!(allow.starts_with("`allow_private`: `10.0.0.0/99` is neither"), "{allow}");
    }

    #[test]
    fn a_folder_gives_its_name() {
        assert_eq!(ArchiveSettings::name_of(Path::new("/srv/museum")), "museum");
        assert_eq!(ArchiveSettings::name_of(Path::new("/")), "archive");
    }
}
