//! The program as a process: arguments, streams and exit codes.
//!
//! The work of verbs is tested in the crates below.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

mod archive;
mod check;
mod check_links;
mod clock;
mod commit_urls;
mod crystal;
mod crystal_kill;
mod demo;
mod doctor;
mod explain;
mod extracting;
mod gone_pages;
mod help;
mod history;
mod history_diffs;
mod history_kill;
mod history_lists;
mod history_words;
mod hostile_folders;
mod importing;
mod json_output;
mod key;
mod moku;
mod moku_gc;
mod plan;
mod project;
mod reaching;
mod readme;
mod recording;
mod score;
mod sealing;
mod searching;
mod serve;
mod streams;
mod token;
mod urls;
mod user_info;
mod web_archives;

use std::process::{Command, Output};

/// varve without the environment variables that change its output.
fn varve() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_varve"));
    for name in
        ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "VARVE_ARCHIVE", "VARVE_SIGNING_KEY", "RUST_BACKTRACE"]
    {
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

/// The headings and verbs that `--help` lists, in order.
fn verb_groups() -> Vec<(String, Vec<String>)> {
    let help = stdout(&run(&["--help"]));
    let list = help.split("\nGlobal options:\n").next().unwrap();
    let groups = list.split("\n\n").skip(2).map(|group| {
        let mut lines = group.trim().lines();
        let title = lines.next().unwrap().trim_end_matches(':').to_owned();
        (title, lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect())
    });
    groups.collect()
}

/// All verbs that `--help` lists, in order.
fn verbs() -> Vec<String> {
    let verbs: Vec<_> = verb_groups().into_iter().flat_map(|(_, verbs)| verbs).collect();
    assert!(verbs.len() > 30, "{verbs:?}");
    verbs
}
