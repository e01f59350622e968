//! Inspects every archive of the public corpora and compares the report with the recorded
//! expectation.
//!
//! The expectations are in `tests/corpus/`, one text for each source and one block for each file,
//! to be read beside the corpus's own list of defects. They were reviewed by eye; a changed block
//! needs a review. `UPDATE_EXPECT=1` rewrites them. When the corpora are absent (they are not part
//! of this repository), the test reports that on one line.
//!
//! Each file is inspected in lenient and strict mode, by one thread and by several with parts of a
//! few bytes: the number of threads must not change the report.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use varve_warc::inspect::{InspectOptions, InspectReport, inspect};
use varve_warc::rules::{ReportingMode, Rule, WarcFinding};
use varve_warc::{Error, Format};

/// Maximum number of messages shown for each rule.
const MESSAGES: usize = 3;
/// A folder of the corpora, and which of its files are archives.
type Corpus = (&'static str, fn(&str) -> bool);

const CORPORA: [Corpus; 2] = [
    ("warc", |path| path != "MANIFEST.md"),
    ("aardwarc", |path| path.contains("/store/") && path.ends_with(".warc.gz")),
];

#[test]
fn every_file_is_as_expected() {
    let Some(fixtures) = varve_testkit::fixtures("") else { return };
    let found = describe_all(&fixtures);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        write_expectations(&folder, &found);
        return;
    }
    let expected = read_expectations(&folder);
    let mut complaints = String::new();
    let paths = found.keys().chain(expected.keys().filter(|path| !found.contains_key(*path)));
    for path in paths {
        match (expected.get(path), found.get(path)) {
            (Some(expected), Some(found)) if expected == found => {}
            (Some(expected), Some(found)) => complaints += &difference(path, expected, found),
            (None, _) => complaints += &format!("{path}: no expectation\n"),
            (_, None) => complaints += &format!("{path}: expected, but there is no such file\n"),
        }
    }
    assert!(
        complaints.is_empty(),
        "\n{complaints}\nUPDATE_EXPECT=1 writes what was found; look at it before you keep it."
    );
}

