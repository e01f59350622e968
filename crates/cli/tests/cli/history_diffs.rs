//! Notes of a diff: redacted headers, truncated responses, bodies that cannot be read.

use crate::history::{Place, places};
use crate::{stderr, stdout};

const URL: &str = "https://example.com/";

/// Commits a page with these headers.
fn commit(place: &Place, body: &str, headers: &[&str]) -> String {
    place.file("page.html", body);
    let mut words = vec!["commit", "page.html", "--url", URL, "-m", "m", "--json"];
    words.extend(headers.iter().flat_map(|header| ["--header", header]));
    place.object(&words)["version"].as_str().unwrap().to_owned()
}

#[test]
fn options_without_effect_are_rejected() {
    for place in places() {
        commit(&place, "one", &[]);
        for asked in [["--stat", "--json"], ["--name-only", "--json"], ["--stat", "--format=html"]] {
            let refused = place.run(&["diff", asked[0], asked[1]]);
            assert_eq!(refused.status.code(), Some(2), "{asked:?}: {}", stdout(&refused));
            assert!(stderr(&refused).contains("cannot be used with"), "{}", stderr(&refused));
        }
    }
}

#[test]
fn an_added_or_removed_redacted_header_is_a_change() {
    for place in places() {
        commit(&place, "same", &["Cookie: k=1", "X: 1"]);
        commit(&place, "same", &["Cookie: k=2", "X: 1", "Set-Cookie: id=secret"]);
        let text = place.data(&["diff"]);
        assert_eq!(
            text,
            format!(
                "M {URL}\n+ set-cookie: [REDACTED]\nredacted, not compared: cookie\n\
                 The bodies are the same, byte for byte.\n\n"
            )
        );
        assert_eq!(place.data(&["diff", "--stat"]), format!("M {URL} 1 header (redacted: +set-cookie)\n"));
        assert_eq!(place.data(&["diff", "--mode", "headers", "--name-only"]), format!("M {URL}\n"));
        let html = place.data(&["diff", "--format", "html"]);
        assert!(html.contains("<td>added</td><td>set-cookie</td>"), "{html}");
        assert!(![&text, &html].iter().any(|shown| shown.contains("secret")));
        let file = place.object(&["diff", "--json"])["files"][0].clone();
        assert_eq!(file["headers_diff"], serde_json::json!({"redacted": ["cookie", "set-cookie"]}));
        assert_eq!(file["redacted_headers"], serde_json::json!({"cookie": "both", "set-cookie": "added"}));
        commit(&place, "same", &["X: 1"]);
        let gone = place.data(&["diff", "--mode", "headers"]);
        assert!(gone.contains("- cookie: [REDACTED]\n- set-cookie: [REDACTED]\n"), "{gone}");
    }
}

/// The path of the only body of a site that contains this text.
fn body(place: &Place, text: &str) -> std::path::PathBuf {
    let blobs = std::fs::read_dir(place.path("museum/.moku/blobs")).unwrap();
    let mut files = blobs.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
    files
        .find_map(|file| {
            Some(file.unwrap().path()).filter(|path| std::fs::read(path).unwrap() == text.as_bytes())
        })
        .unwrap()
}

#[test]
fn the_problem_of_a_body_is_reported() {
    let damage = |path: &std::path::Path| std::fs::write(path, "odd").unwrap();
    let lose = |path: &std::path::Path| std::fs::remove_file(path).unwrap();
    // Not even root can read a folder as a file.
    let forbid = |path: &std::path::Path| {
        std::fs::remove_file(path).unwrap();
        std::fs::create_dir(path).unwrap();
    };
    for (harm, word, code, of_diff, of_many) in [
        (
            &damage as &dyn Fn(&std::path::Path),
            "damaged",
            1,
            "damaged; `varve audit` lists the damage.",
            "damaged; `varve audit`",
        ),
        (&lose, "absent", 0, "missing; `varve log URL` shows", "missing; `varve log URL` shows"),
        (&forbid, "unreadable", 1, "unreadable: is a directory.", "cannot be read: is a directory"),
    ] {
        let place = Place::new(false);
        let other = format!("{URL}other");
        let [first, second] = ["one", "two"].map(|text| {
            place.file("page.html", text);
            place.file("other.html", "other");
            let words = ["commit", "page.html", "other.html", "--url", URL, "--url", &other, "-m", "m"];
            place.data(&words).trim().to_owned()
        });
        place.data(&["checkout", &first]);
        harm(&body(&place, "two"));
        let shown = place.run(&["diff", &first, &second, "--json"]);
        assert_eq!(shown.status.code(), Some(code), "{word}: {}", stderr(&shown));
        let file = serde_json::from_str::<serde_json::Value>(&stdout(&shown)).unwrap()["files"][0].clone();
        for other in ["absent", "damaged", "unreadable"] {
            let expected =
                if other == word { serde_json::json!([false, true]) } else { serde_json::Value::Null };
            assert_eq!(file[other], expected, "{word}: {file}");
        }
        let text = stdout(&place.run(&["diff", &first, &second]));
        assert!(text.contains(&format!("The body of the newer version is {of_diff}")), "{text}");
        let moved = place.run(&["checkout", &second, "--json"]);
        assert_eq!(moved.status.code(), Some(1), "{}", stderr(&moved));
        let told: serde_json::Value = serde_json::from_str(&stdout(&moved)).unwrap();
        assert_eq!(
            (&told[word], &told["left_out"]),
            (&1.into(), &serde_json::json!([{"url": URL, "body": word}]))
        );
        let said = format!("1 page skipped: their bodies are {of_many}").replace("are cannot", "cannot");
        assert!(
            stderr(&moved).contains(&said) && stderr(&moved).contains(&format!("\n  {URL}\n")),
            "{}",
            stderr(&moved)
        );
        assert_eq!(std::fs::read_to_string(place.path("museum/.moku/HEAD")).unwrap(), second);
        assert!(!place.path("museum/.page_body").exists() && place.path("museum/other/.page_body").is_file());
        let scored = place.run(&["score", &second]);
        assert_eq!(scored.status.code(), Some(code), "{}", stderr(&scored));
        assert!(stderr(&scored).contains(of_many), "{}", stderr(&scored));
    }
}

