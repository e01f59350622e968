//! `checkout`: writes the pages of a version as files. HEAD moves to it if the layout has its own
//! working tree.

use std::fs::{self, File, TryLockError};
use std::io;
use std::mem::discriminant;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use varve_file::RootedFiles;
use varve_repository::RepositoryError;

use varve_catalog::CatalogRow;
use varve_core::VersionId;
use varve_core::fact::{HeadMoved, media_type};

use super::commit::normal_url;
use crate::error::ArchiveError;
pub use crate::site_files::FileOptions;
use crate::site_files::{FilesUpdate, MARK_FILE, TreeCondition};
use varve_repository::atomic_replace::replace;
use varve_repository::detect_own_layout;
pub use varve_repository::history::{CheckoutReport, CoveredPages};
use varve_repository::history::{
    HistoryReader, HistoryWriter, WorkingTree, known_version, update_tree, write_tree, write_tree_lossy,
};

/// Maximum length of the mark of a folder. It has a URL, and one version more after each checkout
/// that was interrupted.
const MAX_MARK_BYTES: u64 = 1 << 20;

/// Moves HEAD to a version, and writes its pages to the layout's own working tree.
///
/// HEAD is the parent of the next version, and the tree is made from it. A page whose body is
/// unavailable is skipped and reported, and HEAD still moves. A write error, however, undoes the
/// whole checkout.
pub fn checkout(
    history: &HistoryWriter,
    version: VersionId,
    progress: &mut dyn FnMut(u64),
) -> Result<CheckoutReport, ArchiveError> {
    known_version(history.as_reader(), &version)?;
    let before = history.head()?;
    // Also if HEAD stays: the next writer then completes an interrupted checkout.
    if before != Some(version) || history.working_tree().is_some() {
        history.intend_head(&version)?;
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
        history.move_head(before, version)?;
    }
    Ok(done)
}

/// Restores the pages of HEAD in a tree, as far as possible, after those of another version could
/// not be written. The checkout failed, and must not be completed later.
fn turn_back(
    history: &HistoryWriter,
    root: &Path,
    before: Option<VersionId>,
    version: VersionId,
) -> Result<(), RepositoryError> {
    if let Some(before) = before {
        // If this is interrupted as well, the next writer completes the restoration.
        history.intend_head(&before)?;
        write_tree_lossy(history.as_reader(), root, Some(version), before);
    }
    history.clear_intended_head()
}

/// How pages are written to a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "layout")]
pub enum FolderLayout {
    /// A file for each page, which a browser opens.
    Files(FileOptions),
    /// A folder with two files for each page, as in the working tree of a Moku site.
    Moku,
}

/// The URL of a folder, with a slash at its end, as pages below it begin.
pub fn folder_url(text: &str) -> Result<String, ArchiveError> {
    let url = normal_url(text)?;
    if url.contains(['?', '#']) {
        return Err(ArchiveError::NotAFolderUrl(url));
    }
    Ok(format!("{}/", url.trim_end_matches('/')))
}

/// What the mark of a folder says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct FolderMark {
    /// The versions of which it may hold files: one, unless it is unfinished.
    holds: Vec<HeldVersion>,
    /// Whether writing was interrupted, so that files may be missing or incomplete.
    unfinished: bool,
}

/// A version in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct HeldVersion {
    version: VersionId,
    #[serde(flatten)]
    layout: FolderLayout,
}

