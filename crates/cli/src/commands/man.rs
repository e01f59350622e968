//! `varve man`: the manual pages, made from the same source as `--help`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Command;

use super::{Outcome, Verb};
use crate::arguments;
use crate::error::Error;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  varve man | man -l -
  varve man --to ~/.local/share/man/man1";

/// Print the manual page, or write all of them
///
/// Without `--to`, the page of `varve` itself goes to standard output. With it, there is also a page for each
/// verb.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Man {
    /// Write every page into this folder, which is made if need be
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

impl Verb for Man {
    fn run(self, session: &mut Session) -> Result<Outcome, Error> {
        match self.to {
            Some(folder) => write_all(&folder, session)?,
            None => session.printer.text(&page(arguments::root()))?,
        }
        Ok(Outcome::Done)
    }
}

fn write_all(folder: &Path, session: &mut Session) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|source| Error::Write { path: folder.to_owned(), source })?;
    let mut root = arguments::root();
    root.build();
    for command in std::iter::once(&root).chain(root.get_subcommands()) {
        let path = folder.join(clap_mangen::Man::new(command.clone()).get_filename());
        fs::write(&path, page(command.clone()))
            .map_err(|source| Error::Write { path: path.clone(), source })?;
        session.printer.line(path.display())?;
    }
    Ok(())
}

fn page(command: Command) -> String {
    let mut roff = Vec::new();
    let page =
        clap_mangen::Man::new(command).manual("varve").source(concat!("varve ", env!("CARGO_PKG_VERSION")));
    page.render(&mut roff).expect("writing into memory cannot fail");
    String::from_utf8_lossy(&roff).into_owned()
}
