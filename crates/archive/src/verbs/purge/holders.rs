//! Other holders of objects: trees, and the screenshots of captures.
//!
//! An object is stored once, regardless of the number of its references. The object of a removed
//! page stays if a remaining tree has the same content, and an object that only a tree references
//! is removed with the tree. A response also stores its body for others: content that was captured
//! first is not stored again by commit or stow. The body of a removed response may therefore have
//! to stay.

use std::collections::{BTreeSet, HashSet};

use varve_core::RecordId;
use varve_store::StoreReader;
use varve_store::exchange::renderings_of;
use varve_store::record::record_and_body_ids;
use varve_warc::record::{RecordHeader, RecordType, media_type};

use crate::error::ArchiveError;
use varve_repository::tree::{MEDIA_TYPE, ManifestReader, TreeEntryKind};

/// The holders found so far.
#[derive(Default)]
pub(super) struct BodyHolders {
    /// Manifests of trees, and whether they are removed.
    trees: Vec<(RecordId, bool)>,
    /// Screenshots, and whether their captures are removed.
    pictures: Vec<(RecordId, bool)>,
    /// Bodies of removed responses.
    answered: HashSet<RecordId>,
}

impl BodyHolders {
    /// Examines a record that is removed or kept, as far as that is known without the other
    /// records.
    pub(super) fn look_at(&mut self, header: &RecordHeader, id: RecordId, goes: bool) {
        match header.record_type() {
            RecordType::Response | RecordType::Revisit => {
                self.pictures.extend(renderings_of(header).screenshot.map(|picture| (picture, goes)));
                self.answered.extend(record_and_body_ids(header).1.filter(|_| goes).map(RecordId::of_body));
            }
            RecordType::Resource => {
                let kind = media_type(header.fields.get("Content-Type").unwrap_or_default());
                if kind == MEDIA_TYPE.as_bytes() {
                    self.trees.push((id, goes));
                }
            }
            _ => {}
        }
    }

    /// Adds to `bodies`, the bodies to remove, those of removed trees and captures. Removes from it
    /// those that remaining holders reference. Returns the bodies of removed responses that
    /// `staying` or a remaining tree references.
    pub(super) fn settle(
        self,
        store: &StoreReader,
        bodies: &mut HashSet<RecordId>,
        staying: &HashSet<RecordId>,
    ) -> Result<BTreeSet<RecordId>, ArchiveError> {
        let mut wanted: BTreeSet<RecordId> = self.answered.intersection(staying).copied().collect();
        // Removals are applied first, so that the remaining holders take precedence.
        for goes in [true, false] {
            for (picture, _) in self.pictures.iter().filter(|(_, its_capture_goes)| *its_capture_goes == goes)
            {
                if goes { _ = bodies.insert(*picture) } else { _ = bodies.remove(picture) }
            }
            for (tree, _) in self.trees.iter().filter(|(_, tree_goes)| *tree_goes == goes) {
                each_file(store, *tree, &mut |id| {
                    if goes {
                        _ = bodies.insert(id)
                    } else {
                        _ = bodies.remove(&id)
                    }
                    wanted.extend(Some(id).filter(|id| !goes && self.answered.contains(id)));
                })?;
            }
        }
        Ok(wanted)
    }
}

/// Calls `each` with the content of every file of a tree. A damaged manifest is read as far as
/// possible; `audit` reports it.
fn each_file(
    store: &StoreReader,
    tree: RecordId,
    each: &mut dyn FnMut(RecordId),
) -> Result<(), ArchiveError> {
    let Some(object) = store.object(&tree)? else { return Ok(()) };
    let Ok(mut manifest) = ManifestReader::new(object.read()?) else { return Ok(()) };
    while let Ok(Some(entry)) = manifest.next_entry() {
        if let TreeEntryKind::File { id, .. } = entry.kind {
            each(id);
        }
    }
    Ok(())
}
