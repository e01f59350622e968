//! The JSON output of every verb, compared with `docs/json.md`: names and types of fields, the
//! schema number, the size of integers; and errors as JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use varve_testkit::aardwarc::{AardwarcMaker, resource};
use varve_testkit::web::{Answer, Site, Web};

use crate::{stderr, stdout, varve};

/// The greatest integer that all JSON readers keep: 2^53.
const MAX_EXACT_INTEGER: u64 = 1 << 53;

/// The fields of each object of each verb, with their types, as the document has them.
type Documented = BTreeMap<String, Vec<BTreeMap<String, String>>>;

fn documented() -> Documented {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut verbs = Documented::new();
    let mut verb = String::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## `varve ") {
            verb = title.trim_end_matches('`').to_owned();
        } else if line.starts_with("| field |") {
            verbs.entry(verb.clone()).or_default().push(BTreeMap::new());
        } else if let Some(row) = line.strip_prefix("| `") {
            let (name, rest) = row.split_once("` | ").unwrap();
            let (kind, _) = rest.split_once(" | ").unwrap();
            let object = verbs.get_mut(&verb).unwrap().last_mut().unwrap();
            object.insert(name.to_owned(), kind.to_owned());
        }
    }
    verbs
}

/// Why a value is not as its documented type says; `None` if it is.
fn mismatch(verbs: &Documented, value: &Value, kind: &str) -> Option<String> {
    let kind = kind.trim_end_matches(", optional");
    if kind == "`files[]` of `varve diff`" {
        let fields = &verbs["diff"][0];
        let below = fields.iter().filter_map(|(name, kind)| Some((name.strip_prefix("files[].")?, kind)));
        let fields = below.map(|(name, kind)| (name.to_owned(), kind.clone())).collect();
        return wrong_field(verbs, value, &fields, "");
    }
    let is_one = |kind: &str, value: &Value| match kind {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "bool" => value.is_boolean(),
        "null" => value.is_null(),
        "object" | "map" => value.is_object(),
        "pair" => value.as_array().is_some_and(|pair| pair.len() == 2 && pair.iter().all(Value::is_number)),
        _ => false,
    };
    let kinds: Vec<&str> = kind.split(" or ").collect();
    let is_right = kinds.iter().any(|kind| match kind.strip_prefix("array of ") {
        Some(element) => value.as_array().is_some_and(|values| {
            values.iter().all(|value| is_one(element, value) || kinds.contains(&"null") && value.is_null())
        }),
        None => is_one(kind, value),
    });
    (!is_right).then(|| format!("{value} is not {kind}"))
}

/// The first field of an object that is missing, unknown or of another type.
fn wrong_field(
    verbs: &Documented,
    object: &Value,
    fields: &BTreeMap<String, String>,
    above: &str,
) -> Option<String> {
    let own = |name: &str| name.strip_prefix(above).filter(|rest| !rest.contains('.')).map(str::to_owned);
    for (path, kind) in fields {
        let Some(name) = own(path) else { continue };
        let Some(value) = object.get(&name) else {
            if !kind.ends_with(", optional") {
                return Some(format!("`{path}` is missing"));
            }
            continue;
        };
        if let Some(why) = mismatch(verbs, value, kind) {
            return Some(format!("`{path}`: {why}"));
        }
        let elements = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        let below = if value.is_array() { format!("{path}[].") } else { format!("{path}.") };
        if kind.contains("object") {
            let wrong = elements.iter().filter(|element| element.is_object());
            if let Some(why) = wrong.filter_map(|element| wrong_field(verbs, element, fields, &below)).next()
            {
                return Some(why);
            }
        }
    }
    let unknown = object.as_object()?.keys().find(|name| !fields.contains_key(&format!("{above}{name}")));
    unknown.map(|name| format!("`{above}{name}` is not described"))
}

