//! One run of the program: from arguments to the exit code.

use std::ffi::OsString;

use clap::ArgMatches;

use crate::arguments;
use crate::commands;
use crate::error::Error;
use crate::exit_status::{EXIT_FAILURE, ExitStatus};
use crate::global_options::GlobalOptions;
use crate::printer::Printer;
use crate::session::{CommandLine, Session};

/// The functions that verbs such as `demo`, `help` and `man` call.
const COMMAND_LINE: CommandLine = CommandLine { describe: arguments::root, run: commands::run };

/// Runs the program with `words`, the program's name first, and returns the exit code.
pub(crate) fn run(words: Vec<OsString>) -> u8 {
    let printer = Printer::new(arguments::requested_color(&words), arguments::requests_json(&words));
    let mut session = Session::new(printer, COMMAND_LINE);
    let result = parse_and_run(words, &mut session);
    let finished = session.printer.finish();
    match result.and_then(|status| finished.map(|()| status)) {
        Ok(status) => status.code(),
        Err(failure) => report(&failure, &mut session.printer),
    }
}

/// For clap, help and version are errors with output on stdout; here they are data.
fn parse_and_run(words: Vec<OsString>, session: &mut Session) -> Result<ExitStatus, Error> {
    match arguments::root().try_get_matches_from(words) {
        Ok(matches) => dispatch(&matches, session),
        Err(help) if !help.use_stderr() => {
            session.printer.text(&help.render().ansi().to_string())?;
            Ok(ExitStatus::Done)
        }
        Err(mistake) => Err(Error::Usage(mistake)),
    }
}

fn dispatch(matches: &ArgMatches, session: &mut Session) -> Result<ExitStatus, Error> {
    let options = GlobalOptions::of(matches);
    session.printer.set_quiet(options.quiet);
    session.configure(verb_path(matches), options);
    let (name, own) = matches.subcommand().expect("clap rejects a call without a verb");
    match commands::run(name, own, session) {
        Err(failure) if session.reads_again_from_silos(&failure) => commands::run(name, own, session),
        outcome => outcome,
    }
}

/// The verb with its sub-verbs: `crystal migrate`.
fn verb_path(matches: &ArgMatches) -> String {
    let words = std::iter::successors(matches.subcommand(), |(_, own)| own.subcommand());
    words.map(|(name, _)| name).collect::<Vec<_>>().join(" ")
}

/// Prints an error and returns the exit code. A closed pipe is not an error: the reader has what it needs.
fn report(failure: &Error, printer: &mut Printer) -> u8 {
    if failure.is_closed_pipe() {
        return ExitStatus::Done.code();
    }
    match failure.help_for_bare_call() {
        Some(help) => printer.say(help.trim_end()),
        None => printer.report(failure),
    }
    EXIT_FAILURE
}
