//! `checkout`: the pages of a version as files; HEAD moves to it where the layout has a working tree of its own.

use std::fs;
use std::path::Path;

use varve_catalog::Row;
use varve_core::VersionId;
use varve_core::fact::{HeadMoved, media_type};

use crate::error::ArchiveError;
use crate::history::{HistoryWriter, Holdings, Pairs, WorkingTree, replace};

/// The file in a folder of ours that says which version it holds.
const MARK: &str = ".varve-checkout";

/// What became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckedOut {
    /// Pages written.
    pub written: u64,
    /// Pages of another version that were there and are gone.
    pub removed: u64,
    /// Pages of the version whose bodies are not here any more: taken out by a rewrite, or lost.
    pub absent: u64,
}

/// Lets HEAD point to a version, and the layout's own working tree hold its pages.
pub fn checkout(
    history: &dyn HistoryWriter,
    version: VersionId,
    progress: &mut dyn FnMut(u64),
) -> Result<CheckedOut, ArchiveError> {
    let before = history.head()?;
    // Also where HEAD stays: what is stopped half-way is then brought to its end.
    if before != Some(version) || history.working_tree().is_some() {
        history.intend_head(&version)?;
    }
    let done = match history.working_tree() {
        Some(root) => write_tree(history.as_holdings(), root, before, version, progress)?,
        None => CheckedOut::default(),
    };
    if before != Some(version) {
        let fact = HeadMoved { version, time: history.now() };
        let json = serde_json::to_vec(&fact).expect("a move of HEAD can be written as JSON");
        history.keep_fact(&format!("urn:uuid:{version}"), media_type::HEAD, &json)?;
        history.apply(vec![Row::Head(version)])?;
    }
    if before != Some(version) || history.working_tree().is_some() {
        history.set_head(&version)?;
    }
    Ok(done)
}

/// Writes the pages of a version to a folder: a new or empty one, or one that such a call made before.
pub fn export(
    holdings: &dyn Holdings,
    version: VersionId,
    folder: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<CheckedOut, ArchiveError> {
    let mark = folder.join(MARK);
    let before = match fs::read_to_string(&mark) {
        Ok(text) => text.trim().parse().ok(),
        Err(_) if is_free(folder) => None,
        Err(_) => return Err(ArchiveError::NotEmpty { path: folder.to_owned() }),
    };
    fs::create_dir_all(folder).map_err(ArchiveError::write(folder))?;
    let write_mark =
        |text: &str| replace(&mark, &mut text.as_bytes(), false).map_err(ArchiveError::write(&mark));
    let done = {
        // Until it is done the folder holds pages of both.
        write_mark(&before.unwrap_or(version).to_string())?;
        write_tree(holdings, folder, before, version, progress)?
    };
    write_mark(&version.to_string())?;
    Ok(done)
}

fn is_free(folder: &Path) -> bool {
    match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Makes a tree that may hold the pages of `before` hold those of `version`.
pub(crate) fn write_tree(
    holdings: &dyn Holdings,
    root: &Path,
    before: Option<VersionId>,
    version: VersionId,
    progress: &mut dyn FnMut(u64),
) -> Result<CheckedOut, ArchiveError> {
    let mut tree = WorkingTree::new(root);
    let mut done = CheckedOut::default();
    for pair in Pairs::new(holdings.catalog(), before, Some(version)) {
        let pair = pair?;
        match (&pair.base, &pair.head) {
            (base, Some(page)) => match tree.write(holdings, page) {
                Err(ArchiveError::Absent { .. }) => {
                    // Nor may the page of another version pass for it.
                    base.iter().try_for_each(|page| tree.remove(page))?;
                    done.absent += 1;
                }
                other => {
                    other?;
                    done.written += 1;
                }
            },
            (Some(page), None) => {
                tree.remove(page)?;
                done.removed += 1;
            }
            (None, None) => {}
        }
        progress(1);
    }
    Ok(done)
}