/// A page with a header, committed.
fn with_header(place: &Place, url: &str, header: &str) {
    place.file("p.html", "<p>same</p>");
    place.data(&["commit", "p.html", "--url", url, "--header", header, "-m", header]);
}

#[test]
fn headers_that_are_not_redacted_are_compared() {
    for place in places() {
        if place.is_archive {
            let settings = std::fs::read_to_string(place.path("museum/varve.toml")).unwrap();
            place.file("museum/varve.toml", &format!("redact_headers = false\n{settings}"));
        } else {
            place.data(&["moku", "set", "--redaction", "off"]);
        }
        for cookie in ["Set-Cookie: a=1; Secure", "Set-Cookie: a=2"] {
            with_header(&place, "https://e.org/", cookie);
        }
        let told = place.data(&["diff"]);
        assert!(told.contains("- set-cookie: a=1; Secure\n+ set-cookie: a=2\n"), "{told}");
    }
}

#[test]
fn a_date_header_is_not_a_change() {
    for place in places() {
        for day in ["01", "02"] {
            with_header(&place, "https://e.org/", &format!("Date: Mon, {day} Jan 2026 00:00:00 GMT"));
        }
        assert_eq!(place.lines(&["show", "--json"])[1]["change"], "unchanged");
        assert!(place.data(&["show"]).ends_with("1 unchanged\n"));
        // Other differences are still shown.
        assert!(place.data(&["diff", "--all"]).contains("+ date: "));
    }
}

#[test]
fn pages_of_two_hosts_are_different_unless_the_site_moved() {
    for place in places() {
        for url in ["https://a.example/x", "https://b.example/x"] {
            with_header(&place, url, "X: y");
        }
        if place.is_archive {
            // The page of the first host is still there: nothing was said about it.
            assert_eq!(place.data(&["diff", "--name-only"]), "A https://b.example/x\n");
            continue;
        }
        assert_eq!(place.data(&["diff", "--stat"]), "M https://b.example/x was https://a.example/x\n");
        assert!(place.data(&["diff"]).contains("\nIt was https://a.example/x.\n"));
        assert_eq!(place.object(&["diff", "--json"])["files"][0]["was"], "https://a.example/x");
        for urls in
            [["https://a.example/r", "https://b.example/r"], ["https://a.example/r", "https://c.example/r"]]
        {
            place.file("p.html", "<p>same</p>");
            let pages = ["p.html", "--url", urls[0], "p.html", "--url", urls[1]];
            place.data(&[&["commit"][..], &pages, &["-m", "two hosts"]].concat());
        }
        let told = place.data(&["diff", "--name-only"]);
        assert_eq!(told, "D https://b.example/r\nA https://c.example/r\n");
    }
}

/// Headers and bodies of a page that is new or gone are compared with nothing, so nothing is noise.
#[test]
fn a_new_or_gone_page_has_no_noise_and_one_body() {
    let place = Place::new(true);
    let binary = "\0\u{1}binary";
    for (name, text) in [("a", "text\n"), ("b", binary)] {
        place.file(name, text);
        let url = format!("https://e.org/{name}");
        let date = "Date: Wed, 18 Nov 2026 20:11:33 GMT";
        place.data(&["commit", name, "--url", &url, "-m", name, "--header", date]);
    }
    let added = place.data(&["diff"]);
    assert!(added.starts_with("A https://e.org/b\nThe body is not text: 8 bytes sha256:"), "{added}");
    assert!(!added.contains("became") && !added.contains("noise"), "{added}");
    assert_eq!(place.data(&["diff", "--stat"]), "A https://e.org/b 8 bytes\n");
    let text = place.data(&["diff", "HEAD", "HEAD~1"]);
    assert!(
        text.starts_with("D https://e.org/b\nThe body is not text: 8 bytes") && !text.contains("noise"),
        "{text}"
    );
}

/// Pages of two hosts are different pages, each alone at its path or not, unless the user names the
/// hosts. The bare sets of captures are compared only when asked.
#[test]
fn hosts_are_paired_and_bare_captures_compared_only_when_asked() {
    let place = Place::new(true);
    for (host, text) in [("old.example", "one\n"), ("new.example", "two\n")] {
        place.file("page", text);
        place.data(&["commit", "page", "--url", &format!("https://{host}/p"), "-m", host]);
    }
    let stat = |words: &[&str]| place.data(&[&["diff", "--stat"], words].concat());
    assert_eq!(stat(&[]), "A https://new.example/p +1 -0\n");
    let paired = stat(&["--pair-hosts", "old.example=new.example"]);
    assert_eq!(paired, "M https://new.example/p was https://old.example/p, +1 -1\n");
    assert_eq!(stat(&["--captures"]), "A https://new.example/p +1 -0\nD https://old.example/p +0 -1\n");
    let summary = place.object(&["diff", "--json"])["summary"].clone();
    assert_eq!((&summary["added"], &summary["not_asked"]), (&1.into(), &1.into()), "{summary}");
    let shown = place.data(&["show"]);
    assert!(shown.contains("captured: 1 page") && shown.contains("state:    2 present"), "{shown}");
    assert!(shown.ends_with("1 not asked\n"), "{shown}");
}
