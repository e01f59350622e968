//! Receipts: the result of storing an exchange, which a scan of a silo yields again.
//!
//! A receipt holds everything that a catalog row is made from. All of it is in the record's own
//! header or in the head of the response, so a rebuild reads no body and gives the same rows.

use std::fmt;

use crate::headers::Headers;
use crate::{BodyId, Moment, RecordId, RunId};

/// The record of one stored exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The record: a response, or a revisit for an unchanged body.
    pub record: RecordId,
    /// The run it belongs to.
    pub run: Option<RunId>,
    /// The requested URL.
    pub url: String,
    /// When the request was sent.
    pub time: Moment,
    /// The status of the response.
    pub status: u16,
    /// The headers of the response, as received. A 304 has few; the others are in the record that
    /// it refers to.
    pub headers: Headers,
    /// The body: the entity with its codings removed.
    pub body: BodyId,
    /// The length of the body in bytes.
    pub length: u64,
    /// Why the response is truncated, if it is.
    pub truncated: Option<String>,
    /// For a revisit, the record that holds the bytes.
    pub revisit_of: Option<RecordId>,
    /// Whether the server answered 304 Not Modified.
    pub not_modified: bool,
    /// The renderings that a browser made of the response.
    pub renderings: Renderings,
}

/// The renderings that a browser made of a response, by record id. The record of the response names
/// them as text: `document=ID screenshot=ID`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Renderings {
    /// The document after its scripts have run.
    pub document: Option<RecordId>,
    /// A screenshot of it.
    pub screenshot: Option<RecordId>,
}

impl Renderings {
    /// Whether there are no renderings.
    pub fn is_empty(&self) -> bool {
        self.named().next().is_none()
    }

    /// The existing renderings, each with its name.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, RecordId)> {
        [("document", self.document), ("screenshot", self.screenshot)]
            .into_iter()
            .filter_map(|(name, id)| id.map(|id| (name, id)))
    }

    /// Parses the text in a record. Unknown names are ignored.
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