fn greatest_integer(value: &Value) -> u64 {
    match value {
        Value::Array(values) => values.iter().map(greatest_integer).max().unwrap_or(0),
        Value::Object(fields) => fields.values().map(greatest_integer).max().unwrap_or(0),
        Value::Number(number) => number.as_u64().or(number.as_i64().map(i64::unsigned_abs)).unwrap_or(0),
        _ => 0,
    }
}

/// Runs verbs and compares their output with the document.
struct JsonRunner {
    root: tempfile::TempDir,
    verbs: Documented,
    /// The verbs and numbers of the objects that were printed.
    seen: BTreeSet<(String, usize)>,
}

impl JsonRunner {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        Self { root, verbs: documented(), seen: BTreeSet::new() }
    }

    fn run(&self, words: &[&str], input: &str) -> Output {
        let mut command = varve();
        command.current_dir(self.root.path()).args(words);
        assert_cmd::Command::from_std(command).write_stdin(input).output().unwrap()
    }

    /// Runs a call that needs no check.
    fn prepare(&self, words: &[&str]) -> String {
        let output = self.run(words, "");
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// Runs a verb with `--json` and returns its objects.
    fn check(&mut self, verb: &str, words: &[&str]) -> Vec<Value> {
        self.check_with_input(verb, words, "")
    }

    fn check_with_input(&mut self, verb: &str, words: &[&str], input: &str) -> Vec<Value> {
        let output = self.run(&[words, &["--json"]].concat(), input);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{words:?}: {}", stderr(&output));
        self.compare(verb, &stdout(&output))
    }

    fn compare(&mut self, verb: &str, text: &str) -> Vec<Value> {
        let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(!lines.is_empty(), "`{verb}` printed nothing");
        for (number, line) in lines.iter_mut().enumerate() {
            let schema = line.as_object_mut().unwrap().shift_remove("schema");
            let wanted = (number == 0).then_some(1);
            assert_eq!(schema.and_then(|schema| schema.as_u64()), wanted, "`{verb}`: {line}");
            assert!(greatest_integer(line) <= MAX_EXACT_INTEGER, "{line}");
            let objects = &self.verbs[verb];
            let wrong: Vec<_> =
                objects.iter().map(|fields| wrong_field(&self.verbs, line, fields, "")).collect();
            match wrong.iter().position(Option::is_none) {
                Some(object) => self.seen.insert((verb.to_owned(), object)),
                None => panic!("`{verb}` printed {line}\nwhich is no object of docs/json.md: {wrong:?}"),
            };
        }
        lines
    }
}

/// A site whose first page changes with each request, with a page that is gone later.
fn web() -> Web {
    let count = Arc::new(AtomicUsize::new(0));
    let page = move |_: &_| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        Answer::html(format!(
            "<title>{number}</title><form action=/f><input type=password></form><p>number {number}</p>\
             <a href=/a/1>1</a><a href=/a/2>2</a><a href=/a/3>3</a><a href=/secret>4</a>"
        ))
    };
    let site = Site::new()
        .page("/robots.txt", Answer::of("text/plain", "User-agent: *\nDisallow: /secret\n"))
        .computed("/", page)
        .page("/a/1", Answer::html("<p>one"))
        .page("/a/2", Answer::html("<p>two"))
        .page("/a/3", Answer::status(404))
        .page(
            "/feed",
            Answer::of(
                "application/rss+xml",
                "<rss version='2.0'><channel><title>t</title><item><title>1</title><link>/a/1</link></item>\
                 <item><title>3</title><link>/a/3</link></item></channel></rss>",
            ),
        )
        .page("/fixed", Answer::of("text/plain", "fixed"));
    Web::serve(site)
}

const QUICK: [&str; 5] = ["--delay", "0", "--allow-private", "--retries", "0"];

