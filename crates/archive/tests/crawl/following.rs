//! Which links are followed, how far, and how often.

use std::time::Duration;

use varve_archive::verbs::capture::ScopeKind;
use varve_testkit::web::{Answer, Site, Web};

use crate::scene::Scene;

fn assert_each_once(scene: &Scene) {
    for (target, count) in scene.web.counts() {
        assert_eq!(count, 1, "{target} was asked for {count} times");
    }
}

#[test]
fn a_page_is_captured_with_its_embedded_resources_and_no_linked_page() {
    let scene = Scene::new(Site::new().with_pages());
    let told = scene.run(scene.settings(&["/"], ScopeKind::Page));
    let parts = [
        "/",
        "/background.png",
        "/favicon.ico",
        "/logo.png",
        "/print.css",
        "/robots.txt",
        "/script.js",
        "/style.css",
    ];
    assert_eq!(told.paths().into_iter().collect::<Vec<_>>(), parts);
    assert_eq!((told.ended().tally.pages, told.ended().captures), (1, 8));
    assert_eq!(scene.paths_of(told.version()), parts);
    assert_each_once(&scene);
    scene.assert_sound();
}

/// Few servers know its type, and browsers do not ask. Other JSON brings nothing that it names.
#[test]
fn icons_of_a_web_app_manifest_are_captured_although_it_is_served_as_json() {
    for (name, kind) in [
        ("/m.json", "application/manifest+json"),
        ("/m.json", "application/json"),
        ("/m.webmanifest", "application/octet-stream"),
        ("/m.webmanifest", "text/plain"),
    ] {
        let page = format!("<link rel=manifest href={name}>");
        let manifest = r#"{"name": "M51", "icons": [{"src": "/icon.png"}], "items": [{"src": "/film.mp4"}]}"#;
        let site = Site::new()
            .page("/", Answer::html(page))
            .page(name, Answer::of(kind, manifest))
            .page("/icon.png", Answer::of("image/png", "icon"));
        let scene = Scene::new(site);
        let told = scene.run(scene.settings(&["/"], ScopeKind::Page));
        assert!(told.captured.contains_key("/icon.png"), "{kind}: {:?}", told.captured);
        assert!(!told.captured.contains_key("/film.mp4"), "{kind}: {:?}", told.captured);
    }
}

