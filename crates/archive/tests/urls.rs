//! URL databases as a program meets them: files on disk, edited and checked against a web that is
//! made up here.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use varve_archive::expectations::report::CheckedUrl;
use varve_archive::expectations::{
    Follow, Observed, OnAnswer, ProbeRequest, Prober, Redirect, UrlDatabase, UrlsError, Verdict,
};
use varve_archive::verbs::urls::list::UrlFilter;
use varve_archive::verbs::urls::{add, add::AddError, check, fmt, list, remove, show};
use varve_core::BodyId;

/// A web in memory. Each URL has its answers, of which the last is given for ever.
#[derive(Default)]
struct Web {
    answers: HashMap<String, Vec<Observed>>,
    asked: Mutex<Vec<ProbeRequest>>,
}

impl Web {
    fn with(pairs: &[(&str, &[Observed])]) -> Self {
        let answers = pairs.iter().map(|(url, answers)| ((*url).to_owned(), answers.to_vec())).collect();
        Self { answers, asked: Mutex::default() }
    }

    fn urls_asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|question| question.url.clone()).collect()
    }
}

impl Prober for Web {
    /// Answers in reverse order: the caller must not rely on the order.
    fn probe(&self, questions: &[ProbeRequest], answer: OnAnswer<'_>) {
        for (number, question) in questions.iter().enumerate().rev() {
            let before = self.urls_asked().iter().filter(|url| **url == question.url).count();
            self.asked.lock().unwrap().push(question.clone());
            let found = match self.answers.get(&question.url) {
                Some(answers) => answers[before.min(answers.len() - 1)].clone(),
                None => Observed::failed("no such host"),
            };
            if answer(number, found.into()).is_break() {
                return;
            }
        }
    }
}

fn page(status: u16, media_type: &str) -> Observed {
    let sha256 = Some(BodyId::new([7; 32]));
    let media_type = Some(media_type.to_owned());
    Observed { status: Some(status), media_type, length: Some(5), sha256, ..Observed::default() }
}

struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new(files: &[(&str, &str)]) -> Self {
        let scene = Self { folder: tempfile::tempdir().unwrap() };
        files.iter().for_each(|(name, text)| fs::write(scene.path(name), text).unwrap());
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn database(&self) -> UrlDatabase {
        UrlDatabase::open(self.folder.path()).unwrap()
    }

    fn add(&self, url: &str, request: &add::Request, web: Option<&Web>) -> Result<add::Added, AddError> {
        let web = web.map(|web| web as &dyn Prober);
        add::add(&self.database(), &[url], request, web, &mut |_, _| {})?.remove(0)
    }

    fn check(&self, request: &check::Request, web: &Web) -> Vec<CheckedUrl> {
        let mut all = Vec::new();
        check::check(&self.database(), request, web, &mut |_| {}, |checked| {
            all.push(checked);
            Ok::<(), UrlsError>(())
        })
        .unwrap();
        all
    }

    fn fmt(&self, only_check: bool) -> Vec<Result<(PathBuf, bool), String>> {
        let mut all = Vec::new();
        fmt::fmt(&self.database(), only_check, &mut |_, _| {}, |result| {
            all.push(
                result
                    .map(|formatted| (formatted.path, formatted.differs))
                    .map_err(|failure| failure.to_string()),
            );
            Ok::<(), UrlsError>(())
        })
        .unwrap();
        all
    }
}

const TWO: &str = "---\n---\n_path: /a\n---\n_path: /c\n";

