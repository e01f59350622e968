//! Names what a rebuild cannot restore because the silos that held it are lost.
//!
//! The old catalog and HEAD are the only witnesses, so they are read before they are replaced. Knows
//! nothing of silos: the rebuild of the store reports missing ones.

use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use varve_catalog::{CatalogRead, dump_rows};
use varve_core::VersionId;
use varve_core::history::{ListCursor, VersionFilter};
use varve_repository::backends::Backends;
use varve_repository::history::subject_of;

use crate::error::ArchiveError;

/// Maximum number of lost items that are named; the others are counted.
const MAX_NAMED_LOSSES: usize = 1_000;
/// Versions read per query.
const VERSIONS_PER_QUERY: usize = 500;

/// Something that the old catalog or HEAD knew, or that a version refers to, and that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LostItem {
    /// A version, capture, tag, score or verdict of the old catalog, as part of a sentence.
    Row(String),
    /// The number of further rows that are not named.
    MoreRows(u64),
    /// The parent of a version.
    Parent {
        /// The lost version.
        parent: VersionId,
        /// A version that descends from it.
        child: VersionId,
    },
    /// The version that HEAD named.
    Head {
        /// The lost version.
        from: VersionId,
        /// The version that HEAD names now.
        to: Option<VersionId>,
    },
}

impl fmt::Display for LostItem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row(subject) => write!(formatter, "lost: {subject}"),
            Self::MoreRows(count) => write!(formatter, "lost: {count} more rows of the old catalog"),
            Self::Parent { parent, child } => {
                write!(formatter, "lost: version {parent}, from which version {child} descends")
            }
            Self::Head { from, to: Some(to) } => {
                write!(formatter, "HEAD named version {from}, which is lost; it names {to} now")
            }
            Self::Head { from, to: None } => {
                write!(formatter, "HEAD named version {from}, which is lost; no version is left")
            }
        }
    }
}

/// The items of the old catalog that the new one lacks, and lost parents of versions. An old catalog
/// that cannot be read is no witness.
pub(super) fn lost_items(
    backends: &Backends,
    new: &dyn CatalogRead,
    compares_rows: bool,
) -> Result<Vec<LostItem>, ArchiveError> {
    let mut lost = Vec::new();
    if let Ok(old) = backends.read_catalog()
        && compares_rows
    {
        lost = lost_rows(&*old.rows, new)?;
    }
    lost.extend(lost_parents(new)?);
    Ok(lost)
}

fn lost_rows(old: &dyn CatalogRead, new: &dyn CatalogRead) -> Result<Vec<LostItem>, ArchiveError> {
    let mut here: HashSet<u64> = HashSet::new();
    dump_rows(new, &mut |row| {
        here.insert(hash_of(&subject_of(row)));
        Ok(())
    })?;
    let (mut lost, mut more) = (Vec::new(), 0);
    let read = dump_rows(old, &mut |row| {
        let subject = subject_of(row);
        // HEAD is reported with the version that it names now.
        if !here.contains(&hash_of(&subject)) && !subject.starts_with("HEAD ") {
            match lost.len() < MAX_NAMED_LOSSES {
                true => lost.push(LostItem::Row(subject)),
                false => more += 1,
            }
        }
        Ok(())
    });
    // Of a damaged catalog, the rows up to the damage are known.
    if more > 0 || read.is_err() {
        lost.extend((more > 0).then_some(LostItem::MoreRows(more)));
    }
    Ok(lost)
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The parents of versions that are neither in the catalog nor removed on purpose.
fn lost_parents(catalog: &dyn CatalogRead) -> Result<Vec<LostItem>, ArchiveError> {
    let mut removed = HashSet::new();
    let mut after = None;
    loop {
        let removals = catalog.removals(ListCursor { after, limit: VERSIONS_PER_QUERY })?;
        let Some(last) = removals.last() else { break };
        after = Some(last.tombstone_record);
        removed.extend(removals.iter().filter_map(|removal| removal.tombstone.version));
    }
    let (mut lost, mut after) = (Vec::new(), None);
    loop {
        let cursor = ListCursor { after, limit: VERSIONS_PER_QUERY };
        let versions = catalog.versions(&VersionFilter::default(), cursor)?;
        let Some(last) = versions.last() else { return Ok(lost) };
        after = Some(last.version.id);
        for info in &versions {
            let Some(parent) = info.version.parent.filter(|parent| !removed.contains(parent)) else {
                continue;
            };
            if catalog.version(&parent)?.is_none() {
                lost.push(LostItem::Parent { parent, child: info.version.id });
            }
        }
    }
}

/// Checks HEAD after the catalog was installed: a version that is gone is a loss, and HEAD moves to
/// the newest version there is.
pub(super) fn lost_head(
    named: Option<VersionId>,
    backends: &Backends,
) -> Result<Option<LostItem>, ArchiveError> {
    let Some(from) = named else { return Ok(None) };
    let catalog = backends.read_catalog()?.rows;
    if catalog.version(&from)?.is_some() {
        return Ok(None);
    }
    Ok(Some(LostItem::Head { from, to: catalog.head()? }))
}
