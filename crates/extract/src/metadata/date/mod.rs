//! The day on which a page was published.
//!
//! Sources in order of trust: linked data and microdata, publication dates in `meta`, the path of
//! the URL, elements that are marked as dates, and dates in the text beside the title. A date of
//! modification is taken only of an article that names no other, and one outside of the bounds never. A page that names no date has none:
//! neither the clock nor `Last-Modified` is asked.

mod in_url;
mod month;
mod visible;
pub mod written;

use super::MetadataInput;
use super::facts::PageFacts;
use super::linked_data::{ItemKind, LinkedItems};
use super::region::{PageLayout, Region};
use super::site::{is_home_page, is_thread};
use chrono::{Datelike, Days, NaiveDate};
use varve_core::Moment;
use written::{DayOrder, machine_date};

/// A date of publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicationDate {
    /// The day, as the page writes it: in the time zone of the page.
    pub day: NaiveDate,
    /// How certain it is.
    pub confidence: DateConfidence,
}

/// How certain a date of publication is: where it was found. The first is the most certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DateConfidence {
    /// In structured data, as the date of publication of the article: JSON-LD, microdata, RDFa.
    Structured,
    /// In a `meta` element for dates of publication.
    Declared,
    /// In the path of the URL.
    Url,
    /// In an element that is marked up as a date, beside the title.
    Marked,
    /// In the text beside the title.
    Text,
    /// The article names the day of its last modification alone.
    Modified,
}

/// The days that a date of publication may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct DateBounds {
    latest: NaiveDate,
}

/// The first year that a web page may have been published in.
const FIRST_YEAR: i32 = 1995;

impl DateBounds {
    /// The bounds of a page that was fetched then. Time zones differ by up to a day.
    fn until(fetched: Option<Moment>) -> Self {
        let latest = fetched.and_then(|moment| moment.utc().date_naive().checked_add_days(Days::new(1)));
        Self { latest: latest.unwrap_or(NaiveDate::MAX) }
    }

    fn contain(self, day: NaiveDate) -> bool {
        day.year() >= FIRST_YEAR && day <= self.latest
    }
}

/// What a date is chosen with.
#[derive(Debug, Clone, Copy)]
pub(super) struct DateContext {
    order: DayOrder,
    bounds: DateBounds,
}

impl DateContext {
    fn machine(self, value: &str) -> Option<NaiveDate> {
        machine_date(value, self.order).filter(|day| self.bounds.contain(*day))
    }
}

/// The date of publication of a page.
pub(super) fn publication_date(
    input: &MetadataInput<'_>,
    facts: &PageFacts<'_>,
    items: &LinkedItems<'_>,
    layout: PageLayout<'_>,
    language: Option<&str>,
) -> Option<PublicationDate> {
    let order = day_order(language, input.requested_url);
    let context = DateContext { order, bounds: DateBounds::until(input.fetched) };
    let found = |confidence| move |day| PublicationDate { day, confidence };
    if is_home_page(input.requested_url) {
        return None;
    }
    structured(input, facts, items, layout, context)
        .map(found(DateConfidence::Structured))
        .or_else(|| declared(facts, &PUBLICATION_METAS, context).map(found(DateConfidence::Declared)))
        .or_else(|| in_url(input, context).map(found(DateConfidence::Url)))
        .or_else(|| visible::beside_title(facts, layout, is_thread(input.requested_url, items), context))
        .or_else(|| declared(facts, &GENERIC_METAS, context).map(found(DateConfidence::Declared)))
        .or_else(|| modified(input, items, context).map(found(DateConfidence::Modified)))
}

fn in_url(input: &MetadataInput<'_>, context: DateContext) -> Option<NaiveDate> {
    in_url::day_in_url(input.requested_url).filter(|day| context.bounds.contain(*day))
}

fn structured(
    input: &MetadataInput<'_>,
    facts: &PageFacts<'_>,
    items: &LinkedItems<'_>,
    layout: PageLayout<'_>,
    context: DateContext,
) -> Option<NaiveDate> {
    let keys = ["datePublished", "dateCreated", "uploadDate"];
    let main = items.main(input.requested_url).filter(|(kind, _)| *kind != ItemKind::Page);
    let linked = main.and_then(|(_, item)| context.machine(items.text(item, &keys)?));
    linked.or_else(|| {
        let is_published = |name: &str| matches!(name, "datepublished" | "datecreated");
        facts
            .properties
            .iter()
            .filter(|property| is_published(&property.name))
            .filter(|property| layout.region(property.node) == Region::Main)
            .find_map(|property| context.machine(&facts.property_value(property)))
    })
}

/// Names of `meta` elements with a date of publication, in order of trust.
const PUBLICATION_METAS: [&str; 26] = [
    "article:published_time",
    "og:article:published_time",
    "article:published",
    "og:published_time",
    "datepublished",
    "citation_publication_date",
    "citation_online_date",
    "citation_date",
    "dcterms.issued",
    "dc.date.issued",
    "dc.date.created",
    "parsely-pub-date",
    "sailthru.date",
    "cxenseparse:recs:publishtime",
    "cxenseparse:publishtime",
    "article_date_original",
    "article.published",
    "published_time",
    "publish_date",
    "publish-date",
    "publishdate",
    "publication_date",
    "pubdate",
    "pub_date",
    "datecreated",
    "originalpublicationdate",
];

/// Names of `meta` elements with a date that may be another one, in order of trust.
const GENERIC_METAS: [&str; 6] =
    ["published_at", "dcterms.date", "dc.date", "dcterms.created", "release_date", "date"];

fn declared(facts: &PageFacts<'_>, names: &[&str], context: DateContext) -> Option<NaiveDate> {
    names.iter().find_map(|name| facts.meta_contents(name).find_map(|value| context.machine(value)))
}

/// The day of the last modification, of a page that linked data declares to be an article. Other
/// pages are modified with every build of their site.
fn modified(input: &MetadataInput<'_>, items: &LinkedItems<'_>, context: DateContext) -> Option<NaiveDate> {
    let (_, item) = items.main(input.requested_url).filter(|(kind, _)| *kind == ItemKind::Article)?;
    context.machine(items.text(item, &["dateModified"])?)
}

/// English is written with the month first where the United States are not excluded.
fn day_order(language: Option<&str>, url: &str) -> DayOrder {
    let language = language.unwrap_or("en").to_ascii_lowercase();
    let host =
        url.split_once("://").map_or(url, |(_, rest)| rest).split(['/', '?', '#']).next().unwrap_or_default();
    let is_elsewhere = DAY_FIRST_DOMAINS.iter().any(|domain| host.ends_with(domain));
    let is_american = matches!(language.as_str(), "en" | "en-us" | "en_us" | "en-ph") && !is_elsewhere;
    if is_american { DayOrder::MonthFirst } else { DayOrder::DayFirst }
}

/// Top-level domains of countries that write English with the day first.
const DAY_FIRST_DOMAINS: [&str; 9] = [".uk", ".au", ".nz", ".ie", ".za", ".in", ".sg", ".ng", ".eu"];
