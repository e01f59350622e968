//! What every verb shares: the printer, the global options, and opening the archive.
//!
//! A session knows no verb by name. The table of verbs is in `commands`, which depends on this file.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{ArgMatches, Command};
use varve_archive::history::{
    ArchiveHistoryReader, ArchiveHistoryWriter, HeadState, HistoryReader, HistoryWriter, ReaderOptions,
    open_reader_with, open_writer_of,
};
use varve_archive::pages::OpenWriterOptions;
use varve_archive::verbs::moku::must_belong;
use varve_archive::{
    Archive, ArchiveError, ArchivePaths, ArchiveWriter, ByteSize, CaptureChoice, CatalogError, IndexPlace,
    Objects, OpenProgress, RepositoryError, StoreRecovery, SubstituteStore, VersionId, WebArchiveError,
    WriterOptions, find_root, needs_other_caches, with_built_caches,
};

use crate::clock;
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::global_options::GlobalOptions;
use crate::printer::{Printer, ProgressHandle, counted};

/// The functions of the command line that verbs may call.
///
/// They are passed in because the table of verbs depends on the verbs.
#[derive(Clone, Copy)]
pub(crate) struct CommandLine {
    /// Describes all verbs and options, for help, man pages and completions.
    pub(crate) describe: fn() -> Command,
    /// Runs the verb of that name.
    pub(crate) run: fn(&str, &ArgMatches, &mut Session) -> Result<ExitStatus, Error>,
}

/// What a verb gets besides its own arguments.
pub(crate) struct Session {
    /// Prints everything that people or programs read.
    pub(crate) printer: Printer,
    command_line: CommandLine,
    /// The archive that was named, if one was.
    archive: Option<PathBuf>,
    /// The verb that runs.
    verb: String,
    /// Whether `--readonly` was given.
    readonly: bool,
    /// The project that a Moku site must belong to.
    project: Option<String>,
    /// How long a verb waits for another writer.
    wait: Duration,
    /// The folder of index and catalog for reading, if `--index-in` was given.
    index_in: Option<PathBuf>,
    /// Whether `--no-cache` was given.
    no_cache: bool,
    access: ArchiveAccess,
}

/// How the verb has used the archive so far.
#[derive(Default)]
struct ArchiveAccess {
    /// An archive was opened for reading.
    reads: bool,
    /// Something was or may have been opened for writing.
    writes: Cell<bool>,
    /// Index or catalog turned out to be damaged, so both are built from the silos.
    has_damaged_caches: bool,
}

impl Session {
    /// A session before the arguments are known.
    pub(crate) fn new(printer: Printer, command_line: CommandLine) -> Self {
        Self {
            printer,
            command_line,
            archive: None,
            verb: String::new(),
            readonly: false,
            project: None,
            index_in: None,
            no_cache: false,
            wait: Duration::ZERO,
            access: ArchiveAccess::default(),
        }
    }

    /// Sets the verb and the global options.
    pub(crate) fn configure(&mut self, verb: String, options: GlobalOptions) {
        let GlobalOptions { readonly, of_project: project, archive, wait, index_in, no_cache, .. } = options;
        (self.archive, self.verb, self.readonly, self.project) = (archive, verb, readonly, project);
        (self.wait, self.index_in, self.no_cache) = (wait, index_in, no_cache);
    }

    /// Uses the archive at `path`, which is an argument of the verb.
    pub(crate) fn use_archive(&mut self, path: PathBuf) {
        self.archive = Some(path);
    }

    /// All verbs and options.
    pub(crate) fn describe_command_line(&self) -> Command {
        (self.command_line.describe)()
    }

    /// The folder of the archive: the one named by `-C`, or the nearest from the current folder upwards.
    pub(crate) fn root(&self) -> Result<PathBuf, Error> {
        let root = self.root_of_any_project()?;
        self.require_project(&root)?;
        Ok(root)
    }

    /// Fails if a Moku site belongs to another project than `--of-project` names. A verb that opens a
    /// folder other than [`Self::root`] calls this first.
    pub(crate) fn require_project(&self, root: &Path) -> Result<(), Error> {
        self.project.as_deref().map_or(Ok(()), |project| Ok(must_belong(root, project)?))
    }

    /// The project that `--of-project` names. A site without a project is assigned to it when it is written.
    pub(crate) fn project(&self) -> Option<String> {
        self.project.clone()
    }

