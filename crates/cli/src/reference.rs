//! `docs/cli.md`, made from the same source as `--help`, and the test that keeps it true.
//!
//! It exists in test builds only: the program never prints Markdown. `UPDATE_DOCS=1 cargo test -p varve reference`
//! writes the file anew.

use std::path::Path;

use clap::Command;

use crate::arguments;

const OPENING: &str = "\
# The command line

<!-- Made from the program's own help; do not edit. UPDATE_DOCS=1 cargo test -p varve reference -->

What each verb says with `--help`.
";

fn markdown() -> String {
    let mut root = arguments::root().term_width(100);
    root.build();
    let verbs = root.get_subcommands().cloned().collect::<Vec<_>>();
    let sections: String = verbs.into_iter().map(|verb| sections("varve", verb)).collect();
    format!("{OPENING}{}{sections}", section("varve", root.clone()))
}

/// The section of a verb, and those of the verbs below it.
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
fn the_reference_is_what_help_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let wanted = markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert!(found == wanted, "`docs/cli.md` is behind: UPDATE_DOCS=1 cargo test -p varve reference");
}
