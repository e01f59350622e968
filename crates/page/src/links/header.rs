//! Links in response headers: `Location`, `Refresh`, `Content-Location` and `Link` (RFC 8288).

use super::emit::{LinkEmitter, RawLink};
use super::link::{LinkPlace, LinkRole};
use super::refresh;
use super::relation::Relation;
use varve_core::headers::{Headers, decode_header_text};

/// Maximum number of links in headers that are read.
const MAX_HEADER_LINKS: usize = 1000;

/// Emits all links of the headers.
pub(super) fn links(headers: &Headers, emitter: &mut LinkEmitter<'_>) {
    if let Some(location) = headers.get_text("location") {
        emitter.emit(RawLink::new(&location, LinkPlace::Header("location"), LinkRole::Redirect));
    }
    if let Some(content) = headers.get_text("refresh")
        && let Some(target) = refresh::target(&content)
    {
        emitter.emit(RawLink::new(target, LinkPlace::Header("refresh"), LinkRole::Redirect));
    }
    if let Some(location) = headers.get_text("content-location").filter(|text| !text.is_empty()) {
        emitter.emit(RawLink::new(&location, LinkPlace::Header("content-location"), LinkRole::Alternate));
    }
    let mut left = MAX_HEADER_LINKS;
    for value in headers.get_all("link") {
        let value = decode_header_text(value);
        for link in HeaderLinks(&value).take(left) {
            left -= 1;
            hand_over(&link, emitter);
        }
    }
}

fn hand_over(link: &HeaderLink<'_>, emitter: &mut LinkEmitter<'_>) {
    // A link with an anchor is about another page.
    if link.parameter("anchor").is_some() {
        return;
    }
    let text = |name| link.parameter(name).unwrap_or("");
    let relation =
        Relation { rel: text("rel"), kind: text("type"), loaded_as: text("as"), reference: link.target };
    let Some(role) = relation.role() else { return };
    let mut found =
        RawLink::new(link.target, LinkPlace::Header("link"), role).titled(link.parameter("title"));
    found.nofollow = relation.rel.split_ascii_whitespace().any(|rel| rel.eq_ignore_ascii_case("nofollow"));
    emitter.emit(found);
}

/// One link of a `Link` header.
struct HeaderLink<'a> {
    target: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> HeaderLink<'a> {
    /// The first parameter of that name, without its quotes. Escapes inside quotes stay: no URL has
    /// them.
    fn parameter(&self, name: &str) -> Option<&'a str> {
        let found = self.parameters.iter().find(|(given, _)| given.eq_ignore_ascii_case(name));
        found.map(|(_, value)| *value)
    }
}

/// Iterates over the links of a header value.
struct HeaderLinks<'a>(&'a str);

impl<'a> Iterator for HeaderLinks<'a> {
    type Item = HeaderLink<'a>;

    fn next(&mut self) -> Option<HeaderLink<'a>> {
        let start = self.0.find('<')? + 1;
        let length = self.0[start..].find('>')?;
        let target = &self.0[start..start + length];
        self.0 = &self.0[start + length + 1..];
        let mut parameters = Vec::new();
        while let Some(parameter) = self.parameter() {
            if parameters.len() < 32 {
                parameters.push(parameter);
            }
        }
        Some(HeaderLink { target, parameters })
    }
}

impl<'a> HeaderLinks<'a> {
    /// The next parameter of the current link.
    fn parameter(&mut self) -> Option<(&'a str, &'a str)> {
        let text = self.0.trim_start().strip_prefix(';')?.trim_start();
        let end = text.find(['=', ';', ',']).unwrap_or(text.len());
        let name = text[..end].trim_end();
        self.0 = &text[end..];
        let Some(value) = text[end..].strip_prefix('=').map(str::trim_start) else { return Some((name, "")) };
        if let Some(quoted) = value.strip_prefix('"') {
            let length = closing_quote(quoted);
            self.0 = quoted.get(length + 1..).unwrap_or("");
            return Some((name, &quoted[..length]));
        }
        let length = value.find([';', ',']).unwrap_or(value.len());
        self.0 = &value[length..];
        Some((name, value[..length].trim_end()))
    }
}

/// The end of the quoted text.
fn closing_quote(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::link::{LinkLimits, PageLink};
    use proptest::prelude::*;
    use varve_core::url::Base;

    fn found(headers: &Headers) -> Vec<(String, LinkRole)> {
        let mut found = Vec::new();
        let mut sink = |link: PageLink<'_>| found.push((link.target, link.role));
        let mut emitter =
            LinkEmitter::new(Base::parse("http://h/a/").unwrap(), LinkLimits::default(), &mut sink);
        links(headers, &mut emitter);
        found
    }

    #[test]
    fn links_of_all_headers() {
        let headers = Headers::from_iter([
            ("Location", "../b"),
            ("refresh", "0; url=c"),
            ("Content-Location", "d.en.html"),
            ("Link", r#"<e,;x>; rel="preload"; as=font; title="a, \"<b>\"; c", <f> ;rel = next,<g>"#),
            ("link", r#"<h>; rel=canonical , <i>; anchor="/x"; rel=next, broken, <j"#),
        ]);
        let expected = [
            ("http://h/b", LinkRole::Redirect),
            ("http://h/a/c", LinkRole::Redirect),
            ("http://h/a/d.en.html", LinkRole::Alternate),
            ("http://h/a/e,;x", LinkRole::Embed),
            ("http://h/a/f", LinkRole::Navigate),
            ("http://h/a/g", LinkRole::Navigate),
            ("http://h/a/h", LinkRole::Canonical),
        ];
        assert_eq!(found(&headers), expected.map(|(url, role)| (url.to_owned(), role)));
    }

    #[test]
    fn a_flood_of_links_is_cut() {
        let headers = Headers::from_iter([("Link", "<a>,".repeat(5000)), ("Link", "<b>".to_owned())]);
        assert_eq!(found(&headers).len(), MAX_HEADER_LINKS);
    }

    proptest! {
        #[test]
        fn no_header_breaks_it(value in "[<>;,=\"\\\\a é]{0,40}") {
            found(&Headers::from_iter([("Link", value.as_str()), ("Refresh", value.as_str())]));
        }
    }
}
