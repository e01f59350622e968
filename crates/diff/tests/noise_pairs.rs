//! Pairs of pages: changes that must be reported, and noise that must not.
//!
//! Each row is a page. The parts that differ are between `⟦` and `⟧`, first the old and then the
//! new text. Both tables hold in every mode.

use proptest::prelude::*;
use varve_core::headers::{HeaderView, Redaction};
use varve_diff::compare::{CaptureSide, CompareOptions, DiffMode, compare};

/// Changes that somebody made.
const TOLD: &[&str] = &[
    // Scripts and styles of others, under other names or other versions.
    r#"<script src="https://gist.example/bob/⟦1a2b3c4d5e6f7a8b9c0d|9f8e7d6c5b4a39281706⟧.js"></script>"#,
    r#"<script src="/js/⟦1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f|9f8e7d6c5b4a392817069f8e7d6c5b4a⟧.js"></script>"#,
    r#"<script src="https://cdn.example/app.⟦1a2b3c4d|9f8e7d6c⟧.js"></script>"#,
    r#"<script src="//cdn.example/app.⟦1a2b3c4d|9f8e7d6c⟧.js"></script>"#,
    r#"<script src="https://cdn.example/app.js?v=⟦1a2b3c4d|9f8e7d6c⟧"></script>"#,
    r#"<link rel=stylesheet href="https://fonts.example/s.css?v=⟦1700000000|1700009999⟧">"#,
    r#"<script src="/js/jquery.min.js?v=⟦3.7.1|1.4.2⟧"></script>"#,
    r#"<link rel="stylesheet" href="a.css?ver=⟦3.18.0|3.19.0⟧">"#,
    r#"<script src="/a.js?v=⟦12|13⟧"></script>"#,
    r#"<script src="/a.js?v=⟦20240501|20260611⟧"></script>"#,
    r#"<script src="/js/⟦one|two⟧.1a2b3c4d.js"></script>"#,
    r#"<script src="/js/app.⟦1a2b3c4d|9f8e7d6c55⟧.js"></script>"#,
    r#"<script src="/a.1a2b3c4d.js" integrity="sha256-⟦aaaa|bbbb⟧"></script>"#,
    r#"<a href="/get/app.⟦1a2b3c4d|9f8e7d6c⟧.js">get</a>"#,
    r#"<p>Load app.⟦1a2b3c4d|9f8e7d6c⟧.js first</p>"#,
    r#"<script>import("https://cdn.example/app.⟦1a2b3c4d|9f8e7d6c⟧.js")</script>"#,
    r#"<script>var download = "/get/setup.⟦1a2b3c4d|9f8e7d6c⟧.js";</script>"#,
    r#"<link rel="canonical" href="/app.⟦1a2b3c4d|9f8e7d6c⟧.css">"#,
    // What is shown.
    r#"<img src="/logo.⟦6ce24c58|99b2aa10⟧.svg">"#,
    r#"<img src="/assets/logo-⟦3f1e3aaf261f960b|9c26da0e9ac4703f⟧.png">"#,
    r#"<img src="/logo.png?v=⟦1a2b3c4d|9f8e7d6c⟧">"#,
    r#"<img src="/team.jpg?⟦1700000000|1700009999⟧">"#,
    r#"<img srcset="/a.⟦6ce24c58|99b2aa10⟧.png 2x" src="/a.png">"#,
    r#"<picture><source srcset="/a.⟦6ce24c58|99b2aa10⟧.webp"><img src="/a.png"></picture>"#,
    r#"<video src="/v.⟦6ce24c58|99b2aa10⟧.mp4" poster="/v.png"></video>"#,
    r#"<object data="/plan.⟦6ce24c58|99b2aa10⟧.svg"></object>"#,
    r#"<img src="/x.png?_=⟦1700000000|1700009999⟧">"#,
    // Small ads, and what stands in places that are called so.
    r#"<li class="ad"><p>⟦900 EUR, call 030 1234|850 EUR, call 030 9999⟧</p></li>"#,
    r#"<div class="ad">Buy <b>⟦this|that⟧</b></div>"#,
    r#"<div class="ads"><p>⟦Room to let|House to let⟧</p></div>"#,
    r#"<div class="ad-banner">We are ⟦open|closed⟧ today</div>"#,
    r#"<div class="ad-slot"><img src="/x.png"><p>Call ⟦030 123456|030 654321⟧</p></div>"#,
    r#"<ins class="adsbygoogle"><p>Now at ⟦900|800⟧ EUR</p></ins>"#,
    r#"<ins class="adsbygoogle"><p>⟦We moved. Come and see us. Ask for Ann.|We moved. Come and see us. Ask for Bob.⟧</p></ins>"#,
    r#"<div id="div-gpt-ad-1"><iframe src="https://⟦a|b⟧.example/"></iframe></div>"#,
    // Times that are not the page's own.
    r#"<div class="countdown" data-timestamp="⟦1700000000|1700090000⟧">Sale ends</div>"#,
    r#"<script>auction={"id":5,"timestamp":⟦1700000000|1700090000⟧}</script>"#,
    r#"<script>auction={"id":5,"timestamp":"⟦2026-05-01T10:00:00Z|2026-06-01T10:00:00Z⟧"}</script>"#,
    r#"<script>bid={id:5,ts:⟦1700000000|1700090000⟧}</script>"#,
    r#"<p>Invoice generated on ⟦2026-05-01 10:00|2026-06-01 11:00⟧</p>"#,
    r#"<p>Generated on ⟦2026-05-01 10:00|2026-06-01 11:00⟧</p>"#,
    r#"<p>Terms of service — last updated ⟦2026-05-01 10:00|2026-06-01 11:00⟧</p>"#,
    r#"<p>Last updated: ⟦May 1, 2026 10:15 AM|June 1, 2026 10:15 AM⟧</p>"#,
    r#"<p>Prices updated ⟦2026-05-01 10:00|2026-06-01 11:00⟧</p>"#,
    r#"<p>The church was built ⟦2026-05-01 10:00|2026-06-01 11:00⟧</p>"#,
    r#"<p>Dinner served at ⟦10:00:00|11:00:00⟧</p>"#,
    r#"<meta name="article:modified_time" content="⟦2026-05-01T10:00:00Z|2026-06-01T10:00:00Z⟧">"#,
    r#"<script>report={"generated_at":"⟦2026-05-01T10:00:00Z|2026-06-01T10:00:00Z⟧"}</script>"#,
    r#"<script>r={"releases":[{"build_time":"⟦2026-05-01T10:00:00Z|2026-06-01T10:00:00Z⟧"}]}</script>"#,
    r#"<!-- sale ends ⟦2026-05-01 10:00|2026-06-01 11:00⟧ -->"#,
    r#"<p>We asked ⟦34 queries in 0.1 seconds|35 queries in 0.2 seconds⟧ and won</p>"#,
    r#"<p>Beer served in ⟦34|35⟧ s by web-03</p>"#,
    r#"<p>Rendered at ⟦2026-05-01 10:00:00|2026-06-01 11:00:00⟧ in court</p>"#,
    r#"<p>Document created: ⟦2026-05-01 10:00|2026-06-01 11:00⟧</p>"#,
    r#"<!-- price list generated for Bob, valid until ⟦2026-05-01 10:00|2026-06-01 11:00⟧ -->"#,
    r#"<td>⟦34 queries in 0.1 seconds|36 queries in 0.2 seconds⟧</td>"#,
    r#"<script>bid={"now":⟦1700000000|1700000500⟧,"was":1700009999}</script>"#,
    // Tokens that let people in somewhere.
    r#"<a href="/join?token=⟦1a2b3c4d5e6f7a8b|9f8e7d6c5b4a3928⟧">join</a>"#,
    r#"<a href="/reset?token=⟦1a2b3c4d5e6f7a8b|9f8e7d6c5b4a3928⟧">reset</a>"#,
    r#"<a href="/verify?nonce=⟦1a2b3c4d5e|9f8e7d6c5b⟧">verify</a>"#,
    r#"<a href="/agenda?session=⟦5f3a9c1e7b|7b1e9c3a5f⟧">agenda</a>"#,
    r#"<a href="/talks?sid=⟦1a2b3c4d5e6f7a8b|9f8e7d6c5b4a3928⟧">talks</a>"#,
    r#"<a href="/talk?session_id=⟦1a2b3c4d5e6f7a8b|9f8e7d6c5b4a3928⟧">talk</a>"#,
    r#"<a href="/a?sid=⟦1a2b3c4d|9f8e7d6c⟧">a</a> <a href="/b?sid=⟦1a2b3c4d|6c7d8e9f⟧">b</a>"#,
    r#"<a href="/f?form_token=⟦a1b2c3d4|d4c3b2a1⟧">form</a>"#,
    r#"<a href="/show?cb=⟦1700000000|1700009999⟧">show</a>"#,
    // Data that has builds, nonces and requests of its own.
    r#"<script>d={"firmware":{"buildId":"⟦3f2a9c14e5d6|9c13f2ad6e45⟧"}}</script>"#,
    r#"<script id="__NEXT_DATA__">{"props":{"firmware":{"buildId":"⟦3f2a9c14e5d6|9c13f2ad6e45⟧"}},"page":"/"}</script>"#,
    r#"<script>d={"buildId":"⟦3f2a9c14e5d6|9c13f2ad6e45⟧"}</script>"#,
    r#"<script>tx={"nonce":"⟦a1b2c3d4|d4c3b2a1⟧"}</script>"#,
    r#"<script>tx={"accountNonce":"⟦a1b2c3d4|d4c3b2a1⟧"}</script>"#,
    r#"<script>tx={"block_nonce":"⟦a1b2c3d4|d4c3b2a1⟧"}</script>"#,
    r#"<p>The header was 'nonce-⟦a1b2c3d4|d4c3b2a1⟧' then</p>"#,
    r#"<p>Order ⟦0123456789abcdef|ffff456789abcdef⟧</p>"#,
    r#"<input type="hidden" name="⟦1a2b3c4d5e6f7a8b1a2b3c4d5e6f7a8b|9f8e7d6c5b4a39289f8e7d6c5b4a3928⟧" value="2">"#,
];

