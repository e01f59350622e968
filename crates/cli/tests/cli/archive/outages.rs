//! An outage of a site as a user sees it: the message, the exit code, and the diffs around it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use varve_testkit::web::{Answer, Site, Web};

use super::{Scene, stderr, stdout};

#[test]
fn an_outage_is_recorded_and_a_gone_page_is_said_to_be_gone() {
    let phase = Arc::new(AtomicUsize::new(0));
    let at = |phase: &Arc<AtomicUsize>, answers: [Answer; 3]| {
        let phase = Arc::clone(phase);
        move |_: &varve_testkit::web::Request| answers[phase.load(Ordering::Relaxed)].clone()
    };
    let (busy, missing) = (Answer::status(503), Answer::status(404));
    let (front, robots) = (Answer::html("<a href=/a>a</a>"), Answer::of("text/plain", "User-agent: *\n"));
    let site = Site::new()
        .computed("/", at(&phase, [front.clone(), busy.clone(), front]))
        .computed("/robots.txt", at(&phase, [robots.clone(), busy.clone(), robots]))
        .computed("/a", at(&phase, [Answer::html("page a"), busy, missing]));
    let (scene, web) = (Scene::new(&[]), Web::serve(site));
    let (seed, page) = (web.url("/"), web.url("/a"));
    let words = ["capture", &seed, "--scope", "host", "--allow-private", "--delay", "0", "--retries", "0"];
    assert_eq!(scene.run(&words).status.code(), Some(0));
    phase.store(1, Ordering::Relaxed);
    let output = scene.run(&words);
    assert_eq!((output.status.code(), stdout(&output).lines().count()), (Some(1), 1));
    let told = stderr(&output);
    assert!(told.contains("`robots.txt` answered 503") && told.contains("`--ignore-robots`"), "{told}");
    assert!(told.contains("nothing could be captured: 1 failed, and the version says so"), "{told}");
    let diff = String::from_utf8(scene.data(&["diff", "--name-only"])).unwrap();
    assert_eq!(diff, format!("U {seed}\nU {seed}robots.txt\n"));
    phase.store(2, Ordering::Relaxed);
    assert_eq!(scene.run(&words).status.code(), Some(0));
    let diff = String::from_utf8(scene.data(&["diff", "--name-only"])).unwrap();
    assert_eq!(diff, format!("D {page}\n"));
    let alone = ["capture", &seed, "--allow-private", "--delay", "0"];
    assert_eq!(scene.run(&alone).status.code(), Some(0));
    let output = scene.run(&["cat", &page, "--at", "HEAD"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("was gone since") && output.stdout.is_empty(), "{}", stderr(&output));
    assert_eq!(scene.data(&["cat", &page, "--at", "HEAD~2"]), b"page a");
}
