//! The JSON fields of `extract` and `feed`.

use super::{JsonField, JsonObject, JsonVerb};

/// The fields of a page object. They are those of the extraction API.
const PAGE_FIELDS: &[JsonField] = &[
    ("url", "string, optional", "the canonical URL, which the page declares, or that of its response"),
    ("requested_url", "string, optional", "the requested URL, without tracking parameters and fragment"),
    ("error", "string, optional", "why the page could not be read, or not whole"),
    ("original_url", "string, optional", "the URL as it was given"),
    ("fetch_time", "string, optional", "when the page was fetched"),
    ("fetch_method", "string, optional", "`direct` or `chromium-headless`"),
    ("hostname", "string, optional", "the host of the canonical URL"),
    ("status_code", "number, optional", "the HTTP status"),
    ("title", "string, optional", "the title"),
    ("description", "string, optional", "the description"),
    ("sitename", "string, optional", "the name of the site"),
    ("authors", "array of string, optional", "the authors"),
    ("date", "string, optional", "the day of publication, at midnight"),
    ("categories", "array of string, optional", "the categories"),
    ("tags", "array of string, optional", "the tags"),
    ("language", "string, optional", "the language"),
    ("image", "string, optional", "the URL of the main image"),
    ("page_type", "string, optional", "the type of the page, as it declares it"),
    ("license", "string, optional", "the licence"),
    ("content_text", "string, optional", "the main text"),
    ("content_html", "string, optional", "the main content as HTML (`--html`)"),
    ("content_markdown", "string, optional", "the main content as Markdown (`--markdown`)"),
];

pub(super) const VERB_FIELDS: &[JsonVerb] = &[
    JsonVerb { verb: "extract", objects: &[JsonObject { when: "For each page", fields: PAGE_FIELDS }] },
    JsonVerb { verb: "feed", objects: &[JsonObject { when: "For each page", fields: PAGE_FIELDS }] },
];
