//! The pages of the UI.

use super::museum::{REPLAY_HOST, UI_HOST};
use super::{Museum, TestOrigins, page, resource};

fn two_versions() -> (Museum, TestOrigins) {
    let museum = Museum::new(true);
    museum.commit(
        &[
            page("http://e.org/", "2025-12-31T10:00:00Z", "<h1>Old</h1>\n<p>same</p>\n"),
            resource("http://e.org/a.css", "2025-12-31T10:00:00Z", "text/css", "a{}"),
        ],
        "as it began",
    );
    museum.commit(
        &[
            page("http://e.org/", "2026-01-05T10:00:00Z", "<h1>New</h1>\n<p>same</p>\n"),
            resource("http://e.org/a.css", "2026-01-05T10:00:00Z", "text/css", "a{}"),
        ],
        "the relaunch",
    );
    let origins = museum.serve();
    (museum, origins)
}

#[test]
fn pages_link_to_history_versions_and_diffs() {
    let (_museum, origins) = two_versions();
    let home = origins.page("/").text();
    for wanted in [
        "<dt>Versions</dt><dd>2",
        "<dt>Captures</dt><dd>4",
        "<dt>Size</dt>",
        "the relaunch",
        "as it began",
        "/page?url=http://e.org/",
    ] {
        assert!(home.contains(wanted), "{wanted}\n{home}");
    }
    let list = origins.page("/pages?prefix=e.org/a").text();
    assert!(list.contains("/page?url=http://e.org/a.css") && !list.contains("url=http://e.org/\""), "{list}");
    let history = origins.page("/page?url=e.org").text();
    for wanted in [
        "2 captures",
        "<figcaption>2026",
        "<figcaption>2025",
        "2026-01-05: 1 capture",
        ">changed</a>",
        "first</span>",
        "/view?time=20260105100000&amp;url=http://e.org/",
    ] {
        assert!(history.contains(wanted), "{wanted}\n{history}");
    }
    let version = origins.page("/version?id=HEAD").text();
    for wanted in ["the relaunch", "1 changed", "1 unchanged", "/diff?url=http://e.org/"] {
        assert!(version.contains(wanted), "{wanted}\n{version}");
    }
    assert!(!version.contains("a.css") && origins.page("/version?id=HEAD&all=1").text().contains("a.css"));
    assert_eq!(origins.page("/versions").text().matches("<li class=\"version\">").count(), 2);
}

#[test]
fn a_diff_shows_two_captures_side_by_side() {
    let (_museum, origins) = two_versions();
    let diff =
        origins.page("/diff?url=http://e.org/&base=2025-12-31T10:00:00Z&head=2026-01-05T10:00:00Z").text();
    for wanted in [
        "&lt;h1&gt;<del>Old</del>&lt;/h1&gt;",
        "&lt;h1&gt;<ins>New</ins>&lt;/h1&gt;",
        "Change 1 of 1",
        "by nodes",
    ] {
        assert!(diff.contains(wanted), "{wanted}\n{diff}");
    }
    let nodes = origins.page("/diff?url=http://e.org/&base=2025&head=2027&mode=dom").text();
    let row =
        nodes.split("<tr>").find(|row| row.contains("html &gt; body &gt; h1")).expect("the row of the node");
    for wanted in
        ["<td>changed</td>", "<td class=\"removed\"><div>Old</div>", "<td class=\"added\"><div>New</div>"]
    {
        assert!(row.contains(wanted), "{wanted}\n{row}");
    }
    assert_eq!(origins.page("/diff?url=http://e.org/&base=2025").status, 400);
    assert_eq!(origins.page("/diff?url=http://nowhere.example/&base=2025&head=2026").status, 404);
}

#[test]
fn noise_around_a_change_has_the_bytes_of_each_side() {
    let museum = Museum::new(true);
    for (time, nonce, text) in [("2025-12-31", "aaaaaaaa1", "old"), ("2026-01-05", "bbbbbbbb2", "new")] {
        let body = format!("<p nonce=\"{nonce}\">\n<b>{text}</b>\n");
        museum.commit(&[page("http://e.org/", &format!("{time}T10:00:00Z"), &body)], text);
    }
    let diff = museum.serve().page("/diff?url=http://e.org/&base=2025&head=2027").text();
    let row = diff.split("<tr>").find(|row| row.contains("aaaaaaaa1")).expect("the older side");
    let (older, newer) = row.split_once("bbbbbbbb2").expect("the newer side in the same row");
    assert!(!newer.contains("aaaaaaaa1"), "{row}");
    assert!(older.contains("<td class=\"same noise\">") && older.contains("noise: nonce"), "{row}");
}

