//! Lists of versions and captures: paging, times, spellings of URLs, and the graph.

use crate::history::{Place, places};
use crate::history_words::{URL, commit};
use crate::stderr;

#[test]
fn captures_of_a_page_are_paged() {
    for place in places() {
        let versions: Vec<String> = (0..5).map(|n| commit(&place, &format!("{n}\n"), "m")).collect();
        let mut seen = Vec::new();
        let mut words = vec!["log", URL, "--limit", "2", "--json"];
        loop {
            let piece = place.lines(&words);
            seen.extend(piece.iter().map(|line| line["version"].as_str().unwrap().to_owned()));
            let Some(last) = seen.last().filter(|_| piece.len() == 2) else { break };
            let last = versions.iter().find(|version| *version == last).unwrap();
            words = vec!["log", URL, "--limit", "2", "--json", "--after", last];
        }
        assert_eq!(seen, versions.iter().rev().cloned().collect::<Vec<_>>());
        let elsewhere = place.failure(&["log", "https://example.com/other", "--after", "HEAD"]);
        assert!(elsewhere.contains("nothing was captured of `https://example.com/other`"), "{elsewhere}");
    }
}

/// A version may contain two spellings of a page; paging must lose neither.
#[test]
fn paging_loses_no_spelling() {
    let other = "https://example.com/?b=2&a=1";
    let same = "https://example.com/?a=1&b=2";
    for place in places() {
        let versions = ["1", "2"].map(|body| {
            place.file("one.html", body);
            place.file("two.html", body);
            let words =
                ["commit", "one.html", "two.html", "--url", same, "--url", other, "-m", "m", "--json"];
            place.object(&words)["version"].as_str().unwrap().to_owned()
        });
        let first = place.lines(&["log", same, "--json", "-n", "1"]);
        let spellings = |lines: &[serde_json::Value]| -> Vec<String> {
            let mut urls: Vec<_> =
                lines.iter().map(|line| line["url"].as_str().unwrap().to_owned()).collect();
            urls.sort_unstable();
            urls
        };
        assert_eq!(spellings(&first), [same, other], "all of a version");
        assert!(first.iter().all(|line| line["version"] == versions[1].as_str()), "{first:?}");
        let rest = place.lines(&["log", same, "--json", "-n", "1", "--after", &versions[1]]);
        assert_eq!(spellings(&rest), [same, other], "behind all of a version");
        assert!(rest.iter().all(|line| line["version"] == versions[0].as_str()), "{rest:?}");
        let third = place.lines(&["log", same, "--json", "--after", &versions[0]]);
        assert!(third.is_empty(), "{third:?}");
    }
}

/// Captures of versions may interleave in time, or have the same time.
#[test]
fn paging_loses_and_repeats_nothing_where_versions_interleave() {
    let spellings = [
        "https://example.com/?a=1&b=2",
        "https://example.com/?b=2&a=1",
        "https://example.com/?utm_source=x&a=1&b=2",
    ];
    for place in places() {
        let history = [[1, 50, 30], [40, 41, 2], [30, 3, 30], [20, 30, 59], [30, 4, 45], [9, 8, 7]];
        for (number, seconds) in history.iter().enumerate() {
            let line = |(url, second): (&&str, &u32)| {
                format!(
                    "{{\"url\":\"{url}\",\"body\":\"{number} {second}\",\"time\":\"2026-01-01T00:00:{second:02}Z\"}}\n"
                )
            };
            place.file("pages.jsonl", &spellings.iter().zip(seconds).map(line).collect::<String>());
            place.data(&["commit", "--jsonl", "pages.jsonl", "-m", "m"]);
        }
        for url in spellings {
            let whole = place.lines(&["log", url, "--json"]);
            assert_eq!(whole.len(), 18);
            for limit in 1..8 {
                let limit = limit.to_string();
                let mut pieces = place.lines(&["log", url, "--json", "-n", &limit]);
                while let Some(last) = pieces.last() {
                    let after = last["version"].as_str().unwrap().to_owned();
                    let piece = place.lines(&["log", url, "--json", "-n", &limit, "--after", &after]);
                    if piece.is_empty() {
                        break;
                    }
                    pieces.extend(piece);
                    assert!(pieces.len() <= whole.len(), "{url}, {limit} at a time: {pieces:?}");
                }
                assert_eq!(pieces, whole, "{url}, {limit} at a time");
            }
        }
    }
}