/// Modules, workers and what they import are parts of their page, also in a long chain.
#[test]
fn a_page_brings_its_modules_and_workers() {
    let script = |text: String| Answer::of("text/javascript", text);
    let mut site = Site::new()
        .page(
            "/",
            Answer::html(
                "<link rel=modulepreload href=preloaded.js><script type=module src=app/main.js></script>
                 <script type=importmap>{\"imports\": {\"lake\": \"/vendor/lake.js\", \"mud/\": \"/mud/\"}}</script>
                 <script type=module>import 'mud/inline.js'; // import './no.js'</script>",
            ),
        )
        .page(
            "/app/main.js",
            script(
                "import {a} from './chain/1.js'; import b from 'lake'; export * from '../app/exported.js';
                 const late = () => import('./late.js'); new Worker(new URL('worker.js', import.meta.url));
                 const no = \"import './no.js'\";"
                    .to_owned(),
            ),
        )
        .page("/app/worker.js", script("importScripts('classic.js')".to_owned()));
    for path in [
        "/preloaded.js",
        "/vendor/lake.js",
        "/mud/inline.js",
        "/app/exported.js",
        "/app/late.js",
        "/app/classic.js",
    ] {
        site = site.page(path, script(String::new()));
    }
    for link in 1..=9 {
        let next = if link < 9 { format!("import './{}.js'", link + 1) } else { String::new() };
        site = site.page(&format!("/app/chain/{link}.js"), script(next));
    }
    let scene = Scene::new(site);
    let told = scene.run(scene.settings(&["/"], ScopeKind::Page));
    let missing: Vec<_> = told
        .captured
        .iter()
        .filter(|(path, (status, ..))| *status == 404 && *path != "/robots.txt" && *path != "/favicon.ico")
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    let scripts = told.paths().into_iter().filter(|path| path.ends_with(".js")).count();
    assert_eq!(scripts, 17, "{:?}", told.paths());
    assert_each_once(&scene);
    scene.assert_sound();
}

#[test]
fn a_seed_that_redirects_out_of_scope_is_reported() {
    let there = Web::serve(Site::new().page("/", Answer::html("<a href=/more>more</a>")));
    let url = there.url("/");
    let to = url.clone();
    let scene = Scene::new(Site::new().computed("/", move |_| Answer::redirect(301, &to)));
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    assert_eq!(
        told.notes,
        [format!("it leads to `{url}`, outside the scope: name that URL to follow its links")]
    );
    let told = scene.run(scene.settings(&["/"], ScopeKind::Page));
    assert!(told.notes.is_empty(), "links are not followed anyway");
}

#[test]
fn a_host_is_captured_except_for_excluded_pages() {
    let scene = Scene::new(Site::new().with_pages());
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    for path in ["/about.html", "/news/1.html", "/news/3.html", "/sitemap.xml"] {
        assert_eq!(told.captured.get(path).map(|(status, ..)| *status), Some(200), "{path}");
    }
    assert_eq!(told.skipped.get("/private/secret.html").map(String::as_str), Some("robots:line 2"));
    assert_eq!(scene.web.count("/private/secret.html"), 0);
    assert_each_once(&scene);
    scene.assert_sound();
}

/// With every media type that its server may send.
#[test]
fn a_compressed_sitemap_is_read() {
    for kind in ["application/gzip", "application/x-gzip", "application/octet-stream"] {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let map =
            "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>/a</loc></url></urlset>";
        std::io::Write::write_all(&mut packer, map.as_bytes()).unwrap();
        let site = Site::new().page("/map.xml.gz", Answer::of(kind, packer.finish().unwrap()));
        let scene =
            Scene::new(site.page("/a", Answer::html("<a href=/b>b</a>")).page("/b", Answer::html("b")));
        let settings =
            scene.settings(&["/map.xml.gz"], ScopeKind::Host).with(|settings| settings.scope.depth = Some(2));
        let told = scene.run(settings);
        assert!(
            told.captured.contains_key("/a") && told.captured.contains_key("/b"),
            "{kind}: {:?}",
            told.paths()
        );
    }
}

/// What a frame shows is a part of its page, and its links are links of the page; what strangers
/// show there leads nowhere.
#[test]
fn links_in_frames_are_followed_at_the_depth_of_their_page() {
    let stranger = Web::serve(Site::new().page("/ad", Answer::html("<a href=/shop>buy</a>")));
    let foreign = format!("<iframe src={}></iframe>", stranger.url("/ad"));
    let site = Site::new()
        .page("/", Answer::html("<frameset><frame src=nav.html></frameset>"))
        .page("/nav.html", Answer::html(format!("<a href=c1>1</a><iframe src=inner></iframe>{foreign}")))
        .page("/inner", Answer::html("<a href=c2>2</a>"))
        .page("/c1", Answer::html("<a href=c3>3</a>"))
        .page("/c2", Answer::html("two"))
        .page("/c3", Answer::html("three"));
    let scene = Scene::new(site);
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    for path in ["/nav.html", "/inner", "/c1", "/c2", "/c3"] {
        assert_eq!(told.captured.get(path).map(|(status, ..)| *status), Some(200), "{path}");
    }
    assert_eq!((stranger.count("/ad"), stranger.count("/shop")), (1, 0));
    assert!(told.skipped.is_empty(), "{:?}", told.skipped);
    assert_eq!(told.ended().tally.pages, 4, "a frame is no page");
    assert_each_once(&scene);
    let near = Scene::new(
        Site::new()
            .page("/", Answer::html("<iframe src=nav></iframe>"))
            .page("/nav", Answer::html("<a href=near>1</a>"))
            .page("/near", Answer::html("<a href=far>2</a>")),
    );
    let told =
        near.run(near.settings(&["/"], ScopeKind::Host).with(|settings| settings.scope.depth = Some(1)));
    assert!(told.captured.contains_key("/near") && !told.captured.contains_key("/far"), "{:?}", told.paths());
}

#[test]
fn ignoring_robots_captures_excluded_pages() {
    let scene = Scene::new(Site::new().with_pages());
    let settings =
        scene.settings(&["/"], ScopeKind::Host).with(|settings| settings.politeness.obey_robots = false);
    let told = scene.run(settings);
    assert!(told.captured.contains_key("/private/secret.html"));
    assert_eq!(scene.web.count("/robots.txt"), 0);
}

#[test]
fn a_generated_site_is_captured_to_its_last_page() {
    let scene = Scene::new(Site::new().with_pages());
    let told = scene.run(scene.settings(&["/site/300/0"], ScopeKind::Prefix));
    let pages = told.paths().iter().filter(|path| path.starts_with("/site/300/")).count();
    assert_eq!(pages, 300);
    assert_each_once(&scene);
    scene.assert_sound();
}

/// `c` is reached at first by the long way, which ends there; the short way leads on.
#[test]
fn the_shortest_path_to_a_page_determines_its_depth() {
    let link = |to: &str| Answer::html(format!("<a href='{to}'>on</a>"));
    let site = Site::new()
        .page("/", Answer::html("<a href=/a>a</a><a href=/slow>s</a>"))
        .page("/a", link("/b"))
        .page("/b", link("/c"))
        .page("/c", link("/d"))
        .page("/d", link("/e"))
        .page("/e", link("/f"))
        .at("/slow", |request, connection| {
            connection.wait(Duration::from_millis(400));
            Answer::html("<a href=/c>c</a>").send(request, connection)
        });
    let scene = Scene::new(site);
    let told =
        scene.run(scene.settings(&["/"], ScopeKind::Host).with(|settings| settings.scope.depth = Some(3)));
    assert!(told.captured.contains_key("/d"), "{:?}", told.paths());
    assert!(!told.captured.contains_key("/e"));
    assert_each_once(&scene);
}

#[test]
fn depth_is_counted_in_links() {
    let scene = Scene::new(Site::new().with_pages());
    let told = scene.run(
        scene.settings(&["/news/1.html"], ScopeKind::Host).with(|settings| settings.scope.depth = Some(1)),
    );
    let pages: Vec<&str> =
        told.paths().into_iter().filter(|path| path.ends_with(".html") || *path == "/").collect();
    // The sitemap is as near as a link.
    assert_eq!(pages, ["/", "/about.html", "/news/1.html", "/news/2.html", "/news/3.html"]);
    let scene = Scene::new(Site::new().with_pages());
    let told = scene.run(
        scene.settings(&["/news/1.html"], ScopeKind::Host).with(|settings| settings.scope.depth = Some(0)),
    );
    assert_eq!(told.ended().tally.pages, 1);
}

#[test]
fn patterns_and_limits() {
    let scene = Scene::new(Site::new().with_pages());
    let exclude = vec!["**/news/2*".to_owned(), "**.png".to_owned()];
    let told =
        scene.run(scene.settings(&["/"], ScopeKind::Host).with(|settings| settings.scope.exclude = exclude));
    assert_eq!(told.skipped.get("/news/2.html").map(String::as_str), Some("exclude:**/news/2*"));
    assert_eq!(told.skipped.get("/logo.png").map(String::as_str), Some("exclude:**.png"));
    assert!(told.captured.contains_key("/news/3.html"));

    let scene = Scene::new(Site::new().with_pages());
    let include = vec!["**/news/**".to_owned()];
    let told =
        scene.run(scene.settings(&["/"], ScopeKind::Host).with(|settings| settings.scope.include = include));
    assert_eq!(told.skipped.get("/about.html").map(String::as_str), Some("include"));
    assert!(told.captured.contains_key("/news/2.html") && told.captured.contains_key("/logo.png"));

    let scene = Scene::new(Site::new().with_pages());
    let told = scene.run(
        scene
            .settings(&["/site/200/0"], ScopeKind::Host)
            .with(|settings| settings.limits.max_pages = Some(7)),
    );
    assert_eq!(told.ended().tally.pages, 7);
    assert!(told.skipped.values().any(|rule| rule == "limit:pages"));

    let scene = Scene::new(Site::new().with_pages());
    let told = scene.run(
        scene
            .settings(&["/site/200/0"], ScopeKind::Host)
            .with(|settings| settings.limits.max_bytes = Some(5000)),
    );
    assert!(told.ended().tally.captured < 100 && told.ended().tally.bytes >= 5000);
    assert!(told.skipped.values().any(|rule| rule == "limit:bytes"));
}

/// The frame is fetched as a part of the page, and its links count because it is linked to as well.
#[test]
fn a_url_that_is_resource_and_page_is_requested_once() {
    let site = Site::new()
        .page(
            "/",
            Answer::html(
                "<iframe src=/frame></iframe><img src=/i.png><a href=/i.png>i</a><a href=/later>l</a>",
            ),
        )
        .page("/later", Answer::html("<a href=/frame>f</a>"))
        .page("/frame", Answer::html("<a href=/only-here>x</a>"))
        .page("/only-here", Answer::html("found"))
        .page("/i.png", Answer::of("image/png", "png"));
    let scene = Scene::new(site);
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    assert!(told.captured.contains_key("/only-here"), "{:?}", told.paths());
    assert_each_once(&scene);
}

#[test]
fn embedded_resources_of_other_hosts_are_captured_and_pages_of_other_hosts_are_not() {
    let elsewhere =
        Scene::new(Site::new().page("/e.png", Answer::of("image/png", "png")).page("/p", Answer::html("p")));
    let (picture, page) = (elsewhere.web.url("/e.png"), elsewhere.web.url("/p"));
    let site = Site::new().page("/", Answer::html(format!("<img src='{picture}'><a href='{page}'>p</a>")));
    let scene = Scene::new(site);
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    assert!(told.captured.contains_key(&picture));
    assert_eq!(told.skipped.get(&page).map(String::as_str), Some("scope"));
    assert_eq!((elsewhere.web.count("/e.png"), elsewhere.web.count("/p")), (1, 0));
}

#[test]
fn every_spelling_is_one_page() {
    let spellings =
        ["/a?x=1&y=2", "/a?y=2&x=1", "/b/../a?x=1&y=2#top", "/%61?x=1&y=2&utm_source=here", "./a?x=1&y=2"];
    let links: String = spellings.iter().map(|url| format!("<a href='{url}'>a</a>")).collect();
    let scene = Scene::new(Site::new().page("/", Answer::html(links)).page("/a", Answer::html("a")));
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    assert!(told.captured.contains_key("/a?x=1&y=2"), "{:?}", told.paths());
    assert_eq!(told.ended().tally.pages, 2);
    assert_each_once(&scene);
}

/// A server takes `?p=a;h=b`, `?wsdl` and `?wsdl=` for three different questions.
#[test]
fn queries_are_requested_as_found() {
    let queries = ["/git?p=a.git;a=summary", "/git?p=b.git;a=log", "/git", "/service?wsdl", "/s.css?2022.1"];
    let links: String = queries.iter().map(|url| format!("<a href='{url}'>a</a>")).collect();
    let site = Site::new().page("/", Answer::html(links)).page("/service", Answer::html("s"));
    let site = site
        .at("/git", |request, connection| Answer::html(request.query().to_owned()).send(request, connection));
    let scene = Scene::new(site);
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    for query in queries {
        assert_eq!(scene.web.count(query), 1, "{query}: {:?}", scene.web.counts());
        assert!(told.captured.contains_key(query), "{query}: {:?}", told.paths());
    }
    let captures = scene.captures(told.version());
    let summary = captures.iter().find(|capture| capture.url.ends_with("a=summary")).unwrap();
    assert_eq!(scene.body(summary), b"p=a.git;a=summary");
    let spelled = format!("{}&utm_source=x#top", scene.web.url("/git?p=b.git;a=log"));
    let history = scene.history();
    let filter = varve_archive::verbs::log::CaptureFilter::default();
    let page = varve_archive::verbs::log::ListCursor::first(9);
    let found = varve_archive::verbs::log::captures(&history, &spelled, &filter, page).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].url, scene.web.url("/git?p=b.git;a=log"));
}

