//! Receipts: what the store answers when it keeps an exchange, and yields again when a silo is scanned.
//!
//! A receipt holds all that a catalog row is made from, and nothing that is not in the record's own header or in the
//! head of the answer: so rebuilding needs no body, and gives the same rows.

use std::fmt;

use crate::headers::Headers;
use crate::{BodyId, Moment, RecordId, RunId};

/// What was kept of one exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The record: a response, or the revisit that says that nothing changed.
    pub record: RecordId,
    /// The run it belongs to.
    pub run: Option<RunId>,
    /// The URL that was asked.
    pub url: String,
    /// When.
    pub time: Moment,
    /// The status of the answer.
    pub status: u16,
    /// The headers of the answer, as they were. A 304 answers with few; the rest is in what it refers to.
    pub headers: Headers,
    /// The body: the entity with its codings undone.
    pub body: BodyId,
    /// Its length.
    pub length: u64,
    /// Why the answer was cut short, if it was.
    pub truncated: Option<String>,
    /// For a revisit, the record that holds the bytes.
    pub revisit_of: Option<RecordId>,
    /// Whether the server answered 304 Not Modified.
    pub not_modified: bool,
    /// What a browser made of the answer.
    pub renderings: Renderings,
}

/// What a browser made of an answer, by the ids of the records. As text it is what the record of the answer says:
/// `document=ID screenshot=ID`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Renderings {
    /// The document that scripts left.
    pub document: Option<RecordId>,
    /// A picture of it.
    pub screenshot: Option<RecordId>,
}

impl Renderings {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.named().next().is_none()
    }

    /// Those that there are, each with its name.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, RecordId)> {
        [("document", self.document), ("screenshot", self.screenshot)]
            .into_iter()
            .filter_map(|(name, id)| id.map(|id| (name, id)))
    }

    /// Reads what a record says. Names that are not known are passed over.
    pub fn parse(text: &str) -> Self {
        let mut renderings = Self::default();
        for (name, id) in text.split_ascii_whitespace().filter_map(|word| word.split_once('=')) {
            match name {
                "document" => renderings.document = id.parse().ok(),
                "screenshot" => renderings.screenshot = id.parse().ok(),
                _ => {}
            }
        }
        renderings
    }
}

impl fmt::Display for Renderings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (name, id)) in self.named().enumerate() {
            let space = if number == 0 { "" } else { " " };
            write!(f, "{space}{name}={id}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renderings_are_read_back() {
        let (one, two) = (Some(RecordId::new([1; 32])), Some(RecordId::new([2; 32])));
        for (document, screenshot) in [(None, None), (one, None), (None, two), (one, two)] {
            let renderings = Renderings { document, screenshot };
            assert_eq!(Renderings::parse(&renderings.to_string()), renderings);
        }
        assert!(Renderings::parse("film=urn:sha256:00 document=x = y").is_empty());
    }
}
