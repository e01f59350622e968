//! Where a page that was reached from another may be found again: the root there, or the group that fits it best.
//!
//! The pattern of a new group is guessed by [`varve_core::pattern::suggest_pattern`]; what is here needs the rows of a project.

use crate::error::Result;
use crate::project::Project;
use crate::rows::{Group, Source};
use varve_core::pattern::looseness;

impl Project {
    /// Where a page that was reached from `referrer` may be found: the root there, or the group that fits it best.
    pub fn suggest_source(&self, referrer: &str) -> Result<Option<Source>> {
        if let Some(resource) = self.resource_at(referrer)?
            && let Some(root) = self.root_of(resource.id)?
        {
            return Ok(Some(Source::Root(root.id)));
        }
        let mut best: Option<Group> = None;
        for group in self.groups_of(referrer) {
            let group = group?;
            if best.as_ref().is_none_or(|best| looseness(&group.url_pattern) < looseness(&best.url_pattern)) {
                best = Some(group);
            }
        }
        Ok(best.map(|group| Source::Group(group.id)))
    }
}
