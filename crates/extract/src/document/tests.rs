//! Documents of the kinds that pages have, as HTML and as Markdown, and texts that must survive.

use crate::content::{MainContent, blocks};
use crate::document;
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser};
use std::borrow::Cow;
use varve_page::dom::HtmlTree;

/// Everything on a page as its content.
fn all_of(tree: &HtmlTree) -> MainContent<'_> {
    MainContent { tree: Cow::Borrowed(tree), blocks: blocks::divide(tree).blocks, is_cut: false }
}

fn markdown(html: &str) -> String {
    let tree = HtmlTree::parse(html);
    document::markdown(&all_of(&tree), "https://a.example/folder/page").expect("the events are sound")
}

fn clean(html: &str) -> String {
    let tree = HtmlTree::parse(html);
    document::html(&all_of(&tree), "https://a.example/folder/page")
}

#[test]
fn articles_become_markdown() {
    let html = "<article><h1>A <b>title</b></h1><div>First <em>words</em>, a <a href='../x?y=1#z'>link</a>.</div>\
        <p>Line one<br>line two</p><blockquote>Quoted <code>x = 1</code></blockquote>\
        <figure><img src=/i.png alt='An image'><figcaption>Caption</figcaption></figure>\
        <pre class=language-rust><code>fn main() {\n    call();\n}\n</code></pre></article>";
    insta::assert_snapshot!(markdown(html), @r#"
    # A title

    First *words*, a [link](https://a.example/x?y=1#z).

    Line one  
    line two

     > 
     > Quoted `x = 1`

    ![An image](https://a.example/i.png)

    Caption

    ```rust
    fn main() {
        call();
    }
    ```
    "#);
}

#[test]
fn lists_nest() {
    let html = "<ul><li>one<li>two <ol><li>inner<li>second</ol><li><p>para</p><p>another</p></ul><p>end";
    insta::assert_snapshot!(markdown(html), @r#"
    - one

    - two
      1. inner
      2. second

    - para
      
      another

    end
    "#);
}

#[test]
fn tables_of_data_are_tables() {
    let html = "<table><caption>Sizes</caption><thead><tr><th>Name<th>Size</thead>\
        <tr><td>a|b<td>1<tr><td><p>two</p><p>parts</p><td></table>\
        <table><tr><td>layout<td><table><tr><td>inner</table></table>";
    insta::assert_snapshot!(markdown(html), @r#"
    Sizes

    |Name|Size|
    |----|----|
    |a\|b|1|
    |two parts||

    layout

    inner
    "#);
}

#[test]
fn html_is_clean() {
    let html = "<div onclick=x()><p style=color:red>Text <script>bad()</script><a href='javascript:bad()'>one</a> \
        <a href=//b.example/>two</a></p><form><input value=x><button>Send</button></form>\
        <a href=/card><h3>Card</h3><p>Text of the card</p></a>&lt;img onerror=x&gt;";
    insta::assert_snapshot!(clean(html), @r#"
    <p>Text one <a href="https://b.example/">two</a></p>
    <p>Send</p>
    <h3><a href="https://a.example/card">Card</a></h3>
    <p><a href="https://a.example/card">Text of the card</a></p>
    <p>&lt;img onerror=x&gt;</p>
    "#);
}

/// The visible text of Markdown.
fn shown(markdown: &str) -> String {
    let mut text = String::new();
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Text(part) | Event::Code(part) | Event::Html(part) | Event::InlineHtml(part) => {
                text.push_str(&part)
            }
            Event::SoftBreak | Event::HardBreak | Event::End(_) => text.push(' '),
            _ => {}
        }
    }
    text.split_whitespace().collect()
}

proptest! {
    #[test]
    fn text_survives_markdown(text in "[a-z0-9 *_`#+.>|!&;:()~$%=\\[\\]\\\\<-]{0,40}") {
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
        let expected: String = text.split_whitespace().collect();
        if blocks::words(&text).next().is_some() {
            prop_assert_eq!(shown(&markdown(&format!("<p>{escaped}</p>"))), expected);
        }
    }

    #[test]
    fn any_page_can_be_written(text in "(<(/?(p|b|table|tr|td|h1|ul|ol|li|a href=x|pre|code|blockquote|br|img src=x|div))>|x |y|, ){0,40}") {
        let tree = HtmlTree::parse(&text);
        let content = all_of(&tree);
        document::html(&content, "https://a.example/");
        prop_assert!(document::markdown(&content, "https://a.example/").is_some());
    }
}
