//! How many URLs a second a group pattern is matched against, beside the `regex` crate with the same pattern.
//!
//! A million made-up URLs of one site in one buffer, each pattern compiled once; rounds in turn, medians.

use std::time::Instant;

use regex::Regex;
use varve_core::pattern::{AtSign, GroupPattern};

const URLS: usize = 1_000_000;
const ROUNDS: usize = 7;
const PATTERNS: [&str; 6] = [
    "https://example.com/",
    "https://example.com/**",
    "https://example.com/blog/#/#/*",
    "https://*/blog/#/**",
    "**page=#**",
    "**/**/**/*-#**#",
];

fn urls() -> Vec<String> {
    let word = |number: usize| ["lake", "layer", "varve", "melt-water", "sediment"][number % 5];
    let made = |number: usize| match number % 4 {
        0 => format!("https://example.com/blog/{}/{}/{}-{number}", 1990 + number % 40, number % 12, word(number)),
        1 => format!("https://example.com/search?q={}&page={}&lang=en", word(number / 3), number % 900),
        2 => format!("https://www{}.example.org/{}/{}/index.html", number % 7, word(number), word(number / 5)),
        _ => format!("https://example.com/images/{}/{:016x}.jpg", word(number), number.wrapping_mul(0x9e37_79b9)),
    };
    (0..URLS).map(made).collect()
}

/// The same pattern for `regex`.
fn regex(pattern: &str) -> Regex {
    let escaped = regex::escape(pattern).replace(r"\*\*", "[^\n]*").replace(r"\*", "[^/?=&]*").replace(r"\#", "[0-9]+");
    Regex::new(&format!("^{escaped}$")).expect("a pattern")
}

/// Seconds, and how many matched.
fn timed(urls: &[String], matches: impl Fn(&str) -> bool) -> (f64, usize) {
    let start = Instant::now();
    let count = urls.iter().filter(|url| matches(url)).count();
    (start.elapsed().as_secs_f64(), count)
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn main() {
    let urls = urls();
    println!("| pattern | matched | varve, millions a second | regex | varve over regex |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    for text in PATTERNS {
        let (ours, theirs) = (GroupPattern::new(text, AtSign::Literal), regex(text));
        let (mut our_seconds, mut their_seconds) = (Vec::new(), Vec::new());
        let mut matched = 0;
        for _ in 0..ROUNDS {
            let (seconds, count) = timed(&urls, |url| ours.matches(url));
            our_seconds.push(seconds);
            let (seconds, their_count) = timed(&urls, |url| theirs.is_match(url));
            their_seconds.push(seconds);
            assert_eq!(count, their_count, "{text}");
            matched = count;
        }
        let rate = |seconds| URLS as f64 / seconds / 1e6;
        let (ours, theirs) = (rate(median(our_seconds)), rate(median(their_seconds)));
        println!("| `{text}` | {matched} | {ours:.1} | {theirs:.1} | {:.1} |", ours / theirs);
    }
}
