//! Pages as files: what was committed from a folder comes back as it was, and a browser finds its
//! way from file to file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::scene::*;
use proptest::prelude::*;
use varve_archive::verbs::checkout::FileOptions;
use varve_archive::verbs::commit::{FolderSource, NewBody, NewPage, Request, commit};
use varve_archive::{Headers, VersionId};

/// The files below a folder with their contents, without the mark of a checkout.
fn files_in(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut files, mut waiting) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).expect("listed") {
            let path = entry.expect("read").path();
            if path.is_dir() {
                waiting.push(path);
            } else if !path.ends_with(".varve-checkout") {
                files.insert(
                    path.strip_prefix(root).expect("below").to_owned(),
                    fs::read(&path).expect("read"),
                );
            }
        }
    }
    files
}

/// Commits a folder as `varve commit --from` does.
fn commit_folder(archive: &Path, folder: &Path, base: &str, index: Option<&str>) -> VersionId {
    let index = index.map(str::to_owned);
    let source = FolderSource { index, ..FolderSource::new(folder, base) };
    let request = Request {
        message: "a folder".to_owned(),
        threads: 2,
        covers: Some(base.to_owned()),
        ..Request::default()
    };
    commit(&history(archive), &request, source, &|_| {}).expect("committed").version
}

/// Names that mean something to URLs, servers, file systems or varve.
fn name() -> impl Strategy<Value = Vec<u8>> {
    let odd = [
        "index.html",
        "INDEX.HTML",
        "a",
        "A",
        "b.html",
        "b",
        "%",
        "%25",
        "%2F",
        "?",
        "#",
        "a b",
        "x?y=1",
        "c.css",
        ".hidden",
        ".varve-checkout.txt",
        "~",
        "a;b",
        "a=b&c",
        "ä.html",
        "\u{301}",
        "\n",
        "\\",
        ".page_body",
        "@",
        "x@y=1.html",
        "script.js",
        "README",
        "...",
        "a:b",
        "+",
        "*",
        "'\"",
        "utm_source=x",
        "é%41",
        ".tmp-varve-a",
    ];
    prop_oneof![
        8 => prop::sample::select(odd.to_vec()).prop_map(|name| name.as_bytes().to_vec()),
        2 => prop::collection::vec(any::<u8>().prop_filter("a name", |byte| !matches!(byte, 0 | b'/')), 1..12)
            .prop_filter("a name", |name| name != b"." && name != b".."),
        1 => "[a-z]{240,255}".prop_map(String::into_bytes),
    ]
}

/// A folder as a list of paths. A path that is in the way of another one is left out.
fn tree() -> impl Strategy<Value = Vec<(Vec<Vec<u8>>, Vec<u8>)>> {
    let body = prop_oneof![Just(Vec::new()), prop::collection::vec(any::<u8>(), 0..40)];
    prop::collection::vec((prop::collection::vec(name(), 1..4), body), 1..12)
}

