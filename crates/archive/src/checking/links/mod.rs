//! Links as expectations: every link of some pages should lead somewhere.
//!
//! | file | does |
//! | --- | --- |
//! | `link_sources` | reads pages of an archive, files and text |
//! | `link_collection` | the targets, without repetition, and the pages that link to them |
//! | `web_link` | judges the response of a target, and its fragments |
//! | `local_link` | judges a link to a file |
//!
//! Links to other than web addresses and files, such as `mailto:`, are left out.

mod link_collection;
mod link_sources;
mod local_link;
mod web_link;

pub use link_collection::LinkCollection;
pub use link_sources::{LinkSourceError, LinkTextFormat};
pub use web_link::{AcceptedStatuses, LinkRules};

use crate::expectations::report::CheckedUrl;

use super::CheckCase;
use local_link::LocalLink;
use web_link::WebLink;

/// A case for every target that the rules do not exclude, by URL; files come last.
pub(crate) fn link_cases<'a>(links: &'a LinkCollection, rules: &'a LinkRules) -> Vec<CheckCase<'a>> {
    let mut cases = Vec::new();
    for (url, uses) in links.targets().filter(|(url, _)| !rules.excludes(url)) {
        let target = Box::new(WebLink { url, uses, links, rules });
        cases.push(CheckCase { target, checked: CheckedUrl::new(url) });
    }
    for (path, uses) in links.files() {
        let target = Box::new(LocalLink { path, uses, links });
        cases.push(CheckCase { target, checked: CheckedUrl::new(&links.shown_path(path)) });
    }
    cases
}

/// The name that a fragment asks for. `None` if it names no element of its own: it is empty or
/// `top`, a text directive, or the route of a script.
pub(super) fn named_element(fragment: &str) -> Option<&str> {
    let name = fragment.split(":~:").next().unwrap_or_default();
    let is_route = name.starts_with(['!', '/']) || name.contains(['=', '?']);
    (!name.is_empty() && !name.eq_ignore_ascii_case("top") && !is_route).then_some(name)
}

/// The fragments that name no element of a page.
pub(super) fn missing_fragments<'a>(html: &[u8], fragments: impl Iterator<Item = &'a str>) -> Vec<String> {
    let decoded = |name: &str| percent_encoding::percent_decode_str(name).decode_utf8_lossy().into_owned();
    let mut missing: Vec<(&str, String)> = fragments.map(|name| (name, decoded(name))).collect();
    varve_page::anchors::each_anchor(html, &mut |anchor| {
        // Forges put this before the names that users chose.
        let own = anchor.strip_prefix("user-content-").unwrap_or(anchor);
        missing.retain(|(name, decoded)| ![anchor, own].iter().any(|it| it == name || it == decoded));
    });
    missing.into_iter().map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_found_decoded_and_with_the_prefix_of_forges() {
        let html = "<p id=a><a name=b></a><p id=\u{fc}><p id=user-content-d>".as_bytes();
        let wanted = ["a", "b", "%C3%BC", "d", "e"];
        assert_eq!(missing_fragments(html, wanted.into_iter()), ["e"]);
    }

    #[test]
    fn routes_and_text_directives_name_no_element() {
        for fragment in ["", "top", ":~:text=x", "!/home", "/home", "page=2"] {
            assert_eq!(named_element(fragment), None, "{fragment}");
        }
        assert_eq!(named_element("part:~:text=x"), Some("part"));
    }
}
