//! `varve capture --browser`, interrupted and out of time. Skipped without Chromium.

use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use varve_testkit::web::{Answer, Site, Then, Web};

use super::{Scene, stderr};

/// A page that never finishes loading.
fn waiting() -> Web {
    let site =
        Site::new().page("/", Answer::html("<p>here</p><img src=/never>")).at("/never", |_, connection| {
            connection.wait(Duration::from_secs(600));
            Ok(Then::Close)
        });
    Web::serve(site)
}

/// Starts to capture that page, and waits for the request that is never answered.
fn begin(scene: &Scene, web: &Web) -> Child {
    let mut command = scene.command();
    command.args(["capture", &web.url("/"), "--browser", "--allow-private", "--delay", "0"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while web.count("/never") == 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!profiles(scene).is_empty() && !processes_of(scene).is_empty(), "a browser is at work");
    child
}

fn interrupt(child: &Child) {
    Command::new("kill").args(["-INT", &child.id().to_string()]).stderr(Stdio::null()).status().unwrap();
}

/// The temporary files of browsers.
fn profiles(scene: &Scene) -> Vec<String> {
    let entries = std::fs::read_dir(scene.path("museum/tmp")).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("browser-")).collect()
}

/// The processes, alive or not waited for, whose command line names the folder of the test.
fn processes_of(scene: &Scene) -> Vec<String> {
    let folder = scene.path("museum").to_string_lossy().into_owned();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .filter(|line| line.contains(&folder))
        .collect()
}

fn assert_nothing_left(scene: &Scene, output: &Output) {
    assert_eq!(output.status.code(), Some(130), "{}", stderr(output));
    assert_eq!(profiles(scene), Vec::<String>::new());
    assert_eq!(processes_of(scene), Vec::<String>::new());
}

#[test]
fn an_interrupted_run_ends_its_browser() {
    if varve_testkit::chromium().is_none() {
        return;
    }
    let (scene, web) = (Scene::new(&[]), waiting());
    let child = begin(&scene, &web);
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_nothing_left(&scene, &output);
    assert!(stderr(&output).contains("varve capture --resume"), "{}", stderr(&output));
}

/// The process is interrupted twice, at any moment.
#[test]
fn a_second_interrupt_also_ends_the_browser() {
    if varve_testkit::chromium().is_none() {
        return;
    }
    let (scene, web) = (Scene::new(&[]), waiting());
    let mut child = begin(&scene, &web);
    while child.try_wait().unwrap().is_none() {
        interrupt(&child);
    }
    let output = child.wait_with_output().unwrap();
    assert_nothing_left(&scene, &output);
}

/// A killed process runs no code of its own: Chromium exits because its pipe is closed, and the
/// next run removes the profile.
#[test]
fn a_killed_run_leaves_no_browser() {
    if varve_testkit::chromium().is_none() {
        return;
    }
    let (scene, web) = (Scene::new(&[]), waiting());
    let mut child = begin(&scene, &web);
    child.kill().unwrap();
    child.wait().unwrap();
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while !processes_of(&scene).is_empty() {
        assert!(std::time::Instant::now() < until, "{:?}", processes_of(&scene));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!profiles(&scene).is_empty(), "a killed process removes nothing");
    assert!(scene.run(&["housekeeping"]).status.success());
    assert_eq!(profiles(&scene), Vec::<String>::new());
}

/// Chromium would ask for the page by https. The proxy resolves the name, so that the test needs no
/// name of its own.
#[test]
fn a_plain_site_is_captured_by_its_name() {
    let Some(_) = varve_testkit::chromium() else { return };
    let site = Site::new()
        .page("http://lake.example/", Answer::html("<title>t</title><img src=/mud.png><p>layers</p>"))
        .page("http://lake.example/mud.png", Answer::of("image/png", "mud"));
    let (scene, proxy) = (Scene::new(&[]), Web::serve(site));
    let words = ["capture", "http://lake.example/", "--browser", "--delay", "0", "--proxy", &proxy.url("")];
    let output = scene.run(&words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(scene.data(&["cat", "http://lake.example/"]).ends_with(b"<p>layers</p>"));
    assert_eq!(scene.data(&["cat", "http://lake.example/mud.png"]), b"mud");
    assert!(proxy.seen().iter().all(|request| request.method == "GET"), "{:?}", proxy.seen());
}