#[test]
fn redirects_are_captures_of_their_own_and_end() {
    let scene = Scene::new(Site::new().with_moods());
    let seeds = ["/redirect/chain/5", "/redirect/loop", "/redirect/pair/a"];
    let told = scene.run(scene.settings(&seeds, ScopeKind::Page));
    for left in 1..=5 {
        assert_eq!(told.captured[&format!("/redirect/chain/{left}")].0, 307);
    }
    assert_eq!(told.captured["/redirect/chain/0"].0, 200);
    assert_eq!(told.captured["/redirect/pair/b"].0, 301);
    assert_eq!(told.ended().tally.pages, 1);
    assert_each_once(&scene);

    let scene = Scene::new(Site::new().with_moods());
    let told = scene.run(scene.settings(&["/redirect/chain/30"], ScopeKind::Page));
    assert_eq!(told.captured.keys().filter(|path| path.starts_with("/redirect")).count(), 11);
    assert_eq!(told.skipped.get("/redirect/chain/19").map(String::as_str), Some("redirects"));
}

#[test]
fn a_redirect_out_of_the_scope_is_not_followed_except_from_a_seed() {
    let elsewhere =
        Scene::new(Site::new().page("/p", Answer::html("<a href=/q>q</a>")).page("/q", Answer::html("q")));
    let away = Answer::redirect(302, &elsewhere.web.url("/p"));
    let site = Site::new().page("/", Answer::html("<a href=/away>away</a>")).page("/away", away);
    let scene = Scene::new(site);
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    assert_eq!(told.skipped.get(&elsewhere.web.url("/p")).map(String::as_str), Some("scope"));
    assert_eq!(elsewhere.web.total(), 0);
    let told = scene.run(scene.settings(&["/away"], ScopeKind::Host));
    assert!(told.captured.contains_key(&elsewhere.web.url("/p")));
    assert_eq!(elsewhere.web.count("/q"), 0);
}

