//! Cookies: what servers set is sent back, `--cookies` is what a run begins with, and no silo has
//! either.

use std::process::Command;

use varve_testkit::web::{Answer, Request, Seen, Site, Web};

use super::{Scene, stderr, stdout};

const QUICK: [&str; 3] = ["--allow-private", "--delay", "0"];

fn cookies_of(request: &Request) -> Vec<&str> {
    request.header("cookie").map(|cookie| cookie.split("; ").collect()).unwrap_or_default()
}

/// A site that shows its pages only to visitors with both cookies: the one from the login, and the
/// one that the front page sets before it redirects to itself.
fn site() -> Site {
    Site::new()
        .computed("/", |request| match cookies_of(request).contains(&"seen=gate-secret") {
            true => Answer::html("<a href=/inside/page>in</a>"),
            false => Answer::redirect(302, "/welcome").header("Set-Cookie", "seen=gate-secret; Path=/"),
        })
        .computed("/welcome", |request| match cookies_of(request).contains(&"seen=gate-secret") {
            true => Answer::html("<a href=/inside/page>in</a>"),
            false => Answer::redirect(302, "/"),
        })
        .computed("/inside/page", |request| {
            let cookies = cookies_of(request);
            match cookies.contains(&"seen=gate-secret") && cookies.contains(&"login=file-secret") {
                true => Answer::html("<p>the inside</p>"),
                false => Answer::html("<p>no entry</p>").with_status(403),
            }
        })
}

/// The `Cookie` header of a request; empty if it has none.
fn sent(request: &Seen) -> &str {
    let found = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("cookie"));
    found.map_or("", |(_, value)| value)
}

fn unpacked(scene: &Scene) -> String {
    let output = Command::new("gzip").arg("-dc").args(scene.silos()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A cookie file for this machine, with a comment and an expired cookie.
fn cookie_file(scene: &Scene) -> String {
    let lines = "# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/inside\tFALSE\t0\tlogin\tfile-secret\n\
                 127.0.0.1\tFALSE\t/\tFALSE\t9\told\texpired-secret\n";
    scene.file("cookies.txt", lines.as_bytes());
    scene.path("cookies.txt").to_str().unwrap().to_owned()
}

#[test]
fn cookies_are_sent_back_and_never_recorded() {
    let (scene, web) = (Scene::new(&[]), Web::serve(site()));
    let file = cookie_file(&scene);
    let words = ["--depth", "1", "--cookies", &file];
    let output = scene.run(&[&["capture", &web.url("/")], &words[..], &QUICK[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(scene.data(&["cat", &web.url("/inside/page")]), b"<p>the inside</p>");
    for request in web.seen() {
        let sent = sent(&request);
        assert!(!sent.contains("expired-secret"), "{sent}");
        let is_inside = request.target.starts_with("/inside");
        assert_eq!(sent.contains("file-secret"), is_inside, "{}: {sent}", request.target);
    }
    let silo = unpacked(&scene);
    assert!(silo.contains("GET /inside/page HTTP/1.1"));
    assert!(!silo.contains("file-secret") && !silo.contains("Cookie: seen=gate-secret\r\nHost"), "{silo}");
    let requests = silo.split("WARC/1.1\r\n").filter(|record| record.starts_with("WARC-Type: request"));
    assert!(requests.into_iter().all(|record| !record.contains("secret")), "{silo}");
    assert!(!(stdout(&output) + &stderr(&output)).contains("secret"));
    // The next run has a jar of its own.
    let before = web.total();
    let output = scene.run(&[&["capture", &web.url("/inside/page")], &QUICK[..]].concat());
    assert!(stderr(&output).contains("answered 403"), "{}", stderr(&output));
    assert!(web.seen()[before..].iter().all(|request| sent(request).is_empty()));
}

/// A page in a browser has the cookies of the run, and leaves those that its scripts set.
#[test]
fn a_browser_shares_the_cookies_of_the_run() {
    let Some(_) = varve_testkit::chromium() else { return };
    let site = Site::new()
        .page("/", Answer::html("<script>document.cookie = 'script=set; path=/'</script><a href=/next>next</a>"))
        .computed("/next", |request| {
            let cookies = cookies_of(request);
            let has = |pair: &str| cookies.contains(&pair);
            Answer::html(match has("script=set") && has("given=here") {
                true => "<p id=p></p><script>p.textContent = 'scripts see ' + document.cookie.includes('given=here')</script>",
                false => "<p>no cookies</p>",
            })
        });
    let (scene, web) = (Scene::new(&[]), Web::serve(site));
    scene.file("cookies.txt", b"127.0.0.1\tFALSE\t/\tFALSE\t0\tgiven\there\n");
    let words = [
        "capture",
        &web.url("/"),
        "--browser",
        "--depth",
        "1",
        "--per-host",
        "1",
        "--cookies",
        "cookies.txt",
    ];
    let output = scene.run(&[&words[..], &QUICK[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(unpacked(&scene).contains("scripts see true"), "{:?}", web.seen());
}

#[test]
fn a_line_that_is_no_cookie_is_named_and_not_shown() {
    let (scene, web) = (Scene::new(&[]), Web::serve(site()));
    scene.file("cookies.txt", b"# cookies\n\n127.0.0.1\tFALSE\t/\tFALSE\t0\ta\tfile-secret\n127.0.0.1 FALSE / FALSE 0 b file-secret\n");
    let output = scene.run(&[&["capture", &web.url("/"), "--cookies", "cookies.txt"], &QUICK[..]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    for said in ["cookies.txt", "line 4", "seven fields between tabs", "hint: "] {
        assert!(stderr(&output).contains(said), "{said}: {}", stderr(&output));
    }
    assert!(!stderr(&output).contains("file-secret"), "{}", stderr(&output));
    assert_eq!(web.total(), 0);
    let output = scene.run(&[&["capture", &web.url("/"), "--cookies", "missing.txt"], &QUICK[..]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("missing.txt"), "{}", stderr(&output));
}

/// Many sites ask for a page again after they have set a cookie, at once or after a detour.
#[test]
fn a_page_that_redirects_to_itself_with_a_cookie_is_requested_again() {
    let gate = |to: &'static str| {
        move |request: &Request| match cookies_of(request).contains(&"seen=1") {
            true => Answer::html(format!("inside of {to}")),
            false => Answer::redirect(302, to).header("Set-Cookie", "seen=1"),
        }
    };
    let links = ["/self/page", "/detour/page", "/endless/page"].map(|path| format!("<a href={path}>x</a>"));
    let site = Site::new()
        .page("/", Answer::html(links.concat()))
        .computed("/self/page", gate("/self/page"))
        .computed("/detour/page", gate("/detour/check"))
        .page("/detour/check", Answer::redirect(302, "/detour/page"))
        .page("/endless/page", Answer::redirect(302, "/endless/page").header("Set-Cookie", "endless=1"));
    let (scene, web) = (Scene::new(&[]), Web::serve(site));
    let words = ["capture", &web.url("/"), "--depth", "1"];
    let output = scene.run(&[&words, &QUICK[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for (path, inside) in [("/self/page", "/self/page"), ("/detour/page", "/detour/check")] {
        assert_eq!(web.count(path), 2, "{path}");
        assert_eq!(scene.data(&["cat", &web.url(path)]), format!("inside of {inside}").as_bytes());
    }
    assert_eq!(web.count("/detour/check"), 1);
    // A site that never stops asking.
    assert_eq!(web.count("/endless/page"), 3);
    assert!(stderr(&output).contains("redirects:loop"), "{}", stderr(&output));
}
