//! Texts about history: diffs without colour, and messages about missing content.

use crate::history::{Place, places};
use crate::{stderr, stdout};

pub(crate) const URL: &str = "https://example.com/";

pub(crate) fn commit(place: &Place, body: &str, message: &str) -> String {
    place.file("page.html", body);
    let words = ["commit", "page.html", "--url", URL, "-m", message, "--json"];
    place.object(&words)["version"].as_str().unwrap().to_owned()
}

#[test]
fn an_impossible_dictionary_size_is_rejected() {
    let place = Place::new(true);
    for size in ["0", "9MiB"] {
        let said = place.failure(&["train", "--size", size]);
        assert!(said.contains("1 KiB to 8 MiB"), "{said}");
    }
    let settings = std::fs::read_to_string(place.path("museum/varve.toml")).unwrap();
    std::fs::write(place.path("museum/varve.toml"), settings.replace("gzip", "zstd")).unwrap();
    let said = place.failure(&["train"]);
    assert!(said.contains("no dictionary") && said.contains("commit some first"), "{said}");
}

/// HEAD is garbage, an unknown version or empty: a warning says so, and the versions are listed.
#[test]
fn versions_are_listed_with_a_warning_if_head_is_wrong() {
    for place in places() {
        let version = commit(&place, "x", "m");
        let head = place.path(if place.is_archive { "museum/HEAD" } else { "museum/.moku/HEAD" });
        assert_eq!(stderr(&place.run(&["log"])), "");
        let unknown = "00000000-0000-8000-8000-000000000000";
        for (content, words) in [
            (Some("no id"), "HEAD holds no id of a version".to_owned()),
            (Some(unknown), format!("HEAD names version {unknown}, which is not there")),
            (Some(""), "HEAD is missing or empty, and there are versions".to_owned()),
            (None, "HEAD is missing or empty, and there are versions".to_owned()),
        ] {
            match content {
                Some(content) => std::fs::write(&head, content).unwrap(),
                None => std::fs::remove_file(&head).unwrap(),
            }
            for log in [&["log"][..], &["log", "--json"]] {
                let output = place.run(log);
                assert_eq!(output.status.code(), Some(0));
                assert!(stdout(&output).contains(&version), "{}", stdout(&output));
                let said = stderr(&output);
                assert!(said.starts_with(&format!("warning: {words}")), "{said}");
                let advice = format!(
                    "; the next verb that writes moves it to {version}, `varve checkout VERSION` to another one\n"
                );
                assert!(said.ends_with(&advice), "{said}");
            }
        }
        place.data(&["tag", "kept"]);
        assert_eq!(std::fs::read_to_string(&head).unwrap().trim(), version);
        assert_eq!(stderr(&place.run(&["log"])), "");
    }
}

#[test]
fn words_that_differ_are_marked_without_colour() {
    for place in places() {
        commit(&place, "<p>one two three</p>\n", "1");
        commit(&place, "<p>one 2 three</p>\n", "2");
        let words = place.data(&["diff", "--mode", "words"]);
        assert!(
            words.contains("-<p>one [-two-] three</p>") && words.contains("+<p>one {+2+} three</p>"),
            "{words}"
        );
        let lines = place.data(&["diff"]);
        assert!(lines.contains("-<p>one two three</p>"), "{lines}");
    }
}

#[test]
fn a_changed_text_node_is_shown_once_with_marked_words() {
    for place in places() {
        commit(&place, "<p>We read\nthe old news.</p>\n", "1");
        commit(&place, "<p>We read the new news.</p>\n", "2");
        let told = place.data(&["diff", "--mode", "dom"]);
        assert!(told.contains("\nchanged html > body > p We read the [-old-]{+new+} news.\n"), "{told}");
    }
}

#[test]
fn tabs_are_kept_and_other_control_characters_escaped() {
    for place in places() {
        commit(&place, "\t<p>1</p>\u{1b}\n", "1");
        commit(&place, "\t<p>2</p>\u{1b}\n", "2");
        let told = place.data(&["diff"]);
        assert!(told.contains("-\t<p>1</p>\\u{1b}\n+\t<p>2</p>\\u{1b}\n"), "{told}");
    }
}

