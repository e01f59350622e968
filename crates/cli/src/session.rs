//! One run of the program, from arguments to exit code.
//!
//! Holds what every verb shares. It knows no verb by name: `commands` has the table.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_archive::RepositoryError;

use clap::ArgMatches;
use varve_archive::history::{
    ArchiveHistory, HeadState, HistoryWriter, Holdings, open_history_of, open_holdings_by,
};
use varve_archive::verbs::commit::Intent;
use varve_archive::verbs::intent;
use varve_archive::verbs::moku::must_belong;
use varve_archive::{
    ArchiveError, ArchiveWriter, CatalogError, Choice, Layout, Objects, Opening, Size, StoreRecovery,
    VersionId, find_root,
};

use crate::arguments;
use crate::clock;
use crate::commands::{self, Outcome};
use crate::error::{self, Error};
use crate::printer::{Printer, WARN, counted};

/// What a verb is given besides its own arguments.
pub(crate) struct Session {
    /// Where everything goes that people or programs read.
    pub(crate) printer: Printer,
    /// The archive that was named; else it is looked for.
    archive: Option<PathBuf>,
    /// The verb that runs.
    verb: String,
    /// Whether nothing may be written.
    readonly: bool,
    /// The project that a Moku site must belong to.
    project: Option<String>,
}

impl Session {
    /// The archive's folder: the one that was named, or the nearest from the current folder upwards.
    pub(crate) fn root(&self) -> Result<PathBuf, Error> {
        let root = self.found_root()?;
        self.must_belong(&root)?;
        Ok(root)
    }

    /// Refuses a Moku site that belongs to another project than the one that was asked for. Whoever opens a folder that is not the
    /// [root](Self::root) asks here first.
    pub(crate) fn must_belong(&self, root: &Path) -> Result<(), Error> {
        self.project.as_deref().map_or(Ok(()), |project| Ok(must_belong(root, project)?))
    }

    /// The project that a site must belong to, and becomes part of where it belongs to none.
    pub(crate) fn project(&self) -> Option<String> {
        self.project.clone()
    }

    /// The same as [`root`](Self::root), whatever project it belongs to.
    pub(crate) fn found_root(&self) -> Result<PathBuf, Error> {
        if let Some(root) = &self.archive {
            return Ok(root.clone());
        }
        let start = std::env::current_dir().map_err(Error::CurrentFolder)?;
        match find_root(&start) {
            Some(root) => Ok(root),
            None => Err(ArchiveError::None { start }.into()),
        }
    }

    /// Opens what holds objects for reading: an archive, or an AardWARC store, whose headers are read for it.
    pub(crate) fn open_objects(&mut self) -> Result<Objects, Error> {
        let root = self.root()?;
        let bar = self.printer.progress_bytes(Objects::bytes_to_read(&root)?);
        let objects = self.settled(|| Objects::open(&root, &|bytes| bar.inc(bytes)))?;
        if let Objects::Aardwarc(store) = &objects
            && !store.findings().is_empty()
        {
            let count = counted(store.findings().len() as u64, "place");
            self.printer.say(format_args!(
                "{WARN}warning:{WARN:#} {count} in that store cannot be read, and what was there is not found; \
                 `varve audit` names them"
            ));
        }
        Ok(objects)
    }

    /// Opens the archive for writing, and says what had to be put in order.
    pub(crate) fn open_to_write(&mut self) -> Result<ArchiveWriter, Error> {
        let writer = ArchiveWriter::open(&self.root()?, self.opening()?)?;
        let StoreRecovery { cut, set_aside, sealed_damaged, .. } = writer.recovered();
        if cut > 0 {
            let size = Size(cut);
            let kept = if set_aside { ", and kept beside the silo, since the index was lost" } else { "" };
            self.printer.say(format_args!(
                "an earlier write was interrupted: {size} of an unfinished record cut off{kept}"
            ));
        }
        if sealed_damaged {
            self.printer
                .say("the last silo is damaged and was closed as it is; writing goes on in a new one");
        }
        Ok(writer)
    }

    /// Opens whatever layout it is, for reading its history.
    pub(crate) fn holdings(&self) -> Result<Box<dyn Holdings>, Error> {
        self.holdings_by(Choice::Newest)
    }

    /// Opens whatever layout it is; in a Crystal project, `choice` says which revision stands for a page.
    pub(crate) fn holdings_by(&self, choice: Choice) -> Result<Box<dyn Holdings>, Error> {
        let root = self.root()?;
        self.settled(|| open_holdings_by(&root, choice))
    }

    /// Opens something for reading. If a rewrite was killed in the moment between two states, what is missing lies ready, and is put in
    /// its place first, unless nothing may be written.
    pub(crate) fn settled<T>(&self, open: impl Fn() -> Result<T, RepositoryError>) -> Result<T, Error> {
        let opened = open();
        if !matches!(opened, Err(RepositoryError::Unsettled { .. })) || self.readonly {
            return Ok(opened?);
        }
        match ArchiveWriter::open(&self.root()?, self.opening()?) {
            Ok(writer) => {
                drop(writer);
                Ok(open()?)
            }
            Err(_) => Ok(opened?),
        }
    }

