//! `tmp`: emptied whenever a project is opened for writing, but not of bodies.
//!
//! Crystal ends a migration by moving the old folder of bodies there, to be deleted with the rest. If it stopped
//! at the wrong moment, what lies there may be all there is of a body; so that folder is emptied by moving what is
//! in it to where it belongs, and only what is left of it is removed.

use std::fs;

use super::Project;
use crate::disk::Disk;
use crate::error::{Result, io_at};
use crate::migrate::{drain, into};

impl Project {
    /// Removes what earlier sessions left in `tmp`.
    pub(crate) fn clear_tmp(&self, disk: &Disk) -> Result<()> {
        let tmp = self.layout.tmp();
        disk.ensure_folder(&tmp)?;
        if self.layout.discarded().is_dir() {
            drain(
                disk,
                &self.layout,
                &self.layout.discarded(),
                &into(&self.layout, self.version),
                &mut |_| Ok(()),
            )?;
        }
        for entry in fs::read_dir(&tmp).map_err(io_at("list", &tmp))? {
            disk.remove_all(&entry.map_err(io_at("list", &tmp))?.path())?;
        }
        Ok(())
    }
}