    /// As [`Self::root`], without checking the project.
    pub(crate) fn root_of_any_project(&self) -> Result<PathBuf, Error> {
        if let Some(root) = &self.archive {
            return Ok(root.clone());
        }
        let start = std::env::current_dir().map_err(Error::CurrentFolder)?;
        match find_root(&start) {
            Some(root) => Ok(root),
            None => Err(ArchiveError::NoArchive(start).into()),
        }
    }

    /// Opens an archive or an AardWARC store for reading objects.
    pub(crate) fn open_objects(&mut self) -> Result<Objects, Error> {
        let root = self.root()?;
        let bar = Arc::new(self.printer.progress_bytes(Objects::bytes_to_read(&root)?));
        self.open_with_caches(
            || {
                let bar = Arc::clone(&bar);
                Objects::open(&root, move |bytes| bar.inc(bytes))
            },
            |layout| Ok(Objects::Archive(Box::new(Archive::open_at(layout)?))),
        )
    }

    /// Warns if a lookup read all silos of an AardWARC store and could not read some places.
    pub(crate) fn warn_of_unread_places(&mut self, objects: &Objects) {
        if let Objects::Aardwarc(store) = objects
            && !store.findings().is_empty()
        {
            let count = counted(store.findings().len() as u64, "place");
            self.printer.warn(format_args!(
                "{count} in that store cannot be read, so objects there are not found; \
                 `varve audit` lists them"
            ));
        }
    }

    /// Opens the archive for writing, and reports a recovery.
    pub(crate) fn open_to_write(&mut self) -> Result<ArchiveWriter, Error> {
        let root = self.root()?;
        let writer = self.wait_for_lock(|opening| Ok(ArchiveWriter::open(&root, opening)?))?;
        let StoreRecovery { cut, set_aside, sealed_damaged, .. } = writer.recovered();
        if cut > 0 {
            let size = ByteSize(cut);
            let kept = if set_aside {
                ", and kept in a file beside the silo, because the index was lost"
            } else {
                ""
            };
            self.printer.say(format_args!(
                "an earlier write was interrupted: {size} of an incomplete record removed{kept}"
            ));
        }
        if sealed_damaged {
            self.printer
                .say("the last silo is damaged and was sealed as it is; writing continues in a new one");
        }
        Ok(writer)
    }

    /// Opens any layout for reading its history.
    pub(crate) fn open_reader(&mut self) -> Result<HistoryReader, Error> {
        self.open_reader_choosing(CaptureChoice::Newest)
    }

    /// Opens any layout for reading. In a Crystal project, `choice` selects the revision of a page.
    pub(crate) fn open_reader_choosing(&mut self, choice: CaptureChoice) -> Result<HistoryReader, Error> {
        let root = self.root()?;
        let progress = WebArchiveProgress(std::sync::Mutex::new(self.printer.progress_bytes(None)));
        let open = |index: IndexPlace| {
            open_reader_with(&root, &ReaderOptions { choice, index, progress: &progress })
        };
        let (place, may_move) = (self.index_place(), self.index_in.is_none());
        let history = self.open_with_caches(
            || match open(place.clone()) {
                // An index that cannot be kept is made for this time.
                Err(RepositoryError::WebArchive(WebArchiveError::Write { .. })) if may_move => {
                    open(IndexPlace::Temporary)
                }
                opened => opened,
            },
            |layout| Ok(HistoryReader::Archive(ArchiveHistoryReader::open_at(layout)?)),
        )?;
        self.printer.end_progress();
        self.warn_of_findings(&history)?;
        Ok(history)
    }

    /// Where the index of a web archive is kept.
    fn index_place(&self) -> IndexPlace {
        if let Some(folder) = &self.index_in {
            return IndexPlace::Kept(folder.clone());
        }
        let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let caches = named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")));
        match caches {
            Some(folder) if !self.no_cache => IndexPlace::Kept(folder.join("varve")),
            _ => IndexPlace::Temporary,
        }
    }

    /// Warns if files of a web archive could not be read completely.
    fn warn_of_findings(&mut self, history: &HistoryReader) -> Result<(), Error> {
        let HistoryReader::WebArchive(archive) = history else { return Ok(()) };
        let findings = archive.files().findings().map_err(RepositoryError::from)?;
        let lost = findings.iter().filter(|finding| finding.is_loss).count() as u64;
        if lost > 0 {
            self.printer.warn(format_args!(
                "{} in these files: not everything can be read; `varve audit` lists them",
                counted(lost, "finding")
            ));
        }
        Ok(())
    }

    /// Opens a varve archive for reading its history; other layouts are rejected.
    pub(crate) fn open_archive_reader(&mut self) -> Result<ArchiveHistoryReader, Error> {
        let root = self.root()?;
        self.open_with_caches(|| ArchiveHistoryReader::open(&root), ArchiveHistoryReader::open_at)
    }

