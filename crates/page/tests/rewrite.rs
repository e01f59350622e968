//! Rewriting of pages: a table of what goes in and what comes out, and what must hold for any
//! input.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

use encoding_rs::{Encoding, SHIFT_JIS, UTF_8, UTF_16LE, WINDOWS_1252};
use proptest::prelude::*;
use varve_page::rewrite::{FirstMarkup, HtmlRewrite, LinkRewriter, ShownIn, html};

fn rewrite(
    input: &[u8],
    encoding: &'static Encoding,
    first: Option<FirstMarkup>,
) -> (Vec<u8>, &'static Encoding) {
    let to = |url: &str| format!("/W/{url}");
    let links = LinkRewriter::new("http://h/d/p.html", to).unwrap();
    let mut output = Vec::new();
    let written =
        html(input, HtmlRewrite { links, encoding, first, shown_in: ShownIn::Replay }, &mut output).unwrap();
    (output, written)
}

fn text(input: &str) -> String {
    String::from_utf8(rewrite(input.as_bytes(), UTF_8, None).0).unwrap()
}

#[test]
fn links_lead_elsewhere_and_all_else_stays() {
    for (from, to) in [
        // Every way to write one link.
        ("<a href=x>y</a>", "<a href=\"/W/http://h/d/x\">y</a>"),
        ("<A HREF='/x'>y</A>", "<A HREF=\"/W/http://h/x\">y</A>"),
        ("<a href=\"//g/x?a=1&amp;b=2&c#f\">", "<a href=\"/W/http://g/x?a=1&amp;b=2&amp;c#f\">"),
        ("<a href='#f'>", "<a href='#f'>"),
        ("<a href='javascript:x()'>", "<a href='javascript:x()'>"),
        ("<a href='&#106;avascript:x()'>", "<a href='&#106;avascript:x()'>"),
        ("<a href='mailto:a@b'>", "<a href='mailto:a@b'>"),
        ("<a href>", "<a href>"),
        ("<a href=x ping=http://spy/>", "<a href=\"/W/http://h/d/x\">"),
        ("<area href=x>", "<area href=\"/W/http://h/d/x\">"),
        // Embedded resources.
        (
            "<img src=x srcset='y 1x, z 2x'>",
            "<img src=\"/W/http://h/d/x\" srcset=\"/W/http://h/d/y 1x, /W/http://h/d/z 2x\">",
        ),
        ("<img src='data:image/gif;base64,AA'>", "<img src='data:image/gif;base64,AA'>"),
        ("<script src=x integrity=sha256-y></script>", "<script src=\"/W/http://h/d/x\"></script>"),
        ("<script>var a = '<img src=x>';</script>", "<script>var a = '<img src=x>';</script>"),
        ("<script type=speculationrules>{}</script>", "<script type=\"x-archive-orig\">{}</script>"),
        ("<link rel=stylesheet href=x integrity=y>", "<link rel=stylesheet href=\"/W/http://h/d/x\">"),
        (
            "<video poster=x><source src=y></video>",
            "<video poster=\"/W/http://h/d/x\"><source src=\"/W/http://h/d/y\"></video>",
        ),
        (
            "<object data=x></object><embed src=y>",
            "<object data=\"/W/http://h/d/x\"></object><embed src=\"/W/http://h/d/y\">",
        ),
        ("<body background=x>", "<body background=\"/W/http://h/d/x\">"),
        ("<iframe src=x></iframe>", "<iframe src=\"/W/http://h/d/x\"></iframe>"),
        (
            "<iframe srcdoc='<img src=x>'></iframe>",
            "<iframe srcdoc=\"&lt;img src=&quot;/W/http://h/d/x&quot;>\"></iframe>",
        ),
        (
            "<svg><use xlink:href=x /><image href=y /></svg>",
            "<svg><use xlink:href=\"/W/http://h/d/x\" /><image href=\"/W/http://h/d/y\" /></svg>",
        ),
        // Forms.
        (
            "<form action=/x><button formaction=y>",
            "<form action=\"/W/http://h/x\"><button formaction=\"/W/http://h/d/y\">",
        ),
        // Styles.
        ("<p style='a:url(x)'>", "<p style=\"a:url(&quot;/W/http://h/d/x&quot;)\">"),
        ("<p style='a:b'>", "<p style='a:b'>"),
        (
            "<style>@import 'x';a>b{c:url(y)}</style>",
            "<style>@import \"/W/http://h/d/x\";a>b{c:url(\"/W/http://h/d/y\")}</style>",
        ),
        // What the page says about itself.
        ("<base href=/b/><a href=x>", "<base href=\"/W/http://h/b/\"><a href=\"/W/http://h/b/x\">"),
        (
            "<base href=//g/><base href=/b/><a href=x>",
            "<base href=\"/W/http://g/\"><base><a href=\"/W/http://g/x\">",
        ),
        ("<base target=t><a href=x>", "<base target=t><a href=\"/W/http://h/d/x\">"),
        ("<base href='javascript:x'>", "<base>"),
        (
            "<meta http-equiv=Refresh content='3;URL=x'>",
            "<meta http-equiv=Refresh content=\"3; url=/W/http://h/d/x\">",
        ),
        ("<meta http-equiv=refresh content=3>", "<meta http-equiv=refresh content=3>"),
        (
            "<meta http-equiv=Content-Security-Policy content=\"img-src 'none'\">",
            "<meta http-equiv=\"x-archive-orig\" content=\"img-src 'none'\">",
        ),
        (
            "<meta http-equiv=content-type content='text/html'>",
            "<meta http-equiv=content-type content='text/html'>",
        ),
        ("<meta name=referrer content=no-referrer>", "<meta name=referrer content=\"same-origin\">"),
        ("<html manifest=x>", "<html>"),
        // What is no link.
        ("<p title=http://h/x data-src=y>http://h/x", "<p title=http://h/x data-src=y>http://h/x"),
        (
            "<!-- <img src=x> --><textarea><img src=x></textarea>",
            "<!-- <img src=x> --><textarea><img src=x></textarea>",
        ),
        ("<title>a &amp; b</title>", "<title>a &amp; b</title>"),
    ] {
        assert_eq!(text(from), to, "{from}");
    }
}