#[test]
fn every_verb_prints_the_documented_fields() {
    let (mut runner, web) = (JsonRunner::new(), web());
    captures_and_history(&mut runner, &web);
    plans_and_expectations(&mut runner, &web);
    objects_and_permanence(&mut runner, &web);
    projects_and_sites(&mut runner, &web);
    served(&mut runner);
    recordings(&mut runner);
    let all = runner.verbs.iter().flat_map(|(verb, objects)| (0..objects.len()).map(|n| (verb.clone(), n)));
    let unseen: Vec<_> = all.filter(|object| !runner.seen.contains(object)).collect();
    // A sound project has no findings, and a timestamp needs an authority.
    let unseen: Vec<_> =
        unseen.into_iter().filter(|(verb, _)| can_open_windows() || verb != "record").collect();
    assert_eq!(unseen, [("crystal verify".to_owned(), 0), ("seal".to_owned(), 1)]);
}

/// Whether `record` can run here. Without Chromium a part of this test is skipped.
fn can_open_windows() -> bool {
    varve_testkit::chromium().is_some()
}

fn recordings(runner: &mut JsonRunner) {
    let proxy = ["-C", "m", "proxy", "--listen", "127.0.0.1:0", "--ca-folder", "ca", "--idle-exit", "1s"];
    runner.check("proxy", &proxy);
    if can_open_windows() {
        runner.check("record", &["-C", "m", "record", "--headless", "--for", "1s"]);
    }
}

fn captures_and_history(runner: &mut JsonRunner, web: &Web) {
    let seed = web.url("/");
    runner.prepare(&["init", "m"]);
    let capture = [&["-C", "m", "capture", &seed, "--scope", "host"][..], &QUICK].concat();
    let lines = runner.check("capture", &capture);
    assert!(lines.iter().any(|line| line["event"] == "skipped"));
    runner.check("capture", &capture);
    runner.check("log", &["-C", "m", "log"]);
    runner.check("log", &["-C", "m", "log", &seed]);
    runner.check("show", &["-C", "m", "show"]);
    for words in [&["search", "number"][..], &["search", "number", "--ever"], &["search", "one", "--ever"]] {
        runner.check("search", &[&["-C", "m"], words].concat());
    }
    for words in [&["blame", &seed][..], &["blame", &seed, "--html"]] {
        runner.check("blame", &[&["-C", "m"], words].concat());
    }
    for mode in ["lines", "words", "dom", "headers", "chars"] {
        runner.check("diff", &["-C", "m", "diff", "--mode", mode, "--all"]);
        runner.check("diff", &["-C", "m", "diff", "--mode", mode]);
    }
    runner.check("diff", &["-C", "m", "diff", "--format", "json"]);
    runner.check("score", &["-C", "m", "score"]);
    runner.check("score", &["-C", "m", "score", "--explain"]);
    runner.prepare(&["-C", "m", "tag", "first"]);
    runner.check("tag", &["-C", "m", "tag"]);
    let folder = runner.root.path().join("site");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("index.html"), "<p>page").unwrap();
    std::os::unix::fs::symlink("index.html", folder.join("link.html")).unwrap();
    runner.check(
        "commit",
        &["-C", "m", "commit", "-m", "m", "--from", "site", "--base-url", "http://a.example/"],
    );
    runner.check("checkout", &["-C", "m", "checkout", "HEAD", "--to", "tree"]);
    for page in [&seed, &web.url("/a/3"), "site/index.html"] {
        runner.check("extract", &["-C", "m", "extract", page, "--allow-private"]);
    }
    runner.check("extract", &["-C", "m", "extract", &seed, "--at", "2999-01-01", "--markdown"]);
    runner.check("feed", &["-C", "m", "feed", &web.url("/feed"), "--allow-private"]);
}

