//! The result of importing a file.

use serde::Serialize;
use varve_core::VersionId;

/// Findings that are kept for each file; further ones are counted.
const MAX_FINDINGS: usize = 1000;

/// What became of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileImported {
    /// The path of the file, as it was given or found.
    pub path: String,
    /// The SHA-256 of the file, in hex.
    pub sha256: String,
    /// Whether the whole file was imported before. Then it was not read again.
    pub already: bool,
    /// The versions made of it.
    pub versions: Vec<VersionId>,
    /// Records read.
    pub records: u64,
    /// Captures read: responses, revisits, and resources that are pages.
    pub captures: u64,
    /// Captures that the archive did not have.
    pub new: u64,
    /// Records that are no captures, kept as metadata.
    pub other: u64,
    /// The length of the file in bytes.
    pub bytes: u64,
    /// Records that were left out because their URL has a user name or a password.
    pub with_user_info: u64,
    /// Damage, and what could not be imported as it is.
    pub findings: Vec<ImportFinding>,
    /// The number of findings, those that are not listed included.
    pub findings_total: u64,
}

/// Something in a file that could not be imported, or not as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportFinding {
    /// Its byte offset in the file.
    pub offset: u64,
    /// What it is, as a sentence without a capital.
    pub message: String,
}

impl FileImported {
    /// Adds a finding.
    pub(super) fn add_finding(&mut self, offset: u64, message: impl Into<String>) {
        self.findings_total += 1;
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(ImportFinding { offset, message: message.into() });
        }
    }

    /// The number of things that a user should look at.
    pub fn complaints(&self) -> u64 {
        self.findings_total + self.with_user_info
    }
}
