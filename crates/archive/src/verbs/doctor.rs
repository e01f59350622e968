//! `doctor`: what a WARC or ARC file holds, what is wrong with it, and a right file made from it.
//!
//! Adds to `varve-warc` only what concerns files: opening them, naming the repaired one, and never leaving half a file
//! under its final name.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use varve_file::NewFile;
use varve_warc::inspect::{self, inspect};
use varve_warc::repair::{RepairError, WarcRepair};
use varve_warc::write::Packing;

pub use varve_warc::date::Date;
pub use varve_warc::inspect::{DigestCounts, InspectOptions, InspectReport};
pub use varve_warc::repair::RepairReport;
pub use varve_warc::rule::{Rule, RuleSeverity, WarcFinding};
pub use varve_warc::{Encoding, Format};

/// The endings that a repaired file may have.
pub const WARC_SUFFIXES: [&str; 3] = [".warc.gz", ".warc.zst", ".warc"];

/// Why a file could not be examined or repaired.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// It cannot be opened.
    #[error("could not open `{}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is a folder.
    #[error("`{}` is a folder", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// It is a pipe or a device, which cannot be read at offsets.
    #[error("`{}` is not a regular file", path.display())]
    NotAFile {
        /// What was given.
        path: PathBuf,
    },
    /// It cannot be read, or is no archive.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: varve_warc::Error,
    },
    /// The repaired file is there already.
    #[error("`{}` is there already", path.display())]
    Exists {
        /// The file that would be overwritten.
        path: PathBuf,
    },
    /// Two files would be repaired to one name.
    #[error("several files need a folder to be repaired to, and `{}` is none", path.display())]
    NotAFolder {
        /// What was given.
        path: PathBuf,
    },
    /// The folder for the repaired file is not there.
    #[error("there is no folder `{}`", path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The name of the repaired file does not say how it is to be packed.
    #[error("`{}` does not end with {}", path.display(), WARC_SUFFIXES.join(", "))]
    Ending {
        /// The name.
        path: PathBuf,
    },
    /// The repaired file cannot be written.
    #[error("could not write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A record could not be written again.
    #[error("could not repair `{}`", path.display())]
    Repair {
        /// The file.
        path: PathBuf,
        /// Why.
        source: RepairError,
    },
}

/// The size of a file, for those who show progress; 0 when it is not known.
pub fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Examines one file. `progress` is told, from any thread, how many more bytes were dealt with.
pub fn examine(
    path: &Path,
    options: InspectOptions,
    progress: &(impl Fn(u64) + Sync),
) -> Result<InspectReport, DoctorError> {
    let file = open(path)?;
    inspect(&file, options, progress).map_err(|source| DoctorError::Read { path: path.to_owned(), source })
}

fn open(path: &Path) -> Result<File, DoctorError> {
    let failed = |source| DoctorError::Open { path: path.to_owned(), source };
    // Asked before opening: a pipe without a writer would make opening wait for ever.
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(DoctorError::Folder { path: path.to_owned() });
    }
    if !metadata.is_file() {
        return Err(DoctorError::NotAFile { path: path.to_owned() });
    }
    File::open(path).map_err(failed)
}

/// Where the repaired form of `source` goes: into the folder `target`, or to that very name when it is one file. Whether a
/// file can be written there is tried: whoever asks is about to read for hours.
pub fn repaired_path(source: &Path, target: &Path, one_of_many: bool) -> Result<PathBuf, DoctorError> {
    let is_folder = target.is_dir();
    if !is_folder && target.as_os_str().to_string_lossy().ends_with(std::path::is_separator) {
        return Err(DoctorError::NoFolder { path: target.to_owned() });
    }
    if !is_folder && one_of_many {
        return Err(DoctorError::NotAFolder { path: target.to_owned() });
    }
    let path = if is_folder { target.join(repaired_name(source)) } else { target.to_owned() };
    if !WARC_SUFFIXES.iter().any(|ending| path.to_string_lossy().ends_with(ending)) {
        return Err(DoctorError::Ending { path });
    }
    if path.symlink_metadata().is_ok() {
        return Err(DoctorError::Exists { path });
    }
    let folder = folder_of(&path);
    if !folder.is_dir() {
        return Err(DoctorError::NoFolder { path: folder.to_owned() });
    }
    match NewFile::new_in(folder) {
        Ok(_) => Ok(path),
        Err(source) => Err(DoctorError::Write { path, source }),
    }
}

/// The name of a file once it is repaired.
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

/// Writes a right file from `source` to `target`, which must not be there. `software` and `now` go into its records.
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
        temporary: Some(folder.to_owned()),
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

/// By the name that is asked for: here a name is an order, not evidence.
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

/// How many findings are worse than a notice.
pub fn complaints(report: &InspectReport) -> u64 {
    let serious = report.by_rule.iter().filter(|(rule, _)| rule.severity() > RuleSeverity::Notice);
    serious.map(|(_, count)| count).sum()
}

/// The options for a look at the letter of the standard, or only at what readers stumble over.
pub fn options(strict: bool) -> InspectOptions {
    InspectOptions { strict, ..inspect::InspectOptions::default() }
}
