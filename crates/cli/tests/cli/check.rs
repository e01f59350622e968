//! `varve check` and `varve urls check`, against a web on loopback.

use std::path::Path;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use varve_testkit::web::{Answer, Site, Web};

use crate::{stderr, stdout, varve};

/// A folder with an archive `museum`, and a web of which one page can change.
struct Scene {
    folder: tempfile::TempDir,
    web: Web,
    changed: Arc<AtomicBool>,
}

impl Scene {
    fn new() -> Self {
        let changed = Arc::new(AtomicBool::new(false));
        let now = Arc::clone(&changed);
        let site = Site::with_everything().computed("/m51.txt", move |_| {
            let text = if now.load(Ordering::SeqCst) { "M51, edited\n" } else { "M51, as observed\n" };
            Answer::of("text/plain", text)
        });
        let scene = Self { folder: tempfile::tempdir().unwrap(), web: Web::serve(site), changed };
        assert_eq!(scene.run(&["init", "museum"]).status.code(), Some(0));
        scene
    }

    fn run(&self, words: &[&str]) -> Output {
        varve().current_dir(self.folder.path()).args(words).output().unwrap()
    }

    fn add(&self, options: &[&str], path: &str) {
        let url = self.web.url(path);
        let mut words = vec!["-C", "museum", "urls", "add", "--domain-file", "--allow-private"];
        words.extend_from_slice(options);
        words.push(&url);
        let output = self.run(&words);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }

    fn check(&self, options: &[&str]) -> Output {
        let mut words =
            vec!["-C", "museum", "check", "--allow-private", "--delay", "0", "--retry-delay", "0"];
        words.extend_from_slice(options);
        self.run(&words)
    }