#[test]
fn adding_keeps_the_file_sorted_and_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new(&[("example.com.yaml", TWO)]);
    fs::set_permissions(scene.path("example.com.yaml"), fs::Permissions::from_mode(0o604)).unwrap();
    let request = add::Request { categories: vec!["z".into(), "a".into(), "z".into()], ..Default::default() };
    let added = scene.add("http://example.com/b?y=1&x=2#top", &request, None).unwrap();
    assert_eq!((added.url.as_str(), added.new), ("http://example.com/b?x=2&y=1", true));
    let wanted = "--- {}\n---\n_path: /a\n---\n_path: /b?x=2&y=1\ncategories:\n- a\n- z\n---\n_path: /c\n";
    assert_eq!(scene.text("example.com.yaml"), wanted);
    let mode = fs::metadata(scene.path("example.com.yaml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o604);
    assert!(!scene.add("http://example.com/b?x=2&y=1", &request, None).unwrap().new);
    assert_eq!(scene.text("example.com.yaml"), wanted);
    assert_eq!(fs::read_dir(scene.folder.path()).unwrap().count(), 1, "nothing else is left behind");
}

#[test]
fn a_file_for_a_new_domain_is_made_on_request() {
    let scene = Scene::new(&[]);
    let refused = scene.add("https://example.com/x", &add::Request::default(), None).unwrap_err();
    assert!(
        matches!(refused, AddError::Database(UrlsError::UnknownDomain { host }) if host == "example.com")
    );
    let request = add::Request { new_domain: true, ..Default::default() };
    assert!(scene.add("https://Example.com:443/x", &request, None).unwrap().new_domain);
    assert_eq!(scene.text("example.com.yaml"), "---\nhttps: true\n---\n_path: /x\n");
    for url in ["http://..%2f/x", "http://a b/x", "http://.hidden/x", "http://a\\b/x"] {
        assert!(
            matches!(scene.add(url, &request, None), Err(AddError::Database(UrlsError::DomainName { .. }))),
            "{url}"
        );
    }
}

#[test]
fn adding_records_the_current_responses() {
    let redirect = Observed { location: Some("/there".into()), ..page(302, "text/html") };
    let moved = Observed {
        redirects: vec![Redirect { status: 301, location: "/x".into() }],
        ..page(200, "text/plain; charset=utf-8")
    };
    let web = Web::with(&[
        ("http://example.com/page", &[page(200, "text/html; charset=utf-8")]),
        ("http://example.com/moved", &[redirect]),
        ("http://example.com/fixed", &[moved]),
        ("http://example.com/lost", &[page(404, "text/html")]),
    ]);
    let scene = Scene::new(&[("example.com.yaml", "--- {}\n")]);
    let usual = add::Request::default();
    scene.add("http://example.com/page", &usual, Some(&web)).unwrap();
    scene.add("http://example.com/moved", &usual, Some(&web)).unwrap();
    scene
        .add("http://example.com/fixed", &add::Request { fixed: true, ..usual.clone() }, Some(&web))
        .unwrap();
    let before = scene.text("example.com.yaml");
    assert_eq!(
        before,
        format!(
            "--- {{}}\n---\n_path: /fixed\ncontent-length: 5\ncontent-sha256: '{}'\ncontent-type: text/plain\n---\n_path: /moved\ncontent-type: X-302-Redirect\n---\n_path: /page\ncontent-type: text/html\n",
            "07".repeat(32)
        )
    );
    for url in ["http://example.com/lost", "http://example.com/silent"] {
        assert!(matches!(scene.add(url, &usual, Some(&web)), Err(AddError::Answer { .. })), "{url}");
    }
    assert_eq!(scene.text("example.com.yaml"), before);
    let asked = web.asked.lock().unwrap();
    let follows: Vec<Follow> = asked.iter().map(|question| question.follow).collect();
    assert_eq!(follows[..3], [Follow::First, Follow::First, Follow::Redirects]);
}

#[test]
fn lost_comments_are_reported() {
    let scene = Scene::new(&[("example.com.yaml", "# why\n---\n---\n_path: /a # this\n")]);
    let path = scene.path("example.com.yaml");
    let mut told = Vec::new();
    let mut on_loss = |file: &Path, lines: &[u64]| {
        assert!(fs::read_to_string(file).unwrap().contains("# why"), "still there");
        told.push((file.to_owned(), lines.to_vec()));
    };
    add::add(&scene.database(), &["http://example.com/b"], &add::Request::default(), None, &mut on_loss)
        .unwrap();
    assert_eq!(told, [(path, vec![1, 4])]);
    assert_eq!(scene.text("example.com.yaml"), "--- {}\n---\n_path: /a\n---\n_path: /b\n");
}

/// Many URLs are requested together and written in one go, and each has its own outcome.
#[test]
fn many_urls_are_added_at_once() {
    let scene = Scene::new(&[("a.example.yaml", "# lost once\n---\n---\n_path: /old\n")]);
    let web = Web::with(&[
        ("http://a.example/1", &[page(200, "text/html")]),
        ("http://a.example/2", &[page(404, "text/html")]),
        ("https://b.example/3", &[page(200, "text/css")]),
        ("https://b.example/4", &[page(200, "text/css")]),
    ]);
    let urls = ["a.example/1", "http://a.example/2", "https://b.example/3", "http://a.example/1#x"];
    let urls = [&urls[..], &["http://a.example/old", "ftp://x/", "https://b.example/4"]].concat();
    let request = add::Request { new_domain: true, ..Default::default() };
    let mut losses = 0;
    let found = add::add(&scene.database(), &urls, &request, Some(&web), &mut |_, _| losses += 1).unwrap();
    let told = |found: &Result<add::Added, AddError>| match found {
        Ok(added) => format!("{} {} {}", added.url, added.new, added.new_domain),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        found.iter().map(told).collect::<Vec<_>>(),
        [
            "http://a.example/1 true false",
            "`http://a.example/2` cannot be added: HTTP 404",
            "https://b.example/3 true true",
            "http://a.example/1 false false",
            "http://a.example/old false false",
            "the URL cannot be used",
            "https://b.example/4 true false",
        ]
    );
    assert_eq!(losses, 1, "a file is written once");
    assert_eq!(web.urls_asked().len(), 4, "what is known, and what was asked, is not asked");
    assert_eq!(
        scene.text("a.example.yaml"),
        "--- {}\n---\n_path: /1\ncontent-type: text/html\n---\n_path: /old\n"
    );
    assert!(scene.text("b.example.yaml").starts_with("---\nhttps: true\n---\n_path: /3\n"));
}

/// Folders, links, endless and binary files are errors that name the problem. None is waited for.
#[test]
fn entries_that_are_not_files_are_reported() {
    let scene = Scene::new(&[]);
    let refused = || {
        let error = scene.database().load_all().unwrap_err();
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        format!("{error}{}", source.unwrap_or_default())
    };
    let place = scene.path("x.example.yaml");
    let shown = place.display();
    fs::create_dir(&place).unwrap();
    assert_eq!(refused(), format!("could not read `{shown}`: `{shown}` is a folder, not a regular file"));
    fs::remove_dir(&place).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &place).unwrap();
    assert_eq!(
        refused(),
        format!("could not read `{shown}`: `{shown}` is a symbolic link, not a regular file")
    );
    fs::remove_file(&place).unwrap();
    fs::write(&place, b"---\n---\n_path: /caf\xe9\n").unwrap();
    assert_eq!(refused(), format!("`{shown}` is not text in UTF-8: see line 3"));
    fs::File::create(&place).unwrap().set_len((256 << 20) + 1).unwrap();
    assert_eq!(refused(), format!("`{shown}` is longer than {} bytes", 256 << 20));
}

