//! Packing bodies as they are stored, in projects of version 3.
//!
//! As in Crystal, a body is first a file of its own, and the revision that is the last of sixteen
//! has them packed. The revisions are stored by then and stay so: if a pack cannot be written, the
//! bodies stay files, which is as good to read, and packing is tried again later, last when the
//! project is closed.

use super::ProjectWriter;
use crate::error::Result;
use crate::ids::RevisionId;
use crate::packing::{BodyPacking, completes_pack};
use crate::version::MajorVersion;

impl ProjectWriter {
    pub(crate) fn packing(&self) -> BodyPacking<'_> {
        BodyPacking { layout: &self.project.layout, disk: &self.disk }
    }

    /// Packs the bodies of the packs that these revisions complete.
    pub(super) fn pack_completed(&mut self, stored: &[RevisionId]) {
        if self.version() != MajorVersion::Packed {
            return;
        }
        self.waiting_packs.extend(stored.iter().copied().filter(|id| completes_pack(*id)));
        // What fails is tried again when the project is closed, which reports it.
        let _ = self.pack_waiting();
    }

    /// Packs what waits to be packed.
    pub(super) fn pack_waiting(&mut self) -> Result<()> {
        while let Some(last) = self.waiting_packs.first().copied() {
            self.packing().pack(last)?;
            self.waiting_packs.remove(&last);
        }
        Ok(())
    }
}
