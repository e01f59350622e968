//! Changing roots, groups, aliases and properties, and restoring rows of another project.
//!
//! Deleting the source of groups clears it in these groups in the same transaction. The `restore_…`
//! methods insert rows exactly as they were in another project, ids included. They do not apply the
//! rules for people (no second group with a pattern, normal URLs, existing sources): a row that a
//! project had is a valid row. They refuse only rows that keep Crystal from opening the project.

use varve_core::secret::ShownUrl;

use super::{ProjectChange, ProjectWriter, fit_id};
use crate::error::{ChangeRefusal, Result};
use crate::ids::{AliasId, GroupId, RootId};
use crate::rows::expected_value;
use crate::rows::property_name::{MAJOR_VERSION, MAJOR_VERSION_OLD};
use crate::rows::{GroupSource, ProjectAlias, Resource, ResourceGroup, RootResource};

/// A group to add.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewGroup<'a> {
    /// Its name, which may be empty.
    pub name: &'a str,
    /// The pattern of its members' URLs, not empty.
    pub url_pattern: &'a str,
    /// Where its members are found.
    pub source: Option<GroupSource>,
    /// Members are not downloaded because a page embeds them.
    pub do_not_download: bool,
}

/// Roots. A resource is a root at most once.
impl ProjectWriter {
    /// Makes a URL a root, with a name that may be empty. Its resource is added if the project does
    /// not have it.
    pub fn add_root(&mut self, name: &str, url: &str) -> Result<RootResource> {
        self.change("root", |change| {
            let resource = change.resource(url)?;
            let insert = "INSERT INTO root_resource (name, resource_id) VALUES (?1, ?2)";
            let taken = || format!("a root for `{}`", ShownUrl(&resource.url));
            let id = change.insert(insert, (name, resource.id), taken)?;
            Ok(RootResource { id: RootId(id), name: name.to_owned(), resource: resource.id })
        })
    }

    /// Deletes a root. Groups whose source it was have none afterwards; its resource stays, with
    /// its revisions.
    pub fn delete_root(&mut self, id: RootId) -> Result<()> {
        self.change("delete root", |change| {
            change.clear_sources("root_resource", id.get())?;
            change.run_on("root", id.get(), "DELETE FROM root_resource WHERE id = ?1", [id])
        })
    }
}

/// Groups.
impl ProjectWriter {
    /// Adds a group. A pattern that another group has is refused, as Crystal's own interface does.
    pub fn add_group(&mut self, new: NewGroup<'_>) -> Result<ResourceGroup> {
        self.change("group", |change| {
            change.refuse_pattern(new.url_pattern)?;
            change.refuse_source(None, new.source)?;
            let insert = "INSERT INTO resource_group (name, url_pattern, source_type, source_id, do_not_download) \
                          VALUES (?1, ?2, ?3, ?4, ?5)";
            let source = (new.source.map(GroupSource::word), new.source.map(GroupSource::number));
            let values = (new.name, new.url_pattern, source.0, source.1, new.do_not_download);
            let id = change.insert(insert, values, || "such a group".to_owned())?;
            Ok(ResourceGroup {
                id: GroupId(id),
                name: new.name.to_owned(),
                url_pattern: new.url_pattern.to_owned(),
                source: new.source,
                do_not_download: new.do_not_download,
            })
        })
    }

