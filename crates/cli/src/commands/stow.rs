//! `varve stow`: keeps a tree of files.

use std::path::PathBuf;

use serde::Serialize;
use varve_archive::verbs::stow::{Exclude, Note, Request, Skipped, Stowed, stow};

use super::store::digits;
use super::{Outcome, Verb};
use crate::error::{self, Error};
use crate::printer::{Printer, counted, readable, visible};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve stow photos
  varve stow --exclude '*.tmp' --exclude node_modules project
  varve get --tree 9f86d081 --to photos";

/// Keep a folder with all that is in it
///
/// Stores each file, contents that are the same only once, and a manifest with names, modes, times and links. Prints the
/// id of the manifest, by which `varve get --tree` brings everything back. The same tree always has the same id.
///
/// Links are kept as links. Pipes, sockets and devices are named and left out, and so is the archive itself. Owners,
/// access lists, extended attributes and the sharing of hard links are not kept.
///
/// With `--json` there is one object: `id`, `new`, `files`, `folders`, `links`, `bytes`, `new_objects`, `new_bytes`,
/// `mended`, `skipped`, `failed` and `changed`, the number of files that changed while they were read.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Stow {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Leave out what fits: any name in the tree, or with a `/` in it, the path from the tree
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

impl Verb for Stow {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        let exclude = Exclude::new(&self.exclude)?;
        let request = Request { folder: self.folder, exclude, threads: Session::threads() };
        let writer = session.open_to_write()?;
        let printer = &mut session.printer;
        let progress = printer.progress_bytes(None);
        let count = |bytes| progress.inc(bytes);
        let stowed = stow(&writer, &request, &count, |note| match note {
            Note::Skipped(path, why) => {
                let path = path.to_string_lossy();
                printer.say(format_args!("left out `{}`: {}", visible(&path), reason(why)));
            }
            Note::Changed(path) => {
                let path = path.to_string_lossy();
                printer.say(format_args!(
                    "`{}` changed while it was read; it is kept as it was read",
                    visible(&path)
                ));
            }
            Note::Failed(failure) => printer.report(&error::report(&failure.into())),
        })?;
        print(&stowed, self.json, printer)?;
        Ok(if stowed.failed > 0 { Outcome::Incomplete } else { Outcome::Done })
    }
}

fn reason(why: Skipped) -> &'static str {
    match why {
        Skipped::Device => "it is a device",
        Skipped::Pipe => "it is a pipe",
        Skipped::Socket => "it is a socket",
        Skipped::Archive => "it is this archive",
        Skipped::Other => "it is no file, folder or link",
    }
}

fn print(stowed: &Stowed, json: bool, printer: &mut Printer) -> Result<(), Error> {
    let Stowed { manifest, survey, new_objects, new_bytes, mended, skipped, failed, changed } = *stowed;
    if json {
        return printer.json(&Line {
            id: digits(manifest.id),
            new: manifest.new,
            files: survey.files,
            folders: survey.folders,
            links: survey.links,
            bytes: survey.bytes,
            new_objects,
            new_bytes,
            mended,
            skipped,
            failed,
            changed,
        });
    }
    printer.line(digits(manifest.id))?;
    printer.say(format_args!(
        "{}, {}, {}, {} in all; {} new, {}",
        counted(survey.files, "file"),
        counted(survey.folders, "folder"),
        counted(survey.links, "link"),
        readable(survey.bytes),
        counted(new_objects, "object"),
        readable(new_bytes),
    ));
    if mended > 0 {
        printer.say(format_args!("here already, but damaged, and so written anew: {mended}"));
    }
    if failed > 0 {
        printer.say(format_args!("not in the manifest because they could not be read: {failed}"));
    }
    Ok(())
}

#[derive(Serialize)]
struct Line {
    id: String,
    new: bool,
    files: u64,
    folders: u64,
    links: u64,
    bytes: u64,
    new_objects: u64,
    new_bytes: u64,
    mended: u64,
    skipped: u64,
    failed: u64,
    changed: u64,
}
