//! Pages that would cost time, memory or stack without limits, and bytes that are no page.
//!
//! Each test ends on a thread with the small stack of tests, and its result says which limit it met.

#[path = "../../../../fuzz/laws/page.rs"]
mod laws;

use proptest::prelude::*;
use varve_extract::{ExtractError, ExtractOptions, Extraction, PageInput, extract};

const PROSE: &str = "<p>The river rose during the night, and by the morning the lower town stood under water, \
    so that the council met in the school on the hill.</p>";

fn read(body: &[u8]) -> Extraction {
    let input = PageInput {
        body,
        content_type: Some("text/html"),
        requested_url: "https://a.example/",
        ..PageInput::default()
    };
    extract(&input, &ExtractOptions { html: true, markdown: true, ..ExtractOptions::default() })
}

#[test]
fn nested_elements_are_cut() {
    for name in ["div", "b", "blockquote", "ul><li", "table><tr><td", "svg><g"] {
        let html = format!("<title>Deep</title>{PROSE}{}text", format!("<{name}>").repeat(50_000));
        let found = read(html.as_bytes());
        assert!(
            matches!(found.failure, Some(ExtractError::TooDeep | ExtractError::TooManyNodes { .. })),
            "{name}: {:?}",
            found.failure
        );
        assert_eq!(found.page.title.as_deref(), Some("Deep"), "{name}");
        assert_eq!(found.page.error, found.failure.map(|failure| failure.to_string()));
    }
}

#[test]
fn pages_as_deep_as_browsers_allow_are_written() {
    for name in ["div", "blockquote", "ul><li", "ol><li>x<ul><li", "em><strong", "a href=/x><div"] {
        let depth = 480 / (1 + name.matches('<').count());
        let html = format!("{PROSE}{}{PROSE}", format!("<{name}>").repeat(depth));
        assert_eq!(read(html.as_bytes()).failure, None, "{name}");
    }
}

#[test]
fn attributes_are_limited() {
    for count in [200_000, 1_000_000] {
        let attributes: String = (0..count).map(|number| format!(" a{number}=x")).collect();
        let found = read(format!("{PROSE}<p{attributes}>text").as_bytes());
        assert_eq!(found.failure, Some(ExtractError::TooManyAttributes));
        assert!(found.page.content_text.is_some());
    }
    // One long value is no list of attributes.
    let class = "content-menu-".repeat(400_000);
    let found = read(format!("<div class={class}>{PROSE}{PROSE}</div>").as_bytes());
    assert_ne!(found.failure, Some(ExtractError::TooManyAttributes));
}

#[test]
fn long_pages_are_read_up_to_a_limit() {
    let found = read(PROSE.repeat(150_000).as_bytes());
    assert!(matches!(found.failure, Some(ExtractError::TooLong { .. })), "{:?}", found.failure);
    assert!(found.page.content_text.is_some());
    let blocks = "<p>x".repeat(300_000);
    assert!(matches!(read(blocks.as_bytes()).failure, Some(ExtractError::TooManyBlocks { .. })));
}

#[test]
fn broken_encodings_are_read() {
    for charset in ["utf-8", "utf-16", "shift_jis", "iso-2022-jp", "nonsense", "windows-1252"] {
        let mut body = format!("<meta charset={charset}>{PROSE}").into_bytes();
        body.extend([0xff, 0xfe, 0x1b, 0x24, 0x00, 0xd8].repeat(1000));
        body.extend(PROSE.as_bytes());
        assert!(read(&body).page.url.starts_with("https://"), "{charset}");
    }
}

#[test]
fn other_content_types_are_refused() {
    let input =
        PageInput { body: b"%PDF-1.7", content_type: Some("application/pdf"), ..PageInput::default() };
    let found = extract(&input, &ExtractOptions::default());
    assert_eq!(found.failure, Some(ExtractError::ContentType { media_type: "application/pdf".to_owned() }));
    assert_eq!(found.page.error.as_deref(), Some("unsupported content type: application/pdf"));
}

#[test]
fn a_page_without_text_has_its_metadata() {
    let found = read(b"<title>App</title><div id=root></div><script>start()</script>");
    assert_eq!((found.failure, found.page.title.as_deref()), (Some(ExtractError::NoText), Some("App")));
    assert_eq!(found.page.content_text, None);
}

#[test]
fn plain_text_is_its_own_content() {
    let input = PageInput {
        body: b"caf\xe9\n  two",
        content_type: Some("text/plain; charset=iso-8859-1"),
        ..PageInput::default()
    };
    let found = extract(&input, &ExtractOptions::default());
    assert_eq!((found.page.content_text.as_deref(), found.failure), (Some("café\n  two"), None));
    let empty = extract(&PageInput { body: b"", ..input }, &ExtractOptions::default());
    assert_eq!(empty.page.content_text, None, "an empty text is no field");
}

proptest! {
    #[test]
    fn any_bytes_keep_the_laws(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        laws::page(&bytes);
    }

    #[test]
    fn any_tags_keep_the_laws(html in "(<(/?(p|b|table|tr|td|h1|ul|ol|li|a href=/x|a href=javascript:x|pre|code|blockquote|br|img src=x|div class=content|noscript|title|script|svg|math))>|&lt;|The river rose during the night, and by the morning it fell. |x |y|, ){0,60}") {
        laws::page(format!("\0{html}").as_bytes());
    }
}
