//! Suggests groups for sites whose pages are all in one folder, by the names of the pages.
//!
//! If the links of a page are in its own folder, the usual suggestion is a group of that whole
//! folder. That is the site itself, and not a useful group. The members then share the beginning of
//! their names: `sql-select.html` and `sql-insert.html`, `chapter1.html` and `chapter2.html`.

use std::collections::{BTreeMap, BTreeSet};

use super::suggest::{MIN_URLS_PER_PATTERN, SuggestedGroup, by_size};
use super::{AtSign, GroupPattern};

/// The groups that the links of a page suggest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestedGroups {
    /// The groups, the largest first. The count of each includes links that other groups match as
    /// well.
    pub groups: Vec<SuggestedGroup>,
    /// The number of links in the page's own folder that are in no group.
    pub left_beside: usize,
    /// The number of other links that are in no group.
    pub left_over: usize,
}

/// Suggests groups for the links of a page. A group of the page's whole folder is replaced by
/// groups of names in it. Links that match none of them are in no group.
pub fn suggest_groups_on<'u>(page: &str, urls: impl IntoIterator<Item = &'u str>) -> SuggestedGroups {
    let urls: BTreeSet<&str> = urls.into_iter().collect();
    let urls: Vec<&str> = urls.into_iter().collect();
    let mut found = Vec::new();
    for group in super::suggest::suggest_groups(urls.iter().copied()) {
        match folder_of(&group.pattern).filter(|folder| is_beside(page, folder)) {
            Some(folder) => found.extend(groups_by_name(folder, &urls)),
            None => found.push(group),
        }
    }
    let mut left: Vec<&str> = urls.iter().filter(|url| is_neighbour(page, url)).copied().collect();
    let mut over: Vec<&str> = urls.iter().filter(|url| !is_neighbour(page, url)).copied().collect();
    let mut groups = Vec::new();
    for SuggestedGroup { pattern, .. } in found {
        let compiled = GroupPattern::new(&pattern, AtSign::Literal);
        if holds_all_beside(&compiled, page, &left) {
            continue;
        }
        left.retain(|url| !compiled.matches(url));
        over.retain(|url| !compiled.matches(url));
        let members = urls.iter().filter(|url| compiled.matches(url)).count();
        groups.push(SuggestedGroup { pattern, members });
    }
    by_size(&mut groups);
    SuggestedGroups { groups, left_beside: left.len(), left_over: over.len() }
}

/// The folder of a page.
fn own_folder(page: &str) -> &str {
    let path = page.split(['?', '#']).next().unwrap_or(page);
    &path[..path.rfind('/').map_or(0, |at| at + 1)]
}

/// Whether a URL is another page in the folder of a page.
fn is_neighbour(page: &str, url: &str) -> bool {
    url != page && url.len() > own_folder(page).len() && is_beside(url, own_folder(page))
}

/// Whether a pattern with a wildcard for folders matches the page's own folder as well, and links
/// there that are in no group yet. Such a pattern was suggested by links elsewhere, and would match
/// the whole site.
fn holds_all_beside(pattern: &GroupPattern, page: &str, beside: &[&str]) -> bool {
    pattern.matches(&format!("{}a-name-that-nobody-has", own_folder(page)))
        && beside.iter().any(|url| pattern.matches(url))
}

/// The folder, if the pattern matches all pages of one folder.
fn folder_of(pattern: &str) -> Option<&str> {
    let folder = pattern.strip_suffix('*').filter(|folder| folder.ends_with('/'))?;
    (!folder.contains(['*', '#'])).then_some(folder)
}

/// Whether a page is directly in a folder.
fn is_beside(page: &str, folder: &str) -> bool {
    page.strip_prefix(folder).is_some_and(|name| !name.split(['?', '#']).next().unwrap_or(name).contains('/'))
}

