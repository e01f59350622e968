//! Opens a folder by its layout.

use std::path::Path;

use varve_core::history::CaptureChoice;
use varve_moku::MokuOptions;

use varve_webarchive::{IndexPlace, OpenProgress};

use super::{
    ArchiveHistoryReader, ArchiveHistoryWriter, CrystalHistoryReader, HistoryReader, HistoryWriter,
    MokuHistoryReader, MokuHistoryWriter, MokuWriterOptions, WebArchiveHistoryReader,
};
use crate::archive_writer::WriterOptions;
use crate::error::RepositoryError;
use crate::layout::{Layout, detect_layout};

/// How a layout is opened for reading.
pub struct ReaderOptions<'a> {
    /// The capture of a page that counts. It applies to Crystal projects, where the newest revision
    /// of a page may record a failure.
    pub choice: CaptureChoice,
    /// Where the index of a web archive is kept.
    pub index: IndexPlace,
    /// Receives the progress of reading a web archive that has no index.
    pub progress: &'a dyn OpenProgress,
}

impl Default for ReaderOptions<'_> {
    fn default() -> Self {
        Self { choice: CaptureChoice::Newest, index: IndexPlace::Temporary, progress: &() }
    }
}

/// Opens the layout at `root` for reading.
pub fn open_reader(root: &Path) -> Result<HistoryReader, RepositoryError> {
    open_reader_with(root, &ReaderOptions::default())
}

/// Opens the layout at `root` for reading, with this choice of captures.
pub fn open_reader_choosing(root: &Path, choice: CaptureChoice) -> Result<HistoryReader, RepositoryError> {
    open_reader_with(root, &ReaderOptions { choice, ..ReaderOptions::default() })
}

/// Opens the layout at `root` for reading.
pub fn open_reader_with(root: &Path, options: &ReaderOptions<'_>) -> Result<HistoryReader, RepositoryError> {
    let open_project =
        || Ok(HistoryReader::Crystal(CrystalHistoryReader::open(root)?.choosing(options.choice)));
    match detect_layout(root) {
        Some(Layout::Archive) => Ok(HistoryReader::Archive(ArchiveHistoryReader::open(root)?)),
        Some(Layout::Moku) => Ok(HistoryReader::Moku(MokuHistoryReader::open(root)?)),
        Some(Layout::Crystal) => open_project(),
        Some(Layout::Aardwarc) => Err(RepositoryError::OnlyObjects { path: root.to_owned() }),
        Some(Layout::WebArchive) => {
            let archive = WebArchiveHistoryReader::open(root, &options.index, options.progress)?;
            Ok(HistoryReader::WebArchive(archive))
        }
        None if is_meant_as_project(root) => open_project(),
        None => Err(RepositoryError::NotAnArchive { path: root.to_owned() }),
    }
}

/// Opens the layout at `root` for adding to its history.
pub fn open_writer(root: &Path, opening: WriterOptions) -> Result<HistoryWriter, RepositoryError> {
    open_writer_of(root, None, opening)
}

/// Opens the layout at `root` for adding to its history. A Moku site of a project other than
/// `project` is refused, and a site without a project is assigned to it. Other layouts have no
/// project.
pub fn open_writer_of(
    root: &Path,
    project: Option<&str>,
    opening: WriterOptions,
) -> Result<HistoryWriter, RepositoryError> {
    match detect_layout(root) {
        Some(Layout::Archive) => Ok(HistoryWriter::Archive(ArchiveHistoryWriter::open(root, opening)?)),
        Some(Layout::Moku) => {
            let options = MokuOptions { project_id: project.map(str::to_owned), ..MokuOptions::default() };
            let site_opening = MokuWriterOptions { options, ..MokuWriterOptions::default() };
            Ok(HistoryWriter::Moku(MokuHistoryWriter::open(root, &site_opening, opening)?))
        }
        Some(Layout::Crystal) => Err(RepositoryError::NotForVersions { path: root.to_owned() }),
        Some(Layout::Aardwarc) => Err(RepositoryError::OnlyObjects { path: root.to_owned() }),
        Some(Layout::WebArchive) => Err(RepositoryError::ReadInPlace { path: root.to_owned() }),
        None => Err(RepositoryError::NotAnArchive { path: root.to_owned() }),
    }
}

/// Whether the name is that of a Crystal project. An error about its content then helps more than
/// the error that it is not an archive.
fn is_meant_as_project(root: &Path) -> bool {
    let name = root.file_name().unwrap_or_default().as_encoded_bytes();
    [varve_crystal::PROJECT_SUFFIX, varve_crystal::PARTIAL_SUFFIX, varve_crystal::OPENER_SUFFIX]
        .iter()
        .any(|suffix| name.ends_with(suffix.as_bytes()))
}
