//! What is saved, for how long it answers, and what stays in the archive.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use varve_archive::Moment;
use varve_archive::pages::{DomainQuery, DomainSettings, FetchMethod, PageError};
use varve_testkit::web::{Answer, Site, Web};

use super::scene::{Scene, TTL, article};

#[test]
fn a_request_within_the_ttl_fetches_nothing_and_a_later_one_captures_again() {
    let changing = |request: &varve_testkit::web::Request| article("", &format!("Title {}", request.times));
    let scene = Scene::new(Site::new().computed("/a", changing));
    assert_eq!(scene.title("/a"), ("Title 1".to_owned(), 1));
    assert_eq!(scene.title("/a"), ("Title 1".to_owned(), 1));
    scene.advance(TTL);
    assert_eq!(scene.title("/a"), ("Title 1".to_owned(), 1), "the last second counts");
    scene.advance(Duration::from_secs(1));
    assert_eq!(scene.title("/a"), ("Title 2".to_owned(), 2));
    let url = scene.web.url("/a");
    assert_eq!(scene.logged(&url), [url.clone(), url.clone()], "both captures stay");
    let service = scene.service();
    let changes = service.history(&url).unwrap();
    assert_eq!(changes.len(), 2);
    let title = changes[1].changes.iter().find(|change| change.field == "title").unwrap();
    assert_eq!((title.before.clone(), title.after.clone()), (Some("Title 1".into()), Some("Title 2".into())));
    let first = service.at(&url, changes[0].time).unwrap();
    assert_eq!(first.title.as_deref(), Some("Title 1"));
    let before = service.at(&url, Moment::from_seconds(1)).unwrap_err();
    assert!(matches!(before, PageError::NoCapture { .. }), "{before}");
}

#[test]
fn extractions_deletions_and_settings_are_rebuilt() {
    let head = |url: &str| format!("<link rel=canonical href='{url}'>");
    let site = Site::new()
        .computed("/a", move |_| article(&head("/canonical"), "A"))
        .page("/b", article("", "B"))
        .page("/gone", Answer::of("text/plain", "no such page").with_status(404));
    let scene = Scene::new(site);
    scene.fetch("/a?x=1&utm_source=mail").unwrap();
    scene.fetch("/b").unwrap();
    let gone = scene.fetch("/gone").unwrap_err();
    let page = gone.page().unwrap();
    assert_eq!((page.status_code, page.error.as_deref()), (Some(404), Some("no such page")));
    let service = scene.service();
    service.delete(&scene.web.url("/b")).unwrap();
    let settings = DomainSettings { user_agent: Some(":firefox:".to_owned()), ..DomainSettings::default() };
    for domain in ["example.com", "www.example.com", "other.example.com"] {
        service.set_domain_settings(domain, &settings).unwrap();
    }
    service.delete_domain_settings("other.example.com").unwrap();
    let rows = scene.rows();
    let with = |name: &str| rows.iter().filter(|row| row.starts_with(&format!("{{\"{name}\""))).count();
    assert_eq!((with("extraction"), with("domain_settings")), (1, 2), "{rows:#?}");
    scene.rebuild();
    assert_eq!(scene.rows(), rows);
    // The canonical URL answers too, and nothing is requested.
    let total = scene.web.total();
    assert_eq!(scene.title("/canonical").0, "A");
    assert_eq!(scene.title("/a?x=1").0, "A");
    assert_eq!(scene.web.total(), total);
    let found = scene.service().list_domain_settings(&DomainQuery::default()).unwrap();
    assert_eq!(found.len(), 2);
}

#[test]
fn a_purge_of_a_page_takes_its_extraction_with_it() {
    let scene = Scene::new(Site::new().page("/a", article("", "Secret title")).page("/b", article("", "B")));
    scene.fetch("/a").unwrap();
    scene.fetch("/b").unwrap();
    scene.purge(&scene.web.url("/a"));
    let rows = scene.rows();
    assert!(!rows.iter().any(|row| row.contains("Secret title")), "{rows:#?}");
    assert_eq!(rows.iter().filter(|row| row.starts_with("{\"extraction\"")).count(), 1);
}

#[test]
fn a_batch_is_ordered_and_makes_one_version() {
    let site = Site::new().page("/a", article("", "A")).page("/b", article("", "B"));
    let scene = Scene::new(site);
    let urls = ["/b", "/a", "/missing", "/b?utm_source=x", "mailto:a@example.com"].map(|path| match path {
        path if path.starts_with('/') => scene.web.url(path),
        text => text.to_owned(),
    });
    let answers = scene.service().batch(&urls).unwrap();
    let titles: Vec<Option<String>> =
        answers.iter().map(|page| page.as_ref().ok().and_then(|page| page.title.clone())).collect();
    assert_eq!(titles, [Some("B".to_owned()), Some("A".to_owned()), None, Some("B".to_owned()), None]);
    let originals: Vec<String> = answers
        .into_iter()
        .zip(&urls)
        .map(|(page, url)| page.unwrap_or_else(|error| error.into_page(url)).original_url.unwrap())
        .collect();
    assert_eq!(originals, urls);
    assert_eq!(scene.web.count("/b"), 1);
    let versions = scene.rows().iter().filter(|row| row.starts_with("{\"version\"")).count();
    assert_eq!(versions, 1);
}

