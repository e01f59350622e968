//! The links that Crystal finds in small pages, and where varve finds more, or knows better.

use crate::{fixture, page};
use serde_json::Value;
use std::collections::BTreeSet;
use varve_page::links::{LinkRole, PageLink};

/// A link as the vectors write it: what was written, whether it is embedded, what it is called.
type Written = (String, bool, Option<String>);

fn written(link: &PageLink<'_>) -> Written {
    let title = link.title.as_ref().map(|title| title.to_string());
    (link.reference.to_string(), link.role == LinkRole::Embed, title)
}

fn expected(case: &Value, parser: &str) -> BTreeSet<Written> {
    let links = case[parser].as_array().map(Vec::as_slice).unwrap_or_default();
    let link = |link: &Value| {
        let title = link[3].as_str().map(str::to_owned);
        (link[0].as_str().unwrap().to_owned(), link[2].as_bool().unwrap(), title)
    };
    links.iter().map(link).collect()
}

const NOT_WEB: &str = "no address of the web; it is counted, not handed over";
const WHOLE: &str = "without it the page is not whole";
const RELATIVE: &str = "a relative reference is one, too";
const STYLE: &str = "imports by url() and nested blocks count as well";

/// The pages where more, less or something else is found, each with its reason: first what Crystal
/// alone finds, then the links that only varve finds; `+` marks embedded resources.
const DEPARTURES: [(&str, &[&str], &[&str], &str); 21] = [
    (
        r#"<img srcset="data:image/png;base64,AA,BB 1x, c 2x">"#,
        &["+data:image/png;base64,AA,BB"],
        &[],
        NOT_WEB,
    ),
    (r#"<video src=v poster="p.jpg"></video>"#, &[], &["+p.jpg"], RELATIVE),
    (r#"<object data="o.swf"></object>"#, &[], &["+o.swf"], RELATIVE),
    (r#"<object data="http://h/o.swf"></object>"#, &["http://h/o.swf"], &["+http://h/o.swf"], WHOLE),
    ("<link rel=manifest href=m>", &["m"], &["+m"], WHOLE),
    ("<base href=b>", &["b"], &[], "it says what others are relative to, and leads nowhere"),
    (
        r#"<style>a{b:url(u)}@import "i";@import url(j);@media x{c{d:url(k)}}</style>"#,
        &[],
        &["+j", "+k"],
        STYLE,
    ),
    (r#"<script>a="//"; b="// comment"</script>"#, &["// comment"], &[], "no host has a space"),
    (
        r#"<meta http-equiv=refresh content="0;url=http://h/r">"#,
        &[],
        &["http://h/r"],
        "the reader is sent there",
    ),
    (r#"<meta http-equiv=refresh content="0;url=r">"#, &[], &["r"], "the reader is sent there"),
    (r#"<form action="f"></form>"#, &[], &["f"], RELATIVE),
    (r#"<div data-src="/l.jpg">"#, &[], &["+/l.jpg"], RELATIVE),
    (r#"<a href="javascript:x()">"#, &["javascript:x()"], &[], NOT_WEB),
    (r#"<a href="mailto:a@b">"#, &["mailto:a@b"], &[], NOT_WEB),
    (r#"<a href="data:,x">"#, &["data:,x"], &[], NOT_WEB),
    (r#"<a href="tel:1">"#, &["tel:1"], &[], NOT_WEB),
    (r#"<a href="MAILTO:a@b">"#, &["MAILTO:a@b"], &[], NOT_WEB),
    (
        r#"<frameset><frame src="a.html"><frame src='b.shtml'><a href="c.php"></frameset>"#,
        &["a.html", "b.shtml"],
        &["+a.html", "+b.shtml", "c.php"],
        WHOLE,
    ),
    (
        r##"<svg><image xlink:href="http://h/s.png"/><use href="#u"/></svg>"##,
        &["#u"],
        &[],
        "a part of the page itself is there already",
    ),
    ("<img src>", &["+"], &[], "an empty source asks for nothing"),
    (
        r#"<img data-srcset="http://h/a 1x, http://h/b 2x">"#,
        &["http://h/a 1x, http://h/b 2x"],
        &["+http://h/a", "+http://h/b"],
        "it is read as the set that it is",
    ),
];

fn marked<'a>(links: impl Iterator<Item = &'a Written>) -> Vec<String> {
    links.map(|(reference, embedded, _)| format!("{}{reference}", if *embedded { "+" } else { "" })).collect()
}

#[test]
fn all_links_that_crystal_finds_are_found() {
    let Some(bytes) = fixture("crystal/vectors/html_links.json") else { return };
    let cases: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(cases.len(), 78);
    let mut departed = 0;
    for case in &cases {
        let html = case["html"].as_str().unwrap();
        let found: BTreeSet<Written> = page(html).iter().map(written).collect();
        let expected = expected(case, "lxml");
        let missed = marked(expected.difference(&found));
        let more = marked(found.difference(&expected));
        let departure = DEPARTURES.iter().find(|(departure, ..)| *departure == html);
        let (_, may_miss, may_add, _) = departure.unwrap_or(&("", &[], &[], ""));
        assert_eq!((missed, more), (owned(may_miss), owned(may_add)), "{html}");
        departed += usize::from(departure.is_some());
    }
    assert_eq!(departed, DEPARTURES.len());
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// Crystal's two parsers differ in three pages; varve reads all three as the newer one does.
#[test]
fn where_the_two_parsers_differ() {
    let Some(bytes) = fixture("crystal/vectors/html_links.json") else { return };
    let cases: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
    let differ = |case: &&Value| expected(case, "lxml") != expected(case, "html_parser");
    let pages: Vec<_> = cases.iter().filter(differ).map(|case| case["html"].as_str().unwrap()).collect();
    let expected = [
        r#"<link rel="mask-icon" href=i>"#,
        "<link rel=modulepreload href=p>",
        r#"<html xmlns="http://www.w3.org/1999/xhtml"><p>"#,
    ];
    assert_eq!(pages, expected);
    let found: Vec<_> = pages
        .into_iter()
        .map(|html| marked(page(html).iter().map(written).collect::<Vec<_>>().iter()))
        .collect();
    assert_eq!(found, [owned(&["+i"]), owned(&["+p"]), owned(&[])]);
}
