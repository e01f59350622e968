//! The plan of an archive as rows of a project. Entries that a project refuses are reported.

use std::collections::HashMap;

use varve_crystal::{GroupSource, NewGroup, ProjectWriter};
use varve_plan::Plan;

use super::super::plan::add_root;
use super::{ProjectExported, is_refusal};
use crate::error::ArchiveError;

/// Adds roots, groups and aliases to a project that has none.
pub(super) fn write(
    plan: &Plan,
    writer: &mut ProjectWriter,
    done: &mut ProjectExported,
) -> Result<(), ArchiveError> {
    let mut sources: HashMap<&str, GroupSource> = HashMap::new();
    for root in &plan.roots {
        let added = unless_refused(add_root(writer, root), "roots", done)?;
        sources.extend(added.map(|id| (root.name.as_str(), GroupSource::Root(id))));
    }
    let mut groups = Vec::new();
    for group in &plan.groups {
        let name = if group.name == group.pattern { "" } else { &group.name };
        let (url_pattern, do_not_download) = (group.pattern.as_str(), group.do_not_download);
        let new = NewGroup { name, url_pattern, source: None, do_not_download };
        if let Some(added) = unless_refused(writer.add_group(new), "groups", done)? {
            sources.insert(&group.name, GroupSource::Group(added.id));
            groups.push((group, added.id));
        }
    }
    // The source of a group may be a later group.
    for (group, id) in groups {
        let Some(name) = &group.found_on else { continue };
        match sources.get(name.as_str()) {
            Some(source) => {
                unless_refused(writer.set_group_source(id, Some(*source)), "sources of groups", done)?;
            }
            None => done.leave(&refused("sources of groups")),
        }
    }
    for alias in &plan.aliases {
        let added = writer.add_alias(&alias.source, &alias.target, alias.external);
        unless_refused(added, "aliases", done)?;
    }
    Ok(())
}

/// The result, or none if the rules of a project forbid the entry, which is then reported.
fn unless_refused<T>(
    added: varve_crystal::Result<T>,
    what: &str,
    done: &mut ProjectExported,
) -> Result<Option<T>, ArchiveError> {
    match added {
        Err(error) if is_refusal(&error) => {
            done.leave(&refused(what));
            Ok(None)
        }
        added => Ok(Some(added?)),
    }
}

fn refused(what: &str) -> String {
    format!("{what} of the plan that a project cannot store")
}