/// The report on each file, by its path.
fn describe_all(fixtures: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (corpus, is_archive) in CORPORA {
        let root = fixtures.join(corpus);
        for path in files_below(&root) {
            let name =
                path.strip_prefix(&root).expect("below its root").to_str().expect("a UTF-8 name").to_owned();
            if is_archive(&name) {
                let bytes = std::fs::read(&path).expect("a readable fixture");
                let name = if corpus == "warc" { name } else { format!("{corpus}/{name}") };
                let description = describe(&name, &bytes);
                found.insert(name, description);
            }
        }
    }
    found
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("a folder entry").path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

fn describe(name: &str, bytes: &Vec<u8>) -> String {
    let lenient = inspected(name, bytes, false);
    let strict = inspected(name, bytes, true);
    match (lenient, strict) {
        (Ok(lenient), Ok(strict)) => describe_report(&lenient, &strict),
        (Err(error), Err(_)) => format!("  unreadable {}\n", with_cause(&error)),
        _ => panic!("{name}: can be read in one mode only"),
    }
}

/// Inspects with one thread and with several, in parts of several sizes: all reports must be equal.
fn inspected(name: &str, bytes: &Vec<u8>, strict: bool) -> Result<InspectReport, Error> {
    let run = |threads, part_size| {
        let options = InspectOptions { strict, threads, part_size, findings: usize::MAX };
        inspect(bytes, options, &|_| {})
    };
    let alone = run(1, None);
    for part_size in [None, Some(bytes.len() as u64 / 2 + 1), Some(bytes.len() as u64 / 9 + 1)] {
        let together = run(2, part_size);
        assert_eq!(
            format!("{alone:#?}"),
            format!("{together:#?}"),
            "{name}: two threads, parts of {part_size:?}"
        );
    }
    alone
}

fn describe_report(lenient: &InspectReport, strict: &InspectReport) -> String {
    let mut text = String::new();
    let format = match lenient.format {
        Format::Warc => "WARC".to_owned(),
        Format::Arc { version } => format!("ARC {version}"),
    };
    let (size, good) = (lenient.size, lenient.last_good_offset);
    let place = if good == size { "good to the end".to_owned() } else { format!("good to {good}") };
    let _ = writeln!(text, "  format  {format}, {:?}, {size} bytes, {place}", lenient.encoding);
    let _ = writeln!(text, "  records {}{}", lenient.records, counts(&lenient.by_type));
    let _ = writeln!(text, "  version {}", counts(&lenient.by_version).trim_start_matches(':').trim());
    let digests = lenient.digests;
    let _ =
        writeln!(text, "  digests {} ok, {} bad, {} unchecked", digests.ok, digests.bad, digests.unchecked);
    let _ = writeln!(text, "  lenient {}", rules(&lenient.by_rule));
    say_some(&mut text, &lenient.findings, ReportingMode::Leniency);
    let _ = writeln!(text, "  strict  {}", rules(&strict.by_rule));
    say_some(&mut text, &strict.findings, ReportingMode::Conformance);
    text
}

/// The first messages of each rule of that kind.
fn say_some(text: &mut String, findings: &[WarcFinding], kind: ReportingMode) {
    for rule in Rule::ALL.iter().filter(|rule| rule.kind() == kind) {
        for finding in findings.iter().filter(|finding| finding.rule == *rule).take(MESSAGES) {
            let _ = writeln!(text, "    {} @{} {}", rule.code(), finding.offset, finding.message);
        }
    }
}

fn counts(counts: &BTreeMap<String, u64>) -> String {
    let mut text = String::new();
    for (name, count) in counts {
        let _ = write!(text, "{} {name} {count}", if text.is_empty() { ":" } else { "," });
    }
    text
}

fn rules(by_rule: &BTreeMap<Rule, u64>) -> String {
    if by_rule.is_empty() {
        return "nothing".to_owned();
    }
    let codes: Vec<_> = by_rule.iter().map(|(rule, count)| format!("{} x{count}", rule.code())).collect();
    codes.join(", ")
}

fn with_cause(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}

// --- the texts

/// The blocks of all texts: a line with the path, then indented lines.
fn read_expectations(folder: &Path) -> BTreeMap<String, String> {
    let mut blocks = BTreeMap::new();
    for file in files_below(folder) {
        let text = std::fs::read_to_string(&file).expect("a readable expectation");
        let mut path = None;
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if !line.starts_with(' ') {
                path = Some(line.to_owned());
                let repeated = blocks.insert(line.to_owned(), String::new()).is_some();
                assert!(!repeated, "{line} is expected twice");
            } else if let Some(block) = path.as_ref().and_then(|path| blocks.get_mut(path)) {
                let _ = writeln!(block, "{line}");
            }
        }
    }
    blocks
}

/// One text for each source, which is the first folder of the path.
fn write_expectations(folder: &Path, found: &BTreeMap<String, String>) {
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    for (path, block) in found {
        let source = path.split('/').next().unwrap_or_default();
        let _ = write!(texts.entry(source).or_default(), "{path}\n{block}\n");
    }
    for stale in files_below(folder) {
        std::fs::remove_file(stale).expect("a removable expectation");
    }
    std::fs::create_dir_all(folder).expect("a folder");
    for (source, text) in texts {
        std::fs::write(folder.join(format!("{source}.txt")), text).expect("a writable expectation");
    }
}

/// The lines that only one of the two has.
fn difference(path: &str, expected: &str, found: &str) -> String {
    let mut text = format!("{path}\n");
    for line in expected.lines().filter(|line| !found.lines().any(|other| other == *line)) {
        let _ = writeln!(text, "  expected {line}");
    }
    for line in found.lines().filter(|line| !expected.lines().any(|other| other == *line)) {
        let _ = writeln!(text, "  found    {line}");
    }
    text
}
