//! What else holds objects: trees, and the pictures that were made of captures.
//!
//! An object is there once, whoever wants it. So one that goes with a page stays if a tree that stays holds the same
//! content; and one that only a tree holds goes with the tree. An answer holds its body for whoever has the same: what is committed
//! or stowed and was captured before is not kept again. So the body of an answer that goes may have to stay.

use std::collections::{BTreeSet, HashSet};

use varve_core::RecordId;
use varve_store::StoreReader;
use varve_store::exchange::renderings_of;
use varve_store::record::record_and_body_ids;
use varve_warc::record::{RecordHeader, RecordType, media_type};

use crate::error::ArchiveError;
use varve_repository::tree::{MEDIA_TYPE, ManifestReader, TreeEntryKind};

/// What was seen of them so far.
#[derive(Default)]
pub(super) struct BodyHolders {
    /// Manifests of trees, and whether they go.
    trees: Vec<(RecordId, bool)>,
    /// Pictures of captures, and whether those go.
    pictures: Vec<(RecordId, bool)>,
    /// Bodies of answers that go.
    answered: HashSet<RecordId>,
}

impl BodyHolders {
    /// Looks at a record that goes or stays, as far as is known without the others.
    pub(super) fn look_at(&mut self, header: &RecordHeader, id: RecordId, goes: bool) {
        match header.record_type() {
            RecordType::Response | RecordType::Revisit => {
                self.pictures.extend(renderings_of(header).screenshot.map(|picture| (picture, goes)));
                self.answered.extend(record_and_body_ids(header).1.filter(|_| goes).map(RecordId::new));
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

    /// Adds to `bodies`, which go, what goes with trees and captures; takes out of it what others hold that stay. Gives the
    /// bodies of answers that go which something has that stays: `staying`, or a tree.
    pub(super) fn settle(
        self,
        store: &StoreReader,
        bodies: &mut HashSet<RecordId>,
        staying: &HashSet<RecordId>,
    ) -> Result<BTreeSet<RecordId>, ArchiveError> {
        let mut wanted: BTreeSet<RecordId> = self.answered.intersection(staying).copied().collect();
        // All that goes first: what stays has the last word.
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

/// Gives the content of every file of a tree. Of a manifest that cannot be read, as far as it can: `audit` names it.
fn each_file(
    store: &StoreReader,
    tree: RecordId,
    each: &mut dyn FnMut(RecordId),
) -> Result<(), ArchiveError> {
    let Some(object) = store.object(tree.as_bytes())? else { return Ok(()) };
    let Ok(mut manifest) = ManifestReader::new(object.read()?) else { return Ok(()) };
    while let Ok(Some(entry)) = manifest.next_entry() {
        if let TreeEntryKind::File { id, .. } = entry.kind {
            each(id);
        }
    }
    Ok(())
}
