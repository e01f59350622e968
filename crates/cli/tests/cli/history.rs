//! The verbs of history on both layouts, in order, and their JSON output.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::{stderr, stdout, varve};
use varve_testkit::{Requirement, skip};

/// A folder with an archive or a site in it, where commands run.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    pub(crate) is_archive: bool,
}

impl Place {
    pub(crate) fn new(is_archive: bool) -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap(), is_archive };
        if is_archive {
            place.data(&["init", "museum"]);
        } else {
            std::fs::create_dir_all(place.path("museum/.moku")).unwrap();
        }
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, content: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = varve();
        command.current_dir(self.folder.path()).env("VARVE_ARCHIVE", "museum").env_remove("VARVE_AUTHOR");
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command().args(words).output().unwrap()
    }

    /// The output of a call that must succeed.
    pub(crate) fn data(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// The JSON objects of the output, one per line, without the schema number of the first.
    pub(crate) fn lines(&self, words: &[&str]) -> Vec<serde_json::Value> {
        let text = self.data(words);
        let mut lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        if let Some(serde_json::Value::Object(first)) = lines.first_mut() {
            first.shift_remove("schema");
        }
        lines
    }

    /// The only JSON object of the output.
    pub(crate) fn object(&self, words: &[&str]) -> serde_json::Value {
        let mut lines = self.lines(words);
        assert_eq!(lines.len(), 1, "{lines:?}");
        lines.remove(0)
    }

    /// Message and hint of a call that must fail.
    pub(crate) fn failure(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}{}", stdout(&output), stderr(&output));
        stderr(&output)
    }
}

pub(crate) fn places() -> [Place; 2] {
    [Place::new(true), Place::new(false)]
}

/// Two versions of a small site.
pub(crate) fn two_versions(place: &Place) -> [String; 2] {
    place.file("site/index.html", "<h1>Old Title</h1>\n<p>same</p>\n");
    place.file("site/style.css", "p { color: red }\n");
    place.file("site/gone.txt", "soon gone\n");
    let commit =
        ["commit", "--from", "site", "--base-url", "https://e.org/", "--json", "--author", "Ada", "-m"];
    let first = place.object(&[&commit[..], &["first"]].concat());
    place.file(
        "site/index.html",
        "<h1>New Title</h1>\n<p>same</p>\n<form action=/login><input type=password name=p></form>\n",
    );
    std::fs::remove_file(place.path("site/gone.txt")).unwrap();
    place.file("site/new.html", "<p>new</p>\n");
    let second = place.object(&[&commit[..], &["second"]].concat());
    assert_eq!(
        (&first["parent"], &first["captures"], &first["changed"]),
        (&().into_json(), &3.into(), &3.into())
    );
    assert_eq!((&second["parent"], &second["captures"]), (&first["version"], &3.into()));
    assert_eq!((&first["gone"], &second["changed"], &second["gone"]), (&0.into(), &2.into(), &1.into()));
    [first, second].map(|done| done["version"].as_str().unwrap().to_owned())
}

trait IntoJson {
    fn into_json(self) -> serde_json::Value;
}

impl IntoJson for () {
    fn into_json(self) -> serde_json::Value {
        serde_json::Value::Null
    }
}

/// Asserts that all these fields exist.
fn has_fields(object: &serde_json::Value, fields: &[&str]) {
    for field in fields {
        assert!(object.get(field).is_some(), "`{field}` is missing in {object}");
    }
}

#[test]
fn digits_that_begin_no_id_are_no_version() {
    for place in places() {
        let [_, second] = two_versions(&place);
        let taken = |digits: &str| place.data(&["log", "--json"]).contains(&format!("\"id\":\"{digits}"));
        let digits = ["8888", "9999", "7777"].into_iter().find(|digits| !taken(digits)).unwrap();
        for words in [
            &["show", digits][..],
            &["checkout", digits],
            &["tag", "t", digits],
            &["commit", "site/style.css", "--url", "https://e.org/s", "-m", "m", "--parent", digits],
        ] {
            assert!(place.failure(words).contains(&format!("no version is called `{digits}`")), "{words:?}");
        }
        if place.is_archive {
            for name in [digits, "2999-01-01"] {
                place.failure(&["purge", "--drop-version", name, "--reason", "x"]);
            }
        }
        assert!(place.failure(&["show", "~"]).contains("no version is called `~`"));
        assert!(place.failure(&["show", "900d"]).contains("there was no version yet at `900d`"));
        assert_eq!(place.lines(&["show", "2999-01-01", "--json"])[0]["id"], second.as_str());
    }
}

#[test]
fn a_lost_head_is_known_from_the_silos() {
    let place = Place::new(true);
    let [first, second] = two_versions(&place);
    std::fs::remove_file(place.path("museum/HEAD")).unwrap();
    assert_eq!(place.lines(&["show", "--json"])[0]["id"], second.as_str());
    for head in ["", "junk", &first] {
        place.file("museum/HEAD", head);
        let audit = place.run(&["audit"]);
        assert_eq!(audit.status.code(), Some(1), "{head}");
        let told = stdout(&audit);
        assert!(told.contains("HEAD ") && told.contains(&format!("the silos say {second}")), "{told}");
    }
    let third = place.object(&["commit", "site/style.css", "--url", "https://e.org/s", "-m", "m", "--json"]);
    assert_eq!(third["parent"], second.as_str());
    place.data(&["audit"]);
}

