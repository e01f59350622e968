//! Tests of the jar.

use super::*;
use crate::credentials::Credentials;
use proptest::prelude::*;
use varve_core::secret::Secret;

fn response(url: &str, lines: &[&str]) -> Exchange {
    let head: String = lines.iter().map(|line| format!("set-Cookie: {line}\r\n")).collect();
    let response = format!("HTTP/1.1 200 OK\r\n{head}\r\n").into_bytes();
    Exchange::of_response(url.to_owned(), varve_core::Moment::from_seconds(0), response.into())
}

fn jar(url: &str, lines: &[&str]) -> CookieJar {
    let jar = CookieJar::new();
    jar.take_response(&response(url, lines));
    jar
}

fn sent(jar: &CookieJar, url: &str) -> String {
    sent_cookies(&Credentials::default(), jar, url).map(Secret::into_exposed).unwrap_or_default()
}

#[test]
fn cookies_go_back_to_where_they_came_from() {
    let lines = [
        "a=1",
        "b=2; Domain=example.com; Path=/",
        "c=3; Path=/deep",
        "d=4; Secure",
        "e=5; Max-Age=0",
        "f=6; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        "g=7; HttpOnly; SameSite=Strict",
        "h=\"8 9\"; Domain=.example.com",
    ];
    let jar = jar("https://www.example.com/", &lines);
    for (url, wanted) in [
        ("https://www.example.com/", "a=1; d=4; g=7; b=2; h=\"8 9\""),
        ("https://www.example.com/deep/x", "c=3; a=1; d=4; g=7; b=2; h=\"8 9\""),
        ("http://www.example.com/", "a=1; g=7; b=2; h=\"8 9\""),
        ("https://example.com/", "b=2; h=\"8 9\""),
        ("https://other.example.com/", "b=2; h=\"8 9\""),
        ("https://example.org/", ""),
        ("https://badexample.com/", ""),
    ] {
        assert_eq!(pairs(&sent(&jar, url)), pairs(wanted), "{url}");
    }
    let first = sent(&jar, "https://www.example.com/deep/x");
    assert!(first.starts_with("c=3; "), "the longest path is first: {first}");
    jar.take_response(&response(
        "https://www.example.com/",
        &["a=; Max-Age=0", "b=9; Domain=example.com; Path=/"],
    ));
    assert_eq!(pairs(&sent(&jar, "http://www.example.com/")), pairs("g=7; b=9; h=\"8 9\""));
}

/// The pairs of a header in any order.
fn pairs(header: &str) -> Vec<&str> {
    let mut pairs: Vec<&str> = header.split("; ").collect();
    pairs.sort_unstable();
    pairs
}

#[test]
fn no_cookie_is_for_a_public_suffix_or_another_site() {
    for (url, line) in [
        ("https://a.co.uk/", "a=1; Domain=co.uk"),
        ("https://a.github.io/", "a=1; Domain=github.io"),
        ("https://a.com/", "a=1; Domain=com"),
        ("https://a.com/", "a=1; Domain=b.com"),
        ("https://a.com/", "a=1; Domain=x.a.com"),
        ("http://a.com/", "a=1; Secure"),
        ("https://a.com/", "__Secure-a=1"),
        ("https://a.com/", "__Host-a=1; Secure; Domain=a.com; Path=/"),
        ("http://127.0.0.1/", "a=1; Domain=0.0.1"),
    ] {
        let jar = jar(url, &[line]);
        assert_eq!(sent(&jar, url), "", "{line}");
        assert_eq!(jar.all().len(), 0, "{line}");
    }
    for (url, line) in [
        ("https://github.io/", "a=1; Domain=github.io"),
        ("http://localhost:8080/", "a=1; Domain=localhost"),
        ("http://127.0.0.1:81/", "a=1; Domain=127.0.0.1"),
        ("http://[::1]:81/", "a=1"),
        ("https://a.com/", "__Host-a=1; Secure; Path=/"),
    ] {
        let jar = jar(url, &[line]);
        assert!(sent(&jar, url).ends_with("a=1"), "{line}");
        assert!(!jar.all()[0].with_subdomains, "{line}");
    }
}

#[test]
fn a_hostile_server_sets_a_limited_number_of_short_cookies() {
    let jar = CookieJar::new();
    let long = "x".repeat(MAX_COOKIE_BYTES);
    jar.take_response(&response(
        "http://h.example/",
        &[&format!("long={long}"), &format!("a=1; Path=/{}", "p".repeat(20_000))],
    ));
    assert_eq!(jar.all().len(), 0);
    for number in 0..300 {
        let url = format!("http://h{number}.h.example/");
        jar.take_response(&response(&url, &[&format!("n{number}=1; Domain=h.example; Path=/"), "own=1"]));
    }
    assert_eq!(jar.all().len(), MAX_SITE_COOKIES);
    jar.take_response(&response("http://h0.h.example/", &["n0=changed; Domain=h.example; Path=/", "new=1"]));
    assert!(sent(&jar, "http://h0.h.example/").contains("n0=changed"), "what is there can change");
    assert!(!sent(&jar, "http://h0.h.example/").contains("new"));
    jar.take_response(&response("http://other.example/", &["a=1"]));
    assert_eq!(sent(&jar, "http://other.example/"), "a=1", "other sites are not affected");
    let wide: Vec<String> = (0..100).map(|number| format!("w{number}={}", "y".repeat(1000))).collect();
    jar.take_response(&response(
        "http://wide.example/",
        &wide.iter().map(String::as_str).collect::<Vec<_>>(),
    ));
    assert!(sent(&jar, "http://wide.example/").len() <= MAX_HEADER_BYTES);
}