    /// Opens an archive for reading its objects.
    pub(crate) fn open_archive(&mut self) -> Result<Archive, Error> {
        let root = self.root()?;
        self.open_with_caches(|| Archive::open(&root), Archive::open_at)
    }

    /// Opens for reading. Where index or catalog are missing or damaged, or `--index-in` was given,
    /// an archive is opened by `open_at` with caches that are built from the silos.
    fn open_with_caches<T>(
        &mut self,
        open: impl Fn() -> Result<T, RepositoryError>,
        open_at: impl Fn(&ArchivePaths) -> Result<T, RepositoryError>,
    ) -> Result<T, Error> {
        let layout = ArchivePaths::new(&self.root()?);
        if !layout.is_archive() {
            return self.open_after_recovery(open);
        }
        self.access.reads = true;
        if self.index_in.is_some() || self.access.has_damaged_caches {
            let built = with_built_caches(&layout, self.index_in.as_deref())?;
            return Ok(open_at(&built)?);
        }
        let say = self.printer.messenger();
        let substitute = SubstituteStore::new(move |error| say(reading_silos_text(error)));
        let guarded = layout.clone().with_substitute(substitute);
        match self.open_after_recovery(|| open_at(&guarded)) {
            Err(Error::Archive(ArchiveError::Repository(error))) if needs_other_caches(&error) => {
                self.printer.say(reading_silos_text(&error));
                let built = with_built_caches(&layout, None)?;
                Ok(open_at(&built)?)
            }
            opened => opened,
        }
    }

    /// Whether a verb that ended in `failure` is to run again, with index and catalog built from the
    /// silos: they turned out to be damaged while it read. A verb prints the same data again, and
    /// the printer drops the part that it has printed before.
    pub(crate) fn reads_again_from_silos(&mut self, failure: &Error) -> bool {
        let Error::Archive(ArchiveError::Repository(error)) = failure else { return false };
        let ArchiveAccess { reads, writes, has_damaged_caches } = &self.access;
        let is_first_try = *reads && !writes.get() && !has_damaged_caches && self.index_in.is_none();
        if !is_first_try || !needs_other_caches(error) || !self.printer.start_again() {
            return false;
        }
        self.printer.say(reading_silos_text(error));
        self.access.has_damaged_caches = true;
        true
    }

    /// Opens for reading. If a purge was killed while it replaced the archive, completes it first, unless
    /// `--readonly` was given.
    pub(crate) fn open_after_recovery<T>(
        &self,
        open: impl Fn() -> Result<T, RepositoryError>,
    ) -> Result<T, Error> {
        let opened = open();
        if !matches!(opened, Err(RepositoryError::PendingSwap { .. })) || self.readonly {
            return Ok(opened?);
        }
        match ArchiveWriter::open(&self.root()?, self.open_options()?) {
            Ok(writer) => {
                drop(writer);
                Ok(open()?)
            }
            Err(_) => Ok(opened?),
        }
    }

    /// Opens any layout for adding to its history.
    pub(crate) fn open_history(&mut self) -> Result<HistoryWriter, Error> {
        let (root, project) = (self.root()?, self.project());
        let history =
            self.wait_for_lock(|opening| Ok(open_writer_of(&root, project.as_deref(), opening)?))?;
        if let Some((was, to)) = history.repaired_head().and_then(|was| Some((was, was.wanted()?))) {
            self.printer.say(format_args!("{was}: it was moved to {to}"));
        }
        Ok(history)
    }

    /// HEAD, if it can be read; otherwise warns. For verbs that also work without HEAD.
    pub(crate) fn readable_head(&mut self, history: &HistoryReader) -> Result<Option<VersionId>, Error> {
        let state = history.head_state()?;
        if state == HeadState::Right {
            return Ok(history.head()?);
        }
        let to = |to| {
            format!("; the next verb that writes moves it to {to}, `varve checkout VERSION` to another one")
        };
        let advice = state.wanted().map(to).unwrap_or_default();
        self.printer.warn(format_args!("{state}{advice}"));
        Ok(history.head().unwrap_or_default())
    }