/// Writes the pages of a version to a folder: a new or empty one, or one from an earlier export.
pub fn export(
    history: &HistoryReader,
    version: VersionId,
    folder: &Path,
    layout: FolderLayout,
    progress: &mut dyn FnMut(u64),
) -> Result<CheckoutReport, ArchiveError> {
    if let Some(own) = own_folder_around(folder) {
        return Err(ArchiveError::InsideArchive { path: folder.to_owned(), own });
    }
    known_version(history, &version)?;
    let is_in_the_way = fs::metadata(folder).is_ok_and(|found| !found.is_dir());
    if is_in_the_way {
        return Err(RepositoryError::InTheWay { path: folder.to_owned() }.into());
    }
    fs::create_dir_all(folder).map_err(ArchiveError::write(folder))?;
    let _alone = alone_in(folder)?;
    let (path, files) = (folder.join(MARK_FILE), RootedFiles::new(folder));
    let before = read_mark(&files, &path, folder)?;
    let is_other = |held: &HeldVersion| discriminant(&held.layout) != discriminant(&layout);
    if before.iter().flat_map(|before| &before.holds).any(is_other) {
        return Err(ArchiveError::OtherFolderLayout(folder.to_owned()));
    }
    let write_mark = |mark: &FolderMark| {
        let json = serde_json::to_string(mark).expect("a mark can be written as JSON") + "\n";
        replace(&files, &path, &mut json.as_bytes(), false).map_err(ArchiveError::write(&path))
    };
    // Until the export is done, the folder holds pages of both versions, and a new tree may hold
    // incomplete pages.
    let new = HeldVersion { version, layout };
    let mut holds = before.clone().unwrap_or_default().holds;
    if !holds.contains(&new) {
        holds.push(new.clone());
    }
    write_mark(&FolderMark { holds, unfinished: true })?;
    let report = match &new.layout {
        FolderLayout::Moku => export_as_moku(history, folder, before.as_ref(), version, progress)?,
        FolderLayout::Files(options) => {
            FilesUpdate::new(history, folder, condition_of(before)).run(version, options.clone(), progress)?
        }
    };
    write_mark(&FolderMark { holds: vec![new], unfinished: false })?;
    Ok(report)
}

/// The mark of a folder; `None` if it is empty.
fn read_mark(files: &RootedFiles, path: &Path, folder: &Path) -> Result<Option<FolderMark>, ArchiveError> {
    let failed = |source| RepositoryError::Read { path: path.to_owned(), source };
    match files.read_text(path, MAX_MARK_BYTES).map_err(failed)? {
        Some(text) => match serde_json::from_str(&text) {
            Ok(mark) => Ok(Some(mark)),
            Err(error) => Err(failed(io::Error::new(io::ErrorKind::InvalidData, error)).into()),
        },
        None if is_free(folder) => Ok(None),
        None => Err(RepositoryError::NotEmpty { path: folder.to_owned() }.into()),
    }
}

fn condition_of(before: Option<FolderMark>) -> TreeCondition {
    let Some(FolderMark { holds, unfinished }) = before else { return TreeCondition::New };
    let of_files = |held: HeldVersion| match held.layout {
        FolderLayout::Files(options) => Some((held.version, options)),
        FolderLayout::Moku => None,
    };
    TreeCondition::Used { holds: holds.into_iter().filter_map(of_files).collect(), unfinished }
}

fn export_as_moku(
    history: &HistoryReader,
    folder: &Path,
    before: Option<&FolderMark>,
    version: VersionId,
    progress: &mut dyn FnMut(u64),
) -> Result<CheckoutReport, RepositoryError> {
    let tree = match before {
        None => WorkingTree::new_at(folder),
        Some(before) if before.unfinished => WorkingTree::unfinished_at(folder),
        Some(_) => WorkingTree::new(folder),
    };
    let held = before.and_then(|before| before.holds.first()).map(|held| held.version);
    update_tree(history, tree, held, version, progress)
}

/// Locks a folder against other checkouts while the returned file lives: two at once would
/// overwrite each other's files.
fn alone_in(folder: &Path) -> Result<Option<File>, ArchiveError> {
    // Not every system can lock a folder, and not every file system supports locks.
    let Ok(file) = File::open(folder) else { return Ok(None) };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(ArchiveError::CheckedOutTo(folder.to_owned())),
        Err(TryLockError::Error(_)) => Ok(None),
        Ok(()) => Ok(Some(file)),
    }
}

/// Folders that an archive, a Moku site or a Crystal project reserves for itself.
const OWN_FOLDERS: [&str; 6] = [".moku", "index", "revisions", "tmp", "urls", "warc"];

/// The reserved folder of an archive that is or contains this one. Files there are swept, rebuilt
/// or mistaken for a silo.
fn own_folder_around(folder: &Path) -> Option<PathBuf> {
    let resolved = resolved(folder);
    let is_own = |place: &&Path| {
        let is_named = place.file_name().is_some_and(|name| OWN_FOLDERS.iter().any(|own| name == *own));
        is_named && place.parent().is_some_and(|parent| detect_own_layout(parent).is_some())
    };
    resolved.ancestors().find(is_own).map(Path::to_owned)
}

/// The path of an existing or new folder, with links resolved.
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
