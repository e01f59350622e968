//! Makes the files of the log what the catalog says, at the cost of the change, and compares them.

use std::io;

use varve_catalog::CatalogRead;
use varve_core::fact::CheckpointSigned;
use varve_core::history::ListCursor;
use varve_tlog::{
    LogError, MAX_NOTE_BYTES, MAX_TIMESTAMP_BYTES, TileName, TileStorage, TreeCheckpoint, TreeWriter,
};

use super::log_files::{answer_bytes, checkpoint_name, timestamp_name};
use super::{LogFiles, gap_error, log_entry};
use crate::error::RepositoryError;

/// Maximum length of a tile or entry bundle of this log, whose entries have 32 bytes.
const MAX_TILE_FILE_BYTES: usize = 256 * 34;
/// Number of leaves or checkpoints per query.
const ROWS_PER_QUERY: usize = 1_000;

/// Brings the files up to the newest checkpoint of the catalog. Files that do not match their own
/// checkpoint are all made again.
pub fn update_log_files(files: &LogFiles, catalog: &dyn CatalogRead) -> Result<(), RepositoryError> {
    let Some(last) = catalog.last_log_checkpoint()? else { return Ok(()) };
    let current = files.checkpoint().ok().flatten();
    if current.as_deref() == Some(last.note.as_bytes()) {
        // The writer may have been stopped between the fact of a timestamp and its file.
        for stamped in catalog.log_timestamps(last.size)? {
            if files.content(&timestamp_name(&stamped), MAX_TIMESTAMP_BYTES).is_none() {
                files.write_timestamp(&stamped)?;
            }
        }
        return Ok(());
    }
    if let Some((begin, _)) = known_checkpoint(current.as_deref(), catalog)? {
        match write_from(files, catalog, Some(&begin), &last) {
            Err(RepositoryError::Log(_)) => {}
            done => return done,
        }
    }
    rebuild_log_files(files, catalog)
}

/// Makes all files of the log again.
pub fn rebuild_log_files(files: &LogFiles, catalog: &dyn CatalogRead) -> Result<(), RepositoryError> {
    files.remove_all()?;
    match catalog.last_log_checkpoint()? {
        Some(last) => write_from(files, catalog, None, &last),
        None => Ok(()),
    }
}

/// The checkpoint in the file, if it is one of the catalog.
fn known_checkpoint(
    current: Option<&[u8]>,
    catalog: &dyn CatalogRead,
) -> Result<Option<(TreeCheckpoint, CheckpointSigned)>, RepositoryError> {
    let parsed = current.and_then(|note| TreeCheckpoint::of_note(note).ok());
    let Some((_, checkpoint)) = parsed.filter(|(_, checkpoint)| checkpoint.size > 0) else { return Ok(None) };
    let cursor = ListCursor { after: Some(checkpoint.size - 1), limit: 1 };
    let known = catalog.log_checkpoints(cursor)?.into_iter().next();
    let known = known.filter(|known| current == Some(known.note.as_bytes()));
    Ok(known.map(|known| (checkpoint, known)))
}

/// Writes the files from one checkpoint, or from the beginning, to the last.
fn write_from(
    files: &LogFiles,
    catalog: &dyn CatalogRead,
    begin: Option<&TreeCheckpoint>,
    last: &CheckpointSigned,
) -> Result<(), RepositoryError> {
    let mut storage = files.clone();
    let mut writer = match begin {
        Some(begin) => TreeWriter::resume(&mut storage, begin)?,
        None => TreeWriter::empty(&mut storage),
    };
    each_checkpoint(catalog, &mut writer, last.size, &mut |signed| {
        files.write_sized_checkpoint(signed)?;
        for stamped in catalog.log_timestamps(signed.size)? {
            files.write_timestamp(&stamped)?;
        }
        Ok(())
    })?;
    files.write_checkpoint(last)
}