/// What pages say anew each time.
const HUSHED: &[&str] = &[
    // Hashes in the addresses of a page's own programs.
    r#"<script src="/app.⟦1a2b3c4d|9f8e7d6c⟧.js"></script>"#,
    r#"<script src="app.⟦1a2b3c4d|9f8e7d6c⟧.min.js" defer></script>"#,
    r#"<script type="module" src="/assets/index-⟦BfK3x9aQ|C0ffee12⟧.js"></script>"#,
    r#"<link rel="modulepreload" href="/_app/chunk-⟦1a2b3c4d|9f8e7d6c⟧.mjs">"#,
    r#"<link rel="stylesheet" href="/site.⟦1a2b3c4d5e6f|9f8e7d6c5b4a⟧.css">"#,
    r#"<link rel="preload" as="font" href="/inter.⟦1a2b3c4d|9f8e7d6c⟧.woff2" crossorigin>"#,
    r#"<script src="/a.⟦1a2b3c4d|9f8e7d6c⟧.js" integrity="sha256-⟦aaaa|bbbb⟧"></script>"#,
    r#"<script src="/a.js?v=⟦1a2b3c4d|9f8e7d6c⟧"></script>"#,
    r#"<link rel="stylesheet" href="/a.css?ver=⟦1700000000|1700009999⟧">"#,
    r#"<script src="/a.js?x=1&amp;t=⟦1700000000|1700009999⟧"></script>"#,
    r#"<script src="/a.js?⟦1700000000|1700009999⟧"></script>"#,
    r#"<script src="/_next/static/⟦kq3JrZt9XbV2mN8pL0wYs|Zt9XbVkq3Jr2mN8pL0wYs⟧/_ssgManifest.js"></script>"#,
    r#"<script>import("/app.⟦1a2b3c4d|9f8e7d6c⟧.js")</script>"#,
    r#"<style>@font-face{src:url(/f.⟦1a2b3c4d|9f8e7d6c⟧.woff2)}</style>"#,
    r#"<meta name="build" content="⟦3f2a9c1|9c13f2a⟧">"#,
    r#"<script>window.__BUILD__="⟦3f2a9c14e5d6|9c13f2ad6e45⟧";</script>"#,
    r#"<script id="__NEXT_DATA__" type="application/json">{"props":{"a":1},"page":"/","query":{},"buildId":"⟦3f2a9c14e5d6|9c13f2ad6e45⟧"}</script>"#,
    r#"<script>window.__NUXT__={config:{app:{baseURL:"/",buildId:"⟦0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9|ffffffff-4e5f-6071-8293-a4b5c6d7e8f9⟧",buildAssetsDir:"/_nuxt/"}}}</script>"#,
    // Nonces and tokens of forms.
    r#"<script nonce="⟦abcdefgh12|zzzzzzgh12⟧">a()</script>"#,
    r#"<style nonce="⟦abc123|x9y8z7⟧">p{}</style>"#,
    r#"<meta http-equiv="Content-Security-Policy" content="script-src 'nonce-⟦aGVsbG8x|d29ybGQy⟧'">"#,
    r#"<script>var s={"ajaxNonce":"⟦1a2b3c4d5e|5e4d3c2b1a⟧"}</script>"#,
    r#"<script>var s={"restNonce":"⟦1a2b3c4d5e|5e4d3c2b1a⟧","cspNonce":"⟦a1b2c3|c3b2a1⟧"}</script>"#,
    r#"<script>var s={"_wpnonce":"⟦1a2b3c4d5e|5e4d3c2b1a⟧"}</script>"#,
    r#"<input type="hidden" id="_wpnonce" name="_wpnonce" value="⟦1a2b3c4d5e|5e4d3c2b1a⟧">"#,
    r#"<input type="hidden" name="woocommerce-login-nonce" value="⟦1a2b3c4d5e|5e4d3c2b1a⟧">"#,
    r#"<a href="/wp-login.php?action=logout&amp;_wpnonce=⟦1234567890|5e4d3c2b1a⟧">out</a>"#,
    r#"<input type="hidden" name="csrfmiddlewaretoken" value="⟦a1B2c3D4e5F6g7H8|h8G7f6E5d4C3b2A1⟧">"#,
    r#"<input type="hidden" name="authenticity_token" value="⟦a1B2c3D4e5F6g7H8|h8G7f6E5d4C3b2A1⟧">"#,
    r#"<input type="hidden" name="contact[_token]" value="⟦k3.a1B2c3D4e5F6.g7H8|j9.h8G7f6E5d4C3.b2A1⟧">"#,
    r#"<meta name="csrf-token" content="⟦q8vX/2bKz+Yt7LmN0w==|Yt7LmN0wq8vX/2bKz+==⟧">"#,
    r#"<a href="/out?csrf_token=⟦abc123|d4e567⟧&x=1">out</a>"#,
    r#"<a href="/out?_token=⟦abc123|d4e567⟧">out</a>"#,
    r#"<script>window.csrf_token = "⟦a1b2c3d4|d4c3b2a1⟧";</script>"#,
    r#"<script class="joomla-script-options">{"csrf.token":"⟦1a2b3c4d5e6f7a8b|9f8e7d6c5b4a3928⟧"}</script>"#,
    r#"<input type="hidden" name="⟦1a2b3c4d5e6f7a8b1a2b3c4d5e6f7a8b|9f8e7d6c5b4a39289f8e7d6c5b4a3928⟧" value="1">"#,
    r#"<input type="hidden" name="__VIEWSTATE" value="⟦/wEPDwUKMTY1NDU2MTA1MmRk|/wEPDwUKLTY2NDU2MTB1MmQk⟧">"#,
    r#"<input type="hidden" name="javax.faces.ViewState" id="v" value="⟦-1234567890123:-987654321|7777777:123456789⟧">"#,
    r#"<input data-drupal-selector="form-⟦a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d|b1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d⟧" type="hidden" name="form_build_id" value="form-⟦A1b2c3d4|B1b2c3d4⟧">"#,
    // Sessions and requests.
    r#"<a href="/x?PHPSESSID=⟦abcdef0123456789|bbcdef0123456789⟧">x</a>"#,
    r#"<a href="/x;jsessionid=⟦0123456789ABCDEF|FEDCBA9876543210⟧">x</a>"#,
    r#"<a href="/x?sessionid=⟦abcdef0123456789|bbcdef0123456789⟧">x</a>"#,
    r#"<a href="/a?sid=⟦1a2b3c4d|9f8e7d6c⟧">a</a> <a href="/b?sid=⟦1a2b3c4d|9f8e7d6c⟧">b</a>"#,
    r#"<input type="hidden" name="sid" value="⟦0a1b2c3d4e5f6071|71605f4e3d2c1b0a⟧">"#,
    r#"<meta name="request-id" content="⟦0a1b2c3d|ffffffff⟧-4e5f-6071-8293-a4b5c6d7e8f9">"#,
    r#"<script>RLCONF={"wgRequestId":"⟦0a1b2c3d|ffffffff⟧-4e5f-6071-8293-a4b5c6d7e8f9","wgBackendResponseTime":⟦181|97⟧}</script>"#,
    r#"<script>S={"requestId":"⟦0a1b2c3d|ffffffff⟧-4e5f-6071-8293-a4b5c6d7e8f9-⟦1700000000|1700009999⟧"}</script>"#,
    r#"<meta name="traceparent" content="00-⟦0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331|1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331⟧-01">"#,
    r#"<meta name="sentry-trace" content="⟦0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0|1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-1⟧">"#,
    r#"<script>window.__CF$cv$params={r:'⟦0123456789abcdef|ffff456789abcdef⟧',t:'⟦MTcwMDAwMDAwMC4wMDAwMDA=|MTcwMDAwOTk5OS4wMDAwMDA=⟧'};</script>"#,
    r#"<script defer src="https://static.cloudflareinsights.com/beacon.min.js" data-cf-beacon='{"rayId":"⟦0123456789abcdef|ffff456789abcdef⟧","version":"2024.10.5"}'></script>"#,
    r#"<p>Ray ID: <code>⟦0123456789abcdef|ffff456789abcdef⟧</code></p>"#,
    r#"<a data-cfemail="⟦107150777f7f743e7568717d607c75|204160474f4f440e4558414d504c45⟧">x</a>"#,
    // When the page was made, and what it cost.
    r#"<!-- ⟦2026-01-01T00:00:00Z|2026-01-02T00:00:00Z⟧ -->"#,
    r#"<!-- Generated by javadoc (17) on ⟦Thu Oct 31 10:11:12 UTC 2024|Fri Nov 01 09:08:07 CET 2024⟧ -->"#,
    r#"<!-- page served in ⟦0.12|0.14⟧ seconds -->"#,
    r#"<!-- ⟦34 queries in 0.1 seconds|36 queries in 0.2 seconds⟧ -->"#,
    r#"<footer>⟦34 queries in 0.1 seconds|36 queries in 0.2 seconds⟧.</footer>"#,
    r#"<!-- Served in ⟦34ms by web-03|7ms by web-11⟧ -->"#,
    r#"<footer>Served in ⟦34ms by web-03|7ms by web-11⟧</footer>"#,
    "<!--\nPerformance optimized by W3 Total Cache.\nObject Caching ⟦59/63|60/61⟧ objects using Disk\nDatabase Caching ⟦5/20 queries in 0.011|6/20 queries in 0.014⟧ seconds using Disk\n\nServed from: www.example.com @ ⟦2026-05-01 10:11:12|2026-06-01 11:12:13⟧ by W3 Total Cache\n-->",
    "<!-- Performance optimized by WP Rocket. Learn more: https://wp-rocket.me - Debug: cached@⟦1700000000|1700009999⟧ -->",
    "<!-- Dynamic page generated in ⟦0.512|0.333⟧ seconds. -->\n<!-- Cached page generated by WP-Super-Cache on ⟦2026-05-01 10:11:12|2026-06-01 11:12:13⟧ -->",
    "<!-- \nNewPP limit report\nParsed by ⟦mw‐web.eqiad.main‐5d9c4|mw‐web.codfw.main‐77aa1⟧\nCached time: ⟦20260501101112|20260601111213⟧\nCache expiry: 2592000\nCPU time usage: ⟦0.434|0.501⟧ seconds\nReal time usage: ⟦0.613|0.702⟧ seconds\nLua memory usage: ⟦4456789|4456790⟧/52428800 bytes\n-->",
    "<!--\nTransclusion expansion time report (%,ms,calls,template)\n100.00%  ⟦490.134|501.222⟧      1 -total\n ⟦48.43%  237.364|47.00%  236.001⟧      1 Template:Reflist\n-->",
    "<!-- Saved in parser cache with key en:pcache:1 and timestamp ⟦20260501101112|20260601111213⟧ and revision id 7. -->",
    r#"<p>Page generated in ⟦0.123|0.2⟧ seconds.</p>"#,
    r#"<p>Page generated on ⟦2026-05-01 10:00|2026-06-01 11:00⟧</p>"#,
    r#"<p>Generated at ⟦2026-11-17 06:00:01 in 0.034|2026-11-18 07:00:09 in 0.1⟧ seconds</p>"#,
    r#"<p>Rendered at ⟦2026-05-01 10:00:00|2026-06-01 11:00:00⟧</p>"#,
    r#"<p>Server time: <b>⟦10:00:00|11:00:00⟧</b></p>"#,
    r#"<p>Cached at ⟦2026-05-01 10:00|2026-06-01 11:00⟧</p>"#,
    r#"<meta name="dc.created" content="⟦2024-10-31|2024-11-01⟧">"#,
    r#"<script>var s={"serverTime":⟦1700000000|1700009999⟧}</script>"#,
    r#"<script>var now = ⟦1700000000|1700009999⟧;</script>"#,
    r#"<script>window.buildTime = "⟦2026-05-01T10:00:00Z|2026-06-01T10:00:00Z⟧";</script>"#,
    // What slots of advertisements are called.
    r#"<div id="div-gpt-ad-⟦1700000000000|1700009999999⟧-0"></div>"#,
    r#"<script>googletag.display('div-gpt-ad-⟦1700000000000|1700009999999⟧-0')</script>"#,
];

