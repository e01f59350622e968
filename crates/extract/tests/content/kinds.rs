//! Pages of the kinds that sites have, made here, each in a frame of menus, rails and footers.
//!
//! Most words of the content must be found, and none of the frame that only frames have.

use super::{read, word_f1};
use varve_extract::ExtractedPage;

/// Minimum F1 of the words of a page that is made here.
const MIN_KIND_F1: f64 = 0.85;

const SENTENCES: [&str; 6] = [
    "The bridge over the northern arm of the river was closed in the spring, after engineers found cracks in two of its piers.",
    "Nobody had expected that the repair would take longer than the building of the bridge itself, which was finished in 1931.",
    "The city has since asked three companies for their opinion, and all of them came to a different conclusion about the cause.",
    "Residents on the far side now walk forty minutes to the nearest shop, or wait for a ferry that runs twice in the morning.",
    "A member of the council said that the money for a new bridge is there, but that the plan has to be approved by the county first.",
    "Until then the old piers are measured every week, and the results are published on a board in front of the town hall.",
];

/// A page with a menu, a rail and a footer around its content.
fn framed(head: &str, content: &str) -> String {
    let menu: String = ["Home", "World", "Business", "Culture", "Contact"]
        .iter()
        .map(|name| format!("<li><a href=/{name}>{name}</a></li>"))
        .collect();
    format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>A page</title>{head}</head><body>\
        <header class=site-header><a href=/>Framing Gazette</a><nav class=main-menu><ul>{menu}</ul></nav></header>\
        <main>{content}</main>\
        <aside class=sidebar><h3>Newsletter</h3><form><label>Your email</label><button>Subscribe</button></form></aside>\
        <footer class=site-footer><ul>{menu}</ul><p>© 2024 Framing Gazette. All rights reserved.</p></footer></body></html>"
    )
}

fn paragraphs(count: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!("{} That is note {number}.", SENTENCES[number % SENTENCES.len()]))
        .collect()
}

fn tagged(texts: &[String], tag: &str) -> String {
    texts.iter().map(|text| format!("<{tag}>{text}</{tag}>")).collect()
}

#[track_caller]
fn assert_read(html: &str, url: &str, expected: &str) -> ExtractedPage {
    let found = read(html, url);
    assert_eq!(found.failure, None);
    let text = found.page.content_text.clone().unwrap_or_default();
    let f1 = word_f1(&text, expected);
    assert!(f1 >= MIN_KIND_F1, "F1 is {f1:.3}:\n{text}");
    for frame in ["All rights reserved", "Subscribe"] {
        assert!(!text.contains(frame), "{frame}:\n{text}");
    }
    found.page
}

#[test]
fn an_article_is_its_title_and_paragraphs() {
    let texts = paragraphs(9);
    let content = format!("<article><h1>The closed bridge</h1>{}</article>", tagged(&texts, "p"));
    let head = "<meta property=og:type content=article>";
    let url = "https://gazette.example/2024/05/the-closed-bridge";
    let page = assert_read(&framed(head, &content), url, &format!("The closed bridge {}", texts.join(" ")));
    let html = page.content_html.expect("requested");
    assert!(html.contains(&format!("<p>{}</p>", texts[0])), "{html}");
    assert!(page.content_markdown.expect("requested").contains(&texts[1]));
}

#[test]
fn documentation_keeps_its_code_and_lists() {
    let texts = paragraphs(4);
    let code = "let bridge = Bridge::open(path)?;\nbridge.measure();";
    let items =
        ["Open the bridge before the first ship arrives.", "Measure it after the last ship has passed."];
    let content = format!(
        "<div class=sidebar><ul>{}</ul></div><div class=content><h1>Measuring</h1>{}<h2>Example</h2><pre><code class=language-rust>{code}</code></pre>\
        <h2>Order</h2><ul><li>{}</li><li>{}</li></ul></div>",
        "<li><a href=x>Chapter</a></li>".repeat(12),
        tagged(&texts, "p"),
        items[0],
        items[1],
    );
    let expected = format!("Measuring {} Example {code} Order {} {}", texts.join(" "), items[0], items[1]);
    let page = assert_read(&framed("", &content), "https://docs.example/guide/measuring.html", &expected);
    let markdown = page.content_markdown.expect("requested");
    assert!(markdown.contains(&format!("```rust\n{code}\n```")), "{markdown}");
    assert!(markdown.contains(&format!("- {}", items[0])), "{markdown}");
}

