//! `varve completions`: completion scripts for shells.

use clap_complete::Shell;

use crate::verb::{Error, ExitStatus, Session, Verb};

/// Print a completion script for a shell
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve completions bash > ~/.local/share/bash-completion/completions/varve
  varve completions zsh > ~/.zfunc/_varve
  varve completions fish > ~/.config/fish/completions/varve.fish")]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Verb for CompletionsArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut session.describe_command_line(), "varve", &mut script);
        session.printer.text(&String::from_utf8_lossy(&script))?;
        Ok(ExitStatus::Done)
    }
}
