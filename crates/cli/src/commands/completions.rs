//! `varve completions`: what a shell needs to complete varve's words.

use clap_complete::Shell;

use super::{Outcome, Verb};
use crate::arguments;
use crate::error::Error;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve completions bash > ~/.local/share/bash-completion/completions/varve
  varve completions zsh > ~/.zfunc/_varve
  varve completions fish > ~/.config/fish/completions/varve.fish";

/// Print a completion script for a shell
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Completions {
    /// The shell to write for
    #[arg(value_enum)]
    shell: Shell,
}

impl Verb for Completions {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut arguments::root(), "varve", &mut script);
        session.printer.text(&String::from_utf8_lossy(&script))?;
        Ok(Outcome::Done)
    }
}
