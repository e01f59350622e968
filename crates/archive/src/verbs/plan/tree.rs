//! `plan tree`: the plan as a tree of what is found on what, with counts of captured pages.
//!
//! A group hangs below the root or group on whose pages it is found. Groups that are found on all
//! pages, or on each other in a circle, are at the top.

use serde::Serialize;
use varve_core::alias::Alias;
use varve_plan::{Group, Root};
use varve_repository::ArchivePaths;
use varve_repository::history::HistoryReader;

use super::members::MemberSource;
use crate::error::ArchiveError;

/// A plan as a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanTree {
    /// The roots.
    pub roots: Vec<RootNode>,
    /// The groups that are found on no single root or group.
    pub groups: Vec<GroupNode>,
    /// The aliases.
    pub aliases: Vec<Alias>,
}

/// A root, and the groups that are found on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RootNode {
    /// The root itself.
    #[serde(flatten)]
    pub root: Root,
    /// Whether it was captured.
    pub captured: bool,
    /// The groups that are found on it.
    pub groups: Vec<GroupNode>,
}

/// A group, and the groups that are found on its members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupNode {
    /// The group itself.
    #[serde(flatten)]
    pub group: Group,
    /// Number of its members that were captured.
    pub captured: u64,
    /// Number of known members that were never captured.
    pub missing: u64,
    /// The groups that are found on its members.
    pub groups: Vec<GroupNode>,
}

/// Builds the tree of a plan, and counts the members of its groups.
pub fn tree(layout: &ArchivePaths, history: &HistoryReader) -> Result<PlanTree, ArchiveError> {
    let source = MemberSource::open(layout, history)?;
    let mut builder = TreeBuilder { placed: vec![false; source.plan.groups.len()], source: &source };
    let mut roots = Vec::new();
    for root in &source.plan.roots {
        let captured = source.is_captured(&root.url)?;
        roots.push(RootNode { root: root.clone(), captured, groups: builder.groups_on(Some(&root.name))? });
    }
    let mut groups = builder.groups_on(None)?;
    // What is left is found on itself, or on nothing that the plan has.
    while let Some(at) = builder.placed.iter().position(|placed| !placed) {
        groups.push(builder.node(at)?);
    }
    Ok(PlanTree { roots, groups, aliases: source.plan.aliases.clone() })
}

struct TreeBuilder<'s> {
    source: &'s MemberSource<'s>,
    /// Which groups of the plan are in the tree.
    placed: Vec<bool>,
}

impl TreeBuilder<'_> {
    fn groups_on(&mut self, name: Option<&str>) -> Result<Vec<GroupNode>, ArchiveError> {
        let mut nodes = Vec::new();
        for at in 0..self.placed.len() {
            if !self.placed[at] && self.source.plan.groups[at].found_on.as_deref() == name {
                nodes.push(self.node(at)?);
            }
        }
        Ok(nodes)
    }

    fn node(&mut self, at: usize) -> Result<GroupNode, ArchiveError> {
        self.placed[at] = true;
        let group = self.source.plan.groups[at].clone();
        let (mut captured, mut missing) = (0, 0);
        self.source.members(at, &mut |member| match member.is_captured {
            true => captured += 1,
            false => missing += 1,
        })?;
        let groups = self.groups_on(Some(&group.name))?;
        Ok(GroupNode { group, captured, missing, groups })
    }
}