#[test]
fn the_items_of_a_feed_are_read_and_the_feed_is_kept() {
    let feed = "<?xml version='1.0'?><rss version='2.0'><channel><title>t</title>
        <item><title>b</title><link>/b</link></item><item><title>a</title><link>/a</link></item></channel></rss>";
    let site = Site::new()
        .page("/feed", Answer::of("application/rss+xml", feed))
        .page("/a", article("", "A"))
        .page("/b", article("", "B"));
    let scene = Scene::new(site);
    let pages = scene.service().feed(&scene.web.url("/feed")).unwrap();
    let titles: Vec<String> = pages.into_iter().map(|(_, page)| page.unwrap().title.unwrap()).collect();
    assert_eq!(titles, ["B", "A"]);
    assert_eq!(scene.logged(&scene.web.url("/feed")).len(), 1);
    let other = scene.service().feed(&scene.web.url("/a")).unwrap_err();
    assert!(matches!(other, PageError::Feed { .. }), "{other}");
}

#[test]
fn redirects_are_followed_and_captured() {
    let site = Site::new()
        .page("/old", Answer::redirect(301, "/new"))
        .page("/new", article("", "New"))
        .page("/loop", Answer::redirect(302, "/loop"));
    let scene = Scene::new(site);
    let page = scene.fetch("/old").unwrap();
    assert_eq!(page.url, scene.web.url("/new"));
    assert_eq!(page.requested_url, Some(scene.web.url("/old")));
    assert_eq!(scene.logged(&scene.web.url("/old")).len(), 1);
    assert_eq!(scene.title("/old").1, 1, "the redirect answers from what is saved");
    let endless = scene.fetch("/loop").unwrap_err();
    assert!(matches!(endless, PageError::Redirects { is_endless: true, .. }), "{endless}");
}

#[test]
fn a_service_that_may_not_write_answers_with_what_is_saved() {
    let scene = Scene::new(Site::new().page("/a", article("", "A")).page("/b", article("", "B")));
    scene.fetch("/a").unwrap();
    scene.advance(TTL * 2);
    let service = scene.service_that(false);
    let page = service.fetch(&scene.web.url("/a"), FetchMethod::Direct).unwrap();
    assert_eq!(page.title.as_deref(), Some("A"));
    let refused = service.fetch(&scene.web.url("/b"), FetchMethod::Direct).unwrap_err();
    assert!(matches!(refused, PageError::ReadOnly), "{refused}");
    assert_eq!(scene.web.count("/b"), 0);
}

#[test]
fn settings_of_a_domain_are_applied_to_its_requests() {
    let agent = |request: &varve_testkit::web::Request| {
        let header = |name: &str| {
            let found = request.headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name));
            found.map_or("none", |(_, value)| value.as_str()).to_owned()
        };
        article("", &format!("{} {}", header("User-Agent"), header("X-Special")))
    };
    let scene = Scene::new(Site::new().computed("/a", agent));
    scene.configure(
        "[domain.\"127.0.0.1\"]\nuser_agent = \"reader/1\"\nttl = 10\nheaders = { X-Special = \"yes\" }\n",
    );
    assert_eq!(scene.title("/a"), ("reader/1 yes".to_owned(), 1));
    scene.advance(Duration::from_secs(11));
    assert_eq!(scene.title("/a").1, 2, "the time of the domain is over");
}

#[test]
fn a_shorter_time_to_live_holds_for_what_was_saved_before() {
    let changing = |request: &varve_testkit::web::Request| article("", &format!("Title {}", request.times));
    let scene = Scene::new(Site::new().computed("/a", changing).page("/b", article("", "B")));
    scene.configure("[domain.\"127.0.0.1\"]\nttl = 3600\n");
    assert_eq!(scene.title("/a").1, 1);
    scene.fetch("/b").unwrap();
    scene.configure("[domain.\"127.0.0.1\"]\nttl = 10\n");
    scene.advance(Duration::from_secs(10));
    assert_eq!(scene.title("/a").1, 1);
    scene.advance(Duration::from_secs(1));
    assert_eq!(scene.title("/a"), ("Title 2".to_owned(), 2));
    // A longer one does not make an extraction valid again.
    scene.configure("[domain.\"127.0.0.1\"]\nttl = 3600\n");
    scene.advance(Duration::from_secs(11));
    assert_eq!(scene.title("/a").1, 3, "it was saved for ten seconds");
    assert_eq!(scene.title("/b").1, 1, "it was saved for an hour");
}

