//! A check in an archive keeps what it saw.

use std::fs;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use varve_archive::expectations::{ProbeOptions, UrlHealth, Verdict};
use varve_archive::history::HistoryReader;
use varve_archive::verbs::cat::{CaptureSelector, look_up};
use varve_archive::verbs::check::{CheckLabel, ExpectationSource, Request, check, explain};
use varve_archive::verbs::rebuild;
use varve_archive::{ArchivePaths, Capture, CheckId};
use varve_testkit::web::{Answer, Site};

use crate::scene::{Scene, Wrong, opening, prober, told};

/// A site with a page whose response the test changes.
fn moody() -> (Site, Arc<AtomicUsize>) {
    let mood = Arc::new(AtomicUsize::new(0));
    let answering = Arc::clone(&mood);
    let site = Site::new()
        .computed("/page", move |_| match answering.load(Ordering::SeqCst) {
            0 => Answer::html("<p>As promised.</p>\n"),
            1 => Answer::html("<p>Something else.</p>\n"),
            _ => Answer::status(404),
        })
        .with_moods()
        .with_faults();
    (site, mood)
}

const PAGE: &str = "_path: /page\ncontent-length: 20\ncontent-sha256: SHA\ncontent-type: text/html";

fn page() -> String {
    use sha2::{Digest, Sha256};
    let digest = varve_archive::BodyId::new(Sha256::digest(b"<p>As promised.</p>\n").into());
    PAGE.replace("SHA", &digest.to_string())
}

/// The response that decided the verdict of a check on a URL.
fn response(scene: &Scene, url: &str, check: CheckId) -> Capture {
    let history = HistoryReader::from(&scene.reader());
    look_up(&history, url, &CaptureSelector::Check(check)).unwrap()
}

fn body(scene: &Scene, capture: &Capture) -> String {
    let mut text = String::new();
    scene.reader().open_body(capture).unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn responses_and_their_redirects_are_stored_and_found_by_the_check() {
    let (site, _) = moody();
    let scene = Scene::new(site);
    let moved = page().replace("_path: /page", "_path: /redirect/away?to=/page");
    scene.promise("", &[&page(), &moved, "_path: /close"]);
    let (found, ended) = scene.check(&Request::default());
    assert_eq!(told(&found[..2]), ["/page ok", "/redirect/away?to=/page ok"]);
    assert!(
        found[2].verdict.is_failure()
            && found[2].archived.capture.is_none()
            && found[2].archived.check.is_none()
    );
    assert_eq!(ended.responses, 3);
    let direct = response(&scene, &found[0].url, ended.check.unwrap());
    assert_eq!(body(&scene, &direct), "<p>As promised.</p>\n");
    assert_eq!(found[0].archived.capture, direct.record.map(|record| record.to_string()));
    assert_eq!(direct.headers.get("content-type").unwrap()[0], "text/html; charset=utf-8");
    let led = response(&scene, &found[1].url, ended.check.unwrap());
    assert_eq!((led.url.as_str(), led.status), (&*scene.web.url("/page"), 200));
    assert_ne!(led.record, direct.record);
    let check = scene.reader().catalog().check(&ended.check.unwrap()).unwrap().unwrap();
    assert_eq!((check.message.as_str(), check.counts.ok, check.counts.unreachable), ("check", 2, 1));
    scene.assert_sound();
}

/// A check that was killed before its fact was written leaves records without rows.
#[test]
fn responses_without_their_check_are_no_rows() {
    let (site, _) = moody();
    let scene = Scene::new(site);
    scene.promise("", &[&page()]);
    let before = scene.rows();
    let label = CheckLabel { message: "killed".to_owned(), author: None };
    let stop = Request { retries: 0, ..Request::default() };
    let history = scene.history();
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let database = scene.database();
        let mut progress = |_| panic!("killed after the first response");
        let source = ExpectationSource::Database(&database);
        check(&history, source, &stop, label, &scene.prober(true), &mut progress, |_| Ok::<(), Wrong>(()))
    }));
    assert!(died.is_err());
    drop(history);
    drop(scene.history());
    assert_eq!(scene.rows(), before);
    scene.assert_sound();
}

#[test]
fn a_failure_is_reported_with_its_start_and_the_last_good_capture() {
    let (site, mood) = moody();
    let scene = Scene::new(site);
    scene.promise("", &[&page()]);
    let (first, _) = scene.check(&Request::default());
    assert_eq!((first[0].archived.health, first[0].archived.since.as_deref()), (Some(UrlHealth::Ok), None));
    mood.store(1, Ordering::SeqCst);
    let (second, _) = scene.check(&Request::default());
    let failure = &second[0];
    assert!(failure.verdict.is_failure());
    let good = failure.archived.last_good.as_deref().unwrap();
    assert_eq!(good.capture.record.map(|record| record.to_string()), first[0].archived.capture);
    assert_eq!(good.check, first[0].archived.check);
    assert!(matches!(failure.archived.health, Some(UrlHealth::Failing { .. })), "{failure:?}");
    let mut hunks = 0;
    let history = scene.history();
    let explained = explain(&history, failure, &Default::default(), |page| {
        hunks = page.comparison.unwrap().hunks(&Default::default(), false).len();
        Ok::<(), Wrong>(())
    });
    assert!(explained.unwrap());
    assert_eq!(hunks, 1);
    drop(history);
    let (third, _) = scene.check(&Request::default());
    assert_eq!(third[0].archived.since, failure.archived.since);
    assert_eq!(third[0].archived.last_good, failure.archived.last_good);
    mood.store(0, Ordering::SeqCst);
    let (fourth, _) = scene.check(&Request::default());
    assert_eq!(fourth[0].archived.health, Some(UrlHealth::Flaky { failures: 2, checks: 4 }));
    assert_eq!(fourth[0].archived.since, None);
    scene.assert_sound();
}