#[test]
fn invalid_statuses_and_headers_are_not_committed() {
    for place in places() {
        place.file("h.html", "<p>h</p>");
        for header in ["X: a\nSet-Cookie: b=1", "X: a\r\n\r\n<script>", "X Y: a"] {
            let words = ["commit", "h.html", "--url", "https://e.org/", "--header", header, "-m", "m"];
            assert!(place.failure(&words).contains("is not a valid header"), "{header:?}");
        }
        let line = |rest: &str| format!("{{\"url\":\"https://e.org/\",\"body\":\"x\",{rest}}}\n");
        for (rest, why) in [
            (r#""headers":{"X":"a\r\nb"}"#, "is not a valid header"),
            (r#""time":"9999-12-31T00:00:00Z""#, "is in the future"),
            (r#""status":0"#, "the status 0 is not between 100 and 999"),
            (r#""status":1000"#, "the status 1000 is not between 100 and 999"),
            (r#""headers":{"X":["a",1]}"#, "the header `X` is neither a text nor a list of texts"),
        ] {
            place.file("pages.jsonl", &line(rest));
            let told = place.failure(&["commit", "--jsonl", "pages.jsonl", "-m", "m"]);
            assert!(told.contains(why), "{told}");
        }
        let told = place.failure(&["commit", "museum", "--url", "https://e.org/", "-m", "m"]);
        assert!(told.contains("`museum`"), "{told}");
        assert!(place.lines(&["log", "--json"]).is_empty());
    }
}

#[test]
fn an_index_file_is_the_page_of_its_folder() {
    for place in places() {
        for name in ["index.html", "news/index.html", "news/index.htm"] {
            place.file(&format!("site/{name}"), name);
        }
        let words = ["commit", "--from", "site", "--base-url", "https://e.org/x", "--index", "index.html"];
        place.data(&[&words[..], &["-m", "as a server has it"]].concat());
        for (url, body) in [
            ("https://e.org/x/", "index.html"),
            ("https://e.org/x/news/", "news/index.html"),
            ("https://e.org/x/news/index.htm", "news/index.htm"),
        ] {
            assert_eq!(place.data(&["cat", url]), body);
        }
        assert!(place.failure(&["cat", "https://e.org/x/index.html"]).contains("nothing was captured"));
        let path = ["--index", "news/index.html", "-m", "a path is no name"];
        assert!(
            place.failure(&[&words[..5], &path].concat()).contains("a file name is expected, not a path")
        );
    }
}

#[test]
fn history_has_the_documented_json_fields() {
    for place in places() {
        let [first, second] = two_versions(&place);
        let log = place.lines(&["log", "--json"]);
        assert_eq!(log.len(), 2);
        has_fields(&log[0], &["id", "parent", "message", "author", "time", "captures", "tags"]);
        assert_eq!((&log[0]["id"], &log[0]["author"]), (&second.as_str().into(), &"Ada".into()));
        assert_eq!(log[0]["captures"], 3);
        let of_url = place.lines(&["log", "https://e.org/index.html", "--json"]);
        assert_eq!(of_url.len(), 2);
        has_fields(&of_url[0], &["url", "time", "status", "body", "version", "length"]);
        assert_eq!(of_url[0]["version"], second.as_str());
        let shown = place.lines(&["show", "--json"]);
        assert_eq!(shown[0]["id"], second.as_str());
        // The versions of a site list all their pages; an archive was told that the page is gone.
        let word = if place.is_archive { "gone" } else { "removed" };
        let removed: Vec<_> = shown[1..].iter().filter(|page| page["change"] == word).collect();
        assert_eq!((removed.len(), removed[0]["url"].as_str()), (1, Some("https://e.org/gone.txt")));
        let page = place.data(&["cat", "https://e.org/index.html", "--at", &first]);
        assert_eq!(page, "<h1>Old Title</h1>\n<p>same</p>\n");
        assert!(place.data(&["cat", "https://e.org/index.html"]).contains("New Title"));
    }
}

#[test]
fn files_of_a_folder_have_the_type_that_their_names_say() {
    for place in places() {
        two_versions(&place);
        let headers = place.data(&["cat", "https://e.org/style.css", "--headers"]);
        assert!(headers.to_ascii_lowercase().contains("content-type: text/css"), "{headers}");
        place.file("page.html", "x");
        place.data(&[
            "commit",
            "page.html",
            "--url",
            "https://e.org/p",
            "--header",
            "Content-Type: text/plain",
            "-m",
            "m",
        ]);
        let headers = place.data(&["cat", "https://e.org/p", "--headers"]).to_ascii_lowercase();
        assert!(headers.contains("content-type: text/plain") && !headers.contains("html"), "{headers}");
    }
}

#[test]
fn a_diff_has_the_documented_fields_and_can_be_stored() {
    for place in places() {
        let [first, second] = two_versions(&place);
        let diff = place.object(&["diff", &first, &second, "--json"]);
        assert_eq!((&diff["base"], &diff["head"]), (&first.as_str().into(), &second.as_str().into()));
        let files = diff["files"].as_array().unwrap();
        for file in files {
            has_fields(file, &["url", "path", "change", "body_diff", "headers_diff"]);
        }
        let index = files.iter().find(|file| file["path"] == "/index.html").unwrap();
        assert_eq!(index["change"], "changed");
        let body = &index["body_diff"];
        assert_eq!((&body["base_id"], &body["head_id"]), (&first.as_str().into(), &second.as_str().into()));
        assert!(body["chunks"].as_array().unwrap().iter().all(|chunk| chunk["type"].is_string()));
        let same = place.data(&["diff", &first, &second, "--json"]);
        assert_eq!(place.data(&["diff", &first, &second, "--json", "--keep"]), same);
        assert_eq!(place.run(&["diff", &first, &second, "--exit-code"]).status.code(), Some(1));
    }
}

#[test]
fn tags_checkouts_and_scores_work_on_both_layouts() {
    for place in places() {
        let [first, second] = two_versions(&place);
        place.data(&["tag", "old", &first]);
        assert_eq!(place.object(&["tag", "--json"])["version"], first.as_str());
        let done = place.object(&["checkout", "old", "--to", "out", "--layout", "moku", "--json"]);
        assert_eq!((&done["version"], &done["written"]), (&first.as_str().into(), &3.into()));
        assert!(place.path("out/gone.txt/.page_body").is_file());
        place.data(&["checkout", "old"]);
        let head = std::fs::read_to_string(place.path(match place.is_archive {
            true => "museum/HEAD",
            false => "museum/.moku/HEAD",
        }));
        assert_eq!(head.unwrap(), first);
        let low = place.object(&["score", &first, "--json"]);
        let high = place.object(&["score", &second, "--json"]);
        has_fields(
            &high,
            &["version", "parent", "scoring_version", "score", "confidence", "pages", "evidence"],
        );
        assert!(high["normalized"].as_u64() > low["normalized"].as_u64());
        assert_eq!((&high["before"], &high["parent"]), (&low["normalized"], &first.as_str().into()));
        let shares = high["attributions"].as_array().unwrap();
        let percent: f64 = shares.iter().map(|share| share["percent"].as_f64().unwrap()).sum();
        assert!((percent - 100.0).abs() < 1e-6, "{percent}");
        // Each chunk is found by its number in the diff of its page, and contains its evidence.
        let diff = place.object(&["diff", &first, &second, "--mode", "chars", "--json"]);
        let mut found = 0;
        for share in shares.iter().filter(|share| share["chunk"] != -1) {
            let is_page = |file: &&serde_json::Value| file["path"] == share["path"];
            let file = diff["files"].as_array().unwrap().iter().find(is_page).unwrap();
            let number = share["chunk"].as_u64().unwrap() as usize;
            let content = file["body_diff"]["chunks"][number]["content"].as_str().unwrap();
            assert!(content.contains("form") || content.contains("input"), "{share}: {content}");
            found += 1;
        }
        assert!(found > 0, "{shares:?}");
        let why = place.data(&["score", &second, "--explain"]);
        assert!(why.contains("of 100") && why.contains("The score changed from"), "{why}");
        if place.is_archive {
            assert_eq!(place.run(&["audit"]).status.code(), Some(0));
        }
    }
}

/// Removed protection and a form with another target are reported, even if the score is unchanged.
#[test]
fn security_changes_are_reported_even_if_the_score_is_unchanged() {
    for place in places() {
        let commit = |body: &str, headers: &[&str]| {
            std::fs::write(place.path("page.html"), body).unwrap();
            let mut words = vec!["commit", "page.html", "--url", "https://e.org/", "-m", "x"];
            words.extend(headers.iter().flat_map(|header| ["--header", *header]));
            place.data(&words);
        };
        let strict = "Content-Security-Policy: default-src 'self'";
        let pinned = "Strict-Transport-Security: max-age=31536000";
        let form = |action: &str| {
            format!("<form method=post action={action}><input name=u><input type=password name=p></form>")
        };
        commit("<p>", &[strict, pinned]);
        commit(
            "<p>",
            &[
                "Content-Security-Policy: default-src * 'unsafe-inline'",
                "Strict-Transport-Security: max-age=0",
            ],
        );
        let why = place.data(&["score", "--explain"]);
        assert!(!why.contains("Nothing that counts changed"), "{why}");
        assert!(
            why.contains("Content-Security-Policy protects less than before: `default-src 'self'` before"),
            "{why}"
        );
        assert!(why.contains("`max-age=31536000` before, `max-age=0` now."), "{why}");
        let scored = place.object(&["score", "--json"]);
        let told = scored["changes"][0]["attack_surface_changes"].as_array().unwrap();
        let rules: Vec<_> = told.iter().map(|change| change["rule"].as_str().unwrap()).collect();
        assert_eq!(rules, ["csp_weakened", "hsts_weakened"], "{told:#?}");
        assert_eq!(scored["changes"][0]["url"], "https://e.org/");

        commit(&form("/login"), &[]);
        commit(&form("https://evil.example/"), &[]);
        let why = place.data(&["score", "--explain"]);
        let target = "A form sends what is entered to another site now";
        assert!(why.contains(target) && why.contains("POST https://evil.example/ now."), "{why}");
        commit(&form("https://evil.example/"), &[]);
        assert!(place.data(&["score", "--explain"]).contains("Nothing relevant changed since"));
        assert_eq!(place.object(&["score", "--json"])["changes"], serde_json::json!([]));
    }
}

/// Storing is idempotent: an equal score or tag is not written again, a different one is.
#[test]
fn an_equal_score_or_tag_is_not_written_again() {
    for place in places().into_iter().filter(|place| place.is_archive) {
        let [first, second] = two_versions(&place);
        let silo = || std::fs::metadata(place.path("museum/warc/0/00000000.warc.gz")).unwrap().len();
        let said = place.object(&["score", &second, "--json"]);
        place.data(&["tag", "new", &second]);
        let length = silo();
        assert_eq!(place.object(&["score", &second, "--json"]), said);
        place.data(&["tag", "new", &second]);
        assert_eq!(silo(), length, "nothing was written");
        place.data(&["tag", "new", &first]);
        let tagged = silo();
        assert!(tagged > length, "another version is something else to keep");
        place.data(&["score", &first]);
        assert!(silo() > tagged);
        // A rebuild gives the same.
        std::fs::remove_file(place.path("museum/catalog.db")).unwrap();
        place.data(&["rebuild"]);
        let rebuilt = silo();
        assert_eq!(place.object(&["score", &second, "--json"]), said);
        assert_eq!(silo(), rebuilt);
    }
}

/// Reading needs no write permission: a score is printed, with a note that it is not stored.
#[test]
fn a_score_that_cannot_be_stored_is_printed() {
    for place in places() {
        let [_, second] = two_versions(&place);
        let output = place.run(&["--readonly", "score", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stderr(&output).contains("the score is not stored: `--readonly`"), "{}", stderr(&output));
        let shown: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let rows = || place.lines(&["show", "HEAD", "--json"]);
        let before = rows();
        let script = "$0 -C \"$1\" score --json";
        let museum = place.path("museum");
        if let Some(read) = crate::crystal::where_read_only(museum.to_str().unwrap(), script) {
            assert_eq!(read.status.code(), Some(0), "{}", stderr(&read));
            assert!(stderr(&read).contains("the folder cannot be written"), "{}", stderr(&read));
        }
        assert_eq!(rows(), before);
        let kept = place.object(&["score", "--json"]);
        assert_eq!((&shown["kept"], &kept["kept"]), (&false.into(), &true.into()));
        assert_eq!((&shown["score"], &shown["version"]), (&kept["score"], &second.into()));
        assert_eq!(shown["attributions"], kept["attributions"]);
    }
}

/// Files that are not pages are listed; nothing outside of the folder is committed.
#[test]
fn links_below_a_folder_are_named_and_not_followed() {
    for place in places() {
        place.file("site/index.html", "<p>here</p>");
        place.file("secret/key.html", "elsewhere");
        std::os::unix::fs::symlink("../secret", place.path("site/way-out")).unwrap();
        std::os::unix::fs::symlink("index.html", place.path("site/home.html")).unwrap();
        std::os::unix::fs::symlink("nowhere", place.path("site/broken")).unwrap();
        let _pipe = std::os::unix::net::UnixListener::bind(place.path("site/socket")).unwrap();
        let words = ["commit", "--from", "site", "--base-url", "https://e.org/", "-m", "x"];
        let output = place.run(&words);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let told = stderr(&output);
        for name in ["warning: 4 names", "way-out: a symbolic link", "home.html", "broken", "socket: neither"]
        {
            assert!(told.contains(name), "{name}: {told}");
        }
        let done = place.object(&[&words[..], &["--json"]].concat());
        assert_eq!(done["captures"], 1);
        let left_out = done["left_out"].as_array().unwrap();
        let whys: Vec<_> = left_out.iter().map(|one| one["why"].as_str().unwrap()).collect();
        assert_eq!(whys, ["link", "link", "special", "link"]);
        let shown = place.lines(&["show", "HEAD", "--json"]);
        assert_eq!(shown.iter().filter(|line| line.get("url").is_some()).count(), 1, "{shown:?}");
    }
}

/// The columns of a diff are headed by short id, date and message of the versions.
#[test]
fn the_columns_of_an_html_diff_have_headings() {
    for place in places() {
        for (body, message) in [("one\n", "First & only\n\nmore"), ("two\n", &"long ".repeat(40))] {
            place.file("page.txt", body);
            place.data(&["commit", "page.txt", "--url", "https://e.org/p.txt", "-m", message]);
        }
        let versions = place.lines(&["log", "--json"]);
        let id = |number: usize| versions[number]["id"].as_str().unwrap();
        let day = &versions[1]["time"].as_str().unwrap()[..10];
        let html = place.data(&["diff", "--format", "html"]);
        let heads: Vec<&str> = html.lines().filter(|line| line.contains("<th class=\"number\"")).collect();
        assert_eq!(heads.len(), 1, "{html}");
        for words in [&id(1)[..8], &id(0)[..8], day, "“First &amp; only”", "long long…”"] {
            assert!(heads[0].contains(words), "{words}: {}", heads[0]);
        }
        assert!(!heads[0].contains(id(0)) && !heads[0].contains(id(1)), "no whole ids: {}", heads[0]);
    }
}

/// Ages are accepted wherever times are; the captures of a URL have the same filters as versions.
#[test]
fn times_may_be_ages_and_captures_are_filtered_by_version() {
    for place in places() {
        let url = "https://e.org/";
        let ten_days_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(864_000);
        let seconds = ten_days_ago.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let time = varve_archive::Moment::from_seconds(seconds as i64).to_string();
        let old = serde_json::json!({ "url": url, "body": "old", "time": time }).to_string();
        place.file("old.jsonl", &old);
        place.data(&["commit", "--jsonl", "old.jsonl", "-m", "From the archive", "--author", "Ada"]);
        place.file("new.html", "new");
        place.data(&["commit", "new.html", "--url", url, "-m", "today", "--author", "Bob"]);
        place.data(&["tag", "fresh"]);
        let times = |words: &[&str]| place.lines(&[&["log", url, "--json"], words].concat()).len();
        for (words, count) in [
            (&["--since", "2d"][..], 1),
            (&["--since", "20d"], 2),
            (&["--until", "2d ago"], 1),
            (&["--until", "2w"], 0),
            (&["--author", "ada"], 1),
            (&["--author", "nobody"], 0),
            (&["--message", "FROM THE"], 1),
            (&["--tag", "fresh"], 1),
            (&["--tag", "fresh", "--author", "ada"], 0),
            (&["--author", "a", "--limit", "1"], 1),
        ] {
            assert_eq!(times(words), count, "{words:?}");
        }
        assert_eq!(place.data(&["cat", url, "--at", "5d"]), "old");
        assert_eq!(place.data(&["cat", url, "--at", "0s"]), "new");
        assert_eq!(place.lines(&["log", "--since", "1h", "--json"]).len(), 2);
        assert_eq!(place.lines(&["show", "0s", "--json"])[0]["message"], "today");
        let unknown = place.failure(&["log", url, "--tag", "none"]);
        assert!(unknown.contains("there is no tag"), "{unknown}");
        let wrong = place.failure(&["log", "--since", "soon"]);
        assert!(wrong.contains("or an age"), "{wrong}");
    }
}

#[test]
fn gc_performs_the_actions_it_lists() {
    let place = Place::new(false);
    for number in 0..4 {
        place.file("page.html", &format!("<p>{number}</p>"));
        place.data(&["commit", "page.html", "--url", "https://e.org/", "-m", &number.to_string()]);
    }
    let gc = ["gc", "--keep-last", "2", "--json"];
    let listed = place.lines(&[&gc[..], &["--dry-run"]].concat());
    assert_eq!(place.lines(&["log", "--json"]).len(), 4, "a dry run changes nothing");
    let done = place.lines(&gc);
    assert_eq!(listed[..listed.len() - 1], done[..done.len() - 1]);
    let summary = &done.last().unwrap()["summary"];
    assert_eq!(
        (&summary["versions"], &summary["bodies"], &summary["kept"]),
        (&2.into(), &2.into(), &2.into())
    );
    // Of three diffs, only that of the newest version stays: the other remaining version has no parent.
    assert_eq!((&summary["diffs"], &summary["made"]), (&2.into(), &0.into()));
    assert_eq!(place.lines(&["log", "--json"]).len(), 2);
    assert_eq!(place.data(&["cat", "https://e.org/"]), "<p>3</p>");
    let archive = Place::new(true);
    two_versions(&archive);
    let output = archive.run(&["gc", "--keep-last", "1"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("`varve purge` removes content from silos"), "{}", stderr(&output));
    assert_eq!(archive.lines(&["log", "--json"]).len(), 2);
}

#[test]
fn a_purge_removes_what_it_lists_and_nothing_else() {
    let place = Place::new(true);
    let [first, second] = two_versions(&place);
    let rewrite = ["purge", "--drop", "https://e.org/gone.txt", "--reason", "asked for", "--author", "Ada"];
    let listed = place.lines(&[&rewrite[..], &["--dry-run", "--json"]].concat());
    assert_eq!(listed.last().unwrap()["summary"]["records"], 1);
    assert_eq!(place.data(&["cat", "https://e.org/gone.txt", "--at", &first]), "soon gone\n");
    let receipt = place.lines(&[&rewrite[..], &["--json"]].concat());
    assert_eq!(receipt[0]["kind"], "resource");
    let summary = &receipt.last().unwrap()["summary"];
    assert_eq!(
        (&summary["records"], &summary["who"], &summary["why"]),
        (&1.into(), &"Ada".into(), &"asked for".into())
    );
    assert_eq!(place.run(&["audit"]).status.code(), Some(0), "what a tombstone explains is no finding");
    let told = place.failure(&["cat", "https://e.org/gone.txt", "--at", &first]);
    let captures = place.lines(&["log", "https://e.org/gone.txt", "--json"]);
    let removed = &captures[0]["removed"];
    assert_eq!(
        (captures.len(), &removed["who"], &removed["why"], &removed["kind"]),
        (1, &"Ada".into(), &"asked for".into(), &"page".into())
    );
    for part in ["Ada", "asked for"] {
        assert!(told.contains(part), "{told}");
        assert!(place.data(&["log", "https://e.org/gone.txt"]).contains(part));
    }
    // The tombstone can be read.
    let tombstone = removed["tombstone"].as_str().unwrap();
    assert!(told.contains(tombstone), "{told}");
    assert!(place.data(&["get", tombstone]).contains("asked for"));
    assert!(place.lines(&["log", "https://e.org/index.html", "--json"])[0].get("removed").is_none());
    assert!(place.data(&["cat", "https://e.org/index.html", "--at", &first]).contains("Old Title"));
    assert_eq!(place.lines(&["log", "--json"])[0]["id"], second.as_str());
    let told = place.run(&["diff", &first, &second, "--stat"]);
    assert_eq!(told.status.code(), Some(0), "{}", stderr(&told));
    place.data(&["purge", "--drop-version", &first, "--reason", "a mistake"]);
    assert_eq!(place.lines(&["log", "--json"]).len(), 1);
    assert_eq!(place.run(&["audit"]).status.code(), Some(0));
    let moku = Place::new(false);
    two_versions(&moku);
    let refused = moku.failure(&["purge", "--drop", "https://e.org/", "--reason", "r"]);
    assert!(refused.contains("no silos") && refused.contains("varve gc"), "{refused}");
}

#[test]
fn a_page_with_a_shared_body_is_purged_and_reported() {
    let place = Place::new(true);
    place.file("page.html", "<p>the same</p>");
    let (original, copy) = ("https://e.org/orig", "https://e.org/copy");
    for url in [original, copy, original] {
        let header = if url == original { "X-User: SECRETHEADER" } else { "X-User: other" };
        place.data(&["commit", "page.html", "--url", url, "-m", url, "--header", header]);
    }
    assert!(place.data(&["cat", original, "--headers"]).contains("SECRETHEADER"));
    let rewrite = ["purge", "--drop", original, "--reason", "asked for", "--author", "Ada"];
    let would = place.run(&[&rewrite[..], &["--dry-run"]].concat());
    assert!(stdout(&would).starts_with("page ") && stdout(&would).contains(original), "{}", stdout(&would));
    assert!(stderr(&would).contains("0 records would be removed and 1 page whose body is still referenced"));
    let receipt = place.lines(&[&rewrite[..], &["--json"]].concat());
    assert_eq!((&receipt[0]["kind"], &receipt[0]["url"]), (&"page".into(), &original.into()));
    let summary = &receipt[1]["summary"];
    assert_eq!((&summary["records"], &summary["pages"]), (&0.into(), &1.into()));
    for words in [&["cat", original][..], &["cat", original, "--headers"], &["cat", original, "--raw"]] {
        let told = place.failure(words);
        for part in ["taken out", "Ada", "asked for"] {
            assert!(told.contains(part), "{words:?}: {told}");
        }
    }
    assert!(place.data(&["log", original]).contains("by Ada: asked for"));
    for words in [&["log", original, "--json"][..], &["diff", "--json"], &["show", "--json"], &["show"]] {
        let output = place.run(words);
        assert!(!stdout(&output).contains("SECRETHEADER"), "{words:?}: {}", stdout(&output));
    }
    assert_eq!(place.data(&["cat", copy]), "<p>the same</p>");
    assert_eq!(place.run(&["audit"]).status.code(), Some(0));
    let again = place.run(&rewrite);
    assert!(stderr(&again).contains("nothing matched"), "{}", stderr(&again));
}

#[test]
fn a_reading_verb_completes_a_killed_purge() {
    let place = Place::new(true);
    two_versions(&place);
    std::fs::create_dir_all(place.path("museum/tmp/purge")).unwrap();
    for name in ["index", "catalog.db", "HEAD"] {
        let (from, to) = (format!("museum/{name}"), format!("museum/tmp/purge/{name}"));
        std::fs::rename(place.path(&from), place.path(&to)).unwrap();
    }
    place.file("museum/warc/pending-swap", "");
    let told = place.failure(&["--readonly", "log"]);
    assert!(told.contains("between two states") && told.contains("varve housekeeping"), "{told}");
    assert_eq!(place.lines(&["log", "--json"]).len(), 2);
    assert_eq!(place.lines(&["--readonly", "log", "--json"]).len(), 2);
    assert_eq!(place.run(&["audit"]).status.code(), Some(0));
}

#[test]
fn a_malformed_or_foreign_database_is_named_with_a_hint() {
    let place = Place::new(false);
    two_versions(&place);
    let database = place.path("museum/.moku/moku.db");
    let whole = std::fs::read(&database).unwrap();
    std::fs::write(&database, b"this is no database, whatever its name says").unwrap();
    for words in [&["log"][..], &["gc"], &["tag", "x"]] {
        let told = place.failure(words);
        assert!(told.contains("moku.db") && told.contains("hint"), "{words:?}: {told}");
    }
    assert_eq!(std::fs::read(&database).unwrap(), b"this is no database, whatever its name says");
    std::fs::write(&database, &whole).unwrap();
    assert_eq!(place.lines(&["log", "--json"]).len(), 2, "nothing was made of it meanwhile");
}

#[test]
fn a_site_newer_than_known_or_in_use_is_left_alone() {
    let place = Place::new(false);
    two_versions(&place);
    let database = place.path("museum/.moku/moku.db");
    if !sql(&database, "UPDATE meta SET value = '99' WHERE key = 'schema_version'") {
        skip(Requirement::Program("python3"), "there is no `python3` with `sqlite3`");
        return;
    }
    let told = place.failure(&["tag", "x"]);
    assert!(told.contains("99") && told.contains("hint"), "{told}");
    assert!(sql(&database, "UPDATE meta SET value = '2' WHERE key = 'schema_version'"));
    place.data(&["tag", "x"]);
}

/// Runs a statement in another process.
fn sql(database: &Path, statement: &str) -> bool {
    let program = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()";
    let run = Command::new("python3").args(["-c", program]).arg(database).arg(statement).output();
    run.is_ok_and(|output| output.status.success())
}

#[test]
fn a_database_that_another_program_writes_to_is_waited_for_and_then_named() {
    let place = Place::new(false);
    two_versions(&place);
    let database = place.path("museum/.moku/moku.db");
    let program = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); \
                   c.execute('BEGIN IMMEDIATE'); print('held', flush=True); sys.stdin.read()";
    let mut command = Command::new("python3");
    command.args(["-c", program]).arg(&database);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        skip(Requirement::Program("python3"), "`python3` is not installed");
        return;
    };
    let mut held = String::new();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut held).unwrap();
    if held.trim() != "held" {
        skip(Requirement::Program("python3"), "`python3` has no `sqlite3`");
        return;
    }
    assert_eq!(place.lines(&["log", "--json"]).len(), 2, "readers do not wait");
    let told = place.failure(&["tag", "x"]);
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(told.contains("another program is writing") && told.contains("hint"), "{told}");
    place.data(&["tag", "x"]);
}

#[test]
fn on_a_read_only_disk_reading_works_and_writing_fails_with_a_hint() {
    let place = Place::new(false);
    two_versions(&place);
    let site = place.path("museum");
    let script = "$0 -C \"$1\" log --json || exit 98; $0 -C \"$1\" tag x; exit $?";
    let Some(output) = crate::crystal::where_read_only(site.to_str().unwrap(), script) else {
        return skip(Requirement::Mount, "nothing can be mounted read-only here");
    };
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(stdout(&output).lines().count(), 2);
    assert!(stderr(&output).contains("museum/.moku"), "{}", stderr(&output));
}

#[test]
fn a_page_in_neither_version_is_not_unchanged() {
    for place in places() {
        two_versions(&place);
        let said = place.failure(&["diff", "--url", "https://e.org/typo.html"]);
        assert!(
            said.contains("nothing was captured of `https://e.org/typo.html` in either version"),
            "{said}"
        );
        place.data(&["diff", "--url", "https://e.org/style.css", "--exit-code"]);
    }
}

#[test]
fn every_reading_verb_reports_a_purged_page() {
    let place = Place::new(true);
    let [first, _] = two_versions(&place);
    place.file("lone", "an object");
    let id = place.data(&["store", "lone"]);
    place.data(&[
        "purge",
        "--drop-version",
        &first,
        "--drop-object",
        id.trim(),
        "--reason",
        "asked for",
        "--author",
        "Ada",
    ]);
    for words in [&["show", &first][..], &["show", "HEAD~1"], &["checkout", "HEAD~1"], &["get", id.trim()]] {
        let said = place.failure(words);
        assert!(
            said.contains("was taken out of the silos") && said.contains("asked for"),
            "{words:?}: {said}"
        );
    }
    assert!(place.failure(&["show", "HEAD~9"]).contains("was taken out"));
    let diff = place.run(&["diff", "--name-only"]);
    assert_eq!((diff.status.code(), stdout(&diff).lines().count()), (Some(0), 3), "{}", stdout(&diff));
    assert!(
        stderr(&diff).contains("its parent is missing, so all pages count as added"),
        "{}",
        stderr(&diff)
    );
    let gone = format!("its parent {} is missing", &first[..8]);
    assert!(place.data(&["show"]).contains(&gone));
    assert!(place.data(&["diff", "--format", "html"]).contains(&gone));
    let score = place.run(&["score", "--json"]);
    let scored: serde_json::Value = serde_json::from_slice(&score.stdout).unwrap();
    assert!(stderr(&score).contains(&gone) && scored["parent"] == first.as_str(), "{}", stderr(&score));
    assert!(scored["before"].is_null() && scored["changes"] == serde_json::json!([]), "{scored}");
    assert_eq!(place.run(&["audit"]).status.code(), Some(0));
}

#[test]
fn a_catalog_that_cannot_be_read_is_a_finding() {
    let place = Place::new(true);
    two_versions(&place);
    std::fs::write(place.path("museum/catalog.db"), "no database").unwrap();
    let audit = place.run(&["audit"]);
    assert_eq!(audit.status.code(), Some(1), "{}", stderr(&audit));
    assert!(stdout(&audit).contains("`varve rebuild` makes it again"), "{}", stdout(&audit));
    place.data(&["rebuild"]);
    assert_eq!(place.run(&["audit"]).status.code(), Some(0));
}

#[test]
fn a_page_over_the_maximum_size_fails_the_whole_commit() {
    for place in places() {
        place.file("site/a.html", "short");
        place.file("site/b.html", &"long ".repeat(500));
        let commit = ["commit", "--from", "site", "--base-url", "https://e.org/", "-m", "all", "--max-size"];
        let said = place.failure(&[&commit[..], &["2KiB"]].concat());
        assert!(
            said.contains("`https://e.org/b.html` has 2500 bytes, and no page may have more than 2048"),
            "{said}"
        );
        assert!(place.lines(&["log", "--json"]).is_empty());
        place.data(&[&commit[..], &["3KiB"]].concat());
    }
}

/// Every file of a layout with bodies or versions, with its length.
fn kept_files(place: &Place) -> Vec<(PathBuf, u64)> {
    let mut waiting = vec![place.path(if place.is_archive { "museum/warc" } else { "museum/.moku/blobs" })];
    let mut found = Vec::new();
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                waiting.push(entry.path());
            } else {
                found.push((entry.path(), entry.metadata().unwrap().len()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn max_versions_rejects_further_versions() {
    for place in places() {
        let commit = |number: usize, most: &str| {
            place.file("page.html", &format!("text {number}"));
            let words = ["commit", "page.html", "--url", "https://e.org/", "-m", "x", "--max-versions", most];
            place.run(&words)
        };
        for number in 0..2 {
            let output = commit(number, "2");
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        }
        if place.is_archive {
            // Expectations are stored with each version, but not for a version that was rejected.
            let urls: String =
                (0..300_000u64).map(|number| format!("# {:x}\n", number.wrapping_pow(7))).collect();
            place.file("museum/urls/e.org.yaml", &urls);
        }
        let before = kept_files(&place);
        for most in ["2", "1"] {
            let output = commit(2, most);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{said}");
            let message = format!("nothing is committed to a history of {most} or more versions: it has 2");
            assert!(said.contains(&message), "{said}");
            let hint = if place.is_archive { "make another archive" } else { "`varve gc --keep-last N`" };
            assert!(said.contains(hint) && said.contains("a larger number"), "{said}");
        }
        assert_eq!(commit(2, "0").status.code(), Some(2));
        assert_eq!(kept_files(&place), before, "nothing is written");
        assert_eq!(place.lines(&["log", "--json"]).len(), 2);
        if !place.is_archive {
            place.data(&["gc", "--keep-last", "1"]);
        }
        let output = commit(2, if place.is_archive { "3" } else { "2" });
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(place.data(&["cat", "https://e.org/"]), "text 2");
    }
}

#[test]
fn gc_obeys_the_minimum_interval() {
    for place in places() {
        two_versions(&place);
        place.data(&["diff", "--keep"]);
        let rule = if place.is_archive { ["--keep-within", "0s"] } else { ["--keep-last", "1"] };
        let seldom = ["gc", rule[0], rule[1], "--min-interval", "1d"];
        let in_json = [&seldom[..], &["--json"]].concat();
        let summary = |lines: &[serde_json::Value]| lines.last().unwrap()["summary"].clone();
        // No gc has run yet; a dry run does not count.
        place.data(&["gc", "--dry-run"]);
        let listed = place.lines(&[&in_json[..], &["--dry-run"]].concat());
        assert!(listed.len() > 1 && summary(&listed)["too_soon"].is_null(), "{listed:?}");
        place.data(&["gc"]);
        for words in [&seldom[..], &[&seldom[..], &["--dry-run"]].concat()] {
            let output = place.run(words);
            assert_eq!(
                (output.status.code(), stdout(&output).as_str()),
                (Some(0), ""),
                "{}",
                stderr(&output)
            );
            assert!(stderr(&output).contains("nothing to do: the last gc was at 2"), "{}", stderr(&output));
            assert!(stderr(&output).contains("; the next may run from 2"), "{}", stderr(&output));
        }
        for is_dry in [false, true] {
            let words = if is_dry { [&in_json[..], &["--dry-run"]].concat() } else { in_json.clone() };
            let told = place.object(&words)["summary"].clone();
            for nothing in ["versions", "diffs", "made", "bodies", "bytes", "young"] {
                assert_eq!(told[nothing], 0, "{told}");
            }
            assert_eq!((&told["kept"], &told["dry_run"]), (&2.into(), &is_dry.into()), "{told}");
            has_fields(&told["too_soon"], &["done", "again"]);
        }
        assert_eq!(place.lines(&["log", "--json"]).len(), 2);
        assert_eq!(
            place.run(&["audit"]).status.code(),
            Some(0),
            "when it was done is nothing to find fault with"
        );
        if place.is_archive {
            // A rebuilt catalog does not know the time of the last gc.
            place.data(&["rebuild"]);
            assert_eq!(place.run(&["audit"]).status.code(), Some(0));
            assert!(summary(&place.lines(&in_json))["too_soon"].is_null());
        }
        has_fields(&place.object(&in_json)["summary"]["too_soon"], &["done", "again"]);
        let often = [&seldom[..4], &["0s", "--json"]].concat();
        let done = summary(&place.lines(&often));
        let kept = if place.is_archive { 2 } else { 1 };
        assert_eq!((&done["kept"], done["too_soon"].is_null()), (&kept.into(), true), "{done}");
    }
}