/// A path that does not begin with `/` would, behind a host, name another host.
#[test]
fn a_path_never_makes_another_host() {
    let records = "---\n---\n_path: .evil.example/x\n---\n_path: '@evil.example'\n---\n_path: ''\n";
    let scene = Scene::new(&[("a.example.yaml", records)]);
    let web = Web::with(&[("http://a.example", &[page(200, "text/html")])]);
    let found = scene.check(&check::Request::default(), &web);
    let words: Vec<_> = found.iter().map(|checked| checked.verdict.kind().name()).collect();
    assert_eq!(words, ["unreachable", "unreachable", "ok"]);
    assert_eq!(web.urls_asked(), ["http://a.example"]);
}

#[test]
fn concurrent_edits_are_not_lost() {
    let scene = Scene::new(&[("example.com.yaml", "--- {}\n")]);
    std::thread::scope(|threads| {
        for thread in 0..6 {
            let scene = &scene;
            threads.spawn(move || {
                for number in 0..5 {
                    let url = format!("http://example.com/{thread}/{number}");
                    scene.add(&url, &add::Request::default(), None).unwrap();
                }
            });
        }
    });
    let mut count = 0;
    list::list(&scene.database(), &UrlFilter::default(), |_, _| {
        count += 1;
        Ok::<(), UrlsError>(())
    })
    .unwrap();
    assert_eq!(count, 30);
}

#[test]
fn records_are_shown_and_removed_by_url() {
    let scene = Scene::new(&[(
        "example.com.yaml",
        "---\ncnames: [www.example.com]\n---\n_path: /ü\n---\n_path: /c\n",
    )]);
    let (_, record) = show::show(&scene.database(), "http://www.example.com/ü").unwrap();
    assert_eq!(show::text(&record), "---\n_path: \"/\\xFC\"\n");
    let removed = remove::remove(&scene.database(), "http://example.com/c", true, &mut |_, _| {}).unwrap();
    assert_eq!(removed, "http://example.com/c");
    assert!(scene.text("example.com.yaml").contains("/c"), "that was a rehearsal");
    remove::remove(&scene.database(), "http://example.com/c", false, &mut |_, _| {}).unwrap();
    assert_eq!(scene.text("example.com.yaml"), "---\ncnames:\n- www.example.com\n---\n_path: \"/\\xFC\"\n");
    let again = remove::remove(&scene.database(), "http://example.com/c", false, &mut |_, _| {});
    assert!(matches!(again, Err(UrlsError::Unexpected { .. })));
}

