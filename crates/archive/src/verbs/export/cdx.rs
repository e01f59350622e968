//! `export --format cdxj`, `cdx` and `zipnum`: the index of WARC files, or of the silos of an archive.
//!
//! Lines of any number of files are sorted by their bytes in a fixed amount of memory. A
//! ZipNum index is a folder, because it has several files that belong together.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use varve_cdx::{
    CdxColumns, CdxEntry, IndexedFile, IndexingOptions, LineSorter, SortedLines, ZipNumStyle, ZipNumWriter,
    index_file,
};
use varve_repository::{Archive, RepositoryError, WebArchive};
use varve_store::StoreError;
use varve_warc::rules::{RuleSeverity, WarcFinding};
use varve_wire::ReadAt;

use super::output::{ExportTarget, folder_of};
use crate::error::ArchiveError;
use crate::unfinished_folder::UnfinishedFolder;

/// The files of a ZipNum index.
const BLOCKS_FILE: &str = "cdx-00000.gz";
const SUMMARY_FILE: &str = "cluster.idx";
const PARTS_FILE: &str = "cluster.loc";
/// Maximum number of findings that are kept of each file; the others are counted.
const MAX_FINDINGS_PER_FILE: usize = 20;

/// The format of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CdxFormat {
    /// Lines with JSON.
    Cdxj,
    /// Lines with 11 columns.
    Cdx,
    /// Blocks of CDXJ lines, and a summary.
    ZipNum,
}

/// The files to index.
pub enum CdxSources<'a> {
    /// WARC and ARC files.
    Files(&'a [PathBuf]),
    /// The silos of an archive.
    Silos(&'a Archive),
    /// The files of an archive of another program, also those in packages.
    WebArchive(&'a WebArchive),
}

/// The result of an export.
#[derive(Debug, Default)]
pub struct CdxExported {
    /// The file or folder; `-` for a stream.
    pub path: PathBuf,
    /// Files that were indexed.
    pub files: u64,
    /// Lines. Equal lines count once.
    pub lines: u64,
    /// Records that have no line because they begin inside a compressed member.
    pub unaddressable: u64,
    /// Bytes of the index.
    pub bytes: u64,
    /// Damage, by file.
    pub findings: Vec<CdxFinding>,
    /// The number of findings, with those that were not kept.
    pub finding_count: u64,
}

/// Damage of an indexed file.
#[derive(Debug)]
pub struct CdxFinding {
    /// The file.
    pub file: PathBuf,
    /// The damage.
    pub finding: WarcFinding,
}

/// The number of bytes to read, for a progress display.
pub fn bytes_to_index(sources: &CdxSources<'_>) -> Result<u64, ArchiveError> {
    match sources {
        CdxSources::Files(files) => {
            Ok(files.iter().map(|file| fs::metadata(file).map_or(0, |about| about.len())).sum())
        }
        CdxSources::Silos(archive) => {
            let silos = archive.backends().silos().list().map_err(StoreError::from)?;
            Ok(silos.values().map(|silo| silo.length).sum())
        }
        CdxSources::WebArchive(archive) => {
            let mut bytes = 0;
            for name in archive.record_file_names() {
                let file = archive.open_record_file(name).map_err(RepositoryError::from)?;
                // Only for the display: a file that cannot be read is an error when it is indexed.
                bytes += file.map_or(0, |file| file.size().unwrap_or(0));
            }
            Ok(bytes)
        }
    }
}

/// Writes an index. `progress` is called with the number of further bytes that were read.
pub fn export(
    sources: &CdxSources<'_>,
    format: CdxFormat,
    target: ExportTarget<'_>,
    progress: &dyn Fn(u64),
) -> Result<CdxExported, ArchiveError> {
    let columns = (format == CdxFormat::Cdx).then(CdxColumns::default);
    let temporary = target.temporary_folder();
    let mut indexing = Indexing {
        sorter: LineSorter::new(temporary),
        columns: columns.clone(),
        exported: CdxExported { path: target.path(), ..CdxExported::default() },
        progress,
    };
    match sources {
        CdxSources::Files(files) => files.iter().try_for_each(|file| indexing.open(file))?,
        CdxSources::Silos(archive) => {
            let silos = archive.backends().silos();
            for (number, silo) in silos.list().map_err(StoreError::from)? {
                let source = silos.open(number).map_err(StoreError::from)?;
                indexing.add(&source, Path::new(&silo.name()))?;
            }
        }
        CdxSources::WebArchive(archive) => {
            for name in archive.record_file_names() {
                if let Some(file) = archive.open_record_file(name).map_err(RepositoryError::from)? {
                    indexing.add(&file, Path::new(name))?;
                }
            }
        }
    }
    let Indexing { sorter, mut exported, .. } = indexing;
    let path = exported.path.clone();
    let failed = |source| ArchiveError::write(&path)(source);
    let mut sorted = sorter.finish().map_err(failed)?;
    match (format, target) {
        (CdxFormat::ZipNum, ExportTarget::File(folder)) => write_zipnum(&mut sorted, &folder, &mut exported)?,
        (CdxFormat::ZipNum, ExportTarget::Stream(_)) => return Err(ArchiveError::ManyFiles),
        (_, target) => target.write(|output| {
            write_lines(&mut sorted, columns.as_ref(), output, &mut exported).map_err(failed)
        })?,
    }
    Ok(exported)
}

struct Indexing<'a> {
    sorter: LineSorter,
    columns: Option<CdxColumns>,
    exported: CdxExported,
    progress: &'a dyn Fn(u64),
}

impl Indexing<'_> {
    fn open(&mut self, path: &Path) -> Result<(), ArchiveError> {
        let failed = |source| ArchiveError::OpenFile { path: path.to_owned(), source };
        // Checked before opening: opening a pipe without a writer would block forever.
        if !fs::metadata(path).map_err(failed)?.is_file() {
            return Err(failed(io::Error::other("it is not a regular file")));
        }
        self.add(&File::open(path).map_err(failed)?, path)
    }

    /// Indexes a file.
    fn add(&mut self, source: &impl ReadAt, path: &Path) -> Result<(), ArchiveError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let options = IndexingOptions { filename: name, record_digests: false };
        let (sorter, columns) = (&mut self.sorter, &self.columns);
        let mut push = |entry: CdxEntry| {
            sorter.push(|line| match columns {
                Some(columns) => columns.write_line(&entry, line),
                None => entry.write_cdxj(line),
            })
        };
        let indexed = index_file(source, &options, self.progress, &mut push);
        let failed = |source| ArchiveError::WarcFile { path: path.to_owned(), source };
        let IndexedFile { findings, unaddressable, .. } = indexed.map_err(failed)?;
        self.exported.files += 1;
        self.exported.unaddressable += unaddressable;
        let serious = findings.into_iter().filter(|finding| finding.rule.severity() > RuleSeverity::Notice);
        for (number, finding) in serious.enumerate() {
            self.exported.finding_count += 1;
            if number < MAX_FINDINGS_PER_FILE {
                self.exported.findings.push(CdxFinding { file: path.to_owned(), finding });
            }
        }
        Ok(())
    }
}

