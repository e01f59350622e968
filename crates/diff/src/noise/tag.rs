//! The tag that a value stands in, read attribute by attribute.
//!
//! Whether a value is that of a token is said by the name of its own attribute, or by the `name` of its element: not by whatever
//! stands near it. So the tag is read as a parser reads it. Where that is not to be done without doubt, the value stands nowhere.

use super::forms::{csrf_name, csrf_word, form_nonce_name, in_form, nonce_name, request_name};
use super::pattern::{Names, Whose};
use super::place::is_shown;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// Attributes without a value that may stand in a tag whose beginning is not seen. Other bare words are those of a sentence.
const BARE: [&str; 7] = ["async", "checked", "defer", "disabled", "hidden", "readonly", "required"];

/// Attributes in which elements have what their `name` says.
const VALUES: [&str; 2] = ["value", "content"];

/// How far before a value its tag may begin, and how many attributes it may have. Each value in it is looked at so.
const FAR: usize = 4 << 10;
const MOST_ATTRIBUTES: usize = 64;

/// Whether all of an attribute is at this place, and its name or that of its element is one of these.
pub(super) fn is_named(text: &str, value: &Range<usize>, names: Names) -> bool {
    let Some(Tag { attributes, .. }) = tag_around(text, value.start) else { return false };
    let Some((own, _)) = attributes.iter().find(|(_, range)| range == value) else { return false };
    let of_element = || {
        let named = attributes.iter().find(|(name, _)| name.eq_ignore_ascii_case("name"));
        named.is_some_and(|(_, name)| names.have(&text[name.clone()], Whose::Element))
    };
    names.have(own, Whose::Own)
        || (VALUES.iter().any(|value| own.eq_ignore_ascii_case(value)) && of_element())
}

/// Whether the page loads something from the address around this place that is its own: the `src` of a script or the `href` of a
/// `<link>`, or an address in a script or a style, and one that names no host.
pub(super) fn is_own_asset(text: &str, value: &Range<usize>) -> bool {
    let tag = tag_around(text, value.start);
    let is_around = |range: &Range<usize>| range.start <= value.start && value.end <= range.end;
    let around = tag.as_ref().and_then(|tag| tag.attributes.iter().find(|(_, range)| is_around(range)));
    match (around, &tag) {
        (Some((name, range)), Some(tag)) => tag.loads_from(text, name) && has_no_host(&text[range.clone()]),
        _ => {
            !is_shown(text, value.start)
                && address_before(text, value.start).is_some_and(|(before, address)| {
                    has_no_host(address) && (is_loading(before) || is_in_program_folder(address))
                })
        }
    }
}

/// Whether a script or a style loads what follows.
fn is_loading(before: &str) -> bool {
    const LOADING: [&str; 7] = ["import(", "import", "from", "url(", "src=", "src:", "importScripts("];
    let before = before.trim_end_matches(|letter: char| letter.is_whitespace() || "\"'`".contains(letter));
    LOADING.iter().any(|loading| before.ends_with(loading))
}

/// Whether an address lies where bundlers put what they make.
fn is_in_program_folder(address: &str) -> bool {
    const FOLDERS: [&str; 8] =
        ["_next/", "_nuxt/", "assets/", "build/", "chunks/", "dist/", "packs/", "static/"];
    let address = address.replace("\\/", "/");
    FOLDERS.iter().any(|folder| address.starts_with(folder) || address.contains(&format!("/{folder}")))
}

/// What stands of an address before a place in a script or a style, and what before that. None where it does not begin in the text.
fn address_before(text: &str, at: usize) -> Option<(&str, &str)> {
    let from = text.floor_char_boundary(at.saturating_sub(FAR));
    let is_end = |letter: char| letter.is_whitespace() || "\"'`(<>".contains(letter);
    let end = text[from..at].char_indices().rev().find(|(_, letter)| is_end(*letter))?;
    let start = from + end.0 + end.1.len_utf8();
    Some((&text[from..start], &text[start..at]))
}

/// Whether an address leads to where the page is. Browsers take a backslash for a slash, and scripts write one before it.
fn has_no_host(address: &str) -> bool {
    let address = address.trim().replace("\\/", "/");
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let is_slash = |byte: &u8| matches!(byte, b'/' | b'\\');
    let names_host = path.len() > 1 && path.as_bytes()[..2].iter().all(is_slash);
    !path.is_empty() && !names_host && !path.contains([':', '&', '%'])
}

