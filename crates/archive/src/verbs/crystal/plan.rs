//! The plan of a Crystal project: converts its roots, groups and aliases to and from a [`Plan`].
//!
//! Names in a project need not be unique, and many entries have none. A plan finds entries by name,
//! so an entry without a unique name is named by its URL or pattern. Edits are made to the plan,
//! which validates them, and the differences are then applied to the project's tables. A group
//! whose source is removed has no source afterwards.

use std::collections::HashSet;
use std::path::Path;

use varve_core::alias::Alias;
use varve_crystal::{AliasId, GroupId, GroupSource, NewGroup, Project, ProjectWriter, RootId, domain_prefix};
use varve_crystal::{Error, OpenReport, property_name};
use varve_plan::{EditError, Group, Plan, Root};

use crate::error::ArchiveError;

/// A plan, and the row ids of its entries in the same order.
pub(crate) struct PlanRows {
    pub(crate) plan: Plan,
    roots: Vec<RootId>,
    pub(crate) groups: Vec<varve_crystal::ResourceGroup>,
    aliases: Vec<AliasId>,
}

impl PlanRows {
    /// Reads a project's plan. Unreadable rows are skipped; `verify` reports them.
    pub(crate) fn read(project: &Project) -> Result<Self, ArchiveError> {
        let mut names = UniqueNames::default();
        let mut rows =
            Self { plan: Plan::default(), roots: Vec::new(), groups: Vec::new(), aliases: Vec::new() };
        for root in understood(project.roots()) {
            let root = root?;
            let Some(resource) = project.resource(root.resource)? else { continue };
            let name = names.give(&root.name, &resource.url);
            rows.plan.roots.push(Root { name, url: resource.url });
            rows.roots.push(root.id);
        }
        for group in understood(project.groups()) {
            let group = group?;
            let name = names.give(&group.name, &group.url_pattern);
            let (pattern, do_not_download) = (group.url_pattern.clone(), group.do_not_download);
            rows.plan.groups.push(Group { name, pattern, found_on: None, do_not_download });
            rows.groups.push(group);
        }
        for at in 0..rows.groups.len() {
            rows.plan.groups[at].found_on = rows.groups[at].source.and_then(|source| rows.name_of(source));
        }
        for alias in understood(project.aliases()) {
            let alias = alias?;
            let (source, target) = (alias.source_url_prefix, alias.target_url_prefix);
            rows.plan.aliases.push(Alias { source, target, external: alias.target_is_external });
            rows.aliases.push(alias.id);
        }
        Ok(rows)
    }

    /// Keeps only the groups that a plan has, as it has them.
    pub(crate) fn keep_groups_of(&mut self, plan: &Plan) {
        let kept = |group: &Group| plan.groups.iter().find(|other| other.name == group.name);
        let groups = std::mem::take(&mut self.plan.groups).into_iter().zip(std::mem::take(&mut self.groups));
        for (mut group, mut row) in groups {
            let Some(other) = kept(&group) else { continue };
            group.do_not_download = other.do_not_download;
            row.do_not_download = other.do_not_download;
            self.plan.groups.push(group);
            self.groups.push(row);
        }
    }

    fn name_of(&self, source: GroupSource) -> Option<String> {
        match source {
            GroupSource::Root(id) => {
                let at = self.roots.iter().position(|root| *root == id)?;
                Some(self.plan.roots[at].name.clone())
            }
            GroupSource::Group(id) => {
                let at = self.groups.iter().position(|group| group.id == id)?;
                Some(self.plan.groups[at].name.clone())
            }
        }
    }

    fn source_called(&self, name: &str) -> Option<GroupSource> {
        let root = self.plan.roots.iter().position(|root| root.name == name);
        let group = || self.plan.groups.iter().position(|group| group.name == name);
        root.map(|at| GroupSource::Root(self.roots[at]))
            .or_else(|| group().map(|at| GroupSource::Group(self.groups[at].id)))
    }

    fn group_called(&self, name: &str) -> Option<GroupId> {
        let at = self.plan.groups.iter().position(|group| group.name == name)?;
        Some(self.groups[at].id)
    }
}

/// Assigns each name once.
#[derive(Default)]
struct UniqueNames(HashSet<String>);

