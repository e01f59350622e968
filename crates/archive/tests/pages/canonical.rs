//! Canonical URLs: which pages they find, and which they must not.
//!
//! The web has two hosts, `127.0.0.1` and `localhost`.

use varve_archive::ArchiveError;
use varve_archive::pages::{FetchMethod, PageError};
use varve_archive::verbs::cat::{CaptureSelector, find};
use varve_archive::verbs::diff;
use varve_archive::verbs::explain::{Aliases, add_lookup, explain};
use varve_archive::verbs::replay::{self, ReplayTime, UrlKnowledge, captured_url};
use varve_testkit::web::{Site, Web};

use super::scene::{Scene, article};

/// The URL of a path on the other host.
fn elsewhere(web: &Web, path: &str) -> String {
    web.url(path).replace("127.0.0.1", "localhost")
}

fn canonical(url: &str) -> String {
    format!("<meta property=og:url content='{url}'>")
}

#[test]
fn a_declared_url_finds_the_captures_of_the_page() {
    let own = |request: &varve_testkit::web::Request| {
        let host = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host")).unwrap();
        article(&canonical(&format!("http://{}/declared", host.1)), "Page")
    };
    let scene = Scene::new(Site::new().computed("/page", own));
    scene.fetch("/page?session=1").unwrap();
    let (declared, captured) = (scene.web.url("/declared"), scene.web.url("/page?session=1"));
    assert_eq!(scene.logged(&declared), std::slice::from_ref(&captured));
    let found = find(&scene.reader(), &declared, &CaptureSelector::Newest).unwrap();
    assert_eq!(found.url, captured);
    let reader = scene.reader();
    assert_eq!(captured_url(&reader, &declared).unwrap(), Some(captured.clone()));
    let time = ReplayTime::exactly(found.time);
    let known = replay::find(&reader, &declared, Some(time)).unwrap();
    assert!(matches!(known, UrlKnowledge::There(url) if url == captured));
    let request =
        diff::Request { head: reader.head().unwrap(), url: Some(declared.clone()), ..Default::default() };
    let totals = diff::diff::<ArchiveError>(&reader, &request, |_| Ok(())).unwrap();
    assert_eq!(totals.added, 1);
    let rules =
        [(&captured, "lookup/exact"), (&declared, "lookup/canonical"), (&scene.web.url("/x"), "lookup/none")];
    for (url, rule) in rules {
        let mut explained = explain(url, &Aliases::default(), &[]);
        add_lookup(&reader, &mut explained.explanation).unwrap();
        assert_eq!(explained.explanation.steps.last().unwrap().rule, rule);
    }
    drop(reader);
    // The extraction is found under both, without another request.
    assert_eq!(scene.title("/declared").0, "Page");
    assert_eq!(scene.web.total(), 1);
    scene.rebuild();
    assert_eq!(scene.logged(&declared), [captured]);
}

#[test]
fn a_page_of_another_host_does_not_take_over_a_url() {
    let web_url = std::sync::Arc::new(std::sync::OnceLock::<String>::new());
    let bank = std::sync::Arc::clone(&web_url);
    let hostile = move |_: &varve_testkit::web::Request| article(&canonical(bank.get().unwrap()), "Hostile");
    let scene = Scene::new(Site::new().computed("/evil", hostile).page("/bank", article("", "Bank")));
    let bank = scene.web.url("/bank");
    web_url.set(bank.clone()).unwrap();
    let service = scene.service();
    let evil = service.fetch(&elsewhere(&scene.web, "/evil"), FetchMethod::Direct).unwrap();
    assert_eq!(evil.url, bank, "the answer says what the page says");
    assert!(scene.logged(&bank).is_empty(), "no history of another host");
    let mut explained = explain(&bank, &Aliases::default(), &[]);
    add_lookup(&scene.reader(), &mut explained.explanation).unwrap();
    let step = explained.explanation.steps.pop().unwrap();
    assert_eq!((step.rule.as_str(), step.changed), ("lookup/unconfirmed", false));
    assert!(
        step.explanation.contains("localhost") && step.explanation.contains("/evil"),
        "{}",
        step.explanation
    );
    assert_eq!(scene.title("/bank"), ("Bank".to_owned(), 1), "no saved extraction of another host");
    assert_eq!(scene.logged(&bank), std::slice::from_ref(&bank));
    // Saved again, it does not replace the page either.
    service.delete(&elsewhere(&scene.web, "/evil")).unwrap();
    service.fetch(&elsewhere(&scene.web, "/evil"), FetchMethod::Direct).unwrap();
    assert_eq!(scene.title("/bank"), ("Bank".to_owned(), 1));
    let deleted = service.delete(&scene.web.url("/never")).unwrap_err();
    assert!(matches!(deleted, PageError::NotFound(_)));
}

#[test]
fn a_page_of_another_host_is_found_if_that_host_names_it() {
    let urls = std::sync::Arc::new(std::sync::OnceLock::<(String, String)>::new());
    let (one, two) = (std::sync::Arc::clone(&urls), std::sync::Arc::clone(&urls));
    let mobile = move |_: &varve_testkit::web::Request| article(&canonical(&one.get().unwrap().0), "Mobile");
    let index = move |_: &varve_testkit::web::Request| {
        article(&format!("<link rel=alternate media=handheld href='{}'>", two.get().unwrap().1), "Index")
    };
    let scene = Scene::new(Site::new().computed("/m", mobile).computed("/index", index));
    let (desktop, mobile) = (scene.web.url("/desktop"), elsewhere(&scene.web, "/m"));
    urls.set((desktop.clone(), mobile.clone())).unwrap();
    scene.service().fetch(&mobile, FetchMethod::Direct).unwrap();
    assert!(scene.logged(&desktop).is_empty());
    scene.fetch("/index").unwrap();
    assert_eq!(scene.logged(&desktop), [mobile]);
}