#[test]
fn a_page_that_never_met_its_expectation_has_no_last_good_capture() {
    let (site, mood) = moody();
    let scene = Scene::new(site);
    mood.store(2, Ordering::SeqCst);
    scene.promise("", &[&page()]);
    scene.check(&Request::default());
    let (found, _) = scene.check(&Request::default());
    assert_eq!(found[0].status, Some(404));
    assert_eq!(found[0].archived.last_good, None);
    assert!(found[0].archived.evidence.is_some());
}

#[test]
fn a_truncated_response_is_stored_as_truncated() {
    let (site, _) = moody();
    let scene = Scene::new(site);
    scene.promise("", &["_path: /length/short"]);
    let (found, ended) = scene.check(&Request::default());
    assert_eq!(
        told(&found),
        ["/length/short unreachable: the answer is not whole: the connection ended before it did"]
    );
    assert!(response(&scene, &found[0].url, ended.check.unwrap()).truncated);
    scene.assert_sound();
}

#[test]
fn a_check_without_any_answer_is_written_down() {
    let (site, _) = moody();
    let scene = Scene::new(site);
    scene.promise("", &["_path: /close"]);
    for _ in 0..2 {
        let (found, ended) = scene.check(&Request::default());
        assert_eq!((found.len(), ended.responses), (1, 0));
        assert!(ended.check.is_some());
    }
    let rows = scene.reader().catalog().verdicts_of(&scene.web.url("/close"), 10).unwrap();
    assert_eq!(rows.len(), 2, "the later one is later: {rows:?}");
}

#[test]
fn verdicts_and_their_evidence_are_made_again_from_the_silos() {
    let (site, mood) = moody();
    let scene = Scene::new(site);
    scene.promise(
        "",
        &[&page(), "_path: /close", "_path: /redirect/loop", "_path: /x\ncategories:\n- deprecated"],
    );
    for now in 0..3 {
        mood.store(now, Ordering::SeqCst);
        scene.check(&Request { retries: 1, ..Request::default() });
    }
    let (rows, head) = (scene.rows(), scene.reader().head().unwrap());
    assert_eq!(rows.iter().filter(|row| row.starts_with("{\"verdict\"")).count(), 12, "{rows:#?}");
    for name in ["catalog.db", "catalog.db-wal", "catalog.db-shm", "HEAD"] {
        let _ = fs::remove_file(scene.root().join(name));
    }
    fs::remove_dir_all(scene.root().join("index")).unwrap();
    rebuild::rebuild(&ArchivePaths::new(&scene.root()), opening(), &|_| {}).unwrap();
    assert_eq!(scene.rows(), rows);
    assert_eq!(scene.reader().head().unwrap(), head);
    scene.assert_sound();
}

#[test]
fn the_expectations_in_force_are_kept_with_the_check() {
    let (site, _) = moody();
    let scene = Scene::new(site);
    scene.promise("", &[&page()]);
    let (_, ended) = scene.check(&Request::default());
    let record = scene.reader().catalog().check(&ended.check.unwrap()).unwrap().unwrap().record;
    let archive = varve_archive::Archive::open(&scene.root()).unwrap();
    let read = |id| {
        let mut text = String::new();
        archive.object(id).unwrap().read().unwrap().read_to_string(&mut text).unwrap();
        text
    };
    let manifest: serde_json::Value = serde_json::from_str(&read(record)).unwrap();
    assert_eq!(manifest["verdicts"][0]["verdict"], "ok");
    let id = manifest["expectations"][format!("{}.yaml", scene.host())].as_str().unwrap();
    let file = ArchivePaths::new(&scene.root()).expectations().join(format!("{}.yaml", scene.host()));
    assert_eq!(read(id.parse().unwrap()), fs::read_to_string(file).unwrap());
}

/// URLs that were not requested are skipped, and this does not count as a failure in later checks.
#[test]
fn a_url_that_was_not_requested_is_skipped_and_not_failing() {
    let site = Site::new().with_moods();
    let busy = |site: Site, number| site.page(&format!("/a{number:02}"), Answer::status(503));
    let site = (0..30).fold(site, busy);
    let site = (0..5).fold(site, |site, number| site.page(&format!("/x{number}"), Answer::html("well")));
    let scene = Scene::new(site);
    let paths = (0..30).map(|number| format!("_path: /a{number:02}"));
    let records: Vec<String> = paths.chain((0..5).map(|number| format!("_path: /x{number}"))).collect();
    scene.promise("", &records.iter().map(String::as_str).collect::<Vec<_>>());
    let asking = ProbeOptions { failures_per_host: 5, concurrency: 1, whole: true, ..scene.asking() };
    let (prober, database) = (prober(asking), scene.database());
    let request = Request { retries: 1, ..Request::default() };
    let (found, _) = scene.check_by(&prober, ExpectationSource::Database(&database), &request);
    for checked in &found {
        let is_asked = scene.web.count(checked.url.strip_prefix(&scene.web.url("")).unwrap()) > 0;
        match (&checked.verdict, is_asked) {
            (Verdict::Skipped(why), false) => assert!(why.contains("it answers 503"), "{why}"),
            (Verdict::Broken(_), true) => {}
            (other, _) => panic!("{}: {other:?}", checked.url),
        }
    }
    assert!(
        found
            .iter()
            .filter(|checked| checked.url.contains("/x"))
            .all(|checked| checked.archived.since.is_none())
    );
    scene.promise("", &["_path: /x0", "_path: /x1"]);
    let (found, _) = scene.check(&Request::default());
    assert!(found.iter().all(|checked| checked.archived.health == Some(UrlHealth::Ok)), "{:?}", told(&found));
}
