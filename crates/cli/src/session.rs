//! One run of the program, from arguments to exit code.
//!
//! Holds what every verb shares. It knows no verb by name: `commands` has the table.

use std::ffi::OsString;

use clap::ArgMatches;

use crate::arguments;
use crate::commands::{self, Outcome};
use crate::error::{self, Error};
use crate::printer::Printer;

/// What a verb is given besides its own arguments.
pub(crate) struct Session {
    /// Where everything goes that people or programs read.
    pub(crate) printer: Printer,
}

/// Runs the verb that `words` (the program's name first) ask for; gives the exit code.
pub(crate) fn run(words: Vec<OsString>) -> u8 {
    let mut session = Session { printer: Printer::new(arguments::color_asked(&words)) };
    let result = read(words, &mut session);
    let finished = session.printer.finish();
    match result.and_then(|outcome| finished.map(|()| outcome)) {
        Ok(outcome) => outcome.code(),
        Err(failure) => conclude(&failure, &mut session.printer),
    }
}

/// To clap, help and the version are errors that happen to go to stdout; here they are data.
fn read(words: Vec<OsString>, session: &mut Session) -> Result<Outcome, Error> {
    match arguments::root().try_get_matches_from(words) {
        Ok(matches) => dispatch(&matches, session),
        Err(answer) if !answer.use_stderr() => {
            session.printer.text(&answer.render().ansi().to_string())?;
            Ok(Outcome::Done)
        }
        Err(mistake) => Err(Error::Usage(mistake)),
    }
}

fn dispatch(matches: &ArgMatches, session: &mut Session) -> Result<Outcome, Error> {
    session.printer.set_quiet(matches.get_flag(arguments::QUIET));
    let (name, own) = matches.subcommand().expect("clap refuses a call without a verb");
    commands::run(name, own, session)
}

/// Says what went wrong and gives the code for it. A reader that closed the pipe has heard enough.
fn conclude(failure: &Error, printer: &mut Printer) -> u8 {
    if failure.is_closed_pipe() {
        return Outcome::Done.code();
    }
    if let Some(help) = failure.help_for_bare_call() {
        printer.say(help.trim_end());
        return error::COULD_NOT_RUN;
    }
    let report = error::report(failure);
    printer.report(&report);
    report.code
}
