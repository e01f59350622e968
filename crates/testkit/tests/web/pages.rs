//! What is as it should be.

use crate::{ask, get, get_with, hrefs, split};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use varve_testkit::web::{Answer, Site, Web};

#[test]
fn the_site_for_people_is_whole() {
    let web = Web::start();
    let paths = [
        "/",
        "/about.html",
        "/news/1.html",
        "/news/3.html",
        "/style.css",
        "/print.css",
        "/script.js",
        "/logo.png",
        "/background.png",
        "/favicon.ico",
        "/robots.txt",
        "/sitemap.xml",
        "/feed.xml",
        "/private/secret.html",
    ];
    for path in paths {
        let (answer, end) = get_with(&web, path, "");
        assert!(end.is_ok() && answer.starts_with(b"HTTP/1.1 200 OK\r\n"), "{path}");
        assert_eq!(web.count(path), 1);
    }
    assert!(get(&web, "/nowhere").starts_with("HTTP/1.1 404 "));
    assert!(get(&web, "/sitemap.xml").contains(&web.url("/news/2.html")));
    assert!(get(&web, "/feed.xml").contains(&web.url("/news/2.html")));
}

#[test]
fn requests_are_counted_and_remembered() {
    let web = Web::start();
    for _ in 0..3 {
        get(&web, "/about.html?x=1");
    }
    get_with(&web, "/about.html", "X-Note: here\r\n").1.unwrap();
    assert_eq!((web.count("/about.html?x=1"), web.count("/about.html"), web.total()), (3, 1, 4));
    assert_eq!(web.connections(), 4);
    assert_eq!(web.counts()[0], ("/about.html".to_owned(), 1));
    let last = web.seen().pop().unwrap();
    assert!(last.method == "GET" && last.headers.contains(&("X-Note".to_owned(), "here".to_owned())));
    web.forget();
    assert_eq!((web.total(), web.count("/about.html")), (0, 0));
}

#[test]
fn one_connection_takes_many_requests() {
    let web = Web::start();
    let mut stream = ask(&web, "/about.html", "");
    stream
        .write_all(b"HEAD /about.html HTTP/1.1\r\n\r\nPOST /cached HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")
        .unwrap();
    stream.write_all(b"GET /changing HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 4);
    assert_eq!(answers.matches("<h1>About</h1>").count(), 1);
    assert_eq!((web.connections(), web.total()), (1, 4));
}

#[test]
fn a_generated_site_is_the_same_every_time_and_all_of_it_can_be_reached() {
    let web = Web::start();
    let mut seen = BTreeSet::from(["/site/100/0".to_owned()]);
    let mut queue: Vec<String> = seen.iter().cloned().collect();
    while let Some(path) = queue.pop() {
        let page = get(&web, &path);
        assert!(page.starts_with("HTTP/1.1 200 OK"), "{path}");
        for link in hrefs(&page).into_iter().filter(|link| link.starts_with('/')) {
            if seen.insert(link.to_owned()) {
                queue.push(link.to_owned());
            }
        }
    }
    assert_eq!(seen.len(), 100);
    assert_eq!(get(&web, "/site/100/42"), get(&Web::start(), "/site/100/42"));
    assert!(get(&web, "/site/100/100").starts_with("HTTP/1.1 404 "));
    assert!(get(&web, "/site/100/042").starts_with("HTTP/1.1 404 "));
}

#[test]
fn servers_change_their_mind_as_they_were_told() {
    let web = Web::start();
    let statuses = |target: &str, times: usize| -> Vec<String> {
        (0..times).map(|_| get(&web, target).split(' ').nth(1).unwrap_or("").to_owned()).collect()
    };
    assert_eq!(statuses("/flaky/2/x", 3), ["", "", "200"]);
    assert_eq!(statuses("/flaky/1/y", 2), ["", "200"]);
    assert_eq!(statuses("/busy/429/1/7", 2), ["429", "200"]);
    assert!(get(&web, "/busy/503/1/9").contains("Retry-After: 9\r\n"));
    assert_ne!(get(&web, "/changing"), get(&web, "/changing"));
}

#[test]
fn caching() {
    let web = Web::start();
    let status = |headers: &str| {
        let answer = String::from_utf8(get_with(&web, "/cached", headers).0).unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status(""), "200");
    assert_eq!(status("If-None-Match: \"varve-1\"\r\n"), "304");
    assert_eq!(
        status("If-None-Match: \"other\"\r\nIf-Modified-Since: Sun, 01 Nov 2026 08:00:00 GMT\r\n"),
        "200"
    );
    assert_eq!(status("If-Modified-Since: Sun, 01 Nov 2026 08:00:00 GMT\r\n"), "304");
}

#[test]
fn redirects() {
    let web = Web::start();
    let location = |target: &str| {
        let answer = get(&web, target);
        let (head, _) = split(&answer);
        head.lines().find_map(|line| line.strip_prefix("Location: ")).map(str::to_owned)
    };
    assert_eq!(location("/redirect/loop").as_deref(), Some("/redirect/loop"));
    assert_eq!(location("/redirect/pair/a").as_deref(), Some("b"));
    assert_eq!(location("/redirect/chain/3").as_deref(), Some("2"));
    assert_eq!(location("/redirect/chain/0"), None);
    assert_eq!(location("/redirect/away?to=http://10.0.0.1/").as_deref(), Some("http://10.0.0.1/"));
}

#[test]
fn a_site_of_ones_own() {
    let site = Site::new()
        .page("/", Answer::html("one"))
        .page("/", Answer::html("two"))
        .computed("/below/", |request| Answer::html(format!("{} {}", request.path(), request.query())));
    let web = Web::serve(site);
    assert_eq!(split(&get(&web, "/")).1, "two");
    assert_eq!(split(&get(&web, "/below/a/b?c")).1, "/below/a/b c");
    assert!(get(&web, "/robots.txt").starts_with("HTTP/1.1 404 "));
}