#[test]
fn links_that_ask_not_to_be_followed_are_not() {
    let site = || {
        Site::new()
            .page(
                "/",
                Answer::html(
                    "<a rel=nofollow href=/shy>s</a><a rel=nofollow href=/header>h</a>\
                     <a href=/meta>m</a><a href=/header>h</a>",
                ),
            )
            .page(
                "/meta",
                Answer::html("<meta name=robots content=nofollow><a href=/m2>m</a><img src=/m.png>"),
            )
            .page("/header", Answer::html("<a href=/h2>h</a>").header("X-Robots-Tag", "nofollow"))
    };
    let scene = Scene::new(site());
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    for path in ["/shy", "/m2", "/h2"] {
        assert!(!told.captured.contains_key(path), "{path}");
        assert_eq!(told.skipped.get(path).map(String::as_str), Some("nofollow"), "{path}");
    }
    assert_eq!(told.ended().tally.skipped, 3, "/header is linked twice, and once without a wish");
    assert!(told.captured.contains_key("/m.png"));
    let scene = Scene::new(site());
    let told = scene
        .run(scene.settings(&["/"], ScopeKind::Host).with(|settings| settings.scope.obey_nofollow = false));
    for path in ["/shy", "/m2", "/h2"] {
        assert!(told.captured.contains_key(path), "{path}");
    }
}

