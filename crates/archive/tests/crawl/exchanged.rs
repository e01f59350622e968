//! What pages in a real Chromium ask for more than once, or otherwise than by `GET`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use varve_archive::verbs::capture::{NetworkOptions, ScopeKind};
use varve_testkit::web::{Answer, Site};

use crate::rendered::settings;
use crate::scene::Scene;
use varve_testkit::chromium;

/// What scripts send is recorded as it was, and is not the capture of its URL: that is what a plain
/// question brings.
#[test]
fn posts_of_scripts_are_recorded_and_are_not_captures() {
    let Some(browser) = chromium() else { return };
    let script = "(async () => { \
        await fetch('/both?a=1', {method: 'POST', body: 'x=1', headers: {'Authorization': 'Basic ' + btoa('secret')}}); \
        await fetch('/both?a=1', {method: 'PUT', body: new Blob(['blob'])}); \
        await fetch('/gone', {method: 'DELETE'}); \
        await fetch('/both?a=1', {method: 'HEAD'}); \
        await fetch('/moved', {method: 'POST', body: 'y=2'}); \
        document.body.innerHTML = '<a href=/both?a=1>both</a>' })()";
    let site = Site::new()
        .page("/", Answer::html(format!("<body><script>{script}</script>")))
        .computed("/both", |request| {
            let said = String::from_utf8_lossy(&request.body).into_owned();
            Answer::html(format!("{} {said}", request.method))
        })
        .page("/moved", Answer::redirect(303, "/result"))
        .page("/result", Answer::html("<p>done</p>"))
        .computed("/gone", |_| Answer::status(204));
    let scene = Scene::new(site);
    let reach = NetworkOptions { allow_private: true, browser: Some(browser), ..NetworkOptions::default() };
    let told = scene.run_until(Some(settings(&scene)), reach, usize::MAX).unwrap();
    let said = |method: &str, path: &str, status| (method.to_owned(), path.to_owned(), status);
    let mut exchanged = told.exchanged.clone();
    exchanged.sort();
    let expected = [
        said("DELETE", "/gone", 204),
        said("HEAD", "/both?a=1", 200),
        said("POST", "/both?a=1", 200),
        said("POST", "/moved", 303),
        said("PUT", "/both?a=1", 200),
    ];
    assert_eq!(exchanged, expected, "{:?}", told.notes);
    assert_eq!(told.ended().tally.exchanged, 5);
    assert_eq!(scene.paths_of(told.version()), ["/", "/both?a=1", "/favicon.ico", "/result", "/sitemap.xml"]);
    let silo = scene.silo_text();
    for text in ["POST /both?a=1 HTTP/1.1\r\n", "\r\n\r\nx=1\r\n", "\r\n\r\nblob\r\n", "POST x=1", "PUT blob"]
    {
        assert!(silo.contains(text), "{text:?}");
    }
    assert!(!silo.contains("c2VjcmV0"), "credentials stay out");
    let body = |scene: &Scene| {
        let captures = scene.captures(told.version());
        scene.body(captures.iter().find(|capture| capture.url.ends_with("/both?a=1")).unwrap())
    };
    assert_eq!(body(&scene), b"GET ");
    scene.assert_sound();
    scene.rebuild();
    scene.assert_sound();
    assert_eq!(scene.paths_of(told.version()), ["/", "/both?a=1", "/favicon.ico", "/result", "/sitemap.xml"]);
    assert_eq!(body(&scene), b"GET ");
}

/// The document that the browser shows after sending a form is that of the response to the POST.
#[test]
fn a_submitted_form_is_recorded_with_its_response() {
    let Some(browser) = chromium() else { return };
    let form = "<form method=post action=/sent><input name=q value=1></form><script>document.forms[0].submit()</script>";
    let site = Site::new()
        .page("/", Answer::html(form))
        .page("/sent", Answer::html("<body><script>document.body.append('shown')</script>"));
    let scene = Scene::new(site);
    let settings = settings(&scene).with(|settings| settings.scope.kind = ScopeKind::Page);
    let reach = NetworkOptions { allow_private: true, browser: Some(browser), ..NetworkOptions::default() };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    assert_eq!(told.exchanged, [("POST".to_owned(), "/sent".to_owned(), 200)], "{:?}", told.notes);
    assert_eq!(told.paths().into_iter().collect::<Vec<_>>(), ["/", "/favicon.ico"]);
    let silo = scene.silo_text();
    let answer =
        silo.split("WARC-Type: response").find(|record| record.contains("Varve-Non-Capture: POST")).unwrap();
    assert!(answer.split("\r\n\r\n").next().unwrap().contains("Varve-Renderings: document="), "{answer}");
    assert!(silo.contains("shown</body>"));
    scene.assert_sound();
}