type Attributes<'t> = Vec<(&'t str, Range<usize>)>;

/// A tag, with where the values of its attributes stand.
struct Tag<'t> {
    /// Its name. None where the text begins within it.
    name: Option<&'t str>,
    attributes: Attributes<'t>,
}

impl Tag<'_> {
    /// Whether it loads a program, a style or a font from this attribute.
    fn loads_from(&self, text: &str, attribute: &str) -> bool {
        const LOADED: [&str; 4] = ["modulepreload", "prefetch", "preload", "stylesheet"];
        let is = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
        match self.name {
            Some(name) if is(name, "script") => is(attribute, "src"),
            Some(name) if is(name, "link") => {
                let relation = self.attributes.iter().find(|(name, _)| is(name, "rel"));
                let mut words = relation.iter().flat_map(|(_, range)| text[range.clone()].split_whitespace());
                is(attribute, "href") && words.any(|word| LOADED.iter().any(|loaded| is(word, loaded)))
            }
            Some(_) => false,
            // A line within a tag. What is followed has another attribute.
            None => is(attribute, "src"),
        }
    }
}

/// The tag around a place. Where no tag begins in the text, it may be a line within one.
fn tag_around(text: &str, at: usize) -> Option<Tag<'_>> {
    let from = text.floor_char_boundary(at.saturating_sub(FAR));
    match text[from..at].rfind('<').map(|open| from + open) {
        Some(open) => {
            let name = text[open + 1..].bytes().take_while(u8::is_ascii_alphanumeric).count();
            let is_tag = text.as_bytes()[open + 1..].first().is_some_and(u8::is_ascii_alphabetic);
            let attributes = is_tag.then(|| attributes(text, open + 1 + name, true))??;
            Some(Tag { name: Some(&text[open + 1..open + 1 + name]), attributes })
        }
        None => {
            let line = text[from..at].rfind('\n').map_or(from, |end| from + end + 1);
            Some(Tag { name: None, attributes: attributes(text, line, false)? })
        }
    }
}

/// The attributes from a place to the end of the tag. None where it is not clear what they are.
fn attributes(text: &str, start: usize, in_tag: bool) -> Option<Attributes<'_>> {
    let bytes = text.as_bytes();
    let skip = |mut at: usize, kind: fn(u8) -> bool| {
        while bytes.get(at).is_some_and(|byte| kind(*byte)) {
            at += 1;
        }
        at
    };
    let mut found = Vec::new();
    let mut at = start;
    loop {
        let name = skip(at, |byte| byte.is_ascii_whitespace() || byte == b'/');
        if matches!(bytes.get(name), None | Some(b'>')) {
            return Some(found);
        }
        if found.len() == MOST_ATTRIBUTES {
            return None;
        }
        let name_end = skip(name, |byte| !byte.is_ascii_whitespace() && !b"=>/\"'<".contains(&byte));
        let equals = skip(name_end, |byte| byte.is_ascii_whitespace());
        let own = &text[name..name_end];
        if own.is_empty() || (at > start && name == at) {
            return None;
        }
        if bytes.get(equals) != Some(&b'=') {
            if !in_tag && !BARE.iter().any(|bare| own.eq_ignore_ascii_case(bare)) {
                return None;
            }
            at = name_end;
            continue;
        }
        let value = skip(equals + 1, |byte| byte.is_ascii_whitespace());
        let range = match bytes.get(value) {
            Some(quote @ (b'"' | b'\'')) => {
                value + 1..value + 1 + memchr::memchr(*quote, &bytes[value + 1..])?
            }
            _ => value..skip(value, |byte| !byte.is_ascii_whitespace() && byte != b'>'),
        };
        let is_quoted = range.start > value;
        if !is_quoted && bytes[range.clone()].iter().any(|byte| b"\"'<`".contains(byte)) {
            return None;
        }
        at = range.end + usize::from(is_quoted);
        found.push((own, range));
    }
}

