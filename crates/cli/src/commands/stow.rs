//! `varve stow`: stores a folder.

use std::path::PathBuf;

use serde_json::json;
use varve_archive::verbs::stow::{Exclude, Request, Skipped, StowNote, Stowed, stow};

use crate::printer::{Printer, counted, human_size, visible, with_fields};
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::version_text::record_digits;

/// Store a folder with everything in it
///
/// Stores each file, equal contents once, and a manifest with names, modes, times and links. Prints
/// the id of the manifest; `varve get --tree` restores the folder from it. The same folder always
/// has the same id.
///
/// Links are stored as links. Pipes, sockets and devices are reported and skipped, and so is the
/// archive itself. Owners, access lists, extended attributes and hard links are not stored.
///
/// With `--json`, prints one object: `id`, `new`, `files`, `folders`, `links`, `bytes`,
/// `new_objects`, `new_bytes`, `mended`, `skipped`, `failed` and `changed`, the number of files
/// that changed while they were read.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve stow photos
  varve stow --exclude '*.tmp' --exclude node_modules project
  varve get --tree 9f86d081 --to photos")]
pub(super) struct StowArgs {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Skip what matches: any name, or with a `/`, a path from the folder; may be repeated
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Verb for StowArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let exclude = Exclude::new(&self.exclude)?;
        let request = Request { folder: self.folder, exclude, threads: Session::threads() };
        let writer = session.open_to_write()?;
        let printer = &mut session.printer;
        let progress = printer.progress_bytes(None);
        let count = |bytes| progress.inc(bytes);
        let stowed = stow(&writer, &request, &count, |note| match note {
            StowNote::Skipped(path, why) => {
                let path = path.to_string_lossy();
                printer.say(format_args!("skipped `{}`: {}", visible(&path), reason(why)));
            }
            StowNote::Changed(path) => {
                let path = path.to_string_lossy();
                printer.say(format_args!(
                    "`{}` changed while it was read; the bytes that were read are stored",
                    visible(&path)
                ));
            }
            StowNote::Failed(failure) => printer.report(&failure.into()),
        })?;
        print(&stowed, self.json, printer)?;
        Ok(if stowed.failed > 0 { ExitStatus::Incomplete } else { ExitStatus::Done })
    }
}

fn reason(why: Skipped) -> &'static str {
    match why {
        Skipped::Device => "it is a device",
        Skipped::Pipe => "it is a pipe",
        Skipped::Socket => "it is a socket",
        Skipped::Archive => "it is this archive",
        Skipped::Other => "it is not a file, folder or link",
    }
}

fn print(stowed: &Stowed, json: bool, printer: &mut Printer) -> Result<(), Error> {
    let Stowed { manifest, survey, new_objects, new_bytes, mended, skipped, failed, changed } = *stowed;
    if json {
        let row = json!({ "id": record_digits(manifest.id), "new": manifest.new });
        let counts = json!({
            "new_objects": new_objects,
            "new_bytes": new_bytes,
            "mended": mended,
            "skipped": skipped,
            "failed": failed,
            "changed": changed,
        });
        return printer.json(&with_fields(with_fields(row, &survey), &counts));
    }
    printer.line(record_digits(manifest.id))?;
    printer.say(format_args!(
        "{}, {}, {}, {} in all; {} new, {}",
        counted(survey.files, "file"),
        counted(survey.folders, "folder"),
        counted(survey.links, "link"),
        human_size(survey.bytes),
        counted(new_objects, "object"),
        human_size(new_bytes),
    ));
    if mended > 0 {
        printer.say(format_args!("damaged and written again: {mended}"));
    }
    if failed > 0 {
        printer.say(format_args!("unreadable, not in the manifest: {failed}"));
    }
    Ok(())
}
