//! From version 2 to version 3: every sixteen bodies become one zip.
//!
//! As in Crystal, the version is raised first, with the older one beside it as a marker: from then
//! on bodies may be in packs, and none has to be. So a migration that is interrupted, or queued by
//! Crystal's preferences and never begun, leaves a project that is whole. The next writer goes on
//! where there is no pack yet, and the marker goes when all bodies have been visited.
//!
//! The ids come from the rows. Crystal counts from 0 up to the highest id, which in a project with
//! one very high id never ends. The bodies behind the last full sixteen stay files.

use std::ops::ControlFlow;

use rusqlite::Row;

use super::{MAJOR_VERSION, MAJOR_VERSION_OLD, Migration, MigrationProgress, MigrationSummary, OnProgress};
use crate::error::{Error, Result};
use crate::ids::RevisionId;
use crate::packing::{BodyPacking, last_of_pack};
use crate::project::Project;
use crate::rows::RowColumns;
use crate::version::MajorVersion;

impl Migration<'_> {
    /// Raises the version, with the marker that bodies are still to be packed.
    pub(super) fn queue_packing(&mut self) -> Result<()> {
        let [old, new] =
            [MajorVersion::Tree, MajorVersion::Packed].map(|version| version.number().to_string());
        let values = [(MAJOR_VERSION_OLD, Some(old.as_str())), (MAJOR_VERSION, Some(new.as_str()))];
        self.set_properties("major version", &values)?;
        self.project.version = MajorVersion::Packed;
        Ok(())
    }

    /// Packs all bodies that are in no pack yet, and removes the marker.
    pub(super) fn pack_all(&mut self, on_progress: OnProgress<'_>) -> Result<MigrationSummary> {
        let project = &*self.project;
        let packing = BodyPacking { layout: &project.layout, disk: self.disk };
        let newest = project.newest_revision()?.map_or(0, RevisionId::get);
        let mut done = MigrationSummary::default();
        let mut tell =
            |moved| match on_progress(MigrationProgress { moved, expected: newest.max(0).unsigned_abs() }) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(Error::Interrupted { path: project.layout.dir.clone() }),
            };
        tell(0)?;
        for last in project.last_ids_of_packs() {
            let last = last?;
            if last.get() > newest {
                break;
            }
            if !packing.has_pack(last)? {
                let packed = packing.pack(last)?;
                done = done.and(MigrationSummary { moved: packed.packed, unreadable: packed.unreadable });
                tell(done.moved)?;
            }
        }
        self.set_properties("packed", &[(MAJOR_VERSION_OLD, None)])?;
        Ok(done)
    }
}

impl Project {
    /// The last ids of the packs that the bodies of this project belong in, in their order.
    fn last_ids_of_packs(&self) -> impl Iterator<Item = Result<RevisionId>> + '_ {
        let sql = "SELECT id FROM resource_revision WHERE id >= ?1 AND id > 0 ORDER BY id";
        let last_id = |row: &Row<'_>| Ok(RevisionId(RowColumns::of("resource_revision", row, 0).id()));
        let mut before = None;
        self.by_id(sql, last_id).filter_map(move |id| match id.map(last_of_pack) {
            Ok(last) if before == Some(last) => None,
            Ok(last) => {
                before = Some(last);
                Some(Ok(last))
            }
            Err(error) => Some(Err(error)),
        })
    }
}
