//! The inputs of `varve check --links`: pages of the archive, files, folders and standard input.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use varve_archive::ArchiveError;
use varve_archive::history::HistoryReader;
use varve_archive::verbs::check::{
    AcceptedStatuses, LinkCollection, LinkRules, LinkSourceError, LinkTextFormat,
};
use varve_archive::verbs::purge::{AtSign, GroupPattern};

use crate::network_args::absolute_path;
use crate::printer::{WARNING_STYLE, counted};
use crate::verb::{Error, Session};
use crate::{clock, duration};

/// Maximum length of standard input.
const MAX_INPUT_BYTES: u64 = 64 << 20;

/// The name under which standard input is shown.
const STDIN_NAME: &str = "standard input";

/// Which links are checked.
#[derive(clap::Args)]
#[command(next_help_heading = "Links")]
pub(super) struct LinkArgs {
    /// Check all links of the newest captures, or of these inputs: URLs of captured pages and all
    /// pages below them, HTML and Markdown files, folders of them, `-` for standard input
    #[arg(long, conflicts_with_all = ["db", "against_archive", "category", "domain", "path_prefix", "map", "cnames"])]
    pub(super) links: bool,

    /// Pages and files whose links are checked
    #[arg(value_name = "INPUT", requires = "links")]
    pub(super) inputs: Vec<String>,

    /// Do not check links that match; may be repeated
    #[arg(long, value_name = "PATTERN", requires = "links")]
    exclude: Vec<String>,

    /// Further statuses that count as success: `403`, `403,429`, `400-499`
    #[arg(long, value_name = "CODES", requires = "links", value_delimiter = ',', value_parser = status_range)]
    accept: Vec<(u16, u16)>,

    /// Do not request links again that an earlier check found ok within this time; needs an archive
    #[arg(long, value_name = "TIME", requires = "links", value_parser = duration::parse)]
    cached: Option<Duration>,

    /// The URL that links in files and in standard input are relative to; without it, links of a
    /// file to other files are checked as files
    #[arg(long, value_name = "URL", requires = "links")]
    base_url: Option<String>,
}

fn status_range(text: &str) -> Result<(u16, u16), String> {
    let number = |text: &str| text.trim().parse::<u16>().ok().filter(|code| (100..1000).contains(code));
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok((first, last)),
        _ => Err("write statuses or ranges of them: `403`, `400-499`".to_owned()),
    }
}

/// The kinds of inputs.
#[derive(Default)]
struct SortedInputs {
    urls: Vec<String>,
    files: Vec<String>,
    has_stdin: bool,
}

impl LinkArgs {
    pub(super) fn rules(&self) -> LinkRules {
        let mut accept = AcceptedStatuses::default();
        self.accept.iter().for_each(|(first, last)| accept.add(*first, *last));
        let pattern = |text: &String| GroupPattern::new(text, AtSign::Literal);
        LinkRules { exclude: self.exclude.iter().map(pattern).collect(), accept }
    }

    /// The time since which a verdict `ok` is not asked for again.
    pub(super) fn known_since(&self) -> Option<varve_archive::Moment> {
        let age = i64::try_from(self.cached?.as_micros()).unwrap_or(i64::MAX);
        Some(varve_archive::Moment::from_micros(clock::moment().micros().saturating_sub(age)))
    }

    /// Whether pages of an archive are read.
    pub(super) fn needs_archive(&self) -> bool {
        let inputs = self.sorted();
        !inputs.urls.is_empty() || (inputs.files.is_empty() && !inputs.has_stdin)
    }

    fn sorted(&self) -> SortedInputs {
        let mut sorted = SortedInputs::default();
        for input in &self.inputs {
            match input.as_str() {
                "-" => sorted.has_stdin = true,
                url if url.contains("://") => sorted.urls.push(input.clone()),
                _ => sorted.files.push(input.clone()),
            }
        }
        sorted
    }

    /// Reads the links of all inputs.
    pub(super) fn collect(
        &self,
        history: Option<&HistoryReader>,
        session: &mut Session,
    ) -> Result<LinkCollection, Error> {
        let mut links = LinkCollection::shown_from(absolute_path(Path::new("."))?);
        let SortedInputs { urls, files, has_stdin } = self.sorted();
        if let Some(history) = history.filter(|_| self.needs_archive()) {
            let found = links.add_archive(history, &urls)?;
            if found == 0
                && let Some(url) = urls.first()
            {
                return Err(ArchiveError::NoCapture { url: url.clone(), at: None }.into());
            }
        }
        for file in &files {
            self.add_path(&mut links, file)?;
        }
        if has_stdin {
            self.add_stdin(&mut links)?;
        }
        let printer = &mut session.printer;
        printer.say(format_args!("links of {}", counted(links.pages_read(), "page")));
        if links.unreadable() > 0 {
            printer.warn(format_args!(
                "{} cannot be read to the end, so some links are not checked; `varve audit` says more",
                counted(links.unreadable(), "page")
            ));
        }
        if links.without_base() > 0 {
            printer.say(format_args!(
                "{WARNING_STYLE}note:{WARNING_STYLE:#} {} not checked: `--base-url URL` says of which site they are",
                counted(links.without_base(), "link")
            ));
        }
        Ok(links)
    }

    fn add_path(&self, links: &mut LinkCollection, name: &str) -> Result<(), Error> {
        let path = absolute_path(Path::new(name))?;
        let mut found = Vec::new();
        if path.is_dir() {
            pages_below(&path, &mut found)?
        } else {
            found.push(path.clone())
        }
        for file in found {
            let shown = match file.strip_prefix(&path) {
                Ok(rest) if !rest.as_os_str().is_empty() => Path::new(name).join(rest),
                _ => PathBuf::from(name),
            };
            let base = self.base_url.as_deref();
            links.add_file_links(&file, &shown.to_string_lossy(), base)?;
        }
        Ok(())
    }

    fn add_stdin(&self, links: &mut LinkCollection) -> Result<(), Error> {
        let mut text = Vec::new();
        std::io::stdin().take(MAX_INPUT_BYTES + 1).read_to_end(&mut text).map_err(Error::Input)?;
        if text.len() as u64 > MAX_INPUT_BYTES {
            return Err(LinkSourceError::TooLong { path: "-".into() }.into());
        }
        let format = LinkTextFormat::of_text(&text);
        match &self.base_url {
            Some(base) => links.add_text(&text, format, STDIN_NAME, base)?,
            None => links.add_text_without_base(&text, format, STDIN_NAME)?,
        }
        Ok(())
    }
}

/// The HTML and Markdown files below a folder, sorted. Links to folders are not followed.
fn pages_below(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Error> {
    let failed = |source| Error::Read { path: folder.to_owned(), source };
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).map_err(failed)?.collect::<Result<_, _>>().map_err(failed)?;
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if kind.is_dir() && !is_hidden {
            pages_below(&path, found)?;
        } else if kind.is_file() && LinkTextFormat::of_path(&path).is_some() {
            found.push(path);
        }
    }
    Ok(())
}
