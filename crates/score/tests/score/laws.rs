//! What holds for every input.

use super::{scored, scored_with};
use proptest::prelude::*;
use varve_core::headers::{HeaderView, Redaction};
use varve_score::attribution::{AttributedChunk, PagePair, attribute};
use varve_score::rows::{VersionScore, attribution_rows};
use varve_score::security::SecurityDiff;
use varve_score::{PageScore, RulePack, explain};

/// Pieces of pages that mean something to the rules.
fn markup() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "<form action=/login>",
        "<form action='/admin' method=post>",
        "<form>",
        "</form>",
        "<input name=a>",
        "<input name=p type=password>",
        "<input type=file name=f>",
        "<input type=hidden name=id>",
        "<script src=//cdn.other.example/x.js>",
        "<script>",
        "</script>",
        "<iframe src=http://a.test/>",
        "<img src=http://a.test/ onload=x()>",
        "<!--",
        "-->",
        "text\n",
        "<",
        "\u{e9}\u{0}",
    ]);
    proptest::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
}

fn header() -> impl Strategy<Value = (String, String)> {
    let known = prop::sample::select(vec![
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'none'; object-src 'none'; base-uri 'none'",
        ),
        ("Content-Security-Policy", "form-action 'none'; frame-src 'none'"),
        ("content-security-policy", "script-src 'unsafe-inline' *, default-src"),
        ("Strict-Transport-Security", "max-age=1"),
        ("X-Frame-Options", "DENY"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Permissions-Policy", "x"),
        ("Set-Cookie", "session=1"),
        ("Set-Cookie", "a=1; Secure; HttpOnly; SameSite=Lax"),
        ("Set-Cookie", "[REDACTED]"),
        ("Content-Type", "text/html; charset=utf-16"),
    ]);
    prop_oneof![
        4 => known.prop_map(|(name, value)| (name.to_owned(), value.to_owned())),
        1 => (".{0,12}", ".{0,24}"),
    ]
}

fn view() -> impl Strategy<Value = HeaderView> {
    proptest::collection::vec(header(), 0..10).prop_map(|pairs| HeaderView::from_pairs(pairs, Redaction::Off))
}

fn in_range(score: &PageScore) -> bool {
    score.normalized <= 100
        && score.score >= 0.0
        && score.score.is_finite()
        && (0.0..=1.0).contains(&score.hardening)
        && (0.0..=1.0).contains(&score.confidence)
}