/// Groups of names that differ in a number, and of names that begin with the same word.
fn groups_by_name(folder: &str, urls: &[&str]) -> Vec<SuggestedGroup> {
    let everything = GroupPattern::new(&format!("{folder}*"), AtSign::Literal);
    let mut names: Vec<&str> = urls.iter().filter(|url| everything.matches(url)).copied().collect();
    names.sort_unstable();
    names.dedup();
    let mut groups = Vec::new();
    for kind in [numbered, begun] {
        let mut kinds: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for url in &names {
            if let Some(name) = kind(&url[folder.len()..]) {
                kinds.entry(format!("{folder}{name}")).or_default().push(url);
            }
        }
        kinds.retain(|_, members| members.len() >= MIN_URLS_PER_PATTERN);
        names.retain(|url| !kinds.values().any(|members| members.contains(url)));
        groups.extend(
            kinds.into_iter().map(|(pattern, members)| SuggestedGroup { pattern, members: members.len() }),
        );
    }
    groups
}

/// `chapter#.html` for `chapter12.html`.
fn numbered(name: &str) -> Option<String> {
    let start = name.find(|letter: char| letter.is_ascii_digit())?;
    let end = name[start..].find(|letter: char| !letter.is_ascii_digit()).map_or(name.len(), |at| start + at);
    Some(format!("{}#{}", &name[..start], &name[end..])).filter(|pattern| is_plain(&name[..start], pattern))
}

/// `sql-*` for `sql-select.html`.
fn begun(name: &str) -> Option<String> {
    let end = name.find(['-', '_'])? + 1;
    Some(format!("{}*", &name[..end])).filter(|pattern| end > 1 && is_plain(&name[..end], pattern))
}

/// Whether no character of a name would be read as a wildcard.
fn is_plain(beginning: &str, pattern: &str) -> bool {
    !beginning.contains(['*', '#', '@']) && pattern.matches(['*', '#']).count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(page: &str, names: &[&str]) -> Vec<(String, usize)> {
        let urls: Vec<String> = names.iter().map(|name| format!("http://h/docs/{name}")).collect();
        let suggested = suggest_groups_on(page, urls.iter().map(String::as_str));
        suggested.groups.into_iter().map(|group| (group.pattern, group.members)).collect()
    }

    #[test]
    fn a_flat_site_is_grouped_by_names() {
        let names = [
            "index.html",
            "sql-select.html",
            "sql-insert.html",
            "sql-update.html",
            "sql-select.html",
            "sql-copy.html",
            "chapter1.html",
            "chapter2.html",
            "chapter10.html",
            "about.html",
            "faq.html",
            "a-b.html",
        ];
        let groups = suggested("http://h/docs/index.html", &names);
        let expected = [("http://h/docs/sql-*".to_owned(), 4), ("http://h/docs/chapter#.html".to_owned(), 3)];
        assert_eq!(groups, expected);
    }

    #[test]
    fn what_has_nothing_in_common_is_no_group() {
        assert_eq!(suggested("http://h/docs/", &["one.html", "two.html", "three.html"]), []);
    }

    /// The manual of Python: many pages beside this one, and one link into each of the other
    /// folders.
    #[test]
    fn a_pattern_for_what_is_elsewhere_does_not_hold_the_folder_of_the_page() {
        let beside = ["library/os.html", "library/re.html", "library/io.html", "library/ast.html"];
        let elsewhere = ["tutorial/index.html", "reference/index.html", "faq/general.html"];
        let names = [&beside[..], &elsewhere[..]].concat();
        assert_eq!(suggested("http://h/docs/library/index.html", &names), []);
        let urls: Vec<String> = names.iter().map(|name| format!("http://h/docs/{name}")).collect();
        let on = |page| suggest_groups_on(page, urls.iter().map(String::as_str));
        assert_eq!(on("http://h/docs/library/index.html").left_beside, 4);
        // Where none of them is beside the page, it says how many it matches of all.
        let group = |pattern: &str, members| SuggestedGroup { pattern: pattern.to_owned(), members };
        let expected = [group("http://h/docs/*/*", 7), group("http://h/docs/library/*", 4)];
        assert_eq!((on("http://h/docs/").groups, on("http://h/docs/").left_beside), (expected.to_vec(), 0));
    }

    #[test]
    fn numbered_pages_beside_the_page_are_a_group() {
        let groups = suggested("http://h/docs/2", &["1", "3", "4"]);
        assert_eq!(groups, [("http://h/docs/#".to_owned(), 3)]);
    }

    #[test]
    fn a_folder_of_others_is_a_group() {
        let groups = suggested("http://h/index.html", &["one.html", "two.html", "three.html"]);
        assert_eq!(groups, [("http://h/docs/*".to_owned(), 3)]);
    }
}
