//! Every sitemap and feed of the fixtures, with all that is expected of it.

use crate::{fixture, links};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use varve_core::headers::Headers;
use varve_page::links::{LinkFormat, LinkLimits, LinkPlace, LinkRole, LinkStop, PageLink, extract};

const URL: &str = "http://www.example.com/sitemap";

/// The links of a file, as a letter for the role and the target.
fn read(name: &str) -> Option<Vec<String>> {
    let bytes = fixture(&format!("sitemaps/{name}"))?;
    let (links, extracted) = links(LinkFormat::Listing, URL, &Headers::new(), &bytes);
    assert_eq!(extracted.report.stopped, None, "{name}");
    assert_eq!(extracted.report.links, links.len() as u64);
    Some(links.iter().map(short).collect())
}

fn short(link: &PageLink<'_>) -> String {
    let letter = match link.role {
        LinkRole::Navigate => 'N',
        LinkRole::Embed => 'E',
        LinkRole::Alternate => 'A',
        LinkRole::Redirect => 'R',
        LinkRole::Canonical => 'C',
        LinkRole::Sitemap => 'S',
        LinkRole::Feed => 'F',
    };
    format!("{letter} {}", link.target)
}

fn expect(name: &str, expected: &[&str]) {
    if let Some(found) = read(name) {
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn plain_texts() {
    let pages = ["N http://www.domain.com/page1.html", "N http://www.domain.com/page2.html"];
    expect("sitemap.txt", &pages);
    expect("sitemap-with-bom.txt", &pages);
    expect("do-not-visit.txt", &["N http://www.example.com/do-not-visit-here"]);
}

#[test]
fn gzipped() {
    let pages = [
        "N http://www.example.com/",
        "N http://www.example.com/catalog?item=12&desc=vacation_hawaii",
        "N http://www.example.com/catalog?item=73&desc=vacation_new_zealand",
        "N http://www.example.com/catalog?item=74&desc=vacation_newfoundland",
        "N http://www.example.com/catalog?item=83&desc=vacation_usa",
    ];
    expect("sitemap.txt.gz", &pages);
    expect("xmlSitemap.gz", &pages);
}

#[test]
fn namespaces_right_and_wrong() {
    let pages = ["N http://www.example.com/1", "N http://www.example.com/2"];
    expect("sitemap.ns.xml", &pages);
    expect("sitemap.badns.xml", &pages);
}

#[test]
fn an_index_without_loc() {
    let codes =
        [10260, 2, 10080, 10140, 10340, 10400, 10430, 10440, 10450, 10460, 10470, 10480, 10490, 10550, 10570];
    let sitemaps = codes.map(|code| format!("S https://example.com/sitemap.jss?portalCode={code}&lang=en"));
    expect("sitemap.index.xml", &sitemaps.each_ref().map(String::as_str));
}

#[test]
fn extensions() {
    expect(
        "sitemap-images.xml",
        &[
            "N http://www.example.com/images/some_image_landing_page.html",
            "E http://example.com/image.jpg",
            "E http://example.com/photo.jpg",
        ],
    );
    expect(
        "sitemap-mobile.xml",
        &[
            "N http://www.example.com/mobile-friendly-1/",
            "N http://www.example.com/mobile-friendly-2/",
            "N http://www.example.com/no-mobile/",
        ],
    );
    expect(
        "sitemap-news.xml",
        &[
            "N http://www.example.org/business/article55.html",
            "N http://www.example.org/empty_news_name.html",
        ],
    );
    expect("pagemaps-sitemap.xml", &["N http://www.example.com/foo", "N http://www.example.com/bar"]);
    expect(
        "shinpaideshou-news-sitemap.xml",
        &[
            "N https://shinpaideshou.wordpress.com/2017/04/25/job-opening-reischauer-policy-research-fellow/",
            "N https://shinpaideshou.wordpress.com/2017/04/24/call-for-papers-nation-gender-and-history-asian-cinemas-in-perspective-2/",
            "N https://shinpaideshou.wordpress.com/2017/04/24/job-opening-lecturer-in-japanese-studies-university-of-leeds/",
        ],
    );
}

#[test]
fn videos() {
    expect(
        "sitemap-videos.xml",
        &[
            "N http://www.example.com/videos/some_video_landing_page.html",
            "E http://www.example.com/thumbs/123.jpg",
            "E http://www.example.com/video123.flv",
            "N http://www.example.com/videoplayer.swf?video=123",
            "N http://cooking.example.com/",
            "N http://www.example.com/videos/some_video_landing_page-2.html",
            "E http://www.example.com/thumbs/123-2.jpg",
            "E http://www.example.com/video123-2.flv",
            "N http://www.example.com/videos/some_video_landing_page-3.html",
            "E http://www.example.com/thumbs/123-3.jpg",
            "E http://www.example.com/video123-3.flv",
        ],
    );
    expect(
        "sitemap-videos-tvshow.xml",
        &[
            "N https://example.org/video/embed/23-13",
            "E https://example.org/video/video/23-13.mp4",
            "E https://example.org/video/video/23-13-1.mp4",
            "E https://example.org/video/video/23-13-2.mp4",
            "E https://example.org/my-tv-show.jpg",
            "N https://example.org/my-tv-show/23/13/",
        ],
    );
}

#[test]
fn other_languages() {
    let Some(found) = read("sitemap-links.xml") else { return };
    let pages = ["english/", "deutsch/", "schweiz-deutsch/"];
    let mut expected = Vec::new();
    for page in pages {
        expected.push(format!("N http://www.example.com/{page}"));
        expected.extend(
            ["deutsch/", "schweiz-deutsch/", "english/"]
                .map(|page| format!("A http://www.example.com/{page}")),
        );
    }
    assert_eq!(found, expected);
}

/// A real one: 74 pages and 6 players, with 94 images and 6 thumbnails.
#[test]
fn a_newspaper() {
    let Some(found) = read("hebdenbridgetimes-articles-sitemap.xml") else { return };
    let count = |letter: char| found.iter().filter(|link| link.starts_with(letter)).count();
    assert_eq!((count('N'), count('E')), (74 + 6, 94 + 6));
}

#[test]
fn feeds() {
    expect(
        "atom.xml",
        &[
            "F http://example.org/feed/",
            "N http://example.org/",
            "N http://example.org/2003/12/13/atom03",
            "N http://example.org/2003/12/13/atom03.html",
        ],
    );
    expect(
        "feed.rss",
        &[
            "N https://www.example.com/main.html",
            "N https://www.example.com/blog/post/1",
            "N https://www.example.com/guid.html",
            "N https://www.example.com/foo?q=a&l=en",
            "N https://www.example.com/foo?q=a&l=fr",
        ],
    );
    let mut articles = vec!["N http://www.example.com/rss.xml".to_owned()];
    articles.extend((1..=7).map(|number| format!("N http://www.example.com/article_{number}")));
    expect("xmlRss_pubDate.xml", &articles.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn entries_have_titles() {
    let Some(bytes) = fixture("sitemaps/feed.rss") else { return };
    let (links, _) = links(LinkFormat::Xml, URL, &Headers::new(), &bytes);
    let titles: Vec<_> = links.iter().map(|link| link.title.as_deref().unwrap()).collect();
    let expected = [
        "RSS Title",
        "Example entry",
        "&guid& element instead of &link&",
        "XML entity in link content",
        "CDATA",
    ];
    assert_eq!(titles, expected);
}

#[test]
fn positions_are_those_of_the_file() {
    for bytes in ["<urlset><url><loc>  http://a/</loc></url></urlset>", "\u{feff}http://a/\nhttp://b/"] {
        let (links, _) = links(LinkFormat::Listing, URL, &Headers::new(), bytes.as_bytes());
        for link in links {
            let at = usize::try_from(link.offset.unwrap()).unwrap();
            assert!(bytes[at..].trim_start().starts_with(&*link.reference), "{link:?}");
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn other_encodings() {
    let text = "<urlset><url><loc>http://a/\u{e9}</loc></url></urlset>";
    let utf_16: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let latin: Vec<u8> =
        format!("<?xml version=\"1.0\" encoding=\"latin1\"?>{text}").chars().map(|c| c as u8).collect();
    for bytes in [utf_16, latin] {
        let (links, _) = links(LinkFormat::Listing, URL, &Headers::new(), &bytes);
        assert_eq!(links.iter().map(short).collect::<Vec<_>>(), ["N http://a/%C3%A9"]);
        assert!(matches!(&links[0].place, LinkPlace::Text { element } if element == "loc"));
    }
}

#[test]
fn a_bomb_is_stopped() {
    let mut text = b"<urlset><url><loc>http://a/</loc></url>".to_vec();
    text.resize(40 << 20, b' ');
    let limits = LinkLimits { bytes: 10 << 20, ..LinkLimits::default() };
    let mut count = 0;
    let extracted =
        extract(LinkFormat::Listing, URL, &Headers::new(), &gzip(&text)[..], limits, &mut |_| count += 1)
            .unwrap();
    assert_eq!((count, extracted.report.stopped.is_some()), (1, true));
}

#[test]
fn truncated_input_gives_the_links_before_the_end() {
    let text = format!("<urlset>{}", "<url><loc>http://a/</loc></url>".repeat(5000));
    let mut cut = gzip(text.as_bytes());
    cut.truncate(cut.len() - 20);
    let (found, extracted) = links(LinkFormat::Listing, URL, &Headers::new(), &cut);
    assert!(found.len() > 1000, "{}", found.len());
    assert_eq!(extracted.report.stopped, Some(LinkStop::Malformed));
    let (found, _) =
        links(LinkFormat::Listing, URL, &Headers::new(), b"<urlset><url><loc>http://a/</loc><url");
    assert_eq!(found.len(), 1);
}

#[test]
fn a_page_in_place_of_a_sitemap_has_no_links() {
    let page = b"<!DOCTYPE html><html><head><link href=x rel=y></head><loc>http://a/</loc></html>";
    let (found, extracted) = links(LinkFormat::Listing, URL, &Headers::new(), page);
    assert_eq!((found.len(), extracted.report.stopped), (0, Some(LinkStop::Malformed)));
}

#[test]
fn nesting_and_endless_tokens_are_stopped() {
    let deep = "<a>".repeat(1_000_000);
    let endless = format!("<urlset><url><loc>http://a/</loc><{}", "x".repeat(8 << 20));
    for (text, count) in [(deep, 0), (endless, 1)] {
        let (found, extracted) = links(LinkFormat::Listing, URL, &Headers::new(), text.as_bytes());
        assert_eq!((found.len(), extracted.report.stopped), (count, Some(LinkStop::Malformed)));
    }
}

#[test]
fn a_billion_laughs_are_not_laughed() {
    let text = "<!DOCTYPE x [<!ENTITY a \"http://a/\"><!ENTITY b \"&a;&a;&a;\">]><urlset><url><loc>&b;</loc></url>\
        <url><loc>http://c/?x&y=1&amp;z</loc></url></urlset>";
    let (found, _) = links(LinkFormat::Listing, URL, &Headers::new(), text.as_bytes());
    assert_eq!(
        found.iter().map(short).collect::<Vec<_>>(),
        ["N http://www.example.com/&b;", "N http://c/?x&y=1&z"]
    );
}

#[test]
fn an_index_of_outlines_and_rdf() {
    let text = r#"<opml><body><outline xmlUrl="f.xml" htmlUrl="/h"/></body></opml>"#;
    let (found, _) = links(LinkFormat::Xml, URL, &Headers::new(), text.as_bytes());
    assert_eq!(
        found.iter().map(short).collect::<Vec<_>>(),
        ["F http://www.example.com/f.xml", "N http://www.example.com/h"]
    );
    let text = "<?xml-stylesheet href='s.xsl'?><rdf:RDF><item rdf:about='x'><link> /a </link>
        <enclosure url='e.mp3'/></item></rdf:RDF>";
    let (found, _) = links(LinkFormat::Xml, URL, &Headers::new(), text.as_bytes());
    let expected =
        ["E http://www.example.com/s.xsl", "N http://www.example.com/a", "E http://www.example.com/e.mp3"];
    assert_eq!(found.iter().map(short).collect::<Vec<_>>(), expected);
}