fn plans_and_expectations(runner: &mut JsonRunner, web: &Web) {
    let (seed, group) = (web.url("/"), web.url("/a/*"));
    runner.prepare(&["-C", "m", "plan", "root", "add", &seed, "--name", "home"]);
    runner.prepare(&["-C", "m", "plan", "group", "add", &group, "--name", "as", "--found-on", "home"]);
    runner.prepare(&["-C", "m", "plan", "group", "add", &web.url("/b/*"), "--name", "bs"]);
    runner.prepare(&["-C", "m", "plan", "alias", "add", "https://a.example/", "https://b.example/"]);
    for verb in ["plan root list", "plan group list", "plan alias list", "plan show", "plan tree"] {
        let words: Vec<&str> = ["-C", "m"].into_iter().chain(verb.split(' ')).collect();
        runner.check(verb, &words);
    }
    runner.check("plan members", &["-C", "m", "plan", "members", "as"]);
    runner.check("plan suggest", &["-C", "m", "plan", "suggest", &seed]);
    runner.prepare(&["init", "bad"]);
    let plan = "groups:\n- {name: x, pattern: 'http://a.example/*', found_on: nothing}\n";
    std::fs::write(runner.root.path().join("bad/plan.yaml"), plan).unwrap();
    runner.check("plan check", &["-C", "bad", "plan", "check"]);
    let fixed = web.url("/fixed");
    runner.check(
        "urls add",
        &["-C", "m", "urls", "add", &fixed, "--domain-file", "--static", "--allow-private"],
    );
    runner.check("urls add", &["-C", "m", "urls", "add", &web.url("/a/3x"), "--offline"]);
    runner.check("urls list", &["-C", "m", "urls", "list"]);
    runner.check("urls show", &["-C", "m", "urls", "show", &fixed]);
    runner.check("urls check", &["-C", "m", "urls", "check", "--allow-private", "--delay", "0"]);
    for words in [&["check"][..], &["check", "--against-archive", "--explain"]] {
        runner.check("check", &[&["-C", "m"], words, &["--allow-private", "--delay", "0"]].concat());
    }
    let checks = runner.check("log", &["-C", "m", "log", "--checks"]);
    runner.check("show", &["-C", "m", "show", checks[0]["check"].as_str().unwrap()]);
    runner.check("log", &["-C", "m", "log", "--checks", &fixed]);
}

fn objects_and_permanence(runner: &mut JsonRunner, web: &Web) {
    let stored = runner.check("store", &["-C", "m", "store", "site/index.html"]);
    let id = stored[0]["id"].as_str().unwrap().to_owned();
    runner.check("get", &["-C", "m", "get", &id, "--headers"]);
    runner.check_with_input("filter", &["-C", "m", "filter"], &id);
    let stowed = runner.check("stow", &["-C", "m", "stow", "site"]);
    runner.check("get", &["-C", "m", "get", "--tree", stowed[0]["id"].as_str().unwrap(), "--to", "out"]);
    runner.check("explain", &["explain", "HTTP://a.example/?b=1&a=2#c"]);
    let key = runner.check("key", &["key", "http://a.example/"]);
    assert!(key[0]["key"].as_str().unwrap().parse::<u64>().unwrap() > MAX_EXACT_INTEGER);
    let key = runner.check("token make-key", &["token", "make-key"])[0]["key"].as_str().unwrap().to_owned();
    let token = runner.check("token issue", &["token", "issue", "--sub", "ada", "--signing-key", &key]);
    let token = token[0]["token"].as_str().unwrap().to_owned();
    runner.check("token show", &["token", "show", &token, "--signing-key", &key]);
    runner.check("audit", &["-C", "m", "audit"]);
    runner.check("seal make-key", &["-C", "m", "seal", "make-key"]);
    runner.check("seal", &["-C", "m", "seal"]);
    runner.check("verify", &["-C", "m", "verify"]);
    std::fs::write(runner.root.path().join("m/seal/checkpoint"), "other").unwrap();
    runner.check("verify", &["-C", "m", "verify"]);
    runner.check("rebuild", &["-C", "m", "rebuild"]);
    runner.check("housekeeping", &["-C", "m", "housekeeping"]);
    runner.check("gc", &["-C", "m", "gc", "--keep-last", "1"]);
    let page = web.url("/a/1");
    let purge = ["-C", "m", "purge", "--drop", &page, "--reason", "a test", "--author", "me"];
    runner.check("purge", &[&purge[..], &["--dry-run"]].concat());
    runner.check("purge", &purge);
    let log = runner.check("log", &["-C", "m", "log", &page]);
    assert!(log.iter().any(|line| line["removed"]["why"] == "a test"), "{log:?}");
    let silo = "m/warc/0/00000000.warc.gz";
    runner.check("doctor", &["doctor", "--rules"]);
    std::fs::write(runner.root.path().join("bad.warc"), b"WARC/1.0\r\nfoo\r\n\r\n").unwrap();
    runner.check("doctor", &["doctor", "bad.warc"]);
    let mut bytes = std::fs::read(runner.root.path().join("m/warc/0").join("00000000.warc.gz"))
        .unwrap_or_else(|_| panic!("{silo} is there"));
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(runner.root.path().join("damaged.warc.gz"), bytes).unwrap();
    runner.check("doctor", &["doctor", "damaged.warc.gz", "--repair", "mended.warc.gz"]);
    std::fs::remove_dir_all(runner.root.path().join("m/index")).unwrap();
    runner.check("audit", &["-C", "m", "audit"]);
    runner.prepare(&["-C", "m", "rebuild"]);
    runner.prepare(&["init", "z", "--packing", "zstd"]);
    for number in 0..40 {
        let text = format!("<html><title>page {number}</title><p>{}", "the same words again ".repeat(40));
        std::fs::write(runner.root.path().join(format!("site/{number}.html")), text).unwrap();
    }
    runner.prepare(&["-C", "z", "commit", "-m", "m", "--from", "site", "--base-url", "http://a.example/"]);
    runner.check("train", &["-C", "z", "train"]);
}