#[test]
fn formatting_writes_only_what_differs() {
    let scene = Scene::new(&[
        ("a.example.yaml", "---\r\n---\r\n_path: /b\r\n---\r\n_path: /a\r\n"),
        ("b.example.yaml", "--- {}\n---\n_path: /\n"),
        ("c.example.yaml", "---\n---\n_path: [\n"),
        ("notes.txt", "no database"),
    ]);
    let found = scene.fmt(true);
    assert_eq!(found[0], Ok((scene.path("a.example.yaml"), true)));
    assert_eq!(found[1], Ok((scene.path("b.example.yaml"), false)));
    assert!(found[2].is_err() && found.len() == 3);
    assert!(scene.text("a.example.yaml").starts_with("---\r\n---"), "checking writes nothing");
    scene.fmt(false);
    assert_eq!(scene.text("a.example.yaml"), "--- {}\r\n---\r\n_path: /a\r\n---\r\n_path: /b\r\n");
    assert_eq!(scene.fmt(true)[0], Ok((scene.path("a.example.yaml"), false)));
    assert_eq!(scene.text("c.example.yaml"), "---\n---\n_path: [\n");
}

#[test]
fn a_check_has_a_verdict_for_every_url_in_order() {
    let scene = Scene::new(&[
        (
            "a.example.yaml",
            "---\ncnames: [b.example]\n---\n_path: /\n---\n_path: /old\ncategories: [deprecated]\n---\n_path: /typed\ncontent-type: text/html\n",
        ),
        ("z.example.yaml", "---\nhttps: true\n---\n_path: /\n"),
    ]);
    let web = Web::with(&[
        ("http://a.example/", &[Observed::failed("timed out"), page(200, "text/html")]),
        ("http://b.example/", &[page(500, "text/html")]),
        ("http://a.example/typed", &[page(200, "image/png")]),
        ("http://b.example/typed", &[page(200, "text/html")]),
    ]);
    let request = check::Request { cnames: true, retries: 1, ..Default::default() };
    let found = scene.check(&request, &web);
    let lines: Vec<_> =
        found.iter().map(|one| (one.url.as_str(), one.verdict.kind().name(), one.line)).collect();
    assert_eq!(
        lines,
        [
            ("http://a.example/", "ok", Some(3)),
            ("http://b.example/", "broken", Some(3)),
            ("http://a.example/old", "skipped", Some(5)),
            ("http://b.example/old", "skipped", Some(5)),
            ("http://a.example/typed", "changed", Some(8)),
            ("http://b.example/typed", "ok", Some(8)),
            ("https://z.example/", "unreachable", Some(3)),
        ]
    );
    assert!(!web.urls_asked().iter().any(|url| url.contains("/old")), "what is deprecated is not asked");
    assert_eq!(web.urls_asked().len(), 5 + 4, "only failures are asked again");
}

#[test]
fn a_check_can_be_narrowed_and_sent_elsewhere() {
    let scene =
        Scene::new(&[("a.example.yaml", "---\n---\n_path: /x/1\n---\n_path: /y\n"), ("b.example.yaml", TWO)]);
    let web = Web::with(&[("http://localhost:1/x/1", &[page(204, "")])]);
    let filter =
        UrlFilter { domain: Some("a.example".into()), path_prefix: Some("/x".into()), category: None };
    let map = vec![("a.example".to_owned(), "localhost:1".to_owned())];
    let found = scene.check(&check::Request { filter, map, ..Default::default() }, &web);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].url.as_str(), &found[0].verdict), ("http://localhost:1/x/1", &Verdict::Ok));
    let filter = UrlFilter { domain: Some("b.example".into()), ..UrlFilter::default() };
    let map = vec![("a.example".to_owned(), "localhost:1".to_owned())];
    let found = scene.check(&check::Request { filter, map, ..Default::default() }, &web);
    assert!(!found.is_empty(), "a domain that is mapped may be left out");
    let map = vec![("unknown.example".to_owned(), "localhost".to_owned())];
    let request = check::Request { map, ..Default::default() };
    let refused = check::check(&scene.database(), &request, &web, &mut |_| {}, |_| Ok::<(), UrlsError>(()));
    assert!(matches!(refused, Err(UrlsError::UnknownDomain { .. })));
}
