//! Metadata of a page: title, authors, date, description and what else a page says of itself.

use chrono::NaiveDate;
use varve_core::Moment;
use varve_page::dom::HtmlTree;

/// A parsed page, and what else is known of it.
#[derive(Debug, Clone, Copy)]
pub struct MetadataInput<'a> {
    /// The page.
    pub tree: &'a HtmlTree,
    /// The requested URL.
    pub requested_url: &'a str,
    /// The value of the `Content-Language` header.
    pub content_language: Option<&'a str>,
    /// When the page was fetched: a later date is not its date of publication.
    pub fetched: Option<Moment>,
}

/// What a page says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArticleMetadata {
    /// The canonical URL; the requested URL if the page declares none.
    pub canonical_url: String,
    /// The host of the canonical URL.
    pub hostname: Option<String>,
    /// The title, without the name of the site.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The name of the site.
    pub sitename: Option<String>,
    /// The authors.
    pub authors: Vec<String>,
    /// The date of publication.
    pub date: Option<PublicationDate>,
    /// The categories.
    pub categories: Vec<String>,
    /// The tags.
    pub tags: Vec<String>,
    /// The language, as a BCP 47 tag.
    pub language: Option<String>,
    /// The URL of the main image.
    pub image: Option<String>,
    /// The type of the page, as it declares it.
    pub page_type: Option<String>,
    /// The licence.
    pub license: Option<String>,
}

/// A date of publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicationDate {
    /// The day.
    pub day: NaiveDate,
    /// How certain it is.
    pub confidence: DateConfidence,
}

/// How certain a date of publication is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DateConfidence {
    /// Found in the text.
    Low,
    /// Marked up as a date, but not as the date of publication.
    Medium,
    /// Declared as the date of publication.
    High,
}

/// Reads the metadata of a page.
pub fn read(input: &MetadataInput<'_>) -> ArticleMetadata {
    ArticleMetadata { canonical_url: input.requested_url.to_owned(), ..ArticleMetadata::default() }
}
