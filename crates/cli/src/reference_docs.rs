//! Generates `docs/cli.md` from the same description as `--help`, and tests that it is up to date.
//!
//! It exists in test builds only. `UPDATE_DOCS=1 cargo test -p varve reference` writes the file.

use std::path::Path;

use clap::Command;

use crate::arguments;

const REFERENCE_HEADER: &str = "\
# The command line

<!-- Generated from the help of the program; do not edit. UPDATE_DOCS=1 cargo test -p varve reference -->

The output of `--help` for each verb.
";

fn markdown() -> String {
    let mut root = arguments::root().term_width(100);
    root.build();
    let verbs = root.get_subcommands().cloned().collect::<Vec<_>>();
    let sections: String = verbs.into_iter().map(|verb| sections("varve", verb)).collect();
    format!("{REFERENCE_HEADER}{}{sections}", section("varve", root.clone()))
}

/// The section of a verb, and those of its sub-verbs.
fn sections(above: &str, verb: Command) -> String {
    let title = format!("{above} {}", verb.get_name());
    let below: String = verb.get_subcommands().map(|verb| sections(&title, verb.clone())).collect();
    section(&title, verb) + &below
}

fn section(title: &str, mut command: Command) -> String {
    let help = command.render_long_help().to_string();
    let help: Vec<_> = help.lines().map(str::trim_end).collect();
    format!("\n## `{title}`\n\n```text\n{}\n```\n", help.join("\n").trim_end())
}

#[test]
fn the_reference_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let wanted = markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert!(found == wanted, "`docs/cli.md` is out of date: UPDATE_DOCS=1 cargo test -p varve reference");
}
