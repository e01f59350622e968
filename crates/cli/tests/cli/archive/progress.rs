//! The progress bar of an audit on a terminal: it is removed before the summary, and before an error.
#![cfg(target_os = "linux")]

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Scene;

/// A terminal erases its line.
const ERASE_LINE: &str = "\u{1b}[2K";
/// The last part of every bar.
const BAR_END: &str = " left";

/// An archive of two silos in which every object is damaged: more findings than a pipe holds.
fn damaged_archive() -> Scene {
    let scene = Scene::new(&["--silo-size", "1 MiB"]);
    let folder = scene.path("objects");
    std::fs::create_dir(&folder).unwrap();
    for number in 0..1200 {
        std::fs::write(folder.join(number.to_string()), super::noise(1500, number)).unwrap();
    }
    scene.data(&["stow", "objects"]);
    for silo in scene.silos() {
        let mut bytes = std::fs::read(&silo).unwrap();
        let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
        let starts: Vec<usize> =
            (1..bytes.len() - 10).filter(|at| bytes[*at..].starts_with(&header)).collect();
        // The last byte of the checksum of a member.
        starts.iter().for_each(|start| bytes[start - 5] ^= 1);
        std::fs::remove_file(&silo).unwrap();
        std::fs::write(&silo, bytes).unwrap();
    }
    scene
}

/// What an audit prints on a terminal. Nothing is read in its first second, so that it waits there
/// long enough to show a bar.
fn on_slow_terminal(scene: &Scene, words: &str) -> String {
    let varve = env!("CARGO_BIN_EXE_varve");
    let mut script = Command::new("script");
    script.args(["-qec", &format!("stty cols 100; {varve} -C museum audit {words}"), "/dev/null"]);
    script.env("TERM", "xterm").env("NO_COLOR", "1").current_dir(scene.folder.path());
    let mut child = script.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let mut text = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut text).unwrap();
    child.wait().unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

/// The text after the last bar was drawn.
fn behind_last_bar(text: &str) -> &str {
    let end = text.rfind(BAR_END).unwrap_or_else(|| panic!("no bar was drawn: {text}"));
    &text[end + BAR_END.len()..]
}

#[test]
fn the_bar_is_removed_before_the_summary_and_before_an_error() {
    if !varve_testkit::has_program("script") {
        return;
    }
    let scene = damaged_archive();
    for (words, last) in [("", "findings in "), ("--report no/such/folder", "error: ")] {
        let text = on_slow_terminal(&scene, words);
        let rest = behind_last_bar(&text);
        let erased = rest.find(ERASE_LINE).unwrap_or_else(|| panic!("the bar stays: {rest:?}"));
        let end = rest.rfind(last).unwrap_or_else(|| panic!("no {last:?}: {rest:?}"));
        assert!(erased < end, "the bar is erased after the end: {rest:?}");
        // The last bar is drawn for the last time before the last finding, and nothing follows the end.
        assert!(!rest[end..].contains('\u{1b}'), "{rest:?}");
    }
}
