//! Repairing what `verify` finds, as far as that needs no guessing.
//!
//! Nothing is thrown away: a file that no row names goes to `salvage`, and so does every text that is replaced.
//! A row without a body is deleted only where bodies are the rule: where most are missing, the disk they are on is
//! more likely to be elsewhere than lost, and deleting rows would finish what went wrong.

use serde_json::json;
use std::path::Path;

use super::{Finding, Verified, VerifyOptions};
use crate::edit::Change;
use crate::error::Result;
use crate::ids::{AliasId, GroupId, RevisionId};
use crate::project::ProjectWriter;
use crate::revision::{DownloadError, python_json};
use crate::rows::property_name::HIBERNATED_STATE;
use crate::salvage::{salvage, salvage_text};

/// What was done about a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Repair {
    /// It is as it should be now.
    Done,
    /// It is as it was: there is nothing that could be done without guessing.
    Left,
}

/// How much was repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Repaired {
    /// What the look found before.
    pub before: Verified,
    /// Findings that are as they should be now.
    pub done: u64,
    /// Findings that are as they were.
    pub left: u64,
}

impl ProjectWriter {
    /// Looks at everything, repairs what can be repaired, and hands on each finding with what was done about it.
    pub fn repair(&mut self, report: &mut dyn FnMut(&Finding, Repair)) -> Result<Repaired> {
        let options = VerifyOptions { check_database: true, read_bodies: false };
        let before = self.project.verify(options, &mut |_| {})?;
        let bodies_are_the_rule = before.missing_bodies <= before.bodies;
        let mut repaired = Repaired { before, ..Repaired::default() };
        let mut tell = |finding: &Finding, repair| {
            match repair {
                Repair::Done => repaired.done += 1,
                Repair::Left => repaired.left += 1,
            }
            report(finding, repair);
        };
        let mut lacking = Vec::new();
        self.project.look(options, &mut |_| {}, &mut |finding| {
            match finding {
                // Added at the end, once nothing stands in the way.
                Finding::SchemaOlder { name } => lacking.push(name),
                finding => tell(&finding, self.mend(&finding, bodies_are_the_rule)?),
            }
            Ok(())
        })?;
        let upgraded = self.project.commit_upgrade(&self.disk)?;
        for name in lacking {
            let is_there = !upgraded.skipped.contains(&name);
            tell(&Finding::SchemaOlder { name }, if is_there { Repair::Done } else { Repair::Left });
        }
        Ok(repaired)
    }

    fn mend(&self, finding: &Finding, bodies_are_the_rule: bool) -> Result<Repair> {
        match finding {
            Finding::BodyMissing { revision, .. } if bodies_are_the_rule => self.mend_missing(*revision),
            Finding::BodyWithoutRow { revision, path } | Finding::BodyOfError { revision, path } => {
                self.put_in_salvage(path, &format!("revision-{revision}"))
            }
            Finding::StrayFile { path } => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                self.put_in_salvage(path, &name)
            }
            Finding::MetadataUnreadable { revision, .. } => self.mend_metadata(*revision),
            Finding::ErrorUnreadable { revision, .. } => self.mend_error(*revision),
            Finding::SourceDangling { group }
            | Finding::SourceCycle { group }
            | Finding::SourceUnknown { group, .. } => {
                self.mend_with("source", |change| change.no_source(*group))
            }
            Finding::PatternEmpty { group } => self.mend_with("group", |change| {
                change.clear_sources("resource_group", group.get())?;
                change.run("DELETE FROM resource_group WHERE id = ?1", [group])
            }),
            Finding::RootWithoutResource { root, .. } => self.mend_with("root", |change| {
                change.clear_sources("root_resource", root.get())?;
                change.run("DELETE FROM root_resource WHERE id = ?1", [root])
            }),
            Finding::AliasUnsound { alias } => self.mend_with("alias", |change| change.sound_alias(*alias)),
            Finding::HibernatedUnreadable { .. } => self.mend_hibernated(),
            _ => Ok(Repair::Left),
        }
    }

    fn mend_with(
        &self,
        what: &'static str,
        act: impl FnOnce(&Change<'_>) -> Result<usize>,
    ) -> Result<Repair> {
        self.change(what, act).map(|_| Repair::Done)
    }

    fn put_in_salvage(&self, path: &Path, name: &str) -> Result<Repair> {
        salvage(&self.disk, &self.layout.salvage(), path, name).map(|_| Repair::Done)
    }

    /// Keeps a text that is about to be replaced.
    fn keep_text(&self, name: &str, text: &str) -> Result<()> {
        salvage_text(&self.disk, &self.layout.salvage(), name, text)
    }

    /// Deletes the row, and keeps what it said about the page.
    fn mend_missing(&self, id: RevisionId) -> Result<Repair> {
        let Some(revision) = self.project.revision(id)? else { return Ok(Repair::Left) };
        let url = self.project.resource(revision.resource)?.map(|resource| resource.url);
        let row = json!({"id": id, "url": url, "error": revision.error, "metadata": revision.metadata});
        self.keep_text(&format!("revision-{id}.json"), &python_json::to_text(&row))?;
        self.mend_with("revision", |change| change.run("DELETE FROM resource_revision WHERE id = ?1", [id]))
    }

    fn mend_metadata(&self, id: RevisionId) -> Result<Repair> {
        let Some(revision) = self.project.revision(id)? else { return Ok(Repair::Left) };
        self.keep_text(&format!("revision-{id}-metadata.txt"), &revision.metadata)?;
        let sql = "UPDATE resource_revision SET metadata = 'null' WHERE id = ?1";
        self.mend_with("metadata", |change| change.run(sql, [id]))
    }

    /// With its body there, the download cannot have failed; without, what was said of the failure is its message.
    fn mend_error(&self, id: RevisionId) -> Result<Repair> {
        let Some(revision) = self.project.revision(id)? else { return Ok(Repair::Left) };
        self.keep_text(&format!("revision-{id}-error.txt"), &revision.error)?;
        let text = match self.project.body_length(id)? {
            Some(_) => "null".to_owned(),
            None => DownloadError::new("Exception", revision.error).to_json(),
        };
        let sql = "UPDATE resource_revision SET error = ?2 WHERE id = ?1";
        self.mend_with("error", |change| change.run(sql, (id, text)))
    }

    fn mend_hibernated(&self) -> Result<Repair> {
        if let Some(text) = self.project.property(HIBERNATED_STATE)? {
            self.keep_text("hibernated_state.txt", &text)?;
        }
        let sql = "DELETE FROM project_property WHERE name = ?1";
        self.mend_with("tasks", |change| change.run(sql, [HIBERNATED_STATE]))
    }
}

impl Change<'_> {
    fn no_source(&self, group: GroupId) -> Result<usize> {
        let sql = "UPDATE resource_group SET source_type = NULL, source_id = NULL WHERE id = ?1";
        self.run(sql, [group])
    }

    /// Ends both prefixes with a slash. If that makes it the second of its source, the first one counts.
    fn sound_alias(&self, alias: AliasId) -> Result<usize> {
        let sql = "UPDATE alias SET source_url_prefix = rtrim(source_url_prefix, '/') || '/', \
                   target_url_prefix = rtrim(target_url_prefix, '/') || '/' WHERE id = ?1";
        match self.run(sql, [alias]) {
            Err(error) if error.is_constraint() => self.run("DELETE FROM alias WHERE id = ?1", [alias]),
            done => done,
        }
    }
}