fn write_tree(root: &Path, files: &[(Vec<Vec<u8>>, Vec<u8>)]) {
    fs::create_dir_all(root).expect("made");
    for (segments, body) in files {
        let parts: Vec<OsString> = segments.iter().map(|name| OsString::from_vec(name.clone())).collect();
        let path = parts.iter().fold(root.to_owned(), |path, part| path.join(part));
        let is_free = fs::create_dir_all(path.parent().expect("a folder")).is_ok() && !path.exists();
        if is_free {
            fs::write(&path, body).expect("written");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_committed_folder_comes_back_as_it_was(
        trees in prop::collection::vec(tree(), 1..3),
        has_index in any::<bool>(),
        is_below in any::<bool>(),
        has_other_site in any::<bool>(),
    ) {
        let place = tempfile::tempdir().expect("a folder");
        let (archive, to) = (place.path().join("archive"), place.path().join("out"));
        make(Kind::Archive, &archive);
        if has_other_site {
            commit_pages(&history(&archive), "other", &[("https://other.example/index.html", "other")]);
        }
        let base = if is_below { "https://e.org/some/where" } else { "https://e.org" };
        let index = has_index.then_some("index.html");
        let mut versions = Vec::new();
        for (number, tree) in trees.iter().enumerate() {
            let folder = place.path().join(format!("tree-{number}"));
            write_tree(&folder, tree);
            if files_in(&folder).is_empty() {
                continue;
            }
            versions.push((commit_folder(&archive, &folder, base, index), folder));
        }
        let below = (is_below || has_other_site).then(|| format!("{base}/"));
        // Twice, so that files of one version replace those of another.
        for (version, folder) in versions.iter().chain(versions.iter().rev()) {
            let options = FileOptions { below: below.clone(), ..FileOptions::default() };
            export_files(&reader(&archive), *version, &to, options);
            prop_assert_eq!(files_in(&to), files_in(folder));
        }
    }
}

fn html(url: &str, body: &str) -> NewPage {
    typed(url, "text/html", body)
}

fn typed(url: &str, media_type: &str, body: &str) -> NewPage {
    let mut headers = Headers::new();
    headers.push("Content-Type", media_type);
    NewPage { url: url.to_owned(), time: None, status: 200, headers, body: NewBody::Bytes(body.into()) }
}

fn redirect(url: &str, to: &str) -> NewPage {
    let mut headers = Headers::new();
    headers.push("Location", to);
    NewPage { url: url.to_owned(), time: None, status: 301, headers, body: NewBody::Bytes(Vec::new()) }
}

fn commit_all(archive: &Path, pages: Vec<NewPage>) -> VersionId {
    let request = Request {
        message: "pages".to_owned(),
        threads: 2,
        covers: Some(String::new()),
        ..Request::default()
    };
    commit(&history(archive), &request, pages, &|_| {}).expect("committed").version
}

fn texts(root: &Path) -> BTreeMap<String, String> {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    files_in(root)
        .into_iter()
        .map(|(path, body)| (path.to_str().expect("text").to_owned(), text(body)))
        .collect()
}

#[test]
fn pages_that_want_one_name_all_get_one() {
    let place = tempfile::tempdir().expect("a folder");
    let (archive, to) = (place.path().join("archive"), place.path().join("out"));
    make(Kind::Archive, &archive);
    let version = commit_all(
        &archive,
        vec![
            html("https://e.org/", "home"),
            html("https://e.org/index.html", "home"),
            html("https://e.org/a", "page"),
            html("https://e.org/a.html", "file"),
            html("https://e.org/a/", "folder"),
            typed("https://e.org/d", "application/octet-stream", "file in the way"),
            typed("https://e.org/d/x.txt", "text/plain", "x"),
            html("http://e.org/a.html", "http"),
            html("https://e.org/s?q=1/2", "one"),
            html("https://e.org/s?q=1_2", "other"),
            redirect("https://e.org/old", "/a"),
        ],
    );
    let done = export_files(&reader(&archive), version, &to, FileOptions::default());
    assert_eq!((done.written, done.redirects), (10, 1));
    let files = texts(&to);
    let of = |name: &str| files.get(name).map(String::as_str);
    assert_eq!(of("index.html"), Some("home"), "two pages with one body share a file: {files:?}");
    assert_eq!(of("a/index.html"), Some("folder"));
    assert_eq!(of("d/x.txt"), Some("x"));
    // The first of two pages with one own path has the name.
    assert_eq!(of("a.html"), Some("http"));
    assert_eq!(files.len(), 9, "{files:?}");
    let digests = files.keys().filter(|name| name.contains('~')).count();
    assert_eq!(digests, 4, "`/a`, `/a.html`, `/d` and the query with a slash: {files:?}");
}

#[test]
fn links_lead_from_file_to_file() {
    let place = tempfile::tempdir().expect("a folder");
    let (archive, to) = (place.path().join("archive"), place.path().join("out"));
    make(Kind::Archive, &archive);
    let version = commit_all(
        &archive,
        vec![
            html(
                "https://e.org/",
                "<base href='/sub/'><a href='page?x=1#top'>p</a><a href='https://web.org/'>w</a>",
            ),
            html(
                "https://e.org/sub/page?x=1",
                "<a href='/moved'>m</a><img srcset='i.png 2x'><link href='/s' crossorigin integrity=x>",
            ),
            typed("https://e.org/sub/i.png", "image/png", "png"),
            typed("https://e.org/s", "text/css", "a{background:url(sub/i.png)}"),
            redirect("https://e.org/moved", "/sub/"),
            redirect("https://e.org/sub/", "//e.org/"),
            typed("https://e.org/latin", "text/html; charset=iso-8859-1", "<p>x"),
        ],
    );
    let options = FileOptions { relative_links: true, ..FileOptions::default() };
    export_files(&reader(&archive), version, &to, options.clone());
    let files = texts(&to);
    assert_eq!(
        files["index.html"],
        "<base><a href=\"sub/page@x=1.html#top\">p</a><a href=\"https://web.org/\">w</a>"
    );
    assert_eq!(
        files["sub/page@x=1.html"],
        "<a href=\"../index.html\">m</a><img srcset=\"i.png 2x\"><link href=\"../s.css\">"
    );
    assert_eq!(files["s.css"], "a{background:url(\"sub/i.png\")}");
    assert_eq!(files["latin.html"], "<meta charset=\"windows-1252\"><p>x");
    // A changed file stays, the others go with the version.
    fs::write(to.join("latin.html"), "by a user").expect("written");
    let next = commit_all(&archive, vec![html("https://e.org/", "<p>all")]);
    let done = export_files(&reader(&archive), next, &to, options);
    assert_eq!((done.written, done.removed, done.stayed), (1, 3, 1));
    assert_eq!(texts(&to).into_keys().collect::<Vec<_>>(), ["index.html", "latin.html"]);
}

#[test]
fn links_in_the_folder_are_not_followed_and_other_files_stay() {
    let place = tempfile::tempdir().expect("a folder");
    let (archive, to) = (place.path().join("archive"), place.path().join("out"));
    let victim = place.path().join("victim");
    fs::create_dir(&victim).expect("made");
    make(Kind::Archive, &archive);
    let first =
        commit_all(&archive, vec![html("https://e.org/x/a.html", "1"), html("https://e.org/b.html", "1")]);
    export_files(&reader(&archive), first, &to, FileOptions::default());
    fs::write(to.join("mine.txt"), "mine").expect("written");
    fs::remove_dir_all(to.join("x")).expect("removed");
    std::os::unix::fs::symlink(&victim, to.join("x")).expect("linked");
    let second = commit_all(&archive, vec![html("https://e.org/x/a.html", "2")]);
    let written = varve_archive::verbs::checkout::export(
        &reader(&archive),
        second,
        &to,
        varve_archive::verbs::checkout::FolderLayout::Files(FileOptions::default()),
        &mut |_| {},
    );
    assert!(written.is_err(), "a link is in the way");
    assert_eq!(fs::read_dir(&victim).expect("listed").count(), 0);
    fs::remove_file(to.join("x")).expect("removed");
    export_files(&reader(&archive), second, &to, FileOptions::default());
    assert_eq!(texts(&to).into_keys().collect::<Vec<_>>(), ["mine.txt", "x/a.html"]);
}
