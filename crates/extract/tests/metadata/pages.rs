//! One small page for each rule.

use crate::metadata_of;
use varve_extract::metadata::DateConfidence;

const URL: &str = "https://www.a.example/posts/one";

fn date(html: &str) -> Option<(String, DateConfidence)> {
    metadata_of(html, URL).date.map(|date| (date.day.to_string(), date.confidence))
}

fn authors(html: &str) -> Vec<String> {
    metadata_of(html, URL).authors
}

fn title(html: &str) -> Option<String> {
    metadata_of(html, URL).title
}

fn linked(json: &str) -> String {
    format!("<title>T</title><script type='application/ld+json; charset=utf-8'>{json}</script>")
}

#[test]
fn all_fields_of_linked_data() {
    let page = metadata_of(
        &linked(
            r##"{"@context": "https://schema.org", "@graph": [
            {"@type": "WebSite", "name": "The Site"},
            {"@type": "Person", "@id": "#ann", "name": "Ann Author"},
            {"@type": ["Article", "Thing"], "headline": "A headline", "datePublished": "2024-03-01T23:30:00-08:00",
             "author": [{"@id": "#ann"}, {"@type": "Person", "name": "Bob Writer"}], "articleSection": ["News"],
             "keywords": "one, two", "inLanguage": "en_us", "image": {"url": "/x.png"},
             "description": "D", "license": "https://creativecommons.org/licenses/by-sa/4.0/"}]}"##,
        ),
        URL,
    );
    assert_eq!(page.authors, ["Ann Author", "Bob Writer"]);
    assert_eq!(page.date.unwrap().day.to_string(), "2024-03-01", "the day as the page writes it");
    assert_eq!(page.date.unwrap().confidence, DateConfidence::Structured);
    assert_eq!(
        (page.sitename.as_deref(), page.hostname.as_deref()),
        (Some("The Site"), Some("www.a.example"))
    );
    assert_eq!(
        (page.categories, page.tags),
        (vec!["News".to_owned()], vec!["one".to_owned(), "two".to_owned()])
    );
    assert_eq!((page.language.as_deref(), page.description.as_deref()), (Some("en-US"), Some("D")));
    assert_eq!(page.image.as_deref(), Some("https://www.a.example/x.png"));
    assert_eq!((page.license.as_deref(), page.page_type.as_deref()), (Some("CC BY-SA 4.0"), Some("article")));
}

#[test]
fn linked_data_with_common_mistakes_is_read() {
    let article = r#"{"@type": "NewsArticle", "headline": "Two
        lines", "datePublished": "2024-03-01", }"#;
    for json in [
        article.to_owned(),
        format!("<!-- {article} -->"),
        format!("//<![CDATA[\n{article}\n//]]>"),
        format!("{article};"),
        format!("[{article}]"),
    ] {
        assert_eq!(
            date(&linked(&json)),
            Some(("2024-03-01".to_owned(), DateConfidence::Structured)),
            "{json}"
        );
    }
    assert_eq!(date(&linked("{nonsense")), None);
}

