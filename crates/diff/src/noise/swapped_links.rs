//! Values that took the place of another value in several links of two pages.
//!
//! A session is in all links of a page at once. A value that changed in a single link is what a
//! person put there.

use regex::Regex;
use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Maximum number of bytes of a page that are searched for links.
const MAX_SEARCHED_BYTES: usize = 4 << 20;

/// Number of different links in which a value must have been replaced by the same other one.
const MIN_SWAPPED_LINKS: usize = 2;

/// An address up to a parameter that may be a session, and the value of the parameter.
static SESSION_PARAMETER: LazyLock<Regex> = LazyLock::new(|| {
    let form = r#"(?i)(?<link>[^"'\s<>]{0,400}?[?&;](?:session(?:_id)?|sid)=)(?<v>[a-z0-9]{8,64})\b"#;
    Regex::new(form).expect("the form is tested")
});

/// The values of such parameters by the links that they are in.
type SessionLinks = HashMap<String, String>;

/// The pairs of values in two pages, found when they are first asked for.
pub(super) type SwappedLinks<'t> = LazyCell<LinkPairs, Box<dyn FnOnce() -> LinkPairs + 't>>;

/// Values, each with the value that took its place.
type LinkPairs = HashSet<(String, String)>;

/// The pairs of two pages. The function returns texts that hold all links of the pages.
pub(super) fn swapped_links<'t>(pages: impl FnOnce() -> [Cow<'t, str>; 2] + 't) -> SwappedLinks<'t> {
    LazyCell::new(Box::new(|| {
        let [base, head] = pages().map(|page| links(&page));
        swapped(&base, &head)
    }))
}

fn links(text: &str) -> SessionLinks {
    let text = &text[..text.floor_char_boundary(MAX_SEARCHED_BYTES.min(text.len()))];
    let found = SESSION_PARAMETER.captures_iter(text);
    found.map(|link| (link["link"].to_owned(), link["v"].to_owned())).collect()
}

fn swapped(base: &SessionLinks, head: &SessionLinks) -> LinkPairs {
    let mut counts: HashMap<(&String, &String), usize> = HashMap::new();
    for (link, from) in base {
        if let Some(to) = head.get(link).filter(|to| *to != from) {
            *counts.entry((from, to)).or_default() += 1;
        }
    }
    let several = counts.into_iter().filter(|(_, count)| *count >= MIN_SWAPPED_LINKS);
    several.map(|((from, to), _)| (from.clone(), to.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_in_several_links() {
        let is_swapped = |base: &str, head: &str| {
            let links = swapped_links(|| [Cow::Borrowed(base), Cow::Borrowed(head)]);
            links.contains(&("a1b2c3d4".to_owned(), "d4c3b2a1".to_owned()))
        };
        let page = |one: &str, other: &str| {
            format!("<a href=\"/a?sid={one}\">a</a> <a href=\"/b?x=1&amp;sid={other}\">b</a>")
        };
        assert!(is_swapped(&page("a1b2c3d4", "a1b2c3d4"), &page("d4c3b2a1", "d4c3b2a1")));
        assert!(!is_swapped(&page("a1b2c3d4", "a1b2c3d4"), &page("d4c3b2a1", "a1b2c3d4")));
        assert!(!is_swapped(&page("a1b2c3d4", "a1b2c3d4"), &page("d4c3b2a1", "ffffffff")));
        let twice = |sid: &str| format!("<a href=\"/a?sid={sid}\">a</a> <a href=\"/a?sid={sid}\">b</a>");
        assert!(!is_swapped(&twice("a1b2c3d4"), &twice("d4c3b2a1")), "it is one link");
    }
}
