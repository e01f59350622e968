//! Adding, changing and deleting groups. Deleting what was a source clears it in its dependents at once.

use crate::error::{Refusal, Result};
use crate::ids::GroupId;
use crate::project::ProjectWriter;
use crate::rows::{Group, Source};

use super::Change;

/// A group to add.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewGroup<'a> {
    /// Its name, perhaps empty.
    pub name: &'a str,
    /// The pattern of its members' URLs, not empty.
    pub url_pattern: &'a str,
    /// Where its members are found.
    pub source: Option<Source>,
    /// Members are not downloaded because a page embeds them.
    pub do_not_download: bool,
}

impl ProjectWriter {
    /// Adds a group. A pattern that another group has is refused, as Crystal's own interface does.
    pub fn add_group(&mut self, new: NewGroup<'_>) -> Result<Group> {
        self.change("group", |change| {
            change.refuse_pattern(new.url_pattern)?;
            change.refuse_source(None, new.source)?;
            let insert = "INSERT INTO resource_group (name, url_pattern, source_type, source_id, do_not_download) \
                          VALUES (?1, ?2, ?3, ?4, ?5)";
            let source = (new.source.map(Source::word), new.source.map(Source::number));
            let values = (new.name, new.url_pattern, source.0, source.1, new.do_not_download);
            let id = change.insert(insert, values, || "such a group".to_owned())?;
            Ok(Group {
                id: GroupId(id),
                name: new.name.to_owned(),
                url_pattern: new.url_pattern.to_owned(),
                source: new.source,
                do_not_download: new.do_not_download,
            })
        })
    }

    /// Gives a group another name.
    pub fn rename_group(&mut self, id: GroupId, name: &str) -> Result<()> {
        self.set_in_group(id, "UPDATE resource_group SET name = ?2 WHERE id = ?1", name)
    }

    /// Says whether a group's members are downloaded because a page embeds them.
    pub fn set_do_not_download(&mut self, id: GroupId, do_not_download: bool) -> Result<()> {
        self.set_in_group(id, "UPDATE resource_group SET do_not_download = ?2 WHERE id = ?1", do_not_download)
    }

    /// Says where a group's members are found.
    pub fn set_group_source(&mut self, id: GroupId, source: Option<Source>) -> Result<()> {
        self.change("group", |change| {
            change.refuse_source(Some(id), source)?;
            let sql = "UPDATE resource_group SET source_type = ?2, source_id = ?3 WHERE id = ?1";
            let values = (id, source.map(Source::word), source.map(Source::number));
            change.run_on("group", id.get(), sql, values)
        })
    }

    /// Deletes a group. Groups whose source it was have none afterwards; its members stay.
    pub fn delete_group(&mut self, id: GroupId) -> Result<()> {
        self.change("delete group", |change| {
            change.clear_sources("resource_group", id.get())?;
            change.run_on("group", id.get(), "DELETE FROM resource_group WHERE id = ?1", [id])
        })
    }

    fn set_in_group(&mut self, id: GroupId, sql: &str, value: impl rusqlite::ToSql) -> Result<()> {
        self.change("group", |change| change.run_on("group", id.get(), sql, (id, value)))
    }
}

impl Change<'_> {
    /// Clears the source of every group that has this one.
    pub(crate) fn clear_sources(&self, word: &str, id: i64) -> Result<usize> {
        let sql = "UPDATE resource_group SET source_type = NULL, source_id = NULL \
                   WHERE source_type = ?1 AND source_id = ?2";
        self.run(sql, (word, id))
    }

    fn refuse_pattern(&self, pattern: &str) -> Result<()> {
        if pattern.is_empty() {
            return Err(Refusal::EmptyPattern.into());
        }
        let sql = "SELECT 1 FROM resource_group WHERE url_pattern = ?1";
        match self.writer.one(sql, [pattern], |_| Ok(()))? {
            Some(()) => Err(Refusal::Taken { what: format!("a group with the pattern `{pattern}`") }.into()),
            None => Ok(()),
        }
    }

    /// Refuses a source that is not there, or that leads back to the group.
    fn refuse_source(&self, group: Option<GroupId>, source: Option<Source>) -> Result<()> {
        let id = match source {
            None => return Ok(()),
            Some(Source::Root(id)) => return need("root", id.get(), self.writer.root(id)?.is_some()),
            Some(Source::Group(id)) => id,
        };
        need("group", id.get(), self.writer.group(id)?.is_some())?;
        let mut next = source;
        // Each step goes to another group: a chain longer than there are groups is a circle.
        for _ in 0..=self.writer.count("SELECT count(*) FROM resource_group")? {
            let Some(Source::Group(id)) = next else { return Ok(()) };
            if group == Some(id) {
                return Err(Refusal::SourceCycle { group: id.get() }.into());
            }
            next = self.writer.group(id)?.and_then(|group| group.source);
        }
        Err(Refusal::SourceCycle { group: id.get() }.into())
    }
}

fn need(what: &'static str, id: i64, is_there: bool) -> Result<()> {
    if is_there { Ok(()) } else { Err(Refusal::Unknown { what, id }.into()) }
}
