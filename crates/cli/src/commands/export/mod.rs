//! `varve export`: writes what an archive has in another format.

mod crystal;
mod index;

use std::path::{Path, PathBuf};

use varve_archive::verbs::export::ExportTarget;
use varve_archive::verbs::export::cdx::CdxFormat;

use crate::printer::Printer;
use crate::session::Session;
use crate::verb::{Error, ExitStatus, Verb};

/// The default version.
const HEAD_NAME: &str = "HEAD";
/// The target that means standard output.
const STREAM_NAME: &str = "-";

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ExportFormat {
    /// A Crystal project
    Crystal,
    /// A WARC file
    Warc,
    /// An index of WARC files: key, time and JSON
    Cdxj,
    /// An index of WARC files with 11 columns
    Cdx,
    /// An index of WARC files in compressed blocks, with a summary
    Zipnum,
}

/// Write a version in another format
///
/// `--format crystal` makes a Crystal project. A version that was imported from a project becomes
/// that project again, with every row id and every byte of the bodies; any other version becomes a
/// project of its captures, with the roots, groups and aliases of the plan. With `--all`, the captures
/// of all versions become revisions in the order of time. Content that the format cannot hold is listed. The project is written
/// completely or not at all. From a Crystal project it makes a copy, as `crystal save-as` does.
///
/// `--format warc` writes all revisions of a Crystal project into one WARC file, compressed if its
/// name ends with `.gz`. Cookies that were sent are not exported, nor revisions of
/// URLs with a user name or a password. With `--json`, prints one object:
/// `path`, `records`, `revisits`, `failures`, `missing`, `left_behind`,
/// `with_user_info`, `bytes`.
///
/// `--format cdxj`, `cdx` and `zipnum` write a sorted index of the archive's silos or, with `--from`,
/// of any WARC and ARC files: for each capture its key, its time, and where its record is. Damage in a
/// file is reported, and the rest of it indexed. `zipnum` makes a folder.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve export --format crystal museum.crystalproj
  varve export --format crystal old.crystalproj --version HEAD~3 --json
  varve export --format crystal all.crystalproj --all
  varve -C museum.crystalproj export --format warc -o museum.warc.gz
  varve export --format cdxj index.cdxj
  varve export --format cdxj - --from crawl-1.warc.gz --from crawl-2.warc.gz | grep ' 404'
  varve export --format zipnum indexes --from crawl.warc.gz

Exit codes:
  0    done
  1    done, and a file is damaged or has records that cannot be indexed
  2    could not read or write")]
pub(super) struct ExportArgs {
    /// The format
    #[arg(long, value_name = "FORMAT")]
    format: ExportFormat,

    /// The file or folder to write, which must not exist; `-` for standard output
    #[arg(value_name = "DEST", required_unless_present = "output", conflicts_with = "output")]
    dest: Option<PathBuf>,

    /// The same as DEST
    #[arg(short, long, value_name = "DEST")]
    output: Option<PathBuf>,

    /// The version to export
    #[arg(long, value_name = "VERSION", default_value = HEAD_NAME)]
    version: String,

    /// Export all versions into one project
    #[arg(long, conflicts_with = "version")]
    all: bool,

    /// Index this WARC or ARC file and not the archive; may be repeated
    #[arg(long, value_name = "FILE")]
    from: Vec<PathBuf>,

    /// Print one JSON object. For a project: `path`, `version`, `restored`, `resources`, `revisions`,
    /// `left_behind`
    #[arg(long)]
    json: bool,
}

impl Verb for ExportArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        self.check_options()?;
        match self.format {
            ExportFormat::Crystal => self.project(session),
            ExportFormat::Warc => self.project_as_warc(session),
            ExportFormat::Cdxj => self.index(CdxFormat::Cdxj, session),
            ExportFormat::Cdx => self.index(CdxFormat::Cdx, session),
            ExportFormat::Zipnum => self.index(CdxFormat::ZipNum, session),
        }
    }
}

impl ExportArgs {
    /// Rejects options that have no meaning for the format.
    fn check_options(&self) -> Result<(), Error> {
        let is_index = matches!(self.format, ExportFormat::Cdxj | ExportFormat::Cdx | ExportFormat::Zipnum);
        let unused = [
            (!is_index && !self.from.is_empty(), "`--from` is for `--format` cdxj, cdx and zipnum"),
            (
                is_index && (self.all || self.version != HEAD_NAME),
                "an index has all files: it takes no version",
            ),
            (!is_index && self.is_stream(), "this format is not written to standard output"),
            (self.json && self.is_stream(), "`--json` prints to standard output, where the export goes"),
        ];
        let conflict = clap::error::ErrorKind::ArgumentConflict;
        match unused.into_iter().find(|(is_unused, _)| *is_unused) {
            Some((_, message)) => Err(clap::Error::raw(conflict, format!("{message}\n")).into()),
            None => Ok(()),
        }
    }

    fn target(&self) -> &Path {
        self.dest.as_ref().or(self.output.as_ref()).expect("clap asks for one of them")
    }

    fn is_stream(&self) -> bool {
        self.target() == Path::new(STREAM_NAME)
    }
}

/// Calls `write` with the target: a file, or standard output.
fn with_target<T>(
    path: &Path,
    printer: &mut Printer,
    write: impl FnOnce(ExportTarget<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    if path == Path::new(STREAM_NAME) {
        let mut output = printer.raw()?;
        return write(ExportTarget::Stream(&mut output));
    }
    write(ExportTarget::File(path.to_owned()))
}
