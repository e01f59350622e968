//! Suggests a pattern for pages like a given one, from the URLs of others.
//!
//! A URL is split into dimensions: its host, each segment of its path, each value of its query.
//! URLs of the same shape differ only in the values of these dimensions. A pattern is a URL with a
//! wildcard in place of those that vary. Nothing is downloaded: the caller passes the URLs that it
//! knows.

use super::{AtSign, GroupPattern};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Minimum number of URLs in a group.
pub(super) const MIN_URLS_PER_PATTERN: usize = 3;
/// Maximum number of URLs of one shape that are examined.
const MAX_SIMILAR_URLS: usize = 2000;

/// One dimension: its delimiter and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Dimension<'u> {
    sign: &'u str,
    value: &'u str,
}

impl Dimension<'_> {
    fn is_number(&self) -> bool {
        !self.value.is_empty() && self.value.bytes().all(|byte| byte.is_ascii_digit())
    }
}

/// Splits a URL. The parts joined in order give the URL again.
fn dimensions(url: &str) -> Option<Vec<Dimension<'_>>> {
    let host = url.find("://")? + 3;
    let mut found = Vec::new();
    let mut sign = (0, host);
    let mut at = host;
    while let Some((start, end)) = next_sign(url, at) {
        found.push(Dimension { sign: &url[sign.0..sign.1], value: &url[sign.1..start] });
        (sign, at) = ((start, end), end);
    }
    found.push(Dimension { sign: &url[sign.0..sign.1], value: &url[sign.1..] });
    Some(found)
}

/// The range of the next delimiter: a slash, or the name of a query parameter.
fn next_sign(url: &str, mut from: usize) -> Option<(usize, usize)> {
    loop {
        let start = from + url[from..].find(['/', '?', '&', '$'])?;
        // An exported site writes `$/` for the question mark that file names cannot have.
        let name = match url.as_bytes().get(start..start + 2) {
            Some(b"$/") => start + 2,
            _ => start + 1,
        };
        match url.as_bytes()[start] {
            b'/' => return Some((start, name)),
            b'$' if name == start + 1 => {}
            _ => {
                let end = name + url[name..].find(['=', '/', '?', '&', '$']).unwrap_or(0);
                if url[end..].starts_with('=') {
                    return Some((start, end + 1));
                }
            }
        }
        from = start + 1;
    }
}

fn is_alike(one: &[Dimension<'_>], other: &[Dimension<'_>]) -> bool {
    let ends_empty =
        |dimensions: &[Dimension<'_>]| dimensions.last().is_some_and(|last| last.value.is_empty());
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| one.sign == other.sign)
        && one.first() == other.first()
        && ends_empty(one) == ends_empty(other)
}

/// A pattern for a URL and the similar ones among `others`, if there are enough of them.
pub fn suggest_pattern<'u>(url: &'u str, others: impl IntoIterator<Item = &'u str>) -> Option<String> {
    let this = dimensions(url)?;
    let mut kind: Vec<_> =
        others.into_iter().filter_map(dimensions).filter(|other| is_alike(&this, other)).collect();
    if !kind.contains(&this) {
        kind.push(this.clone());
    }
    if kind.len() < MIN_URLS_PER_PATTERN {
        return None;
    }
    let mut pattern = String::new();
    for (at, dimension) in this.iter().enumerate() {
        let same = |other: &[Dimension<'_>]| other[at].value == dimension.value;
        let number = |other: &[Dimension<'_>]| other[at].is_number();
        pattern.push_str(dimension.sign);
        if kind.iter().filter(|other| same(other)).count() >= MIN_URLS_PER_PATTERN {
            kind.retain(|other| same(other));
            pattern.push_str(dimension.value);
        } else if dimension.is_number()
            && kind.iter().filter(|other| number(other)).count() >= MIN_URLS_PER_PATTERN
        {
            kind.retain(|other| number(other));
            pattern.push('#');
        } else {
            pattern.push('*');
        }
    }
    Some(pattern)
}

/// A group that the links of a page suggest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestedGroup {
    /// Its pattern.
    pub pattern: String,
    /// The number of the given URLs that belong to it.
    pub members: usize,
}

/// Groups for the links of a page, the largest first. Each URL counts once and in one group only:
/// the first that was found for its shape.
pub fn suggest_groups<'u>(urls: impl IntoIterator<Item = &'u str>) -> Vec<SuggestedGroup> {
    let mut shapes: HashMap<String, Vec<&str>> = HashMap::new();
    let mut seen = std::collections::HashSet::new();
    for url in urls.into_iter().filter(|url| seen.insert(*url)) {
        if let Some(shape) = dimensions(url).map(|dimensions| shape(&dimensions)) {
            let alike = shapes.entry(shape).or_default();
            if alike.len() < MAX_SIMILAR_URLS {
                alike.push(url);
            }
        }
    }
    let mut groups: Vec<SuggestedGroup> = shapes.into_values().flat_map(groups_alike).collect();
    by_size(&mut groups);
    groups
}

/// Sorts groups by size, the largest first.
pub(super) fn by_size(groups: &mut [SuggestedGroup]) {
    groups
        .sort_by(|one, other| other.members.cmp(&one.members).then_with(|| one.pattern.cmp(&other.pattern)));
}