    /// Opens for adding to the history, or returns the reason why nothing can be written. For verbs that
    /// also work without writing.
    pub(crate) fn try_open_history(&mut self) -> Result<Result<HistoryWriter, String>, Error> {
        match self.open_history() {
            Ok(history) => Ok(Ok(history)),
            Err(Error::ReadOnlyAsked { .. }) => Ok(Err("`--readonly` was given".to_owned())),
            Err(Error::Archive(error)) if error.is_read_only() => {
                Ok(Err("the folder cannot be written".to_owned()))
            }
            Err(Error::Archive(error)) if error.is_disk_full() => Ok(Err("its disk is full".to_owned())),
            Err(Error::Archive(ArchiveError::Repository(RepositoryError::Catalog(
                CatalogError::EarlyMoku { .. },
            )))) => Ok(Err(
                "the site was made by an early Moku; `varve moku upgrade` makes it writable".to_owned()
            )),
            Err(other) => Err(other),
        }
    }

    /// Opens a varve archive for writing; other layouts are rejected.
    pub(crate) fn open_archive_history(&mut self) -> Result<ArchiveHistoryWriter, Error> {
        Ok(ArchiveHistoryWriter::of(self.open_to_write()?)?)
    }

    /// Fails if `--readonly` was given. A verb that writes without [`Self::open_options`] calls this first.
    pub(crate) fn require_writable(&self) -> Result<(), Error> {
        if self.readonly { Err(Error::ReadOnlyAsked { verb: self.verb.clone() }) } else { Ok(()) }
    }

    /// Opens something for writing with `open`. While another process holds the lock, says once which one,
    /// and tries again until the time of `--wait` is over. A signal ends the process as usual: verbs that
    /// handle signals do so once they have the lock.
    pub(crate) fn wait_for_lock<T>(
        &mut self,
        mut open: impl FnMut(WriterOptions) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let started = Instant::now();
        let mut is_first = true;
        loop {
            let failure = match open(self.open_options()?) {
                Err(failure) => failure,
                opened => return opened,
            };
            let Some(holder) = failure.lock_holder().filter(|_| started.elapsed() < self.wait) else {
                return Err(failure);
            };
            if std::mem::take(&mut is_first) {
                self.printer.say(format_args!("waiting for another process to finish writing: {holder}"));
            }
            std::thread::sleep(LOCK_POLL_INTERVAL);
        }
    }

    /// How this process opens an archive for writing: its name for the lock file, and the clock.
    pub(crate) fn open_options(&self) -> Result<WriterOptions, Error> {
        self.require_writable()?;
        self.access.writes.set(true);
        Ok(WriterOptions {
            holder: self.holder(),
            software: SOFTWARE_NAME.to_owned(),
            clock: Arc::new(clock::now),
        })
    }

    /// How this process names itself if it writes while it mainly reads. `None` if `--readonly` was
    /// given.
    pub(crate) fn optional_holder(&self) -> Option<String> {
        (!self.readonly).then(|| self.holder())
    }

    /// Returns how this process opens an archive for writing, again and again while it mainly reads.
    /// `None` if `--readonly` was given.
    pub(crate) fn writer_opener(&self) -> Option<OpenWriterOptions> {
        let holder = self.optional_holder()?;
        Some(Arc::new(move || WriterOptions {
            holder: holder.clone(),
            software: SOFTWARE_NAME.to_owned(),
            clock: Arc::new(clock::now),
        }))
    }

    fn holder(&self) -> String {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        format!("varve {}, process {} on {host} since {}", self.verb, std::process::id(), clock::now())
    }

    /// Runs another verb on the archive at `root`.
    pub(crate) fn call(&mut self, root: &Path, words: &[&str]) -> Result<ExitStatus, Error> {
        let line = std::iter::once("varve").chain(words.iter().copied());
        let matches = self.describe_command_line().try_get_matches_from(line)?;
        let (name, own) = matches.subcommand().expect("clap rejects a call without a verb");
        let archive = self.archive.replace(root.to_owned());
        let outcome = (self.command_line.run)(name, own, self);
        self.archive = archive;
        outcome
    }

    /// Number of threads that a verb may use.
    pub(crate) fn threads() -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }
}

/// The message that index or catalog cannot be used.
fn reading_silos_text(error: &RepositoryError) -> String {
    format!(
        "{error}; reading the silos instead, which is slower: `varve rebuild` makes index and catalog again, \
         `--index-in DIR` keeps them elsewhere"
    )
}

/// Delay between attempts to take the lock of another writer.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The software that silos name as their writer.
pub(crate) const SOFTWARE_NAME: &str = concat!("varve/", env!("CARGO_PKG_VERSION"));

/// Shows how far the files of a web archive are read.
struct WebArchiveProgress(std::sync::Mutex<ProgressHandle>);

impl OpenProgress for WebArchiveProgress {
    fn begin(&self, bytes: u64) {
        let bar = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        bar.set_length(bytes);
    }

    fn advance(&self, bytes: u64) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).inc(bytes);
    }
}
