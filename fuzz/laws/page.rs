//! What holds for any body that is extracted as a page.

use varve_extract::{ExtractOptions, PageInput, extract};
use varve_page::dom::HtmlTree;

/// Elements and attributes that clean HTML may have.
const CLEAN_ELEMENTS: [&str; 29] = [
    "html",
    "head",
    "body",
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "blockquote",
    "pre",
    "code",
    "em",
    "strong",
    "del",
    "a",
    "img",
    "br",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "div",
];
const CLEAN_ATTRIBUTES: [&str; 6] = ["href", "src", "alt", "class", "start", "title"];

/// The first byte chooses the content type, the rest is the body.
pub(crate) fn page(bytes: &[u8]) {
    let (kind, body) = bytes.split_first().map_or((0, bytes), |(kind, body)| (*kind, body));
    let content_types =
        ["text/html", "text/html; charset=utf-16", "text/plain", "application/xhtml+xml; charset=shift_jis"];
    let input = PageInput {
        body,
        content_type: content_types.get(usize::from(kind)).copied(),
        requested_url: "https://a.example/folder/page",
        ..PageInput::default()
    };
    let options =
        ExtractOptions { html: true, markdown: true, date_confidence: true, ..ExtractOptions::default() };
    let found = extract(&input, &options);
    assert_eq!(found, extract(&input, &options), "extraction is a function");
    assert_eq!(found.page.error, found.failure.as_ref().map(ToString::to_string));
    let text = found.page.content_text.unwrap_or_default();
    assert!(text.len() <= 4 * body.len() + 16, "no text is invented");
    if let Some(html) = found.page.content_html {
        assert_clean(&html);
    }
}

/// Clean HTML has no element that does anything, and no link except to the web and to mail.
fn assert_clean(html: &str) {
    for node in HtmlTree::parse(html).nodes() {
        let Some(name) = node.name() else { continue };
        assert!(CLEAN_ELEMENTS.contains(&name), "{name}: {html}");
        for (attribute, value) in node.attributes() {
            assert!(CLEAN_ATTRIBUTES.contains(&attribute.as_str()), "{attribute}: {html}");
            if attribute == "href" || attribute == "src" {
                let is_safe =
                    ["http://", "https://", "mailto:"].iter().any(|scheme| value.starts_with(scheme));
                assert!(is_safe, "{value}: {html}");
            }
        }
    }
}
