//! The verbs, one file each, and the table that finds them.
//!
//! A verb's file holds its arguments, its `run`, its printing and its examples. A new verb is a new file and
//! one line in [`VERBS`]; help, completions, man pages and the reference follow from that line.

mod audit;
mod capture;
mod cat;
mod check;
mod checkout;
mod choosing;
mod commit;
mod completions;
pub(crate) mod crystal;
mod demo;
mod diff;
pub(crate) mod doctor;
mod explain;
mod export;
pub(crate) mod filter;
mod gc;
mod get;
mod housekeeping;
mod import;
mod init;
mod key;
mod log;
mod man;
mod moku;
mod plan;
mod rebuild;
mod rewrite;
mod score;
mod serve;
mod show;
mod store;
mod stow;
mod tag;
mod train;
pub(crate) mod urls;

use clap::{ArgMatches, Args, Command};

use crate::error::{self, Error};
use crate::interrupt;
use crate::session::Session;

/// Every verb, in the order in which help lists them.
const VERBS: &[Entry] = &[
    verb::<demo::Demo>("demo"),
    verb::<init::Init>("init"),
    verb::<capture::Capture>("capture"),
    verb::<check::Check>("check"),
    verb::<plan::Plan>("plan"),
    verb::<commit::Commit>("commit"),
    verb::<log::Log>("log"),
    verb::<show::Show>("show"),
    verb::<cat::Cat>("cat"),
    verb::<diff::Diff>("diff"),
    verb::<serve::Serve>("serve"),
    verb::<tag::Tag>("tag"),
    verb::<checkout::Checkout>("checkout"),
    verb::<score::Score>("score"),
    verb::<gc::Gc>("gc"),
    verb::<rewrite::Rewrite>("rewrite"),
    verb::<store::Store>("store"),
    verb::<get::Get>("get"),
    verb::<stow::Stow>("stow"),
    verb::<filter::Filter>("filter"),
    verb::<import::Import>("import"),
    verb::<export::Export>("export"),
    verb::<audit::Audit>("audit"),
    verb::<rebuild::Rebuild>("rebuild"),
    verb::<train::Train>("train"),
    verb::<housekeeping::Housekeeping>("housekeeping"),
    verb::<doctor::Doctor>("doctor"),
    verb::<urls::Urls>("urls"),
    verb::<crystal::Crystal>("crystal"),
    verb::<moku::Moku>("moku"),
    verb::<explain::Explain>("explain"),
    verb::<key::Key>("key"),
    verb::<completions::Completions>("completions"),
    verb::<man::Man>("man"),
];

/// What a verb is to the command line: arguments that can be run.
trait Verb: Args {
    /// Does it.
    fn run(self, session: &mut Session) -> Result<Outcome, Error>;
}

/// How a verb ended that did its work.
#[derive(Clone, Copy)]
pub(crate) enum Outcome {
    /// All is as it should be.
    Done,
    /// The work is done and something was found that people should see.
    Findings,
    /// Some of it could not be done, and each failure was reported where it happened.
    Incomplete,
    /// It was asked to stop, and put itself in order.
    Interrupted,
}

impl Outcome {
    /// The one of the two that people must hear of.
    pub(crate) fn worse(self, other: Self) -> Self {
        if other.code() > self.code() { other } else { self }
    }

    /// The exit code that says so.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Findings => error::FINDINGS,
            Self::Incomplete => error::COULD_NOT_RUN,
            Self::Interrupted => interrupt::INTERRUPTED,
        }
    }
}

/// One line of the table.
struct Entry {
    name: &'static str,
    describe: fn(Command) -> Command,
    run: fn(&ArgMatches, &mut Session) -> Result<Outcome, Error>,
}

const fn verb<V: Verb>(name: &'static str) -> Entry {
    Entry {
        name,
        describe: V::augment_args,
        run: |matches, session| V::from_arg_matches(matches)?.run(session),
    }
}

/// All verbs as clap sees them.
pub(crate) fn describe() -> impl Iterator<Item = Command> {
    VERBS.iter().map(|entry| (entry.describe)(Command::new(entry.name)))
}

/// Runs the verb called `name`.
pub(crate) fn run(name: &str, matches: &ArgMatches, session: &mut Session) -> Result<Outcome, Error> {
    let entry = VERBS.iter().find(|entry| entry.name == name);
    (entry.expect("clap knows only the verbs of this table").run)(matches, session)
}
