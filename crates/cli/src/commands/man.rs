//! `varve man`: the manual pages, generated from the same description as `--help`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Command;

use crate::verb::{Error, ExitStatus, Session, Verb};

/// Print the manual page, or write all of them
///
/// Without `--to`, prints the page of `varve` itself. With `--to`, writes that page and one for each verb and sub-verb:
/// `varve-capture.1`, `varve-crystal-new.1`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve man | man -l -
  varve man --to ~/.local/share/man/man1")]
pub(super) struct ManArgs {
    /// Write all pages into this folder, which is created if necessary
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

impl Verb for ManArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let root = session.describe_command_line();
        match self.to {
            Some(folder) => write_all(root, &folder, session)?,
            None => session.printer.text(&page(root))?,
        }
        Ok(ExitStatus::Done)
    }
}

fn write_all(mut root: Command, folder: &Path, session: &mut Session) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|source| Error::Write { path: folder.to_owned(), source })?;
    root.build();
    write_pages(&root, folder, session)
}

/// Writes the page of a verb, then those of its sub-verbs.
fn write_pages(command: &Command, folder: &Path, session: &mut Session) -> Result<(), Error> {
    let path = folder.join(clap_mangen::Man::new(command.clone()).get_filename());
    fs::write(&path, page(command.clone())).map_err(|source| Error::Write { path: path.clone(), source })?;
    session.printer.line(path.display())?;
    command.get_subcommands().try_for_each(|verb| write_pages(verb, folder, session))
}

fn page(command: Command) -> String {
    let mut roff = Vec::new();
    let page =
        clap_mangen::Man::new(command).manual("varve").source(concat!("varve ", env!("CARGO_PKG_VERSION")));
    page.render(&mut roff).expect("writing into memory cannot fail");
    String::from_utf8_lossy(&roff).into_owned()
}