/// What slots of advertisements show: others of what they showed before, from where that came.
const HUSHED_IN_SLOTS: &[&str] = &[
    r#"<ins class="adsbygoogle" data-ad-slot="1"><b>⟦this|that⟧</b></ins>"#,
    r#"<div id="google_ads_iframe_1"><b title="⟦x|y⟧">label</b></div>"#,
    // Frames, pictures and links.
    r#"<ins class="adsbygoogle" style="display:block"><iframe src="https://googleads.g.doubleclick.net/a?x=⟦1|2⟧"></iframe></ins>"#,
    r#"<div id="div-gpt-ad-123-0"><iframe src="https://tpc.googlesyndication.com/⟦1|2⟧"></iframe></div>"#,
    r#"<div class="ad-slot"><a href="https://ads.example/c?⟦1|2⟧"><img src="https://ads.example/⟦1|2⟧.gif"></a></div>"#,
    r#"<div class="ad-slot"><a href="https://ads.example/c?⟦1|2⟧"><img src="https://cdn.example:8443/⟦1|2⟧.gif" width="⟦300|320⟧"></a></div>"#,
    r#"<div id="div-gpt-ad-1"><img src="https://cdn.example/⟦1|2⟧.gif" alt="⟦Shoes|Hats⟧"></div>"#,
    r#"<div class="ad-slot"><img src="https://ads.example/⟦1|2⟧.gif" srcset="https://ads.example/⟦1|2⟧.gif 1x, https://cdn.example/⟦1|2⟧.gif 2x"></div>"#,
    r#"<div class="ad-slot"><a href="https://⟦a|b⟧.example/1"><img src="https://c.example/1"></a><a href="https://⟦b|a⟧.example/2">x</a></div>"#,
    r#"<div id="div-gpt-ad-1"><iframe sandbox="allow-scripts" allow="fullscreen" src="https://ads.example/⟦1|2⟧" width="⟦300|728⟧" data-id="⟦a1|b2⟧"></iframe></div>"#,
    r#"<div id="div-gpt-ad-1"><iframe id="google_ads_iframe_1" src="https://ads.example/⟦1|2⟧"></iframe></div>"#,
    r#"<div id="div-gpt-ad-1"><a href="https://ads.example/1"><b>Hats</b></a>⟦|<a href="https://ads.example/2"><b>Shoes</b></a>⟧</div>"#,
    r#"<div id="div-gpt-ad-1"><script>if (a < b) show('<div>')</script><!-- one --><iframe src="https://ads.example/⟦1|2⟧"></iframe></div>"#,
    r#"<div class="ad-slot"><script src="https://ads.example/show.js?ord=⟦123|456⟧"></script></div>"#,
    r#"<p>text</p><div class="ad-slot"><img src="https://ads.example/⟦1|2⟧.gif"></div><p>text</p>"#,
    // Over several lines, and as many as it takes.
    "<div class=\"ad-slot\">\n  <a href=\"https://ads.example/c?⟦1|2⟧\">\n    <img src=\"https://ads.example/⟦1|2⟧.gif\">\n  </a>\n</div>",
    "<ins class=\"adsbygoogle\"\n  style=\"display:block\">\n<iframe\n  src=\"https://ads.example/⟦1|2⟧\"\n  width=\"300\"></iframe>\n</ins>",
    "<div id=\"div-gpt-ad-1\">\n<img src=\"https://ads.example/1.gif\">\n⟦|<b>Shoes</b>\n<img src=\"https://ads.example/2.gif\">\n⟧</div>",
    "<div id=\"div-gpt-ad-1\">\n<b>⟦Hats</b>|Shoes</b>\n<i>for all</i>⟧\n</div>",
    // One in another.
    r#"<div class="ad-container"><div class="ad-slot"><iframe src="https://ads.example/⟦1|2⟧"></iframe></div></div>"#,
    "<div id=\"div-gpt-ad-1\">\n<div id=\"google_ads_iframe_1\">\n<iframe src=\"https://ads.example/⟦1|2⟧\"></iframe>\n</div>\n</div>",
];

