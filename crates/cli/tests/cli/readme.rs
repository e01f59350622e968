//! Runs each command in a `console` block of the README and compares the output.
//!
//! A command is a line that begins with `$ varve`; the lines up to the next one are its output. Other commands are
//! rejected, because they would not be tested. `…` stands for any text within a line, such as an id.

use std::path::Path;
use std::process::Command;

struct Example {
    line: String,
    output: String,
}

fn readme() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap()
}

fn examples(text: &str) -> Vec<Example> {
    let blocks = text.split("\n```console\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("\n```").next().unwrap().lines());
    let mut examples: Vec<Example> = Vec::new();
    for line in lines {
        match line.strip_prefix("$ ") {
            Some(command) => examples.push(Example { line: command.to_owned(), output: String::new() }),
            None => {
                let example = examples.last_mut().expect("a `console` block opens with a command");
                example.output.push_str(line);
                example.output.push('\n');
            }
        }
    }
    examples
}

/// Both output streams of a shell command.
fn run(line: &str, folder: &Path) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_varve")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{{ {line}\n}} 2>&1")]).current_dir(folder).env("PATH", path);
    shell.env_remove("VARVE_ARCHIVE").env("NO_COLOR", "1");
    String::from_utf8(shell.output().unwrap().stdout).unwrap()
}

/// Whether an output is what the README shows, line by line.
fn agrees(shown: &str, got: &str) -> bool {
    let (shown, got) = (shown.trim_end(), got.trim_end());
    shown.lines().count() == got.lines().count()
        && shown.lines().zip(got.lines()).all(|(shown, got)| line_agrees(shown, got))
}

fn line_agrees(shown: &str, got: &str) -> bool {
    let (shown, got) = (shown.trim_end(), got.trim_end());
    let Some((first, rest)) = shown.split_once('…') else { return shown == got };
    let Some(mut got) = got.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('…').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match got.split_once(piece) {
            Some((_, behind)) => got = behind,
            None => return false,
        }
    }
    got.ends_with(last)
}

#[test]
fn dots_stand_for_any_text_within_a_line() {
    assert!(line_agrees("a … c", "a bb c") && line_agrees("… of …", "1 of 2") && line_agrees("same", "same"));
    assert!(!line_agrees("a … c", "a bb d") && !line_agrees("x …", "a x") && !line_agrees("same", "other"));
    assert!(!agrees("one …", "one 1\ntwo"));
}

#[test]
fn every_example_in_the_readme_is_true() {
    let folder = tempfile::tempdir().unwrap();
    let examples = examples(&readme());
    assert!(!examples.is_empty(), "the README shows nothing");
    for Example { line, output } in examples {
        assert!(line.starts_with("varve "), "`{line}` is not a call of varve");
        let got = run(&line, folder.path());
        assert!(agrees(&output, &got), "$ {line}\nREADME says:\n{output}\nvarve says:\n{got}");
    }
}

/// The README lists exactly the verbs of the program, in the same order.
#[test]
fn the_table_of_verbs_is_the_table_of_the_program() {
    let text = readme();
    let rows = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .map(|row| row.split(['`', ' ']).next().unwrap());
    assert_eq!(rows.collect::<Vec<_>>(), crate::verbs());
}
