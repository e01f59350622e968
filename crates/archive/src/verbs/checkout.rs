//! `checkout`: the pages of a version as files; HEAD moves to it where the layout has a working tree of its own.

use std::fs::{self, File, TryLockError};
use std::path::{Component, Path, PathBuf};
use varve_repository::RepositoryError;

use varve_catalog::CatalogRow;
use varve_core::VersionId;
use varve_core::fact::{HeadMoved, media_type};

use crate::error::ArchiveError;
pub use varve_repository::history::{CheckoutReport, CoveredPages};
use varve_repository::history::{
    HeadMove, HistoryReader, HistoryWriter, WorkingTree, detect_layout, known_version, replace, update_tree,
    write_tree, write_tree_lossy,
};

/// The file in a folder of ours that says which version it holds.
const MARK_FILE: &str = ".varve-checkout";

/// Lets HEAD point to a version, and the layout's own working tree hold its pages.
///
/// HEAD says what the next version descends from, and the tree is made from it: a page whose body cannot be had is left out and
/// named, and HEAD moves all the same. What cannot be written, though, takes all of it back.
pub fn checkout(
    history: &dyn HistoryWriter,
    version: VersionId,
    progress: &mut dyn FnMut(u64),
) -> Result<CheckoutReport, ArchiveError> {
    known_version(history.as_reader(), &version)?;
    let before = history.head()?;
    // Also where HEAD stays: what is stopped half-way is then brought to its end.
    if before != Some(version) || history.working_tree().is_some() {
        history.intend_head(&version, HeadMove::Checkout)?;
    }
    let done = match history.working_tree() {
        Some(root) => write_tree(history.as_reader(), root, before, version, progress)
            .map_err(|error| turn_back(history, root, before, version).err().unwrap_or(error))?,
        None => CheckoutReport::default(),
    };
    if before != Some(version) {
        let fact = HeadMoved { version, time: history.now() };
        let json = serde_json::to_vec(&fact).expect("a move of HEAD can be written as JSON");
        history.write_fact(&format!("urn:uuid:{version}"), media_type::HEAD, &json)?;
        history.apply(vec![CatalogRow::Head(version)])?;
    }
    if before != Some(version) || history.working_tree().is_some() {
        history.set_head(&version)?;
    }
    Ok(done)
}

/// Gives a tree back the pages of HEAD, as far as they can be written, after those of another version could not: the checkout
/// failed, and nobody may find later that it came about all the same.
fn turn_back(
    history: &dyn HistoryWriter,
    root: &Path,
    before: Option<VersionId>,
    version: VersionId,
) -> Result<(), RepositoryError> {
    if let Some(before) = before {
        // Whoever is stopped on the way back is to be brought back, too.
        history.intend_head(&before, HeadMove::Checkout)?;
        write_tree_lossy(history.as_reader(), root, Some(version), before);
    }
    history.clear_intended_head()
}

/// Writes the pages of a version to a folder: a new or empty one, or one that such a call made before.
pub fn export(
    holdings: &dyn HistoryReader,
    version: VersionId,
    folder: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<CheckoutReport, ArchiveError> {
    if let Some(own) = own_folder_around(folder) {
        return Err(ArchiveError::InsideArchive { path: folder.to_owned(), own });
    }
    known_version(holdings, &version)?;
    let is_in_the_way = fs::metadata(folder).is_ok_and(|found| !found.is_dir());
    if is_in_the_way {
        return Err(RepositoryError::InTheWay { path: folder.to_owned() }.into());
    }
    fs::create_dir_all(folder).map_err(ArchiveError::write(folder))?;
    let _alone = alone_in(folder)?;
    let mark = folder.join(MARK_FILE);
    let (before, is_new, is_unfinished) = match fs::read_to_string(&mark) {
        Ok(text) => {
            let mut words = text.split_whitespace();
            (words.next().and_then(|id| id.parse().ok()), false, words.next().is_some())
        }
        Err(_) if is_free(folder) => (None, true, false),
        Err(_) => return Err(RepositoryError::NotEmpty { path: folder.to_owned() }.into()),
    };
    let write_mark =
        |text: &str| replace(&mark, &mut text.as_bytes(), false).map_err(ArchiveError::write(&mark));
    // Until it is done the folder holds pages of both, and of a new tree some that may not be whole.
    write_mark(&format!("{} unfinished", before.unwrap_or(version)))?;
    let tree = match () {
        () if is_new => WorkingTree::new_at(folder),
        () if is_unfinished => WorkingTree::unfinished_at(folder),
        () => WorkingTree::new(folder),
    };
    let done = update_tree(holdings, tree, before, version, progress)?;
    write_mark(&version.to_string())?;
    Ok(done)
}

/// Sees to it that nobody else checks out to a folder while this lives: of two at once each would write over what the other wrote.
fn alone_in(folder: &Path) -> Result<Option<File>, ArchiveError> {
    // Not every system can lock a folder, and not every disk can lock anything.
    let Ok(file) = File::open(folder) else { return Ok(None) };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(ArchiveError::CheckedOutTo { path: folder.to_owned() }),
        Err(TryLockError::Error(_)) => Ok(None),
        Ok(()) => Ok(Some(file)),
    }
}

/// Folders that an archive, a Moku site or a Crystal project has for itself.
const OWN_FOLDERS: [&str; 6] = [".moku", "index", "revisions", "tmp", "urls", "warc"];

/// The folder that an archive has for itself and that this one is in, or is: what lies there is swept, rebuilt or taken for a silo.
fn own_folder_around(folder: &Path) -> Option<PathBuf> {
    let resolved = resolved(folder);
    let is_own = |place: &&Path| {
        let is_named = place.file_name().is_some_and(|name| OWN_FOLDERS.iter().any(|own| name == *own));
        is_named && place.parent().is_some_and(|parent| detect_layout(parent).is_some())
    };
    resolved.ancestors().find(is_own).map(Path::to_owned)
}

/// Where a folder is or would be, past links.
fn resolved(folder: &Path) -> PathBuf {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let found = whole.ancestors().find_map(|above| Some((above, fs::canonicalize(above).ok()?)));
    let Some((above, mut real)) = found else { return whole };
    for part in whole.strip_prefix(above).into_iter().flat_map(Path::components) {
        match part {
            Component::ParentDir => _ = real.pop(),
            part => real.push(part),
        }
    }
    real
}

fn is_free(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}
