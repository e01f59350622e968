//! `varve plan`, and `varve capture` that follows the plan.

use std::path::Path;
use std::process::Output;

use super::{run, stderr, stdout};

struct Museum {
    folder: tempfile::TempDir,
}

impl Museum {
    fn new() -> Self {
        let museum = Self { folder: tempfile::tempdir().unwrap() };
        assert_eq!(run(&["init", museum.root()]).status.code(), Some(0));
        museum
    }

    fn root(&self) -> &str {
        self.folder.path().to_str().unwrap()
    }

    fn varve(&self, words: &[&str]) -> Output {
        run(&[&["-C", self.root()], words].concat())
    }

    fn good(&self, words: &[&str]) -> String {
        let output = self.varve(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", stderr(&output));
        stdout(&output)
    }

    fn refused(&self, words: &[&str]) -> String {
        let output = self.varve(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stdout(&output));
        stderr(&output)
    }

    fn text(&self) -> String {
        std::fs::read_to_string(Path::new(self.root()).join("plan.yaml")).unwrap()
    }
}

const TEXT: &str = "---
aliases:
- external: true
  source: https://ads.example/
  target: https://ads.example/
groups:
- found_on: Home
  name: Comics
  pattern: https://xkcd.com/#/
roots:
- name: Home
  url: https://xkcd.com/
";

fn filled() -> Museum {
    let museum = Museum::new();
    museum.good(&["plan", "root", "add", "https://xkcd.com/", "--name", "Home"]);
    museum.good(&["plan", "group", "add", "https://xkcd.com/#/", "--name", "Comics", "--found-on", "Home"]);
    museum.good(&["plan", "alias", "add", "https://ads.example/", "https://ads.example/", "--external"]);
    museum
}

#[test]
fn a_plan_is_written_in_one_form() {
    let museum = filled();
    assert_eq!(museum.text(), TEXT);
    assert_eq!(museum.good(&["plan", "root", "list"]), "Home  https://xkcd.com/\n");
    assert_eq!(museum.good(&["plan", "group", "list"]), "Comics  https://xkcd.com/#/  on Home\n");
    let json = museum.good(&["plan", "show", "--json"]);
    assert!(json.contains(r#""roots":[{"name":"Home","url":"https://xkcd.com/"}]"#), "{json}");
    museum.good(&["plan", "check"]);
}

#[test]
fn a_source_of_groups_is_removed_only_with_cascade() {
    let museum = filled();
    let refused = museum.refused(&["plan", "root", "remove", "Home"]);
    assert!(refused.contains("`Comics`") && refused.contains("--cascade"), "{refused}");
    assert_eq!(museum.text(), TEXT);
    museum.good(&["plan", "root", "remove", "Home", "--cascade"]);
    assert_eq!(museum.good(&["plan", "group", "list"]), "Comics  https://xkcd.com/#/  on all pages\n");
    museum.good(&["plan", "alias", "remove", "https://ads.example/"]);
    assert!(museum.refused(&["plan", "group", "remove", "Nobody"]).contains("no group `Nobody`"));
}

#[test]
fn errors_have_line_and_column() {
    let museum = Museum::new();
    let path = Path::new(museum.root()).join("plan.yaml");
    std::fs::write(&path, "# why\nroots:\n- link: https://a.com/\n").unwrap();
    assert!(museum.refused(&["plan", "show"]).contains("line 3, column 3: `link` is not a key of a root"));
    std::fs::write(&path, "# why\ngroups:\n- {pattern: 'https://a.com/#', found_on: X}\n").unwrap();
    let found = museum.varve(&["plan", "check"]);
    assert_eq!(found.status.code(), Some(1));
    assert!(stdout(&found).contains("is found on `X`, which is neither"), "{}", stdout(&found));
    let warned = museum.varve(&["plan", "root", "add", "https://a.com/", "--name", "X"]);
    assert!(stderr(&warned).contains("comments in"), "{}", stderr(&warned));
    assert!(museum.refused(&["plan", "root", "add", "nothing"]).contains("not the URL of a page"));
    assert!(museum.refused(&["capture", "--depth", "2"]).contains("a plan has groups"));
}

#[test]
fn an_empty_plan_is_not_followed_and_no_version_has_one() {
    let museum = Museum::new();
    assert!(museum.refused(&["capture"]).contains("varve plan root add"));
    let page = Path::new(museum.root()).join("page");
    std::fs::write(&page, "x").unwrap();
    let commit = ["commit", page.to_str().unwrap(), "--url", "https://a.com/", "-m", "one"];
    museum.good(&commit);
    assert!(museum.refused(&["plan", "restore"]).contains("neither a plan nor expectations"));
}

#[test]
fn a_commit_stores_the_plan_and_restore_writes_it() {
    let museum = filled();
    let page = Path::new(museum.root()).join("page");
    std::fs::write(&page, "x").unwrap();
    museum.good(&["commit", page.to_str().unwrap(), "--url", "https://a.com/", "-m", "one"]);
    std::fs::remove_file(Path::new(museum.root()).join("plan.yaml")).unwrap();
    let said = museum.good(&["plan", "restore"]);
    assert!(said.starts_with("restored  "), "{said}");
    assert_eq!(museum.text(), TEXT);
    assert!(museum.good(&["plan", "restore"]).starts_with("the same  "));
}

#[test]
fn the_members_of_a_group_are_the_captured_and_the_linked_pages() {
    let museum = filled();
    museum.good(&["plan", "group", "add", "https://xkcd.com/#/more", "--found-on", "Comics"]);
    let commit = |url: &str, text: &str| {
        let page = Path::new(museum.root()).join("page.html");
        std::fs::write(&page, text).unwrap();
        museum.good(&["commit", page.to_str().unwrap(), "--url", url, "-m", "one"]);
    };
    commit("https://xkcd.com/", "<a href=/1/>1</a> <a href='/2/#top'>2</a> <a href=/about>no comic</a>");
    commit("https://xkcd.com/1/", "<a href=/3/>not on Home</a> <a href=/1/more>more</a>");
    assert_eq!(
        museum.good(&["plan", "members", "Comics"]),
        "https://xkcd.com/1/\nhttps://xkcd.com/2/  missing\n"
    );
    assert_eq!(
        museum.good(&["plan", "members", "https://xkcd.com/#/", "--missing"]),
        "https://xkcd.com/2/\n"
    );
    assert_eq!(
        museum.good(&["plan", "members", "Comics", "--missing", "--json"]),
        "{\"schema\":1,\"url\":\"https://xkcd.com/2/\",\"captured\":false}\n"
    );
    assert!(museum.refused(&["plan", "members", "Nobody"]).contains("no group `Nobody`"));
    let tree = museum.good(&["plan", "tree"]);
    assert_eq!(
        tree,
        "root  Home  https://xkcd.com/\n  \
         group  Comics  https://xkcd.com/#/  1 captured, 1 missing\n    \
         group  https://xkcd.com/#/more  https://xkcd.com/#/more  0 captured, 1 missing\n\
         alias  https://ads.example/  https://ads.example/  live\n"
    );
    let tree: serde_json::Value = serde_json::from_str(&museum.good(&["plan", "tree", "--json"])).unwrap();
    let comics = &tree["roots"][0]["groups"][0];
    assert_eq!((&comics["name"], &comics["captured"]), (&"Comics".into(), &1.into()), "{tree}");
    assert_eq!(comics["groups"][0]["found_on"], "Comics", "{tree}");
}

#[test]
fn check_reports_roots_that_a_capture_refuses_because_they_are_private() {
    let museum = Museum::new();
    museum.good(&["plan", "root", "add", "http://127.0.0.1:1/", "--name", "here"]);
    museum.good(&["plan", "root", "add", "http://[::1]:1/", "--name", "there"]);
    let output = museum.varve(&["plan", "check"]);
    assert_eq!(output.status.code(), Some(1));
    let said = stdout(&output);
    assert!(said.contains("the root `here` has a loopback address: `varve capture` needs"), "{said}");
    assert!(said.contains("the root `there` has a loopback address"), "{said}");
    let settings = Path::new(museum.root()).join("varve.toml");
    let text = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, format!("allow_private = [\"127.0.0.0/8\"]\n{text}")).unwrap();
    let said = stdout(&museum.varve(&["plan", "check"]));
    assert!(!said.contains("`here`") && said.contains("`there`"), "{said}");
}