#[test]
fn sitemaps_lead_to_pages_that_nothing_links_to() {
    let site = Site::new()
        .page("/", Answer::html("nothing"))
        .computed("/sitemap.xml", |request| {
            let (more, page) = (request.url("/more.xml"), request.url("/hidden"));
            Answer::of(
                "application/xml",
                format!("<sitemapindex><sitemap><loc>{more}</loc></sitemap></sitemapindex><!-- {page} -->"),
            )
        })
        .computed("/more.xml", |request| {
            let page = request.url("/hidden");
            Answer::of("application/xml", format!("<urlset><url><loc>{page}</loc></url></urlset>"))
        })
        .page("/hidden", Answer::html("found"));
    let scene = Scene::new(site);
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    assert_eq!(told.captured.get("/hidden").map(|(status, ..)| *status), Some(200));
    let told =
        scene.run(scene.settings(&["/"], ScopeKind::Host).with(|settings| settings.scope.depth = Some(0)));
    assert!(!told.captured.contains_key("/sitemap.xml"));
}

#[test]
fn traps_end() {
    let scene = Scene::new(Site::new().with_traps());
    let seeds = [
        "/trap/deeper/",
        "/trap/growing/",
        "/trap/calendar/2026/11",
        "/trap/session/start",
        "/trap/sitemap/0",
    ];
    let told = scene.run(
        scene.settings(&seeds, ScopeKind::Host).with(|settings| settings.politeness.obey_robots = false),
    );
    let rules: std::collections::BTreeSet<&str> = told.skipped.values().map(String::as_str).collect();
    for rule in ["trap:repeating-segments", "trap:growing-path", "trap:calendar", "trap:session-id"] {
        assert!(rules.contains(rule), "{rule} not among {rules:?}");
    }
    assert!(told.ended().captures < 3000, "{}", told.ended().captures);
    scene.assert_sound();
}

