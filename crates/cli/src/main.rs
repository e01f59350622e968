//! `varve`, the program: words to and from people.
//!
//! This crate owns arguments, printing, progress and exit codes. What a verb does is the business of
//! `varve-archive`; nothing here decides what a URL means or where a byte lies. The way through it is short:
//! `session` reads the arguments, finds the verb in the table of `commands`, runs it, and lets `error` turn
//! a failure into a message, a hint and an exit code.

mod arguments;
mod bug;
mod clock;
mod commands;
mod duration;
mod error;
mod graph;
mod hints;
mod interrupt;
mod lines;
mod printer;
mod prober;
mod reaching;
#[cfg(test)]
mod reference;
mod revision;
mod session;
mod troubles;
mod urls;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(bug::guard(|| session::run(std::env::args_os().collect())))
}