const FILE: &str = "# Netscape HTTP Cookie File\r\n\r\nwww.example.com\tFALSE\t/\tFALSE\t0\tsid\tabc=1\r\n\
    .example.com\tTRUE\t/app\tTRUE\t4102444800\ttoken\txyz\r\n#HttpOnly_.example.com\tTRUE\t/\tfalse\t4102444800.5\thidden\t1\r\n\
    .example.com\tTRUE\t/\tFALSE\t1\texpired\t1\r\nexample.org\tFALSE\t/\tFALSE\t0\tempty\r\n[::1]\tFALSE\t/\tFALSE\t0\tsix\t6\r\n";

#[test]
fn a_cookie_file_is_read() {
    let jar = CookieJar::parse_netscape(FILE).unwrap();
    for (url, wanted) in [
        ("http://www.example.com/", "sid=abc=1; hidden=1"),
        ("https://a.example.com/app/x", "token=xyz; hidden=1"),
        ("http://a.example.com/app/x", "hidden=1"),
        ("http://example.org/", "empty="),
        ("http://www.example.org/", ""),
        ("http://[::1]:8080/", "six=6"),
    ] {
        assert_eq!(sent(&jar, url), wanted, "{url}");
    }
    let hidden = jar.all().into_iter().find(|cookie| cookie.name == "hidden").unwrap();
    assert!(hidden.http_only && hidden.with_subdomains);
    let shown = format!("{jar:?}");
    assert_eq!(shown, "CookieJar(5 cookies)");
    let copy = jar.snapshot();
    jar.take_response(&response("http://example.org/", &["late=1"]));
    assert_eq!(sent(&copy, "http://example.org/"), "empty=");
}

#[test]
fn an_invalid_line_is_reported_by_number_and_without_its_content() {
    for (line, problem) in [
        ("hunter2", "seven fields"),
        ("h\tFALSE\t/\tFALSE\t0\tn\thunter2\tx", "seven fields"),
        ("h FALSE / FALSE 0 n hunter2", "seven fields"),
        ("\tFALSE\t/\tFALSE\t0\tn\thunter2", "not a host"),
        ("http://h\tFALSE\t/\tFALSE\t0\tn\thunter2", "not a host"),
        ("h\tmaybe\t/\tFALSE\t0\tn\thunter2", "second field"),
        ("h\tFALSE\tx\tFALSE\t0\tn\thunter2", "third field"),
        ("h\tFALSE\t/\t1\t0\tn\thunter2", "fourth field"),
        ("h\tFALSE\t/\tFALSE\tnever\tn\thunter2", "fifth field"),
        ("h\tFALSE\t/\tFALSE\t0\t\thunter2", "name or value"),
        ("h\tFALSE\t/\tFALSE\t0\tn\thunter2;x", "name or value"),
        (".com\tTRUE\t/\tFALSE\t0\tn\thunter2", "cookies can be set for"),
        ("a..b%\tFALSE\t/\tFALSE\t0\tn\thunter2", "cookies can be set for"),
    ] {
        let error = CookieJar::parse_netscape(&format!("# comment\n\n{line}\n")).unwrap_err();
        assert_eq!(error.line, 3, "{line}");
        assert!(error.to_string().contains(problem), "{line}: {error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[test]
fn given_cookies_come_first_and_replace_those_of_the_jar() {
    let credentials = Credentials::parse("http://h.example Cookie: a=given; b=2").unwrap();
    let jar = jar("http://h.example/", &["a=1", "c=3"]);
    let cookies = |url: &str| sent_cookies(&credentials, &jar, url).map(Secret::into_exposed);
    assert_eq!(cookies("http://h.example/").as_deref(), Some("a=given; b=2; c=3"));
    assert_eq!(cookies("http://other.example/"), None);
}

proptest! {
    #[test]
    fn no_response_and_no_file_breaks_it(line in "[a-cDPdmoinath=;./ \t,\"é_-]{0,60}", text in "[a-z\tTRUEFALS/#\n.0-9]{0,80}") {
        let jar = jar("https://a.b.example/c/d", &[&line]);
        let header = sent(&jar, "https://a.b.example/c/d");
        prop_assert!(is_header_value(&header));
        let _ = CookieJar::parse_netscape(&text);
    }
}