/// What somebody did to the slot of an advertisement, or beside one.
const TOLD_IN_SLOTS: &[&str] = &[
    // Markup that is text to the parser, and comments.
    r#"<ins class="adsbygoogle">x⟦|<noscript><meta http-equiv="refresh" content="0;url=https://evil.example/"></noscript>⟧</ins>"#,
    r#"<ins class="adsbygoogle">x<noscript>⟦a|<img src="https://evil.example/">⟧</noscript></ins>"#,
    r#"<ins class="adsbygoogle">x⟦|<noembed><form action="https://evil.example/"></form></noembed>⟧</ins>"#,
    r#"<ins class="adsbygoogle">x⟦|<xmp><script src="https://evil.example/"></script></xmp>⟧</ins>"#,
    r#"<ins class="adsbygoogle">x<!-- ⟦one|[if IE]><script src="https://evil.example/"></script><![endif]⟧ --></ins>"#,
    // Attributes that run or load something by programs of others, or say what a link does.
    r#"<ins class="adsbygoogle"><div⟦| hx-get="https://evil.example/" hx-trigger="load"⟧>x</div></ins>"#,
    r#"<ins class="adsbygoogle"><div⟦| x-init="fetch('https://evil.example/')"⟧>x</div></ins>"#,
    r#"<ins class="adsbygoogle"><div data-src="https://⟦good|evil⟧.example/a.js">x</div></ins>"#,
    r#"<ins class="adsbygoogle">x⟦|<evil-widget host="https://evil.example/"></evil-widget>⟧</ins>"#,
    r#"<ins class="adsbygoogle"><a href="https://a.example/"⟦| attributionsrc="https://evil.example/"⟧>x</a></ins>"#,
    r#"<ins class="adsbygoogle"><a href="https://a.example/"⟦| download⟧>x</a></ins>"#,
    r#"<ins class="adsbygoogle"><a href="https://a.example/" rel="⟦noopener|⟧" target="_top">x</a></ins>"#,
    r#"<ins class="adsbygoogle"><a href="/⟦a|redirect?u=https://evil.example/⟧">x</a></ins>"#,
    r#"<ins class="adsbygoogle" data-ad-client="ca-pub-⟦111|666⟧">x</ins>"#,
    r#"<div class="ad-slot"><script src="https://a.example/load?u=⟦a.js|https://evil.example/x.js⟧"></script></div>"#,
    r#"<div class="ad-slot"><script src="https://a.example/load?callback=⟦f|alert(document.cookie)//⟧"></script></div>"#,
    // What covers the page.
    r#"<ins class="adsbygoogle"><div class="⟦a|modal fixed inset-0 z-50⟧">x</div></ins>"#,
    r#"<ins class="adsbygoogle">x⟦|<dialog open>Your session ended, log in</dialog>⟧</ins>"#,
    r#"<ins class="adsbygoogle" style="width:⟦300px|100vw;height:100vh⟧">x</ins>"#,
    r#"<ins class="adsbygoogle"><iframe src="https://a.example/" width="⟦300|3000⟧"></iframe></ins>"#,
    r#"<ins class="adsbygoogle"><svg><a href="https://a.example/">⟦|<animateTransform attributeName="href" to="https://evil.example/"/>⟧x</a></svg></ins>"#,
    // Words in what is only likely to be a slot, and what people act by in any.
    r#"<div class="ad-slot"><iframe src="/ad"></iframe><span>⟦Anzeige|Werbung⟧</span></div>"#,
    r#"<div class="ad-banner"><img src="/a.gif"><p>⟦Open|Closed⟧ on Monday</p></div>"#,
    r#"<header id="ad-banner"><img src="/a.gif"><h1>Mayor ⟦A|B⟧ wins</h1></header>"#,
    r#"<div data-ad-slot="1"><img src="/a.gif"><p>⟦Safe product|Recall: do not use this product⟧</p></div>"#,
    r#"<div class="ad-banner"><img src="/a.gif" alt="⟦Open|Closed⟧"></div>"#,
    r#"<div class="ad-banner"><img src="/a.gif">⟦|<b>We are bankrupt</b>⟧</div>"#,
    r#"<ins class="adsbygoogle">Send to ⟦bc1qaaaabbbb|bc1qevilevil⟧</ins>"#,
    r#"<ins class="adsbygoogle">See ⟦good|evil⟧.example</ins>"#,
    r#"<ins class="adsbygoogle">Only ⟦19,99|29,99⟧</ins>"#,
    r#"<ins class="adsbygoogle">⟦₹ten|₹two⟧</ins>"#,
    // From elsewhere than before.
    r#"<ins class="adsbygoogle"><iframe src="https://⟦ads|evil⟧.example/1"></iframe></ins>"#,
    r#"<div class="ad-slot"><img src="https://⟦ads|evil⟧.example/1.gif"></div>"#,
    r#"<div class="ad-slot"><img src="https://a.example/1" srcset="https://a.example/⟦2 2x|2 2x, https://evil.example/3 3x⟧"></div>"#,
    r#"<div class="ad-slot"><a href="https://⟦ads|evil⟧.example/1"><img src="https://ads.example/1.gif"></a></div>"#,
    r#"<div class="ad-slot"><iframe src="https://ads.example⟦|:8443⟧/1"></iframe></div>"#,
    r#"<div class="ad-slot"><iframe src="http⟦s|⟧://ads.example/⟦1|2⟧"></iframe></div>"#,
    r#"<div class="ad-slot"><img src="http⟦s|⟧://ads.example/⟦1|2⟧"></div>"#,
    r#"<div class="ad-slot"><a href="http⟦s|⟧://ads.example/⟦1|2⟧"><img src="https://ads.example/1.gif"></a></div>"#,
    r#"<div class="ad-slot"><a href="https://ads.example⟦/|@evil.example/⟧"><img src="https://ads.example/1.gif"></a></div>"#,
    r#"<div class="ad-slot"><iframe src="⟦/1|/2⟧"></iframe></div>"#,
    r#"<div class="ad-slot"><iframe src="⟦//ads.example/1|//ads.example/2⟧"></iframe></div>"#,
    // Another kind of element, or another slot, came from there.
    r#"<div class="ad-slot"><img src="https://a.example/1"><iframe src="https://⟦b|a⟧.example/1"></iframe></div>"#,
    r#"<a href="https://b.example/">x</a><div class="ad-slot"><a href="https://⟦a|b⟧.example/1"><img src="https://a.example/1"></a></div>"#,
    r#"<div class="ad-slot"><iframe src="https://b.example/"></iframe></div><div class="ad-slot"><iframe src="https://⟦a|b⟧.example/"></iframe></div>"#,
    r#"<div class="ad-container"><iframe src="https://b.example/"></iframe><div class="ad-slot"><iframe src="https://⟦a|b⟧.example/"></iframe></div></div>"#,
    // What runs.
    r#"<div id="div-gpt-ad-1"><b>x</b>⟦|<script>evil()</script>⟧</div>"#,
    r#"<div id="div-gpt-ad-1"><b>x</b>⟦|<script src="https://ads.example/1.js"></script>⟧</div>"#,
    r#"<div class="ad-slot"><script>show(⟦1|2⟧)</script></div>"#,
    r#"<div class="ad-slot"><script src="https://ads.example/⟦show|evil⟧.js?1"></script></div>"#,
    r#"<div class="ad-slot"><script src="https://⟦ads|evil⟧.example/show.js?1"></script></div>"#,
    r#"<div class="ad-slot"><script src="https://ads.example/show.js⟦|?2⟧"></script></div>"#,
    r#"<script id="google_ads_1" src="https://ads.example/show.js?⟦1|2⟧"></script>"#,
    r#"<div class="ad-slot"><script src="https://ads.example/show.js?⟦1|2⟧" onload="run()"></script></div>"#,
    r#"<div class="ad-slot"><img src="https://ads.example/1.gif"⟦| onload="evil()"⟧></div>"#,
    r#"<div class="ad-slot"><iframe src="https://ads.example/1"⟦| onload="evil()"⟧></iframe></div>"#,
    r#"<div class="ad-slot"⟦| onclick="evil()"⟧><img src="https://ads.example/1.gif"></div>"#,
    r#"<div class="ad-slot"><iframe src="https://ads.example/1"⟦| srcdoc="&lt;b>x"⟧></iframe></div>"#,
    r#"<div class="ad-slot"><iframe src="⟦https://ads.example/1|javascript:evil()⟧"></iframe></div>"#,
    r#"<div class="ad-slot"><a href="⟦https://ads.example/1|javascript:evil()⟧"><img src="https://ads.example/1.gif"></a></div>"#,
    r#"<div class="ad-slot"><img src="⟦https://ads.example/1|data:image/svg+xml,x⟧"></div>"#,
    // What frames may do.
    r#"<div class="ad-slot"><iframe⟦ sandbox|⟧ src="https://ads.example/⟦1|2⟧"></iframe></div>"#,
    r#"<div class="ad-slot"><iframe sandbox="⟦|allow-top-navigation⟧" src="https://ads.example/1"></iframe></div>"#,
    r#"<div class="ad-slot"><iframe⟦| allow="camera"⟧ src="https://ads.example/⟦1|2⟧"></iframe></div>"#,
    r#"<div class="ad-slot"><iframe allow="fullscreen⟦|; camera⟧" src="https://ads.example/1"></iframe></div>"#,
    r#"<div class="ad-slot"><iframe name="⟦a|b⟧" src="https://ads.example/1"></iframe></div>"#,
    r#"<div class="ad-slot"><iframe src="https://ads.example/1"></iframe>⟦|<iframe src="https://ads.example/2"></iframe>⟧</div>"#,
    r#"<div class="ad-slot"><img src="https://ads.example/1"⟦| style="position:fixed;inset:0"⟧></div>"#,
    // Forms, and elements that define the page.
    r#"<div class="ad-slot"><img src="https://ads.example/1">⟦|<form action="https://ads.example/"><input name="a"></form>⟧</div>"#,
    r#"<div class="ad-slot"><img src="https://ads.example/1">⟦|<input type="password">⟧</div>"#,
    r#"<div class="ad-slot"><img src="https://ads.example/1">⟦|<meta http-equiv="refresh" content="0;url=https://ads.example/">⟧</div>"#,
    r#"<div class="ad-slot"><img src="https://ads.example/1">⟦|<base href="https://ads.example/">⟧</div>"#,
    r#"<div class="ad-slot"><img src="https://ads.example/1">⟦|<link rel="stylesheet" href="https://ads.example/">⟧</div>"#,
    r#"<div class="ad-slot"><img src="https://ads.example/1"><object data="https://ads.example/⟦1|2⟧"></object></div>"#,
    r#"<div class="ad-slot"><img src="https://ads.example/1"><embed src="https://ads.example/⟦1|2⟧"></div>"#,
    // What was no slot, and what is beside one.
    r#"<div class="⟦box|ad-slot⟧"><img src="https://ads.example/⟦1|2⟧.gif"></div>"#,
    r#"<div class="⟦ad-slot|box⟧"><img src="https://ads.example/⟦1|2⟧.gif"></div>"#,
    r#"<div class="box"><img src="https://ads.example/⟦1|2⟧.gif"></div>"#,
    r#"<p>⟦one|two⟧</p><div class="ad-slot"><img src="https://ads.example/⟦1|2⟧.gif"></div>"#,
    r#"<div class="ad-slot"><img src="https://ads.example/⟦1|2⟧.gif"></div><img src="https://ads.example/⟦1|2⟧.gif">"#,
    r#"<div class="ad-slot"><img src="https://ads.example/⟦1.gif"></div>|2.gif">⟧<p>text</p>⟦|</div>⟧"#,
    "<div class=\"ad-slot\">\n<img src=\"https://ads.example/⟦1|2⟧.gif\">\n</div>\n<p>⟦one|two⟧</p>",
    "<div class=\"ad-slot\">\n⟦|<div class=\"ad-slot\">⟧<img src=\"https://ads.example/⟦1|2⟧.gif\">\n</div>\n<p>text</p>",
    "<p title='\n<div class=\"ad-slot\">\n<img src=\"https://ads.example/⟦1|2⟧.gif\">\n</div>\n'>text</p>",
    "<script>a = `\n<div class=\"ad-slot\">\n<img src=\"https://ads.example/⟦1|2⟧.gif\">\n</div>\n`</script>",
    "<!--\n<div class=\"ad-slot\">\n<img src=\"https://ads.example/⟦1|2⟧.gif\">\n</div>\n-->",
];