/// Months that link to the next and the previous one, under a name that does not suggest a
/// calendar.
#[test]
fn an_endless_calendar_is_a_trap_unless_traps_are_ignored() {
    let months = |request: &varve_testkit::web::Request| {
        let number = |text: &str| text.parse().unwrap_or(0);
        let (year, month) =
            request.path()[4..].split_once('-').map_or((0, 0), |(y, m)| (number(y), number(m)));
        let at = |months: i32| format!("/mo/{:04}-{:02}", months.div_euclid(12), months.rem_euclid(12) + 1);
        let here = year * 12 + month - 1;
        Answer::html(format!("<a href={}>n</a><a href={}>p</a>", at(here + 1), at(here - 1)))
    };
    let site = || Site::new().computed("/mo/", months);
    let scene = Scene::new(site());
    let told = scene.run(scene.settings(&["/mo/2026-01"], ScopeKind::Host));
    assert!(told.ended().captures < 500, "{}", told.ended().captures);
    assert_eq!(
        told.skipped.values().filter(|rule| *rule == "trap:calendar").count(),
        2,
        "{:?}",
        told.skipped
    );
    let scene = Scene::new(site());
    let settings = scene.settings(&["/mo/2026-01"], ScopeKind::Host).with(|settings| {
        settings.scope.avoid_traps = false;
        settings.limits.max_pages = Some(600);
    });
    let told = scene.run(settings);
    assert_eq!(told.ended().tally.pages, 600);
}

#[test]
fn sitemaps_that_nest_for_ever_end() {
    let site = Site::new()
        .with_traps()
        .page("/", Answer::html("home"))
        .page("/robots.txt", Answer::of("text/plain", "Sitemap: /trap/sitemap/0"));
    let scene = Scene::new(site);
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    let maps: Vec<&str> = told.paths().into_iter().filter(|path| path.starts_with("/trap/")).collect();
    assert_eq!(maps, ["/trap/sitemap/0", "/trap/sitemap/1", "/trap/sitemap/2", "/trap/sitemap/3"]);
    assert_eq!(
        told.skipped.get("/trap/sitemap/4").map(String::as_str),
        Some("sitemaps"),
        "{:?}",
        told.skipped
    );
}

#[test]
fn links_of_every_sort_of_rubbish_do_no_harm() {
    let scene = Scene::new(Site::new().with_pages().with_traps());
    let told = scene.run(scene.settings(&["/trap/links"], ScopeKind::Host));
    assert!(told.captured.contains_key("/news/1.html"));
    assert!(told.paths().iter().all(|path| !path.contains(char::is_control)));
    scene.assert_sound();
}

/// Such a redirect leads to no request. Without the list, users could not see why.
#[test]
fn redirects_that_lead_nowhere_are_listed_with_their_rule() {
    let links: String = ["/self", "/one", "/file", "/mail", "/bad"]
        .iter()
        .map(|path| format!("<a href={path}>x</a>"))
        .collect();
    let site = Site::new()
        .page("/", Answer::html(links))
        .page("/self", Answer::redirect(302, "/self"))
        .page("/one", Answer::redirect(302, "/two"))
        .page("/two", Answer::redirect(302, "/one"))
        .page("/file", Answer::redirect(302, "file:///etc/passwd"))
        .page("/mail", Answer::redirect(302, "mailto:a@example.com"))
        .page("/bad", Answer::redirect(302, "http://[::bad/"));
    let scene = Scene::new(site);
    let told = scene.run(scene.settings(&["/"], ScopeKind::Host));
    let rules: Vec<(&str, &str)> =
        told.skipped.iter().map(|(url, rule)| (url.as_str(), rule.as_str())).collect();
    let expected = [
        ("/one", "redirects:loop"),
        ("/self", "redirects:loop"),
        ("file:///etc/passwd", "redirects:scheme"),
        ("http://[::bad/", "redirects:broken"),
        ("mailto:a@example.com", "redirects:scheme"),
    ];
    assert_eq!(rules, expected);
    for path in ["/self", "/one", "/two"] {
        assert_eq!(scene.web.count(path), 1);
    }
}
