//! The command line: the root, the options of every verb, and the verbs of the table.
//!
//! Help, completions, man pages and `docs/cli.md` are all generated from [`root`], so they agree.

use std::ffi::OsString;

use anstream::ColorChoice;
use clap::builder::styling::Styles;
use clap::{Args as _, Command};

use crate::commands::{self, VERB_GROUPS};
use crate::global_options::GlobalOptions;

const ROOT_EXAMPLES: &str = "\
Examples:
  varve demo
  varve init museum
  varve -C museum capture https://example.com/ --scope host -m 'first capture'
  varve -C museum diff
  varve -C museum audit
  varve help capture

Exit codes:
  0    done
  1    done, and there are findings
  2    could not run
  130  stopped by Ctrl-C or another signal
  255  a bug in varve";

/// The whole command line.
pub(crate) fn root() -> Command {
    GlobalOptions::augment_args(Command::new("varve"))
        .version(env!("CARGO_PKG_VERSION"))
        .about(env!("CARGO_PKG_DESCRIPTION"))
        .after_help(ROOT_EXAMPLES)
        .subcommand_value_name("VERB")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands(commands::describe())
        .help_template(root_help_template())
}

/// The help of the root: clap cannot group subcommands, so the list of verbs is part of the template.
fn root_help_template() -> String {
    let heading = Styles::styled().get_header().to_owned();
    let literal = Styles::styled().get_literal().to_owned();
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for group in VERB_GROUPS {
        template.push_str(&format!("\n{heading}{}:{heading:#}\n", group.title));
        for verb in group.describe() {
            let (name, about) =
                (verb.get_name(), verb.get_about().map(ToString::to_string).unwrap_or_default());
            template.push_str(&format!("  {literal}{name:<14}{literal:#}{about}\n"));
        }
    }
    template + &format!("\n{heading}Global options:{heading:#}\n{{options}}{{after-help}}")
}

/// The value of `--color`, read before parsing, because help and usage errors obey it too.
pub(crate) fn requested_color(words: &[OsString]) -> ColorChoice {
    let mut choice = ColorChoice::Auto;
    let mut words = words.iter().filter_map(|word| word.to_str()).take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        let value = match word.strip_prefix("--color") {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        choice = match value {
            Some("always") => ColorChoice::Always,
            Some("never") => ColorChoice::Never,
            Some(_) => ColorChoice::Auto,
            None => choice,
        };
    }
    choice
}

/// Whether JSON is requested, read before parsing, because usage errors are JSON then too.
pub(crate) fn requests_json(words: &[OsString]) -> bool {
    let words = words.iter().map(|word| word.to_str().unwrap_or_default());
    let words: Vec<&str> = words.take_while(|word| *word != "--").collect();
    let is_format = |pair: &[&str]| pair == ["--format", "json"];
    words.iter().any(|word| ["--json", "--format=json"].contains(word)) || words.windows(2).any(is_format)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str]) -> ColorChoice {
        requested_color(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_command_line_is_consistent() {
        root().debug_assert();
    }

    #[test]
    fn color_is_read_before_parsing() {
        assert_eq!(asked(&["varve", "--color", "never", "key"]), ColorChoice::Never);
        assert_eq!(asked(&["varve", "key", "--color=always"]), ColorChoice::Always);
        assert_eq!(asked(&["varve", "--color"]), ColorChoice::Auto);
        assert_eq!(asked(&["varve", "key", "--", "--color=always"]), ColorChoice::Auto);
        assert_eq!(asked(&["varve", "--color=never", "--color=auto"]), ColorChoice::Auto);
    }

    #[test]
    fn every_verb_has_examples_and_every_example_parses() {
        let root = root();
        let mut pages = vec![&root];
        while let Some(page) = pages.pop() {
            pages.extend(page.get_subcommands());
            let help = page.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples: Vec<_> =
                help.lines().filter_map(|line| line.trim().strip_prefix("varve ")).collect();
            assert!(!examples.is_empty(), "`{}` has no examples", page.get_name());
            for example in examples {
                let words = words_of(example);
                let parsed = super::root().try_get_matches_from(words);
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
            }
        }
    }

    /// The words of the first command in a line, split as a shell does (single quotes only).
    fn words_of(line: &str) -> Vec<String> {
        let mut words = vec!["varve".to_owned()];
        for (index, part) in line.split('\'').enumerate() {
            if index % 2 == 1 {
                words.push(part.to_owned());
                continue;
            }
            let command = part.split(['|', '>', '<']).next().unwrap_or_default();
            words.extend(command.split_whitespace().map(str::to_owned));
            if command.len() < part.len() {
                break;
            }
        }
        words
    }
}
