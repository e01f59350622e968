//! Pages and changes as analysts meet them.

use super::scored;
use varve_score::attribution::{AttributedChunk, PagePair, ShareCause, attribute};
use varve_score::rows::{VersionScore, attribution_rows};
use varve_score::security::{ScoredSide, SecurityDiff};
use varve_score::{
    ExposureSeverity, PageScore, RuleId, RulePack, SurfaceChange, explain, explain_change, explain_makers,
    explain_others, explain_security,
};

pub(super) fn keys(score: &PageScore) -> Vec<&'static str> {
    score.evidence.iter().map(|piece| piece.key.name()).collect()
}

#[test]
fn evidence_has_its_position() {
    let body =
        b"<p>\n<form action='/login'\n method=post><input name=u>\n<input\n type=password name=p></form>";
    let score = scored("https://x.test/", &[], body);
    let piece = score.evidence.iter().find(|piece| piece.key == RuleId::InputPassword).unwrap();
    let place = &piece.locations[0];
    assert_eq!(place.selector.as_deref(), Some(r#"form[action="/login"] [name="p"]"#));
    assert_eq!((place.line_start, place.line_end), (Some(4), Some(5)));
    assert_eq!((place.parent_dom_index, place.dom_index), (Some(0), Some(1)));
    let tag = &body[place.byte_start.unwrap()..place.byte_end.unwrap()];
    assert_eq!(tag, b"<input\n type=password name=p>");
    assert_eq!((place.file_path.as_str(), place.snapshot_id.as_str()), ("/page", "S"));
}

#[test]
fn forms_in_tables_and_nested_forms_are_read_as_in_browsers() {
    let body = b"<table><tr><form action=/a><td><input name=x></td></tr><form action=/b><input name=y></form>
        <form action=/c><input name=z></table>";
    let score = scored("https://x.test/", &[], body);
    let forms: Vec<_> =
        score.surface.forms.iter().map(|form| (form.action.as_str(), form.inputs.len())).collect();
    assert_eq!(forms, [("/a", 2), ("/c", 1)]);
}

#[test]
fn third_party_resources_are_reported() {
    let body = br#"<script src="//cdn.other.example/a.js"></script><script src="https://static.x.co.uk/b.js"></script>
        <script src=http://www.x.co.uk/c.js integrity=x></script><iframe src=https://ads.example/></iframe>
        <iframe sandbox src=https://ads.example/></iframe><img src=http&colon;//www.x.co.uk/i.png onerror=go()>
        <form action=http://pay.example/ ><input name=card></form>"#;
    let score = scored("https://www.x.co.uk/", &[], body);
    let found = |rule| score.evidence.iter().find(|piece| piece.key == rule).map(|piece| piece.count);
    assert_eq!(found(RuleId::ScriptThirdParty), Some(1));
    assert_eq!(found(RuleId::ScriptNoIntegrity), Some(1));
    assert_eq!((found(RuleId::Frame), found(RuleId::FrameThirdParty)), (Some(2), Some(1)));
    assert_eq!((found(RuleId::MixedActive), found(RuleId::MixedPassive)), (Some(1), Some(1)));
    assert_eq!((found(RuleId::FormInsecureTarget), found(RuleId::FormThirdParty)), (Some(1), Some(1)));
    assert_eq!(found(RuleId::EventHandler), Some(1));
    assert_eq!(found(RuleId::PasswordOverHttp), None);
}

#[test]
fn a_base_element_changes_relative_links() {
    let body = b"<base href=http://elsewhere.example/><base href=/><script src=a.js></script>";
    let score = scored("https://x.test/", &[], body);
    assert!(score.surface.scripts[0].third_party);
    assert!(keys(&score).contains(&"mixed_active"));
}

#[test]
fn bodies_that_are_no_markup_hold_no_forms() {
    let body = b"document.write('<form action=/login><input type=password name=p>')";
    assert_eq!(scored("https://x.test/a.js", &[("Content-Type", "text/javascript")], body).exposure, 0.0);
    assert!(scored("https://x.test/a", &[("Content-Type", "Text/HTML; charset=x")], body).exposure > 0.0);
    assert!(scored("https://x.test/a", &[], body).exposure > 0.0);
}

#[test]
fn utf_16_is_read_and_has_lines_but_no_bytes() {
    let text = "\u{feff}<p>\n<form action=/admin>";
    let body: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let score = scored("https://x.test/", &[], &body);
    let piece = score.evidence.iter().find(|piece| piece.key == RuleId::FormAdmin).unwrap();
    assert_eq!((piece.locations[0].line_start, piece.locations[0].byte_start), (Some(2), None));
}

#[test]
fn a_crowd_is_counted_and_bounded() {
    let body = "<script>1</script>".repeat(1_000)
        + &"<form action=/upload><input type=file name=f></form>".repeat(9_000);
    let score = scored("https://x.test/", &[], body.as_bytes());
    assert_eq!(score.normalized, 100);
    let scripts = score.evidence.iter().find(|piece| piece.key == RuleId::ScriptInline).unwrap();
    assert_eq!((scripts.count, scripts.locations.len()), (1_000, 200));
    assert!((scripts.contribution - 30.0).abs() < 1e-9);
    assert!(score.surface.is_truncated && score.confidence < 0.5);
}

#[test]
fn a_page_is_explained_in_sentences() {
    let body = b"<form action=/login><input name=p type=password></form><script src=https://cdn.example/x.js></script>";
    let said = explain(
        &scored("https://x.test/?debug=1", &[("X-Frame-Options", "DENY")], body),
        RulePack::exposure_1(),
    );
    assert_eq!(
        said[0],
        "https://x.test/?debug=1 scores 69 of 100: 77 points of exposure, of which headers take off 10 %."
    );
    assert_eq!(
        said[1],
        "Nothing limits what scripts may run: there is no Content-Security-Policy. It would take off 54."
    );
    let password = r#"Visitors are asked for a password: form[action="/login"] [name="p"]. (+35) [line 1]"#;
    assert!(said.iter().any(|line| line == password), "{said:#?}");
    assert!(said.iter().any(|line| line.contains("Other sites serve scripts")), "{said:#?}");
}

/// A login page before and after someone worked on it.
fn before_and_after() -> (PageScore, PageScore, Vec<AttributedChunk>) {
    let base = "<form action=/login><input name=u></form>";
    let added = "<script src=https://cdn.example/x.js></script>";
    let upload = "<form action=/upload><input type=file name=f></form>";
    let head = format!("{added}{base}{upload}");
    let strict =
        [("Content-Security-Policy", "script-src 'self'"), ("Strict-Transport-Security", "max-age=31536000")];
    let loose = [("Strict-Transport-Security", "max-age=60"), ("Set-Cookie", "sid=1")];
    let old = scored("https://x.test/", &strict, base.as_bytes());
    let new = scored("https://x.test/", &loose, head.as_bytes());
    let end = added.len() + base.len();
    let chunks = vec![
        AttributedChunk::new(0, 0, 0, added.len()),
        AttributedChunk::new(base.len(), 0, end, upload.len()),
    ];
    (old, new, chunks)
}

#[test]
fn the_change_of_a_score_is_shared_out_to_chunks() {
    let (base, head, chunks) = before_and_after();
    let pair = PagePair { base: Some(&base), head: Some(&head), chunks: &chunks };
    let movement = attribute(&[pair], None);
    let shares = &movement.shares;
    let of = |rule: RuleId| {
        let is = |find: usize| head.evidence[find].key == rule;
        shares
            .iter()
            .find(|share| matches!(&share.cause, ShareCause::Came(find) if is(find.evidence)))
            .unwrap()
    };
    assert_eq!(of(RuleId::InputFile).chunk, Some(1));
    assert_eq!(of(RuleId::FormUpload).chunk, Some(1));
    assert_eq!(of(RuleId::ScriptExternal).chunk, Some(0));
    assert_eq!(of(RuleId::CookieNoSecure).chunk, None);
    let is_policy = |cause: &ShareCause| matches!(cause, ShareCause::Protection { header, .. } if header == "content-security-policy");
    assert!(shares.iter().any(|share| is_policy(&share.cause) && share.contribution > 0.0));
    assert_eq!(of(RuleId::InputFile), &shares[0], "the greatest comes first");
    let said = explain_change(&[pair], &movement);
    assert!(said[0].contains("chunk 1: new: Input for a file"), "{said:#?}");
    assert!(
        said.iter().any(|line| line.ends_with("content-security-policy script-src protects less")),
        "{said:#?}"
    );
    let rows = attribution_rows("D", "V", RulePack::exposure_1(), &[pair], shares, 5);
    assert_eq!((rows[0].chunk_index, rows[0].subject.evidence_key), (1, "input_file"));
    let evidence = VersionScore::new(vec![head.clone()]).unwrap().evidence_rows(5);
    let place = evidence.iter().find(|row| Some(row.id) == rows[0].subject.location_id).unwrap();
    assert_eq!((place.evidence_id, place.evidence_key), (rows[0].subject.evidence_id, "input_file"));
    let policy = rows.iter().find(|row| row.subject.evidence_key == "csp_missing").unwrap();
    assert_eq!(
        (policy.chunk_index, policy.subject.note.as_str()),
        (-1, "weakened /page content-security-policy script-src")
    );
}

/// A version has the score of its most exposed page: other pages have no share in the change.
#[test]
fn only_the_page_that_makes_the_score_explains_its_change() {
    let form = "<form action=/login><input type=password name=p></form>";
    let more = format!("{form}<form action=/login><input name=q></form>");
    let page = |name: &str, body: &str| scored(&format!("https://x.test/{name}"), &[], body.as_bytes());
    let [top, other, raised, low] =
        [page("top", form), page("other", form), page("top", &more), page("low", "<input name=a>")];
    let chunks = [AttributedChunk::new(form.len(), 0, form.len(), more.len() - form.len())];
    let pair = |base, head| PagePair { base, head, chunks: &chunks };
    // The score rose by what came on one page, and not by what went with the other.
    let pairs = [pair(Some(&other), None), pair(Some(&top), Some(&raised))];
    let movement = attribute(&pairs, None);
    assert!(
        movement.is_one_page
            && movement.shares.iter().all(|share| share.page == 1 && share.contribution > 0.0)
    );
    assert_eq!(explain_makers(&pairs, &movement), None);
    let others = explain_others(&pairs, &movement).unwrap();
    assert!(others.ends_with("of the version: https://x.test/other, 66 before, gone."), "{others}");
    // Pages below the most exposed one move nothing.
    let pairs = [pair(Some(&low), Some(&other))];
    let movement = attribute(&pairs, Some(&raised));
    assert_eq!((movement.change(), &movement.shares[..], movement.mover), (0.0, &[][..], None));
    // A page that overtakes another moves the score by what it has more, and that is all that is
    // shared out.
    let pairs = [pair(Some(&low), Some(&raised))];
    let movement = attribute(&pairs, Some(&other));
    let sum: f64 = movement.shares.iter().map(|share| share.contribution).sum();
    assert!((sum - (raised.score - other.score)).abs() < 1e-9, "{sum}");
    let told = explain_makers(&pairs, &movement).unwrap();
    assert!(told.starts_with("The most exposed page was https://x.test/other, with 66, and is"), "{told}");
    assert!(told.ends_with("counts as far as it moved the score."), "{told}");
    // Neither of the two that are named so is another page, whichever of them moved the score.
    let mid = page("mid", "<form action=/find><input name=q></form>");
    for [before, after] in [[&raised, &other], [&other, &raised]] {
        let pairs = [pair(Some(before), Some(&low)), pair(Some(&low), Some(after)), pair(None, Some(&mid))];
        let movement = attribute(&pairs, None);
        assert!(!movement.is_one_page && movement.mover.is_some());
        let others = explain_others(&pairs, &movement).unwrap();
        assert!(others.contains("of the version: https://x.test/mid, new, "), "{others}");
        assert!(!others.contains(';'), "{others}");
    }
    // What made the score and is gone lowers it, down to what is left.
    let pairs = [pair(Some(&raised), None)];
    let movement = attribute(&pairs, Some(&other));
    let sum: f64 = movement.shares.iter().map(|share| share.contribution).sum();
    assert!(sum < 0.0 && (sum - (other.score - raised.score)).abs() < 1e-9, "{sum}");
}

pub(super) fn changes(base: &PageScore, head: &PageScore) -> Vec<SurfaceChange> {
    SecurityDiff::between(RulePack::exposure_1(), Some(base), Some(head)).unwrap().attack_surface_changes
}

#[test]
fn security_relevant_changes_are_explained() {
    let (base, head, _) = before_and_after();
    let told = changes(&base, &head);
    let brief: Vec<_> =
        told.iter().map(|change| (change.kind, change.category.as_str(), change.severity)).collect();
    assert_eq!(
        brief,
        [
            ("form_added", "upload_surface", ExposureSeverity::High),
            ("input_added", "upload_surface", ExposureSeverity::High),
            ("cookie_added", "cookie_risk", ExposureSeverity::Medium),
            ("script_added", "script_surface", ExposureSeverity::Medium),
            ("header_removed", "security_regression", ExposureSeverity::High),
            ("header_changed", "security_regression", ExposureSeverity::High),
        ]
    );
    assert_eq!(told[3].detail, r#"New script of a third party: script[src="https://cdn.example/x.js"]."#);
}

#[test]
fn a_stricter_header_is_no_regression() {
    let page = |policy| scored("https://x.test/", &[("Content-Security-Policy", policy)], b"");
    let (loose, strict) =
        (page("script-src 'self' 'unsafe-inline'"), page("script-src 'self'; object-src 'none'"));
    assert_eq!(changes(&loose, &strict)[0].category, "generic");
    assert_eq!(changes(&strict, &loose)[0].category, "security_regression");
}

/// The sentences about a page that has these headers in the head.
pub(super) fn said_of(base: &PageScore, head: &PageScore) -> Vec<String> {
    let diff = SecurityDiff::between(RulePack::exposure_1(), Some(base), Some(head)).unwrap();
    explain_security(&[diff])
}

#[test]
fn removed_protection_is_reported_for_a_page_with_score_zero() {
    let page = |headers: &[(&str, &str)]| scored("https://x.test/", headers, b"<p>");
    let whole = page(&[
        ("Content-Security-Policy", "default-src 'self'"),
        ("Strict-Transport-Security", "max-age=31536000; includeSubDomains"),
    ]);
    let loose = page(&[
        ("Content-Security-Policy", "default-src * 'unsafe-inline'"),
        ("Strict-Transport-Security", "max-age=0"),
    ]);
    let policy = "https://x.test/: Content-Security-Policy protects less than before: `default-src 'self'` before, `default-src * 'unsafe-inline'` now.";
    let transport = "https://x.test/: Strict-Transport-Security protects less than before: `max-age=31536000; includeSubDomains` before, `max-age=0` now.";
    assert_eq!(said_of(&whole, &loose), [policy, transport]);
    let bare = said_of(&whole, &page(&[]));
    assert!(bare[1].ends_with("`max-age=31536000; includeSubDomains` before, nothing now."), "{bare:#?}");
    let narrow = page(&[("Strict-Transport-Security", "max-age=31536000")]);
    assert!(said_of(&whole, &narrow)[1].contains("Strict-Transport-Security protects less"));
    // What protected nothing is no loss.
    let off = page(&[("Strict-Transport-Security", "max-age=0")]);
    assert_eq!(said_of(&off, &page(&[])), ["https://x.test/: A header is gone: strict-transport-security."]);
    assert!(keys(&off).contains(&"hsts_off"), "{:?}", keys(&off));
}

#[test]
fn a_form_with_another_target_is_reported_as_the_same_form() {
    let page = |action: &str, rest: &str| {
        let body = format!(
            "{rest}<form method=post action={action}><input name=u><input type=password name=p></form>"
        );
        scored("https://x.test/", &[], body.as_bytes())
    };
    let home = page("/login", "");
    let away = said_of(&home, &page("https://evil.example/", ""));
    let sentence = "https://x.test/: A form sends what is entered to another site now: \
        form[action=\"https://evil.example/\"], POST https://x.test/login before, POST https://evil.example/ now.";
    assert_eq!(away, [sentence]);
    // The same action, of a page that moved what it is relative to.
    let moved = said_of(&home, &page("/login", "<base href=https://evil.example/>"));
    assert!(
        moved[0].ends_with("POST https://x.test/login before, POST https://evil.example/login now."),
        "{moved:#?}"
    );
    let plain = said_of(&home, &page("http://x.test/login", ""));
    assert!(plain[0].contains("unencrypted now"), "{plain:#?}");
    let other = said_of(&home, &page("/enter", ""));
    assert!(other[0].contains("A form sends elsewhere now"), "{other:#?}");
    assert_eq!(
        said_of(&home, &page("https://x.test/login", "")),
        [""; 0],
        "the same place, written otherwise"
    );
    let new = said_of(&scored("https://x.test/", &[], b""), &page("https://evil.example/", ""));
    assert!(new.iter().any(|line| line.contains("New form that sends to another site")), "{new:#?}");
    assert!(new.iter().any(|line| line.contains("New input for a password")), "{new:#?}");
}

#[test]
fn many_changes_are_limited_and_sorted_by_severity() {
    let page = |number: usize, body: &str| scored(&format!("https://x.test/{number}"), &[], body.as_bytes());
    let scripts: String = (0..50).map(|number| format!("<script src=/{number}.js></script>")).collect();
    let pack = RulePack::exposure_1();
    let grown = |number, body: &str| {
        SecurityDiff::between(pack, Some(&page(number, "")), Some(&page(number, body))).unwrap()
    };
    let mut diffs: Vec<_> = (0..12).map(|number| grown(number, &scripts)).collect();
    diffs.push(grown(99, "<form action=/admin></form>"));
    let told = explain_security(&diffs);
    assert!(
        told[0].starts_with("https://x.test/99: New form that leads to an administration page"),
        "{told:#?}"
    );
    assert_eq!(told.iter().filter(|line| line.ends_with(": 38 more changes.")).count(), 9);
    assert_eq!(told.last().unwrap(), "3 more pages changed, none of them worse.");
}

#[test]
fn a_version_is_as_exposed_as_its_most_exposed_page() {
    let calm = scored("https://x.test/b", &[], b"<p>");
    let exposed = scored("https://x.test/a", &[], b"<form action=/admin>");
    let version = VersionScore::new(vec![calm, exposed]).unwrap();
    let row = version.row(9);
    assert_eq!((row.normalized, row.scoring_version.as_str()), (30, "exposure-1"));
    let json: serde_json::Value = serde_json::from_str(&row.score_json).unwrap();
    assert_eq!(json["attack_surface"]["url"], "https://x.test/a");
    assert_eq!(json["pages"].as_array().unwrap().len(), 2);
    assert!(VersionScore::new(Vec::new()).is_none());
}

#[test]
fn a_page_that_comes_or_goes_is_compared_with_nothing() {
    let page = scored("https://x.test/", &[], b"<form action=/admin>");
    let pack = RulePack::exposure_1();
    let came = SecurityDiff::between(pack, None, Some(&page)).unwrap();
    assert!(
        came.scores.regressed == Some(true)
            && came.attack_surface_changed
            && came.scores.score_base == Some(0.0)
    );
    assert_eq!(came.attack_surface_changes[0].category, "admin_surface");
    let went = SecurityDiff::between(pack, Some(&page), None).unwrap();
    assert!(went.scores.regressed == Some(false) && went.scores.score_delta < Some(0.0));
    let kinds: Vec<_> = went.attack_surface_changes.iter().map(|change| change.kind).collect();
    assert_eq!(kinds, ["form_removed"]);
    assert!(SecurityDiff::between(pack, None, None).is_none());
}

/// An unavailable body is not an empty one: headers and cookies are compared, and numbers that need
/// the body are unknown.
#[test]
fn without_a_body_headers_are_compared_and_numbers_are_unknown() {
    let form = b"<form action=/login><input type=password name=p></form>";
    let base = scored("https://x.test/", &[("Content-Security-Policy", "default-src 'self'")], b"");
    let head = scored("https://x.test/", &[("Set-Cookie", "sid=1")], form);
    let lacking = Some(ScoredSide { score: &base, has_body: false });
    let diff =
        SecurityDiff::between_sides(RulePack::exposure_1(), lacking, Some(ScoredSide::whole(&head))).unwrap();
    let kinds: Vec<_> = diff.attack_surface_changes.iter().map(|change| change.kind).collect();
    assert_eq!(kinds, ["cookie_added", "header_removed"]);
    assert_eq!(
        (diff.scores.score_base, diff.scores.score_delta, diff.scores.exposure_delta, diff.scores.regressed),
        (None, None, None, None)
    );
    assert_eq!(diff.scores.score_head, Some(head.score));
    assert!(diff.scores.hardening_delta < 0.0 && !diff.bodies_compared);
    assert!(diff.new_rules.contains(&RuleId::CspMissing) && !diff.new_rules.contains(&RuleId::FormAuth));
    let told = explain_security(&[diff]);
    assert!(
        told[0].starts_with("https://x.test/ (headers only): Content-Security-Policy protects less"),
        "{told:#?}"
    );
}

/// Similar elements are distinguished: each has its own selector, and so has its sentence.
#[test]
fn equal_elements_get_different_selectors() {
    let body = "<body>\n<form><input name=a></form>\n<form><input name=a></form><form id=third></form>\n\
        <script>1</script><div><script>2</script></div><script>3</script><b onclick=a()></b><b onclick=b()></b>";
    let score = scored("https://x.test/", &[], body.as_bytes());
    for piece in &score.evidence {
        let mut selectors: Vec<_> = piece.locations.iter().map(|place| place.selector.clone()).collect();
        selectors.retain(|selector| selector.is_some());
        let all = selectors.len();
        selectors.sort_unstable();
        selectors.dedup();
        assert_eq!(selectors.len(), all, "{:?}", piece.key);
    }
    let said = explain(&score, RulePack::exposure_1());
    let forms: Vec<_> = said.iter().filter(|line| line.starts_with("There is a form")).collect();
    assert_eq!(
        forms,
        [
            "There is a form: html > body > form:nth-of-type(1). (+10) [line 2]",
            "There is a form: html > body > form:nth-of-type(2). (+10) [line 3]",
            "There is a form: form[id=\"third\"]. (+10) [line 3]",
        ]
    );
    let new = said_of(&scored("https://x.test/", &[], b"<body>"), &score);
    let script = "https://x.test/: New script: script:not([src]), html > body > div > script, line 4.";
    assert!(new.iter().any(|line| line == script), "{new:#?}");
    let mut apart = new.clone();
    apart.sort_unstable();
    apart.dedup();
    assert_eq!(apart.len(), new.len(), "{new:#?}");
}

/// A find that moved is the same find, though its selector is another.
#[test]
fn content_moved_within_a_page_does_not_change_the_score() {
    let base = scored("https://x.test/", &[], b"<body><form></form><p></p>");
    let head = scored("https://x.test/", &[], b"<body><p></p><div><form></form></div>");
    let pair = PagePair { base: Some(&base), head: Some(&head), chunks: &[] };
    assert_ne!(base.evidence[0].locations[0].selector, head.evidence[0].locations[0].selector);
    assert_eq!(attribute(&[pair], None).shares, []);
}

/// Movements are all rounded alike.
#[test]
fn a_movement_is_explained_the_same_way_each_time() {
    let (base, head, chunks) = before_and_after();
    let pair = PagePair { base: Some(&base), head: Some(&head), chunks: &chunks };
    for line in explain_change(&[pair], &attribute(&[pair], None)) {
        let number = line.split(' ').next().unwrap();
        assert_eq!(number.split_once('.').unwrap().1.len(), 2, "{line}");
    }
}