fn projects_and_sites(runner: &mut JsonRunner, web: &Web) {
    AardwarcMaker::new(&runner.root.path().join("aardwarc")).add_silo(&[resource(b"small")]);
    runner.check("import", &["-C", "m", "import", "damaged.warc.gz"]);
    runner.check("import", &["-C", "m", "import", "aardwarc"]);
    runner.check("export", &["-C", "m", "export", "--format", "crystal", "p.crystalproj"]);
    runner.check("export", &["-C", "m", "export", "--format", "warc", "m.warc.gz"]);
    runner.check("export", &["-C", "m", "export", "--format", "wacz", "m.wacz"]);
    runner.check("import", &["-C", "m", "import", "p.crystalproj"]);
    runner.check("crystal info", &["crystal", "info", "p.crystalproj"]);
    runner.check("crystal verify", &["crystal", "verify", "p.crystalproj"]);
    runner.check("crystal migrate", &["crystal", "migrate", "p.crystalproj"]);
    runner.check("crystal save-as", &["crystal", "save-as", "p.crystalproj", "q.crystalproj"]);
    runner.check("crystal property", &["crystal", "property", "--project", "p.crystalproj"]);
    runner.check("export", &["-C", "p.crystalproj", "export", "--format", "warc", "out.warc.gz"]);
    runner.check("export", &["export", "--format", "cdxj", "--from", "out.warc.gz", "out.cdxj"]);
    runner.check("log", &["-C", "p.crystalproj", "log"]);
    let page = web.url("/fixed");
    runner.check("capture", &[&["-C", "p.crystalproj", "capture", &page][..], &QUICK].concat());
    runner.prepare(&["moku", "new", "old"]);
    runner.check("moku info", &["moku", "info", "old"]);
    for number in ["1", "2", "3"] {
        std::fs::write(runner.root.path().join("page.html"), number).unwrap();
        let url = "http://a.example/page";
        runner.check("commit", &["-C", "old", "commit", "-m", "m", "page.html", "--url", url]);
    }
    runner.check("gc", &["-C", "old", "gc", "--keep-last", "1", "--dry-run"]);
    runner.check("gc", &["-C", "old", "gc", "--keep-last", "1"]);
    runner.check("audit", &["-C", "old", "audit"]);
}