impl UniqueNames {
    /// The entry's own name, or its URL or pattern, or that with a number.
    fn give(&mut self, own: &str, otherwise: &str) -> String {
        let wanted = [own, otherwise].into_iter().find(|name| !name.is_empty() && !self.0.contains(*name));
        let name = wanted.map(str::to_owned).unwrap_or_else(|| {
            let numbered = (2..).map(|number| format!("{otherwise} ({number})"));
            numbered.into_iter().find(|name| !self.0.contains(name)).unwrap_or_default()
        });
        self.0.insert(name.clone());
        name
    }
}

/// The rows that can be read.
pub(super) fn understood<T>(
    rows: impl Iterator<Item = varve_crystal::Result<T>>,
) -> impl Iterator<Item = varve_crystal::Result<T>> {
    rows.filter(|row| !matches!(row, Err(Error::Row(_))))
}

/// The plan of the project at `path`.
pub(crate) fn load(path: &Path) -> Result<Plan, ArchiveError> {
    Ok(PlanRows::read(&Project::open(path)?)?.plan)
}

/// Changes the plan of the project at `path`. `tell` is called with the repairs made when the
/// project was opened.
pub(crate) fn edit<T>(
    path: &Path,
    tell: &mut dyn FnMut(&OpenReport),
    change: impl FnOnce(&mut Plan) -> Result<T, EditError>,
) -> Result<T, ArchiveError> {
    let mut writer = ProjectWriter::open(path)?;
    tell(writer.report());
    let before = PlanRows::read(&writer)?;
    let mut after = before.plan.clone();
    let changed = change(&mut after)?;
    apply(&mut writer, &before, &after)?;
    writer.close()?;
    Ok(changed)
}

/// Applies the changes of the plan to the project's tables.
fn apply(writer: &mut ProjectWriter, before: &PlanRows, after: &Plan) -> Result<(), ArchiveError> {
    for (group, row) in before.plan.groups.iter().zip(&before.groups) {
        if !after.groups.iter().any(|other| other.name == group.name) {
            writer.delete_group(row.id)?;
        }
    }
    for (root, id) in before.plan.roots.iter().zip(&before.roots) {
        if !after.roots.contains(root) {
            writer.delete_root(*id)?;
        }
    }
    for (alias, id) in before.plan.aliases.iter().zip(&before.aliases) {
        if !after.aliases.contains(alias) {
            writer.delete_alias(*id)?;
        }
    }
    for root in after.roots.iter().filter(|root| !before.plan.roots.contains(root)) {
        add_root(writer, root)?;
    }
    for alias in after.aliases.iter().filter(|alias| !before.plan.aliases.contains(alias)) {
        writer.add_alias(&alias.source, &alias.target, alias.external)?;
    }
    apply_groups(writer, before, after)
}

fn apply_groups(writer: &mut ProjectWriter, before: &PlanRows, after: &Plan) -> Result<(), ArchiveError> {
    for group in &after.groups {
        let source = group.found_on.as_deref().and_then(|name| before.source_called(name));
        let Some(id) = before.group_called(&group.name) else {
            let name = if group.name == group.pattern { "" } else { &group.name };
            let (url_pattern, do_not_download) = (group.pattern.as_str(), group.do_not_download);
            writer.add_group(NewGroup { name, url_pattern, source, do_not_download })?;
            continue;
        };
        let was = before.plan.groups.iter().find(|other| other.name == group.name);
        if was.is_some_and(|was| was.found_on != group.found_on) {
            writer.set_group_source(id, source)?;
        }
    }
    Ok(())
}

/// Adds a root. The first root of a project also sets its default URL prefix, as in Crystal.
pub(super) fn add_root(writer: &mut ProjectWriter, root: &Root) -> varve_crystal::Result<RootId> {
    let is_first = writer.roots().next().is_none() && writer.default_url_prefix()?.is_none();
    let name = if root.name == root.url { "" } else { &root.name };
    let added = writer.add_root(name, &root.url)?;
    let url = writer.resource(added.resource)?.map(|resource| resource.url);
    if let Some(site) = url.as_deref().and_then(domain_prefix).filter(|_| is_first) {
        writer.set_property(property_name::DEFAULT_URL_PREFIX, Some(site))?;
    }
    Ok(added.id)
}