#[test]
fn only_the_item_of_the_page_counts() {
    let item = |url: &str, day: u8| {
        format!(
            r#"{{"@type": "BlogPosting", "url": "{url}", "datePublished": "2024-03-0{day}", "author": "A{day} B"}}"#
        )
    };
    let items = [1, 2, 3].map(|day| item(&format!("https://a.example/posts/{day}"), day)).join(",");
    assert_eq!(date(&linked(&format!("[{items}]"))), None, "a list of posts has no date");
    let own = format!("[{items},{}]", item("http://a.example/posts/one/?x=1", 9));
    assert_eq!(date(&linked(&own)).unwrap().0, "2024-03-09");
    let part = format!(r#"{{"@type": "Blog", "blogPost": [{}]}}"#, item("https://a.example/posts/one", 7));
    assert_eq!(date(&linked(&part)).unwrap().0, "2024-03-07");
    let page = r#"{"@type": "WebPage", "datePublished": "2024-03-01"}"#;
    assert_eq!(date(&linked(page)), None, "web pages are published with every build");
}

#[test]
fn sources_of_dates_in_order_of_trust() {
    let meta = "<meta property=article:published_time content=2024-03-02T00:00:00Z>";
    let shown = "<h1>T</h1><time datetime=2024-03-03>3 March</time>";
    let item = "<article itemscope itemtype=https://schema.org/Article><meta itemprop=datePublished content=2024-03-01></article>";
    let found =
        |html: &str| date(html).map(|(day, confidence)| (day[8..].parse::<u8>().unwrap(), confidence));
    assert_eq!(found(&[meta, shown, item].concat()), Some((1, DateConfidence::Structured)));
    assert_eq!(found(&[meta, shown].concat()), Some((2, DateConfidence::Declared)));
    assert_eq!(found(shown), Some((3, DateConfidence::Marked)));
    assert_eq!(found("<h1>T</h1><p>Posted 4 March 2024"), Some((4, DateConfidence::Text)));
    assert_eq!(found("<p>5 March 2024</p><h1>T</h1>"), Some((5, DateConfidence::Text)));
    let in_url = metadata_of(shown, "https://a.example/2024/03/06/t").date.unwrap();
    assert_eq!((in_url.day.to_string().as_str(), in_url.confidence), ("2024-03-06", DateConfidence::Url));
    let modified = linked(r#"{"@type": "Article", "dateModified": "2024-03-07"}"#);
    assert_eq!(found(&modified), Some((7, DateConfidence::Modified)));
}

#[test]
fn what_is_no_date_of_publication() {
    for html in [
        "<h1>T</h1><p>Last updated: March 1, 2024",
        "<h1>T</h1><p>Text</p><footer>Published March 1, 2024</footer>",
        "<h1>T</h1><p>Text</p><div class=comments><time datetime=2024-03-01>x</time></div>",
        "<h1>T</h1><div class=x><h3><a href=/other>Other</a></h3><time datetime=2024-03-01>x</time></div>",
        "<h1>T</h1><p>In March 2024 there was",
        "<meta property=article:published_time content=1969-12-31>",
        "<meta property=article:published_time content=2031-01-01>",
        "<meta property=article:modified_time content=2024-01-01>",
        "<h1>T</h1><p>Copyright 2024",
    ] {
        assert_eq!(date(html), None, "{html}");
    }
    let home = metadata_of("<h1>T</h1><time datetime=2024-03-01>x</time>", "https://a.example/");
    assert_eq!(home.date, None, "a home page is no article");
}

#[test]
fn layout_classes_around_the_title_are_no_side_bars() {
    let html = "<div class=with-sidebar><h1>T</h1><span class=date>Mar 1, 2024</span></div>";
    assert_eq!(date(html), Some(("2024-03-01".to_owned(), DateConfidence::Marked)));
}

#[test]
fn sources_of_authors_in_order_of_trust() {
    let meta = "<meta name=author content='By Ann Author; Bob Writer; ; '>";
    let shown = "<h1>T</h1><div class=byline>By <a href=/c>Cid Third</a> and <a href=/d>Dora Fourth</a>, Editors | 1 March 2024</div>";
    assert_eq!(authors(&[meta, shown].concat()), ["Ann Author", "Bob Writer"]);
    assert_eq!(authors(shown), ["Cid Third", "Dora Fourth"]);
    assert_eq!(authors("<h1>T</h1><a rel=author href=/a>Ann Author</a>"), ["Ann Author"]);
    assert_eq!(authors("<h1>T</h1><p>By <b>Ann Author</b></p><p>Text"), ["Ann Author"]);
    assert_eq!(
        authors(
            "<h1>T</h1><div itemprop=author itemscope><span itemprop=name>Ann Author</span> editor</div>"
        ),
        ["Ann Author"]
    );
    let several =
        "<meta name=citation_author content='Author, Ann'><meta name=citation_author content='Bob Writer'>";
    assert_eq!(authors(several).len(), 2);
    assert_eq!(
        authors(
            "<meta name='twitter:label1' content='Written by'><meta name='twitter:data1' content='Ann Author'>"
        ),
        ["Ann Author"]
    );
}

#[test]
fn a_function_of_a_manual_is_no_author() {
    let manual =
        "<h1>csv</h1><dl><dt id=csv.writer><code>csv.writer</code>(file)</dt><dd>A writer.</dd></dl>";
    assert_eq!(authors(manual), Vec::<String>::new());
}

#[test]
fn names_are_cleaned() {
    let cleaned = |name: &str| authors(&format!("<meta name=author content=\"{name}\">"));
    for (given, expected) in [
        ("Written by Ann Author", vec!["Ann Author"]),
        ("Ann Author (ann@a.example)", vec!["Ann Author"]),
        ("Ann Author @annie", vec!["Ann Author"]),
        ("Ann Author, Senior Editor at Large", vec!["Ann Author"]),
        ("Ann Author, Bob Writer and Cid Third", vec!["Ann Author", "Bob Writer", "Cid Third"]),
        ("Ann Author; Ann  author", vec!["Ann Author"]),
        ("Ann Author, Ph.D.", vec!["Ann Author, Ph.D."]),
        ("ann@a.example", vec![]),
        ("https://a.example/ann", vec![]),
        ("admin", vec![]),
        ("", vec![]),
    ] {
        assert_eq!(cleaned(given), expected, "{given}");
    }
}

#[test]
fn the_site_as_author_gives_way_to_a_byline() {
    let html = "<meta property=og:site_name content='The Site'><meta name=author content='The Site'>";
    assert_eq!(authors(html), ["The Site"]);
    assert_eq!(authors(&format!("{html}<h1>T</h1><p class=author>Ann Author")), ["Ann Author"]);
}

#[test]
fn titles() {
    let site = "<meta property=og:site_name content='The Site'>";
    for (html, expected) in [
        ("<title>How it works | The Site</title>", "How it works"),
        ("<title>The Site | How it works</title>", "How it works"),
        ("<title>How it works - The Site</title><h1>How it works¶</h1>", "How it works"),
        ("<title>How it works | The Site</title><h1>The Site</h1>", "How it works"),
        (
            "<title>Payments for everybody | The Site</title><h1>Let us grow together</h1>",
            "Payments for everybody",
        ),
        ("<title>How it works - The Site</title><h1>How it works (a.example) 87</h1>", "How it works"),
        ("<title>x</title><svg><title>Icon</title></svg><h1></h1>", "x"),
        ("<h1>Two<br>lines</h1>", "Two lines"),
    ] {
        assert_eq!(title(&format!("{site}{html}")).as_deref(), Some(expected), "{html}");
    }
    assert_eq!(title("<p>x"), None);
}

#[test]
fn other_fields() {
    let page = metadata_of(
        "<html lang=de-ch><meta name=description content=' A  b '><meta property=article:tag content=x>
         <meta name=keywords content='x, y; z'><meta property=og:type content=product>
         <link rel=license href=https://creativecommons.org/publicdomain/zero/1.0/>
         <link rel=canonical href=/real><meta property=og:image content=//cdn.example/i.png>",
        URL,
    );
    assert_eq!((page.language.as_deref(), page.description.as_deref()), (Some("de-CH"), Some("A b")));
    assert_eq!(
        (page.tags, page.page_type.as_deref()),
        (["x", "y", "z"].map(str::to_owned).to_vec(), Some("product"))
    );
    assert_eq!(
        (page.license.as_deref(), page.image.as_deref()),
        (Some("CC0 1.0"), Some("https://cdn.example/i.png"))
    );
    assert_eq!(page.canonical_url, "https://www.a.example/real");
}
