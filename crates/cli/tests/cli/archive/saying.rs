//! Messages of `varve capture`: truncated responses, unsent credentials, failed pages.

use varve_testkit::web::{Answer, Site, Web};

use super::{Scene, stderr};

const QUICK: [&str; 6] = ["--delay", "0", "--allow-private", "--retries", "0", "--ignore-robots"];

#[test]
fn truncated_responses_are_listed() {
    let (scene, web) =
        (Scene::new(&[]), Web::serve(Site::new().page("/long", Answer::html("x".repeat(5000)))));
    let url = web.url("/long");
    let output = scene.run(&[&["capture", &url, "--max-size", "1000"], &QUICK[..]].concat());
    let line = format!("truncated: {url}: it is larger than `--max-size` or `--limit-bytes`\n");
    assert!(stderr(&output).contains(&line), "{}", stderr(&output));
}

#[test]
fn credentials_that_were_not_sent_are_named() {
    let (scene, web) = (Scene::new(&[]), Web::serve(Site::new().page("/", Answer::html("x"))));
    let run = |line: &str| {
        scene.file("secrets", line.as_bytes());
        stderr(&scene.run(&[&["capture", &web.url("/"), "--credentials", "secrets"], &QUICK[..]].concat()))
    };
    let said = run("127.0.0.1 Cookie: hunter2\nother.test Cookie: hunter2");
    assert!(said.contains("hint: the credentials for `127.0.0.1` were not sent"), "{said}");
    assert!(!said.contains("other.test") && !said.contains("hunter2"), "{said}");
    let said = run("http://127.0.0.1 Cookie: hunter2");
    assert!(!said.contains("not sent"), "{said}");
}

#[test]
fn a_missing_browser_is_reported_before_the_run() {
    let scene = Scene::new(&[]);
    for (file, word) in [("/nope/chromium", "no such file"), ("/bin/true", "is no Chromium")] {
        let output = scene.run(&["capture", "http://example.com/", "--browser", "--chromium", file]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).to_lowercase().contains(&word.to_lowercase()), "{}", stderr(&output));
        assert!(stderr(&output).contains(file), "{}", stderr(&output));
        let resumed = scene.run(&["capture", "--resume"]);
        assert!(stderr(&resumed).contains("no unfinished run"), "{}", stderr(&resumed));
    }
}

#[test]
fn conflicting_options_are_not_suggested() {
    let output = Scene::new(&[]).run(&["capture", "--resume", "http://example.com/"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output), "error: the argument `--resume` cannot be used with `[URL]...`\n");
}

#[test]
fn suggestions_account_for_every_link() {
    let links: String = (1..=6).map(|number| format!("<a href=/comic/{number}/>c</a>")).collect();
    let page =
        format!("{links}<a href=/x/about/us>us</a><a href=http://other.test/>o</a><a href=/comic/1/>c</a>");
    let (scene, web) = (Scene::new(&[]), Web::serve(Site::new().page("/", Answer::html(page))));
    let said = stderr(&scene.run(&["plan", "suggest", &web.url("/"), "--allow-private"]));
    assert!(said.contains(": 8 links\n") && said.contains("2 other links: too few"), "{said}");
}

/// What is wrong with an option, and how to write it.
#[test]
fn options_that_cannot_be_read_say_how_to_write_them() {
    let scene = Scene::new(&[]);
    for (words, said) in [
        (&["http://e.test/", "--depth", "two"][..], "write a whole number, such as 2"),
        (&["ftp://e.test/file"], "hint: a URL begins with `http://` or `https://`"),
        (&["http://e.test/", "--header", "Cookie=sesame"], "header 1 is not `NAME: VALUE`"),
        (
            &["http://e.test/", "--header", "Cookie=sesame"],
            "hint: write a header with a colon: `--header 'Cookie: a=b'`",
        ),
    ] {
        let output = scene.run(&[&["capture"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(stderr(&output).contains(said), "{words:?}: {}", stderr(&output));
        assert!(!stderr(&output).contains("sesame"), "{}", stderr(&output));
    }
}

#[test]
fn a_pattern_that_looks_like_another_language_is_literal_and_says_so() {
    let page = Answer::html("<a href=/a>a</a><a href=/[a-z]>b</a>");
    let (scene, web) =
        (Scene::new(&[]), Web::serve(Site::new().page("/", page).page("/a", Answer::html("a"))));
    let words = ["--depth", "1", "--exclude", "**[a-z]"];
    let output = scene.run(&[&["capture", &web.url("/")], &words[..], &QUICK[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said =
        "note: the pattern `**[a-z]` is taken literally: only `**`, `*` and `#` stand for other text\n";
    assert!(stderr(&output).contains(said), "{}", stderr(&output));
    assert_eq!((web.count("/a"), web.count("/[a-z]")), (1, 0));
}

#[test]
fn a_plan_that_a_capture_refuses_is_a_finding() {
    let scene = Scene::new(&[]);
    let capture = scene.run(&["capture"]);
    assert_eq!(capture.status.code(), Some(2), "{}", stderr(&capture));
    let output = scene.run(&["plan", "check"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(super::stdout(&output).contains("there is no root"), "{}", super::stdout(&output));
}

/// A time means the end of what is written of it, and a URL needs no scheme.
#[test]
fn pages_are_found_by_parts_of_a_time_and_without_a_scheme() {
    let scene = Scene::new(&[]);
    scene.file("page.html", b"<p>then</p>");
    let words = ["commit", "page.html", "--url", "https://e.test/s", "-m", "m"];
    scene.data(&words);
    let log = String::from_utf8(scene.data(&["log", "https://e.test/s", "--json"])).unwrap();
    let capture: serde_json::Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    let time = capture["time"].as_str().unwrap();
    let digits: String = time.chars().filter(char::is_ascii_digit).collect();
    for written in
        [&time[..4], &time[..7], &time[..10], &time[..16], &digits[..6], &digits[..8], &digits[..12]]
    {
        for url in ["https://e.test/s", "e.test/s"] {
            assert_eq!(scene.data(&["cat", url, "--at", written]), b"<p>then</p>", "{url} {written}");
        }
        let until = scene.data(&["log", "e.test/s", "--until", written, "--json"]);
        assert!(!until.is_empty(), "{written}");
    }
    let before = scene.run(&["cat", "e.test/s", "--at", "2019"]);
    assert_eq!(before.status.code(), Some(2), "{}", stderr(&before));
}