    /// Changes where a group's members are found.
    pub fn set_group_source(&mut self, id: GroupId, source: Option<GroupSource>) -> Result<()> {
        self.change("group", |change| {
            change.refuse_source(Some(id), source)?;
            let sql = "UPDATE resource_group SET source_type = ?2, source_id = ?3 WHERE id = ?1";
            let values = (id, source.map(GroupSource::word), source.map(GroupSource::number));
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
}

/// Aliases. Both prefixes are whole folders: Crystal refuses a project with others.
impl ProjectWriter {
    /// Adds an alias. A source prefix has at most one.
    pub fn add_alias(
        &mut self,
        source: &str,
        target: &str,
        target_is_external: bool,
    ) -> Result<ProjectAlias> {
        refuse_prefix(source)?;
        refuse_prefix(target)?;
        self.change("alias", |change| {
            let insert = "INSERT INTO alias (source_url_prefix, target_url_prefix, target_is_external) \
                          VALUES (?1, ?2, ?3)";
            let taken = || format!("an alias for `{}`", ShownUrl(source));
            let id = change.insert(insert, (source, target, target_is_external), taken)?;
            Ok(ProjectAlias {
                id: AliasId(id),
                source_url_prefix: source.to_owned(),
                target_url_prefix: target.to_owned(),
                target_is_external,
            })
        })
    }

    /// Deletes an alias.
    pub fn delete_alias(&mut self, id: AliasId) -> Result<()> {
        self.change("delete alias", |change| {
            change.run_on("alias", id.get(), "DELETE FROM alias WHERE id = ?1", [id])
        })
    }
}

/// Properties.
impl ProjectWriter {
    /// Sets a property, or removes it. The version of the project cannot be set, and a property that
    /// Crystal knows only gets a value that Crystal can use.
    pub fn set_property(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        if let Some(expected) = value.and_then(|value| expected_value(name, value)) {
            return Err(ChangeRefusal::PropertyValue { name: name.to_owned(), expected }.into());
        }
        self.restore_property(name, value)
    }

    /// Sets a property to the value it has in another project, or removes it.
    pub fn restore_property(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        if name == MAJOR_VERSION || name == MAJOR_VERSION_OLD {
            return Err(ChangeRefusal::OwnProperty { name: name.to_owned() }.into());
        }
        self.change("property", |change| {
            let Some(value) = value else {
                change.run("DELETE FROM project_property WHERE name = ?1", [name])?;
                return Ok(());
            };
            let update = "UPDATE project_property SET value = ?2 WHERE name = ?1";
            if change.run(update, [name, value])? == 0 {
                change.run("INSERT INTO project_property (name, value) VALUES (?1, ?2)", [name, value])?;
            }
            Ok(())
        })
    }
}

/// Rows of another project.
impl ProjectWriter {
    /// Inserts resources of another project, in one transaction.
    pub fn restore_resources(&mut self, rows: impl IntoIterator<Item = Resource>) -> Result<()> {
        self.change("resources", |change| {
            for row in rows {
                let values = (fit_id(row.id.get())?, &row.url);
                let taken = || format!("resource {}, or its URL", row.id);
                change.insert("INSERT INTO resource (id, url) VALUES (?1, ?2)", values, taken)?;
            }
            Ok(())
        })
    }

    /// Inserts a root of another project. Its resource must exist.
    pub fn restore_root(&mut self, row: &RootResource) -> Result<()> {
        self.change("root", |change| {
            if change.writer.resource(row.resource)?.is_none() {
                return Err(ChangeRefusal::Unknown { what: "resource", id: row.resource.get() }.into());
            }
            let sql = "INSERT INTO root_resource (id, name, resource_id) VALUES (?1, ?2, ?3)";
            let values = (fit_id(row.id.get())?, &row.name, row.resource);
            change.insert(sql, values, || format!("root {}, or one for its resource", row.id)).map(drop)
        })
    }

    /// Inserts a group of another project. Its source may be inserted later, or never.
    pub fn restore_group(&mut self, row: &ResourceGroup) -> Result<()> {
        if row.url_pattern.is_empty() {
            return Err(ChangeRefusal::EmptyPattern.into());
        }
        self.change("group", |change| {
            let sql = "INSERT INTO resource_group (id, name, url_pattern, source_type, source_id, do_not_download) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let source = (row.source.map(GroupSource::word), row.source.map(GroupSource::number));
            let id = fit_id(row.id.get())?;
            let values = (id, &row.name, &row.url_pattern, source.0, source.1, row.do_not_download);
            change.insert(sql, values, || format!("group {id}")).map(drop)
        })
    }

    /// Inserts an alias of another project.
    pub fn restore_alias(&mut self, row: &ProjectAlias) -> Result<()> {
        refuse_prefix(&row.source_url_prefix)?;
        refuse_prefix(&row.target_url_prefix)?;
        self.change("alias", |change| {
            let sql = "INSERT INTO alias (id, source_url_prefix, target_url_prefix, target_is_external) \
                       VALUES (?1, ?2, ?3, ?4)";
            let id = fit_id(row.id.get())?;
            let values = (id, &row.source_url_prefix, &row.target_url_prefix, row.target_is_external);
            change.insert(sql, values, || format!("alias {id}, or one for its source")).map(drop)
        })
    }
}

impl ProjectChange<'_> {
    /// Clears the source of every group that has this one.
    pub(crate) fn clear_sources(&self, word: &str, id: i64) -> Result<usize> {
        let sql = "UPDATE resource_group SET source_type = NULL, source_id = NULL \
                   WHERE source_type = ?1 AND source_id = ?2";
        self.run(sql, (word, id))
    }

    fn refuse_pattern(&self, pattern: &str) -> Result<()> {
        if pattern.is_empty() {
            return Err(ChangeRefusal::EmptyPattern.into());
        }
        let sql = "SELECT 1 FROM resource_group WHERE url_pattern = ?1";
        match self.writer.one(sql, [pattern], |_| Ok(()))? {
            Some(()) => {
                Err(ChangeRefusal::Taken { what: format!("a group with the pattern `{pattern}`") }.into())
            }
            None => Ok(()),
        }
    }

    /// Refuses a source that is not there, or that leads back to the group.
    fn refuse_source(&self, group: Option<GroupId>, source: Option<GroupSource>) -> Result<()> {
        let id = match source {
            None => return Ok(()),
            Some(GroupSource::Root(id)) => return need("root", id.get(), self.writer.root(id)?.is_some()),
            Some(GroupSource::Group(id)) => id,
        };
        need("group", id.get(), self.writer.group(id)?.is_some())?;
        let mut next = source;
        // Each step goes to another group: a chain longer than there are groups is a circle.
        for _ in 0..=self.writer.count("SELECT count(*) FROM resource_group", [])? {
            let Some(GroupSource::Group(id)) = next else { return Ok(()) };
            if group == Some(id) {
                return Err(ChangeRefusal::SourceCycle { group: id.get() }.into());
            }
            next = self.writer.group(id)?.and_then(|group| group.source);
        }
        Err(ChangeRefusal::SourceCycle { group: id.get() }.into())
    }
}

fn need(what: &'static str, id: i64, is_there: bool) -> Result<()> {
    if is_there { Ok(()) } else { Err(ChangeRefusal::Unknown { what, id }.into()) }
}

fn refuse_prefix(prefix: &str) -> Result<()> {
    if prefix.ends_with('/') {
        return Ok(());
    }
    Err(ChangeRefusal::AliasPrefix { prefix: prefix.to_owned() }.into())
}
