//! The programs that `bench/diff/run` times: it makes the pages, and compares two files in one way and prints the result.
//!
//!     varve-bench-diff make DIR
//!     varve-bench-diff lines|words|moku|compare|dom BASE HEAD
//!
//! `lines` does what `git diff --histogram --no-index` does: reads two files, prints the hunks. `compare` is what the verb
//! does besides: charsets, headers, noise.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::{fs, io};
use varve_core::diff::{BodyDiff, Options, TextDiff, View, moku, plain_text, unified};
use varve_core::headers::{HeaderView, Redaction};
use varve_page::compare::{self, Mode, Side};

/// Versions of a page that grows and is edited.
const VERSIONS: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["make", folder] => make(Path::new(folder))?,
        [way, base, head] => print(way, &fs::read(base)?, &fs::read(head)?)?,
        _ => return Err("make DIR, or lines|words|moku|compare|dom BASE HEAD".into()),
    }
    Ok(())
}

fn print(way: &str, base: &[u8], head: &[u8]) -> Result<(), Box<dyn Error>> {
    let text = match way {
        "moku" => format!("{:?}", moku::body_diff("b", "h", base, head)),
        "compare" => compared(base, head, Mode::Lines),
        "dom" => compared(base, head, Mode::Dom),
        _ => {
            let diff = TextDiff::between(str::from_utf8(base)?, str::from_utf8(head)?, Options::default());
            if way == "words" {
                format!("{:?}", BodyDiff::new("b", "h").with_words(&diff))
            } else {
                plain_text(&unified(&diff, &View { words: false, longest: None, ..View::default() }))
            }
        }
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn compared(base: &[u8], head: &[u8], mode: Mode) -> String {
    let headers = HeaderView::from_pairs([("content-type", "text/html")], Redaction::On);
    let side = |id, body| Side { id, headers: &headers, body, media_type: None };
    let options = compare::Options { mode, ..compare::Options::default() };
    format!("{:?}", compare::compare(&side("b", base), &side("h", head), &options).report(true))
}

/// Writes two pages of 5 MB of which one line in a hundred differs, two that share hardly a line, and the versions.
fn make(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut dice = Dice(42);
    let large: Vec<String> = (0..60_000).map(|_| dice.line()).collect();
    write(folder, "large-0.html", &large)?;
    write(folder, "large-1.html", &dice.edited(&large, 100))?;
    let other: Vec<String> = (0..60_000).map(|_| dice.line()).collect();
    write(folder, "large-2.html", &other)?;
    let mut page: Vec<String> = large[..6000].to_vec();
    for version in 0..VERSIONS {
        write(folder, &format!("version-{version:02}.html"), &page)?;
        page = dice.edited(&page, 200);
    }
    write(folder, "large-3.html", &dice.edited(&large, 9))
}

fn write(folder: &Path, name: &str, lines: &[String]) -> io::Result<()> {
    fs::write(folder.join(name), lines.concat())
}

/// Numbers that look random and are the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    /// A line as pages have them: some are everywhere the same, most are not.
    fn line(&mut self) -> String {
        const COMMON: [&str; 6] = ["<div>\n", "</div>\n", "<ul class=\"list\">\n", "</ul>\n", "\n", "  </li>\n"];
        if self.below(4) == 0 {
            return COMMON[self.below(COMMON.len())].to_owned();
        }
        let count = 6 + self.below(14);
        let words: Vec<String> = (0..count).map(|_| self.word()).collect();
        format!("  <p class=\"c{}\">{}</p>\n", self.below(20), words.join(" "))
    }

    /// A word; small numbers of it are frequent.
    fn word(&mut self) -> String {
        let limit = 1 + self.below(5000);
        let number = self.below(limit);
        format!("{}{number}", ["wo", "lor", "et", "situ", "amen"][number % 5])
    }

    /// The lines with one in `rate` replaced, some dropped and some put in.
    fn edited(&mut self, lines: &[String], rate: usize) -> Vec<String> {
        let mut edited = Vec::with_capacity(lines.len());
        for line in lines {
            match self.below(rate * 3) {
                0 => {}
                1 => edited.extend([line.clone(), self.line()]),
                2..=3 => edited.push(self.line()),
                _ => edited.push(line.clone()),
            }
        }
        edited
    }
}
