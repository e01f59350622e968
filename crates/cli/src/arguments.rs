//! The shape of the command line: the root, the options that every verb takes, and the verbs of the table.
//!
//! Help, completions, man pages and `docs/cli.md` are all made from [`root`], so they cannot disagree.

use std::ffi::OsString;
use std::path::PathBuf;

use anstream::ColorChoice;
use clap::{Args, Command};

use crate::commands;

/// The name of the flag that silences talk.
pub(crate) const QUIET: &str = "quiet";

/// The name of the option that names the archive.
pub(crate) const ARCHIVE: &str = "archive";

/// The name of the flag that forbids writing.
pub(crate) const READONLY: &str = "readonly";
/// The name of the option for the project that a Moku site must belong to.
pub(crate) const OF_PROJECT: &str = "of_project";

const EXAMPLES: &str = "\
Examples:
  varve demo
  varve init museum
  varve -C museum capture https://example.com/ --scope host -m 'the site as it is'
  varve -C museum diff
  varve -C museum audit
  varve doctor crawl.warc.gz

Exit codes:
  0    done
  1    done, and there are findings
  2    could not run
  130  stopped by Ctrl-C or another signal
  255  a bug in varve";

/// Options that stand before or after any verb.
#[derive(Args)]
#[command(next_help_heading = "Options of every verb")]
struct Shared {
    /// The archive to work in; without it, the nearest from the current folder upwards
    #[arg(
        short = 'C',
        long,
        global = true,
        value_name = "DIR",
        env = "VARVE_ARCHIVE",
        hide_env_values = true
    )]
    archive: Option<PathBuf>,

    /// Open it for reading only: a verb that would change it, or make another, refuses
    #[arg(long, global = true)]
    readonly: bool,

    // Only Moku sites have projects: it is told where they are, in `varve moku --help`, and not with every verb.
    /// Refuse a Moku site that belongs to another project; one that belongs to none becomes its, if anything is written
    #[arg(
        long,
        global = true,
        hide = true,
        value_name = "ID",
        env = "VARVE_PROJECT",
        hide_env_values = true
    )]
    of_project: Option<String>,

    /// When to use colours; `auto` means on a terminal, and never when NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", value_parser = ["auto", "always", "never"])]
    color: String,

    /// Print data and errors only
    #[arg(short, long, global = true)]
    quiet: bool,
}

/// The whole command line.
pub(crate) fn root() -> Command {
    Shared::augment_args(Command::new("varve"))
        .version(env!("CARGO_PKG_VERSION"))
        .about(env!("CARGO_PKG_DESCRIPTION"))
        .after_help(EXAMPLES)
        .subcommand_value_name("VERB")
        .subcommand_help_heading("Verbs")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands(commands::describe())
}

/// What `--color` asks for, found before parsing: help and usage errors obey it too.
pub(crate) fn color_asked(words: &[OsString]) -> ColorChoice {
    let mut asked = ColorChoice::Auto;
    let mut words = words.iter().filter_map(|word| word.to_str()).take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        let value = match word.strip_prefix("--color") {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        asked = match value {
            Some("always") => ColorChoice::Always,
            Some("never") => ColorChoice::Never,
            Some(_) => ColorChoice::Auto,
            None => asked,
        };
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str]) -> ColorChoice {
        color_asked(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn clap_finds_no_contradiction_in_the_command_line() {
        root().debug_assert();
    }

    #[test]
    fn colour_is_known_before_parsing() {
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

    /// The words of the first command in a line, as a shell would cut them (single quotes only).
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
