//! The title of a page, without the name of the site.
//!
//! The heading and the declared titles usually agree but for the name of the site. Where they do
//! not, the heading is a slogan or the name of the site, and the declared title names the page.

use super::facts::PageFacts;
use super::linked_data::{ItemKind, LinkedItems};
use super::region::{PageLayout, Region};
use super::site::{is_home_page, is_site};
use super::text::{MAX_FIELD_BYTES, comparable, field, text_below};

/// Maximum number of headings that are compared with the title.
const MAX_COMPARED_HEADINGS: usize = 8;

/// Share of the words of a heading that the declared title must have, in percent.
const MIN_HEADING_AGREEMENT: usize = 60;

/// The same for an article, whose heading is rarely a slogan.
const MIN_ARTICLE_HEADING_AGREEMENT: usize = 40;

/// Separators between the title of a page and the name of its site, in order of strength.
const SITE_SEPARATORS: [&[&str]; 2] =
    [&[" | ", " » ", " :: ", " • ", " · ", " ‹ ", " « "], &[" - ", " – ", " — "]];

/// The title of a page.
pub(super) fn title(
    facts: &PageFacts<'_>,
    items: &LinkedItems<'_>,
    url: &str,
    site: &[String],
) -> Option<String> {
    let names = ["og:title", "twitter:title", "citation_title", "dc.title", "dcterms.title"];
    // The title of a whole site may be its name.
    let site = if is_home_page(url) { &[] } else { site };
    let given = |text: &str| field(text.trim_matches(is_loose)).filter(|title| !is_site(title, site));
    let social = facts.meta_content(&names).and_then(given);
    let document = facts.document_title.as_deref().and_then(given);
    let headline = items
        .main(url)
        .filter(|(kind, _)| *kind < ItemKind::Page)
        .and_then(|(_, item)| given(items.text(item, &["headline", "name"])?));
    let declared = [social.as_deref().or(document.as_deref()), headline.as_deref()];
    let headings = headings(facts, site);
    let is_article = items.main(url).is_some_and(|(kind, _)| kind == ItemKind::Article)
        || facts.meta_content(&["og:type"]).is_some_and(|kind| kind.eq_ignore_ascii_case("article"));
    let agreement = if is_article { MIN_ARTICLE_HEADING_AGREEMENT } else { MIN_HEADING_AGREEMENT };
    agreed_heading(&headings, declared, agreement)
        .map(|heading| without_label(heading, headline.as_deref()))
        .map(|heading| without_addition(heading, social.as_deref().or(document.as_deref()), site))
        .or_else(|| social.as_deref().map(|title| without_site(title, site)))
        .or_else(|| document.as_deref().map(|title| without_site(title, site)))
        .or_else(|| headline.clone())
        .or_else(|| headings.into_iter().next())
        .or_else(|| facts.document_title.as_deref().and_then(field))
}

/// Characters that end a title when the name of the site behind it is missing.
fn is_loose(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '|' | '»' | '«' | '•' | '·')
}

/// A heading without the label before it, such as the category of a thread: if it ends with the
/// headline of linked data, that is the title.
fn without_label(heading: String, headline: Option<&str>) -> String {
    let is_labelled = |headline: &&str| {
        let (whole, end) = (comparable(&heading), comparable(headline));
        whole.len() > end.len() && !end.is_empty() && whole.ends_with(&format!(" {end}"))
    };
    headline.filter(is_labelled).map_or_else(|| heading.clone(), str::to_owned)
}

/// A heading without what follows the title inside it, such as a number of comments. A part behind
/// a separator belongs to the title.
fn without_addition(heading: String, declared: Option<&str>, site: &[String]) -> String {
    let Some(title) = declared.map(|title| without_site(title, site)) else { return heading };
    let addition = heading.strip_prefix(title.as_str()).unwrap_or_default();
    let is_addition = addition.starts_with(' ')
        && title.contains(' ')
        && addition.trim_start().starts_with(|letter: char| letter.is_alphanumeric() || letter == '(');
    if is_addition { title } else { heading }
}

/// The heading with the title; the first one if none has it.
pub(super) fn title_node(facts: &PageFacts<'_>, title: Option<&str>) -> Option<usize> {
    let title = comparable(title.unwrap_or_default());
    let has_title = |node: &&usize| {
        let heading = comparable(&text_below(facts.tree, **node, MAX_FIELD_BYTES));
        heading == title || (heading.len() > title.len() && title.contains(' ') && heading.ends_with(&title))
    };
    let subheadings = facts.subheadings.iter().take(MAX_COMPARED_HEADINGS);
    let mut candidates = facts.headings.iter().take(MAX_COMPARED_HEADINGS).chain(subheadings);
    candidates.find(has_title).or_else(|| facts.headings.first()).copied()
}

/// The headings that may be the title.
fn headings(facts: &PageFacts<'_>, site: &[String]) -> Vec<String> {
    let layout = PageLayout::new(facts.tree, None);
    facts
        .headings
        .iter()
        .filter(|node| layout.region(**node) == Region::Main)
        .filter_map(|node| field(&text_below(facts.tree, *node, MAX_FIELD_BYTES)))
        .map(|heading| heading.trim_end_matches(['¶', '#', '§']).trim_end().to_owned())
        .filter(|heading| !heading.is_empty() && !is_site(heading, site))
        .take(MAX_COMPARED_HEADINGS)
        .collect()
}

/// The heading that agrees best with a declared title, if one agrees.
fn agreed_heading(headings: &[String], declared: [Option<&str>; 2], least: usize) -> Option<String> {
    let declared: Vec<String> = declared.into_iter().flatten().map(comparable).collect();
    let agreement = |heading: &String| {
        let heading = comparable(heading);
        declared.iter().map(|title| shared_words(&heading, title)).max().unwrap_or(100)
    };
    let mut best: Option<(usize, &String)> = None;
    for heading in headings {
        let share = agreement(heading);
        if best.is_none_or(|(most, _)| share > most) {
            best = Some((share, heading));
        }
    }
    best.filter(|(share, _)| *share >= least).map(|(_, heading)| heading.clone())
}

/// The share of the words of one text that another has, in percent.
fn shared_words(text: &str, other: &str) -> usize {
    let others: std::collections::HashSet<&str> = other.split(' ').collect();
    let words = text.split(' ').filter(|word| !word.is_empty());
    let (shared, all) =
        words.fold((0, 0), |(shared, all), word| (shared + usize::from(others.contains(word)), all + 1));
    (100 * shared).checked_div(all).unwrap_or(0)
}

/// A declared title without the name of the site before or behind it. What stands behind a strong
/// separator goes in any case.
fn without_site(title: &str, site: &[String]) -> String {
    let mut title = title;
    if title.matches(" / ").count() > 1 {
        // Forums name the board and the site in this way.
        title = title.split(" / ").next().unwrap_or(title);
    }
    // The title of a whole site is its name and its slogan.
    let tiers = if site.is_empty() { 1 } else { SITE_SEPARATORS.len() };
    for separators in &SITE_SEPARATORS[..tiers] {
        let parts = split_at_any(title, separators);
        if parts.len() > 1 {
            let first = usize::from(is_site(parts[0], site));
            title = parts[first].trim();
        }
    }
    title.to_owned()
}

fn split_at_any<'t>(text: &'t str, separators: &[&str]) -> Vec<&'t str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((at, separator)) =
        separators.iter().filter_map(|separator| Some((rest.find(separator)?, separator))).min()
    {
        parts.push(&rest[..at]);
        rest = &rest[at + separator.len()..];
    }
    parts.push(rest);
    parts.retain(|part| !part.trim().is_empty());
    parts
}
