//! The page object: the JSON that a request for a page answers.
//!
//! Names, order and omission of empty fields are those of the extraction API that varve is
//! compatible with. The fields of varve itself follow them, and are there only if requested.

use crate::metadata::{ArticleMetadata, DateConfidence, PublicationDate};
use chrono::NaiveDate;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use varve_core::Moment;
use varve_core::history::FetchMethod;

/// A page as an API answers it. [`crate::extract`] fills in what the body says; the caller adds how
/// and when it was fetched.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ExtractedPage {
    /// The canonical URL.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// The requested URL, cleaned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_url: Option<String>,
    /// Why the page could not be fetched or extracted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The URL as the client sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_url: Option<String>,
    /// When the page was fetched.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "whole_seconds")]
    pub fetch_time: Option<Moment>,
    /// How the page was fetched.
    #[serde(skip_serializing_if = "is_unspecified")]
    pub fetch_method: FetchMethod,
    /// The host of the canonical URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// The HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_code: Option<u16>,
    /// The title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The name of the site.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sitename: Option<String>,
    /// The authors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<String>,
    /// The date of publication.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "midnight",
        deserialize_with = "day_of"
    )]
    pub date: Option<PublicationDate>,
    /// The categories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// The tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The URL of the main image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The type of the page, as it declares it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_type: Option<String>,
    /// The licence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// The id that a caller gives the page. Extraction never sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The fingerprint that a caller gives the content. Extraction never sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The main text: one paragraph, heading, item or row per line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_text: Option<String>,
    /// How certain the date is. Of varve, on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date_confidence: Option<DateConfidence>,
    /// The main content as clean HTML. Of varve, on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_html: Option<String>,
    /// The main content as Markdown. Of varve, on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_markdown: Option<String>,
}

impl ExtractedPage {
    /// A page with its metadata and no content.
    pub(crate) fn with_metadata(requested_url: &str, metadata: ArticleMetadata) -> Self {
        Self {
            url: metadata.canonical_url,
            requested_url: Some(requested_url.to_owned()).filter(|url| !url.is_empty()),
            hostname: metadata.hostname,
            title: metadata.title,
            description: metadata.description,
            sitename: metadata.sitename,
            authors: metadata.authors,
            date: metadata.date,
            categories: metadata.categories,
            tags: metadata.tags,
            language: metadata.language,
            image: metadata.image,
            page_type: metadata.page_type,
            license: metadata.license,
            ..Self::default()
        }
    }
}

fn is_unspecified(method: &FetchMethod) -> bool {
    *method == FetchMethod::Unspecified
}

fn whole_seconds<S: Serializer>(time: &Option<Moment>, to: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => to.collect_str(&Moment::from_seconds(time.seconds())),
        None => to.serialize_none(),
    }
}

fn midnight<S: Serializer>(date: &Option<PublicationDate>, to: S) -> Result<S::Ok, S::Error> {
    match date {
        Some(date) => to.collect_str(&format_args!("{}T00:00:00Z", date.day)),
        None => to.serialize_none(),
    }
}

/// The day of a date that [`midnight`] wrote. How certain it is has a field of its own.
fn day_of<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PublicationDate>, D::Error> {
    let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
    let day = text.split('T').next().unwrap_or_default();
    let day = day.parse::<NaiveDate>().map_err(D::Error::custom)?;
    Ok(Some(PublicationDate { day, confidence: DateConfidence::Text }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_fields_are_omitted() {
        assert_eq!(serde_json::to_string(&ExtractedPage::default()).expect("serialises"), "{}");
    }

    #[test]
    fn fields_stand_in_the_order_of_the_api() {
        let some = |text: &str| Some(text.to_owned());
        let page = ExtractedPage {
            url: "https://a.example/".to_owned(),
            requested_url: some("https://a.example/?x=1"),
            error: some("e"),
            original_url: some("https://a.example/?x=1#y"),
            fetch_time: Some(Moment::from_micros(1_700_000_000_500_000)),
            fetch_method: FetchMethod::ChromiumHeadless,
            hostname: some("a.example"),
            status_code: Some(200),
            title: some("t"),
            description: some("d"),
            sitename: some("s"),
            authors: vec!["a".to_owned()],
            date: NaiveDate::from_ymd_opt(2023, 12, 1)
                .map(|day| PublicationDate { day, confidence: DateConfidence::Structured }),
            categories: vec!["c".to_owned()],
            tags: vec!["g".to_owned()],
            language: some("en"),
            image: some("i"),
            page_type: some("article"),
            license: some("l"),
            id: some("1"),
            fingerprint: some("f"),
            content_text: some("text"),
            date_confidence: Some(DateConfidence::Structured),
            content_html: some("<p>text</p>"),
            content_markdown: some("text"),
        };
        insta::assert_snapshot!(serde_json::to_string(&page).expect("serialises"));
    }
}