/// Both pages of a row: what stands between the marks as it was, and as it is.
fn sides(row: &str) -> [String; 2] {
    let side = |which: usize| {
        let mut pieces = row.split('⟦');
        let first = pieces.next().unwrap_or_default().to_owned();
        pieces.fold(first, |made, piece| {
            let (both, rest) = piece.split_once('⟧').expect("each mark is closed");
            let value = both.split('|').nth(which).expect("there are two sides");
            made + value + rest
        })
    };
    [side(0), side(1)]
}

/// Pages around a row, with a number of fillers on both sides: with lines, as one line, and as one
/// long line.
const PAGES: [([&str; 2], usize); 3] = [
    (["<html><body>\n<h1>t</h1>\n", "\n<p>end</p></body></html>\n"], 0),
    (["<html><body><h1>t</h1>", "<p>end</p></body></html>"], 0),
    (["<html><body><h1>t</h1>", "<p>end</p></body></html>"], 600),
];

/// The modes in which a row is reported as a change.
fn told(row: &str, (page, filler): ([&str; 2], usize)) -> Vec<DiffMode> {
    let headers = HeaderView::from_pairs([("content-type", "text/html")], Redaction::Off);
    let filler = "<p>filler</p>".repeat(filler);
    let [base, head] = sides(row).map(|row| format!("{}{filler}{row}{filler}{}", page[0], page[1]));
    let side = |body| CaptureSide { id: "", headers: &headers, body, media_type: None };
    let is_told = |mode: &DiffMode| {
        let options = CompareOptions { mode: *mode, ..CompareOptions::default() };
        compare(&side(base.as_bytes()), &side(head.as_bytes()), &options).is_changed()
    };
    [DiffMode::Lines, DiffMode::Words, DiffMode::Dom].into_iter().filter(is_told).collect()
}

