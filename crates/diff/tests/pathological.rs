//! Pairs of texts that make diffs slow or large. Nothing is timed: each test ends because the cost
//! is bounded, and would not in any patience if it were not.

use varve_core::headers::{HeaderView, Redaction};
use varve_diff::compare::{CaptureSide, CompareOptions, compare};
use varve_diff::text::{BodyDiff, DiffView, LineOptions, TextDiff, TokenBudget, moku, unified};

/// Numbers that look random and are the same everywhere.
fn numbers(mut seed: u64) -> impl Iterator<Item = u64> {
    std::iter::repeat_with(move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    })
}

fn text(seed: u64, length: usize, word: impl Fn(u64) -> String) -> String {
    let mut text = String::with_capacity(length + 32);
    let mut numbers = numbers(seed);
    while text.len() < length {
        text += &word(numbers.next().unwrap_or(0));
    }
    text
}

fn total(diff: &BodyDiff) -> usize {
    diff.chunks.iter().map(|chunk| chunk.content.len()).sum()
}

#[test]
fn two_lines_of_ten_megabytes_of_common_words() {
    let word = |number: u64| format!("{} ", ["a", "be", "sea", "dee"][(number >> 20) as usize % 4]);
    let (base, head) = (text(1, 10 << 20, word), text(2, 10 << 20, word));
    let diff = TextDiff::between(&base, &head, LineOptions::default());
    assert_eq!(diff.changes().len(), 1);
    let told = BodyDiff::new("b", "h").with_changes(&diff, diff.changes(), false, |_| None);
    assert!(total(&told) <= 4 << 20 && told.truncated);
}

/// A line of six-letter words out of five thousand, and the same with five letters replaced.
fn one_line_and_another() -> (String, String) {
    let word = |number: u64| {
        let letters = (number >> 20) % 5000 * 61_843 % 308_915_776;
        let letter = |place: u32| char::from(b'a' + (letters / 26_u64.pow(place) % 26) as u8);
        (0..6).map(letter).chain([' ']).collect::<String>()
    };
    let base = text(13, 1 << 20, word);
    let mut head = base.clone().into_bytes();
    for place in [100_000, 110_000, 120_000, 130_000, 900_000] {
        let place = place + head[place..].iter().take_while(|byte| **byte != b' ').count() + 3;
        head[place] = if head[place] == b'q' { b'x' } else { b'q' };
    }
    (base, String::from_utf8_lossy(&head).into_owned())
}

#[test]
fn equal_text_on_a_long_line_is_not_reported() {
    let (base, head) = one_line_and_another();
    let diff = TextDiff::between(&base, &head, LineOptions::default());
    let rows = [
        BodyDiff::new("b", "h").with_changes(&diff, diff.changes(), false, |_| None),
        BodyDiff::new("b", "h").with_changes(&diff, diff.changes(), true, |_| None),
        moku::body_diff("b", "h", base.as_bytes(), head.as_bytes()),
    ];
    for row in rows {
        assert_eq!((row.chunks.len(), row.truncated), (10, false));
        assert!(row.chunks.windows(2).all(|pair| pair[0].content != pair[1].content));
    }
}

#[test]
fn two_long_lines_that_share_nothing() {
    let (base, head) = (text(3, 2 << 20, |n| format!("{n:x} ")), text(4, 2 << 20, |n| format!("{n:x};")));
    let diff = TextDiff::between(&base, &head, LineOptions::default());
    let edits = diff.edits(&diff.changes()[0], &mut TokenBudget::default());
    assert_eq!(unified(&diff, &DiffView::default()).len(), 1);
    let covered: usize = edits.list.iter().map(|edit| edit.base.len()).sum();
    assert!(covered > base.len() / 2);
}

#[test]
fn all_lines_differ() {
    let (base, head) = (text(5, 3 << 20, |n| format!("{n:x}\n")), text(6, 3 << 20, |n| format!("{n:x}\n")));
    let diff = TextDiff::between(&base, &head, LineOptions::default());
    let removed: usize = diff.changes().iter().map(|change| change.base_lines.len()).sum();
    assert_eq!(removed, diff.base().count());
    assert!(BodyDiff::new("b", "h").with_changes(&diff, diff.changes(), true, |_| None).truncated);
}

#[test]
fn few_lines_in_ever_other_order() {
    let line = |n: u64| format!("line {}\n", (n >> 30) % 50);
    let (base, head) = (text(7, 2 << 20, line), text(8, 2 << 20, line));
    let diff = TextDiff::between(&base, &head, LineOptions::default());
    assert!(!diff.is_empty());
}

#[test]
fn rows_of_hostile_bodies_are_bounded() {
    let (base, head) = (text(9, 2 << 20, |n| format!("{n:x}")), text(10, 2 << 20, |n| format!("{n:x}")));
    let row = moku::body_diff("b", "h", base.as_bytes(), head.as_bytes());
    assert_eq!(row.chunks.len(), 2);
    let letters = |n: u64| ["a", "b", "\n"][(n >> 40) as usize % 3].to_owned();
    let (base, head) = (text(11, 1 << 20, letters), text(12, 1 << 20, letters));
    assert!(!moku::body_diff("b", "h", base.as_bytes(), head.as_bytes()).chunks.is_empty());
}

/// Whether two HTML bodies differ by more than noise, by lines.
fn is_changed(base: &str, head: &str) -> bool {
    let headers = HeaderView::from_pairs([("content-type", "text/html")], Redaction::Off);
    let side = |body| CaptureSide { id: "", headers: &headers, body, media_type: None };
    compare(&side(base.as_bytes()), &side(head.as_bytes()), &CompareOptions::default()).is_changed()
}

#[test]
fn noise_in_a_page_of_ten_megabytes_in_one_line() {
    let page = |nonce: &str| {
        let filler = text(14, 5 << 20, |n| format!("<p class=c>{} words</p>", n % 1000));
        format!("<html>{filler}<script nonce={nonce}>a()</script>{filler}</html>")
    };
    assert!(!is_changed(&page("abcdefgh12"), &page("zzzzzzgh12")));
    let script = |token: &str| {
        let filler = text(15, 5 << 20, |n| format!("f({});", n % 1000));
        format!("<script>{filler}var csrf_token = \"{token}\";{filler}</script>")
    };
    assert!(!is_changed(&script("a1b2c3d4"), &script("d4c3b2a1")));
}

#[test]
fn noise_in_hostile_pages_is_searched_in_bounds() {
    let lines = |seed: u64| text(seed, 3 << 20, |n| format!("{n:x}\n"));
    for (start, end) in [("<p>", "</p>"), ("<script>", "</script>"), ("<!--", "-->"), ("<p title='", "'>")] {
        assert!(is_changed(&format!("{start}{}{end}", lines(16)), &format!("{start}{}{end}", lines(17))));
    }
    let tags = |seed: u64| text(seed, 3 << 20, |n| format!("<b nonce={n:x}>\n"));
    is_changed(&tags(18), &tags(19));
    let slots = |seed: u64| text(seed, 2 << 20, |n| format!("<ins class=adsbygoogle>\n{}\n</ins>", n % 9));
    is_changed(&slots(20), &slots(21));
}
