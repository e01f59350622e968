//! Checks the vocabulary of the workspace: unique type names, constants of at least two words, and
//! comments without words that hide the subject.
//!
//! The test reads the source tree and needs nothing else. Test code is not checked.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Type names that may occur in several places, besides `Error` once per crate, and `Request` and
/// `Report` of verbs.
const SHARED_TYPE_NAMES: &[&str] = &[];

/// Constants that may have one word, because the word is a name in the field.
const ONE_WORD_CONSTANTS: &[&str] = &["CRLF", "HEAD", "MAGIC"];

/// Words of a comment that hide who does what, in sequence; `*ed` is any word with that ending.
const UNCLEAR_PHRASES: &[&[&str]] = &[
    &["whoever"],
    &["whatever"],
    &["so", "many|much|long|often"],
    &["what", "is|was", "*ed"],
    &["what", "has", "been", "*ed"],
    &["is|are|was|were", "said|told"],
];

/// A source file without its test module.
struct SourceFile {
    crate_name: String,
    path: String,
    text: String,
}

#[test]
fn names_and_comments_are_plain() {
    let files = source_files();
    assert!(files.len() > 100, "the source tree was not found");
    let findings = [shared_types(&files), one_word_constants(&files), unclear_comments(&files)].concat();
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

/// All source files of the crates, except `testkit` and files of tests.
fn source_files() -> Vec<SourceFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in entries(&root.join("crates")) {
        let crate_name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if crate_name != "testkit" {
            collect(&folder.join("src"), &crate_name, &root, &mut files);
        }
    }
    files
}

fn collect(folder: &Path, crate_name: &str, root: &Path, files: &mut Vec<SourceFile>) {
    for path in entries(folder) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            collect(&path, crate_name, root, files);
        } else if name.ends_with(".rs") && name != "tests.rs" && !name.ends_with("_tests.rs") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let path = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            files.push(SourceFile { crate_name: crate_name.to_owned(), path, text: without_tests(&text) });
        }
    }
}

/// The entries of a folder, sorted; none if it does not exist.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The text up to the inline test module.
fn without_tests(text: &str) -> String {
    let end = text.match_indices("#[cfg(test)]\n").find(|(at, mark)| {
        let next = &text[at + mark.len()..];
        next.lines().next().is_some_and(|line| line.contains("mod ") && line.ends_with('{'))
    });
    text[..end.map_or(text.len(), |(at, _)| at)].to_owned()
}

/// The name after `keyword` in a top-level item, without its visibility.
fn item_name<'a>(line: &'a str, keywords: &[&str]) -> Option<&'a str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => line,
    };
    let (keyword, rest) = line.split_once(' ')?;
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
    keywords.contains(&keyword).then_some(&rest[..end])
}

/// Types whose name another type of the workspace has, outside of the allowed patterns.
fn shared_types(files: &[SourceFile]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<(&SourceFile, usize)>> = BTreeMap::new();
    for file in files {
        for (number, line) in file.text.lines().enumerate() {
            if let Some(name) = item_name(line, &["struct", "enum", "trait"]) {
                places.entry(name).or_default().push((file, number + 1));
            }
        }
    }
    let mut findings = Vec::new();
    for (name, mut places) in places {
        match name {
            "Request" | "Report" => places.retain(|(file, _)| !file.path.contains("src/verbs/")),
            "Error" => {
                let all = places.clone();
                let in_crate = |name: &str| all.iter().filter(|(file, _)| file.crate_name == name).count();
                places.retain(|(file, _)| in_crate(&file.crate_name) > 1);
            }
            _ => {}
        }
        if places.len() < 2 || SHARED_TYPE_NAMES.contains(&name) {
            continue;
        }
        findings.extend(
            places
                .iter()
                .map(|(file, line)| format!("{}:{line}: the name `{name}` is used twice", file.path)),
        );
    }
    findings
}

fn one_word_constants(files: &[SourceFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files {
        for (number, line) in file.text.lines().enumerate() {
            let Some(name) = item_name(line, &["const"]) else { continue };
            let is_one_word = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_uppercase());
            if is_one_word && !ONE_WORD_CONSTANTS.contains(&name) {
                findings.push(format!("{}:{}: the constant `{name}` has one word", file.path, number + 1));
            }
        }
    }
    findings
}

fn unclear_comments(files: &[SourceFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files {
        for (number, line) in file.text.lines().enumerate() {
            let line = line.trim();
            if line.starts_with("//") && is_unclear(line) {
                findings.push(format!("{}:{}: {line}", file.path, number + 1));
            }
        }
    }
    findings
}

fn is_unclear(comment: &str) -> bool {
    let words = words(comment);
    UNCLEAR_PHRASES.iter().any(|phrase| words.windows(phrase.len()).any(|words| matches(phrase, words)))
}

fn matches(phrase: &[&str], words: &[String]) -> bool {
    phrase.iter().zip(words).all(|(pattern, word)| match pattern.strip_prefix('*') {
        Some(ending) => word.len() > ending.len() && word.ends_with(ending),
        None => pattern.split('|').any(|choice| choice == word),
    })
}

/// The words of a line in lower case. A punctuation mark is a word too, so that phrases do not
/// cross it.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in line.to_lowercase().chars() {
        if letter.is_alphanumeric() || letter == '_' {
            words.last_mut().expect("there is a first word").push(letter);
        } else if letter == ' ' {
            words.push(String::new());
        } else {
            words.extend([letter.to_string(), String::new()]);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn phrases_are_found_within_a_clause() {
    for unclear in
        ["// whoever reads it", "/// So many lines", "// what was stored is read", "//! it is told so"]
    {
        assert!(is_unclear(unclear), "{unclear}");
    }
    for plain in
        ["// so, many lines follow", "// what is big", "// the said line", "// what the caller needed"]
    {
        assert!(!is_unclear(plain), "{plain}");
    }
}

#[test]
fn items_are_recognised_with_any_visibility() {
    assert_eq!(item_name("pub(crate) struct Name<T> {", &["struct"]), Some("Name"));
    assert_eq!(item_name("const LIMIT: usize = 1;", &["const"]), Some("LIMIT"));
    assert_eq!(item_name("pub const fn read() {", &["const"]), Some("fn"));
    assert_eq!(item_name("    struct Inner;", &["struct"]), None);
}
