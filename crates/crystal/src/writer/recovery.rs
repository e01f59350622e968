//! Putting a project in order when it is opened for writing: schema, temporary files, and the last
//! revision.
//!
//! **The last revision.** Crystal commits a row before its body has its name. If it stops between
//! the two, the newest row has no body. Crystal deletes that row when it next opens the project,
//! but only if the three revisions before it have their bodies: if they do not, the disk is a
//! likelier cause than a crash. The same rule applies here.
//!
//! **The last pack.** If the newest revision completes a pack and Crystal, or we, stopped before it
//! was written, it is written now, as Crystal does.
//!
//! **`tmp`.** It is emptied, but bodies in it are kept. Crystal ends a migration by moving the old
//! folder of bodies there, to be deleted. If it stopped at the wrong moment, that folder may hold
//! the only copy of a body. So its bodies are moved to where they belong before the rest is
//! removed.

use crate::database::schema::{self, Upgraded};
use crate::disk::ProjectDisk;
use crate::error::{Error, Result, database_at};
use crate::ids::RevisionId;
use crate::location::{DRAFT_FOLDER, TMP_FOLDER};
use crate::migrate::{drain, into};
use crate::packing::{BodyPacking, completes_pack};
use crate::project::Project;
use crate::rows::Revision;
use crate::version::MajorVersion;

/// Older bodies that must be there before the last revision is deleted.
const REQUIRED_OLDER_BODIES: usize = 3;

/// Writes something that changes nothing: some file systems let a file be opened and then refuse
/// every write.
pub(super) fn try_writing(project: &Project) -> Result<()> {
    let tried = project
        .connection
        .pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0))
        .and_then(|version| project.connection.pragma_update(None, "user_version", version))
        .map_err(database_at(&project.layout.dir));
    tried.map_err(|error| match error.is_read_only() {
        true => Error::ReadOnly { path: project.layout.dir.clone() },
        false => error,
    })
}

pub(super) fn upgrade_schema(project: &mut Project, disk: &ProjectDisk) -> Result<Upgraded> {
    let upgraded = commit_upgrade(project, disk)?;
    project.refresh()?;
    Ok(upgraded)
}

/// Adds what newer projects have and this one has not, as far as its rows let it.
pub(crate) fn commit_upgrade(project: &Project, disk: &ProjectDisk) -> Result<Upgraded> {
    let failed = database_at(&project.layout.dir);
    let transaction = project.connection.unchecked_transaction().map_err(&failed)?;
    let upgraded = schema::upgrade(&transaction).map_err(&failed)?;
    if !upgraded.added.is_empty() {
        disk.before_commit(&project.layout.dir, "schema")?;
        transaction.commit().map_err(&failed)?;
    }
    Ok(upgraded)
}

/// Empties the folder of drafts, which a killed writer of ours left.
pub(super) fn clear_drafts(project: &Project, disk: &ProjectDisk) -> Result<()> {
    let drafts = project.layout.drafts();
    disk.ensure_folder(&drafts)?;
    for entry in project.layout.folder().entries(DRAFT_FOLDER)? {
        disk.remove_all(&drafts.join(entry?.name))?;
    }
    Ok(())
}

/// Packs the bodies up to the newest revision, if it completes a pack.
pub(super) fn pack_last_bodies(project: &Project, disk: &ProjectDisk) -> Result<()> {
    if project.version != MajorVersion::Packed {
        return Ok(());
    }
    match project.newest_revision()? {
        Some(newest) if completes_pack(newest) => {
            BodyPacking { layout: &project.layout, disk }.pack(newest).map(drop)
        }
        _ => Ok(()),
    }
}

/// Removes what earlier sessions left in `tmp`.
pub(super) fn clear_tmp(project: &Project, disk: &ProjectDisk) -> Result<()> {
    let tmp = project.layout.tmp();
    disk.ensure_folder(&tmp)?;
    if project.layout.has_folder(&project.layout.discarded())? {
        drain(
            disk,
            &project.layout,
            &project.layout.discarded(),
            &into(&project.layout, project.version),
            &mut |_| Ok(()),
        )?;
    }
    for entry in project.layout.folder().entries(TMP_FOLDER)? {
        disk.remove_all(&tmp.join(entry?.name))?;
    }
    Ok(())
}

/// Deletes the newest revision if its body never arrived, and says which it was.
pub(super) fn undo_last_without_body(project: &Project, disk: &ProjectDisk) -> Result<Option<RevisionId>> {
    let Some(newest) = project.newest_revision()? else { return Ok(None) };
    match project.revision(newest) {
        Ok(Some(revision)) if lacks_body(project, &revision)? => {}
        _ => return Ok(None),
    }
    if !older_bodies_are_there(project, newest)? {
        return Ok(None);
    }
    disk.before_commit(&project.layout.dir, "delete the last revision")?;
    project.execute("DELETE FROM resource_revision WHERE id = ?1", [newest])?;
    Ok(Some(newest))
}

fn lacks_body(project: &Project, revision: &Revision) -> Result<bool> {
    Ok(revision.has_body() && project.body_length(revision.id)?.is_none())
}

fn older_bodies_are_there(project: &Project, newest: RevisionId) -> Result<bool> {
    let sql = "SELECT id FROM resource_revision WHERE id < ?1 AND error = 'null' ORDER BY id DESC LIMIT 3";
    let failed = database_at(&project.layout.dir);
    let mut statement = project.connection.prepare(sql).map_err(&failed)?;
    let ids = statement.query_map([newest], |row| row.get(0).map(RevisionId)).map_err(&failed)?;
    let mut witnesses = 0;
    for id in ids {
        if project.body_length(id.map_err(&failed)?)?.is_none() {
            return Ok(false);
        }
        witnesses += 1;
    }
    Ok(witnesses == REQUIRED_OLDER_BODIES)
}
