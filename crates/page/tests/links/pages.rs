//! Pages with everything in them: what each link is for, where it stood, and what else the page
//! says.

use crate::{links, page};
use varve_core::headers::Headers;
use varve_core::url::CanonicalSource;
use varve_page::links::{LinkFormat, LinkPlace, LinkRole, PageLink};
use varve_page::metadata::RobotsMeta;

/// `role target element@attribute` of each link, sorted.
fn lines(links: &[PageLink<'_>]) -> Vec<String> {
    let mut lines: Vec<_> = links.iter().map(line).collect();
    lines.sort();
    lines
}

fn line(link: &PageLink<'_>) -> String {
    let place = match &link.place {
        LinkPlace::Attribute { element, attribute } => format!("{element}@{attribute}"),
        LinkPlace::Text { element } => element.to_string(),
        LinkPlace::Style { import } => format!("import={import}"),
        LinkPlace::Member { name } => format!("{{{name}}}"),
        LinkPlace::Header(name) => format!("{name}:"),
        LinkPlace::Script => "script file".to_owned(),
        LinkPlace::Line => "line".to_owned(),
        LinkPlace::Implied => "implied".to_owned(),
    };
    let guessed = if link.guessed { "?" } else { "" };
    let nofollow = if link.nofollow { "!" } else { "" };
    format!("{:?} {} {place}{guessed}{nofollow}", link.role, link.target)
}

/// A button sends its form elsewhere; one that posts leads nowhere, and one that sends nothing
/// neither.
#[test]
fn buttons_that_send_forms() {
    let html = r#"<form method=post><button formaction=posted></button><input type=submit formaction=got formmethod=GET></form>
        <form><button formaction=a></button><input type=image formaction=b><button formaction=c formmethod=post></button>
        <button type=button formaction=d></button><input type=text formaction=e></form><button formaction=http://o/f></button>"#;
    let expected = [
        "Navigate http://h/d/a button@formaction",
        "Navigate http://h/d/b input@formaction",
        "Navigate http://h/d/got input@formaction",
        "Navigate http://o/f button@formaction",
    ];
    assert_eq!(lines(&page(html)), expected);
}

#[test]
fn roles_and_places() {
    let html = r##"<html manifest=app.cache><head><base href="/b/"><base href="/c/">
        <link rel=canonical href=self><link rel=alternate hreflang=de href=de><link rel=alternate type=application/rss+xml href=feed>
        <link rel=sitemap href=map.xml><link rel=preconnect href="//cdn"><link rel=prefetch href=next><link rel=preload as=image imagesrcset="s1 1x, s2 2x">
        <meta http-equiv=Refresh content="9; URL='later'"><meta property=og:image content=og.jpg><meta property=og:url content=ogurl>
        <script type=application/ld+json>{"@context":"http://schema.org/","url":"http://o/ld"}</script>
        <script type=module src=m.js></script></head>
        <body background=bg.gif><a href=x rel="nofollow ugc" ping="http://t/p /q">X</a><area href=y>
        <form action=search><input type=image src=go.png></form><form method=POST action=post></form>
        <img src=i srcset="i2 2x" longdesc=desc usemap="#m"><picture><source srcset=w></picture>
        <video poster=v.jpg><source src=v.mp4><track src=t.vtt></video><audio src=a.ogg></audio>
        <iframe src=frame></iframe><embed src=e><object data=o></object><applet code=c.class></applet>
        <svg><use href="sprite.svg#i"/><image xlink:href=im /><a xlink:href=sv>s</a></svg>
        <blockquote cite=src></blockquote><p style="background:url(st.png)">"##;
    let expected = [
        "Alternate http://h/b/de link@href",
        "Canonical http://h/b/ogurl meta@content",
        "Canonical http://h/b/self link@href",
        "Embed http://h/b/a.ogg audio@src",
        "Embed http://h/b/bg.gif body@background",
        "Embed http://h/b/c.class applet@code",
        "Embed http://h/b/e embed@src",
        "Embed http://h/b/frame iframe@src",
        "Embed http://h/b/go.png input@src",
        "Embed http://h/b/i img@src",
        "Embed http://h/b/i2 img@srcset",
        "Embed http://h/b/im image@xlink:href",
        "Embed http://h/b/m.js script@src",
        "Embed http://h/b/o object@data",
        "Embed http://h/b/og.jpg meta@content",
        "Embed http://h/b/s1 link@imagesrcset",
        "Embed http://h/b/s2 link@imagesrcset",
        "Embed http://h/b/sprite.svg#i use@href",
        "Embed http://h/b/st.png p@style",
        "Embed http://h/b/t.vtt track@src",
        "Embed http://h/b/v.jpg video@poster",
        "Embed http://h/b/v.mp4 source@src",
        "Embed http://h/b/w source@srcset",
        "Embed http://h/d/app.cache html@manifest",
        "Feed http://h/b/feed link@href",
        "Navigate http://h/b/desc img@longdesc",
        "Navigate http://h/b/next link@href",
        "Navigate http://h/b/search form@action",
        "Navigate http://h/b/src blockquote@cite",
        "Navigate http://h/b/sv a@href",
        "Navigate http://h/b/x a@href!",
        "Navigate http://h/b/y area@href",
        "Navigate http://o/ld {url}",
        "Navigate http://t/p a@ping",
        "Redirect http://h/b/later meta@content",
        "Sitemap http://h/b/map.xml link@href",
    ];
    assert_eq!(lines(&page(html)), expected);
}

#[test]
fn titles_are_read_from_visible_text() {
    let html = "<a href=1> One\n <b>&amp; two</b></a> out <a href=2><img src=3 alt=three></a><iframe src=4 name=four></iframe>
        <a href=5>five";
    let titles: Vec<_> = page(html)
        .into_iter()
        .map(|link| (link.reference.into_owned(), link.title.map(String::from)))
        .collect();
    let expected = [
        ("1", Some("One & two")),
        ("3", Some("three")),
        ("4", Some("four")),
        ("2", None),
        ("5", Some("five")),
    ];
    let mut expected: Vec<_> =
        expected.map(|(reference, title)| (reference.to_owned(), title.map(str::to_owned))).to_vec();
    expected.sort();
    let mut titles = titles;
    titles.sort();
    assert_eq!(titles, expected);
}

#[test]
fn positions_point_into_the_body() {
    let html = "<!-- é --><a href='one'>x</a><style> a{b:url(two)}</style><noscript><img src=three></noscript>\
        <script>x = 'http://h/four'</script>";
    for link in page(html) {
        let at = usize::try_from(link.offset.unwrap()).unwrap();
        let there = &html[at..];
        assert!(there.trim_start_matches("url(").starts_with(&*link.reference), "{link:?} {there}");
    }
}

#[test]
fn the_front_page_has_a_default_icon() {
    let icons = |url: &str, html: &str| links(LinkFormat::Html, url, &Headers::new(), html.as_bytes()).0;
    assert_eq!(lines(&icons("http://h/?q", "")), ["Embed http://h/favicon.ico implied"]);
    assert_eq!(lines(&icons("http://h", "<link rel=icon href=i>")), ["Embed http://h/i link@href"]);
    assert_eq!(lines(&icons("http://h/x", "")), [""; 0]);
}

#[test]
fn documents_inside_pages() {
    let html = r#"<noscript><a href=1>n</a><noscript></noscript><iframe srcdoc="<base href=/z/><img src=2><iframe srcdoc='&lt;img src=3&gt;'>"></iframe>"#;
    let found: Vec<_> = page(html).into_iter().map(|link| link.target).collect();
    assert_eq!(found, ["http://h/d/1", "http://h/d/2", "http://h/d/3"]);
    let frames = "<frameset><frame src=f><noframes><body><a href=plain>p</a></body></noframes></frameset>";
    let found: Vec<_> = page(frames).into_iter().map(|link| link.target).collect();
    assert_eq!(found, ["http://h/d/f", "http://h/d/plain"]);
}

#[test]
fn encodings() {
    let utf_16: Vec<u8> = "<a href='\u{e9}'>ü</a>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let latin = b"<meta charset=latin1><a href='\xe9'>\xfc</a>".to_vec();
    let by_header = Headers::from_iter([("Content-Type", "text/html; charset=ISO-8859-1")]);
    let cases =
        [(utf_16, Headers::new()), (latin, Headers::new()), (b"<a href='\xe9'>\xfc</a>".to_vec(), by_header)];
    for (bytes, headers) in cases {
        let (found, _) = links(LinkFormat::Html, "http://h/", &headers, &bytes);
        assert_eq!(found[0].target, "http://h/%C3%A9");
        assert_eq!(found[0].title.as_deref(), Some("ü"));
    }
}

#[test]
fn headers_and_style_sheets() {
    let headers = Headers::from_iter([("Link", "<x.css>; rel=preload; as=style"), ("Location", "/there")]);
    let (found, _) = links(LinkFormat::Css, "http://h/c/s.css", &headers, b"@import 'i.css'; a{b:url(../j)}");
    let expected = [
        "Embed http://h/c/i.css import=true",
        "Embed http://h/c/x.css link:",
        "Embed http://h/j import=false",
        "Redirect http://h/there location:",
    ];
    assert_eq!(lines(&found), expected);
}

/// What the scripts of a page name by strings is part of the page. Bare names mean what the import map
/// of the page says.
#[test]
fn modules_and_workers_are_parts_of_a_page() {
    let html = "<base href=/b/><link rel=modulepreload href=preloaded.js>
        <script type=importmap>{\"imports\": {\"lake\": \"./lake.js\", \"mud/\": \"/mud/\"}}</script>
        <script type=module>import 'lake'; import {a} from 'mud/a.js'; import 'unknown'; import('./late.js')</script>
        <script type=Application/JavaScript>new Worker('worker.js'); import('mud/b.js')</script>
        <script type=text/template>import './no.js'</script>";
    let parts = |found: Vec<PageLink<'static>>| -> Vec<String> {
        assert!(found.iter().all(|link| link.role == LinkRole::Embed && !link.guessed), "{found:?}");
        found.into_iter().map(|link| link.target).collect()
    };
    let wanted =
        ["b/preloaded.js", "b/lake.js", "b/lake.js", "mud/a.js", "b/late.js", "b/worker.js", "mud/b.js"];
    assert_eq!(parts(page(html)), wanted.map(|path| format!("http://h/{path}")));
    let script =
        b"import '../a.js'; import bare from 'bare'; export * from 'https://cdn/b.js'; importScripts('c.js')";
    let (found, extracted) = links(LinkFormat::JavaScript, "http://h/js/m.js", &Headers::new(), script);
    let offsets: Vec<_> = found.iter().map(|link| link.offset).collect();
    assert_eq!(offsets, [Some(8), Some(58), Some(92)]);
    assert_eq!((extracted.report.cut, extracted.report.unreadable), (0, 0));
    assert_eq!(parts(found), ["http://h/a.js", "https://cdn/b.js", "http://h/js/c.js"]);
}

#[test]
fn metadata_of_a_page_is_read() {
    let html = "<html lang=' de-CH '><head><title> A &amp; B\n C </title><svg><title>no</title></svg>
        <meta name=Robots content='noindex, NoFollow'><link rel=canonical href='/real'>
        <meta property=og:url content='/og'><meta name=twitter:image content=https://www.h/x.png>";
    let headers =
        Headers::from_iter([("X-Robots-Tag", "googlebot: nosnippet"), ("x-robots-tag", "noarchive")]);
    let (_, extracted) = links(LinkFormat::Html, "http://h/d/p", &headers, html.as_bytes());
    let metadata = extracted.metadata;
    assert_eq!(metadata.title.as_deref(), Some("A & B C"));
    assert_eq!(metadata.language.as_deref(), Some("de-CH"));
    assert_eq!(metadata.robots, RobotsMeta { noindex: true, nofollow: true, noarchive: true });
    let canonical = metadata.canonical("http://h/d/p");
    assert_eq!(
        (canonical.url.as_str(), canonical.source),
        ("https://www.h/real", CanonicalSource::CanonicalLink)
    );
    let mut of_tree = varve_page::metadata::PageMetadata::of_tree(&varve_page::dom::HtmlTree::parse(html));
    of_tree.robots.noarchive = true;
    assert_eq!(of_tree, metadata, "the header alone is missing from the tree");
}

#[test]
fn nothing_is_read_where_nothing_is_to_be_read() {
    let (found, extracted) = links(LinkFormat::Opaque, "http://h/", &Headers::new(), b"<a href=x>");
    assert!(found.is_empty() && extracted.report.stopped.is_none());
    let roles: Vec<_> = links(LinkFormat::Json, "http://h/", &Headers::new(), br#"["http://a/b.css"]"#).0;
    assert_eq!(roles[0].role, LinkRole::Embed);
}

#[test]
fn markup_is_distinguished_from_similar_text() {
    for (html, expected) in [
        ("<!-- <a href=1> --><a href=2>", &["2"][..]),
        ("<!--><a href=1>--><a href=2>", &["1", "2"]),
        ("<!-- --!><a href=1>", &["1"]),
        ("<!-- ----- <a href=1> -----><a href=2>", &["2"]),
        ("<!x <a href=1><a href=2>", &["2"]),
        ("<?php <a href=1> ?><a href=2>", &["2"]),
        ("</ <a href=1><a href=2>", &["2"]),
        ("a < b <a href=1>", &["1"]),
        ("<textarea><a href=1></textarea><a href=2>", &["2"]),
        ("<script>'<a href=1>'</script><a href=2>", &["2"]),
        ("<plaintext><a href=1>", &[]),
        ("<svg><style><a href=1></style></svg><a href=2>", &["1", "2"]),
        ("<svg><![CDATA[<a href=1>]]></svg><a href=2>", &["2"]),
        ("<![CDATA[<a href=1>]]><a href=2>", &["2"]),
        ("<a href=1", &[]),
        ("<p title='<a href=1>'><a href=2>", &["2"]),
        ("<a href=1>x</a<a href=2><a href=3>", &["1", "3"]),
    ] {
        let found: Vec<_> = page(html).into_iter().map(|link| link.reference.into_owned()).collect();
        assert_eq!(found, expected, "{html}");
    }
}

#[test]
fn a_drawing_has_styles_and_no_title() {
    let html = "<svg><style>a{b:url(1)}</style><style><![CDATA[a{b:url(2)}]]></style><image href=3 /></svg>";
    let found: Vec<_> = page(html).into_iter().map(|link| link.reference.into_owned()).collect();
    assert_eq!(found, ["1", "2", "3"]);
}
