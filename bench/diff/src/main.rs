//! The programs that `bench/diff/run` times: it makes the pages, and compares two files in one way
//! and prints the result.
//!
//!     varve-bench-diff make DIR
//!     varve-bench-diff lines|words|moku|compare|dom BASE HEAD
//!     varve-bench-diff pairs VERSIONS BASE HEAD [MOST]
//!
//! BASE and HEAD are two files, or two folders that have the same files. `pairs` makes such folders
//! of a folder of versions (version-001 and so on): what each changed of the one before it; of
//! many, MOST, evenly spread.
//!
//! `lines` does what `git diff --histogram --no-index` does: reads two files, prints the hunks.
//! `compare` is what the verb does besides: charsets, headers, noise.

use std::error::Error;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::{fs, io};
use varve_core::headers::{HeaderView, Redaction};
use varve_diff::compare::{self, CaptureSide, DiffMode};
use varve_diff::text::{BodyDiff, DiffView, LineOptions, TextDiff, moku, plain_text, unified};
use varve_page::charset;

/// Versions of a page that grows and is edited.
const VERSIONS: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["make", folder] => make(Path::new(folder))?,
        ["pairs", versions, base, head] => {
            pairs(Path::new(versions), Path::new(base), Path::new(head), usize::MAX)?
        }
        ["pairs", versions, base, head, most] => {
            pairs(Path::new(versions), Path::new(base), Path::new(head), most.parse()?)?;
        }
        [way, base, head] => print_all(way, Path::new(base), Path::new(head))?,
        _ => {
            return Err(
                "make DIR, pairs VERSIONS BASE HEAD [MOST], or lines|words|moku|compare|dom BASE HEAD".into(),
            );
        }
    }
    Ok(())
}

/// Compares two files, or all files of two folders.
fn print_all(way: &str, base: &Path, head: &Path) -> Result<(), Box<dyn Error>> {
    if !base.is_dir() {
        return print(way, &fs::read(base)?, &fs::read(head)?);
    }
    for name in names(base)? {
        print_all(way, &base.join(&name), &head.join(&name))?;
    }
    Ok(())
}

fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    let mut names =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// Copies what each version changed of the one before it.
fn pairs(versions: &Path, base: &Path, head: &Path, most: usize) -> Result<(), Box<dyn Error>> {
    let names = names(versions)?;
    let mut changed = Vec::new();
    for (number, two) in names.windows(2).enumerate() {
        changed_files(&versions.join(&two[0]), &versions.join(&two[1]), &mut |from, to| {
            changed.push((number, from.to_owned(), to.to_owned()));
        })?;
    }
    let taken = changed.len().min(most);
    for place in 0..taken {
        let (number, from, to) = &changed[place * changed.len() / taken];
        for (folder, file) in [(base, from), (head, to)] {
            let folder = folder.join(format!("{number:03}"));
            fs::create_dir_all(&folder)?;
            fs::copy(file, folder.join(format!("{place:06}.html")))?;
        }
    }
    println!("{taken} of {} pairs", changed.len());
    Ok(())
}

fn changed_files(from: &Path, to: &Path, found: &mut dyn FnMut(&Path, &Path)) -> io::Result<()> {
    for name in names(from)? {
        let (from, to) = (from.join(&name), to.join(&name));
        if from.is_dir() && to.is_dir() {
            changed_files(&from, &to, found)?;
        } else if from.is_file() && to.is_file() && fs::read(&from)? != fs::read(&to)? {
            found(&from, &to);
        }
    }
    Ok(())
}

fn print(way: &str, base: &[u8], head: &[u8]) -> Result<(), Box<dyn Error>> {
    let text = match way {
        "moku" => format!("{:?}", moku::body_diff("b", "h", base, head)),
        "compare" => compared(base, head, DiffMode::Lines),
        "dom" => compared(base, head, DiffMode::Dom),
        _ => {
            let (base, head) = (charset::decode(base, None).text, charset::decode(head, None).text);
            let diff = TextDiff::between(base, head, LineOptions::default());
            if way == "words" {
                format!("{:?}", BodyDiff::new("b", "h").with_changes(&diff, diff.changes(), true, |_| None))
            } else {
                plain_text(&unified(&diff, &DiffView { words: false, longest: None, ..DiffView::default() }))
            }
        }
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn compared(base: &[u8], head: &[u8], mode: DiffMode) -> String {
    let headers = HeaderView::from_pairs([("content-type", "text/html")], Redaction::On);
    let side = |id, body| CaptureSide { id, headers: &headers, body, media_type: None };
    let options = compare::CompareOptions { mode, ..compare::CompareOptions::default() };
    format!("{:?}", compare::compare(&side("b", base), &side("h", head), &options).report(true))
}

/// Writes two pages of 5 MB of which one line in a hundred differs, two that share hardly a line,
/// and the versions.
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
        let version = folder.join("versions").join(format!("version-{version:03}"));
        fs::create_dir_all(&version)?;
        write(&version, "page.html", &page)?;
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
        const COMMON: [&str; 6] =
            ["<div>\n", "</div>\n", "<ul class=\"list\">\n", "</ul>\n", "\n", "  </li>\n"];
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