#[test]
fn stat_covers_every_kind_of_page() {
    for place in places() {
        let page = |url: &str, body: &str, header: &str| {
            format!(
                "{{\"url\":\"{URL}{url}\",\"body\":\"{body}\",\"headers\":{{\"X\":\"{header}\",\"Cookie\":\"c\"}}}}\n"
            )
        };
        let first =
            page("text", "a\\nb\\n", "1") + &page("binary", "\\u0000\\u0001", "1") + &page("head", "h", "1");
        let second = page("text", "a\\nc\\nd\\n", "1")
            + &page("binary", "\\u0000\\u0001\\u0002", "1")
            + &page("head", "h", "2");
        for lines in [first + &page("ends", "a\\r\\n", "1"), second + &page("ends", "a\\n", "1")] {
            place.file("pages.jsonl", &lines);
            place.data(&["commit", "--jsonl", "pages.jsonl", "-m", "m"]);
        }
        let stat = place.data(&["diff", "--stat"]);
        for line in ["text +2 -1\n", "binary 2 → 3 bytes\n", "head 1 header\n"] {
            assert!(stat.contains(line), "{stat}");
        }
        let headers = place.data(&["diff", "--mode", "headers", "--name-only"]);
        assert_eq!(headers, format!("M {URL}head\n"));
        let ends = place.data(&["diff", "--all", "--url", &format!("{URL}ends")]);
        assert!(ends.contains("only line endings or the encoding differ"), "{ends}");
        let hidden = place.data(&["diff", "--url", &format!("{URL}head")]);
        assert!(hidden.contains("redacted, not compared: cookie"), "{hidden}");
    }
}

#[test]
fn hidden_noise_is_listed_by_rule() {
    for place in places() {
        commit(&place, "<p nonce=\"aaaaaaaa1\">\nx\n<b>1</b>\n", "1");
        commit(&place, "<p nonce=\"bbbbbbbb2\">\nx\n<b>2</b>\n", "2");
        let told = place.data(&["diff"]);
        assert!(told.contains("1 change is noise: nonce."), "{told}");
    }
}

#[test]
fn pages_with_only_noise_are_listed_with_their_rules() {
    for place in places() {
        for nonce in ["aaaaaaaa1", "bbbbbbbb2"] {
            place.file("site/a.html", &format!("<p nonce=\"{nonce}\">\nx\n"));
            place.file("site/b.html", &format!("<p nonce=\"{nonce}\">\ny\n"));
            place.data(&["commit", "--from", "site", "--base-url", URL, "-m", nonce]);
        }
        let said = stderr(&place.run(&["diff"]));
        assert_eq!(said, "2 pages with only noise (nonce 2): `--all` shows them\n");
        let told = place.object(&["diff", "--json"]);
        assert_eq!(told["files"], serde_json::json!([]));
        assert_eq!(told["noise"][1]["url"], format!("{URL}b.html"));
        assert_eq!(told["noise"][1]["rules"], serde_json::json!({"nonce": 1}));
        let html = place.data(&["diff", "--format", "html"]);
        assert!(html.contains(&format!("<li>{URL}a.html: nonce 1</li>")), "{html}");
        for mode in ["lines", "words", "dom"] {
            let all = place.data(&["diff", "--all", "--mode", mode]);
            assert_eq!(all.matches("  # noise: nonce\n").count(), if mode == "dom" { 2 } else { 4 }, "{all}");
        }
    }
}

#[test]
fn noise_around_a_change_has_the_bytes_of_each_side() {
    for place in places() {
        for (nonce, text) in [("aaaaaaaa1", "old"), ("bbbbbbbb2", "new")] {
            commit(&place, &format!("<p nonce=\"{nonce}\">\n<b>{text}</b>\n"), text);
        }
        let lines = "-<p nonce=\"aaaaaaaa1\">  # noise: nonce\n+<p nonce=\"bbbbbbbb2\">  # noise: nonce\n-<b>old</b>\n";
        for mode in ["lines", "words"] {
            let told = place.data(&["diff", "--mode", mode]);
            let told = told.replace("[-", "").replace("-]", "");
            assert!(told.contains(lines), "{told}");
        }
        assert!(place.data(&["diff", "--stat"]).contains(" +1 -1\n"), "noise is not counted");
        let html = place.data(&["diff", "--format", "html"]);
        let row = html.lines().find(|row| row.contains("aaaaaaaa1")).expect("the older side");
        let (older, newer) = row.split_once("bbbbbbbb2").expect("the newer side in the same row");
        assert!(!newer.contains("aaaaaaaa1"), "{row}");
        assert!(older.contains("class=\"noise\" title=\"noise: nonce\""), "{row}");
    }
}

