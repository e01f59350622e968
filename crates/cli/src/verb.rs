//! The interface of a verb: parsed arguments that can be run. The table of verbs is in `commands`.
//!
//! The types that every verb uses are re-exported, so that a verb imports them in one line.

pub(crate) use crate::error::Error;
pub(crate) use crate::exit_status::ExitStatus;
pub(crate) use crate::session::Session;

/// The arguments of a verb, with the function that runs it.
pub(crate) trait Verb: clap::Args {
    /// Runs the verb.
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error>;
}