#[test]
fn settings_name_the_site_and_apply_to_hosts_of_one_label() {
    let web = Web::serve(Site::new().page("/a", article("", "A")));
    let url = web.url("/a").replace("127.0.0.1", "localhost");
    let scene = Scene::over(web);
    scene.fetch("/a").unwrap();
    scene.configure("[domain.\"LocalHost\"]\nsitename = \"The intranet\"\n");
    let service = scene.service();
    let page = service.fetch(&url, FetchMethod::Direct).unwrap();
    assert_eq!(page.sitename.as_deref(), Some("The intranet"));
    assert_eq!(scene.fetch("/a").unwrap().sitename, None);
    // It is not part of what is saved: other settings show at once.
    scene.configure("[domain.\"localhost\"]\nsitename = \"Other\"\n");
    let page = scene.service().fetch(&url, FetchMethod::Direct).unwrap();
    assert_eq!(page.sitename.as_deref(), Some("Other"));
    assert_eq!(scene.web.total(), 2);
}

#[test]
fn a_page_that_settings_want_in_a_browser_is_not_read_without_one() {
    let scene = Scene::new(Site::new().page("/a", article("", "A")));
    scene.configure("[domain.\"127.0.0.1\"]\nfetch_client = \"chromium-headless\"\n");
    let refused = scene.fetch("/a").unwrap_err();
    assert!(matches!(refused, PageError::HeadlessDisabled(_)), "{refused}");
    assert_eq!(scene.web.total(), 0);
}

#[test]
fn a_page_that_cannot_be_read_is_fetched_once_in_a_batch() {
    let site = Site::new()
        .page(
            "/feed",
            Answer::of(
                "application/rss+xml",
                "<rss version='2.0'><channel><title>t</title>
            <item><link>/gone?utm_source=feed</link></item></channel></rss>",
            ),
        )
        .page("/gone", Answer::of("text/plain", "gone for good").with_status(410));
    let scene = Scene::new(site);
    let urls = ["/gone", "/gone#top", "/gone?utm_source=x"].map(|path| scene.web.url(path));
    let answers = scene.service().batch(&urls).unwrap();
    for (answer, url) in answers.into_iter().zip(&urls) {
        let page = answer.unwrap_err().into_page(url);
        assert_eq!((page.error.as_deref(), page.status_code), (Some("gone for good"), Some(410)));
        assert_eq!(
            (page.original_url.as_ref(), page.requested_url),
            (Some(url), Some(scene.web.url("/gone")))
        );
        assert_eq!(page.content_text, None, "the text of an error page is not that of the page");
    }
    assert_eq!(scene.web.count("/gone"), 1);
    let (link, answer) = scene.service().feed(&scene.web.url("/feed")).unwrap().pop().unwrap();
    assert_eq!(link, scene.web.url("/gone?utm_source=feed"));
    assert!(matches!(answer, Err(PageError::TargetStatus { status: 410, .. })));
}

#[test]
fn a_lookup_fetches_nothing() {
    let scene = Scene::new(Site::new().page("/a", article("", "A")));
    let service = scene.service();
    let (url, not_a_url) = (scene.web.url("/a"), "mailto:a@example.com".to_owned());
    assert_eq!(service.saved(&url, FetchMethod::Direct).unwrap(), None);
    assert!(service.saved_batch(std::slice::from_ref(&url)).unwrap().is_none());
    assert_eq!(scene.web.total(), 0);
    service.fetch(&url, FetchMethod::Direct).unwrap();
    let saved = service.saved(&url, FetchMethod::Direct).unwrap().unwrap();
    assert_eq!(saved.title.as_deref(), Some("A"));
    assert_eq!(service.saved(&url, FetchMethod::ChromiumHeadless).unwrap(), None);
    let batch = service.saved_batch(&[url, not_a_url]).unwrap().unwrap();
    assert!(matches!(batch.as_slice(), [Ok(_), Err(PageError::InvalidUrl(_))]), "{batch:?}");
    assert_eq!(scene.web.total(), 1);
}

#[test]
fn a_version_that_cannot_be_indexed_is_complete_and_its_caller_is_warned() {
    let scene = Scene::new(Site::new().page("/a", article("", "A")));
    let blocked = scene.root().join("search.db");
    std::fs::create_dir_all(blocked.join("in-the-way")).unwrap();
    let warnings = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&warnings);
    let warn = move || _ = counted.fetch_add(1, Ordering::Relaxed);
    let service = scene.service_with(|options| options.warn_of_index = Some(Arc::new(warn)));
    let url = scene.web.url("/a");
    service.fetch(&url, FetchMethod::Direct).unwrap();
    assert_eq!(warnings.load(Ordering::Relaxed), 1);
    assert_eq!(scene.logged(&url).len(), 1);
    std::fs::remove_dir_all(&blocked).unwrap();
    scene.advance(TTL * 2);
    service.fetch(&url, FetchMethod::Direct).unwrap();
    assert_eq!(warnings.load(Ordering::Relaxed), 1, "the index is complete again");
}
