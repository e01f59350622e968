//! `varve capture`: killed, interrupted, resumed; and its silos read by other tools.
//!
//! `VARVE_CRAWL_KILLS` sets the number of kills, and makes it a crawl of 2,000 pages; the default is small.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use varve_testkit::web::{Answer, Site, Web};

use super::oracles::FASTWARC;
use super::{Scene, stderr, stdout};

const QUICK: [&str; 8] = ["--delay", "0", "--per-host", "4", "--allow-private", "--retries", "0", "--json"];

fn capture(scene: &Scene, words: &[&str]) -> Command {
    let mut command = scene.command();
    command.arg("capture").args(words).args(QUICK);
    command
}

fn lines(output: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(output).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The URLs and statuses of HEAD.
fn pages(scene: &Scene) -> BTreeSet<(String, u64)> {
    let shown = lines(&scene.data(&["show", "HEAD", "--json"]));
    let pages = shown.iter().filter(|line| line.get("url").is_some());
    pages.map(|page| (page["url"].as_str().unwrap().to_owned(), page["status"].as_u64().unwrap())).collect()
}

#[test]
fn json_has_events_and_a_summary() {
    let (scene, web) = (Scene::new(&[]), Web::start());
    let seed = web.url("/");
    let output = capture(&scene, &[&seed, "--scope", "host"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines = lines(&output.stdout);
    let last = lines.last().unwrap();
    for name in ["version", "captured", "unchanged", "failed", "skipped", "bytes"] {
        assert!(last.get(name).is_some(), "{last}");
    }
    let captured = lines.iter().filter(|line| line["event"] == "captured").count();
    assert_eq!(last["captured"].as_u64(), Some(captured as u64));
    let skipped: Vec<&Value> = lines.iter().filter(|line| line["event"] == "skipped").collect();
    assert_eq!(skipped.len(), 1, "{skipped:?}");
    assert_eq!(skipped[0]["rule"], "robots:line 2");
    let head = scene.line(&["log", "--json"]);
    let head: Value = serde_json::from_str(&head).unwrap();
    assert_eq!((&head["id"], &head["captures"]), (&last["version"], &last["captured"]));
    assert_eq!(scene.data(&["cat", &web.url("/logo.png")])[..4], *b"\x89PNG");
}

#[test]
fn failures_are_reported() {
    let scene = Scene::new(&[]);
    let output = scene.run(&["capture", "http://127.0.0.1:9/", "--retries", "0"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("http://127.0.0.1:9/"), "{}", stderr(&output));
    assert!(stderr(&output).contains("nothing could be captured"), "{}", stderr(&output));
    assert!(stderr(&output).contains("`--allow-private`"), "{}", stderr(&output));
    let output = scene.run(&["capture", "http://me:hunter2@example.com/"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!stderr(&output).contains("hunter2") && stderr(&output).contains("--credentials"));
    let output = scene.run(&["capture", "--resume"]);
    assert!(stderr(&output).contains("no unfinished run"), "{}", stderr(&output));
}

#[test]
fn skipped_urls_are_reported_by_rule() {
    let (scene, web) = (Scene::new(&[]), Web::start());
    let (seed, secret) = (web.url("/"), web.url("/private/secret.html"));
    let list = scene.path("skipped.txt");
    let words = ["--allow-private", "--delay", "0", "--skipped", list.to_str().unwrap()];
    let output = scene.run(&[&["capture", &seed, "--scope", "host"], &words[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = format!("1 URL skipped by robots:\n  {secret}\n");
    assert!(stderr(&output).contains(&told), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(&list).unwrap(), format!("robots:line 2\t{secret}\n"));
}

/// More links than are followed from one page: each of the others is listed once with its rule, and
/// one that another page leads to is captured and not listed.
#[test]
fn links_beyond_the_limit_of_a_page_are_listed_with_their_rule() {
    const FOLLOWED_LINKS: usize = 60_000;
    let link = |number: usize| format!("<a href=/n/{number}></a>");
    let mut body: String = (0..FOLLOWED_LINKS + 5).map(link).collect();
    body += &link(FOLLOWED_LINKS + 3);
    let other = link(FOLLOWED_LINKS + 4);
    let site = Site::new().page("/", Answer::html(body)).page("/other", Answer::html(other));
    let (scene, web) = (Scene::new(&[]), Web::serve(site));
    let list = scene.path("skipped.txt");
    let (seed, other) = (web.url("/"), web.url("/other"));
    let words = ["capture", &other, &seed, "--scope", "host", "--allow-private", "--delay", "0"];
    // Few pages, so that not all of the links that are followed are requested.
    let words = [&words[..], &["--limit-pages", "4", "--skipped", list.to_str().unwrap()]].concat();
    let output = scene.run(&words);
    let told = stderr(&output);
    // The last one is the icon of the page, which browsers request.
    assert!(told.contains("/: 6 links of it, by limit:links-per-page"), "{told}");
    let listed = std::fs::read_to_string(&list).unwrap();
    let of_rule = listed.lines().filter_map(|line| line.strip_prefix("limit:links-per-page\t"));
    let expected: Vec<String> = (0..4)
        .map(|number| web.url(&format!("/n/{}", FOLLOWED_LINKS + number)))
        .chain([web.url("/favicon.ico")])
        .collect();
    assert_eq!(of_rule.collect::<Vec<_>>(), expected, "{told}");
    let events = scene.run(&[&words[..], &["--json"]].concat());
    let events = stdout(&events);
    let of_rule: Vec<&str> =
        events.lines().filter(|line| line.contains("\"limit:links-per-page\"")).collect();
    assert_eq!(of_rule.iter().filter(|line| line.contains("links_skipped")).count(), 1, "{of_rule:?}");
    assert_eq!(of_rule.iter().filter(|line| line.contains("/n/6000")).count(), 4, "{of_rule:?}");
}

/// robots.txt alone is not a version.
#[test]
fn a_given_url_excluded_by_robots_is_reported() {
    let (scene, web) = (Scene::new(&[]), Web::start());
    let secret = web.url("/private/secret.html");
    let words = ["capture", &secret, "--allow-private", "--delay", "0"];
    let output = scene.run(&words);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    for said in [&*format!("{secret}: robots:line 2"), "nothing could be captured", "`--ignore-robots`"] {
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
    assert_eq!(stdout(&output), "");
    let output = scene.run(&[&words[..], &[&*web.url("/about.html")]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(!stdout(&output).is_empty());
    let output = scene.run(&[&words[..], &["--ignore-robots"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// Pages with an error status are listed separately.
#[test]
fn pages_with_an_error_status_are_listed() {
    let links: String = (0..7).map(|number| format!("<a href='/gone/{number}'>x</a>")).collect();
    let site = Site::new().page("/", Answer::html(links)).page("/busy", Answer::status(500));
    let (scene, web) = (Scene::new(&[]), Web::serve(site));
    let seeds = [web.url("/"), web.url("/busy")];
    let words = [
        "capture",
        &*seeds[0],
        &*seeds[1],
        "--scope",
        "host",
        "--allow-private",
        "--delay",
        "0",
        "--retries",
        "0",
    ];
    let output = scene.run(&words);
    let told = stderr(&output);
    for said in
        ["7 pages answered 404:\n  ", "\n  and 2 more\n", &*format!("1 page answered 500:\n  {}\n", seeds[1])]
    {
        assert!(told.contains(said), "{told}");
    }
    let output = scene.run(&[&words[..], &["--json"]].concat());
    let last = lines(&output.stdout).pop().unwrap();
    assert_eq!(last["pages_answered"], serde_json::json!({"404": 7, "500": 1}), "{last}");
}

#[test]
fn truncated_responses_are_reported() {
    let (scene, web) = (Scene::new(&[]), Web::start());
    let seed = web.url("/length/short");
    let output = scene.run(&["capture", &seed, "--allow-private", "--delay", "0", "--retries", "0"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains(", 1 truncated)"), "{}", stderr(&output));
}

/// The missing end of a truncated response does not count as removed from the page.
#[test]
fn a_diff_names_the_truncated_side() {
    let (scene, web) = (Scene::new(&[]), Web::start());
    let short = web.url("/length/short");
    scene.file("whole.txt", b"0123456789 and all the rest");
    scene.data(&["commit", "whole.txt", "--url", &short, "-m", "whole"]);
    capture(&scene, &[&short]).output().unwrap();
    let shown = |words: &[&str]| String::from_utf8(scene.data(&[&["diff"], words].concat())).unwrap();
    let note = "The response of the newer version was truncated when captured; the end may be missing.";
    for words in [&["--mode", "lines"][..], &["--mode", "headers"], &["--format", "html"]] {
        assert!(shown(words).contains(note), "{}", shown(words));
    }
    assert!(shown(&["--stat"]).contains(", the newer truncated"), "{}", shown(&["--stat"]));
    let file = lines(shown(&["--json"]).as_bytes())[0]["files"][0].clone();
    assert_eq!(file["cut_short"], serde_json::json!([false, true]), "{file}");
    let back = shown(&["HEAD", "HEAD~1"]);
    assert!(back.contains("The response of the older version was truncated"), "{back}");
}

/// A response that is not HTTP can be read back; so can a chunked response, also of a revisit.
#[test]
fn raw_responses_are_printed_as_received() {
    let (scene, web) = (Scene::new(&[]), Web::start());
    let (bare, chunked, short) = (web.url("/bare"), web.url("/chunks/good"), web.url("/length/short"));
    for _ in 0..2 {
        capture(&scene, &[&bare, &chunked, &short]).output().unwrap();
        let text = String::from_utf8(scene.data(&["cat", &bare])).unwrap();
        assert_eq!(text, "<p>A page without a head.</p>\n");
        assert_eq!(scene.data(&["cat", &bare, "--raw"]), text.as_bytes());
        let [raw, head] = ["--raw", "--headers"].map(|how| scene.data(&["cat", &chunked, how]));
        let framed = raw.strip_prefix(&head[..]).unwrap();
        assert_eq!(framed, b"5;a=b\r\n01234\r\n5\r\n56789\r\n0\r\nTrailer: yes\r\n\r\n");
    }
    let shown = String::from_utf8(scene.data(&["show", "HEAD", "--all"])).unwrap();
    let line_of = |url: &str| shown.lines().skip(4).find(|line| line.contains(url)).unwrap();
    assert!(line_of(&short).ends_with("truncated") && line_of(&bare).contains(" --- "), "{shown}");
    let shown = lines(&scene.data(&["show", "HEAD", "--json"]));
    let cut: Vec<_> =
        shown.iter().filter(|line| line["truncated"] == true).map(|line| &line["url"]).collect();
    assert!(cut.iter().any(|url| **url == short) && !cut.iter().any(|url| **url == chunked), "{cut:?}");
}

/// They are sent like those of a file, and never printed.
#[test]
fn credentials_may_come_from_the_environment() {
    let (scene, web) = (Scene::new(&[]), Web::start());
    let line = format!("http://{} Cookie: session=sesame", web.address());
    let mut command = capture(&scene, &[&web.url("/about.html")]);
    let output = command.env("VARVE_CREDENTIALS", &line).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let sent =
        web.seen().into_iter().flat_map(|seen| seen.headers).any(|(_, value)| value == "session=sesame");
    assert!(sent, "{:?}", web.seen());
    assert!(!stdout(&output).contains("sesame") && !stderr(&output).contains("sesame"));
    let output = capture(&scene, &[&web.url("/")]).env("VARVE_CREDENTIALS", "nonsense").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("HOST NAME: VALUE"), "{}", stderr(&output));
}

/// Answers every request with its own page.
fn small_proxy() -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while reader.read_line(&mut line).unwrap_or(0) > 2 {}
            let asked = line.lines().next().unwrap_or_default().to_owned();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{asked}",
                asked.len()
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

/// Proxies of the environment are used; the silo records them without the password.
#[test]
fn proxies_are_read_from_the_environment() {
    let (scene, proxy) = (Scene::new(&[]), small_proxy());
    let url = "http://far-away.test/page";
    let through = format!("http://me:hunter2@{proxy}");
    let run = |words: &[&str], variables: &[(&str, &str)]| {
        let mut command = capture(&scene, &[&[url, "--ignore-robots"], words].concat());
        lines(&command.envs(variables.iter().copied()).output().unwrap().stdout)
    };
    let events = run(&[], &[("http_proxy", &through)]);
    assert!(events.iter().any(|event| event["event"] == "captured" && event["status"] == 200), "{events:?}");
    assert_eq!(scene.data(&["cat", url]), format!("GET {url} HTTP/1.1").as_bytes());
    let unpacked = Command::new("gzip").arg("-dc").args(scene.silos()).output().unwrap();
    let text = String::from_utf8_lossy(&unpacked.stdout);
    assert!(
        text.contains(&format!("\r\nvarve-proxy: http=http://{proxy}\r\n")) && !text.contains("hunter2"),
        "{text}"
    );
    let events = [
        run(&["--proxy", "none"], &[("http_proxy", &through)]),
        run(&[], &[("HTTP_PROXY", &through)]),
        run(&[], &[("http_proxy", &through), ("no_proxy", ".test")]),
    ];
    for events in events {
        assert!(
            events.iter().any(|event| event["event"] == "failed" && event["kind"] == "dns"),
            "{events:?}"
        );
    }
    // Requests to this machine bypass the proxy.
    let web = Web::start();
    let mut command = capture(&scene, &[&web.url("/about.html")]);
    let output = command.env("all_proxy", &through).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // An invalid variable fails only requests that would use it.
    let output = capture(&scene, &[&web.url("/")]).env("ALL_PROXY", "socks4://127.0.0.1:9").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let events = run(&[], &[("ALL_PROXY", "socks4://127.0.0.1:9")]);
    let failed = events.iter().find(|event| event["event"] == "failed").expect("it is not asked");
    let why = failed.to_string();
    assert!(why.contains("ALL_PROXY") && why.contains("`--proxy none`"), "{why}");
    let given = capture(&scene, &[url, "--proxy", "socks4://127.0.0.1:9"]).output().unwrap();
    assert_eq!(given.status.code(), Some(2), "{}", stderr(&given));
}

/// Ctrl-C makes a version and prints how to continue; the run can be finished.
#[test]
fn an_interrupted_run_prints_how_to_resume() {
    let (scene, web) = (Scene::new(&[]), Web::start());
    let seed = web.url("/site/5000/0");
    let mut command = scene.command();
    command.args(["capture", &seed, "--scope", "host", "--delay", "0", "--allow-private"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while web.total() < 50 {
        std::thread::sleep(Duration::from_millis(5));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("varve capture --resume"), "{}", stderr(&output));
    let version = stdout(&output).trim().to_owned();
    let head: Value = serde_json::from_str(&scene.line(&["log", "--json"])).unwrap();
    assert_eq!(head["id"], version);
    assert!(pages(&scene).len() >= 40, "{}", pages(&scene).len());
    let other = scene.run(&["capture", &seed]);
    assert_eq!(other.status.code(), Some(2));
    assert!(stderr(&other).contains("--finish"), "{}", stderr(&other));
    let finished = scene.run(&["capture", "--finish"]);
    assert_eq!(stdout(&finished).trim(), version, "it stays at the version of the stop");
    let captured = head["captures"].as_u64().unwrap();
    assert_eq!(stderr(&finished), format!("finished: {captured} captured\n"));
    let audit = scene.run(&["audit"]);
    assert_eq!(audit.status.code(), Some(0), "{}", stdout(&audit));
}

/// `nohup` starts a process with hang-ups ignored, and a hang-up must not stop it.
#[test]
fn nohup_is_respected() {
    let (scene, web) = (Scene::new(&[]), Web::start());
    let command = scene.command();
    let mut nohup = Command::new("nohup");
    nohup.arg(command.get_program()).args(command.get_args()).current_dir(command.get_current_dir().unwrap());
    nohup.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let seed = web.url("/site/300/0");
    nohup.args(["capture", &seed, "--scope", "host", "--delay", "0", "--allow-private"]);
    let child = nohup.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while web.total() < 20 {
        std::thread::sleep(Duration::from_millis(5));
    }
    Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// Options of a resumed run may change, except those that select pages. The run is stopped by a
/// hang-up of its terminal.
#[test]
fn options_of_a_resumed_run_apply_or_are_rejected() {
    let (scene, web) = (Scene::new(&[]), Web::start());
    let seed = web.url("/site/5000/0");
    let child = capture(&scene, &[&seed, "--scope", "host", "-m", "begun"]).stdout(Stdio::null()).spawn();
    let mut child = child.unwrap();
    while web.total() < 50 {
        std::thread::sleep(Duration::from_millis(5));
    }
    Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let options = ["--scope=host", "--depth=1", "--include=x", "--exclude=x", "--browser", "--ignore-robots"];
    for option in options {
        let output = scene.run(&["capture", "--resume", option]);
        assert_eq!(output.status.code(), Some(2), "{option}");
        assert!(stderr(&output).contains("cannot be used with"), "{}", stderr(&output));
    }
    let refused = scene.run(&["capture", "--finish", "-m", "later"]);
    assert!(stderr(&refused).contains("cannot be used with"), "{}", stderr(&refused));
    let blank = scene.run(&["capture", "--resume", "-m", " "]);
    assert_eq!(blank.status.code(), Some(2), "{}", stderr(&blank));

    let words = ["--resume", "--limit-pages", "3", "-m", "later", "--user-agent", "Owl/7"];
    let output = capture(&scene, &words).output().unwrap();
    let told = lines(&output.stdout);
    let last = told.last().unwrap();
    assert_eq!((&last["pages"], &last["limited"]), (&Value::from(3), &Value::from("pages")), "{last}");
    let log = lines(&scene.data(&["log", "--json"]));
    let messages: Vec<&str> = log.iter().map(|line| line["message"].as_str().unwrap()).collect();
    assert_eq!(messages[0], "later (limit of pages reached)");
    assert!(messages[1].starts_with("begun (stopped"), "{messages:?}");
    let silos = std::fs::read_dir(scene.path("museum/warc/0")).unwrap().map(|silo| silo.unwrap().path());
    let unpacked = Command::new("gzip").arg("-dc").args(silos).output().unwrap().stdout;
    let unpacked = String::from_utf8_lossy(&unpacked).to_lowercase();
    assert!(unpacked.contains("\r\nuser-agent: owl/7\r\n"), "it asks under the name that it was given");
    assert_eq!(scene.run(&["audit"]).status.code(), Some(0));
}

/// Runs until the run has started and for this time after that, then kills. Returns whether it was still alive.
fn run_and_kill(scene: &Scene, words: &[&str], patience: Duration) -> bool {
    let mut command = capture(scene, words);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert!(line.contains("began"), "{line}");
    // The output must be read, or the process would block on the pipe.
    let reader = std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
    std::thread::sleep(patience);
    child.kill().unwrap();
    let was_alive = child.wait().unwrap().code().is_none();
    drop(reader.join().unwrap());
    was_alive
}

/// The number of warcinfo records of a run.
fn descriptions_of_runs(scene: &Scene) -> usize {
    let silos = std::fs::read_dir(scene.path("museum/warc/0")).unwrap().map(|silo| silo.unwrap().path());
    let unpacked = Command::new("gzip").arg("-dc").args(silos).output().unwrap();
    assert!(unpacked.status.success(), "{}", stderr(&unpacked));
    String::from_utf8_lossy(&unpacked.stdout).matches("\r\nvarve-politeness: ").count()
}

#[test]
fn a_crawl_that_is_killed_and_resumed_has_the_same_pages() {
    let asked: Option<u32> = std::env::var("VARVE_CRAWL_KILLS").ok().and_then(|kills| kills.parse().ok());
    let (kills, size) = asked.map_or((4, 400), |kills| (kills, 2000));
    let web = Web::start();
    let seed = web.url(&format!("/site/{size}/0"));
    let undisturbed = Scene::new(&["--silo-size", "1 MiB"]);
    let began = Instant::now();
    let output = capture(&undisturbed, &[&seed, "--scope", "host"]).output().unwrap();
    let duration = began.elapsed();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let expected = pages(&undisturbed);
    assert!(expected.len() >= size, "{}", expected.len());

    let scene = Scene::new(&["--silo-size", "1 MiB"]);
    let mut words = vec![seed.as_str(), "--scope", "host"];
    let mut chance = u64::from(std::process::id()) << 32 | 0x7f4a_7c15;
    let mut killed = 0;
    for _ in 0..kills {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = (chance >> 40) as f64 / (1 << 24) as f64;
        let patience = duration.mul_f64(share * 1.5 / f64::from(kills));
        if !run_and_kill(&scene, &words, patience) {
            break;
        }
        killed += 1;
        words = vec!["--resume"];
    }
    if scene.data(&["log", "--json"]).is_empty() {
        let output = capture(&scene, &["--resume"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    assert!(killed > 0, "it was always too late");
    assert_eq!(pages(&scene), expected, "after {killed} kills");
    assert_eq!(descriptions_of_runs(&scene), 1, "it is one run, however often it was killed");
    let audit = scene.run(&["audit"]);
    assert_eq!(audit.status.code(), Some(0), "{}{}", stdout(&audit), stderr(&audit));
}

/// A crawl of faulty responses, validated by other tools and by `doctor`. Truncated chunks and chunks with trailers
/// are tested below the command line: warcio cannot read them.
#[test]
fn the_silos_of_a_crawl_are_accepted_by_all() {
    let web = Web::serve(Site::with_everything());
    let scene = Scene::new(&["--silo-size", "1 MiB"]);
    let faults = [
        "/",
        "/length/short",
        "/headers/folded",
        "/reset",
        "/early",
        "/gzip/good",
        "/gzip/cut",
        "/gzip/false",
        "/cached",
        "/redirect/chain/3",
    ];
    let seeds: Vec<String> = faults.iter().map(|path| web.url(path)).collect();
    let mut words: Vec<&str> = seeds.iter().map(String::as_str).collect();
    words.extend(["--idle-timeout", "1s"]);
    for _ in 0..2 {
        let output = capture(&scene, &words).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let silos = scene.silos();
    let output = scene.command().args(["doctor", "--json"]).args(&silos).output().unwrap();
    for report in lines(&output.stdout) {
        assert_eq!(report["digests"]["bad"], 0, "{report}");
        let findings = report["findings"].as_array().unwrap();
        let errors: Vec<_> = findings.iter().filter(|finding| finding["severity"] == "error").collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
    let Some(python) = varve_testkit::python() else { return };
    let output =
        Command::new(&python).args(["-m", "warcio.cli", "check", "-v"]).args(&silos).output().unwrap();
    let said = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("digest pass") && !said.contains("fail"), "{said}");
    let output = Command::new(&python).args(["-c", FASTWARC]).args(&silos).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}
