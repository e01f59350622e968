//! The verbs, one file each, and the table that lists them.
//!
//! The file of a verb holds its arguments, its `run`, its printing and its examples. A new verb is a
//! new file and one line in [`VERB_GROUPS`]; help, completions, man pages and the reference follow.

mod audit;
mod authority;
mod blame;
mod capture;
mod capture_choice;
mod cat;
mod check;
mod checkout;
mod commit;
mod completions;
mod crystal;
mod demo;
mod diff;
mod doctor;
mod explain;
mod export;
mod extract;
mod feed;
mod filter;
mod gc;
mod get;
mod help;
mod housekeeping;
mod import;
mod init;
mod key;
mod log;
mod man;
mod moku;
mod open;
mod plan;
mod proxy;
mod purge;
mod rebuild;
mod record;
mod score;
mod seal;
mod search;
mod serve;
mod show;
mod signing_key;
mod store;
mod stow;
mod tag;
mod token;
mod train;
mod urls;
mod verify;

use clap::{ArgMatches, Command};

use crate::verb::{Error, ExitStatus, Session, Verb};

/// Every verb, grouped by job, in the order in which help lists them.
pub(crate) const VERB_GROUPS: &[VerbGroup] = &[
    VerbGroup {
        title: "Start here",
        verbs: &[
            verb::<demo::DemoArgs>("demo"),
            verb::<init::InitArgs>("init"),
            verb::<capture::CaptureArgs>("capture"),
            verb::<log::LogArgs>("log"),
            verb::<diff::DiffArgs>("diff"),
            verb::<serve::ServeArgs>("serve"),
        ],
    },
    VerbGroup {
        title: "Capture",
        verbs: &[
            verb::<plan::PlanArgs>("plan"),
            verb::<commit::CommitArgs>("commit"),
            verb::<record::RecordArgs>("record"),
            verb::<proxy::ProxyArgs>("proxy"),
        ],
    },
    VerbGroup {
        title: "History",
        verbs: &[
            verb::<show::ShowArgs>("show"),
            verb::<cat::CatArgs>("cat"),
            verb::<search::SearchArgs>("search"),
            verb::<blame::BlameArgs>("blame"),
            verb::<checkout::CheckoutArgs>("checkout"),
            verb::<tag::TagArgs>("tag"),
            verb::<score::ScoreArgs>("score"),
        ],
    },
    VerbGroup {
        title: "Read pages",
        verbs: &[
            verb::<open::OpenArgs>("open"),
            verb::<extract::ExtractArgs>("extract"),
            verb::<feed::FeedArgs>("feed"),
        ],
    },
    VerbGroup {
        title: "Check the live web",
        verbs: &[verb::<check::CheckArgs>("check"), verb::<urls::UrlsArgs>("urls")],
    },
    VerbGroup {
        title: "Keep safe",
        verbs: &[
            verb::<audit::AuditArgs>("audit"),
            verb::<seal::SealArgs>("seal"),
            verb::<verify::VerifyArgs>("verify"),
            verb::<rebuild::RebuildArgs>("rebuild"),
            verb::<housekeeping::HousekeepingArgs>("housekeeping"),
            verb::<train::TrainArgs>("train"),
            verb::<gc::GcArgs>("gc"),
            verb::<purge::PurgeArgs>("purge"),
        ],
    },
    VerbGroup {
        title: "Other formats",
        verbs: &[
            verb::<doctor::DoctorArgs>("doctor"),
            verb::<import::ImportArgs>("import"),
            verb::<export::ExportArgs>("export"),
            verb::<crystal::CrystalArgs>("crystal"),
            verb::<moku::MokuArgs>("moku"),
        ],
    },
    VerbGroup {
        title: "Object store",
        verbs: &[
            verb::<store::StoreArgs>("store"),
            verb::<get::GetArgs>("get"),
            verb::<stow::StowArgs>("stow"),
            verb::<filter::FilterArgs>("filter"),
        ],
    },
    VerbGroup {
        title: "Tools",
        verbs: &[
            verb::<explain::ExplainArgs>("explain"),
            verb::<key::KeyArgs>("key"),
            verb::<token::TokenArgs>("token"),
            verb::<help::HelpArgs>("help"),
            verb::<completions::CompletionsArgs>("completions"),
            verb::<man::ManArgs>("man"),
        ],
    },
];

/// Verbs for one kind of work.
pub(crate) struct VerbGroup {
    /// The heading in help.
    pub(crate) title: &'static str,
    verbs: &'static [VerbEntry],
}

impl VerbGroup {
    /// The verbs of the group as clap describes them.
    pub(crate) fn describe(&self) -> impl Iterator<Item = Command> {
        self.verbs.iter().map(|entry| (entry.describe)(Command::new(entry.name)))
    }
}

/// One line of the table.
struct VerbEntry {
    name: &'static str,
    describe: fn(Command) -> Command,
    run: fn(&ArgMatches, &mut Session) -> Result<ExitStatus, Error>,
}

const fn verb<V: Verb>(name: &'static str) -> VerbEntry {
    VerbEntry {
        name,
        describe: V::augment_args,
        run: |matches, session| V::from_arg_matches(matches)?.run(session),
    }
}

/// All verbs as clap describes them.
pub(crate) fn describe() -> impl Iterator<Item = Command> {
    VERB_GROUPS.iter().flat_map(VerbGroup::describe)
}

/// Runs the verb called `name`.
pub(crate) fn run(name: &str, matches: &ArgMatches, session: &mut Session) -> Result<ExitStatus, Error> {
    let entry = VERB_GROUPS.iter().flat_map(|group| group.verbs).find(|entry| entry.name == name);
    (entry.expect("clap accepts only verbs of this table").run)(matches, session)
}