    fn checked(&self, options: &[&str]) -> Vec<serde_json::Value> {
        let output = self.check(&[&["--json"], options].concat());
        let text = stdout(&output);
        assert!(!text.is_empty(), "{}", stderr(&output));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The output without parts that differ between runs.
    fn plain(&self, text: &str) -> String {
        text.replace(&self.web.address().to_string(), "HOST")
    }
}

#[test]
fn expectations_are_checked_and_the_evidence_is_stored() {
    let scene = Scene::new();
    scene.add(&["--static"], "/m51.txt");
    scene.add(&[], "/about.html");
    let first = scene.checked(&[]);
    assert_eq!(first.len(), 3);
    assert_eq!(
        first[2],
        serde_json::json!({"summary": {"ok": 2, "changed": 0, "broken": 0, "unreachable": 0, "skipped": 0, "warnings": 0}})
    );
    for field in ["url", "verdict", "status", "expected", "got", "since", "capture"] {
        assert!(first[0].get(field).is_some(), "{field}");
    }
    assert_eq!(first[1]["health"], "ok");
    scene.changed.store(true, Ordering::SeqCst);
    let output = scene.check(&["--explain"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = scene.plain(&stdout(&output));
    assert!(text.starts_with("changed      http://HOST/m51.txt: "), "only failures are printed: {text}");
    assert!(text.contains("last good 20") && text.contains("failing since 20"), "{text}");
    assert!(text.contains("-M51, as observed") && text.contains("+M51, edited"), "{text}");
    assert!(text.ends_with("2 URLs: 1 ok, 1 changed, 0 broken, 0 unreachable, 0 skipped\n"), "{text}");
    let again = scene.checked(&[]);
    assert_eq!(again[1]["last_good"]["capture"], first[1]["capture"]);
    assert_eq!(again[1]["verdict"], "changed");
    let log = stdout(&scene.run(&["-C", "museum", "log", "--checks", "--json"]));
    assert_eq!(log.lines().count(), 3);
    assert!(log.lines().all(|line| line.contains("\"message\":\"check\"")), "{log}");
    assert_eq!(scene.run(&["-C", "museum", "audit"]).status.code(), Some(0));
}

/// The command in the report of a failure shows the difference.
#[test]
fn a_failure_shows_its_difference_and_the_diff_command() {
    let scene = Scene::new();
    scene.add(&["--static"], "/m51.txt");
    scene.check(&[]);
    scene.changed.store(true, Ordering::SeqCst);
    let text = stdout(&scene.check(&[]));
    let line =
        text.lines().find(|line| line.contains(" lines: varve diff ")).unwrap_or_else(|| panic!("{text}"));
    let (count, command) = line.split_once(" lines: varve ").unwrap();
    assert_eq!(count.trim(), "+1 -1");
    let words: Vec<&str> = command.split(' ').map(|word| word.trim_matches('\'')).collect();
    let shown = stdout(&scene.run(&[&["-C", "museum"], &words[..]].concat()));
    assert!(shown.contains("-M51, as observed") && shown.contains("+M51, edited"), "{shown}");
    let junit = stdout(&scene.check(&["--format", "junit"]));
    assert!(junit.contains(">failing since 20") && junit.contains("</failure>"), "{junit}");
    let github = stdout(&scene.check(&["--format", "github"]));
    assert!(github.contains("%0Afailing since 20"), "{github}");
    let output = scene.check(&["--category", "typo"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("nothing was checked"), "{}", stderr(&output));
}

#[test]
fn verdicts_survive_a_rebuild() {
    let scene = Scene::new();
    scene.add(&["--static"], "/m51.txt");
    scene.checked(&[]);
    scene.changed.store(true, Ordering::SeqCst);
    let since = scene.checked(&[])[0]["since"].clone();
    assert_eq!(scene.run(&["-C", "museum", "rebuild"]).status.code(), Some(0));
    assert_eq!(scene.checked(&[])[0]["since"], since);
}

/// The id in the list of checks shows the check with its failures; their records can be read.
#[test]
fn a_check_is_shown_with_its_failures_and_their_captures() {
    let scene = Scene::new();
    scene.add(&["--static"], "/m51.txt");
    scene.add(&[], "/about.html");
    scene.check(&[]);
    scene.changed.store(true, Ordering::SeqCst);
    scene.check(&["-m", "after the edit"]);
    let museum = |words: &[&str]| {
        let output = scene.run(&[&["-C", "museum"], words].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let listed: serde_json::Value =
        serde_json::from_str(museum(&["log", "--checks", "--json"]).lines().next().unwrap()).unwrap();
    let id = listed["check"].as_str().unwrap();
    let lines: Vec<serde_json::Value> =
        museum(&["show", id, "--json"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[0]), (3, &listed));
    let page = scene.web.url("/m51.txt");
    let changed = lines[1..].iter().find(|line| line["url"] == page.as_str()).unwrap();
    assert_eq!((&changed["verdict"], &changed["check"]), (&"changed".into(), &id.into()));
    let record = changed["capture"].as_str().unwrap();
    assert!(museum(&["get", record]).contains("M51, edited"));
    let text = museum(&["show", &id[..8]]);
    let first = text.lines().next().unwrap();
    assert_eq!(first, id, "{text}");
    assert!(text.contains("2 URLs: 1 ok, 1 changed\n    after the edit\n"), "{text}");
    assert!(
        text.contains(&format!("changed      200  {page}: expected ")) && text.contains(record),
        "{text}"
    );
    assert!(!text.contains("about.html"), "a URL that is ok is only counted: {text}");
    assert!(museum(&["show", id, "--all"]).contains("ok           200  "));
}

#[test]
fn nothing_is_stored_with_no_capture_or_outside_of_an_archive() {
    let scene = Scene::new();
    scene.add(&[], "/about.html");
    let output = scene.check(&["--no-capture"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&scene.run(&["-C", "museum", "log"])), "");
    std::fs::rename(scene.folder.path().join("museum/urls"), scene.folder.path().join("db")).unwrap();
    let plain = ["check", "--db", "db", "--allow-private", "--retry-delay", "0", "--format", "github"];
    let output = scene.run(&plain);
    assert_eq!(
        stdout(&output),
        "1 URL: 1 ok, 0 changed, 0 broken, 0 unreachable, 0 skipped\n",
        "{}",
        stderr(&output)
    );
    let output = scene.run(&[
        "urls",
        "--db",
        "db",
        "check",
        "--allow-private",
        "--retry-delay",
        "0",
        "--format",
        "junit",
    ]);
    assert!(stdout(&output).contains("tests=\"1\" failures=\"0\""), "{}", stderr(&output));
    let output = scene.check(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("there is no URL database"), "{}", stderr(&output));
}

#[test]
fn check_against_the_archive() {
    let scene = Scene::new();
    assert_eq!(scene.check(&["--against-archive"]).status.code(), Some(2));
    let url = scene.web.url("/m51.txt");
    let words = ["-C", "museum", "capture", "--allow-private", "--delay", "0", "--ignore-robots", &url];
    assert_eq!(scene.run(&words).status.code(), Some(0));
    let before = scene.checked(&["--against-archive", "--no-capture"]);
    assert_eq!((&before[0]["verdict"], &before[0]["comparison"]), (&"ok".into(), &"unchanged".into()));
    scene.changed.store(true, Ordering::SeqCst);
    for _ in 0..2 {
        let after = scene.checked(&["--against-archive"]);
        assert_eq!((&after[0]["verdict"], &after[0]["comparison"]), (&"changed".into(), &"changed".into()));
    }
}

#[test]
fn private_addresses_must_be_allowed() {
    let scene = Scene::new();
    scene.add(&[], "/about.html");
    let asked = scene.web.total();
    for options in [&["--no-capture"] as &[&str], &[]] {
        let output = scene.run(&[&["-C", "museum", "check"], options].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stdout(&output).starts_with("skipped"), "{}", stdout(&output));
        assert!(stderr(&output).contains("hint: `--allow-private` allows"), "{}", stderr(&output));
        assert_eq!(scene.web.total(), asked);
    }
    let checked = scene.checked(&[]);
    assert_eq!((&checked[0]["verdict"], &checked[0]["health"]), (&"ok".into(), &"ok".into()));
    let url = scene.web.url("/about.html");
    let output = scene.run(&["-C", "museum", "plan", "suggest", &format!("{url}?new")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("hint: `--allow-private` allows"), "{}", stderr(&output));
    assert!(Path::new(&scene.folder.path().join("museum/varve.toml")).exists());
}

/// Skipped URLs are findings, even if all others are met.
#[test]
fn skipped_urls_are_not_met() {
    let scene = Scene::new();
    let settings = scene.folder.path().join("museum/varve.toml");
    let text = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, text + "allow_private = [\"127.0.0.1\"]\n").unwrap();
    let url = scene.web.url("/about.html");
    scene.run(&["-C", "museum", "urls", "add", "--domain-file", &url]);
    assert_eq!(scene.run(&["-C", "museum", "check"]).status.code(), Some(0));
    let other = url.replace("127.0.0.1", "127.0.0.2");
    let added = scene.run(&["-C", "museum", "urls", "add", "--offline", "--domain-file", &other]);
    assert_eq!(added.status.code(), Some(0), "{}", stderr(&added));
    let output = scene.run(&["-C", "museum", "check"]);
    assert!(
        stdout(&output).contains("1 ok, 0 changed, 0 broken, 0 unreachable, 1 skipped"),
        "{}",
        stdout(&output)
    );
    assert_eq!(output.status.code(), Some(1));
}

/// `allow_private` in the settings applies to all verbs that use the network.
#[test]
fn the_settings_of_the_archive_may_allow_private_addresses() {
    let scene = Scene::new();
    let settings = scene.folder.path().join("museum/varve.toml");
    let text = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, text + "allow_private = [\"127.0.0.0/8\"]\n").unwrap();
    let url = scene.web.url("/about.html");
    let output = scene.run(&["-C", "museum", "urls", "add", "--domain-file", &url]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for words in [
        &["check", "--no-capture"] as &[&str],
        &["check"],
        &["check", "--against-archive", "--no-capture"],
        &["urls", "check"],
        &["urls", "--db", "museum/urls", "check"],
    ] {
        if words.contains(&"--against-archive") {
            let output = scene.run(&["-C", "museum", "capture", "--ignore-robots", &url]);
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        }
        let output = scene.run(&[&["-C", "museum"], words, &["--retry-delay", "0"]].concat());
        let (printed, messages) = (stdout(&output), stderr(&output));
        let is_ok = printed.contains(" ok, 0 changed, 0 broken, 0 unreachable, 0 skipped");
        assert!(is_ok, "{words:?}: {printed}{messages}");
    }
    // Outside of the archive it does not apply.
    let output = scene.run(&["urls", "--db", "museum/urls", "check", "--retry-delay", "0"]);
    assert!(stdout(&output).starts_with("skipped"), "{}", stdout(&output));
}

#[test]
fn a_removed_page_is_explained_in_a_few_lines() {
    let long: String = (0..500).map(|number| format!("<p>Line {number}.</p>\n")).collect();
    let gone = Arc::new(AtomicBool::new(false));
    let now = Arc::clone(&gone);
    let site = Site::new().computed("/long", move |_| match now.load(Ordering::SeqCst) {
        true => Answer::html("y".repeat(100_000)).with_status(404),
        false => Answer::html(long.clone()),
    });
    let scene = Scene { web: Web::serve(site), ..Scene::new() };
    scene.add(&["--static"], "/long");
    scene.check(&[]);
    gone.store(true, Ordering::SeqCst);
    let text = stdout(&scene.check(&["--explain"]));
    assert!(text.contains("-<p>Line 0.</p>"), "{text}");
    assert!(text.lines().count() < 60 && text.len() < 20_000, "{} lines", text.lines().count());
    let line =
        text.lines().find(|line| line.starts_with("There is more")).unwrap_or_else(|| panic!("{text}"));
    let command = line.split_once("varve ").unwrap().1;
    let words: Vec<&str> = command.split(' ').map(|word| word.trim_matches('\'')).collect();
    let shown = stdout(&scene.run(&[&["-C", "museum"], &words[..]].concat()));
    assert!(shown.contains("-<p>Line 0.</p>") && shown.contains("-<p>Line 499.</p>"), "{shown:.2000}");
}

#[test]
fn a_junit_report_has_times() {
    let scene = Scene::new();
    scene.add(&["--static"], "/m51.txt");
    let junit = stdout(&scene.check(&["--format", "junit"]));
    let time = |text: &str| text.split("time=\"").nth(1).unwrap().split('"').next().unwrap().parse::<f64>();
    let case = junit.lines().find(|line| line.contains("<testcase ")).unwrap();
    assert!(time(case).is_ok_and(|time| time < 60.0), "{junit}");
    assert_eq!(time(&junit), time(case), "one case takes as long as all");
}

/// The User-Agent headers of requests for a page, without the program's own.
fn contacts(web: &Web) -> Vec<String> {
    let seen = web.seen();
    let agents = seen.iter().flat_map(|seen| &seen.headers).filter(|(name, _)| name == "User-Agent");
    agents
        .map(|(_, value)| value.split_once(' ').map_or(value.as_str(), |(_, rest)| rest).to_owned())
        .collect()
}

/// Every verb sends the contact with each request: the given one, or that of the archive.
#[test]
fn requests_contain_the_contact() {
    let scene = Scene { web: Web::start(), ..Scene::new() };
    let url = scene.web.url("/about.html");
    let given = ["--contact", "mailto:given@example"];
    let output = scene.run(&["init", "known", "--contact", "mailto:kept@example"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for words in [
        &["capture", "--ignore-robots", &url] as &[&str],
        &["urls", "add", "--domain-file", &url],
        &["urls", "check"],
        &["check"],
        &["plan", "suggest", "--live", &url],
    ] {
        let words = [words, &["--allow-private"]].concat();
        let wanted = [
            ([&["-C", "museum"], &words[..]].concat(), "(+web archive, no contact given)"),
            ([&["-C", "known"], &words[..]].concat(), "(+mailto:kept@example)"),
            ([&["-C", "known"], &words[..], &given].concat(), "(+mailto:given@example)"),
            ([&["-C", "known"], &words[..], &given, &["--user-agent", "curator 1"]].concat(), "1"),
        ];
        for (words, contact) in wanted {
            scene.web.forget();
            let output = scene.run(&words);
            if words.contains(&"add") && contact != "(+mailto:kept@example)" && words.contains(&"known") {
                // It is in the database already, so no request is sent.
                continue;
            }
            let told = contacts(&scene.web);
            assert!(!told.is_empty(), "{words:?}: {}", stderr(&output));
            assert!(told.iter().all(|told| told == contact), "{words:?}: {told:?}");
        }
    }
    let output = varve()
        .current_dir(scene.folder.path())
        .env("VARVE_CONTACT", "mailto:surroundings@example")
        .args(["-C", "known", "check", "--allow-private", "--user-agent", "curator 1"])
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "a name may be given where a contact is set: {}",
        stderr(&output)
    );
}

/// A check can use credentials and proxies, as a capture can.
#[test]
fn a_check_uses_credentials_and_proxies() {
    let site = Site::new().computed("/inside", |request| match request.header("Authorization") {
        Some("Bearer open") => Answer::html("<p>Inside.</p>"),
        _ => Answer::html("<p>Who are you?</p>").with_status(401),
    });
    let scene = Scene { web: Web::serve(site), ..Scene::new() };
    let secrets = scene.folder.path().join("secrets.txt");
    let line = format!("http://{} Authorization: Bearer open\n", scene.web.address());
    std::fs::write(&secrets, line).unwrap();
    scene.add(&["--credentials", secrets.to_str().unwrap()], "/inside");
    assert_eq!(scene.check(&["--retries", "0"]).status.code(), Some(1));
    let output = scene.check(&["--credentials", secrets.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let silo = scene.folder.path().join("museum/warc/0/00000000.warc.gz");
    let silo = std::process::Command::new("gzip").arg("-dc").arg(silo).output().unwrap();
    let kept = String::from_utf8_lossy(&silo.stdout);
    assert!(kept.contains("Inside.") && !kept.contains("Bearer"), "{kept}");

    // A server that is not a proxy is distinguished from a missing page.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = scene.check(&["--proxy", &format!("http://{closed}"), "--retries", "0"]);
    assert!(stdout(&output).starts_with("unreachable"), "{}", stdout(&output));
}