#[test]
fn versions_are_found_by_any_spelling_of_a_url() {
    for place in places() {
        place.file("page.html", "x");
        place.data(&["commit", "page.html", "--url", "https://example.com/?a=1&b=2", "-m", "m"]);
        let found = |url: &str| place.lines(&["log", "--touching", url, "--json"]).len();
        assert_eq!(found("https://example.com/?b=2&a=1"), 1);
        assert_eq!(found("https://example.com/?a=1&b=2"), 1);
        assert_eq!(found("https://example.com/?a=1"), 0);
    }
}

#[test]
fn a_day_counts_to_its_end() {
    for place in places() {
        let version = commit(&place, "x", "m");
        let time = place.object(&["log", "--json"])["time"].as_str().unwrap().to_owned();
        let day = &time[..10];
        for words in [vec!["log", "--json"], vec!["log", URL, "--json"]] {
            let words = [&words[..], &["--since", day, "--until", day]].concat();
            assert_eq!(place.lines(&words).len(), 1, "{words:?}");
        }
        assert_eq!(place.data(&["cat", URL, "--at", day]), "x");
        // The name of a day selects a version of that day.
        for name in [day, &time] {
            assert_eq!(place.lines(&["show", name, "--json"])[0]["id"], version.as_str(), "{name}");
            assert_eq!(place.data(&["diff", name, "HEAD", "--name-only"]), "", "{name}");
        }
        // Digits that begin no id are a time.
        for digits in [&day.replace('-', ""), &time[..4]] {
            assert_eq!(place.data(&["cat", URL, "--at", digits]), "x");
            assert_eq!(place.lines(&["show", digits, "--json"])[0]["id"], version.as_str(), "{digits}");
        }
        assert!(place.failure(&["show", "1999"]).contains("there was no version yet at `1999`"));
        let whole = format!("{}235959", day.replace('-', ""));
        assert_eq!(place.data(&["cat", URL, "--at", &whole]), "x");
        assert_eq!(place.lines(&["show", &whole, "--json"])[0]["id"], version.as_str());
        assert!(place.failure(&["show", "2020-01-01"]).contains("there was no version yet at `2020-01-01`"));
        assert!(place.lines(&["log", "--json", "--until", "2020-01-01"]).is_empty(), "{version}");
    }
}

/// Replay and `log` show times to the second, and captures have more precise times.
#[test]
fn a_second_counts_to_its_end() {
    for place in places() {
        for (time, body) in [("2024-03-01T08:13:46.25Z", "one"), ("2024-03-01T08:13:47.5Z", "two")] {
            place.file(
                "page.json",
                &serde_json::json!({ "url": URL, "body": body, "time": time }).to_string(),
            );
            place.data(&["commit", "--jsonl", "page.json", "-m", body]);
        }
        for second in ["20240301081346", "2024-03-01 08:13:46", "2024-03-01T08:13:46Z"] {
            assert_eq!(place.data(&["cat", URL, "--at", second]), "one", "{second}");
            assert_eq!(place.lines(&["log", URL, "--json", "--until", second]).len(), 1, "{second}");
        }
        // A Moku site stores whole seconds.
        if place.is_archive {
            place.failure(&["cat", URL, "--at", "2024-03-01T08:13:46.2Z"]);
        }
        assert_eq!(place.data(&["cat", URL, "--at", "2024-03-01T08:13:46.3Z"]), "one");
    }
}

#[test]
fn an_empty_list_says_so() {
    for place in places() {
        if place.is_archive {
            assert!(stderr(&place.run(&["log"])).contains("there are no versions yet"));
        }
        commit(&place, "x", "m");
        assert!(stderr(&place.run(&["log", "--author", "nobody"])).contains("no version matches"));
        let unknown = place.failure(&["log", "--tag", "nope"]);
        assert!(unknown.contains("there is no tag `nope`") && unknown.contains("hint: "), "{unknown}");
    }
}

