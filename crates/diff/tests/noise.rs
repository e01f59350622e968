//! What looks like noise and is none, and what is: in every mode, as the `diff` verb compares.
//!
//! For each rule there are changes beside it that resemble what it knows. A rule that explains one
//! of them would hide from a reader what somebody did to a page.

use varve_core::headers::{HeaderView, Redaction};
use varve_diff::compare::{CaptureSide, CompareOptions, DiffMode, compare};

/// The modes in which a change within a page counts as one.
fn changed_modes(base: &str, head: &str) -> Vec<DiffMode> {
    let headers = HeaderView::from_pairs([("content-type", "text/html")], Redaction::Off);
    let page = |text: &str| format!("<html><body>\n<h1>t</h1>\n{text}\n<p>end</p></body></html>\n");
    let (base, head) = (page(base), page(head));
    let side = |body| CaptureSide { id: "", headers: &headers, body, media_type: None };
    let is_told = |mode: &DiffMode| {
        let options = CompareOptions { mode: *mode, ..CompareOptions::default() };
        compare(&side(base.as_bytes()), &side(head.as_bytes()), &options).is_changed()
    };
    [DiffMode::Lines, DiffMode::Words, DiffMode::Dom].into_iter().filter(is_told).collect()
}

fn assert_all_changed(cases: &[(&str, &str)]) {
    for (base, head) in cases {
        assert_eq!(changed_modes(base, head).len(), 3, "hidden: {base} / {head}");
    }
}

fn assert_none_changed(cases: &[(&str, &str)]) {
    for (base, head) in cases {
        assert_eq!(changed_modes(base, head), [], "{base} / {head}");
    }
}