#[test]
fn changes_by_nodes_have_one_word_in_every_format() {
    for place in places() {
        commit(&place, "<h1>Old</h1><p id=a>A first text of some length.</p><p id=b>Second</p><hr>\n", "1");
        commit(
            &place,
            "<h1>New</h1><p id=b>Second</p><p id=a>A first text of some length.</p><i>x</i>\n",
            "2",
        );
        let words = ["changed", "moved", "added", "removed"];
        let json = place.object(&["diff", "--mode", "dom", "--json"]);
        let chunks = json["files"][0]["body_diff"]["chunks"].as_array().unwrap().clone();
        let told: Vec<_> = chunks.iter().map(|chunk| chunk["type"].as_str().unwrap()).collect();
        assert_eq!(told, words, "{json}");
        assert_eq!((&chunks[0]["before"], &chunks[0]["after"]), (&"Old".into(), &"New".into()), "{json}");
        let text = place.data(&["diff", "--mode", "dom"]);
        let html = place.data(&["diff", "--mode", "dom", "--format", "html"]);
        for word in words {
            assert_eq!(
                text.lines().filter(|line| line.starts_with(&format!("{word} "))).count(),
                1,
                "{text}"
            );
            assert_eq!(html.matches(&format!("<td>{word}</td>")).count(), 1, "{html}");
        }
        assert!(text.contains(": <p id=\"a\">A first text of some length.</p>\n"), "{text}");
    }
}

#[test]
fn different_markup_is_not_noise() {
    for place in places() {
        commit(&place, "<html><body><p>x</p></body></html>\n", "1");
        commit(&place, "<html><body><P>x</P></body></html>\n", "2");
        let words = ["diff", "--mode", "dom"];
        let said = stderr(&place.run(&words));
        assert_eq!(said, "1 page with different markup (the nodes are the same): `--all` shows them\n");
        let told = place.object(&["diff", "--mode", "dom", "--json"]);
        assert_eq!((&told["noise"], &told["alike"][0]["same"]), (&serde_json::json!([]), &"nodes".into()));
    }
}

