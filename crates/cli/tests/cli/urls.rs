//! `varve urls`.

use std::path::PathBuf;
use std::process::Output;

use varve_testkit::fixtures;

use crate::{stderr, stdout, varve};

/// A folder with a URL database `db` in it, where commands run.
struct Scene(tempfile::TempDir);

impl Scene {
    fn new(files: &[(&str, &str)]) -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(scene.path("")).unwrap();
        for (name, text) in files {
            std::fs::write(scene.path(name), text).unwrap();
        }
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("db").join(name)
    }

    fn run(&self, words: &[&str]) -> Output {
        varve().current_dir(self.0.path()).args(["urls", "--db", "db"]).args(words).output().unwrap()
    }
}

#[test]
fn a_new_database() {
    let scene = Scene::new(&[]);
    let output = scene.run(&["add", "--offline", "https://example.com/"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&output), @r"
    error: no domain file is for `example.com`
    hint: `varve urls add --domain-file URL` makes a file for its domain
    ");
    let output =
        scene.run(&["add", "--offline", "--domain-file", "https://example.com/b", "example.com/a?y&x"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    insta::assert_snapshot!(stdout(&output), @r"
    https://example.com/b
    https://example.com/a?x&y
    ");
    insta::assert_snapshot!(stderr(&output), @r"
    made `db/example.com.yaml`
    the URL has no scheme; `http` is assumed
    ");
    let output = scene.run(&["list"]);
    insta::assert_snapshot!(stdout(&output), @r"
    https://example.com/a?x&y
    https://example.com/b
    ");
    let output = scene.run(&["list", "--json", "--path-prefix", "/b"]);
    insta::assert_snapshot!(stdout(&output), @r#"{"schema":1,"url":"https://example.com/b","domain":"example.com","path":"/b","content_type":null,"length":null,"sha256":null,"categories":[]}"#);
    let output = scene.run(&["show", "https://example.com/b"]);
    assert_eq!(stdout(&output), "---\n_path: /b\n");
    let output = scene.run(&["remove", "https://example.com/b"]);
    assert_eq!(stdout(&output), "https://example.com/b\n");
    let output = scene.run(&["remove", "https://example.com/b"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&output), @r"
    error: nothing is expected of `https://example.com/b`
    hint: `varve urls list` shows the URLs in the database
    ");
}

#[test]
fn an_archive_has_its_own_database() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| varve().current_dir(folder.path()).args(words).output().unwrap();
    assert_eq!(run(&["init", "museum"]).status.code(), Some(0));
    let output = run(&["-C", "museum", "urls", "list"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&output), @r"
    error: there is no URL database in `museum/urls`
    hint: `varve urls add --domain-file URL` makes one; `--db DIR` names another folder
    ");
    run(&["-C", "museum", "urls", "add", "--offline", "--domain-file", "http://example.com/"]);
    assert_eq!(stdout(&run(&["-C", "museum", "urls", "list"])), "http://example.com/\n");
    assert!(folder.path().join("museum/urls/example.com.yaml").is_file());
}

#[test]
fn formatting_reports_changes_and_notes() {
    let scene = Scene::new(&[
        ("a.example.yaml", "# why\n---\n---\n_path: /b\n---\n_path: a\n"),
        ("b.example.yaml", "--- {}\n---\n_path: /\n"),
        ("c.example.yaml", "---\n---\n_path: /\ncontent-length: five\n"),
    ]);
    let output = scene.run(&["fmt", "--check"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stdout(&output), "db/a.example.yaml\n");
    insta::assert_snapshot!(stderr(&output), @r"
    warning: comments in `db/a.example.yaml` are lost when it is written: line 1
    note: db/a.example.yaml:5: `a`: a path begins with `/`
    error: cannot use `db/c.example.yaml`
      cause: line 4, column 1: `content-length` must be a whole number of bytes
    ");
    std::fs::remove_file(scene.path("c.example.yaml")).unwrap();
    assert_eq!(scene.run(&["fmt", "--check"]).status.code(), Some(1));
    assert_eq!(scene.run(&["fmt"]).status.code(), Some(0));
    let output = scene.run(&["fmt", "--check"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), String::new()), "the note is left");
    std::fs::write(scene.path("a.example.yaml"), "--- {}\n---\n_path: /a\n").unwrap();
    assert_eq!(scene.run(&["fmt", "--check"]).status.code(), Some(0));
}

#[test]
fn names_of_two_domains_are_findings() {
    let scene = Scene::new(&[
        ("a.example.yaml", "---\ncnames:\n- www.example\n- a.example\n---\n_path: /\n"),
        ("b.example.yaml", "---\ncnames:\n- A.example\n- www.example\n---\n_path: /\n"),
    ]);
    assert_eq!(stdout(&scene.run(&["fmt"])), "db/a.example.yaml\n");
    let output = scene.run(&["fmt", "--check"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), String::new()));
    insta::assert_snapshot!(stderr(&output), @r"
    note: db/a.example.yaml:1: the alias `a.example` is the domain itself
    note: db/b.example.yaml:1: the name `A.example` is also that of `a.example`
    note: db/b.example.yaml:1: the name `www.example` is also that of `a.example`
    ");
}

#[test]
fn two_records_of_one_path_are_an_error() {
    let scene = Scene::new(&[("a.example.yaml", "--- {}\n---\n_path: /a\n---\n_path: /a\n")]);
    for words in [&["list"][..], &["check"], &["fmt", "--check"], &["add", "--offline", "http://a.example/b"]]
    {
        let output = scene.run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(
            stderr(&output)
                .contains("line 4, column 1: the path `/a` has a record at line 2, column 1 already"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn checking_nothing_is_an_error() {
    let scene = Scene::new(&[("a.example.yaml", "--- {}\n")]);
    let output = scene.run(&["check"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("there are no URLs to check: nothing was checked"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn every_fixture_is_in_canonical_form() {
    let Some(fixtures) = fixtures("urldb") else { return };
    let scene = Scene::new(&[]);
    let mut count = 0;
    for entry in std::fs::read_dir(fixtures).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        // The original does not sort the aliases of the file that it adds to.
        let is_canonical = !["00", "insert-b"].iter().any(|start| name.starts_with(start));
        if name.ends_with(".yaml") && is_canonical && !name.contains("before") {
            std::fs::copy(&path, scene.path(&name)).unwrap();
            count += 1;
        }
    }
    let output = scene.run(&["fmt"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""), "{}", stderr(&output));
    assert!(count >= 12);
}

#[test]
fn mistakes_are_usage_errors() {
    let scene = Scene::new(&[("example.com.yaml", "---\n---\n_path: /\n")]);
    for words in [
        &["add", "--offline", "--static", "http://example.com/"] as &[&str],
        &["check", "--map", "example.com"],
        &["check", "--format", "xml"],
        &["add"],
    ] {
        assert_eq!(scene.run(words).status.code(), Some(2), "{words:?}");
    }
    let output = scene.run(&["add", "--offline", "http://me:secret@example.com/"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&output), @r"
    error: the URL cannot be used
      cause: the URL holds a user name or password
    hint: a URL is like `https://example.com/path?query`
    ");
}

#[test]
fn an_addition_that_fails_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| varve().current_dir(folder.path()).args(words).output().unwrap();
    // A port without a server, and a host that cannot be a file name.
    for (url, more) in [("http://127.0.0.1:1/", "--allow-private"), ("http://a|b/", "--offline")] {
        let output = run(&["urls", "--db", "some/db", "add", "--domain-file", more, url]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{url}");
    }
    let output =
        run(&["urls", "--db", "some/db", "add", "--domain-file", "--offline", "http://example.com/"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(folder.path().join("some/db/example.com.yaml").is_file());
}

#[test]
fn urls_are_added_from_standard_input() {
    let scene = Scene::new(&[("example.com.yaml", "---\n")]);
    let mut command = varve();
    command.current_dir(scene.0.path()).args([
        "urls",
        "--db",
        "db",
        "add",
        "--offline",
        "-",
        "http://example.com/last",
    ]);
    let mut command = assert_cmd::Command::from_std(command);
    let output = command.write_stdin("http://example.com/a\n\n  http://example.com/b  \n").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "http://example.com/a\nhttp://example.com/b\nhttp://example.com/last\n");
    let text = std::fs::read_to_string(scene.path("example.com.yaml")).unwrap();
    for path in ["/a", "/b", "/last"] {
        assert!(text.contains(&format!("_path: {path}\n")), "{text}");
    }
}
