//! `varve get`: prints or restores stored objects and folders.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::json;
use varve_archive::Archive;
use varve_archive::tree::{RestoredTree, restore, survey};
use varve_archive::verbs::get::{ByteRange, FoundObject, GetError, find_in};

use crate::printer::{counted, visible};
use crate::verb::{Error, ExitStatus, Session, Verb};

/// Print an object, or restore a folder
///
/// An id may be abbreviated to its first 4 or more digits, as long as they match only one object.
/// The bytes are verified while they are read: if they are not as stored, the verb fails, and `-o`
/// leaves no file.
///
/// The id of a record selects its block; for an HTTP response that is the message with its header.
/// The id of a body, the SHA-256 of the decoded content, selects the body.
///
/// An AardWARC store is read in place: `-C` names its folder or its `aardwarc.conf`, and an id is
/// its digits, with or without the prefix of the store. The store is not changed. Its index finds
/// the object; an id that the index lacks is looked for in the headers of all silos.
///
/// With `--tree`, the id is that of a folder, as `varve stow` prints it. The target must be new or
/// empty. Names, modes, times and links are restored; set-user-id and set-group-id bits are not. A
/// file that cannot be restored is reported, and the others are restored.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve get 2d711642 > report.pdf
  varve get 2d711642 -o report.pdf
  varve get 2d711642 --headers
  varve get 2d711642 --range 0-1023
  varve get --tree 9f86d081 --to photos
  varve -C /srv/aardwarc get 2d711642 -o report.pdf")]
pub(super) struct GetArgs {
    /// The id, or its first digits, as varve or AardWARC prints it
    id: String,

    /// Print the header of the record; the content is written only to the file of `-o`
    #[arg(long)]
    headers: bool,

    /// Write to this file, which appears when it is complete
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Overwrite the file
    #[arg(long, requires = "output")]
    force: bool,

    /// Only these bytes, counted from 0, the last included; `A-` is to the end, `-N` the last N
    #[arg(long, value_name = "A-B", allow_hyphen_values = true)]
    range: Option<ByteRangeArg>,

    /// Restore a folder
    #[arg(long, requires = "to", conflicts_with_all = ["headers", "output", "range"])]
    tree: bool,

    /// Where to restore the folder
    #[arg(long, value_name = "DIR", requires = "tree")]
    to: Option<PathBuf>,

    /// Print headers, or the result, as JSON
    #[arg(long)]
    json: bool,
}

impl Verb for GetArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        if let Some(folder) = self.to.as_deref().filter(|_| self.tree) {
            let archive = session.open_archive()?;
            return self.restore_tree(&archive, folder, session);
        }
        let objects = session.open_objects()?;
        let found = find_in(&objects, &self.id);
        session.warn_of_unread_places(&objects);
        let found = found?;
        if self.headers {
            self.print_headers(&found, session)?;
        }
        let range = self.range.map(|ByteRangeArg(range)| range);
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
        Ok(ExitStatus::Done)
    }
}

impl GetArgs {
    fn print_headers(&self, found: &FoundObject<'_>, session: &mut Session) -> Result<(), Error> {
        if self.json {
            let fields: serde_json::Map<String, serde_json::Value> =
                found.header().map(|(name, value)| (name, value.into())).collect();
            let row = json!({ "id": found.digits(), "length": found.length(), "header": fields });
            return session.printer.json(&row);
        }
        for (name, value) in found.header() {
            session.printer.line(format_args!("{}: {}", visible(&name), visible(&value)))?;
        }
        Ok(())
    }

    fn restore_tree(
        &self,
        archive: &Archive,
        folder: &Path,
        session: &mut Session,
    ) -> Result<ExitStatus, Error> {
        let manifest = archive.resolve(&self.id)?;
        let printer = &mut session.printer;
        let progress = printer.progress_bytes(Some(survey(archive, manifest)?.bytes));
        let count = |bytes| progress.inc(bytes);
        let restored = restore(archive, manifest, folder, Session::threads(), &count, |failure| {
            printer.report(&failure.into());
        })?;
        let RestoredTree { survey, failed } = restored;
        if self.json {
            printer.json(&restored)?;
        } else {
            let but = if failed == 0 { String::new() } else { format!("all but {failed} of ") };
            printer.say(format_args!(
                "restored {but}{}, {} and {} to `{}`",
                counted(survey.files, "file"),
                counted(survey.folders, "folder"),
                counted(survey.links, "link"),
                folder.display(),
            ));
        }
        Ok(if failed == 0 { ExitStatus::Done } else { ExitStatus::Incomplete })
    }
}

/// A range of bytes, as in HTTP.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ByteRangeArg(ByteRange);

impl FromStr for ByteRangeArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const RANGE_FORM: &str = "a range is `A-B`, `A-` or `-N`";
        let (first, last) = text.split_once('-').ok_or(RANGE_FORM)?;
        let number = |digits: &str| {
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            if is_number {
                digits.parse::<u64>().map_err(|_| "a number is too large")
            } else {
                Err(RANGE_FORM)
            }
        };
        let range = match (first, last) {
            ("", count) => ByteRange::Last(number(count)?),
            (first, "") => ByteRange::From(number(first)?, None),
            (first, last) => ByteRange::From(number(first)?, Some(number(last)?)),
        };
        match range {
            ByteRange::From(first, Some(last)) if last < first => Err("the range ends before it begins"),
            range => Ok(Self(range)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_written_as_in_http() {
        let range = |text: &str| text.parse::<ByteRangeArg>().map(|ByteRangeArg(range)| range);
        assert_eq!(range("0-99"), Ok(ByteRange::From(0, Some(99))));
        assert_eq!(range("7-"), Ok(ByteRange::From(7, None)));
        assert_eq!(range("-5"), Ok(ByteRange::Last(5)));
        for text in ["", "-", "5", "a-b", "+1-2", "2-1", "1-2-3", "99999999999999999999-"] {
            assert!(range(text).is_err(), "{text}");
        }
    }
}