/// Appends the leaves of the catalog to a tree, and calls `each` at each checkpoint, when the tiles
/// that it needs are written.
fn each_checkpoint(
    catalog: &dyn CatalogRead,
    writer: &mut TreeWriter<'_>,
    log_size: u64,
    each: &mut dyn FnMut(&CheckpointSigned) -> Result<(), RepositoryError>,
) -> Result<(), RepositoryError> {
    let mut after = Some(writer.size());
    loop {
        let checkpoints = catalog.log_checkpoints(ListCursor { after, limit: ROWS_PER_QUERY })?;
        let Some(end) = checkpoints.last() else { return Ok(()) };
        after = Some(end.size);
        for signed in &checkpoints {
            append_leaves(catalog, writer, signed.size)?;
            let (_, checkpoint) = TreeCheckpoint::of_note(signed.note.as_bytes())?;
            if (checkpoint.size, checkpoint.root) != (writer.size(), writer.root()) {
                let (found, expected) = (writer.root().to_string(), checkpoint.root.to_string());
                return Err(LogError::OtherRoot { size: signed.size, found, expected }.into());
            }
            writer.write_partial_tiles(log_size)?;
            each(signed)?;
        }
    }
}

/// Appends the leaves of the catalog up to this size.
fn append_leaves(
    catalog: &dyn CatalogRead,
    writer: &mut TreeWriter<'_>,
    size: u64,
) -> Result<(), RepositoryError> {
    while writer.size() < size {
        let limit = usize::try_from(size - writer.size()).unwrap_or(usize::MAX).min(ROWS_PER_QUERY);
        let leaves = catalog.log_leaves(writer.size(), limit)?;
        if leaves.is_empty() {
            return Err(gap_error(writer.size()).into());
        }
        for (leaf, manifest) in leaves {
            if leaf != writer.size() {
                return Err(gap_error(writer.size()).into());
            }
            writer.push(log_entry(&manifest))?;
        }
    }
    Ok(())
}

/// Calls `found` with the name of each file of the log that is not as the catalog makes it.
pub fn find_wrong_files(
    files: &LogFiles,
    catalog: &dyn CatalogRead,
    found: &mut dyn FnMut(String),
) -> Result<(), RepositoryError> {
    let Some(last) = catalog.last_log_checkpoint()? else { return Ok(()) };
    let mut comparison = FileComparison { files, wrong: Vec::new() };
    let mut others = Vec::new();
    let mut writer = TreeWriter::empty(&mut comparison);
    each_checkpoint(catalog, &mut writer, last.size, &mut |signed| {
        let mut expected = vec![(checkpoint_name(signed), signed.note.clone().into_bytes(), MAX_NOTE_BYTES)];
        for stamped in catalog.log_timestamps(signed.size)? {
            expected.push((timestamp_name(&stamped), answer_bytes(&stamped), MAX_TIMESTAMP_BYTES));
        }
        let wrong = expected
            .into_iter()
            .filter(|(name, content, limit)| files.content(name, *limit).as_deref() != Some(content));
        others.extend(wrong.map(|(name, ..)| name));
        Ok(())
    })?;
    if files.content("checkpoint", MAX_NOTE_BYTES).as_deref() != Some(last.note.as_bytes()) {
        others.push("checkpoint".to_owned());
    }
    comparison.wrong.into_iter().chain(others).for_each(found);
    Ok(())
}

/// Compares tiles with those in the files instead of writing them.
struct FileComparison<'a> {
    files: &'a LogFiles,
    wrong: Vec<String>,
}

impl TileStorage for FileComparison<'_> {
    fn read_tile(&self, _: &TileName, _: usize) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn write_tile(&mut self, name: &TileName, content: &[u8]) -> io::Result<()> {
        let tile = |name: String| self.files.content(&name, MAX_TILE_FILE_BYTES);
        // A partial tile may be gone when the full one is there, also if a seal was interrupted then.
        let is_right = match tile(name.to_string()) {
            Some(found) => found == content,
            None if !name.is_full() => tile(name.full_path()).is_some_and(|full| full.starts_with(content)),
            None => false,
        };
        if !is_right {
            self.wrong.push(name.to_string());
        }
        Ok(())
    }

    fn remove_partial_tiles(&mut self, _: &TileName) -> io::Result<()> {
        Ok(())
    }
}