/// A URL that this run has is not requested again for another page. A response with `no-store` is,
/// and each response is recorded.
#[test]
fn no_url_is_requested_twice() {
    let Some(browser) = chromium() else { return };
    let links: String = (1..6).map(|number| format!("<a href=/page/{number}>{number}</a>")).collect();
    let page = |links: &str| {
        Answer::html(format!(
            "<link rel=stylesheet href=/s.css><link rel=icon href=/icon.png>{links}<img src=/old.png><body>\
             <script src=/s.js></script><script>(async () => {{ \
             const twice = await Promise.all([fetch('/data'), fetch('/data')]); \
             const [one, two] = await Promise.all(twice.map(r => r.text())); \
             const again = await (await fetch('/data')).text(); await fetch('/now'); await fetch(location); \
             document.body.append('data: ' + one + two + again) }})()</script>"
        ))
    };
    let mut site = Site::new()
        .page("/", page(&links))
        .page("/s.css", Answer::of("text/css", "body { background: url(/b.png) }"))
        .page("/s.js", Answer::of("text/javascript", "document.body.append('script ')"))
        .page("/old.png", Answer::redirect(301, "/new.png"))
        .page("/new.png", Answer::of("image/png", "1"))
        .page("/b.png", Answer::of("image/png", "2"))
        .page("/icon.png", Answer::of("image/png", "3"))
        .page("/data", Answer::of("text/plain", "d"))
        .computed("/now", |request| {
            Answer::of("text/plain", format!("tick {}", request.times)).header("Cache-Control", "no-store")
        });
    for number in 1..6 {
        site = site.page(&format!("/page/{number}"), page(""));
    }
    let scene = Scene::new(site);
    let settings = settings(&scene).with(|settings| settings.scope.depth = Some(1));
    let reach = NetworkOptions { allow_private: true, browser: Some(browser), ..NetworkOptions::default() };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    let asked = |path: &str| scene.web.count(path);
    for path in ["/s.css", "/s.js", "/old.png", "/new.png", "/b.png", "/icon.png", "/data", "/favicon.ico"] {
        assert!(asked(path) <= 1, "{path} was asked for {} times", asked(path));
        assert!(asked(path) == 0 || told.captured.contains_key(path), "{path}: {:?}", told.failed);
    }
    for path in ["/", "/page/1", "/page/2", "/page/3", "/page/4", "/page/5"] {
        assert_eq!(asked(path), 1, "{path}");
    }
    assert_eq!(told.ended().tally.pages, 6, "{:?}", told.failed);
    let silo = scene.silo_text();
    assert_eq!(silo.matches("data: ddd").count(), 6, "every page got all of it");
    assert_eq!(silo.matches("script <script>").count(), 6);
    assert_eq!(asked("/now"), 6);
    assert_eq!(told.exchanged, vec![("GET".to_owned(), "/now".to_owned(), 200); 5]);
    for tick in 1..7 {
        assert_eq!(silo.matches(&format!("tick {tick}")).count(), 1, "{tick}");
    }
    assert_eq!(told.notes, Vec::<String>::new());
    scene.assert_sound();
    scene.rebuild();
    scene.assert_sound();
}

/// A run that is resumed remembers what it was answered before: it is in the silo.
#[test]
fn a_resumed_run_reuses_cached_responses() {
    let Some(browser) = chromium() else { return };
    let page = "<body><script src=/s.js></script><a href=/second>2</a>";
    let script = Answer::of("text/javascript", "document.body.append('by a script')").header("ETag", "\"1\"");
    let site = Site::new()
        .page("/", Answer::html(page))
        .page("/second", Answer::html(format!("{page}<p>second")))
        .page("/s.js", script);
    let scene = Scene::new(site);
    let reach = NetworkOptions { allow_private: true, browser: Some(browser), ..NetworkOptions::default() };
    let settings = settings(&scene).with(|settings| {
        settings.politeness.obey_robots = false;
        settings.politeness.concurrency = 1;
    });
    let first = scene.run_until(Some(settings), reach.clone(), 2).unwrap();
    assert!(first.captured.contains_key("/s.js") && first.ended().stopped, "{:?}", first.paths());
    let second = scene.run_until(None, reach, usize::MAX).unwrap();
    assert!(second.captured.contains_key("/second"), "{:?} {:?}", second.paths(), second.failed);
    assert_eq!(scene.web.count("/s.js"), 1);
    assert_eq!(scene.silo_text().matches("by a script<").count(), 2);
    scene.assert_sound();
}

/// A response from before a POST to the same URL may be outdated after it.
#[test]
fn a_page_after_a_post_is_requested_again() {
    let Some(browser) = chromium() else { return };
    let script = "(async () => { const get = async () => (await fetch('/cart')).text(); \
                  const one = await get(); await fetch('/cart', {method: 'POST', body: 'a'}); const two = await get(); \
                  document.body.append(one + two + await get()) })()";
    let count = Arc::new(AtomicUsize::new(0));
    let site = Site::new().page("/", Answer::html(format!("<body><script>{script}</script>"))).computed(
        "/cart",
        move |request| {
            let sent = Ordering::SeqCst;
            let so_far = if request.method == "POST" { count.fetch_add(1, sent) } else { count.load(sent) };
            Answer::of("text/plain", format!("[{so_far}]"))
        },
    );
    let scene = Scene::new(site);
    let settings = settings(&scene).with(|settings| settings.scope.kind = ScopeKind::Page);
    let reach = NetworkOptions { allow_private: true, browser: Some(browser), ..NetworkOptions::default() };
    let told = scene.run_until(Some(settings), reach, usize::MAX).unwrap();
    assert!(scene.silo_text().contains("[0][1][1]</body>"), "{:?}", told.notes);
    let mut methods: Vec<&str> = told.exchanged.iter().map(|(method, ..)| method.as_str()).collect();
    methods.sort_unstable();
    assert_eq!(methods, ["GET", "POST"]);
    scene.assert_sound();
}