#[test]
fn a_forum_thread_is_all_its_posts() {
    let texts = paragraphs(8);
    let posts: String = texts
        .iter()
        .enumerate()
        .map(|(number, text)| {
            format!(
                "<div class=post><div class=post-author><a href=/u/{number}>member{number}</a></div>\
                <div class=post-body><p>{text}</p></div><div class=post-actions><button>Report</button></div></div>"
            )
        })
        .collect();
    let content = format!("<div class=thread><h1>Has the bridge been opened?</h1>{posts}</div>");
    let url = "https://forum.example/threads/has-the-bridge-been-opened.412/";
    let page =
        assert_read(&framed("", &content), url, &format!("Has the bridge been opened? {}", texts.join(" ")));
    let text = page.content_text.expect("there is text");
    assert!(texts.iter().all(|post| text.contains(post)), "{text}");
}

#[test]
fn a_listing_is_its_teasers() {
    let texts = paragraphs(12);
    let teasers: String = texts
        .iter()
        .enumerate()
        .map(|(number, text)| {
            format!("<article class=teaser><h2><a href=/{number}>Report {number} on the bridge</a></h2><p>{text}</p></article>")
        })
        .collect();
    let expected: String =
        (0..12).map(|number| format!("Report {number} on the bridge {} ", texts[number])).collect();
    let content = format!("<h1>All reports</h1><div class=list>{teasers}</div>");
    assert_read(
        &framed("", &content),
        "https://gazette.example/reports/",
        &format!("All reports {expected}"),
    );
}

#[test]
fn a_collection_is_its_cards() {
    let names = ["Oak chair", "Pine table", "Birch shelf", "Walnut desk", "Maple bench", "Cherry stool"];
    let cards: String = (0..24)
        .map(|number| {
            let name = names[number % names.len()];
            format!(
                "<li class=product-card><a href=/products/{number}><img src=/{number}.jpg alt=''><h3>{name} number {number}</h3></a>\
                <span class=price>${number}9.00</span></li>"
            )
        })
        .collect();
    let expected: String = (0..24)
        .map(|number| format!("{} number {number} {number}9 00 ", names[number % names.len()]))
        .collect();
    let content = format!(
        "<h1>Furniture</h1><p>Furniture of solid wood, made by hand in a workshop by the river.</p><ul class=product-grid>{cards}</ul>"
    );
    let url = "https://shop.example/collections/furniture";
    let expected =
        format!("Furniture Furniture of solid wood, made by hand in a workshop by the river. {expected}");
    assert_read(&framed("<meta property=og:type content=website>", &content), url, &expected);
}

#[test]
fn a_product_is_its_description() {
    let description = "A chair of oak that stands in a kitchen as well as in a library. Its seat is woven of paper cord by hand, \
        and its legs are turned from the wood of one tree, so that they age alike.";
    let details = [
        "Height: 78 cm, width: 52 cm",
        "Weight: 5 kg, carries up to 150 kg",
        "Oiled oak, natural paper cord",
    ];
    let related: String = (0..6)
        .map(|number| format!("<li class=card><a href=/products/{number}>Other chair {number}</a></li>"))
        .collect();
    let content = format!(
        "<div class=product><h1>Oak chair</h1><div class=product-description><p>{description}</p><ul>{}</ul></div>\
        <button>Add to cart</button></div><section class=related-products><h2>You may also like</h2><ul>{related}</ul></section>",
        tagged(&details.map(str::to_owned), "li"),
    );
    let head = r#"<meta property=og:type content=product><script type="application/ld+json">{"@type":"Product","name":"Oak chair"}</script>"#;
    let expected = format!("Oak chair {description} {}", details.join(" "));
    let page = assert_read(&framed(head, &content), "https://shop.example/products/oak-chair", &expected);
    assert!(!page.content_text.expect("there is text").contains("Other chair 3"));
}

#[test]
fn a_page_for_browsers_without_scripts_is_read() {
    let texts = paragraphs(8);
    let html = format!(
        "<body><div id=app>Loading</div><noscript><div class=topic>{}</div></noscript></body>",
        tagged(&texts, "p")
    );
    let found = read(&html, "https://forum.example/t/topic/12").page.content_text.unwrap_or_default();
    assert!(word_f1(&found, &texts.join(" ")) >= MIN_KIND_F1, "{found}");
}
