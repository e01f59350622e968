//! Undoing the last revision where a crash kept its row and lost its body: Crystal's rule, exactly.
//!
//! Crystal commits the row before the body has its name. If it stops between the two, the newest row has no body.
//! It deletes that row when it next opens the project, but only if the three revisions before it have theirs: if
//! they do not, the disk is more likely to blame than a crash.

use super::Project;
use crate::disk::Disk;
use crate::error::Result;
use crate::ids::RevisionId;
use crate::rows::Revision;

/// So many older bodies must be there.
const WITNESSES: usize = 3;

impl Project {
    /// Deletes the newest revision if its body never arrived, and says which it was.
    pub(super) fn undo_last_without_body(&self, disk: &Disk) -> Result<Option<RevisionId>> {
        let Some(newest) = self.newest_revision()? else { return Ok(None) };
        match self.revision(newest) {
            Ok(Some(revision)) if self.lacks_body(&revision)? => {}
            _ => return Ok(None),
        }
        if !self.older_bodies_are_there(newest)? {
            return Ok(None);
        }
        disk.before_commit(&self.layout.dir, "delete the last revision")?;
        self.execute("DELETE FROM resource_revision WHERE id = ?1", [newest])?;
        Ok(Some(newest))
    }

    fn lacks_body(&self, revision: &Revision) -> Result<bool> {
        Ok(revision.has_body() && self.body_length(revision.id)?.is_none())
    }

    fn older_bodies_are_there(&self, newest: RevisionId) -> Result<bool> {
        let sql =
            "SELECT id FROM resource_revision WHERE id < ?1 AND error = 'null' ORDER BY id DESC LIMIT 3";
        let failed = crate::error::database_at(&self.layout.dir);
        let mut statement = self.connection.prepare(sql).map_err(&failed)?;
        let ids = statement.query_map([newest], |row| row.get(0).map(RevisionId)).map_err(&failed)?;
        let mut witnesses = 0;
        for id in ids {
            if self.body_length(id.map_err(&failed)?)?.is_none() {
                return Ok(false);
            }
            witnesses += 1;
        }
        Ok(witnesses == WITNESSES)
    }
}
