//! Repairing what `verify` finds, as far as that needs no guessing.
//!
//! Nothing is thrown away: a file that no row names goes to `salvage`, and so does every text that
//! is replaced. A row without a body is deleted only where bodies are the rule: where most are
//! missing, the disk they are on is more likely to be elsewhere than lost, and deleting rows would
//! finish what went wrong.

use serde_json::json;
use std::path::{Path, PathBuf};
use varve_file::EntryKind;

use super::{ProjectFinding, VerifyOptions, VerifySummary};

use crate::body::pack_path;
use crate::error::{Error, Result};
use crate::ids::{AliasId, GroupId, RevisionId, RootId};
use crate::revision::{DownloadError, python_json};
use crate::rows::property_name::HIBERNATED_STATE;
use crate::salvage::{salvage, salvage_text};
use crate::writer::{ProjectChange, ProjectWriter, commit_upgrade};

/// What became of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingRepair {
    /// What was done about it, in words; none where nothing could be done without guessing.
    pub did: Option<String>,
    /// What a person can do about it now, in words.
    pub to_do: Option<&'static str>,
}

impl FindingRepair {
    /// Whether it is as it should be now.
    pub const fn is_done(&self) -> bool {
        self.did.is_some()
    }
}

/// How much was repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct RepairSummary {
    /// What the look found before.
    pub before: VerifySummary,
    /// Findings that are as they should be now.
    pub done: u64,
    /// Findings that are as they were.
    pub left: u64,
}

impl ProjectWriter {
    /// Looks at everything, repairs what can be repaired, and hands on each finding with what was
    /// done about it.
    pub fn repair(
        &mut self,
        report: &mut dyn FnMut(&ProjectFinding, &FindingRepair),
    ) -> Result<RepairSummary> {
        let options = VerifyOptions { check_database: true, read_bodies: false };
        let before = self.project.verify(options, &mut |_| {})?;
        let bodies_are_the_rule = before.missing_bodies <= before.bodies;
        let mut repaired = RepairSummary { before, ..RepairSummary::default() };
        let mut tell = |finding: &ProjectFinding, did: Option<String>| {
            let to_do = if did.is_some() { finding.after_repair() } else { Some(finding.by_hand()) };
            match did {
                Some(_) => repaired.done += 1,
                None => repaired.left += 1,
            }
            report(finding, &FindingRepair { did, to_do });
        };
        let mut lacking = Vec::new();
        self.project.look(options, true, &mut |_| {}, &mut |finding| {
            match finding {
                // Added at the end, once nothing stands in the way.
                ProjectFinding::SchemaOlder { name } => lacking.push(name),
                finding => tell(&finding, self.mend(&finding, bodies_are_the_rule)?),
            }
            Ok(())
        })?;
        let upgraded = commit_upgrade(&self.project, &self.disk)?;
        for name in lacking {
            let is_there = !upgraded.skipped.contains(&name);
            tell(&ProjectFinding::SchemaOlder { name }, is_there.then(|| "it was added".to_owned()));
        }
        Ok(repaired)
    }

