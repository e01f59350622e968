//! The interface of a verb: parsed arguments that can be run. The table of verbs is in `commands`.

use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::session::Session;

/// The arguments of a verb, with the function that runs it.
pub(crate) trait Verb: clap::Args {
    /// Runs the verb.
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error>;
}
