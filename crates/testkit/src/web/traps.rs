//! Places to get lost: correct answers, without end.

use super::answer::Answer;
use super::request::Request;
use super::site::Site;

impl Site {
    /// Adds places to get lost.
    #[must_use]
    pub fn with_traps(self) -> Self {
        self.computed("/trap/deeper/", |_| Answer::html("<a href=\"deeper/\">Deeper</a>"))
            .computed("/trap/growing/", |_| {
                Answer::html("<a href=\"a/b/\">A</a><a href=\"../x/\">X</a><a href=\"c/\">C</a>")
            })
            .computed("/trap/calendar/", calendar)
            .computed("/trap/session/", session)
            .computed("/trap/filters", filters)
            .computed("/trap/sitemap/", sitemap)
            .page("/trap/links", links())
            .page("/trap/robots.txt", huge_robots())
    }

    /// Puts a `robots.txt` of a megabyte where robots look for it. Its last line, beyond what is
    /// read, forbids everything; before it `/private/` is forbidden, and thousands of paths that
    /// nobody has.
    #[must_use]
    pub fn with_huge_robots(self) -> Self {
        self.page("/robots.txt", huge_robots())
    }
}

/// `/trap/calendar/YEAR/MONTH`
fn calendar(request: &Request) -> Answer {
    let (year, month) = (request.number(2), request.number(3));
    let (next_year, next_month) = if month >= 12 { (year + 1, 1) } else { (year, month + 1) };
    Answer::html(format!(
        "<h1>{year}-{month}</h1><a href=\"/trap/calendar/{next_year}/{next_month}\">Next month</a>\
         <a href=\"/trap/calendar/{}/{month}\">Last year</a>",
        year.saturating_sub(1)
    ))
}

/// `/trap/session/…`: each visit makes a new session, and so new links to the same two pages.
fn session(request: &Request) -> Answer {
    let seed =
        request.target.bytes().fold(17_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let id = format!("{:016X}{:016X}", seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), seed);
    Answer::html(format!(
        "<a href=\"/trap/session/a;jsessionid={id}\">A</a><a href=\"/trap/session/b?PHPSESSID={id}\">B</a>"
    ))
}

/// `/trap/filters?…`: each page adds one more filter.
fn filters(request: &Request) -> Answer {
    let names = ["colour", "size", "brand", "price", "sort", "page", "stock", "rating"];
    let query = request.query();
    let link = |name: &&str| {
        let joint = if query.is_empty() { "" } else { "&amp;" };
        let value = query.len() % 7;
        format!("<a href=\"/trap/filters?{}{joint}{name}={value}\">{name}</a>", query.replace('&', "&amp;"))
    };
    Answer::html(names.iter().map(link).collect::<String>())
}

/// `/trap/sitemap/N`
fn sitemap(request: &Request) -> Answer {
    let next = request.url(&format!("/trap/sitemap/{}", request.number(2) + 1));
    Answer::of(
        "application/xml",
        format!("<sitemapindex><sitemap><loc>{next}</loc></sitemap></sitemapindex>"),
    )
}

fn links() -> Answer {
    let references = [
        "\u{1}one\u{2}",
        "two\nlines",
        "tab\there",
        "http://[::1",
        "http://h:99999/",
        "//",
        "http:///",
        "\u{202e}backwards",
        "%00",
        "%zz",
        "&#0;zero",
        "http://exa mple/",
        "javascript:alert(1)",
        "data:text/html,x",
        "about.html\u{7f}",
        "/news/1.html",
    ];
    let link = |reference: &&str| format!("<a href='{reference}'>x</a>\n");
    Answer::html(references.iter().map(link).collect::<String>())
}

fn huge_robots() -> Answer {
    let mut text = "User-agent: *\nDisallow: /private/\n".to_owned();
    let mut number = 0;
    while text.len() < 1 << 20 {
        text.push_str(&format!("Disallow: /*nowhere{number}$\n"));
        number += 1;
    }
    text.push_str("Disallow: /\n");
    Answer::of("text/plain", text)
}