#[test]
fn there_are_sixty_of_each() {
    assert!(TOLD.len() >= 60 && HUSHED.len() >= 60, "{} {}", TOLD.len(), HUSHED.len());
}

#[test]
fn changes_are_reported_in_every_mode() {
    for page in PAGES {
        let rows = TOLD.iter().chain(TOLD_IN_SLOTS).map(|row| (told(row, page), row));
        let hidden: Vec<_> = rows.filter(|(modes, _)| modes.len() < 3).collect();
        assert!(hidden.is_empty(), "{page:?}: {hidden:#?}");
    }
}

#[test]
fn noise_is_reported_in_no_mode() {
    for page in PAGES {
        let rows = HUSHED.iter().chain(HUSHED_IN_SLOTS).map(|row| (told(row, page), row));
        let heard: Vec<_> = rows.filter(|(modes, _)| !modes.is_empty()).collect();
        assert!(heard.is_empty(), "{page:?}: {heard:#?}");
    }
}

#[test]
fn long_tokens_are_searched_in_every_mode() {
    let script =
        |row: &str| format!("<script>\n{}{row}\n{}</script>", "a();\n".repeat(4000), "b();\n".repeat(400));
    let state = |ending: &str| {
        let long = "aB3d".repeat(9000);
        format!(r#"<input type="hidden" name="__VIEWSTATE" value="⟦{long}x1|{long}y2⟧"{ending}>"#)
    };
    for row in [script(r#"var csrf_token = "⟦a1b2c3d4|d4c3b2a1⟧";"#), state("")] {
        assert_eq!(told(&row, PAGES[0]), [], "{}", &row[row.len() - 200..]);
    }
    for row in [script(r#"var price = "⟦a1b2c3d4|d4c3b2a1⟧";"#), state(" class=⟦a|b⟧")] {
        assert_eq!(told(&row, PAGES[0]).len(), 3, "{}", &row[row.len() - 200..]);
    }
}

#[test]
fn text_in_a_long_tag_is_not_a_script() {
    let long = "of many words ".repeat(2000);
    for element in ["script", "style", "div"] {
        for other in ["", "data-y='>' "] {
            let row = format!(
                "<{element} {other}data-x=\"{long}\nvar now = ⟦1700000000|1700009999⟧;\n\">\na()\n</{element}>"
            );
            assert_eq!(told(&row, PAGES[0]).len(), 3, "{element} {other}");
        }
    }
    for tag in ["<script>", "<script data-x='>'>", "<script data-x='1'\n data-y=\"\n>\n\">"] {
        let row = format!("{tag}\n{}\nvar now = ⟦1700000000|1700009999⟧;\n</script>", "a();\n".repeat(2000));
        assert_eq!(told(&row, PAGES[0]), [], "behind {tag} it is one");
    }
}

/// Pieces of pages with slots, as they were and as they may be.
const PIECES: &[&str] = &[
    "\n",
    "<div class=\"ad-slot\">",
    "<div id=div-gpt-ad-1>",
    "<ins class=adsbygoogle>",
    "</div>",
    "</ins>",
    "<main>",
    "</main>",
    "<p>",
    "</p>",
    "<b>⟦x|y⟧</b>",
    "⟦x|y⟧",
    "⟦|<b>new</b>⟧",
    "⟦|</div>⟧",
    "⟦|<div class=ad-slot>⟧",
    "⟦|<!--⟧",
    "<!--",
    "-->",
    "<p title='",
    "'>",
    "<script>",
    "</script>",
    "<template>",
    "</template>",
    "<table><tr>",
    "<svg>",
    "</svg>",
    "<img src=https://a.example/⟦1|2⟧>",
    "<img src=https://⟦a|b⟧.example/>",
    "<a href=https://a.example/⟦1|2⟧>",
    "<a href=https://⟦a|b⟧.example/>",
    "</a>",
    "<iframe src=\"https://a.example/⟦1|2⟧\"></iframe>",
    "<iframe src=https://⟦a|b⟧.example/></iframe>",
    "<iframe ⟦sandbox|⟧ src=https://a.example/></iframe>",
    "⟦|<img src=https://a.example/3>⟧",
    "⟦|\n⟧",
];

proptest! {
    #[test]
    fn slot_changes_by_nodes_are_changes_by_lines(pieces in prop::collection::vec(prop::sample::select(PIECES), 1..16)) {
        let row = format!("<div class=ad-slot><img src=https://a.example/>{}</div>", pieces.concat());
        for row in [row.clone(), row.replace('>', ">\n"), pieces.concat()] {
            let told = told(&row, PAGES[0]);
            prop_assert!(told.contains(&DiffMode::Lines) || !told.contains(&DiffMode::Dom), "{row}");
            prop_assert_eq!(told.contains(&DiffMode::Lines), told.contains(&DiffMode::Words), "{}", row);
        }
    }
}
