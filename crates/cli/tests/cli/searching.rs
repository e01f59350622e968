//! `search` and `blame`: output, exit codes, and archives that cannot be written.

use crate::history::{Place, places};
use crate::{stderr, stdout};

const COMMIT: [&str; 9] =
    ["commit", "--from", "site", "--base-url", "https://e.org/", "--json", "--author", "Ada", "-m"];

/// Two versions: a promise is taken back, and a page is removed. Returns their ids.
fn two_versions(place: &Place) -> [String; 2] {
    place.file(
        "site/index.html",
        "<title>Terms</title><nav>Menu</nav><p>We never sell your data.</p><p>Café.</p>",
    );
    place.file("site/roof.html", "<title>Roofs</title><p>Slate \u{1b}[31mlasts.</p>");
    let first = place.object(&[&COMMIT[..], &["first"]].concat());
    place.file("site/index.html", "<title>Terms</title><p>We may sell your data.</p><p>Café.</p>");
    std::fs::remove_file(place.path("site/roof.html")).unwrap();
    let second = place.object(&[&COMMIT[..], &["second"]].concat());
    [first, second].map(|done| done["version"].as_str().unwrap().to_owned())
}

#[test]
fn hits_are_shown_with_their_history_and_the_exit_code_is_that_of_grep() {
    for place in places() {
        let [first, second] = two_versions(&place);
        let found = place.data(&["search", "cafe", "sell"]);
        assert!(found.starts_with("Terms\nhttps://e.org/index.html  "), "{found}");
        assert!(found.contains("We may [sell] your data."), "{found}");
        for words in [
            &["search", "never"][..],
            &["search", "slate"],
            &["search", "menu", "--ever"],
            &["search", "sell", "--", "-may"],
        ] {
            let none = place.run(words);
            assert_eq!((none.status.code(), stdout(&none)), (Some(1), String::new()), "{words:?}");
            assert!(stderr(&none).contains("match"), "{}", stderr(&none));
        }
        assert!(place.data(&["search", "slate", "--at", "HEAD~1"]).contains("\\u{1b}[31mlasts"));
        let hit = place.object(&["search", "\"never sell your data\"", "--ever", "--json"]);
        assert_eq!(
            (&hit["first_seen"]["version"], &hit["last_seen"]["version"]),
            (&first.as_str().into(), &first.as_str().into())
        );
        assert_eq!(
            (&hit["title"], &hit["type"], &hit["current"]),
            (&"Terms".into(), &"page".into(), &false.into())
        );
        assert_eq!(hit["changes"][1]["event"], "vanished");
        assert_eq!(hit["changes"][1]["version"], second.as_str());
        assert_eq!(
            (&hit["snippet"], &hit["marks"]),
            (&"We never sell your data.".into(), &serde_json::json!([[3, 23]]))
        );
        let text = place.data(&["search", "slate", "--ever"]);
        assert!(text.contains("first seen ") && text.contains("gone "), "{text}");
        assert_eq!(place.lines(&["search", "e.org", "--ever", "--json", "-n", "1"]).len(), 1);
        assert_eq!(place.lines(&["search", "data", "--site", "e.org", "--type", "page", "--json"]).len(), 1);
        assert_eq!(place.run(&["search", "data", "--type", "text"]).status.code(), Some(1));
        assert_eq!(place.run(&["search", "data", "--until", "2001-01-01"]).status.code(), Some(1));
        assert!(place.failure(&["search", "…"]).contains("no word"));
    }
}

#[test]
fn the_index_is_made_when_it_may_be_and_never_otherwise() {
    let place = Place::new(true);
    two_versions(&place);
    let index = place.path("museum/search.db");
    assert!(!index.exists(), "a commit leaves the index to the next search");
    assert!(place.data(&["--readonly", "search", "sell"]).contains("[sell]"));
    assert!(!index.exists());
    assert!(place.data(&["search", "sell"]).contains("[sell]"));
    assert!(index.exists());
    std::fs::write(&index, "no database").unwrap();
    assert!(place.data(&["search", "sell"]).contains("[sell]"));
    std::fs::remove_file(&index).unwrap();
    place.data(&["rebuild"]);
    assert!(index.exists());
    assert!(place.data(&["--index-in", "caches", "search", "sell"]).contains("[sell]"));
    assert!(place.path("caches/varve-caches/search.db").exists());
}

