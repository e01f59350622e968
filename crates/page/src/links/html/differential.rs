//! Compares the tokenizer with html5ever, which reads HTML as browsers do: both must find the same
//! tags with the same values in all bytes. The tree of html5ever decides which elements contain
//! text, so a whole parser runs, and every start tag is recorded on its way into the tree.
//!
//! Generated pages leave out three things that both read differently. In `select` and `frameset` a
//! tree ignores elements. `noscript` and `noframes` are documents to the link scanner and text to
//! html5ever. End tags in SVG and MathML that close nothing, or an outer element, need a tree.

use std::cell::RefCell;
use std::fmt::Write;

use html5ever::TokenizerResult;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer};
use html5ever::tree_builder::TreeBuilder;
use proptest::prelude::*;
use varve_core::headers::Headers;
use varve_core::url::Base;

use crate::dom::sink::{Handle, ParserSink};
use crate::links::{LinkFormat, LinkLimits, LinkPlace, extract};

/// The elements and attributes that are compared: a scanner that finds these tags finds all.
const COMPARED_ATTRIBUTES: [(&str, &str); 9] = [
    ("a", "href"),
    ("area", "href"),
    ("img", "src"),
    ("script", "src"),
    ("iframe", "src"),
    ("embed", "src"),
    ("source", "src"),
    ("video", "src"),
    ("track", "src"),
];

/// Records every start tag.
struct Recorder {
    tree: TreeBuilder<Handle, ParserSink>,
    found: RefCell<Vec<String>>,
}

impl TokenSink for Recorder {
    type Handle = Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Handle> {
        if let Token::TagToken(tag) = &token
            && tag.kind == TagKind::StartTag
        {
            for attribute in &tag.attrs {
                note(&tag.name, &attribute.name.local, &attribute.value, &mut self.found.borrow_mut());
            }
        }
        self.tree.process_token(token, line)
    }

    fn end(&self) {
        self.tree.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.tree.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// Records a value that is compared. Values that are empty, without a host or of another scheme are
/// no web links. White space at the ends is ignored.
fn note(element: &str, attribute: &str, value: &str, found: &mut Vec<String>) {
    let value = value.trim_matches(|letter: char| letter <= ' ');
    let scheme = value.split_once(':').map_or("http", |(scheme, _)| scheme).to_ascii_lowercase();
    let is_elsewhere = scheme.bytes().all(|byte| byte.is_ascii_alphabetic()) && !scheme.starts_with("http");
    let has_no_host = Base::parse("http://h/").is_ok_and(|base| base.resolve(value).is_err());
    let is_elsewhere = is_elsewhere || has_no_host;
    if COMPARED_ATTRIBUTES.contains(&(element, attribute)) && !value.is_empty() && !is_elsewhere {
        found.push(format!("{element}@{attribute} {value}"));
    }
}

/// What a browser finds.
fn by_tree(html: &str) -> Vec<String> {
    let tree = TreeBuilder::new(ParserSink::default(), Default::default());
    let tokenizer = Tokenizer::new(Recorder { tree, found: RefCell::default() }, Default::default());
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from_slice(html));
    while !matches!(tokenizer.feed(&queue), TokenizerResult::Done) {}
    tokenizer.end();
    let mut found = tokenizer.sink.found.take();
    found.sort();
    found
}

/// What the scanner finds.
fn by_scanner(html: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut take = |link: crate::links::PageLink<'_>| {
        if let LinkPlace::Attribute { element, attribute } = &link.place {
            note(element, attribute, &link.reference, &mut found);
        }
    };
    let (headers, limits) = (Headers::new(), LinkLimits::default());
    extract(LinkFormat::Html, "http://h/", &headers, html, limits, &mut take).unwrap();
    found.sort();
    found
}

/// How two lists differ, for people; empty if they do not.
fn difference(html: &str) -> String {
    let (tree, scanner) = (by_tree(html), by_scanner(html.as_bytes()));
    let mut text = String::new();
    for one in tree.iter().filter(|one| !scanner.contains(one)) {
        writeln!(text, "only the tree has {one}").unwrap();
    }
    for one in scanner.iter().filter(|one| !tree.contains(one)) {
        writeln!(text, "only the scanner has {one}").unwrap();
    }
    if text.is_empty() && tree.len() != scanner.len() {
        writeln!(text, "{} in the tree, {} by the scanner", tree.len(), scanner.len()).unwrap();
    }
    text
}

/// Elements of HTML, with and without tags in them.
const TESTED_ELEMENTS: [&str; 25] = [
    "a", "img", "script", "style", "title", "textarea", "iframe", "xmp", "noembed", "div", "p", "table",
    "tr", "td", "ul", "li", "template", "video", "source", "b", "font", "body", "head", "br", "area",
];

