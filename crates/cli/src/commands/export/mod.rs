//! `varve export`: writes what an archive has in another format.

mod captures;
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
    /// A WACZ file: records, index and pages in one file
    Wacz,
    /// An index of WARC files: key, time and JSON
    Cdxj,
    /// An index of WARC files with 11 columns
    Cdx,
    /// An index of WARC files in compressed blocks, with a summary
    Zipnum,
}

/// Write a version in another format
///
/// `--format warc` writes captures into one WARC file, compressed unless its name ends with `.warc`:
/// the state of a version, or its own captures (`--captures`), or all (`--all`); of some URLs, of a
/// host, or those that a search finds. Records keep their ids, and are copied without being
/// compressed again. With `--closed` each revisit becomes a full response, so that the file stands
/// alone; with `--dedupe` it stands alone and has each payload once. A capture that is damaged is
/// reported and left out.
///
/// `--format wacz` writes the same captures with an index, and a list of pages with their titles and
/// texts, into one file that viewers such as ReplayWeb.page open. It always stands alone. Pages that are
/// given by `--url`, or are roots of the plan, come first; others are in a second list.
///
/// From a Crystal project, `--format warc` without a selection writes all revisions. Cookies that were sent are not
/// exported. URLs with a user name or a password never are.
///
/// `--format crystal` makes a Crystal project. A version that was imported from a project becomes
/// that project again, with every row id and every byte of the bodies; any other version becomes a
/// project of its captures, with the roots, groups and aliases of the plan. With `--all`, the captures
/// of all versions become revisions in the order of time. Content that the format cannot hold is
/// listed. From a Crystal project it makes a copy, as `crystal save-as` does.
///
/// `--format cdxj`, `cdx` and `zipnum` write a sorted index of the files of the archive or, with `--from`,
/// of any WARC and ARC files: for each capture its key, its time, and where its record is. Damage in a
/// file is reported, and the rest of it indexed. `zipnum` makes a folder.
///
/// A file or folder appears complete or not at all. With `--json`, prints one object.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve export --format crystal museum.crystalproj
  varve export --format crystal old.crystalproj --version HEAD~3 --json
  varve export --format crystal all.crystalproj --all
  varve export --format warc museum.warc.gz --closed
  varve export --format warc - --url https://example.com/ --all | warcio check /dev/stdin
  varve export --format warc may.warc.gz --host example.com --version 2026-05 --dedupe
  varve export --format warc evidence.warc.gz --url https://example.com/ --proof
  varve export --format wacz museum.wacz --title 'The museum'
  varve export --format wacz page.wacz --url https://example.com/news --with-resources
  varve -C museum.crystalproj export --format warc -o museum.warc.gz
  varve export --format cdxj index.cdxj
  varve export --format cdxj - --from crawl-1.warc.gz --from crawl-2.warc.gz | grep ' 404'
  varve export --format zipnum indexes --from crawl.warc.gz

Exit codes:
  0    done
  1    done, and something is damaged or cannot be indexed
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

    /// Export all versions
    #[arg(long, conflicts_with = "version")]
    all: bool,

    /// Export what the version captured itself, and not its state
    #[arg(long, conflicts_with = "all")]
    captures: bool,

    /// Export this URL; may be repeated
    #[arg(long, value_name = "URL")]
    url: Vec<String>,

    /// With `--url`, also export what the pages embed: images, style sheets, scripts, frames
    #[arg(long, requires = "url")]
    with_resources: bool,

    /// Export the pages of this host
    #[arg(long, value_name = "HOST", conflicts_with = "url")]
    host: Option<String>,

    /// Export the pages that a search finds
    #[arg(long, value_name = "QUERY", conflicts_with_all = ["url", "host", "captures"])]
    search: Option<String>,

    /// Write a full response for each revisit
    #[arg(long, conflicts_with = "dedupe")]
    closed: bool,

    /// Write each payload once. A WACZ file is written so unless `--closed` is given
    #[arg(long)]
    dedupe: bool,

    /// Add a record with the proof that the captures are in the sealed log, for `varve verify`
    #[arg(long, conflicts_with_all = ["closed", "dedupe"])]
    proof: bool,

    /// The title of a WACZ file
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    /// Index this WARC or ARC file and not the archive; may be repeated
    #[arg(long, value_name = "FILE")]
    from: Vec<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Verb for ExportArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        self.check_options()?;
        match self.format {
            ExportFormat::Crystal => self.project(session),
            ExportFormat::Warc => self.captures(session),
            ExportFormat::Wacz => self.package(session),
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
        let has_captures = matches!(self.format, ExportFormat::Warc | ExportFormat::Wacz);
        let unused = [
            (!is_index && !self.from.is_empty(), "`--from` is for `--format` cdxj, cdx and zipnum"),
            (
                is_index && (self.all || self.version != HEAD_NAME),
                "an index has all files: it takes no version",
            ),
            (!has_captures && self.has_selection(), "captures are selected for `--format` warc and wacz"),
            (self.format != ExportFormat::Warc && self.proof, "`--proof` is for `--format warc`"),
            (self.format != ExportFormat::Wacz && self.title.is_some(), "`--title` is for `--format wacz`"),
            (
                self.format == ExportFormat::Crystal && self.is_stream(),
                "a project is not written to standard output",
            ),
            (self.json && self.is_stream(), "`--json` prints to standard output, where the export goes"),
        ];
        let conflict = clap::error::ErrorKind::ArgumentConflict;
        match unused.into_iter().find(|(is_unused, _)| *is_unused) {
            Some((_, message)) => Err(clap::Error::raw(conflict, format!("{message}\n")).into()),
            None => Ok(()),
        }
    }

    /// Whether some captures are selected, or the form of revisits.
    fn has_selection(&self) -> bool {
        let has_pages = !self.url.is_empty() || self.host.is_some() || self.search.is_some();
        has_pages || self.captures || self.closed || self.dedupe || self.proof
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