fn write_lines(
    sorted: &mut SortedLines,
    columns: Option<&CdxColumns>,
    output: &mut dyn Write,
    exported: &mut CdxExported,
) -> io::Result<()> {
    if let Some(columns) = columns {
        let header = columns.header();
        exported.bytes += header.len() as u64 + 1;
        writeln!(output, "{header}")?;
    }
    let mut line = Vec::new();
    while sorted.next_line(&mut line)? {
        line.push(b'\n');
        output.write_all(&line)?;
        exported.lines += 1;
        exported.bytes += line.len() as u64;
    }
    Ok(())
}

/// Writes a folder with blocks, summary and the file that names the blocks.
fn write_zipnum(
    sorted: &mut SortedLines,
    folder: &Path,
    exported: &mut CdxExported,
) -> Result<(), ArchiveError> {
    if folder.symlink_metadata().is_ok() {
        return Err(ArchiveError::TargetExists(folder.to_owned()));
    }
    let parent = folder_of(folder);
    let unfinished =
        UnfinishedFolder::begin(parent).map_err(|error| ArchiveError::write(parent)(error.into()))?;
    let built = unfinished.path().join("index");
    let mut write = || -> io::Result<()> {
        fs::create_dir(&built)?;
        let blocks = BufWriter::new(File::create_new(built.join(BLOCKS_FILE))?);
        let summary = BufWriter::new(File::create_new(built.join(SUMMARY_FILE))?);
        let mut writer = ZipNumWriter::new(blocks, summary, ZipNumStyle::Cluster, BLOCKS_FILE);
        let mut line = Vec::new();
        while sorted.next_line(&mut line)? {
            writer.line(&line)?;
        }
        let (blocks, summary, written) = writer.finish()?;
        for output in [blocks, summary] {
            output.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        }
        let mut parts = File::create_new(built.join(PARTS_FILE))?;
        writeln!(parts, "{BLOCKS_FILE}\t{BLOCKS_FILE}")?;
        parts.sync_all()?;
        (exported.lines, exported.bytes) = (written.lines, written.bytes);
        File::open(&built)?.sync_all()?;
        fs::rename(&built, folder)?;
        File::open(parent)?.sync_all()
    };
    write().map_err(ArchiveError::write(folder))
}