    /// Opens whatever layout it is, for adding to its history.
    pub(crate) fn open_history(&mut self) -> Result<Box<dyn HistoryWriter>, Error> {
        let history = open_history_of(&self.root()?, self.project.as_deref(), self.opening()?)?;
        if let Some((was, to)) = history.mended_head().and_then(|was| Some((was, was.wanted()?))) {
            self.printer.say(format_args!("{was}: it was moved to {to}"));
        }
        Ok(history)
    }

    /// HEAD, if it can be read, for verbs that are as useful without it and may help to put it right. What is wrong with it is
    /// said.
    pub(crate) fn readable_head(&mut self, holdings: &dyn Holdings) -> Result<Option<VersionId>, Error> {
        let state = holdings.head_state()?;
        if state == HeadState::Right {
            return Ok(holdings.head()?);
        }
        let to = |to| {
            format!("; the next verb that writes moves it to {to}, `varve checkout VERSION` to another one")
        };
        let advice = state.wanted().map(to).unwrap_or_default();
        self.printer.say(format_args!("{WARN}warning:{WARN:#} {state}{advice}"));
        Ok(holdings.head().unwrap_or_default())
    }

    /// Opens it for adding to its history, or says why nothing can be added here: for verbs that can do without.
    pub(crate) fn try_open_history(&mut self) -> Result<Result<Box<dyn HistoryWriter>, String>, Error> {
        match self.open_history() {
            Ok(history) => Ok(Ok(history)),
            Err(Error::ReadOnlyAsked { .. }) => Ok(Err("`--readonly` was given".to_owned())),
            Err(Error::Archive(error)) if error.is_of_reading_only() => {
                Ok(Err("nothing can be written here".to_owned()))
            }
            Err(Error::Archive(error)) if error.lacks_room() => {
                Ok(Err("there is no room left on its disk".to_owned()))
            }
            Err(Error::Archive(ArchiveError::Repository(RepositoryError::Catalog(
                CatalogError::EarlyMoku { .. },
            )))) => {
                Ok(Err("the site is of an early Moku; `varve moku upgrade` makes it one that can be written"
                    .to_owned()))
            }
            Err(other) => Err(other),
        }
    }

    /// The plan and the expectations in force, kept; nothing where the layout has neither.
    pub(crate) fn intent(&self, history: &dyn HistoryWriter) -> Result<Intent, Error> {
        let layout = Layout::new(&self.root()?);
        if !layout.is_archive() {
            return Ok(Intent::default());
        }
        Ok(intent::keep(history, &layout)?)
    }

    /// Opens an archive of varve's own, for what no other layout can keep.
    pub(crate) fn open_archive_history(&mut self) -> Result<ArchiveHistory, Error> {
        Ok(ArchiveHistory::of(self.open_to_write()?)?)
    }

    /// Refuses to go on if nothing may be written. Whoever changes an archive without [`Self::opening`] it asks here first.
    pub(crate) fn must_write(&self) -> Result<(), Error> {
        if self.readonly { Err(Error::ReadOnlyAsked { verb: self.verb.clone() }) } else { Ok(()) }
    }

    /// What this process says of itself to others who want to write. Nobody writes an archive without saying it.
    pub(crate) fn opening(&self) -> Result<Opening, Error> {
        self.must_write()?;
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let holder =
            format!("varve {}, process {} on {host} since {}", self.verb, std::process::id(), clock::now());
        Ok(Opening { holder, software: SOFTWARE.to_owned(), clock: Arc::new(clock::now) })
    }

    /// Runs another verb, on the archive at `root`, as if it had been called.
    pub(crate) fn call(&mut self, root: &Path, words: &[&str]) -> Result<Outcome, Error> {
        let line = std::iter::once("varve").chain(words.iter().copied());
        let matches = arguments::root().try_get_matches_from(line)?;
        let (name, own) = matches.subcommand().expect("clap refuses a call without a verb");
        let archive = self.archive.replace(root.to_owned());
        let outcome = commands::run(name, own, self);
        self.archive = archive;
        outcome
    }

    /// How many threads a verb may use.
    pub(crate) fn threads() -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }
}

/// What silos say that they were written by.
pub(crate) const SOFTWARE: &str = concat!("varve/", env!("CARGO_PKG_VERSION"));

/// Runs the verb that `words` (the program's name first) ask for; gives the exit code.
pub(crate) fn run(words: Vec<OsString>) -> u8 {
    let printer = Printer::new(arguments::color_asked(&words));
    let mut session = Session { printer, archive: None, verb: String::new(), readonly: false, project: None };
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
    session.readonly = matches.get_flag(arguments::READONLY);
    // A variable that is empty asks for nothing.
    session.project = matches.get_one::<String>(arguments::OF_PROJECT).filter(|id| !id.is_empty()).cloned();
    session.archive = matches.get_one::<PathBuf>(arguments::ARCHIVE).cloned();
    let (name, own) = matches.subcommand().expect("clap refuses a call without a verb");
    session.verb = verb_of(matches);
    commands::run(name, own, session)
}

/// The verb with the verbs below it, as they were typed: `crystal migrate`.
fn verb_of(matches: &ArgMatches) -> String {
    let words = std::iter::successors(matches.subcommand(), |(_, own)| own.subcommand());
    words.map(|(name, _)| name).collect::<Vec<_>>().join(" ")
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