    /// Repairs a finding and says what was done, if anything was.
    fn mend(&self, finding: &ProjectFinding, bodies_are_the_rule: bool) -> Result<Option<String>> {
        match finding {
            ProjectFinding::BodyMissing { revision, .. } if bodies_are_the_rule => {
                self.mend_missing(*revision)
            }
            ProjectFinding::BodyWithoutRow { revision, path }
            | ProjectFinding::BodyOfError { revision, path } => {
                let entry = pack_path(*revision).map(|(_, entry)| entry).unwrap_or_default();
                self.put_in_salvage(path, &entry, &format!("revision-{revision}"))
            }
            ProjectFinding::StrayFile { path } => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let pack = path.parent().unwrap_or(path);
                match self.disk.kind(pack)? {
                    Some(EntryKind::File) => self.put_in_salvage(pack, &name, &name),
                    _ => self.put_in_salvage(path, "", &name),
                }
            }
            ProjectFinding::MetadataUnreadable { revision, .. } => self.mend_metadata(*revision),
            ProjectFinding::ErrorUnreadable { revision, .. } => self.mend_error(*revision),
            ProjectFinding::ErrorPadded { revision } => {
                let sql = "UPDATE resource_revision SET error = 'null' WHERE id = ?1";
                self.change("error", |change| change.run(sql, [revision]))?;
                done("the spaces were removed")
            }
            ProjectFinding::SourceDangling { group }
            | ProjectFinding::SourceCycle { group }
            | ProjectFinding::SourceUnknown { group, .. } => {
                self.change("source", |change| change.no_source(*group))?;
                done("the group has no source now")
            }
            ProjectFinding::PatternEmpty { group } => {
                self.change("group", |change| {
                    change.clear_sources("resource_group", group.get())?;
                    change.run("DELETE FROM resource_group WHERE id = ?1", [group])
                })?;
                done("the group was deleted: it could have no members")
            }
            ProjectFinding::RootWithoutResource { root, .. } => self.mend_root(*root),
            ProjectFinding::AliasUnsound { alias } => self.mend_alias(*alias),
            ProjectFinding::HibernatedUnreadable { .. } => self.mend_hibernated(),
            _ => Ok(None),
        }
    }

    /// Moves a file to `salvage`. Of a pack, only the entry of this name is moved.
    fn put_in_salvage(&self, path: &Path, entry: &str, name: &str) -> Result<Option<String>> {
        let kept = match named_pack(path) {
            Some(pack) if !entry.is_empty() => match self.packing().take_out(&pack, entry, name) {
                // The pack is a finding of its own.
                Err(Error::Pack { .. }) | Ok(None) => return Ok(None),
                kept => kept?.unwrap_or_default(),
            },
            _ => salvage(&self.disk, &self.layout.salvage(), path, name)?,
        };
        done(format!("it was moved to {}", self.named(&kept)))
    }

    /// Keeps a text that is about to be replaced, and says where.
    fn keep_text(&self, name: &str, text: &str) -> Result<String> {
        let kept = salvage_text(&self.disk, &self.layout.salvage(), name, text)?;
        Ok(self.named(&kept))
    }

    /// A file of the project, as messages name it.
    fn named(&self, path: &Path) -> String {
        format!("`{}`", path.strip_prefix(&self.layout.dir).unwrap_or(path).display())
    }

    /// Deletes the row, and keeps what it said about the page.
    fn mend_missing(&self, id: RevisionId) -> Result<Option<String>> {
        let Some(revision) = self.project.revision(id)? else { return Ok(None) };
        let url = self.project.resource(revision.resource)?.map(|resource| resource.url);
        let row = json!({"id": id, "url": url, "error": revision.error, "metadata": revision.metadata});
        let kept = self.keep_text(&format!("revision-{id}.json"), &python_json::to_text(&row))?;
        self.change("revision", |change| change.run("DELETE FROM resource_revision WHERE id = ?1", [id]))?;
        done(format!("its row was deleted, and what it said is kept in {kept}"))
    }

    fn mend_metadata(&self, id: RevisionId) -> Result<Option<String>> {
        let Some(revision) = self.project.revision(id)? else { return Ok(None) };
        let kept = self.keep_text(&format!("revision-{id}-metadata.txt"), &revision.metadata)?;
        let sql = "UPDATE resource_revision SET metadata = 'null' WHERE id = ?1";
        self.change("metadata", |change| change.run(sql, [id]))?;
        done(format!("the revision has none now, and its text is kept in {kept}"))
    }

    /// With its body, the download cannot have failed; without it, the text of the failure becomes
    /// its message.
    fn mend_error(&self, id: RevisionId) -> Result<Option<String>> {
        let Some(revision) = self.project.revision(id)? else { return Ok(None) };
        let length = match self.project.body_length(id) {
            // It cannot be told whether there is a body.
            Err(Error::Link { .. } | Error::Folder(_) | Error::Io { .. } | Error::Pack { .. }) => {
                return Ok(None);
            }
            length => length?,
        };
        let kept = self.keep_text(&format!("revision-{id}-error.txt"), &revision.error)?;
        let (text, says) = match length {
            Some(_) => ("null".to_owned(), "no error, since its body is there"),
            None => (DownloadError::new("Exception", revision.error).to_json(), "an error with that text"),
        };
        let sql = "UPDATE resource_revision SET error = ?2 WHERE id = ?1";
        self.change("error", |change| change.run(sql, (id, text)))?;
        done(format!("the revision records {says}; the text is kept in {kept}"))
    }

    fn mend_root(&self, root: RootId) -> Result<Option<String>> {
        self.change("root", |change| {
            change.clear_sources("root_resource", root.get())?;
            change.run("DELETE FROM root_resource WHERE id = ?1", [root])
        })?;
        done("the root was deleted, and groups that were found on it have no source now")
    }

    fn mend_alias(&self, alias: AliasId) -> Result<Option<String>> {
        let stays = self.change("alias", |change| change.sound_alias(alias))?;
        done(match stays {
            true => "both prefixes end with `/` now",
            false => "the alias was deleted: with `/` it is the second of its source, and the first counts",
        })
    }

    fn mend_hibernated(&self) -> Result<Option<String>> {
        let Some(text) = self.project.property(HIBERNATED_STATE)? else { return Ok(None) };
        let kept = self.keep_text("hibernated_state.txt", &text)?;
        let sql = "DELETE FROM project_property WHERE name = ?1";
        self.change("tasks", |change| change.run(sql, [HIBERNATED_STATE]))?;
        done(format!("they were removed, and their text is kept in {kept}"))
    }
}

/// The pack that a file is, or was before another was to replace it.
fn named_pack(path: &Path) -> Option<PathBuf> {
    let name = path.to_str()?;
    let pack = name.strip_suffix(".replacing").unwrap_or(name);
    pack.ends_with("_.zip").then(|| PathBuf::from(pack))
}

/// Says what was done.
fn done(what: impl Into<String>) -> Result<Option<String>> {
    Ok(Some(what.into()))
}

impl ProjectChange<'_> {
    fn no_source(&self, group: GroupId) -> Result<usize> {
        let sql = "UPDATE resource_group SET source_type = NULL, source_id = NULL WHERE id = ?1";
        self.run(sql, [group])
    }

    /// Ends both prefixes with a slash, and says whether the alias stays: if that makes it the
    /// second of its source, the first one counts.
    fn sound_alias(&self, alias: AliasId) -> Result<bool> {
        let sql = "UPDATE alias SET source_url_prefix = rtrim(source_url_prefix, '/') || '/', \
                   target_url_prefix = rtrim(target_url_prefix, '/') || '/' WHERE id = ?1";
        match self.run(sql, [alias]) {
            Err(error) if error.is_constraint() => {
                self.run("DELETE FROM alias WHERE id = ?1", [alias]).map(|_| false)
            }
            changed => changed.map(|_| true),
        }
    }
}