#[test]
fn only_the_ui_may_frame_a_replayed_page() {
    let (_museum, origins) = two_versions();
    let reply = origins.page("/view?url=http://e.org/&time=20260105");
    let policy = reply.header("content-security-policy").unwrap();
    assert!(policy.contains(&format!("frame-src http://{};", REPLAY_HOST)), "{policy}");
    let view = reply.text();
    let source = format!("src=\"http://{}/web/20260105100000/http://e.org/\"", REPLAY_HOST);
    assert!(view.contains(&source) && view.contains("← older") && view.contains("what changed"), "{view}");
    let framed = origins.get("/web/20260105100000/http://e.org/");
    let policy = framed.header("content-security-policy").unwrap();
    assert!(policy.ends_with(&format!("frame-ancestors 'self' http://{}", UI_HOST)), "{policy}");
}

#[test]
fn the_heartbeat_assets_and_error_statuses_are_stable() {
    let (_museum, origins) = two_versions();
    let beat = origins.page("/.well-known/heartbeat");
    assert_eq!((beat.status, beat.text().as_str()), (200, "OK"));
    for (target, kind) in [
        ("/style.css", "text/css; charset=utf-8"),
        ("/keys.js", "text/javascript; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
    ] {
        let reply = origins.page(target);
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(kind)));
    }
    for target in [
        "/nothing",
        "/page?url=http://nowhere.example/",
        "/version?id=nonsense",
        "/view?url=http://nowhere.example/",
    ] {
        assert_eq!(origins.page(target).status, 404, "{target}");
    }
    for target in ["/page", "/version", "/view", "/view?url=http://e.org/&time=x"] {
        assert_eq!(origins.page(target).status, 400, "{target}");
    }
}

/// Captures under all spellings of a URL are one history.
#[test]
fn all_spellings_share_one_history() {
    for is_archive in [true, false] {
        let museum = Museum::new(is_archive);
        let (old, new) = ("2025-12-31T10:00:00Z", "2026-01-05T10:00:00Z");
        museum.commit(&[page("http://e.org/a?x=1&y=2", old, "<h1>Old</h1>\n")], "one");
        museum.commit(&[page("http://e.org/a?y=2&x=1", new, "<h1>New</h1>\n")], "other");
        let origins = museum.serve();
        for url in ["http://e.org/a?x=1%26y=2", "http://e.org/a?y=2%26x=1"] {
            let history = origins.page(&format!("/page?url={url}")).text();
            for wanted in ["2 captures", ">changed</a>", "2025-12-31: 1 capture"] {
                assert!(history.contains(wanted), "{wanted}\n{history}");
            }
            let diff = origins.page(&format!("/diff?url={url}&base={old}&head={new}")).text();
            assert!(diff.contains("<del>Old</del>") && diff.contains("<ins>New</ins>"), "{diff}");
        }
    }
}

#[test]
fn an_added_redacted_header_is_shown_without_its_value() {
    let museum = Museum::new(true);
    for (time, headers) in [("2026-01-01", ""), ("2026-01-02", r#""Set-Cookie":"id=secret""#)] {
        let headers: serde_json::Value = serde_json::from_str(&format!("{{{headers}}}")).unwrap();
        let time = format!("{time}T10:00:00Z");
        let line =
            serde_json::json!({ "url": "http://e.org/", "time": time, "body": "same", "headers": headers });
        museum.commit(&[line], "m");
    }
    let origins = museum.serve();
    let shown =
        origins.page("/diff?url=http://e.org/&base=2026-01-01T10:00:00Z&head=2026-01-02T10:00:00Z").text();
    assert!(shown.contains("<code>set-cookie</code></td><td></td><td class=\"added\">"), "{shown}");
    assert!(shown.contains("[REDACTED]") && !shown.contains("secret"), "{shown}");
}

#[test]
fn a_page_is_downloaded_with_what_it_embeds() {
    let museum = Museum::new(true);
    let time = "2026-01-01T00:00:00Z";
    let lines = [
        page("http://e.org/", time, "<link rel=stylesheet href=/a.css><title>T</title><p>words"),
        resource("http://e.org/a.css", time, "text/css", "a{}"),
        page("http://e.org/other", time, "<p>other"),
    ];
    museum.commit(&lines, "m");
    let origins = museum.serve();
    let reply = origins.page("/export.wacz?url=http://e.org/");
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/wacz")));
    let text = String::from_utf8_lossy(&reply.body).into_owned();
    assert!(
        reply.body.starts_with(b"PK")
            && text.contains("pages/pages.jsonl")
            && text.contains("\"title\":\"T\"")
    );
    assert_eq!(reply.header("content-length"), Some(reply.body.len().to_string().as_str()));
    assert!(!text.contains("http://e.org/other"));
    assert_eq!(origins.page("/export.wacz?url=http://e.org/none").status, 404);
    assert_eq!(origins.page("/export.wacz").status, 400);
    assert!(origins.page("/page?url=http://e.org/").text().contains("/export.wacz?url="));
}
