//! The program as people meet it: a process with arguments, streams and an exit code.
//!
//! What verbs compute is tested in the rooms below; here it is wording, streams and codes.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

mod archive;
mod check;
mod commit_urls;
mod crystal;
mod crystal_kill;
mod demo;
mod doctor;
mod explain;
mod history;
mod history_diffs;
mod history_kill;
mod history_lists;
mod history_words;
mod key;
mod moku;
mod moku_gc;
mod paperwork;
mod plan;
mod project;
mod reaching;
mod readme;
mod score;
mod serve;
mod streams;
mod urls;

use std::process::{Command, Output};

/// varve, untouched by what this machine's environment asks for.
fn varve() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_varve"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "VARVE_ARCHIVE", "RUST_BACKTRACE"] {
        command.env_remove(name);
    }
    command
}

fn run(words: &[&str]) -> Output {
    varve().args(words).output().unwrap()
}

fn run_with_input(words: &[&str], input: &[u8]) -> Output {
    let mut command = assert_cmd::Command::from_std(varve());
    command.args(words).write_stdin(input).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The verbs that `--help` lists.
fn verbs() -> Vec<String> {
    let help = stdout(&run(&["--help"]));
    let list = help.split("Verbs:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let verbs: Vec<_> =
        list.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    assert!(verbs.len() > 1, "{verbs:?}");
    verbs
}
