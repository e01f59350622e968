//! The index for reading.
//!
//! Opening takes no lock on the archive. Entries only move forward, from the live appendix to a
//! rotated one to the sorted shards, and each file stays until the next has its entries. So a
//! reader that opens the files in that order sees every entry that existed when it began, even
//! during housekeeping, a split or a rebuild. It may see some twice.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::appendices;
use super::appendix_entries::AppendixEntries;
use super::batch_lookup::LOOKUPS_PER_GROUP;
use super::entry::{IndexEntry, IndexPrefix, PrefixRange, SiloPlace};
use super::error::IndexError;
use super::file_names;
use super::places::SiloPlaces;
use super::shards::ShardSet;
use super::view::IndexView;
use crate::disk::Disk;

/// Reads an index. Opening is cheap: it reads the headers of the shards and the appendices. A reader that was
/// opened does not see later changes; a reader of an [`IndexWriter`](super::IndexWriter) does.
#[derive(Clone, Debug)]
pub struct IndexReader {
    source: ViewSource,
    /// The file and offset of the first entries that could not be read.
    gap: Option<(PathBuf, u64)>,
}

/// Where a reader's view comes from.
#[derive(Clone, Debug)]
enum ViewSource {
    /// The files as they were when the reader opened them.
    Opened(IndexView),
    /// The view of a writer in this process. A reader shares it, because a copy of the live
    /// appendix for each reader would cost more than the lookups.
    Shared(Arc<RwLock<IndexView>>),
}

impl IndexReader {
    /// Opens the index in a folder.
    pub fn open(disk: &dyn Disk, folder: &Path) -> Result<Self, IndexError> {
        // The order matters, see the module documentation.
        let path = folder.join(file_names::APPENDIX_FILE);
        let decoded = appendices::read(disk, &path)?.map(|(decoded, _)| decoded);
        let rotated = appendices::read_rotated(disk, folder)?;
        let shards = Arc::new(ShardSet::open(disk, folder)?);
        // Every index has an appendix, which may be empty.
        let live_gap = decoded.as_ref().map_or(Some(0), |live| live.gaps.first().map(|gap| gap.start));
        let rotated_gap = || {
            let damaged = rotated.iter().find_map(|rotated| Some((rotated.number, rotated.damage?)));
            damaged.map(|(number, offset)| (folder.join(file_names::rotated(number)), offset))
        };
        let gap = live_gap.map(|offset| (path, offset)).or_else(rotated_gap);
        let live = decoded.map_or_else(AppendixEntries::new, |live| AppendixEntries::from(live.entries));
        Ok(Self { source: ViewSource::Opened(IndexView { shards, rotated, live }), gap })
    }

    /// Reads the view of a writer.
    pub(super) fn sharing(view: Arc<RwLock<IndexView>>) -> Self {
        Self { source: ViewSource::Shared(view), gap: None }
    }

    /// The error of entries that could not be read when the index was opened, if there are any. An
    /// id that is not found may then be stored.
    pub fn gap(&self) -> Option<IndexError> {
        let (file, offset) = self.gap.as_ref()?;
        Some(IndexError::damaged(file, *offset, "entries are missing or cannot be read"))
    }

    fn with_view<T>(&self, read: impl FnOnce(&IndexView) -> T) -> T {
        match &self.source {
            ViewSource::Opened(view) => read(view),
            ViewSource::Shared(view) => read(&view.read().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// The places of all entries with this prefix. The caller confirms the full id in the record.
    pub fn find(&self, prefix: IndexPrefix) -> Result<SiloPlaces, IndexError> {
        let (mut places, shards) =
            self.with_view(|view| (view.recent_places(prefix), Arc::clone(&view.shards)));
        shards.find(prefix, |place| places.push(place))?;
        Ok(places)
    }

    /// Looks up many prefixes, faster than one by one: up to ten times if they are many. Calls `found`
    /// with the position of the prefix in the slice and one of its places, in order.
    pub fn find_many(
        &self,
        prefixes: &[IndexPrefix],
        mut found: impl FnMut(usize, SiloPlace),
    ) -> Result<(), IndexError> {
        for (number, group) in prefixes.chunks(LOOKUPS_PER_GROUP).enumerate() {
            let (mut hits, shards) =
                self.with_view(|view| (view.recent_hits(group), Arc::clone(&view.shards)));
            shards.find_group(group, &mut hits)?;
            hits.sort_unstable();
            // An entry may be in two files.
            hits.dedup();
            hits.into_iter().for_each(|(member, place)| found(number * LOOKUPS_PER_GROUP + member, place));
        }
        Ok(())
    }

    /// The entries of a range in order, each once; all of them with [`PrefixRange::ALL`]. Ends
    /// after an error.
    pub fn entries(
        &self,
        range: PrefixRange,
    ) -> Result<impl Iterator<Item = Result<IndexEntry, IndexError>> + use<>, IndexError> {
        self.with_view(|view| view.entries(range))
    }

    /// The greatest place of all entries.
    pub fn greatest_place(&self) -> Option<SiloPlace> {
        self.with_view(IndexView::greatest_place)
    }

    /// The number of entries; after an interrupted housekeeping some are counted twice.
    pub fn entry_count(&self) -> u64 {
        self.with_view(IndexView::count)
    }
}
