//! Pages made to cost: large, deep and absurd metadata returns, with what is within the limits.

use crate::laws::metadata;
use crate::metadata_of;

const URL: &str = "https://a.example/p";

#[test]
fn large_and_deep_linked_data_is_left_out() {
    let script = |json: &str| format!("<title>T</title><script type=application/ld+json>{json}</script>");
    let large = format!("{{\"@type\": \"Article\", \"author\": \"{}\"}}", "x".repeat(7 << 20));
    let deep = "{\"@graph\":[".repeat(100_000);
    let wide = format!("[{}1]", "[],".repeat(300_000));
    let closed = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for json in [large, deep, wide, closed, "\"".repeat(1 << 20), ",]".repeat(1 << 19)] {
        let page = metadata_of(&script(&json), URL);
        assert_eq!(page.title.as_deref(), Some("T"));
        assert!(page.authors.is_empty() && page.date.is_none());
    }
    let many = script("{\"@type\": \"Article\", \"author\": \"Ann Author\"}").repeat(20_000);
    metadata_of(&many, URL);
}

#[test]
fn thousands_of_elements_are_bounded() {
    let metas = "<meta name=author content='Ann Author'><meta name=keywords content=a,b,c>".repeat(50_000);
    let page = metadata_of(&metas, URL);
    assert_eq!((page.authors.len(), page.tags.len()), (1, 3));
    let names: String = (0..5000).map(|n| format!("<meta name=citation_author content='Ann {n}'>")).collect();
    assert!(metadata_of(&names, URL).authors.len() <= 64);
    for piece in [
        "<time datetime=2024-02-31>x</time>",
        "<p class='date author byline'>99/99/9999 1 2 3</p>",
        "<h1>x</h1>",
        "<h2><a href=x>y</a></h2><span class=date>x</span>",
        "<div itemprop='author datePublished' itemscope>",
        "<a rel=author href=x>",
        "<div class=author><div class=date>",
    ] {
        metadata_of(&format!("<h1>T</h1>{}", piece.repeat(20_000)), URL);
    }
}

#[test]
fn absurd_values_are_no_values() {
    let long = "9".repeat(1 << 20);
    let page = metadata_of(
        &format!(
            "<meta property=article:published_time content='{long}'><meta name=author content='{long}'>
             <meta property=og:url content='ftp://a.example/'><h1>{long}</h1><time datetime='-1-1-1'>{long}</time>"
        ),
        URL,
    );
    assert_eq!((page.date, page.canonical_url.as_str()), (None, URL));
    assert!(page.authors.is_empty() && page.title.unwrap().len() <= 4096);
}

#[test]
fn any_bytes_are_read() {
    // SplitMix64: a generator that never changes.
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)) as usize
    };
    let pieces = [
        "2024",
        "-",
        "/",
        ".",
        " ",
        "March",
        "1",
        "31",
        "12",
        "年",
        "月",
        "日",
        "st",
        "de",
        "{",
        "}",
        "[",
        "]",
        "\"",
        ":",
        ",",
        "\"@type\":",
        "\"Article\"",
        "\"author\":",
        "\"datePublished\":",
        "<h1>",
        "<time>",
        "<p class=byline>By ",
        "\\",
        "<script type=application/ld+json>",
        "</script>",
        "ü",
        "\u{0}",
        "Ann",
        ";",
        "@",
        "(",
        ")",
        "|",
    ];
    for _ in 0..2000 {
        let text: String = (0..next() % 40).map(|_| pieces[next() % pieces.len()]).collect();
        metadata(text.as_bytes());
    }
}
