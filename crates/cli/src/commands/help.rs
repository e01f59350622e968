//! `varve help`: the help of a verb, the same as `varve VERB --help`.

use crate::verb::{Error, ExitStatus, Session, Verb};

/// Show help for varve, a verb or a sub-verb
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve help
  varve help capture
  varve help crystal new")]
pub(super) struct HelpArgs {
    /// The verb, and its sub-verb if it has any
    #[arg(value_name = "VERB")]
    path: Vec<String>,
}

impl Verb for HelpArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let words = std::iter::once("varve").chain(self.path.iter().map(String::as_str)).chain(["--help"]);
        match session.describe_command_line().try_get_matches_from(words) {
            Err(help) if !help.use_stderr() => session.printer.text(&help.render().ansi().to_string())?,
            Err(mistake) => return Err(Error::Usage(mistake)),
            Ok(_) => {}
        }
        Ok(ExitStatus::Done)
    }
}
