//! What else holds objects: trees, and the pictures that were made of captures.
//!
//! An object is there once, whoever wants it. So one that goes with a page stays if a tree that stays holds the same
//! content; and one that only a tree holds goes with the tree.

use std::collections::HashSet;

use serde::Deserialize;
use varve_core::RecordId;
use varve_store::Store;
use varve_warc::record::{Header, RecordType, media_type};

pub(super) use crate::crawl::RENDERINGS;
use crate::error::ArchiveError;
use crate::tree::{Kind, MEDIA_TYPE, ManifestReader};

/// What was seen of them so far.
#[derive(Default)]
pub(super) struct Holders {
    /// Manifests of trees, and whether they go.
    trees: Vec<(RecordId, bool)>,
    /// Captures that go.
    captures: HashSet<RecordId>,
}

impl Holders {
    /// Looks at a record that goes or stays, as far as is known without the others.
    pub(super) fn look_at(&mut self, header: &Header, id: RecordId, goes: bool) {
        match header.record_type() {
            RecordType::Response | RecordType::Revisit if goes => _ = self.captures.insert(id),
            RecordType::Resource => {
                let kind = media_type(header.fields.get("Content-Type").unwrap_or_default());
                if kind == MEDIA_TYPE.as_bytes() {
                    self.trees.push((id, goes));
                }
            }
            _ => {}
        }
    }

    /// Adds to `bodies`, which go, what goes with trees and captures; takes out of it what others hold that stay.
    pub(super) fn settle(
        self,
        store: &Store,
        renderings: &[(RecordId, RecordId)],
        bodies: &mut HashSet<RecordId>,
    ) -> Result<(), ArchiveError> {
        let is_gone = |about: &RecordId| self.captures.contains(about);
        let (gone, kept): (Vec<_>, Vec<_>) = renderings.iter().partition(|(about, _)| is_gone(about));
        bodies.extend(gone.iter().map(|(_, picture)| *picture));
        // All that goes first: what stays has the last word.
        for goes in [true, false] {
            for (tree, _) in self.trees.iter().filter(|(_, tree_goes)| *tree_goes == goes) {
                each_file(store, *tree, &mut |id| {
                    if goes { _ = bodies.insert(id) } else { _ = bodies.remove(&id) }
                })?;
            }
        }
        for (_, picture) in kept {
            bodies.remove(&picture);
        }
        Ok(())
    }
}

/// Gives the content of every file of a tree. Of a manifest that cannot be read, as far as it can: `audit` names it.
fn each_file(store: &Store, tree: RecordId, each: &mut dyn FnMut(RecordId)) -> Result<(), ArchiveError> {
    let Some(object) = store.object(tree.as_bytes())? else { return Ok(()) };
    let Ok(mut manifest) = ManifestReader::new(object.read()?) else { return Ok(()) };
    while let Ok(Some(entry)) = manifest.next_entry() {
        if let Kind::File { id, .. } = entry.kind {
            each(id);
        }
    }
    Ok(())
}

/// The picture that a fact about renderings names.
pub(super) fn screenshot(json: &[u8]) -> Option<RecordId> {
    #[derive(Deserialize)]
    struct Renderings {
        screenshot: Option<String>,
    }
    serde_json::from_slice::<Renderings>(json).ok()?.screenshot?.parse().ok()
}
