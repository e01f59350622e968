//! Several processes on one archive.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use super::{Scene, noise, stderr, stdout};

/// Starts a `varve store` that waits for its input, holding the lock.
fn writer(scene: &Scene) -> std::process::Child {
    let mut command = scene.command();
    command.args(["store", "--sync", "each", "first", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_second_writer_fails_with_the_name_of_the_first_and_readers_do_not_wait() {
    let scene = Scene::new(&[]);
    scene.file("first", b"hello\n");
    scene.file("second", b"second");
    let mut first = writer(&scene);
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    // Its first id is printed, so it holds the lock; it waits for input.
    let id = lines.next().unwrap().unwrap();
    let output = scene.run(&["--wait", "0", "store", "second"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    let wanted =
        format!("error: another process is writing to this archive: varve store, process {} on ", first.id());
    assert!(said.starts_with(&wanted) && said.contains(" since 20"), "{said}");
    assert!(said.contains("\nhint: `--wait 10m` waits longer") && !said.contains("waiting for"), "{said}");
    assert_eq!(scene.data(&["get", &id]), b"hello\n");
    let output = scene.run_with_input(&["filter"], id.as_bytes());
    assert_eq!(stdout(&output).trim_end(), id);
    let mut input = first.stdin.take().unwrap();
    input.write_all(b"the end").unwrap();
    drop(input);
    let last = lines.next().unwrap().unwrap();
    assert!(first.wait().unwrap().success());
    assert_eq!(scene.data(&["get", &last]), b"the end");
    scene.data(&["store", "second"]);
}

#[test]
fn a_waiting_writer_names_the_first_once_and_ends_with_ctrl_c() {
    let scene = Scene::new(&[]);
    scene.file("first", b"hello\n");
    scene.file("second", b"second");
    let mut first = writer(&scene);
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    let waiting = || {
        let mut command = scene.command();
        command.args(["commit", "second", "--url", "https://e.org/", "-m", "second"]);
        let mut waiting = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(waiting.stderr.take().unwrap()).lines();
        let line = said.next().unwrap().unwrap();
        let holder = format!("varve store, process {} on ", first.id());
        assert!(line.starts_with("waiting for another process to finish writing: "), "{line}");
        assert!(line.contains(&holder), "{line}");
        (waiting, said)
    };
    let (mut stopped, _) = waiting();
    let interrupt = std::process::Command::new("kill").args(["-INT", &stopped.id().to_string()]).status();
    assert!(interrupt.unwrap().success());
    assert!(!stopped.wait().unwrap().success());
    let (mut patient, said) = waiting();
    drop(first.stdin.take());
    assert!(first.wait().unwrap().success());
    assert!(patient.wait().unwrap().success());
    let said: Vec<String> = said.map(Result::unwrap).collect();
    assert!(!said.iter().any(|line| line.contains("waiting for")), "{said:?}");
    assert_eq!(scene.data(&["cat", "https://e.org/"]), b"second");
}

#[test]
fn commits_at_the_same_time_all_become_versions() {
    let scene = Scene::new(&[]);
    std::fs::create_dir_all(scene.path("site/.moku")).unwrap();
    scene.file("page", b"<p>a page</p>");
    for layout in ["museum", "site"] {
        let children: Vec<_> = (0..12)
            .map(|number| {
                let url = format!("https://e.org/{number}");
                let words = ["-C", layout, "--wait", "5m", "commit", "page", "--url", &url, "-m", "at once"];
                scene.command().args(words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{layout}: {}", stderr(&output));
        }
        let log = scene.run(&["-C", layout, "log", "--json"]);
        assert_eq!(stdout(&log).matches("at once").count(), 12, "{layout}: {}", stdout(&log));
        // Each is the child of another, so that no commit was forked.
        let parents: std::collections::HashSet<String> = stdout(&log)
            .lines()
            .filter_map(|line| {
                serde_json::from_str::<serde_json::Value>(line).unwrap().get("parent").cloned()
            })
            .map(|parent| parent.to_string())
            .collect();
        assert_eq!(parents.len(), 12, "{layout}");
    }
}

/// Acknowledged objects exist after the writer was killed.
#[test]
fn acknowledged_objects_survive_a_killed_writer() {
    let scene = Scene::new(&[]);
    scene.file("first", &noise(100_000, 4));
    let mut first = writer(&scene);
    let id = BufReader::new(first.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(scene.data(&["get", &id]), noise(100_000, 4));
    scene.file("second", b"second");
    scene.data(&["store", "second"]);
    assert_eq!(scene.data(&["get", &id]), noise(100_000, 4));
}

/// Readers open the archive again and again while another process stores, syncs and does housekeeping.
#[test]
fn reading_while_another_process_stores() {
    let scene = Scene::new(&["--silo-size", "1 MiB"]);
    std::fs::create_dir(scene.path("files")).unwrap();
    let names: Vec<String> = (0..300).map(|number| format!("files/{number}")).collect();
    for (number, name) in names.iter().enumerate() {
        scene.file(name, &noise(10_000, number as u64));
    }
    let mut command = scene.command();
    command.args(["store", "--sync", "each"]).args(&names).stdout(Stdio::piped());
    let mut storing = command.spawn().unwrap();
    let lines = BufReader::new(storing.stdout.take().unwrap()).lines();
    let mut heard = 0;
    for (number, id) in lines.enumerate() {
        heard += 1;
        if number % 20 == 0 {
            assert!(scene.data(&["get", &id.unwrap()]) == noise(10_000, number as u64));
        }
    }
    assert!(storing.wait().unwrap().success());
    assert_eq!(heard, 300);
    assert!(scene.silos().len() >= 3);
}