impl Names {
    /// Whether this is one of the names.
    fn have(self, name: &str, whose: Whose) -> bool {
        static NAMES: LazyLock<[(Names, Option<Whose>, Regex); 8]> = LazyLock::new(|| {
            [
                (Names::Nonce, Some(Whose::Own), concat!("^(?:(?:data-)?nonce|", nonce_name!(), ")$")),
                (Names::Nonce, Some(Whose::Element), concat!("^", in_form!(), form_nonce_name!(), r"\]?$")),
                (Names::Csrf, None, concat!("^", in_form!(), "(?:_token|", csrf_name!(), r")\]?$")),
                (Names::Session, None, "^(?:phpsessid|jsessionid|aspsessionid\\w{0,40}|cfid|cftoken)$"),
                (Names::AnySession, Some(Whose::Element), "^(?:session_?id|sid)$"),
                (Names::Request, None, concat!("^", request_name!(), "$")),
                (Names::Trace, Some(Whose::Element), "^(?:traceparent|sentry-trace)$"),
                (Names::ViewState, Some(Whose::Element), r"^(?:javax|jakarta)\.faces\.ViewState$"),
            ]
            .map(|(names, whose, form)| {
                let form = format!("(?i){form}");
                (names, whose, Regex::new(&form).expect("the forms of names are tested"))
            })
        });
        NAMES
            .iter()
            .any(|(names, of, form)| *names == self && of.is_none_or(|of| of == whose) && form.is_match(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the value `V1` stands under a name of a token.
    fn named(text: &str) -> bool {
        let start = text.find("V1").unwrap();
        is_named(text, &(start..start + 2), Names::Csrf)
    }

    #[test]
    fn the_name_is_that_of_the_attribute_or_of_its_element() {
        for text in [
            "<input name=csrf value=V1>",
            "<meta content='V1' name=\"csrf-token\" />",
            "<form data-csrf=\"V1\">",
            "<input type=hidden name=\"contact[_token]\" value=V1 />",
            "<input name=_csrf hidden value='V1'",
            "  name=\"csrfmiddlewaretoken\" value=\"V1\">",
            "<p>a</p><input name = csrfToken value = V1>",
        ] {
            assert!(named(text), "{text}");
        }
    }

    #[test]
    fn own_assets_are_those_that_the_page_loads_from_where_it_is() {
        let is_own = |text: &str| {
            let start = text.find("V1").unwrap();
            is_own_asset(text, &(start..start + 2))
        };
        for text in [
            "<script src=/a.V1.js>",
            "<link rel=stylesheet href='../a.V1.css'>",
            "<script defer src=\"a.V1.js?x=1&amp;y=2\"></script>",
            "  src=\"/a.V1.js\">",
            "<style>@font-face{src:url(/a.V1.woff2)}",
            "<script>import(\"/a.V1.js\")",
            "<script>x=\"\\/assets\\/b.V1.js\"",
        ] {
            assert!(is_own(text), "{text}");
        }
        for text in [
            "<script src=//cdn.example/a.V1.js>",
            "<script src=\"https://cdn.example/a.js?v=V1\">",
            "<script src=\"\\\\cdn.example/a.V1.js\">",
            "<script src=\"&#47;/cdn.example/a.V1.js\">",
            "<a href=/a.V1.js>",
            "<link rel=canonical href=/a.V1.js>",
            "<script>x=\"/get/a.V1.js\"",
            "<img src=/a.V1.js>",
            "<script data-x=/a.V1.js>",
            "<p>/a.V1.js",
            "  href=\"/a.V1.js\">",
            "<style>@font-face{src:url(https://cdn.example/a.V1.woff2)}",
            "<script>import(\"https://cdn.example/a.js?v=V1\")",
            "<script>x=\"https:\\/\\/cdn.example\\/b.V1.js\"",
            "/a.V1.js",
        ] {
            assert!(!is_own(text), "{text}");
        }
    }

    #[test]
    fn nothing_else_in_the_tag_says_so() {
        for text in [
            "<input name=iban value=V1 class=csrf>",
            "<input name=iban value=V1 title='name=csrf'>",
            "<input title='<x name=csrf ' value=\"V1\" name=iban>",
            "<input title=\"<x name='csrf' y=1\" value=\"V1\" name=iban>",
            "<input name=iban name=csrf value=V1>",
            "<form data-csrf-endpoint=V1>",
            "<a href='/x?csrf=V1'>",
            "CSRF is bad. value=\"V1\"",
            "name=\"csrf\" is what we write, value=\"V1\"",
            "<p>name=csrf value=V1",
            "<input name=csrf value=\"V1 and more\">",
            "<input name=csrf title=\"open value=V1",
        ] {
            assert!(!named(text), "{text}");
        }
    }
}