/// A tag of one of these elements, well formed or nearly.
fn tag(elements: &'static [&'static str]) -> impl Strategy<Value = String> {
    let element = prop::sample::select(elements);
    let attribute = prop::sample::select(
        &[
            " href=u1",
            " src='u2'",
            " src=\"u3\"",
            " SRC = u4",
            " href=u5/",
            " class=c",
            " x",
            "/src=u6",
            " href='a&amp;b'",
            " href=a&ampb",
            " src=u7 src=u8",
            " =x href=u9",
            " href=\"a>b\"",
            " alt='<a href=no>'",
            " href=u\u{fc}",
        ][..],
    );
    let attributes = prop::collection::vec(attribute, 0..4);
    let end = prop::sample::select(&[">", "/>", " >", "", "\n>"][..]);
    (element, attributes, end)
        .prop_map(|(element, attributes, end)| format!("<{element}{}{end}", attributes.concat()))
}

/// Anything, in any order.
fn piece() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(
        &[
            "<!--",
            "-->",
            "--!>",
            "<!-->",
            "<!--->",
            "<![CDATA[",
            "]]>",
            "<!DOCTYPE html>",
            "<!",
            "</",
            "<?",
            "</>",
            "<",
            ">",
            "\"",
            "'",
            "=",
            "<!-- <script> ",
            "</script",
            "&amp;",
            " ",
            "<plaintext>",
            "</p>",
            "</br>",
            "--",
            "-",
        ][..],
    );
    prop_oneof![
        4 => tag(&TESTED_ELEMENTS),
        3 => prop::sample::select(&TESTED_ELEMENTS[..]).prop_map(|element| format!("</{element}>")),
        2 => odd.prop_map(str::to_owned),
        1 => "[a-z <>/='\"!-]{0,6}",
    ]
}

/// Content of SVG and MathML. Only a tree knows what an unmatched end tag closes, so elements here
/// are closed, except those that end the foreign content.
fn inside() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(
            &[
                "<path/>", "<a href=u1>x</a>", "<style><a href=u2></a></style>", "<script src=u3><img src=u4></script>",
                "<![CDATA[<a href=no>]]>", "<title><a href=u5></a></title>", "<desc><img src=u6></desc>",
                "<foreignObject><div><a href=u7></a></div></foreignObject>",
                "<foreignObject><style><a href=no></style></foreignObject>", "<foreignObject/>",
                "<mi><a href=u8></a></mi>", "<mtext><script>'<img src=no>'</script></mtext>",
                "<annotation-xml encoding=text/html><textarea><img src=no></textarea></annotation-xml>",
                "<annotation-xml><textarea><img src=u9></textarea></annotation-xml>", "<svg><style><img src=u10></style></svg>",
                "<font><textarea><img src=u11></textarea></font>", "<!-- <a href=no> -->", "<textarea><a href=u12></a></textarea>",
            ][..]
        ),
        1 => prop::sample::select(&["<div>", "<p>", "</p>", "</br>", "<font color=red>", "<table>", "<img src=u13>"][..]),
    ]
    .prop_map(str::to_owned)
}

fn drawing() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(&["svg", "math"][..]);
    let after = prop::sample::select(
        &[
            "<style><a href=no></style>",
            "<textarea><img src=no></textarea>",
            "<![CDATA[<a href=u14>]]>",
            "<a href=u15>",
        ][..],
    );
    (kind, prop::collection::vec(inside(), 0..5), after)
        .prop_map(|(kind, inside, after)| format!("<{kind}>{}</{kind}>{after}", inside.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn the_scanner_finds_the_tags_that_browsers_find(pieces in prop::collection::vec(piece(), 0..14)) {
        let html = pieces.concat();
        prop_assert_eq!(difference(&html), "", "{}", html);
    }

    #[test]
    fn drawings_and_formulas_begin_and_end_where_they_do_for_browsers(drawings in prop::collection::vec(drawing(), 1..4)) {
        let html = drawings.concat();
        prop_assert_eq!(difference(&html), "", "{}", html);
    }

    #[test]
    fn a_page_may_be_cut_anywhere(pieces in prop::collection::vec(tag(&TESTED_ELEMENTS), 1..8), cut in any::<prop::sample::Index>()) {
        let html: String = pieces.concat();
        let html = &html[..html.floor_char_boundary(cut.index(html.len() + 1))];
        prop_assert_eq!(difference(html), "", "{}", html);
    }
}

/// Compares both on the pages of the folder that `VARVE_HTML` names, else on those of the corpora.
#[test]
fn real_pages_read_the_same() {
    let named = std::env::var_os("VARVE_HTML").map(std::path::PathBuf::from);
    let Some(folder) = named.or_else(|| varve_testkit::fixtures("extraction/html")) else { return };
    let mut folders = vec![folder];
    let mut pages = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|end| ["html", "htm", "gz"].iter().any(|known| end == *known))
            {
                pages += usize::from(reads_the_same(&path));
            }
        }
    }
    assert!(pages > 0, "there are no pages in that folder");
}

/// Compares both on one page. False if it is not compared: it is not UTF-8, or has documents inside
/// of it.
fn reads_the_same(path: &std::path::Path) -> bool {
    let mut bytes = std::fs::read(path).unwrap();
    if path.extension().is_some_and(|end| end == "gz") {
        let mut unpacked = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut unpacked).unwrap();
        bytes = unpacked;
    }
    let Ok(html) = String::from_utf8(bytes) else { return false };
    if ["<noscript", "<noframes", "srcdoc"].iter().any(|mark| html.contains(mark)) {
        return false;
    }
    assert_eq!(difference(&html), "", "{}", path.display());
    true
}
