//! `varve get`: brings back what was stored.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Serialize;
use varve_archive::Archive;
use varve_archive::tree::{Restored, restore, survey};
use varve_archive::verbs::get::{Found, GetError, Range, find_in};

use super::{Outcome, Verb};
use crate::error::{self, Error};
use crate::printer::{counted, visible};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve get 2d711642 > report.pdf
  varve get 2d711642 -o report.pdf
  varve get 2d711642 --headers
  varve get 2d711642 --range 0-1023
  varve get --tree 9f86d081 --to photos
  varve -C /srv/aardwarc get 2d711642 -o report.pdf";

/// Bring back an object, or a tree of files
///
/// An id may be given in full or by its beginning, as long as that fits one object alone; at least 4 digits. The bytes
/// are checked while they are read: if they are not what was stored, the end is an error, and `-o` leaves no file.
///
/// The id of a record brings back its block; of an HTTP response that is the message as it came, head and all. The id of
/// the body in a response, the SHA-256 of what a browser would show, brings back the body with its codings undone.
///
/// An AardWARC store gives its objects where it is: `-C` names its folder, an id is its digits, with the prefix of the store
/// or without. Nothing of it is changed and its own index is not used: the headers of all its silos are read first, each
/// time, and an index of them is kept in the folder for temporary files as long as it is needed, 16 bytes a record.
///
/// With `--tree` the id is that of a manifest, as `varve stow` prints it. The folder must be new or empty. Names, modes,
/// times and links come back; the bits that lend a file's owner to whoever runs it do not. A file that cannot be brought
/// back is named, and the others come.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Get {
    /// The id, or its beginning
    id: String,

    /// Print the header of its record; the content goes only to the file of `-o`, if there is one
    #[arg(long)]
    headers: bool,

    /// Write it to this file, which appears when it is whole
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Overwrite the file
    #[arg(long, requires = "output")]
    force: bool,

    /// Only these bytes, counted from 0 and the last included; `A-` is to the end, `-N` the last N
    #[arg(long, value_name = "A-B", allow_hyphen_values = true)]
    range: Option<Bytes>,

    /// It is a tree: bring back all its files
    #[arg(long, requires = "to", conflicts_with_all = ["headers", "output", "range"])]
    tree: bool,

    /// The folder for the tree
    #[arg(long, value_name = "DIR", requires = "tree")]
    to: Option<PathBuf>,

    /// Print headers, or what came back, as JSON
    #[arg(long)]
    json: bool,
}

impl Verb for Get {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        if let Some(folder) = self.to.as_deref().filter(|_| self.tree) {
            let root = session.root()?;
            let archive = session.settled(|| Archive::open(&root))?;
            return self.bring_back(&archive, folder, session);
        }
        let objects = session.open_objects()?;
        let found = find_in(&objects, &self.id)?;
        if self.headers {
            self.print_headers(&found, session)?;
        }
        let range = self.range.map(|Bytes(range)| range);
        let progress = session.printer.progress_bytes(found.length());
        let count = |bytes| progress.inc(bytes);
        match &self.output {
            Some(path) => {
                found.write_to_file(range, path, self.force, &count)?;
            }
            None if self.headers => {}
            None => {
                let mut output = session.printer.raw()?;
                found.write_to(range, &mut output, &count).map_err(|failure| match failure {
                    GetError::Archive(failure) => failure.into(),
                    GetError::Output(source) => Error::Output(source),
                })?;
            }
        }
        Ok(Outcome::Done)
    }
}

impl Get {
    fn print_headers(&self, found: &Found<'_>, session: &mut Session) -> Result<(), Error> {
        if self.json {
            let fields: serde_json::Map<String, serde_json::Value> =
                found.header().map(|(name, value)| (name, value.into())).collect();
            return session.printer.json(&fields);
        }
        for (name, value) in found.header() {
            session.printer.line(format_args!("{}: {}", visible(&name), visible(&value)))?;
        }
        Ok(())
    }

    fn bring_back(&self, archive: &Archive, folder: &Path, session: &mut Session) -> Result<Outcome, Error> {
        let manifest = archive.resolve(&self.id)?;
        let printer = &mut session.printer;
        let progress = printer.progress_bytes(Some(survey(archive, manifest)?.bytes));
        let count = |bytes| progress.inc(bytes);
        let restored = restore(archive, manifest, folder, Session::threads(), &count, |failure| {
            printer.report(&error::report(&failure.into()));
        })?;
        let Restored { survey, failed } = restored;
        if self.json {
            let (files, folders, links, bytes) = (survey.files, survey.folders, survey.links, survey.bytes);
            printer.json(&Summary { files, folders, links, bytes, failed })?;
        } else {
            let but = if failed == 0 { String::new() } else { format!("all but {failed} of ") };
            printer.say(format_args!(
                "brought back {but}{}, {} and {} into `{}`",
                counted(survey.files, "file"),
                counted(survey.folders, "folder"),
                counted(survey.links, "link"),
                folder.display(),
            ));
        }
        Ok(if failed == 0 { Outcome::Done } else { Outcome::Incomplete })
    }
}

#[derive(Serialize)]
struct Summary {
    files: u64,
    folders: u64,
    links: u64,
    bytes: u64,
    failed: u64,
}

/// A range as people write it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bytes(Range);

impl FromStr for Bytes {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "a range is `A-B`, `A-` or `-N`";
        let (first, last) = text.split_once('-').ok_or(FORM)?;
        let number = |digits: &str| {
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            if is_number { digits.parse::<u64>().map_err(|_| "a number is too large") } else { Err(FORM) }
        };
        let range = match (first, last) {
            ("", count) => Range::Last(number(count)?),
            (first, "") => Range::From(number(first)?, None),
            (first, last) => Range::From(number(first)?, Some(number(last)?)),
        };
        match range {
            Range::From(first, Some(last)) if last < first => Err("the range ends before it begins"),
            range => Ok(Self(range)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_http() {
        let range = |text: &str| text.parse::<Bytes>().map(|Bytes(range)| range);
        assert_eq!(range("0-99"), Ok(Range::From(0, Some(99))));
        assert_eq!(range("7-"), Ok(Range::From(7, None)));
        assert_eq!(range("-5"), Ok(Range::Last(5)));
        for text in ["", "-", "5", "a-b", "+1-2", "2-1", "1-2-3", "99999999999999999999-"] {
            assert!(range(text).is_err(), "{text}");
        }
    }
}
