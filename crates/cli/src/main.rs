//! The `varve` program: the command line interface of the archive.
//!
//! This crate owns arguments, printing, progress and exit codes. The work of a verb is done in
//! `varve-archive`; nothing here decides what a URL means or where a byte is stored. `program` parses
//! the arguments, finds the verb in the table of `commands` and runs it; `error_report` turns an error
//! into a message with hints.

mod arguments;
mod body_problems;
mod check_text;
mod clock;
mod commands;
mod duration;
mod error;
mod error_hints;
mod error_report;
mod exit_status;
mod global_options;
mod input;
#[cfg(test)]
mod json_fields;
mod json_stream;
mod network_args;
mod panic_report;
mod printer;
mod probe_args;
mod program;
#[cfg(test)]
mod reference_docs;
mod session;
mod signals;
mod url_arguments;
mod verb;
mod version_graph;
mod version_names;
mod version_text;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    signals::report_lost_mappings();
    ExitCode::from(panic_report::guard(|| program::run(std::env::args_os().collect())))
}