#[test]
fn blame_names_version_time_and_author() {
    for place in places() {
        let [first, second] = two_versions(&place);
        let lines = place.lines(&["blame", "https://e.org/index.html", "--json"]);
        let seen: Vec<_> = lines
            .iter()
            .map(|line| (line["text"].as_str().unwrap(), line["version"].as_str().unwrap()))
            .collect();
        assert_eq!(
            seen,
            [
                ("Terms", first.as_str()),
                ("We may sell your data.", second.as_str()),
                ("Café.", first.as_str())
            ]
        );
        let text = place.data(&["blame", "https://e.org/index.html"]);
        assert!(text.starts_with(&first[..8]) && text.lines().all(|line| line.contains("  Ada  ")), "{text}");
        assert_eq!(place.lines(&["blame", "https://e.org/index.html", "--html", "--json"]).len(), 1);
        assert!(place.failure(&["blame", "https://e.org/other"]).contains("https://e.org/other"));
    }
}

#[test]
fn a_history_is_in_the_order_of_time_and_names_the_commands_that_show_more() {
    let place = Place::new(true);
    let page = |text: &str| place.file("site/index.html", &format!("<title>Ferry</title><p>{text}</p>"));
    let versions =
        ["It costs four francs.", "It costs six.", "It costs four francs.", "It is gone."].map(|text| {
            page(text);
            let done = place.object(&[&COMMIT[..], &["a commit"]].concat());
            done["version"].as_str().unwrap()[..8].to_owned()
        });
    let output = place.run(&["search", "four", "francs", "--ever"]);
    let lines: Vec<String> = stdout(&output).lines().map(str::to_owned).collect();
    let events = lines.iter().filter_map(|line| {
        let (what, version) = (line.strip_prefix("    ")?.get(..10)?.trim(), line.rsplit(' ').next()?);
        ["first seen", "gone", "back", "last seen"].contains(&what).then(|| (what, version.to_owned()))
    });
    let [first, second, third, fourth] = versions;
    let wanted = [
        ("first seen", first),
        ("gone", second),
        ("back", third.clone()),
        ("last seen", third.clone()),
        ("gone", fourth.clone()),
    ];
    assert_eq!(events.collect::<Vec<_>>(), wanted, "{lines:#?}");
    let hint = stderr(&output);
    let url = "'https://e.org/index.html'";
    assert!(hint.contains(&format!("`varve extract {url} --at {third}`")), "{hint}");
    assert!(hint.contains(&format!("`varve diff {fourth}~1 {fourth} --mode dom --url {url}`")), "{hint}");
    let url = url.trim_matches('\'');
    assert!(place.data(&["extract", url, "--at", &third]).contains("four francs"));
    let diff = place.data(&["diff", &format!("{fourth}~1"), &fourth, "--mode", "dom", "--url", url]);
    assert!(diff.contains("costs four francs"), "{diff}");
    let current = place.run(&["search", "ferry", "--ever"]);
    assert!(!stderr(&current).contains("hint:"), "nothing has changed: {}", stderr(&current));
}

#[test]
fn versions_that_cannot_be_searched_are_reported_with_the_reason() {
    let place = Place::new(true);
    two_versions(&place);
    place.data(&["search", "sell"]);
    place.file("site/new.html", "<title>New</title><p>Zeppelins.</p>");
    place.data(&[&COMMIT[..], &["third"]].concat());
    let output = place.run(&["--readonly", "search", "zeppelins"]);
    assert_eq!(output.status.code(), Some(1));
    let reason = stderr(&output);
    assert!(
        reason.contains("1 version cannot be searched") && reason.contains("may not be written"),
        "{reason}"
    );
    assert!(place.data(&["search", "zeppelins"]).contains("[Zeppelins]"));
}
