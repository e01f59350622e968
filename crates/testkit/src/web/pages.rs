//! A small site for people, where everything is as it should be.

use super::answer::Answer;
use super::generated;
use super::request::Request;
use super::site::Site;

/// A picture of one dot.
const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', 13, 10, 26, 10, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8,
    0, 0, 0, 0, 0x3a, 0x7e, 0x9b, 0x55, 0, 0, 0, 10, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x63, 0x60, 0, 0, 0,
    2, 0, 1, 0x48, 0xaf, 0xa4, 0x71, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

const STYLE: &str =
    "@import url(print.css) print;\nbody { background: url('background.png'); color: #223 }\n";
const PRINT: &str = "body { background: none }\n";
const SCRIPT: &str = "document.title += ' *';\n";
const ROBOTS: &str = "User-agent: *\nDisallow: /private/\nCrawl-delay: 0\nSitemap: /sitemap.xml\n";
const NEWS: [&str; 3] = ["The lake is frozen", "The lake is open", "A core was drilled"];

impl Site {
    /// Adds the site for people, and the generated one.
    #[must_use]
    pub fn with_pages(self) -> Self {
        let site = self
            .page("/", front())
            .page("/about.html", page("About", "<p>Thin layers, one a year. <a href=\"/\">Home</a></p>"))
            .page("/private/secret.html", page("Secret", "<p>Nobody should ask for this.</p>"))
            .page("/style.css", Answer::of("text/css", STYLE))
            .page("/print.css", Answer::of("text/css", PRINT))
            .page("/script.js", Answer::of("text/javascript", SCRIPT))
            .page("/robots.txt", Answer::of("text/plain", ROBOTS))
            .computed("/sitemap.xml", sitemap)
            .computed("/feed.xml", feed)
            .computed("/site/", generated::answer);
        let pictures = ["/logo.png", "/background.png", "/favicon.ico"];
        let site = pictures.iter().fold(site, |site, path| site.page(path, Answer::of("image/png", PNG)));
        (1..=NEWS.len()).fold(site, |site, number| site.page(&format!("/news/{number}.html"), news(number)))
    }
}

fn page(title: &str, body: &str) -> Answer {
    Answer::html(format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <link rel=\"stylesheet\" href=\"/style.css\"></head>\n<body><h1>{title}</h1>\n{body}\n</body></html>\n"
    ))
}

fn front() -> Answer {
    let items = NEWS.iter().zip(1..);
    let items = items.map(|(title, number)| format!("<li><a href=\"news/{number}.html\">{title}</a></li>"));
    let list: String = items.collect();
    page(
        "Varves",
        &format!(
            "<img src=\"logo.png\" alt=\"A lake\"><script src=\"script.js\"></script><ul>{list}</ul>\n\
             <a href=\"about.html\">About</a> <a href=\"/private/secret.html\">Secret</a> \
             <a href=\"about.html#more\">More</a>"
        ),
    )
}

fn news(number: usize) -> Answer {
    let next = number % NEWS.len() + 1;
    let body = format!("<p>More to come.</p><a href=\"{next}.html\">Next</a> <a href=\"../\">Home</a>");
    page(NEWS[number - 1], &body)
}

fn sitemap(request: &Request) -> Answer {
    let paths = ["/", "/about.html", "/news/1.html", "/news/2.html", "/news/3.html"];
    let urls: String =
        paths.iter().map(|path| format!("<url><loc>{}</loc></url>", request.url(path))).collect();
    Answer::of(
        "application/xml",
        format!("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{urls}</urlset>"),
    )
}

fn feed(request: &Request) -> Answer {
    let item = |(title, number): (&&str, i32)| {
        let link = request.url(&format!("/news/{number}.html"));
        format!("<item><title>{title}</title><link>{link}</link></item>")
    };
    let items: String = NEWS.iter().zip(1..).map(item).collect();
    let home = request.url("/");
    let channel = format!("<channel><title>Varves</title><link>{home}</link>{items}</channel>");
    Answer::of("application/rss+xml", format!("<rss version=\"2.0\">{channel}</rss>"))
}
