//! Pages made to break their reader: they cost a bounded amount of memory, and what can be found is
//! found.

use crate::{links, page};
use proptest::prelude::*;
use std::io::{self, Read};
use varve_core::headers::Headers;
use varve_page::links::{ExtractedLinks, LinkError, LinkFormat, LinkLimits, LinkRole, LinkStop, extract};

fn count(body: impl Read, limits: LinkLimits) -> (u64, ExtractedLinks) {
    let mut count = 0;
    let extracted =
        extract(LinkFormat::Html, "http://h/d/p", &Headers::new(), body, limits, &mut |_| count += 1)
            .unwrap();
    assert_eq!(count, extracted.report.links);
    (count, extracted)
}

/// A text, repeated without ever being whole in memory.
fn repeated(text: &'static str, times: usize) -> impl Read {
    let total = text.len() * times;
    let mut at = 0;
    reader(move |buffer: &mut [u8]| {
        let length = buffer.len().min(total - at);
        for byte in &mut buffer[..length] {
            *byte = text.as_bytes()[at % text.len()];
            at += 1;
        }
        Ok(length)
    })
}

struct Reader<F>(F);

impl<F: FnMut(&mut [u8]) -> io::Result<usize>> Read for Reader<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (self.0)(buffer)
    }
}

fn reader(read: impl FnMut(&mut [u8]) -> io::Result<usize>) -> impl Read {
    Reader(read)
}

#[test]
fn many_links_are_handed_over_one_by_one() {
    let (links, extracted) = count(repeated("<a href=x>y</a>\n", 200_000), LinkLimits::default());
    assert_eq!((links, extracted.report.stopped), (200_000, None));
    let limits = LinkLimits { links: 1000, ..LinkLimits::default() };
    let (links, extracted) = count(repeated("<a href=x>y</a>\n", 200_000), limits);
    assert_eq!((links, extracted.report.stopped), (1000, Some(LinkStop::Links)));
}

#[test]
fn a_long_body_is_cut() {
    let limits = LinkLimits { bytes: 8000, ..LinkLimits::default() };
    let (links, extracted) = count(repeated("<a href=x>y</a>\n", 200_000), limits);
    assert_eq!((links, extracted.report.stopped), (500, Some(LinkStop::Bytes)));
}

#[test]
fn a_long_attribute_hides_nothing() {
    let inline = format!("<img src='data:image/png;base64,{}'><a href=after>", "A".repeat(10 << 20));
    let (links, extracted) = count(inline.as_bytes(), LinkLimits::default());
    assert_eq!((links, extracted.report.cut), (1, 1));
    let long = format!("<a href='http://h/{}'><a href=after>", "a".repeat(20_000));
    let (links, extracted) = count(long.as_bytes(), LinkLimits::default());
    assert_eq!((links, extracted.report.oversized), (1, 1));
}

#[test]
fn a_tag_without_end_loses_itself_alone() {
    let limits = LinkLimits { memory: 1 << 20, ..LinkLimits::default() };
    for length in (4 << 20..(4 << 20) + 40_000).step_by(9_999) {
        let page = format!("<a href=before></a><p x='{}'><a href=after>", "A".repeat(length));
        let (links, extracted) = count(page.as_bytes(), limits);
        assert_eq!(links, 2, "{length}");
        assert!(extracted.report.cut > 0);
    }
}

#[test]
fn depth_costs_nothing() {
    for tag in ["<div>", "<a href=x>", "<table><tr><td>", "<svg>", "<p><b><i>"] {
        let body = repeated(tag, 100_000).chain(&b"<a href=last>"[..]);
        let (links, _) = count(body, LinkLimits::default());
        assert!(links >= 1, "{tag}");
    }
}

