//! Moku sites and Crystal projects, served in place.

use std::io::Write;
use std::path::{Path, PathBuf};

use varve_crystal::{DownloadError, MajorVersion, ProjectWriter};

use super::{Served, commit, page, serving};
use crate::project::{Download, make};

#[test]
fn a_moku_site_is_served() {
    let lines = [
        page("http://e.org/", "2026-01-01T00:00:00Z", "<a href=/b>x</a>"),
        page("http://e.org/b", "2026-01-01T00:00:00Z", "bee"),
    ];
    let (_place, served) = serving(false, &lines);
    let reply = served.get("/web/http://e.org/");
    assert_eq!(reply.status, 302, "{reply:?}");
    let reply = served.get(reply.header("location").unwrap());
    assert!(reply.text().contains("/http://e.org/b\">x</a>"), "{reply:?}");
    assert!(served.get("/web/2026id_/http://e.org/b").text().contains("bee"));
    assert!(served.page("/").text().contains("Newest versions"));
    assert!(served.page("/page?url=http://e.org/").text().contains("1 capture"));
    assert_eq!(served.page("/cdx?url=http://e.org/*").text().lines().count(), 2);
}

/// A purged page is reported as removed, also by a server that was running: with its body, and where another page has the same body.
#[test]
fn a_purged_page_is_gone() {
    let lines = [
        page("http://e.org/a", "2026-01-01T00:00:00Z", "shared"),
        page("http://e.org/b", "2026-01-01T00:00:00Z", "shared"),
        page("http://e.org/c", "2026-01-01T00:00:00Z", "alone"),
    ];
    let (place, served) = serving(true, &lines);
    for url in ["http://e.org/b", "http://e.org/c"] {
        let path = format!("/web/20260101000000id_/{url}");
        assert_eq!(served.get(&path).status, 200);
        place.data(&["purge", "--drop", url, "--reason", "a takedown", "--author", "me"]);
        let reply = served.get(&path);
        assert_eq!(reply.status, 410, "{reply:?}");
        assert!(reply.text().contains("a takedown"), "{reply:?}");
    }
    assert_eq!(served.get("/web/20260101000000id_/http://e.org/a").text(), "shared");
}

/// A page of a purged version has no capture any more; its tombstone still says who removed it, why and when.
#[test]
fn a_page_of_a_purged_version_answers_with_its_tombstone() {
    let (place, served) = serving(true, &[page("http://e.org/a", "2026-01-01T00:00:00Z", "stays")]);
    commit(&place, &[page("http://e.org/b", "2026-01-02T00:00:00Z", "goes")], "second");
    assert_eq!(served.get("/web/2026id_/http://e.org/b").text(), "goes");
    place.data(&["purge", "--drop-version", "HEAD", "--reason", "a takedown", "--author", "Ann"]);
    let fresh = super::Served::start(&place.path("museum"));
    for served in [&served, &fresh] {
        for reply in [
            served.get("/web/2026/http://e.org/b"),
            served.get("/web/2026id_/http://e.org/b"),
            served.get("/web/http://e.org/b"),
            served.page("/view?url=http://e.org/b"),
            served.page("/page?url=http://e.org/b"),
        ] {
            assert_eq!(reply.status, 410, "{reply:?}");
            let text = reply.text();
            for word in ["Ann", "a takedown", "tombstone"] {
                assert!(text.contains(word), "{word}: {text}");
            }
        }
        assert_eq!(served.get("/web/2026/http://e.org/never").status, 404);
        assert_eq!(served.get("/web/2026id_/http://e.org/a").text(), "stays");
    }
}

/// A project of a page with an image, a redirect, a missing body and a failed download.
fn project(folder: &Path) -> PathBuf {
    let date = ("Date", "Thu, 01 Jan 2026 00:00:00 GMT");
    let packed = packed("<title>Home</title><img src=/i.png><a href=/old>old</a>");
    let html = ("Content-Type", "text/html");
    let failure = DownloadError { kind: "gaierror".to_owned(), message: "no such host".to_owned() };
    let downloads = [
        Download::answer("https://site.example/", 200, &[html, ("Content-Encoding", "gzip"), date], &packed),
        Download::answer("https://site.example/i.png", 200, &[("Content-Type", "image/png"), date], b"PNG"),
        Download::answer("https://site.example/old", 302, &[("Location", "/"), date], b""),
        Download::answer("https://site.example/lost", 200, &[html, date], b"lost"),
        Download::failed("https://site.example/failed", failure),
        Download::answer("https://site.example/none", 204, &[date], b""),
        Download::answer("https://site.example/odd", 204, &[date], b"a body all the same"),
    ];
    make(&folder.join("lab"), MajorVersion::Tree, downloads)
}

/// Compresses with the `gzip` program.
fn packed(text: &str) -> Vec<u8> {
    let mut child = std::process::Command::new("gzip")
        .arg("-c")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child.wait_with_output().unwrap().stdout
}