/// A diff that says only that everything between the common beginning and the common end was
/// replaced.
fn replaced(base: &str, head: &str) -> Vec<AttributedChunk> {
    let (base, head) = (base.as_bytes(), head.as_bytes());
    let start = base.iter().zip(head).take_while(|(left, right)| left == right).count();
    let (base_rest, head_rest) = (&base[start..], &head[start..]);
    let end =
        base_rest.iter().rev().zip(head_rest.iter().rev()).take_while(|(left, right)| left == right).count();
    vec![AttributedChunk { base: start..base.len() - end, head: start..head.len() - end }]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_bytes_score_within_range_and_alike(
        url in "\\PC{0,20}[\\x00-\\x7f]{0,20}", body in proptest::collection::vec(any::<u8>(), 0..400), headers in view(),
    ) {
        let pack = RulePack::exposure_1();
        let score = scored_with(pack, &url, &headers, &body);
        prop_assert!(in_range(&score));
        prop_assert_eq!(&score, &scored_with(pack, &url, &headers, &body));
        prop_assert_eq!(score.to_json(), scored_with(pack, &url, &headers, &body).to_json());
        prop_assert!(explain(&score, pack).iter().all(|line| !line.chars().any(char::is_control)));
    }

    #[test]
    fn pages_score_within_range_and_contributions_add_up(body in markup(), headers in view()) {
        let score = scored_with(RulePack::exposure_1(), "https://x.test/?id=1", &headers, body.as_bytes());
        prop_assert!(in_range(&score));
        let sum: f64 = score.evidence.iter().map(|piece| piece.exposure).sum();
        prop_assert!((sum - score.exposure).abs() < 1e-9);
        for location in score.evidence.iter().flat_map(|piece| &piece.locations) {
            if let (Some(start), Some(end)) = (location.byte_start, location.byte_end) {
                prop_assert!(body.as_bytes()[start] == b'<' && end <= body.len());
                let line = 1 + body[..start].matches('\n').count();
                prop_assert_eq!(location.line_start, Some(line));
            }
        }
        prop_assert!(explain(&score, RulePack::exposure_1()).iter().all(|line| !line.chars().any(char::is_control)));
    }

    #[test]
    fn shares_explain_the_whole_change(
        bodies in (markup(), markup()), headers in (view(), view()), missing in 0..4_u8,
    ) {
        let pack = RulePack::exposure_1();
        let base = scored_with(pack, "https://x.test/", &headers.0, bodies.0.as_bytes());
        let head = scored_with(pack, "https://x.test/", &headers.1, bodies.1.as_bytes());
        let chunks = replaced(&bodies.0, &bodies.1);
        let pair = PagePair {
            base: (missing != 1).then_some(&base),
            head: (missing != 2).then_some(&head),
            chunks: &chunks,
        };
        let movement = attribute(&[pair], None);
        let shares = &movement.shares;
        let change = pair.head.map_or(0.0, |score| score.score) - pair.base.map_or(0.0, |score| score.score);
        let moved: f64 = shares.iter().map(|share| share.contribution).sum();
        prop_assert!((moved - change).abs() < 1e-9, "{} is not {}", moved, change);
        let percent: f64 = shares.iter().map(|share| share.percent).sum();
        prop_assert!(shares.is_empty() || (percent - 100.0).abs() < 1e-9);
        prop_assert!(shares.iter().all(|share| (0.0..=100.0 + 1e-9).contains(&share.percent)));
        prop_assert_eq!(&movement, &attribute(&[pair], None));
        let rows = attribution_rows("D", "V", pack, &[pair], shares, 0);
        prop_assert_eq!(rows.len(), shares.len());
        let mut ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), rows.len());
    }

    #[test]
    fn nothing_changes_between_a_page_and_itself(body in markup(), headers in view()) {
        let pack = RulePack::exposure_1();
        let score = scored_with(pack, "https://x.test/", &headers, body.as_bytes());
        let diff = SecurityDiff::between(pack, Some(&score), Some(&score)).unwrap();
        prop_assert_eq!(diff.attack_surface_changes, []);
        let pair = PagePair { base: Some(&score), head: Some(&score), chunks: &[] };
        prop_assert_eq!(attribute(&[pair], None).shares, []);
    }

    /// However many pages came, went and changed: contributions are those of one page, and add up
    /// to the change of the version's score.
    #[test]
    fn shares_explain_the_change_of_a_version(
        bodies in proptest::collection::vec((markup(), markup(), 0..4_u8), 1..5), same in proptest::option::of(markup()),
    ) {
        let page = |body: &str| scored("https://x.test/", &[], body.as_bytes());
        let pages: Vec<_> = bodies.iter().map(|(base, head, _)| (page(base), page(head))).collect();
        let chunks: Vec<_> = bodies.iter().map(|(base, head, _)| replaced(base, head)).collect();
        let all = pages.iter().zip(&bodies).zip(&chunks);
        let pairs: Vec<_> = all.map(|(((base, head), (_, _, missing)), chunks)| PagePair {
            base: (*missing != 1).then_some(base),
            head: (*missing != 2).then_some(head),
            chunks,
        }).collect();
        let same = same.as_deref().map(page);
        let highest = |side: fn(&PagePair<'_>) -> Option<f64>| {
            pairs.iter().filter_map(side).chain(same.as_ref().map(|page| page.score)).fold(0.0, f64::max)
        };
        let before = highest(|pair| pair.base.map(|page| page.score));
        let after = highest(|pair| pair.head.map(|page| page.score));
        let movement = attribute(&pairs, same.as_ref());
        prop_assert!((movement.change() - (after - before)).abs() < 1e-9);
        let moved: f64 = movement.shares.iter().map(|share| share.contribution).sum();
        prop_assert!((moved - (after - before)).abs() < 1e-9, "{} is not {}", moved, after - before);
        let percent: f64 = movement.shares.iter().map(|share| share.percent).sum();
        prop_assert!(movement.shares.is_empty() || (percent - 100.0).abs() < 1e-9);
        prop_assert!(movement.shares.iter().all(|share| Some(share.page) == movement.mover));
    }

    #[test]
    fn rows_have_ids_of_their_own(bodies in proptest::collection::vec(markup(), 1..4)) {
        let url = |index| format!("https://x.test/{index}");
        let pages = bodies.iter().enumerate().map(|(index, body)| scored(&url(index), &[], body.as_bytes()));
        let version = VersionScore::new(pages.collect()).unwrap();
        let rows = version.evidence_rows(7);
        let mut ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        let mut places: Vec<_> = rows.iter().map(|row| (row.evidence_id, row.location.index)).collect();
        ids.sort_unstable();
        ids.dedup();
        places.sort_unstable();
        places.dedup();
        prop_assert_eq!((ids.len(), places.len()), (rows.len(), rows.len()));
        let greatest = version.pages().iter().map(|page| page.score).fold(0.0, f64::max);
        prop_assert_eq!(version.row(7).score.to_bits(), greatest.to_bits());
    }
}
