//! The index made again from the silos alone.
//!
//! Every record of every silo is read on all cores; its header gives its entries, through the same function that made
//! them when it was written. The result is the same file, byte for byte, that housekeeping would have come to.

use varve_warc::rule::Finding;

use crate::error::StoreError;
use crate::index::{Entry, IndexOptions, Rebuild};
use crate::silo::{SiloFiles, walk};

/// What a rebuild came to.
#[derive(Debug, Default)]
pub struct RebuildDone {
    /// Silos that were read.
    pub silos: u64,
    /// Records in them.
    pub records: u64,
    /// Entries in the new index.
    pub entries: u64,
    /// What was not as it should be, with the silo: records that cannot be read have no entry.
    pub findings: Vec<(u32, Finding)>,
}

/// Bytes that a rebuild will read, for those who show progress.
pub fn bytes_to_read(files: &SiloFiles) -> Result<u64, StoreError> {
    Ok(files.list()?.values().map(|silo| silo.length).sum())
}

/// Makes the index in `folder` again. Nobody else may write meanwhile.
pub fn rebuild(
    files: &SiloFiles,
    folder: &std::path::Path,
    options: IndexOptions,
    threads: usize,
    progress: &(impl Fn(u64) + Sync),
) -> Result<RebuildDone, StoreError> {
    let mut done = RebuildDone::default();
    files.disk.make_folders(folder)?;
    let mut index = Rebuild::begin(&*files.disk, folder, options)?;
    for number in files.list()?.into_keys() {
        let source = files.open(number)?;
        let mut failure = Ok(());
        let walked = walk(&*source, number, threads, progress, &mut |entries: Vec<Entry>| {
            for entry in entries {
                if failure.is_ok() {
                    failure = index.push(entry);
                }
            }
        })
        .map_err(|error| StoreError::walk(number, error))?;
        failure?;
        done.silos += 1;
        done.records += walked.records;
        done.findings.extend(walked.findings.into_iter().map(|finding| (number, finding)));
    }
    done.entries = index.finish()?.entries;
    Ok(done)
}
