//! What can only be seen of two pages as wholes: which value took the place of which in several of their links.
//!
//! A session stands in all links of a page at once. What a single link leads to is what somebody put there.

use regex::Regex;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::LazyLock;

/// How much of a page is searched for links.
const MOST_SEARCHED: usize = 4 << 20;

/// In so many different links a value must have taken the place of the same other one.
const SEVERAL: usize = 2;

/// An address up to a parameter that may be a session, and the value of it.
static PARAMETER: LazyLock<Regex> = LazyLock::new(|| {
    let form = r#"(?i)(?<link>[^"'\s<>]{0,400}?[?&;](?:session(?:_id)?|sid)=)(?<v>[a-z0-9]{8,64})\b"#;
    Regex::new(form).expect("the form is tested")
});

/// The links of a page, without what may be a session in them.
type Links = HashMap<String, String>;

/// The values that took the place of others in several links of two pages, once they were looked for.
#[derive(Clone, Default)]
pub(super) struct Swapped(Rc<OnceCell<HashSet<(String, String)>>>);

/// Two pages that are compared.
pub(super) struct Pages<'t> {
    texts: Box<dyn Fn() -> [String; 2] + 't>,
    swapped: Swapped,
}

impl<'t> Pages<'t> {
    /// Pages of which these texts have all links. They are only asked for when a link needs to be looked at.
    pub(super) fn of(texts: impl Fn() -> [String; 2] + 't) -> Self {
        Self { texts: Box::new(texts), swapped: Swapped::default() }
    }

    /// The same pages again, of which it may be known already what was swapped.
    pub(super) fn with(self, swapped: &Swapped) -> Self {
        Self { swapped: swapped.clone(), ..self }
    }

    /// No pages: what is compared stands alone.
    pub(super) fn none() -> Self {
        Self::of(|| [String::new(), String::new()])
    }

    /// Whether one value took the place of the other in several links.
    pub(super) fn swapped(&self, from: &str, to: &str) -> bool {
        let swapped = self.swapped.0.get_or_init(|| {
            let [base, head] = (self.texts)();
            swapped(&links(&base), &links(&head))
        });
        swapped.contains(&(from.to_owned(), to.to_owned()))
    }
}

fn links(text: &str) -> Links {
    let text = &text[..text.floor_char_boundary(MOST_SEARCHED.min(text.len()))];
    let found = PARAMETER.captures_iter(text);
    found.map(|link| (link["link"].to_owned(), link["v"].to_owned())).collect()
}

fn swapped(base: &Links, head: &Links) -> HashSet<(String, String)> {
    let mut counts: HashMap<(&String, &String), usize> = HashMap::new();
    for (link, from) in base {
        if let Some(to) = head.get(link).filter(|to| *to != from) {
            *counts.entry((from, to)).or_default() += 1;
        }
    }
    let several = counts.into_iter().filter(|(_, count)| *count >= SEVERAL);
    several.map(|((from, to), _)| (from.clone(), to.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_in_several_links() {
        let told = |base: &str, head: &str| {
            let pages = Pages::of(|| [base.to_owned(), head.to_owned()]);
            pages.swapped("a1b2c3d4", "d4c3b2a1")
        };
        let page = |one: &str, other: &str| {
            format!("<a href=\"/a?sid={one}\">a</a> <a href=\"/b?x=1&amp;sid={other}\">b</a>")
        };
        assert!(told(&page("a1b2c3d4", "a1b2c3d4"), &page("d4c3b2a1", "d4c3b2a1")));
        assert!(!told(&page("a1b2c3d4", "a1b2c3d4"), &page("d4c3b2a1", "a1b2c3d4")));
        assert!(!told(&page("a1b2c3d4", "a1b2c3d4"), &page("d4c3b2a1", "ffffffff")));
        let twice = |sid: &str| format!("<a href=\"/a?sid={sid}\">a</a> <a href=\"/a?sid={sid}\">b</a>");
        assert!(!told(&twice("a1b2c3d4"), &twice("d4c3b2a1")), "it is one link");
    }
}