/// The first line of a server, which runs until it is stopped.
fn served(runner: &mut JsonRunner) {
    let mut command = varve();
    command.current_dir(runner.root.path()).args(["-C", "m", "serve", "--json"]);
    command.args(["--listen", "127.0.0.1:0", "--replay-listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    let mut reader = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut reader, &mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    runner.compare("serve", &line);
}

#[test]
fn errors_are_json_objects_on_standard_error() {
    let runner = JsonRunner::new();
    for words in [
        &["-C", "nothing", "log", "--json"][..],
        &["capture", "--json", "--depth", "two", "http://a.example/"],
        &["-C", "nothing", "diff", "--format", "json"],
        &["-C", "nothing", "diff", "--format=json"],
        &["doctor", "nothing", "--json"],
        &["key", "http://[bad", "--json"],
    ] {
        let plain: Vec<&str> = words
            .iter()
            .copied()
            .filter(|word| !["--json", "--format", "json", "--format=json"].contains(word))
            .collect();
        let output = runner.run(words, "");
        assert_eq!(output.status.code(), runner.run(&plain, "").status.code(), "{words:?}");
        let said = stderr(&output);
        let errors: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(errors.len(), 1, "{said}");
        assert_eq!(errors[0]["schema"], 1, "{said}");
        let error = &errors[0]["error"];
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{said}");
        assert!(error["causes"].is_array() && error["hints"].is_array(), "{said}");
        let text = stderr(&runner.run(&plain, ""));
        assert!(text.starts_with("error: "), "{text}");
    }
}

#[test]
fn integers_from_outside_that_are_too_large_are_strings() {
    let runner = JsonRunner::new();
    runner.prepare(&["init", "m"]);
    let folder = runner.root.path().join("m/urls");
    std::fs::create_dir_all(&folder).unwrap();
    runner.prepare(&["-C", "m", "urls", "add", "http://a.example/x", "--domain-file", "--offline"]);
    let file = folder.join("a.example.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let path = text.lines().find(|line| line.contains("_path")).unwrap();
    let indent = &path[..path.find("_path").unwrap()].replace('-', " ");
    let text = text.replace(path, &format!("{path}\n{indent}content-length: 9007199254740993"));
    std::fs::write(&file, &text).unwrap();
    let output = runner.run(&["-C", "m", "urls", "list", "--json"], "");
    assert!(
        stdout(&output).contains(r#""length":"9007199254740993""#),
        "{text}{}",
        stdout(&output) + &stderr(&output)
    );
}

/// Fields that other programs rely on; they are never optional.
#[test]
fn promised_fields_are_documented() {
    let verbs = documented();
    for (verb, object, fields) in [
        ("key", 0, &["url", "clean", "key"][..]),
        ("doctor", 0, &["file", "format", "records", "by_type", "findings", "digests", "last_good_offset"]),
        ("doctor", 0, &["findings[].rule", "findings[].offset", "findings[].severity", "findings[].message"]),
        ("doctor", 0, &["digests.ok", "digests.bad", "digests.unchecked"]),
        ("store", 0, &["id", "new", "length"]),
        ("audit", 0, &["kind", "severity", "silo", "offset", "id", "message"]),
        ("audit", 1, &["summary.records", "summary.bytes", "summary.findings"]),
        ("commit", 0, &["version", "parent", "captures", "changed"]),
        ("log", 0, &["id", "parent", "message", "author", "time", "captures", "tags"]),
        ("log", 1, &["url", "time", "status", "body", "version", "length"]),
        ("diff", 0, &["base", "head", "files[].url", "files[].path", "files[].change"]),
        ("capture", 1, &["version", "captured", "unchanged", "failed", "skipped", "bytes"]),
        ("check", 0, &["url", "verdict", "status", "expected", "got", "since", "capture"]),
        ("urls check", 1, &["summary.ok", "summary.changed", "summary.broken", "summary.unreachable"]),
        ("crystal info", 0, &["major_version", "resources", "revisions", "roots", "groups", "aliases"]),
        ("crystal info", 0, &["missing_bodies", "error_revisions", "bytes"]),
    ] {
        for field in fields {
            let kind = verbs[verb][object].get(*field);
            assert!(kind.is_some_and(|kind| !kind.contains("optional")), "`{field}` of `{verb}`: {kind:?}");
        }
    }
}