#[test]
fn a_crystal_project_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let path = project(folder.path());
    std::fs::remove_file(path.join("revisions/000/000/000/000/004"))
        .or_else(|_| remove_fourth(&path))
        .unwrap();
    let served = Served::start(&path);
    let reply = served.get("/web/2026/https://site.example/");
    let text = reply.text();
    assert!(text.contains("<img src=\"/web/2026/https://site.example/i.png\">"), "{text}");
    assert_eq!(reply.header("content-encoding"), None);
    assert_eq!(served.get("/web/2026/https://site.example/i.png").text(), "PNG");
    assert_eq!(
        served.get("/web/2026/https://site.example/old").header("location"),
        Some("/web/2026/https://site.example/")
    );
    let lost = served.get("/web/2026/https://site.example/lost");
    assert_eq!(lost.status, 500);
    assert!(lost.text().contains("is lost"));
    let failed = served.get("/web/2026/https://site.example/failed");
    assert_eq!(failed.status, 404);
    assert!(failed.text().contains("no such host"));
    let none = served.get("/web/2026/https://site.example/none");
    assert_eq!((none.status, none.text().as_str()), (204, ""), "{none:?}");
    let odd = served.get("/web/2026/https://site.example/odd");
    assert_eq!((odd.status, odd.text().as_str()), (200, "a body all the same"), "{odd:?}");
    let home = served.page("/").text();
    assert!(home.contains("Newest captures") && home.contains("https://site.example/i.png"), "{home}");
    assert_eq!(served.page("/page?url=https://site.example/").status, 200);
    assert_eq!(served.page("/cdx?url=https://site.example/*").text().lines().count(), 7);
}

/// Removes the body of the fourth revision in any layout.
fn remove_fourth(path: &Path) -> std::io::Result<()> {
    let mut folders = vec![path.join("revisions")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if entry.file_name() == "004" {
                return std::fs::remove_file(entry.path());
            }
        }
    }
    Err(std::io::ErrorKind::NotFound.into())
}

#[test]
fn the_newest_revision_is_served_even_if_it_failed_unless_a_good_one_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let url = "https://site.example/";
    let date = ("Date", "Thu, 01 Jan 2026 00:00:00 GMT");
    let good = Download::answer(url, 200, &[("Content-Type", "text/html"), date], b"good");
    let failed = Download::failed(url, DownloadError::timed_out());
    let path = make(&folder.path().join("lab"), MajorVersion::Tree, [good, failed]);
    let mut writer = ProjectWriter::open(&path).unwrap();
    writer.add_alias("https://live.example/", "https://live.example/", true).unwrap();
    writer.close().unwrap();
    let served = Served::start(&path);
    let reply = served.get(&format!("/web/{url}"));
    assert_eq!(reply.status, 404, "{reply:?}");
    assert!(reply.text().contains("TimeoutError: timed out"), "{reply:?}");
    // With a time, the response of that time is shown.
    assert!(served.get(&format!("/web/20260101000000/{url}")).text().contains("good"));
    let outside = served.get("/web/https://live.example/x");
    assert_eq!(outside.status, 404);
    assert!(outside.text().contains("href=\"https://live.example/x\""), "{outside:?}");
    assert_eq!(served.page("/page?url=https://live.example/x").status, 404);
    drop(served);
    let served = Served::start_with(&path, &["--newest-good"]);
    let reply = served.get(&format!("/web/{url}"));
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.text().contains("good"), "{reply:?}");
}

/// As in Crystal, a page links to the default revision of each page, of any time.
#[test]
fn links_of_a_project_lead_to_default_revisions_unless_a_time_was_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let (home, other) = ("https://site.example/", "https://site.example/b");
    let html = |url, month, body: &str| {
        let date = format!("Thu, 01 {month} 2026 00:00:00 GMT");
        Download::answer(url, 200, &[("Content-Type", "text/html"), ("Date", &date)], body.as_bytes())
    };
    let downloads = [
        html(home, "Jan", "<a href=/b>b</a>"),
        html(other, "Jan", "the older"),
        html(other, "Oct", "the newer"),
    ];
    let served = Served::start(&make(&folder.path().join("lab"), MajorVersion::Tree, downloads));
    let reply = served.get(&format!("/web/{home}"));
    assert_eq!((reply.status, reply.header("cache-control")), (200, Some("no-cache")), "{reply:?}");
    assert!(reply.text().contains(&format!("<a href=\"/web/{other}\">")), "{reply:?}");
    assert!(served.get(&format!("/web/{other}")).text().contains("the newer"));
    let chosen = served.get(&format!("/web/20260101000000/{home}"));
    assert!(chosen.text().contains(&format!("<a href=\"/web/20260101000000/{other}\">")), "{chosen:?}");
    assert!(served.get(&format!("/web/20260101000000/{other}")).text().contains("the older"));
    let frame = served.page(&format!("/view?url={home}")).text();
    assert!(frame.contains(&format!("/web/{home}\"")), "{frame}");
    let frame = served.page(&format!("/view?time=20260101000000&url={home}")).text();
    assert!(frame.contains(&format!("/web/20260101000000/{home}\"")), "{frame}");
}