#[test]
fn values_near_the_name_of_a_token_are_changes() {
    assert_all_changed(&[
        (
            r#"<script>var csrfUrl = "https://good.example/token1";</script>"#,
            r#"<script>var csrfUrl = "https://evil.example/steal1";</script>"#,
        ),
        (
            r#"<script>var csrf = "https://good.example/token1";</script>"#,
            r#"<script>var csrf = "https://evil.example/steal1";</script>"#,
        ),
        (
            r#"<form data-csrf-endpoint="https://good.example/a1" action=x>"#,
            r#"<form data-csrf-endpoint="https://evil.example/b1" action=x>"#,
        ),
        (r#"<form data-csrf="//good.example/a1">"#, r#"<form data-csrf="//evil.example/a1">"#),
        (
            r#"<input name="iban" value="DE89370400440532013000" class="csrf-protected">"#,
            r#"<input name="iban" value="GB29NWBK60161331926819" class="csrf-protected">"#,
        ),
        (
            r#"<input class="csrf" value="DE89370400440532013000" name="iban">"#,
            r#"<input class="csrf" value="GB29NWBK60161331926819" name="iban">"#,
        ),
        (
            r#"<form class="csrf" action="/pay"><button name=to value="alice1">pay</button>"#,
            r#"<form class="csrf" action="/pay"><button name=to value="mallory1">pay</button>"#,
        ),
        (
            r#"<script>var c={"csrfProtection":"disabled"}</script>"#,
            r#"<script>var c={"csrfProtection":"required"}</script>"#,
        ),
        (r#"<script>var c={"csrf":"disabled"}</script>"#, r#"<script>var c={"csrf":"required"}</script>"#),
        (r#"<p>CSRF is bad. value="forgeries"</p>"#, r#"<p>CSRF is bad. value="good-thing"</p>"#),
        (r#"CSRF is bad. value="forgery1""#, r#"CSRF is bad. value="thing-22""#),
        (r#"<p>They wrote "csrf":"abc123" there</p>"#, r#"<p>They wrote "csrf":"def456" there</p>"#),
        (
            r#"<input name="form_token" placeholder="x" value="abcdefgh">"#,
            r#"<input name="form_token" placeholder="x" value="ijklmnop">"#,
        ),
        (
            r#"<input name="csrf_token_url" value="/a1/b2c3">"#,
            r#"<input name="csrf_token_url" value="/c3/b2a1">"#,
        ),
    ]);
}

#[test]
fn values_beside_nonces_are_changes() {
    assert_all_changed(&[
        (r#"<div data-announce="sale1now">x</div>"#, r#"<div data-announce="sale2now">x</div>"#),
        (r#"<script>announce = "v1sale";</script>"#, r#"<script>announce = "v2sale";</script>"#),
        (r#"<p>The nonce = "abc123" was seen</p>"#, r#"<p>The nonce = "def456" was seen</p>"#),
        (
            r#"<script>block={"nonce":"0x4f2a1b9c"}</script>"#,
            r#"<script>block={"nonce":"0x9c4f2a1b"}</script>"#,
        ),
        (r#"<input name="pronounce" value="ab12cd">"#, r#"<input name="pronounce" value="cd34ef">"#),
        (r#"<script nonce="">a()</script>"#, r#"<script nonce="abcdefgh12">a()</script>"#),
        (r#"<script nonce="abcdefgh12">a()</script>"#, r#"<script nonce="zzzzzzgh12">b()</script>"#),
    ]);
}

#[test]
fn ids_that_people_use_are_changes() {
    assert_all_changed(&[
        (
            r#"<a href="/foi/view?request_id=10000001">see</a>"#,
            r#"<a href="/foi/view?request_id=10000002">see</a>"#,
        ),
        (
            r#"<a href="/foi/view?request_id=0a1b2c3d4e">see</a>"#,
            r#"<a href="/foi/view?request_id=4e3d2c1b0a">see</a>"#,
        ),
        ("<p>Request ID: 10000001</p>", "<p>Request ID: 10000002</p>"),
        (
            r#"<script>x={"request_id":"FOI-2026-0001"}</script>"#,
            r#"<script>x={"request_id":"FOI-2026-0002"}</script>"#,
        ),
        (r#"<script>x={"request_id":10000001}</script>"#, r#"<script>x={"request_id":10000002}</script>"#),
        (r#"<script>var r="0123456789abcdef";</script>"#, r#"<script>var r="ffff456789abcdef";</script>"#),
        (r#"<input name="sid" value="student-alice">"#, r#"<input name="sid" value="student-bobby">"#),
        (r#"<input name="sid" value="student1alice">"#, r#"<input name="sid" value="student1bobby">"#),
        (
            r#"<input name="session_id" value="keynote2026">"#,
            r#"<input name="session_id" value="closing2026">"#,
        ),
        (
            r#"<a href="/talk?session_id=keynote-day">x</a>"#,
            r#"<a href="/talk?session_id=closing-day">x</a>"#,
        ),
        (r#"<a href="/talk?sessionid=10000001">x</a>"#, r#"<a href="/talk?sessionid=10000002">x</a>"#),
        (r#"<a href="/?PHPSESSID=documentation">x</a>"#, r#"<a href="/?PHPSESSID=installations">x</a>"#),
        (
            r#"<p>open http://x/?PHPSESSID=abcdef0123456789</p>"#,
            r#"<p>open http://x/?PHPSESSID=bbcdef0123456789</p>"#,
        ),
        // `a@good.example`, then `a@evil.example`, both scrambled.
        (
            r#"<a data-cfemail="107150777f7f743e7568717d607c75">x</a>"#,
            r#"<a data-cfemail="1071507566797c3e7568717d607c75">x</a>"#,
        ),
        (
            r#"<a href="/cdn-cgi/l/email-protection#107150777f7f743e7568717d607c75">x</a>"#,
            r#"<a href="/cdn-cgi/l/email-protection#2041604556494c0e4558414d504c45">x</a>"#,
        ),
    ]);
}

#[test]
fn times_that_people_write_are_changes() {
    assert_all_changed(&[
        ("<p>Best script executed in 12 s wins $100", "<p>Best script executed in 9 s wins $100"),
        ("<td>Page views loaded: 5 s</td>", "<td>Page views loaded: 9 s</td>"),
        ("<p>Electricity generated in 12 s</p>", "<p>Electricity generated in 15 s</p>"),
        ("<p>Page loaded in 5 s by the winner</p>", "<p>Page loaded in 9 s by the winner</p>"),
        ("<p>The server was built in 9 seconds</p>", "<p>The server was built in 10 seconds</p>"),
        ("<!-- the sale ends 2026-05-01 10:00 -->", "<!-- the sale ends 2026-05-02 10:00 -->"),
        ("<p>Opening hours updated: 10:00:00</p>", "<p>Opening hours updated: 12:00:00</p>"),
        ("<p>Verdict rendered 2026-05-01 10:00", "<p>Verdict rendered 2026-05-02 10:00"),
        (
            "<p>Electricity generated at 06:00:01 in 12 seconds</p>",
            "<p>Electricity generated at 06:00:01 in 15 seconds</p>",
        ),
        ("<p>Served at 10:00:00 in 12 seconds by the cup", "<p>Served at 10:00:00 in 15 seconds by the cup"),
        (r#"<meta name="build" content="tower one">"#, r#"<meta name="build" content="tower two">"#),
        ("<p>build: 3f2a9c14e5d6</p>", "<p>build: 9c13f2ad6e45</p>"),
        (
            r#"<script>d={"releases":[{"v":"1.0","commit_hash":"3f2a9c14e5d6"}]}</script>"#,
            r#"<script>d={"releases":[{"v":"1.0","commit_hash":"9c13f2ad6e45"}]}</script>"#,
        ),
        (
            r#"<a href=/x.tgz data-commit-sha="3f2a9c14e5d6">x</a>"#,
            r#"<a href=/x.tgz data-commit-sha="9c13f2ad6e45">x</a>"#,
        ),
        (
            r#"<script>d={"releases":[{"v":"1.0","build":"3f2a9c14e5d6"}]}</script>"#,
            r#"<script>d={"releases":[{"v":"1.0","build":"9c13f2ad6e45"}]}</script>"#,
        ),
        (
            r#"<a href=/x.tgz data-build="3f2a9c14e5d6">x</a>"#,
            r#"<a href=/x.tgz data-build="9c13f2ad6e45">x</a>"#,
        ),
        (
            "<td>Built on 1 May 2026, 10:00 in 42 seconds</td>",
            "<td>Built on 1 May 2026, 10:00 in 9999 seconds</td>",
        ),
        ("<p>Served from 11:00 in 30 seconds</p>", "<p>Served from 11:00 in 900 seconds</p>"),
        (
            r#"<script>e={"title":"Concert","time":1700000000}</script>"#,
            r#"<script>e={"title":"Concert","time":1700090000}</script>"#,
        ),
        (
            r#"<script>e={"request_date":"2026-05-01 10:00"}</script>"#,
            r#"<script>e={"request_date":"2026-05-02 10:00"}</script>"#,
        ),
        (
            r#"<script>e={"built":"2019-05-01 10:00"}</script>"#,
            r#"<script>e={"built":"2020-05-02 10:00"}</script>"#,
        ),
        ("<lastBuildDate>all is well</lastBuildDate>", "<lastBuildDate>all is lost</lastBuildDate>"),
    ]);
}

#[test]
fn other_assets_are_changes() {
    assert_all_changed(&[
        (r#"<img src="/thumb.jpg?_=sunny-day">"#, r#"<img src="/thumb.jpg?_=rainy-day">"#),
        (
            r#"<script src="https://cdn/x.js?v=1.0"></script>"#,
            r#"<script src="https://cdn/x.js?v=2.0-evil"></script>"#,
        ),
        (
            r#"<img src="/media/user_3f1e3aaf261f960b.jpg">"#,
            r#"<img src="/media/user_9c26da0e9ac4703f.jpg">"#,
        ),
        (r#"<a href="/get/app.1a2b3c4d.js">get</a>"#, r#"<a href="/get/app.4d3c2b1a.js">get</a>"#),
        ("<p>Load app.1a2b3c4d.js first</p>", "<p>Load app.4d3c2b1a.js first</p>"),
        ("<code>app.js?v=1.2</code>", "<code>app.js?v=1.3</code>"),
        (
            r#"<script src="/a.1a2b3c4d.js" integrity="sha256-aaaa" crossorigin></script>"#,
            r#"<script src="/a.1a2b3c4d.js" integrity="sha256-bbbb" crossorigin></script>"#,
        ),
    ]);
}

#[test]
fn resources_loaded_by_advertisements_are_changes() {
    assert_all_changed(&[
        (
            r#"<div class="advert">x</div>"#,
            r#"<div class="advert"><img src="https://track.evil/x.gif"></div>"#,
        ),
        (
            r#"<div class="ad">Buy <a href="https://a.example/">a</a></div>"#,
            r#"<div class="ad">Buy <a href="https://phish.example/">a</a></div>"#,
        ),
        (
            r#"<div class="ad"><b>x</b></div>"#,
            r#"<div class="ad"><form action="https://evil.example"><input type=password></form></div>"#,
        ),
        (
            r#"<div class="ad"><b>x</b></div>"#,
            r#"<div class="ad"><b style="background:url(//evil.example/)">x</b></div>"#,
        ),
        (r#"<div class="ours">our terms</div>"#, r#"<div class="ad">their terms</div>"#),
        (r#"<div class="address-ad">12 Main St</div>"#, r#"<div class="address-ad">13 Main St</div>"#),
    ]);
}

#[test]
fn volatile_values_are_noise() {
    assert_none_changed(&[
        (r#"<script nonce="abcdefgh12">a()</script>"#, r#"<script nonce="zzzzzzgh12">a()</script>"#),
        (
            r#"<script>var s={"ajaxNonce":"1a2b3c4d5e"}</script>"#,
            r#"<script>var s={"ajaxNonce":"5e4d3c2b1a"}</script>"#,
        ),
        (
            r#"<input type="hidden" id="_wpnonce" name="_wpnonce" value="1a2b3c4d5e">"#,
            r#"<input type="hidden" id="_wpnonce" name="_wpnonce" value="5e4d3c2b1a">"#,
        ),
        (
            r#"<a href="/wp-login.php?action=logout&amp;_wpnonce=1234567890">out</a>"#,
            r#"<a href="/wp-login.php?action=logout&amp;_wpnonce=5e4d3c2b1a">out</a>"#,
        ),
        (
            r#"<input type="hidden" name="csrfmiddlewaretoken" value="a1B2c3D4e5F6g7H8">"#,
            r#"<input type="hidden" name="csrfmiddlewaretoken" value="h8G7f6E5d4C3b2A1">"#,
        ),
        (
            r#"<input type="hidden" name="contact[_token]" value="k3.a1B2c3D4e5F6.g7H8">"#,
            r#"<input type="hidden" name="contact[_token]" value="j9.h8G7f6E5d4C3.b2A1">"#,
        ),
        (
            r#"<input type="hidden" name="__VIEWSTATE" id="__VIEWSTATE" value="/wEPDwUKMTY1NDU2MTA1MmRk" />"#,
            r#"<input type="hidden" name="__VIEWSTATE" id="__VIEWSTATE" value="/wEPDwUKLTY2NDU2MTB1MmQk" />"#,
        ),
        (
            r#"<meta name="csrf-token" content="q8vX/2bKz+Yt7LmN0w==" />"#,
            r#"<meta name="csrf-token" content="Yt7LmN0wq8vX/2bKz+==" />"#,
        ),
        (
            r#"<script>window.csrf_token = "a1b2c3d4";</script>"#,
            r#"<script>window.csrf_token = "d4c3b2a1";</script>"#,
        ),
        (
            r#"<a href="https://x/?PHPSESSID=abcdef0123456789">x</a>"#,
            r#"<a href="https://x/?PHPSESSID=bbcdef0123456789">x</a>"#,
        ),
        (
            r#"<input type="hidden" name="sid" value="0a1b2c3d4e5f6071">"#,
            r#"<input type="hidden" name="sid" value="71605f4e3d2c1b0a">"#,
        ),
        (
            r#"<meta name="request-id" content="0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9">"#,
            r#"<meta name="request-id" content="ffffffff-4e5f-6071-8293-a4b5c6d7e8f9">"#,
        ),
        ("<!-- request_id: 0a1b2c3d4e -->", "<!-- request_id: 4e3d2c1b0a -->"),
        (
            r#"<script>var requestId = "0a1b2c3d4e";</script>"#,
            r#"<script>var requestId = "4e3d2c1b0a";</script>"#,
        ),
        (
            r#"<script>window.__CF$cv$params={r:'0123456789abcdef'};</script>"#,
            r#"<script>window.__CF$cv$params={r:'ffff456789abcdef'};</script>"#,
        ),
        (
            r#"<a data-cfemail="107150777f7f743e7568717d607c75">x</a>"#,
            r#"<a data-cfemail="204160474f4f440e4558414d504c45">x</a>"#,
        ),
        ("<!-- build 2026-01-01T00:00:00Z -->", "<!-- build 2026-01-02T00:00:00Z -->"),
        ("<!-- page served in 0.12 seconds -->", "<!-- page served in 0.14 seconds -->"),
        ("<p>Page generated in 0.123 seconds.</p>", "<p>Page generated in 0.2 seconds.</p>"),
        (
            "<p>Generated at 2026-11-17 06:00:01 in 0.034 seconds</p>",
            "<p>Generated at 2026-11-18 07:00:09 in 0.1 seconds</p>",
        ),
        (r#"<meta name="build" content="3f2a9c1">"#, r#"<meta name="build" content="9c13f2a">"#),
        (
            r#"<script>window.__BUILD__="3f2a9c14e5d6";</script>"#,
            r#"<script>window.__BUILD__="9c13f2ad6e45";</script>"#,
        ),
    ]);
}
