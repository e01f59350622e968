//! `varve check --links`, and where redirects lead: which links are found, which are failures, what
//! is printed of them, and what is stored.

use std::path::PathBuf;
use std::process::Output;

use varve_testkit::web::{Answer, Site, Web};

use crate::{stderr, stdout, varve};

const QUICK: [&str; 5] = ["--allow-private", "--delay", "0", "--retries", "0"];

/// A web with a page of links, good and bad, and a folder.
struct LinkScene {
    folder: tempfile::TempDir,
    web: Web,
}

impl LinkScene {
    fn new() -> Self {
        let front = "<a href=/good#here>1</a><a href=/good#nowhere>2</a><a href=/missing>3</a>\
                     <a href=/to-missing>4</a><a href=/loop>5</a><a href=/to-good>6</a><a href=/teapot>7</a>\
                     <a href=mailto:me@e.org>8</a><img src=/docs/a.png><a href=/docs/index>9</a><a href=/docsets>10</a>";
        let site = Site::new()
            .page("/", Answer::html(front))
            .page("/good", Answer::html("<p id=here>here</p>"))
            .page("/docs/index", Answer::html("<a href=more>more</a>"))
            .page("/docsets", Answer::html("<a href=/only-of-docsets>x</a>"))
            .page("/docs/a.png", Answer::of("image/png", "png"))
            .page("/to-good", Answer::redirect(301, "/good"))
            .page("/to-missing", Answer::redirect(302, "/missing"))
            .page("/loop", Answer::redirect(302, "/loop"))
            .page("/teapot", Answer::status(418));
        Self { folder: tempfile::tempdir().unwrap(), web: Web::serve(site) }
    }

    /// The same with an archive of the site, in the folder itself.
    fn captured() -> Self {
        let scene = Self::new();
        scene.data(&["init", "."]);
        let seed = scene.web.url("/");
        let words = ["capture", &seed, "--scope", "host", "-m", "site"];
        let output = scene.run(&[&words[..], &QUICK].concat(), "");
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text.replace("http://h", &self.web.url(""))).unwrap();
    }

    fn run(&self, words: &[&str], input: &str) -> Output {
        let mut command = varve();
        command.args(words).current_dir(self.folder.path());
        assert_cmd::Command::from_std(command).write_stdin(input).output().unwrap()
    }

    fn data(&self, words: &[&str]) -> String {
        let output = self.run(words, "");
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// The report of a check of links, with `http://h` for the site.
    fn links(&self, words: &[&str], input: &str, code: i32) -> String {
        let output = self.run(&[&["check", "--links"], words, &QUICK].concat(), input);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}{}", stdout(&output), stderr(&output));
        stdout(&output).replace(&self.web.url(""), "http://h")
    }
}

