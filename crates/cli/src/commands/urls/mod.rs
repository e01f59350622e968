//! `varve urls`: what URLs are expected to answer. One file a verb below it.

mod add;
mod check;
mod fmt;
mod list;
mod remove;
mod show;

use std::path::{Path, PathBuf};
use varve_archive::RepositoryError;

use varve_archive::expectations::{UrlDatabase, UrlsError};
use varve_archive::verbs::urls::list::Filter;
use varve_archive::{ArchiveError, Layout};

use super::{Outcome, Verb};
use crate::error::Error;
use crate::printer::{Printer, WARN, visible};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve urls add --domain-file https://example.com/robots.txt
  varve urls --db urldb list --category frontend
  varve urls --db urldb fmt --check";

/// Keep a database of URLs and what they should answer
///
/// The database is a folder of YAML files, one a domain: `urls` in the archive, or any other with `--db`. Files are
/// sorted and written in one form, made for version control.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
pub(super) struct Urls {
    /// The folder of the database; without it, `urls` in the archive
    #[arg(long, global = true, value_name = "DIR")]
    db: Option<PathBuf>,

    #[command(subcommand)]
    verb: UrlsVerb,
}

#[derive(clap::Subcommand)]
enum UrlsVerb {
    Add(add::Add),
    Check(check::Check),
    List(list::List),
    Show(show::Show),
    Remove(remove::Remove),
    Fmt(fmt::Fmt),
}

impl Verb for Urls {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let place = DatabasePlace(self.db);
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

/// Where the database is said to be.
struct DatabasePlace(Option<PathBuf>);

impl DatabasePlace {
    fn folder(&self, session: &Session) -> Result<PathBuf, Error> {
        if let Some(folder) = &self.0 {
            return Ok(folder.clone());
        }
        let layout = Layout::new(&session.root()?);
        if !layout.is_archive() {
            return Err(ArchiveError::Repository(RepositoryError::NotAnArchive {
                path: layout.root().to_owned(),
            })
            .into());
        }
        Ok(layout.expectations())
    }

    fn open(&self, session: &Session) -> Result<UrlDatabase, Error> {
        Ok(UrlDatabase::open(&self.folder(session)?)?)
    }

    /// The database, also where there is no folder yet.
    fn open_or_new(&self, session: &Session) -> Result<UrlDatabase, Error> {
        Ok(UrlDatabase::open_or_new(&self.folder(session)?))
    }
}

/// Which expectations are meant.
#[derive(clap::Args)]
struct Which {
    /// Only those of this category
    #[arg(short, long, value_name = "NAME")]
    category: Option<String>,

    /// Only those of this domain, by its name or an alias
    #[arg(short, long, value_name = "HOST")]
    domain: Option<String>,

    /// Only those whose path begins so
    #[arg(long, value_name = "PATH")]
    path_prefix: Option<String>,
}

impl From<Which> for Filter {
    fn from(which: Which) -> Self {
        Self { category: which.category, domain: which.domain, path_prefix: which.path_prefix }
    }
}

/// Says which comments a file loses when it is written.
fn warn_of_loss(printer: &mut Printer, path: &Path, lines: &[u64]) {
    let numbers: Vec<String> = lines.iter().take(5).map(ToString::to_string).collect();
    let more = if lines.len() > 5 { ", …" } else { "" };
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    let path = path.to_string_lossy();
    printer.say(format_args!(
        "{WARN}warning:{WARN:#} comments in `{}` are lost when it is written: {noun} {}{more}",
        visible(&path),
        numbers.join(", ")
    ));
}

/// What can be done about a failure.
pub(crate) fn hint(failure: &UrlsError) -> Option<&'static str> {
    match failure {
        UrlsError::NoDatabase { .. } => {
            Some("`varve urls add --domain-file URL` makes it; `--db DIR` names another")
        }
        UrlsError::UnknownDomain { .. } => {
            Some("`varve urls add --domain-file URL` makes a file for its domain")
        }
        UrlsError::AliasNotAsked { .. } => Some("`--cnames` asks every alias as well"),
        UrlsError::Unexpected { .. } => Some("`varve urls list` shows of which URLs something is expected"),
        UrlsError::NotText { .. } => Some("`iconv -t UTF-8` makes it so, from whatever encoding it is in"),
        UrlsError::Target(_) => Some("a URL is like `https://example.com/path?query`"),
        _ => None,
    }
}