/// The properties that similar URLs share: the host, the delimiters, and whether the last value is
/// empty.
fn shape(dimensions: &[Dimension<'_>]) -> String {
    let host = dimensions.first().map_or("", |host| host.value);
    let ends_empty = dimensions.last().is_some_and(|last| last.value.is_empty());
    let signs = dimensions.iter().map(|dimension| dimension.sign);
    signs.chain([" ", host, if ends_empty { " " } else { "" }]).collect()
}

/// A URL up to the end of each of its dimensions.
fn beginnings(url: &str) -> Vec<&str> {
    let mut end = 0;
    let lengths = dimensions(url).into_iter().flatten().map(|part| part.sign.len() + part.value.len());
    lengths
        .map(|length| {
            end += length;
            &url[..end]
        })
        .collect()
}

/// Groups for URLs of one shape. URLs that share their beginnings with many others come first, so
/// that a stray link does not absorb a large group.
fn groups_alike(mut urls: Vec<&str>) -> Vec<SuggestedGroup> {
    let mut shared: HashMap<&str, usize> = HashMap::new();
    urls.iter().flat_map(|url| beginnings(url)).for_each(|start| *shared.entry(start).or_default() += 1);
    urls.sort_by_cached_key(|url| {
        beginnings(url).into_iter().map(|start| Reverse(shared.get(start).copied())).collect::<Vec<_>>()
    });
    let mut groups = Vec::new();
    while let Some(&first) = urls.first() {
        let Some(pattern) = suggest_pattern(first, urls.iter().copied()) else { break };
        let compiled = GroupPattern::new(&pattern, AtSign::Literal);
        let before = urls.len();
        urls.retain(|url| *url != first && !compiled.matches(url));
        // A pattern without a wildcard is a URL, and not a group.
        if pattern.contains(['*', '#']) {
            groups.push(SuggestedGroup { pattern, members: before - urls.len() });
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_varies_becomes_a_sign() {
        let links = [
            "https://a.com/",
            "https://a.com/1/x/",
            "https://a.com/2/x/",
            "https://a.com/3/y/",
            "https://a.com/4/x",
        ];
        let suggest = |url| suggest_pattern(url, links);
        assert_eq!(suggest("https://a.com/7/x/").as_deref(), Some("https://a.com/#/x/"));
        assert_eq!(suggest("https://a.com/7/z/").as_deref(), Some("https://a.com/#/*/"));
        assert_eq!(suggest("https://a.com/b/x/").as_deref(), Some("https://a.com/*/x/"));
        assert_eq!(suggest("https://b.com/7/x/"), None);
        assert_eq!(suggest("https://a.com/7/x"), None);
        let queries = ["https://a.com/p?id=1&v=a", "https://a.com/p?id=2&v=a", "https://a.com/p?id=3&v=b"];
        assert_eq!(
            suggest_pattern("https://a.com/p?id=9&v=a", queries).as_deref(),
            Some("https://a.com/p?id=#&v=a")
        );
        assert_eq!(suggest_pattern("no url", links), None);
    }

    #[test]
    fn the_links_of_a_page_suggest_groups() {
        let mut links: Vec<String> = (1..=5).map(|number| format!("https://a.com/post/{number}/")).collect();
        links.extend(["x", "y", "z"].map(|name| format!("https://a.com/tag/{name}")));
        links.extend(["https://a.com/", "https://b.com/post/1/", "https://a.com/post/5/"].map(str::to_owned));
        let groups = suggest_groups(links.iter().map(String::as_str));
        let group = |pattern: &str, members| SuggestedGroup { pattern: pattern.to_owned(), members };
        assert_eq!(groups, [group("https://a.com/post/#/", 5), group("https://a.com/tag/*", 3)]);
        let mut links = vec!["https://a.com/about/index.html".to_owned()];
        links.extend((0..9).map(|number| format!("https://a.com/library/{number}x.html")));
        links.extend(["https://a.com/news/a.html".to_owned(), "https://a.com/faq/b.html".to_owned()]);
        let groups = suggest_groups(links.iter().map(String::as_str));
        assert_eq!(groups, [group("https://a.com/library/*", 9), group("https://a.com/*/*", 3)]);
        assert_eq!(suggest_groups([]), []);
    }

    proptest! {
        #[test]
        fn parts_put_together_are_the_url(url in "[a-z]{0,3}(://)?[a-z0-9/?&=$#é.]{0,20}") {
            if let Some(parts) = dimensions(&url) {
                let whole: String = parts.iter().map(|part| [part.sign, part.value].concat()).collect();
                prop_assert_eq!(whole, url);
            }
        }

        #[test]
        fn a_suggested_pattern_matches_what_it_was_made_for(ids in prop::collection::vec("[a-z0-9]{0,3}", 3..6)) {
            let urls: Vec<String> = ids.iter().map(|id| format!("https://a.com/{id}/p?x={id}")).collect();
            if let Some(pattern) = suggest_pattern(&urls[0], urls.iter().map(String::as_str)) {
                let pattern = crate::pattern::GroupPattern::new(&pattern, crate::pattern::AtSign::Literal);
                prop_assert!(pattern.matches(&urls[0]), "{} {}", pattern, urls[0]);
            }
        }
    }
}