#[test]
fn the_first_markup_precedes_all_scripts() {
    let first = || Some(FirstMarkup::InHead("<script>1</script>".to_owned()));
    for (from, to) in [
        ("<!doctype html><html><head><title>", "<!doctype html><html><head><script>1</script><title>"),
        ("<!doctype html><script>2</script>", "<!doctype html><script>1</script><script>2</script>"),
        ("<html><body onload=x>", "<html><script>1</script><body onload=x>"),
        ("<!-- <head> --><p>", "<!-- <head> --><script>1</script><p>"),
        (
            "<p><iframe srcdoc='&lt;script>2&lt;/script>'>",
            "<script>1</script><p><iframe srcdoc=\"&lt;script>1&lt;/script>&lt;script>2&lt;/script>\">",
        ),
        ("no tags", "no tags"),
    ] {
        let output = rewrite(from.as_bytes(), UTF_8, first()).0;
        assert_eq!(String::from_utf8(output).unwrap(), to);
    }
    let in_root = FirstMarkup::InRoot("<script href=\"1\"/>".to_owned());
    let output = rewrite(b"<?xml version=\"1.0\"?><!-- <g> --><svg><script/></svg>", UTF_8, Some(in_root)).0;
    let expected = "<?xml version=\"1.0\"?><!-- <g> --><svg><script href=\"1\"/><script/></svg>";
    assert_eq!(String::from_utf8(output).unwrap(), expected);
}

#[test]
fn encodings_stay_or_become_utf_8() {
    let (output, written) = rewrite(b"<a href=x>caf\xe9", WINDOWS_1252, None);
    assert_eq!((output, written), (b"<a href=\"/W/http://h/d/x\">caf\xe9".to_vec(), WINDOWS_1252));
    let japanese = SHIFT_JIS.encode("<a href='/表'>表</a>").0.into_owned();
    let (output, written) = rewrite(&japanese, SHIFT_JIS, None);
    let expected = "<a href=\"/W/http://h/%E8%A1%A8\">表</a>";
    assert_eq!((written.decode(&output).0.as_ref(), written), (expected, SHIFT_JIS));
    let wide: Vec<u8> = "\u{feff}<a href=x>é".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (output, written) = rewrite(&wide, UTF_16LE, None);
    assert_eq!((output, written), ("<a href=\"/W/http://h/d/x\">é".as_bytes().to_vec(), UTF_8));
}

#[test]
fn a_page_that_asks_for_too_much_goes_through_whole() {
    let endless = format!("<a href=x><p title='{}' id=y><a href=z>", "t".repeat(12 << 20));
    let output = text(&endless);
    assert!(output.starts_with("<a href=\"/W/http://h/d/x\"><p title='ttt"));
    assert!(output.ends_with("' id=y><a href=z>"));
    let style = format!("<style>{}a{{b:url(x)}}</style><a href=y>", " ".repeat(6 << 20));
    let output = text(&style);
    assert!(output.ends_with("a{b:url(x)}</style><a href=\"/W/http://h/d/y\">"), "{}", output.len());
}

proptest! {
    #[test]
    fn no_page_breaks_it(page in "(<[a-z/!]{0,6}| href=| src='| style=\"|url\\(|>|'|\"|&amp;|<style>|</style>|é|x|<!--|-->|<base href=/ >){0,30}") {
        text(&page);
    }

    #[test]
    fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for encoding in [UTF_8, WINDOWS_1252, SHIFT_JIS, UTF_16LE] {
            rewrite(&bytes, encoding, Some(FirstMarkup::InHead("<script></script>".to_owned())));
        }
    }

    #[test]
    fn pages_without_links_stay_byte_for_byte(page in "(<p>|</p>|<b class=x>|text|é|&amp;|<!-- c -->|<br/>|\n){0,30}") {
        prop_assert_eq!(text(&page), page);
    }
}
