//! `varve capture --resume`: options of the run apply again, or must be given again.

use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use varve_testkit::web::{Answer, Certificate, Request, Site, Web};

use super::{Scene, stderr, stdout};

/// Pages linked from the front page.
const PAGES: usize = 30;
/// Pages that are answered before the gate opens.
const AT_ONCE: usize = 5;

/// Lets all pages be answered.
#[derive(Clone, Default)]
struct Gate(Arc<AtomicBool>);

impl Gate {
    fn open(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn wait(&self) {
        while !self.0.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A front page and the pages linked from it, most of them behind a gate. Requests without the credentials are rejected.
fn gated(gate: &Gate, welcome: fn(&Request) -> bool) -> Site {
    let links: String = (0..PAGES).map(|page| format!("<a href=/p/{page}>page</a>")).collect();
    let gate = gate.clone();
    let judged = move |request: &Request, page: String| match welcome(request) {
        true => Answer::html(page),
        false => Answer::status(401),
    };
    Site::new().computed("/", move |request| judged(request, links.clone())).computed("/p/", move |request| {
        if request.number(1) >= AT_ONCE {
            gate.wait();
        }
        judged(request, format!("<p>{}", request.path()))
    })
}

/// Starts a run, and interrupts it at the gate.
fn interrupted(scene: &Scene, web: &Web, words: &[&str]) -> Output {
    let mut command = scene.command();
    command.args(["capture", &web.url("/"), "--scope", "host", "--delay", "0"]).args(words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while web.total() < AT_ONCE + 12 {
        std::thread::sleep(Duration::from_millis(5));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("`varve capture --resume` continues"), "{}", stderr(&output));
    output
}

/// The number of successful pages in HEAD.
fn good_pages(scene: &Scene) -> usize {
    let shown = String::from_utf8(scene.data(&["show", "HEAD", "--json"])).unwrap();
    shown.lines().filter(|line| line.contains("/p/") && line.contains("\"status\":200")).count()
}

fn anybody(_: &Request) -> bool {
    true
}

fn somebody(request: &Request) -> bool {
    request.header("authorization") == Some("Bearer sesame")
}

#[test]
fn network_options_apply_again_on_resume() {
    let (scene, gate) = (Scene::new(&[]), Gate::default());
    let certificate = Certificate::for_names(&["127.0.0.1"]);
    scene.file("ca.pem", certificate.pem().as_bytes());
    let web = Web::serve_tls(gated(&gate, anybody), &certificate);
    interrupted(&scene, &web, &["--allow-private", "--ca", "ca.pem", "--proxy", "none"]);
    gate.open();
    // From another folder, and with another environment.
    let mut command = scene.command();
    command.current_dir("/").env("VARVE_ARCHIVE", scene.path("museum"));
    let output =
        command.env("https_proxy", "http://127.0.0.1:9").args(["capture", "--resume"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(good_pages(&scene), PAGES, "{}", stderr(&output));
    let unpacked = Command::new("gzip").arg("-dc").args(scene.silos()).output().unwrap();
    assert!(
        !String::from_utf8_lossy(&unpacked.stdout).contains("ca.pem"),
        "where it lies is nobody's business"
    );
}

#[test]
fn a_run_is_not_resumed_without_its_credentials() {
    let (scene, gate) = (Scene::new(&[]), Gate::default());
    let web = Web::serve(gated(&gate, somebody));
    let header = ["--header", "Authorization: Bearer sesame"];
    interrupted(&scene, &web, &[&header[..], &["--allow-private"]].concat());
    gate.open();
    let refused = scene.run(&["capture", "--resume"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    let missing = format!("`Authorization` for `http://{}`", web.address());
    for word in [missing.as_str(), "`--header`", "`--without-credentials`"] {
        assert!(stderr(&refused).contains(word), "{}", stderr(&refused));
    }
    let output = scene.run(&[&["capture", "--resume"], &header[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(good_pages(&scene), PAGES, "{}", stderr(&output));
    for file in std::fs::read_dir(scene.path("museum")).unwrap().map(|file| file.unwrap().path()) {
        if file.is_file() {
            let bytes = std::fs::read(&file).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains("sesame"), "{}", file.display());
        }
    }
}

#[test]
fn without_credentials_continues_the_run() {
    let (scene, gate) = (Scene::new(&[]), Gate::default());
    let web = Web::serve(gated(&gate, anybody));
    scene.file("secrets", format!("http://{} Cookie: a=b", web.address()).as_bytes());
    interrupted(&scene, &web, &["--allow-private", "--credentials", "secrets"]);
    gate.open();
    let output = scene.run(&["capture", "--resume", "--without-credentials"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(good_pages(&scene), PAGES, "{}{}", stdout(&output), stderr(&output));
}

/// Pages behind the gate are captured by the resumed run.
fn with_refusals(gate: &Gate) -> Site {
    let gate_of_page = gate.clone();
    let front = (0..PAGES).map(|page| format!("<a href=/p/{page}>page</a>")).collect::<String>()
        + "<a href=/p/99>behind</a><a href=http://other.test/>out</a><a href=/no/1>no</a>\
           <a rel=nofollow href=/late>late</a><a rel=nofollow href=/never>never</a>";
    let behind = "<a href=/late>late</a><a rel=nofollow href=/never>never</a><a rel=nofollow href=/new>new</a>\
                  <a href=http://third.test/>out</a>";
    gated(gate, anybody)
        .page("/", Answer::html(front))
        .page("/late", Answer::html("late"))
        .page("/robots.txt", Answer::of("text/plain", "User-agent: *\nDisallow: /no/\n"))
        .computed("/p/99", move |_| {
            gate_of_page.wait();
            Answer::html(behind)
        })
}

#[test]
fn a_resumed_run_appends_to_the_skipped_list() {
    let sorted = |scene: &Scene, web: &Web| {
        let text = std::fs::read_to_string(scene.path("skipped.txt")).unwrap();
        let mut lines: Vec<String> = text.lines().map(|line| line.replace(&web.url(""), "")).collect();
        lines.sort();
        lines
    };
    let (undisturbed, open) = (Scene::new(&[]), Gate::default());
    open.open();
    let web = Web::serve(with_refusals(&open));
    let words = ["--scope", "host", "--delay", "0", "--allow-private", "--skipped", "skipped.txt"];
    let output = undisturbed.run(&[&["capture", &web.url("/")], &words[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let expected = sorted(&undisturbed, &web);
    assert_eq!(expected.len(), 5, "{expected:?}");

    let (scene, gate) = (Scene::new(&[]), Gate::default());
    let web = Web::serve(with_refusals(&gate));
    scene.file("skipped.txt", b"something else\tof another run\n");
    interrupted(&scene, &web, &["--allow-private", "--skipped", "skipped.txt"]);
    gate.open();
    let output = scene.run(&["capture", "--resume", "--skipped", "skipped.txt"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(sorted(&scene, &web), expected);
}
