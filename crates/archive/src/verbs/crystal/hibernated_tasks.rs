//! The tasks that Crystal left in a project when it was closed, as a run that continues them.
//!
//! A task downloads one resource, or a group: its source and its members. As in Crystal, ids that the
//! project no longer has are ignored, and resources with a revision are not downloaded again, so that the
//! members up to the last one that Crystal did are skipped. The tasks stay in the project until the
//! run that continues them is finished. Then they are removed, unless Crystal has stored others.

use std::collections::BTreeSet;

use varve_crystal::property_name::HIBERNATED_STATE;
use varve_crystal::{GroupId, GroupSource, HibernatedTask, Project, ProjectWriter, ResourceId};

use super::plan::PlanRows;
use crate::error::ArchiveError;

/// The property that holds the tasks which the unfinished capture continues.
const TASKS_PROPERTY: &str = "varve.capture_tasks";

/// Tasks to continue.
pub(super) struct HibernatedTasks {
    /// The text that they were read from; none if it has tasks of a kind unknown here, which stay.
    text: Option<String>,
    /// The URLs to download.
    pub(super) urls: Vec<String>,
    /// The plan of the project, with the groups to download and those that exclude pages.
    pub(super) rows: PlanRows,
}

impl HibernatedTasks {
    /// The tasks of a project; none if it has none that can be continued.
    pub(super) fn read(project: &Project) -> Result<Option<Self>, ArchiveError> {
        let Some(text) = project.property(HIBERNATED_STATE)? else { return Ok(None) };
        let Some(Ok(state)) = project.hibernated()? else { return Ok(None) };
        let (mut resources, mut groups) = (BTreeSet::new(), BTreeSet::new());
        for task in &state.tasks {
            match task {
                HibernatedTask::DownloadResourceTask { resource_id } => {
                    resources.extend(resource_id.parse().ok().map(ResourceId));
                }
                HibernatedTask::DownloadResourceGroupTask { group_id } => {
                    if let Ok(id) = group_id.parse() {
                        add_with_sources(project, GroupId(id), &mut groups, &mut resources)?;
                    }
                }
                HibernatedTask::Unknown => {}
            }
        }
        let mut urls = Vec::new();
        for id in resources {
            urls.extend(project.resource(id)?.map(|resource| resource.url));
        }
        let mut rows = PlanRows::read(project)?;
        let mut plan = rows.plan.clone();
        for (group, row) in plan.groups.iter_mut().zip(&rows.groups) {
            // A group that is never downloaded by itself is downloaded where the user asked for it.
            group.do_not_download &= !groups.contains(&row.id);
        }
        let mut ids = rows.groups.iter().map(|row| row.id);
        plan.groups
            .retain(|group| ids.next().is_some_and(|id| groups.contains(&id)) || group.do_not_download);
        rows.keep_groups_of(&plan);
        let text = (!state.tasks.contains(&HibernatedTask::Unknown)).then_some(text);
        let has_work = !urls.is_empty() || rows.groups.iter().any(|group| groups.contains(&group.id));
        Ok(has_work.then_some(Self { text, urls, rows }))
    }

    /// Notes in the project which tasks the run continues.
    pub(super) fn mark_as_resumed(&self, writer: &mut ProjectWriter) -> varve_crystal::Result<()> {
        writer.set_property(TASKS_PROPERTY, self.text.as_deref())
    }
}

/// Adds a group and the groups it is found on, and the root at their end.
fn add_with_sources(
    project: &Project,
    group: GroupId,
    groups: &mut BTreeSet<GroupId>,
    resources: &mut BTreeSet<ResourceId>,
) -> Result<(), ArchiveError> {
    let mut next = Some(group);
    while let Some(group) = next.take().map(|id| project.group(id)).transpose()?.flatten() {
        if !groups.insert(group.id) {
            break;
        }
        match group.source {
            Some(GroupSource::Root(id)) => resources.extend(project.root(id)?.map(|root| root.resource)),
            Some(GroupSource::Group(id)) => next = Some(id),
            None => {}
        }
    }
    Ok(())
}

/// Removes the tasks that a finished run has continued. Tasks that Crystal has stored since stay.
pub(super) fn forget_resumed_tasks(writer: &mut ProjectWriter) -> varve_crystal::Result<()> {
    let Some(resumed) = writer.property(TASKS_PROPERTY)? else { return Ok(()) };
    if writer.property(HIBERNATED_STATE)?.as_deref() == Some(resumed.as_str()) {
        writer.set_property(HIBERNATED_STATE, None)?;
    }
    writer.set_property(TASKS_PROPERTY, None)
}
