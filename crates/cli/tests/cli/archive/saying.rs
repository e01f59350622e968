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