#[test]
fn the_graph_leaves_room_beside_every_line() {
    for place in places() {
        let root = commit(&place, "1", "root");
        commit(&place, "2", "left");
        place.file("page.html", "3");
        place.data(&["commit", "page.html", "--url", URL, "-m", "right", "--parent", &root]);
        let drawn = place.data(&["log", "--graph"]);
        let columns: Vec<usize> = drawn
            .lines()
            .filter(|line| line.contains("1 capture"))
            .map(|line| line.find("20").unwrap())
            .collect();
        let nodes: Vec<usize> =
            drawn.lines().filter_map(|line| line.find('*')).map(|node| node + 2).collect();
        assert_eq!(columns.len(), 3);
        assert!(columns.iter().zip(&nodes).all(|(text, node)| text >= node), "{drawn}");
    }
}

/// By a purge in an archive; in a site its row is lost.
#[test]
fn the_graph_ends_at_a_purged_parent() {
    for place in places() {
        let versions = ["1", "2", "3"].map(|body| commit(&place, body, body));
        if place.is_archive {
            place.data(&["purge", "--drop-version", &versions[1], "--reason", "a mistake"]);
        } else {
            let database = rusqlite::Connection::open(place.path("museum/.moku/moku.db")).unwrap();
            database.pragma_update(None, "foreign_keys", false).unwrap();
            database.execute("DELETE FROM versions WHERE id = ?1", [&versions[1]]).unwrap();
        }
        let drawn = place.data(&["log", "--graph"]);
        let gone = format!("its parent {} is missing", &versions[1][..8]);
        let lines: Vec<&str> = drawn.lines().collect();
        let at = |text: &str| lines.iter().position(|line| line.contains(text)).unwrap();
        assert!(at(&versions[2]) < at(&gone) && at(&gone) < at(&versions[0]), "{drawn}");
        assert!(lines[at(&versions[0])].starts_with("* "), "nothing runs beside it: {drawn}");
        assert!(!drawn.contains('|'), "{drawn}");
    }
}

/// A capture with a damaged record is marked, and the others are listed.
#[test]
fn a_damaged_capture_hides_no_other() {
    let place = Place::new(true);
    let silo = place.path("museum/warc/0/00000000.warc.gz");
    let commit = |body: &str| {
        place.file("page.html", body);
        place.data(&["commit", "page.html", "--url", "https://example.com/", "-m", "m"]);
        std::fs::metadata(&silo).unwrap().len() as usize
    };
    let first = commit("one");
    commit("two");
    commit("three");
    let mut bytes = std::fs::read(&silo).unwrap();
    bytes[first + 20..first + 40].fill(0);
    std::fs::write(&silo, bytes).unwrap();
    let told = place.data(&["log", "https://example.com/"]);
    assert_eq!((told.lines().count(), told.matches("its record is damaged").count()), (3, 1), "{told}");
    let lines = place.lines(&["log", "https://example.com/", "--json"]);
    let damaged: Vec<bool> = lines.iter().map(|line| line["damaged"] == true).collect();
    assert_eq!(damaged, [false, true, false], "{lines:?}");
}

/// A damaged dictionary stops writers, with a hint.
#[test]
fn a_damaged_dictionary_is_named() {
    let place = Place::new(true);
    let settings = std::fs::read_to_string(place.path("museum/varve.toml")).unwrap();
    std::fs::write(place.path("museum/varve.toml"), settings.replace("gzip", "zstd")).unwrap();
    for number in 0..120 {
        let text = format!("<html><body><h1>Page {number}</h1><p>{}</p></body></html>", number * number);
        place.file(&format!("site/{number}.html"), &text.repeat(20));
    }
    let commit = |message: &str| {
        place.run(&["commit", "--from", "site", "--base-url", "https://example.com/", "-m", message])
    };
    assert_eq!(commit("one").status.code(), Some(0));
    place.data(&["train"]);
    let path = place.path("museum/dictionary.zstd");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 2;
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    place.file("site/new.html", "new");
    let refused = commit("two");
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("`dictionary.zstd` is damaged: `varve train`"), "{}", stderr(&refused));
    place.data(&["train"]);
    assert_eq!(commit("two").status.code(), Some(0));
    place.data(&["audit"]);
}
