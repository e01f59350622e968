//! `varve urls`: edits the database of expected responses. One file per sub-verb.

mod add;
mod check;
mod fmt;
mod list;
mod remove;
mod show;

use std::path::PathBuf;

use varve_archive::expectations::UrlDatabase;
use varve_archive::verbs::urls::list::UrlFilter;
use varve_archive::{ArchivePaths, RepositoryError};

use crate::verb::{Error, ExitStatus, Session, Verb};

/// Edit the database of URLs and their expected responses
///
/// The database is a folder of YAML files, one per domain: `urls` in the archive, or another folder
/// with `--db`. Files are sorted and written in one format, made for version control.
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "\
Examples:
  varve urls add --domain-file https://example.com/robots.txt
  varve urls --db urldb list --category frontend
  varve urls --db urldb fmt --check"
)]
pub(super) struct UrlsArgs {
    /// The folder of the database [default: `urls` in the archive]
    #[arg(long, global = true, value_name = "DIR")]
    db: Option<PathBuf>,

    #[command(subcommand)]
    verb: UrlsVerb,
}

#[derive(clap::Subcommand)]
enum UrlsVerb {
    Add(add::UrlsAddArgs),
    Check(check::UrlsCheckArgs),
    List(list::UrlsListArgs),
    Show(show::UrlsShowArgs),
    Remove(remove::UrlsRemoveArgs),
    Fmt(fmt::UrlsFmtArgs),
}

impl Verb for UrlsArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let place = DatabaseLocation(self.db);
        match self.verb {
            UrlsVerb::Add(verb) => verb.run(&place, session),
            UrlsVerb::Check(verb) => verb.run(&place, session),
            UrlsVerb::List(verb) => verb.run(&place, session),
            UrlsVerb::Show(verb) => verb.run(&place, session),
            UrlsVerb::Remove(verb) => verb.run(&place, session),
            UrlsVerb::Fmt(verb) => verb.run(&place, session),
        }
    }
}

/// The folder given by `--db`.
struct DatabaseLocation(Option<PathBuf>);

impl DatabaseLocation {
    /// The folder of an archive if none is given.
    fn archive(&self, session: &Session) -> Result<ArchivePaths, Error> {
        let layout = ArchivePaths::new(&session.root()?);
        if !layout.is_archive() {
            return Err(RepositoryError::NotAnArchive { path: layout.root().to_owned() }.into());
        }
        Ok(layout)
    }

    fn open(&self, session: &Session) -> Result<UrlDatabase, Error> {
        if let Some(folder) = &self.0 {
            return Ok(UrlDatabase::open(folder)?);
        }
        let layout = self.archive(session)?;
        Ok(UrlDatabase::open_below(layout.files().clone(), &layout.expectations())?)
    }

    /// Opens the database, also if its folder does not exist yet.
    fn open_or_new(&self, session: &Session) -> Result<UrlDatabase, Error> {
        if let Some(folder) = &self.0 {
            return Ok(UrlDatabase::open_or_new(folder));
        }
        let layout = self.archive(session)?;
        Ok(UrlDatabase::open_or_new_below(layout.files().clone(), &layout.expectations()))
    }
}

/// Which URLs to list or to check.
#[derive(clap::Args, Clone)]
pub(super) struct UrlFilterArgs {
    /// Only URLs of this category
    #[arg(short, long, value_name = "NAME")]
    category: Option<String>,

    /// Only URLs of this domain, by its name or an alias
    #[arg(short, long, value_name = "HOST")]
    domain: Option<String>,

    /// Only URLs whose path begins with this
    #[arg(long, value_name = "PATH")]
    path_prefix: Option<String>,
}

impl UrlFilterArgs {
    /// Whether a filter was given. If no URL matches it, that is probably a mistake.
    pub(super) fn chooses(&self) -> bool {
        [&self.category, &self.domain, &self.path_prefix].into_iter().any(Option::is_some)
    }
}

impl From<UrlFilterArgs> for UrlFilter {
    fn from(which: UrlFilterArgs) -> Self {
        Self { category: which.category, domain: which.domain, path_prefix: which.path_prefix }
    }
}