#[test]
fn trailing_white_space_is_shown_or_ignored() {
    for place in places() {
        commit(&place, "a\nb", "1");
        commit(&place, "a\nb\n", "2");
        let told = place.data(&["diff"]);
        assert!(told.contains("-b\n\\ No newline at end of file\n+b\n"), "{told}");
        commit(&place, "a \t\nb\n", "3");
        assert!(place.data(&["diff"]).contains("+a"));
        let output = place.run(&["diff", "--ignore-trailing-space", "--exit-code"]);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""));
        assert!(
            stderr(&output).contains("1 page with different markup (the text is the same)"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn another_status_is_a_change() {
    for place in places() {
        for status in ["200", "500"] {
            place.file("page.html", "same\n");
            place.data(&["commit", "page.html", "--url", URL, "-m", status, "--status", status]);
        }
        let file = place.object(&["diff", "--json"])["files"][0].clone();
        if place.is_archive {
            // The page stays as it was while its server fails.
            assert_eq!(
                (&file["change"], &file["reason"]),
                (&"unreachable".into(), &"status 500".into()),
                "{file}"
            );
            let told = place.data(&["diff"]);
            assert!(told.contains("It could not be reached: status 500. The page is of "), "{told}");
            continue;
        }
        assert_eq!((&file["change"], &file["changed"]), (&"changed".into(), &true.into()), "{file}");
        assert_eq!(file["status"], serde_json::json!([200, 500]));
        let html = place.data(&["diff", "--format", "html"]);
        assert!(html.contains("<p>Status: 200 → 500.</p>"), "{html}");
    }
}

#[test]
fn a_moved_node_is_reported_as_moved() {
    for place in places() {
        let page = |inner: &str| format!("<html><body>{inner}</body></html>\n");
        let (main, footer) =
            ("<main><p>The main text of it all</p></main>", "<footer>The end of this page</footer>");
        commit(&place, &page(&format!("{main}<hr>{footer}")), "1");
        commit(&place, &page(&format!("{footer}{main}<hr>")), "2");
        let told = place.data(&["diff", "--mode", "dom"]);
        let place = "html > body > footer";
        let from = format!("from {place} /* after <hr> */ to {place} /* first */");
        let moved = format!("\nmoved {place} {from}: <footer>The end of this page</footer>\n");
        assert!(told.contains(&moved), "{told}");
    }
}

#[test]
fn an_html_diff_of_many_pages_is_one_document() {
    for place in places() {
        for content in ["one", "two"] {
            place.file("site/a.html", &format!("{content}\n"));
            place.file("site/b.html", &format!("{content}\n"));
            place.data(&["commit", "--from", "site", "--base-url", URL, "-m", content]);
        }
        let html = place.data(&["diff", "--format", "html"]);
        assert_eq!((html.matches("<!doctype").count(), html.matches("</html>").count()), (1, 1));
        for id in ["page-1", "page-2", "page-1-change-1", "page-2-change-1", "pages"] {
            assert_eq!(html.matches(&format!("id=\"{id}\"")).count(), 1, "{id}: {html}");
        }
        assert!(html.contains("<a href=\"#page-2\">https://example.com/b.html (changed)</a>"), "{html}");
        assert!(html.find("id=\"pages\"") < html.find("id=\"page-1\""), "{html}");
        assert!(html.contains("<p>Older: “one”") && html.contains("<p>Newer: “two”"), "{html}");
    }
}

#[test]
fn a_missing_body_is_never_an_empty_body() {
    for place in places() {
        commit(&place, "first\n", "1");
        commit(&place, "second\n", "2");
        let absent = if place.is_archive {
            place.data(&["purge", "--drop", URL, "--reason", "a test"]);
            [true, true]
        } else {
            let id = place.lines(&["log", URL, "--json"])[1]["body"].as_str().unwrap().to_owned();
            std::fs::remove_file(place.path(&format!("museum/.moku/blobs/{}/{id}", &id[..2]))).unwrap();
            [true, false]
        };
        let told = place.data(&["diff"]);
        assert!(told.contains("missing; `varve log URL` shows who removed a page and why"), "{told}");
        let file = place.object(&["diff", "--json"])["files"][0].clone();
        assert_eq!(file["absent"], serde_json::json!(absent));
        assert_eq!(file["body_diff"]["truncated"], true, "{file}");
        assert_eq!(file["body_diff"]["chunks"], serde_json::json!([]), "{file}");
        let written = place.run(&["checkout", "HEAD~1", "--to", "tree"]);
        assert_eq!(written.status.code(), Some(1), "{}", stderr(&written));
        assert!(stderr(&written).contains("`varve log URL` shows who"), "{}", stderr(&written));
        let told = place.failure(&["score", "HEAD~1"]);
        assert!(told.contains("the bodies are missing") && told.contains("`varve log URL`"), "{told}");
        if !place.is_archive {
            let told = stderr(&place.run(&["score"]));
            let wanted = "1 page not compared with the parent's: their bodies are missing";
            assert!(told.contains(wanted) && told.contains(URL), "{told}");
        }
    }
}

/// Flips a byte in the largest body.
fn damage_the_longest_body(place: &Place, url: &str) {
    let path = if place.is_archive {
        place.path("museum/warc/0/00000000.warc.gz")
    } else {
        let id = place.lines(&["log", url, "--json"])[0]["body"].as_str().unwrap().to_owned();
        place.path(&format!("museum/.moku/blobs/{}/{id}", &id[..2]))
    };
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
}

#[test]
fn a_damaged_body_affects_only_its_own_page() {
    // The second page is streamed, and fails after a part was written.
    for letters in [300_000, 6_000_000] {
        for place in places() {
            let commit = ["commit", "--from", "site", "--base-url", "https://e.org/", "-m", "m"];
            place.file("site/b.html", "old");
            place.data(&commit);
            place.file("site/b.html", "new <form action=/login><input type=password name=p></form>");
            let numbers = (0..letters / 8_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32);
            place.file("site/a.html", &numbers.map(|n| format!("{n:08x}")).collect::<String>());
            place.data(&commit);
            damage_the_longest_body(&place, "https://e.org/a.html");
            let shown = place.run(&["diff", "--json"]);
            assert_eq!(shown.status.code(), Some(1), "{}", stderr(&shown));
            let shown: serde_json::Value = serde_json::from_str(&stdout(&shown)).unwrap();
            assert_eq!(shown["files"][0]["damaged"], serde_json::json!([false, true]), "{shown}");
            assert_eq!(shown["files"][1]["body_diff"]["chunks"][0]["content"], "old", "{shown}");
            let said = stdout(&place.run(&["diff"]));
            assert!(said.contains("The body of the newer version is damaged; `varve audit`"), "{said}");
            let scored = place.run(&["score"]);
            assert_eq!(scored.status.code(), Some(1), "{}", stderr(&scored));
            assert!(stdout(&scored).contains("https://e.org/b.html"), "{}", stdout(&scored));
            let written = place.run(&["checkout", "HEAD", "--to", "out", "--layout", "moku", "--json"]);
            assert_eq!(written.status.code(), Some(1), "{}", stderr(&written));
            assert!(stdout(&written).contains(r#""written":1,"removed":0,"absent":0,"damaged":1"#));
            assert!(place.path("out/b.html/.page_body").is_file());
            assert!(!place.path("out/a.html/.page_body").exists(), "half a page is no page");
        }
    }
}

#[test]
fn headers_of_pages_that_are_too_long_are_compared() {
    let long = 64 * 1024 * 1024 + 1;
    for place in places() {
        let versions = ["one", "two"].map(|word| {
            let file = std::fs::File::create(place.path("long.bin")).unwrap();
            std::io::Write::write_all(&mut &file, word.as_bytes()).unwrap();
            file.set_len(long).unwrap();
            let header = format!("X-Word: {word}");
            let words = ["commit", "long.bin", "--url", URL, "-m", word, "--header", &header, "--json"];
            place.object(&words)["version"].as_str().unwrap().to_owned()
        });
        let [base, head] = &versions;
        let shown = place.data(&["diff", base, head, "--mode", "headers"]);
        assert!(shown.contains("- x-word: one\n+ x-word: two"), "{shown}");
        let shown = place.data(&["diff", base, head]);
        assert!(shown.contains("x-word") && shown.contains("too large to compare"), "{shown}");
        let file = place.object(&["diff", base, head, "--json"])["files"][0].clone();
        assert_eq!(file["body_diff"]["truncated"], true, "{file}");
        assert_eq!(file["body_diff"]["chunks"], serde_json::json!([]), "not compared, it has no chunks");
        assert_eq!(file["headers_diff"]["changed"]["x-word"]["to"][0], "two", "{file}");
    }
}

#[test]
fn pages_with_nothing_to_protect_are_counted() {
    for place in places() {
        for (name, body) in
            [("a.html", "<form action=/login><input type=password name=p></form>"), ("b.html", "b")]
        {
            place.file(&format!("site/{name}"), body);
        }
        place.file("site/c.html", "c");
        place.data(&["commit", "--from", "site", "--base-url", URL, "-m", "m"]);
        let told = place.data(&["score", "--explain"]);
        assert!(told.contains("2 more pages score 0.") && !told.contains("b.html"), "{told}");
        assert!(!place.data(&["score", "--json"]).contains("-0.0"));
    }
}

#[test]
fn a_purge_of_nothing_says_so() {
    let place = Place::new(true);
    commit(&place, "x", "1");
    let output = place.run(&["purge", "--drop", "https://example.com/other", "--reason", "a test"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""));
    assert!(stderr(&output).contains("nothing matched"), "{}", stderr(&output));
}

#[test]
fn differences_of_a_second_capture_are_noise() {
    let page = |text: &str, visitors: &str| {
        format!(
            "<html><body>\n<p>{text}</p>\n<p>You are visitor number {visitors} of this page</p>\n</body></html>\n"
        )
    };
    for place in places() {
        let first = commit(&place, &page("old", "eleven"), "first");
        let quiet = commit(&place, &page("old", "twenty"), "only the counter");
        let edited = commit(&place, &page("new", "thirty"), "an edit");
        let twin = commit(&place, &page("new", "forty-one"), "taken together with the edit");
        let alone = place.data(&["diff", &quiet, &edited]);
        assert!(alone.contains("+<p>new</p>") && alone.contains("thirty"), "{alone}");
        let taught = place.data(&["diff", &quiet, &edited, "--noise-from", &twin]);
        let counter = "+<p>You are visitor number thirty of this page</p>";
        assert!(taught.contains("+<p>new</p>\n"), "{taught}");
        assert!(taught.contains(&format!("{counter}  # noise: learned\n")), "{taught}");
        let stat = place.data(&["diff", &quiet, &edited, "--noise-from", &twin, "--stat"]);
        assert!(stat.ends_with(" +1 -1\n"), "{stat}");
        let all = place.data(&["diff", &quiet, &edited, "--noise-from", &twin, "--all"]);
        assert!(all.contains("+<p>You are visitor number thirty"), "{all}");
        let nothing = place.run(&["diff", &first, &quiet, "--noise-from", &first, "--exit-code"]);
        assert_eq!(nothing.status.code(), Some(0), "{}", stdout(&nothing));
    }
}

/// The score of a version is that of one page: only changes of that page explain it.
#[test]
fn the_change_of_a_score_is_explained_by_the_page_that_makes_it() {
    let form = "<form action=/login><input type=password name=p></form>";
    let more = format!("{form}<form action=/x><input name=q></form>");
    let many = more.repeat(3);
    for place in places() {
        let explained = |pages: &[(&str, &str)]| {
            let page = |name: &str, body: &str, status: u16| {
                let url = format!("https://e.org/{name}");
                serde_json::json!({"url": url, "body": body, "status": status}).to_string()
            };
            let mut lines: Vec<String> = pages.iter().map(|(name, body)| page(name, body, 200)).collect();
            if place.is_archive {
                // A page of an archive is there until it is found gone.
                let is_absent = |name: &&str| pages.iter().all(|(other, _)| other != name);
                lines.extend(
                    ["top", "other", "low"]
                        .iter()
                        .filter(|name| is_absent(name))
                        .map(|name| page(name, "", 410)),
                );
            }
            place.file("pages.jsonl", &lines.join("\n"));
            place.data(&["commit", "--jsonl", "pages.jsonl", "-m", "m"]);
            place.data(&["score", "--explain"])
        };
        explained(&[("top", form), ("other", form)]);
        let why = explained(&[("top", &more)]);
        let moved: Vec<_> = why.lines().filter(|line| line.contains(" %) ")).collect();
        assert!(why.contains("The score changed from 66 in "), "{why}");
        assert!(moved.len() == 3 && moved.iter().all(|line| line.starts_with('+')), "{moved:?}");
        assert!(
            why.contains("do not make that of the version: https://e.org/other, 66 before, gone."),
            "{why}"
        );
        let why = explained(&[("top", &more), ("low", form)]);
        assert!(why.contains("The score is unchanged since ") && !why.contains(" %) "), "{why}");
        let why = explained(&[("top", &more), ("low", &many)]);
        assert!(why.contains("The most exposed page was https://e.org/top, with 82, and is"), "{why}");
        let told = place.object(&["score", "--json"]);
        assert_eq!(told["most_exposed"], "https://e.org/low");
        assert_eq!(told["most_exposed_before"], "https://e.org/top");
        let told =
            told["attributions"].as_array().unwrap().iter().map(|one| one["contribution"].as_f64().unwrap());
        assert!((told.sum::<f64>() - (3.0 * 82.0 - 82.0)).abs() < 1e-9);
        // Both are 100 of 100; smaller movements are not given as the cause.
        let why = explained(&[("low", &more.repeat(4))]);
        assert!(why.contains("capping at 100 it moved by +82.00:"), "{why}");
    }
}

/// A compared body is `truncated` too, if its chunks are incomplete.
#[test]
fn a_very_large_diff_has_chunks_and_is_truncated() {
    let lines = |seed: u64| -> String {
        let number = |n: u64| (n ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..300_000).map(|n| format!("{:016x}\n", number(n))).collect()
    };
    let place = Place::new(true);
    commit(&place, &lines(0), "1");
    commit(&place, &lines(1 << 40), "2");
    for words in [&["diff", "--json"][..], &["diff", "--json", "--mode", "chars"]] {
        let body = place.object(words)["files"][0]["body_diff"].clone();
        assert_eq!(body["truncated"], true, "{words:?}");
        let chunks = body["chunks"].as_array().unwrap();
        let told: usize = chunks.iter().map(|chunk| chunk["content"].as_str().unwrap().len()).sum();
        assert!(0 < told && told <= 4 << 20, "{words:?}: {told} bytes");
    }
    let help = place.data(&["diff", "--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("is `truncated` if it is incomplete"), "{help}");
    assert!(help.contains("A body that was not compared has no chunks"), "{help}");
}