#[test]
fn odd_characters_in_references() {
    let html = "<a href='\u{1}x\u{7}y\n\tz'></a><a href='http://h/\u{0}'></a><a href='http://a b/'></a><a href='//'></a>\
        <a href='\u{202e}'></a><a href='http://[::1'></a><a href='http://h:99999/'></a>";
    let found: Vec<_> = page(html).into_iter().map(|link| link.target).collect();
    assert_eq!(found, ["http://h/d/x%07yz", "http://h/", "http://h/d/%E2%80%AE"]);
    for target in &found {
        assert!(target.bytes().all(|byte| byte > b' ' && byte < 0x7f), "{target}");
    }
}

#[test]
fn scripts_and_styles_are_cut_where_they_are_too_long() {
    let script = format!("<script>'http://a/';{}'http://b/'</script><a href=c>", "x;".repeat(2 << 20));
    let (links, extracted) = count(script.as_bytes(), LinkLimits::default());
    assert_eq!(links, 2);
    assert!(extracted.report.cut >= 1);
}

#[test]
fn many_inner_documents_are_read_one_by_one() {
    let (links, _) = count(repeated("<noscript><img src=x></noscript>", 20_000), LinkLimits::default());
    assert_eq!(links, 20_000);
}

#[test]
fn a_reader_that_fails_is_an_error() {
    let body = b"<a href=x>".chain(reader(|_| Err(io::Error::other("gone"))));
    let read =
        extract(LinkFormat::Html, "http://h/", &Headers::new(), body, LinkLimits::default(), &mut |_| {});
    assert!(matches!(read, Err(LinkError::Read(error)) if error.to_string() == "gone"));
    for kind in KINDS.into_iter().filter(|kind| *kind != LinkFormat::Opaque) {
        let body = reader(|_| Err(io::Error::other("gone")));
        let read = extract(kind, "http://h/", &Headers::new(), body, LinkLimits::default(), &mut |_| {});
        assert!(matches!(read, Err(LinkError::Read(_))), "{kind:?}");
    }
    let read = extract(
        LinkFormat::Html,
        "nowhere",
        &Headers::new(),
        io::empty(),
        LinkLimits::default(),
        &mut |_| {},
    );
    assert!(matches!(read, Err(LinkError::Url(_))));
}

const KINDS: [LinkFormat; 8] = [
    LinkFormat::Html,
    LinkFormat::Css,
    LinkFormat::JavaScript,
    LinkFormat::Json,
    LinkFormat::Manifest,
    LinkFormat::Xml,
    LinkFormat::Listing,
    LinkFormat::Opaque,
];

proptest! {
    #[test]
    fn no_bytes_break_any_kind(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for kind in KINDS {
            links(kind, "http://h/", &Headers::new(), &bytes);
        }
    }

    #[test]
    fn no_markup_breaks_any_kind(text in "(<|>|/|=|'|\"|&|;|\\{|\\}|\\[|:|,| |a|href|src|script|style|noscript|base|link|loc|url\\(|http://h/|!--|-->|CDATA\\[|\\]\\]|é){0,60}") {
        for kind in KINDS {
            for link in links(kind, "http://h/", &Headers::new(), text.as_bytes()).0 {
                prop_assert!(link.target.starts_with("http://") || link.target.starts_with("https://"));
                prop_assert!(link.role != LinkRole::Embed || !link.reference.is_empty());
            }
        }
    }

    /// However the body arrives, the links are the same.
    #[test]
    fn pieces_do_not_matter(size in 1_usize..40) {
        let html = "<base href=/b/><a href=1>one <b>two</b></a><style>a{b:url(2)}</style><img src=3 alt=é><script>'http://x/4'</script>";
        let mut rest = html.as_bytes();
        let pieces = reader(move |buffer: &mut [u8]| {
            let length = buffer.len().min(size);
            rest.read(&mut buffer[..length])
        });
        let mut found = Vec::new();
        extract(LinkFormat::Html, "http://h/d/p", &Headers::new(), pieces, LinkLimits::default(), &mut |link| found.push(link.into_owned())).unwrap();
        prop_assert_eq!(found, page(html));
    }
}
