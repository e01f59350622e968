//! What is wrong with the files of an archive.

/// A defect that was found while the index was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveFinding {
    /// The file, relative to the archive, with the member of a package after `!`.
    pub file: String,
    /// The byte offset in the file, if the finding has a place.
    pub offset: Option<u64>,
    /// The name of the rule.
    pub rule: String,
    /// Whether content may be lost.
    pub is_loss: bool,
    /// What is wrong.
    pub message: String,
    /// Whether it is about records. `varve-warc` reports it again when it inspects the file.
    pub is_of_records: bool,
}

impl ArchiveFinding {
    /// A finding without a place, by which nothing is lost.
    pub(crate) fn note(file: &str, rule: &str, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            offset: None,
            rule: rule.to_owned(),
            is_loss: false,
            message: message.into(),
            is_of_records: false,
        }
    }

    /// A finding without a place, by which content is lost.
    pub(crate) fn loss(file: &str, rule: &str, message: impl Into<String>) -> Self {
        Self { is_loss: true, ..Self::note(file, rule, message) }
    }
}