/// A project knows URLs that were never downloaded, that failed, and that no address can name.
#[test]
fn only_addresses_that_show_something_are_suggested() {
    let folder = tempfile::tempdir().unwrap();
    let answer = |url, status| Download::answer(url, status, &[("Content-Type", "text/html")], b"page");
    let downloads = [
        answer("https://site.example/a/good", 200),
        answer("https://site.example/a/bad", 400),
        answer("https://site.example/a/cut#", 200),
        Download::failed("https://site.example/a/failed", DownloadError::timed_out()),
        answer("ftp://site.example/a/file", 200),
    ];
    let path = make(&folder.path().join("lab"), MajorVersion::Tree, downloads);
    let mut writer = ProjectWriter::open(&path).unwrap();
    writer.add_resource("https://site.example/a/known").unwrap();
    writer.close().unwrap();
    let served = Served::start(&path);
    for asked in ["/web/https://site.example/a/other", "/web/2026/https://site.example/a/other"] {
        let reply = served.get(asked);
        assert_eq!(reply.status, 404);
        let text = reply.text();
        let links: Vec<&str> =
            text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let suggested: Vec<&&str> = links.iter().filter(|link| link.starts_with("/web/")).collect();
        assert_eq!(suggested.len(), 1, "{links:?}");
        assert!(suggested[0].ends_with("/a/good"), "{links:?}");
        assert_eq!(served.get(suggested[0]).status, 200, "{links:?}");
    }
    let other = served.get("/web/ftp://site.example/a/x");
    assert!(!other.text().contains("href=\"/web/"), "{other:?}");
}

#[test]
fn an_unchanged_page_is_reported_as_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let url = "https://site.example/";
    let answer = |status, second, body: &[u8]| {
        let date = format!("Thu, 01 Jan 2026 00:00:0{second} GMT");
        Download::answer(url, status, &[("ETag", "\"a\""), ("Date", &date)], body)
    };
    let downloads = [answer(200, 1, b"page"), answer(304, 2, b""), answer(200, 3, b"other")];
    let served = Served::start(&make(&folder.path().join("lab"), MajorVersion::Tree, downloads));
    let history = served.page(&format!("/page?url={url}")).text();
    assert_eq!(history.matches(">unchanged<").count(), 1, "{history}");
    assert_eq!(history.matches(">changed<").count(), 1, "{history}");
}

#[test]
fn sample_projects_are_served() {
    let Some(fixtures) = varve_testkit::fixtures("crystal/lab") else { return };
    for name in ["lab-v1-flat", "lab-v2", "lab-v3-pack16", "lab-v1-oldschema"] {
        let folder = tempfile::tempdir().unwrap();
        let file = std::fs::File::open(fixtures.join(format!("{name}.crystalproj.zip"))).unwrap();
        zip::ZipArchive::new(file).unwrap().extract(folder.path()).unwrap();
        let is_project = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "crystalproj");
        let path = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(is_project)
            .unwrap();
        let served = Served::start(&path);
        let rows = served.page("/cdx?url=http*&output=json").text();
        let mut shown = 0;
        for line in rows.lines().take(40) {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let (time, url) = (row["timestamp"].as_str().unwrap(), row["url"].as_str().unwrap());
            let reply = served.get(&format!("/web/{time}/{url}"));
            let is_sound = reply.status != 200 || (reply.whole && reply.header("memento-datetime").is_some());
            assert!(is_sound && reply.status < 600, "{name} {url}: {reply:?}");
            shown += usize::from(reply.status == 200);
        }
        assert!(shown > 0, "{name} shows nothing: {rows}");
        assert_eq!(served.page("/").status, 200);
    }
}

#[test]
fn a_warc_file_is_served_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let block = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<a href=/b>x</a>";
    let record = format!(
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n\
         WARC-Target-URI: http://e.org/\r\nContent-Type: application/http;msgtype=response\r\n\
         Content-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    );
    let path = folder.path().join("crawl.warc");
    std::fs::write(&path, record).unwrap();
    let served = super::Served::start_with(folder.path(), &["--no-cache", path.to_str().unwrap()]);
    let reply = served.get("/web/20260101000000/http://e.org/");
    assert!(reply.text().contains("/http://e.org/b\">x</a>"), "{reply:?}");
    assert_eq!(served.get("/web/20260101000000id_/http://e.org/").text(), "<a href=/b>x</a>");
    assert!(served.page("/").text().contains("crawl.warc"));
    assert_eq!(served.page("/cdx?url=http://e.org/*").text().lines().count(), 1);
}
