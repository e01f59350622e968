//! `doctor`: examines a WARC or ARC file, reports its faults, and writes a repaired file.
//!
//! Adds only file handling to `varve-warc`: opening files, naming the repaired one, and never
//! leaving an incomplete file under its final name.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use varve_file::{NewFile, TemporaryFolder};
use varve_warc::inspect::{self, inspect};
use varve_warc::repair::{RepairError, WarcRepair};
use varve_warc::write::Packing;

pub use varve_wacz::{PackageSignature, PackageSigner, ZipFinding};
pub use varve_warc::date::Date;
pub use varve_warc::inspect::{DigestCounts, InspectOptions, InspectReport};
pub use varve_warc::repair::RepairReport;
pub use varve_warc::rules::{Rule, RuleSeverity, WarcFinding};
pub use varve_warc::{Encoding, Format};

/// The suffixes that a repaired file may have.
pub const WARC_SUFFIXES: [&str; 3] = [".warc.gz", ".warc.zst", ".warc"];

/// Why a file could not be examined or repaired.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// The file cannot be opened.
    #[error("could not open `{}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The path is a folder.
    #[error("`{}` is a folder", _0.display())]
    Folder(PathBuf),
    /// The path is a pipe or a device, which cannot be read at offsets.
    #[error("`{}` is not a regular file", _0.display())]
    NotAFile(PathBuf),
    /// The file cannot be read, or is not a WARC or ARC file.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: varve_warc::Error,
    },
    /// The WACZ file cannot be read.
    #[error("could not read `{}`", path.display())]
    Package {
        /// The file.
        path: PathBuf,
        /// Why.
        source: varve_wacz::WaczError,
    },
    /// The repaired file already exists.
    #[error("`{}` exists already", _0.display())]
    Exists(PathBuf),
    /// Two files would be repaired to the same name.
    #[error("several files are repaired into a folder, and `{}` is not one", _0.display())]
    NotAFolder(PathBuf),
    /// The folder for the repaired file does not exist.
    #[error("there is no folder `{}`", _0.display())]
    NoFolder(PathBuf),
    /// The name of the repaired file has no suffix that selects the compression.
    #[error("`{}` does not end with {}", _0.display(), WARC_SUFFIXES.join(", "))]
    Ending(PathBuf),
    /// The repaired file cannot be written.
    #[error("could not write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A record could not be rewritten.
    #[error("could not repair `{}`", path.display())]
    Repair {
        /// The file.
        path: PathBuf,
        /// Why.
        source: RepairError,
    },
}

/// The size of a file, for a progress display; 0 if it is unknown.
pub fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Examines one file. `progress` is called from any thread with the number of bytes just processed.
pub fn examine(
    path: &Path,
    options: InspectOptions,
    progress: &(impl Fn(u64) + Sync),
) -> Result<InspectReport, DoctorError> {
    let file = open(path)?;
    inspect(&file, options, progress).map_err(|source| DoctorError::Read { path: path.to_owned(), source })
}

pub(super) fn open(path: &Path) -> Result<File, DoctorError> {
    let failed = |source| DoctorError::Open { path: path.to_owned(), source };
    // Checked before opening: opening a pipe without a writer would block forever.
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(DoctorError::Folder(path.to_owned()));
    }
    if !metadata.is_file() {
        return Err(DoctorError::NotAFile(path.to_owned()));
    }
    File::open(path).map_err(failed)
}

/// The path of the repaired form of `source`: in the folder `target`, or `target` itself for a
/// single file. Tests that a file can be written there, because the examination may take hours.
pub fn repaired_path(source: &Path, target: &Path, one_of_many: bool) -> Result<PathBuf, DoctorError> {
    let is_folder = target.is_dir();
    if !is_folder && target.as_os_str().to_string_lossy().ends_with(std::path::is_separator) {
        return Err(DoctorError::NoFolder(target.to_owned()));
    }
    if !is_folder && one_of_many {
        return Err(DoctorError::NotAFolder(target.to_owned()));
    }
    let path = if is_folder { target.join(repaired_name(source)) } else { target.to_owned() };
    if !WARC_SUFFIXES.iter().any(|ending| path.to_string_lossy().ends_with(ending)) {
        return Err(DoctorError::Ending(path));
    }
    if path.symlink_metadata().is_ok() {
        return Err(DoctorError::Exists(path));
    }
    let folder = folder_of(&path);
    if !folder.is_dir() {
        return Err(DoctorError::NoFolder(folder.to_owned()));
    }
    match NewFile::new_in(folder) {
        Ok(_) => Ok(path),
        Err(source) => Err(DoctorError::Write { path, source }),
    }
}

/// The file name of a repaired file.
fn repaired_name(source: &Path) -> String {
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    let stem = [".gz", ".zst", ".open", ".warc", ".arc"]
        .iter()
        .fold(name.as_ref(), |name, suffix| name.strip_suffix(suffix).unwrap_or(name));
    format!("{stem}.warc.gz")
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a repaired copy of `source` to `target`, which must not exist. `software` and `now` are
/// written to its records.
pub fn repair(source: &Path, target: &Path, software: &str, now: Date) -> Result<RepairReport, DoctorError> {
    let unwritten = |source| DoctorError::Write { path: target.to_owned(), source };
    let file = open(source)?;
    let folder = folder_of(target);
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut output = BufWriter::new(NewFile::new_in(folder).map_err(unwritten)?);
    let repair = WarcRepair {
        software,
        source_name: &name(source),
        target_name: &name(target),
        date: now,
        packing: packing_for(target),
        temporary: Some(TemporaryFolder::from(folder)),
    };
    let repaired = repair.run(&file, &mut output).map_err(|error| match error {
        RepairError::Read(source_error) => {
            DoctorError::Read { path: source.to_owned(), source: source_error }
        }
        RepairError::Write(source) => DoctorError::Write { path: target.to_owned(), source },
        other => DoctorError::Repair { path: source.to_owned(), source: other },
    })?;
    output.flush().map_err(unwritten)?;
    let output = output.into_inner().map_err(|error| unwritten(error.into_error()))?;
    output.as_file().sync_all().map_err(unwritten)?;
    output.persist_noclobber(target).map_err(|error| unwritten(error.error))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(unwritten)?;
    Ok(repaired)
}

/// The compression selected by the suffix of the requested name, not by the content.
fn packing_for(target: &Path) -> Packing {
    let name = target.to_string_lossy();
    if name.ends_with(".zst") {
        Packing::Zstd { level: 3, dictionary: None }
    } else if name.ends_with(".gz") {
        Packing::Gzip
    } else {
        Packing::Plain
    }
}

/// Number of findings above the severity of a notice.
pub fn complaints(report: &InspectReport) -> u64 {
    let serious = report.by_rule.iter().filter(|(rule, _)| rule.severity() > RuleSeverity::Notice);
    serious.map(|(_, count)| count).sum()
}

/// The options for a strict check of the standard, or for a check of only the faults that affect
/// readers.
pub fn options(strict: bool) -> InspectOptions {
    InspectOptions { strict, ..inspect::InspectOptions::default() }
}
