//! What has no end, and is found by the rules that are made to find it.

use crate::{get, hrefs, split};
use varve_core::robots::Robots;
use varve_core::trap::{Trap, TrapDetector, TrapLimits};
use varve_core::url::resolve;
use varve_testkit::web::{Site, Web};

/// Follows the links of each page until this rule says why not to.
fn follow(web: &Web, start: &str, wanted: Trap) {
    let mut watch = TrapDetector::new(TrapLimits { combinations: 20, ..TrapLimits::for_year(2026) });
    let mut queue = std::collections::VecDeque::from([web.url(start)]);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..2000 {
        let url = queue.pop_front().unwrap();
        let target = url.strip_prefix(&web.url("")).unwrap();
        let page = get(web, target);
        for link in hrefs(&page) {
            let next = resolve(&url, &link.replace("&amp;", "&")).unwrap();
            if !seen.insert(next.clone()) {
                continue;
            }
            match watch.note(&next) {
                Some(trap) if trap == wanted => return,
                Some(_) => {}
                None => queue.push_back(next),
            }
        }
    }
    panic!("lost in {start}");
}

#[test]
fn each_trap_is_found() {
    let web = Web::start();
    follow(&web, "/trap/deeper/", Trap::RepeatingSegments);
    follow(&web, "/trap/growing/", Trap::GrowingPath);
    follow(&web, "/trap/calendar/2026/11", Trap::Calendar);
    follow(&web, "/trap/session/", Trap::SessionId);
    follow(&web, "/trap/filters", Trap::TooManyCombinations);
}

#[test]
fn sitemaps_nest_for_ever() {
    let web = Web::start();
    for level in 0..5 {
        assert!(
            get(&web, &format!("/trap/sitemap/{level}"))
                .contains(&web.url(&format!("/trap/sitemap/{}", level + 1)))
        );
    }
}

#[test]
fn robots_may_be_huge() {
    let web = Web::serve(Site::new().with_pages().with_huge_robots());
    let answer = get(&web, "/robots.txt");
    let (_, body) = split(&answer);
    assert!(body.len() > 1 << 20 && body.ends_with("Disallow: /\n"));
    let rules = Robots::parse(body.as_bytes()).rules_for("varve");
    assert!(rules.allows("/about.html") && !rules.allows("/private/x") && !rules.allows("/a/nowhere7"));
}

#[test]
fn links_are_odd() {
    let page = get(&Web::start(), "/trap/links");
    assert!(
        page.contains('\u{1}') && page.contains("about.html\u{7f}") && page.contains("href='/news/1.html'")
    );
}
