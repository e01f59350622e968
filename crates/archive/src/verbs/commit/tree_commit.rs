//! Brings the working tree of a layout up to a new version.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use varve_core::VersionId;
use varve_core::headers::Redaction;
use varve_core::history::Capture;
use varve_repository::RepositoryError;
use varve_repository::history::{
    CapturePair, CoveredPages, HistoryWriter, VersionPages, WorkingTree, record_covered, remove_from_tree,
};

/// Maximum number of unwritten pages reported by URL; the others are only counted.
const MAX_NAMED_PAGES: usize = 1000;

/// The changes that a commit made to a working tree.
#[derive(Debug, Default)]
pub struct TreeReport {
    /// Pages that could not be written to the tree, or not removed from it.
    pub unwritten: Unwritten,
    /// Pages whose place in the tree is taken by another page with the same path.
    pub covered: CoveredPages,
    /// Number of folders whose page was removed, because the version has none there.
    pub removed: u64,
    /// Number of folders whose page stays, though the version has none there, because a user
    /// changed its files or no other copy of its body exists.
    pub stayed: u64,
}

/// Pages that could not be written to a working tree, each with its own reason.
#[derive(Debug, Default)]
pub struct Unwritten {
    /// Number of such pages.
    pub count: u64,
    /// The URLs of the first of them, with the error of each.
    pub first: Vec<(String, RepositoryError)>,
}

impl Unwritten {
    fn add(&mut self, url: String, why: RepositoryError) {
        self.count += 1;
        if self.first.len() < MAX_NAMED_PAGES {
            self.first.push((url, why));
        }
    }
}

/// How a commit updates the layout's own working tree, so that it holds the pages of the new version.
/// Files that a user added or changed stay.
pub(super) struct TreeCommit {
    /// The version that the tree holds, if it is known.
    pub(super) before: Option<VersionId>,
    /// The parent of the new version.
    pub(super) parent: Option<VersionId>,
    /// Whether pages that the tree holds already are written again.
    pub(super) rewrites: bool,
}

/// The pages of one folder of a working tree.
#[derive(Default)]
struct FolderPages<'a> {
    /// Those of the version that the tree holds.
    held: Vec<&'a Capture>,
    /// Those of the new version.
    new: Vec<&'a Capture>,
}

impl TreeCommit {
    /// Writes the pages that differ from those in the tree and removes those that the new version
    /// does not have. The version already exists, so pages that cannot be written do not fail the
    /// commit. A just stored body that cannot be read is not a fault of the tree: it is returned as
    /// the error after all other pages.
    pub(super) fn write(
        &self,
        history: &HistoryWriter,
        pairs: &[CapturePair],
    ) -> Result<TreeReport, RepositoryError> {
        let mut done = TreeReport::default();
        let Some(root) = history.working_tree() else { return Ok(done) };
        let mut tree = WorkingTree::new(root);
        let holds_parent = self.before == self.parent;
        let of_other = match holds_parent {
            true => Vec::new(),
            false => VersionPages::new(history.catalog(), self.before).collect::<Result<_, _>>()?,
        };
        let of_parent = pairs.iter().filter(|_| holds_parent).filter_map(|pair| pair.base.as_ref());
        let mut folders = HashMap::<PathBuf, FolderPages<'_>>::new();
        for page in of_parent.chain(&of_other) {
            folders.entry(tree.folder(page)).or_default().held.push(page);
        }
        for page in pairs.iter().filter_map(|pair| pair.head.as_ref()) {
            folders.entry(tree.folder(page)).or_default().new.push(page);
        }
        let redaction = history.redaction();
        folders.retain(|_, pages| self.rewrites || !pages.is_held_in(&tree, redaction));
        let ordered: BTreeMap<_, _> = folders.into_iter().collect();
        let mut lost = None;
        for (folder, pages) in ordered.iter().filter(|(_, pages)| !pages.new.is_empty()) {
            lost = lost.or(done.write_folder(history, &mut tree, folder, pages));
        }
        // After all writes: a folder of both kinds of pages is not removed and made again.
        for pages in ordered.values().filter(|pages| pages.new.is_empty()) {
            done.remove_folder(history, &mut tree, pages);
        }
        lost.map_or(Ok(done), Err)
    }
}

impl FolderPages<'_> {
    /// Whether the folder holds its page already: the version before had the same one there, and the
    /// files have its lengths.
    fn is_held_in(&self, tree: &WorkingTree, redaction: Redaction) -> bool {
        let ([page], [held]) = (self.new.as_slice(), self.held.as_slice()) else { return false };
        let is_same = page.body == held.body && page.status == held.status && page.headers == held.headers;
        is_same && page.path == held.path && tree.holds(page, redaction)
    }
}

impl TreeReport {
    /// Writes the pages of a folder. Returns the error of a body that cannot be read.
    fn write_folder(
        &mut self,
        history: &HistoryWriter,
        tree: &mut WorkingTree,
        folder: &Path,
        pages: &FolderPages<'_>,
    ) -> Option<RepositoryError> {
        let (mut lost, mut urls) = (None, Vec::with_capacity(pages.new.len()));
        for page in &pages.new {
            match tree.write(history.as_reader(), page) {
                Err(why) if why.body_failure().is_some() => lost = lost.or(Some(why)),
                Err(why) => self.unwritten.add(page.url.clone(), why),
                Ok(()) => urls.push(page.url.clone()),
            }
        }
        record_covered(&mut HashMap::new(), &mut self.covered, folder.to_owned(), urls);
        lost
    }

    /// Removes the page of a folder, which is one of those that the tree held there.
    fn remove_folder(&mut self, history: &HistoryWriter, tree: &mut WorkingTree, pages: &FolderPages<'_>) {
        for page in &pages.held {
            match remove_from_tree(history.as_reader(), tree, page) {
                Ok(true) => return self.removed += 1,
                Ok(false) => {}
                Err(why) => return self.unwritten.add(page.url.clone(), why),
            }
        }
        self.stayed += 1;
    }
}