#[test]
fn links_of_files_are_checked_inside_and_outside_with_their_fragments() {
    let scene = LinkScene::new();
    scene.file(
        "README.md",
        "# Title One\n[a](sub/x.md#part-two) [b](sub/x.md#nope) [c](gone.md) [d](http://h/good#here)\n\
         [e](http://h/missing) [f](#title-one) [g](#zzz) ![h](h.png) [i][r] `[j](nocode.md)`\n\n[r]: http://h/to-missing\n",
    );
    scene.file("sub/x.md", "## Part *two*\n[up](../README.md#zzz) <http://h/missing>\n");
    scene.file("p.html", "<a href=/root>1</a><a href=sub/x.md>2</a><a href=http://h/to-good>3</a>");
    insta::assert_snapshot!(scene.links(&["README.md", "sub", "p.html"], "", 1), @"
    broken       http://h/missing: expected HTTP 2xx; got HTTP 404
                 linked from README.md, sub/x.md
    broken       http://h/to-missing: redirects to http://h/missing, which answers HTTP 404
                 redirects: 302 to /missing, then 404
                 linked from README.md
    broken       README.md: no element is named `#zzz`
                 linked from README.md, sub/x.md
    broken       gone.md: there is no such file
                 linked from README.md
    broken       h.png: there is no such file
                 linked from README.md
    broken       sub/x.md: no element is named `#nope`
                 linked from README.md
    8 URLs: 2 ok, 0 changed, 6 broken, 0 unreachable, 0 skipped
    ");
    let quiet = scene.links(&["p.html"], "", 0);
    assert_eq!(quiet, "2 URLs: 2 ok, 0 changed, 0 broken, 0 unreachable, 0 skipped\n");
    let based = scene.links(&["p.html", "--base-url", &scene.web.url("/")], "", 1);
    assert!(based.contains("broken       http://h/root: expected HTTP 2xx; got HTTP 404\n"), "{based}");
    let piped = scene.links(&["-"], "[x](http://h/missing) [y](local.md)", 1);
    assert!(piped.contains("linked from standard input\n"), "{piped}");
    assert!(!scene.path("varve.toml").exists() && !scene.path("warc").exists());
}

#[test]
fn links_of_an_archive_are_checked_with_evidence_and_move_no_head() {
    let scene = LinkScene::captured();
    let head = scene.data(&["log", "--json", "--limit", "1"]);
    let told = scene.links(&[], "", 1);
    let failures: Vec<&str> = told.lines().filter(|line| line.starts_with("broken ")).collect();
    assert_eq!(
        failures,
        [
            "broken       http://h/docs/more: expected HTTP 2xx; got HTTP 404",
            "broken       http://h/good: no element is named `#nowhere`",
            "broken       http://h/loop: the redirects go in a circle to `http://h/loop`",
            "broken       http://h/missing: expected HTTP 2xx; got HTTP 404",
            "broken       http://h/only-of-docsets: expected HTTP 2xx; got HTTP 404",
            "broken       http://h/teapot: expected HTTP 2xx; got HTTP 418",
            "broken       http://h/to-missing: redirects to http://h/missing, which answers HTTP 404",
        ],
        "{told}"
    );
    assert!(told.contains("             redirects: 302 to /missing, then 404\n"), "{told}");
    assert!(told.contains("             linked from http://h/docs/index\n"), "{told}");
    // No line of these differs from the good response, so there is no diff to offer.
    assert!(!told.contains("+0 -0"), "{told}");
    assert!(!told.contains("mailto") && !told.lines().any(|line| line.starts_with("ok ")), "{told}");
    assert_eq!(scene.data(&["log", "--json", "--limit", "1"]), head, "a check moves no HEAD");
    let below = scene.links(&[&scene.web.url("/docs")], "", 1);
    assert!(below.starts_with("broken       http://h/docs/more: "), "{below}");
    assert!(below.ends_with("1 URL: 0 ok, 0 changed, 1 broken, 0 unreachable, 0 skipped\n"), "{below}");
    let excluded = ["/missing", "/to-missing", "/loop", "/docs/more", "/only-of-docsets"];
    let excluded = excluded.map(|path| scene.web.url(path));
    let mut words: Vec<&str> = excluded.iter().flat_map(|url| ["--exclude", url]).collect();
    words.extend(["--accept", "418", "--cached", "1d"]);
    let rest = scene.links(&words, "", 1);
    assert!(rest.contains(" 1 broken"), "{rest}");
    let checks = scene.data(&["log", "--checks"]);
    assert_eq!(checks.matches(" URLs: ").count() + checks.matches(" 1 URL: ").count(), 3, "{checks}");
    let of_url = scene.data(&["log", "--checks", &scene.web.url("/missing")]);
    assert!(
        of_url.contains("  404  broken") && of_url.contains("expected HTTP 2xx; got HTTP 404"),
        "{of_url}"
    );
    scene.data(&["audit"]);
    std::fs::remove_file(scene.path("catalog.db")).unwrap();
    scene.data(&["rebuild"]);
    assert_eq!(scene.data(&["log", "--checks"]), checks);
}

#[test]
fn a_redirect_that_ends_badly_is_a_warning_of_the_database_and_broken_with_follow() {
    let scene = LinkScene::new();
    scene.data(&["init", "."]);
    let urls = ["/to-good", "/to-missing", "/loop"].map(|path| scene.web.url(path));
    let words = ["urls", "add", "--offline", "--domain-file", &urls[0], &urls[1], &urls[2]];
    scene.data(&words);
    let check = |more: &[&str], code| {
        let output = scene.run(&[&["check"], more, &QUICK].concat(), "");
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        stdout(&output).replace(&scene.web.url(""), "http://h")
    };
    insta::assert_snapshot!(check(&["--no-capture"], 0), @"
    ok           http://h/loop (warning: the redirects go in a circle to `http://h/loop`)
                 redirects: 302 to /loop
    ok           http://h/to-missing (warning: redirects to http://h/missing, which answers HTTP 404)
                 redirects: 302 to /missing, then 404
    3 URLs: 3 ok, 0 changed, 0 broken, 0 unreachable, 0 skipped, 2 warnings
    ");
    insta::assert_snapshot!(check(&["--no-capture", "--follow"], 1), @"
    broken       http://h/loop: the redirects go in a circle to `http://h/loop`
                 redirects: 302 to /loop
    broken       http://h/to-missing: redirects to http://h/missing, which answers HTTP 404
                 redirects: 302 to /missing, then 404
    3 URLs: 1 ok, 0 changed, 2 broken, 0 unreachable, 0 skipped
    ");
    let json = check(&["--no-capture", "--follow", "--json"], 1);
    assert!(json.contains(r#""final_url":"http://h/missing","final_status":404"#), "{json}");
}
