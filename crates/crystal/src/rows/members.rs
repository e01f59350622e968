//! The members of a group: the resources that its pattern matches.
//!
//! The text before a pattern's first sign is a range of the index on `url`; within it the matcher of `varve_core`
//! decides. Nothing is collected, so that a group of millions costs no memory.

use varve_core::pattern::GroupPattern;

use super::{Group, Resource};
use crate::database::stream::Stream;
use crate::error::Result;
use crate::project::Project;

impl Project {
    /// The members of a group in the order of their URLs, reading only the part of the index where they can be.
    pub fn members<'p>(&'p self, group: &Group) -> Stream<'p, Resource> {
        self.matching(group.pattern())
    }

    /// The members of a group in the order of their ids, which is the order in which Crystal downloads them. Every
    /// resource of the project is looked at.
    pub fn members_by_id<'p>(&'p self, group: &Group) -> Stream<'p, Resource> {
        let pattern = group.pattern();
        self.resources_in_id_order(move |resource| pattern.matches(&resource.url))
    }

    /// The resources that a pattern matches, whether or not a group has it, in the order of their URLs.
    pub fn matching(&self, pattern: GroupPattern) -> Stream<'_, Resource> {
        let prefix = pattern.literal_prefix().to_owned();
        self.resources_in_url_order(&prefix, move |url| pattern.matches(url))
    }

    /// The groups to which a URL belongs, in the order of their ids.
    pub fn groups_of<'p>(&'p self, url: &'p str) -> impl Iterator<Item = Result<Group>> + 'p {
        self.groups().filter(move |group| group.as_ref().map_or(true, |group| group.pattern().matches(url)))
    }
}
