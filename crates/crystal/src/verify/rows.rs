//! Looking at the rows that people made: roots, groups, aliases and properties.

use super::{ProjectFinding, Verification};
use crate::error::{Error, Result};
use crate::rows::{GroupSource, ResourceGroup};

impl Verification<'_> {
    pub(super) fn rows(&mut self) -> Result<()> {
        self.roots()?;
        self.groups()?;
        for alias in self.project.aliases() {
            if let Some(alias) = self.readable(alias)?.filter(|alias| !alias.is_sound()) {
                self.found(ProjectFinding::AliasUnsound { alias: alias.id })?;
            }
        }
        for property in self.project.properties() {
            self.readable(property)?;
        }
        match self.project.hibernated() {
            // A value that is no text was found above.
            Ok(None | Some(Ok(_))) | Err(Error::Row(_)) => Ok(()),
            Ok(Some(Err(problem))) => {
                self.found(ProjectFinding::HibernatedUnreadable { problem: problem.to_string() })
            }
            Err(error) => Err(error),
        }
    }

    fn roots(&mut self) -> Result<()> {
        for root in self.project.roots() {
            let Some(root) = self.readable(root)? else { continue };
            let resource = self.project.resource(root.resource);
            if matches!(resource, Ok(None)) {
                self.found(ProjectFinding::RootWithoutResource { root: root.id, resource: root.resource })?;
            }
        }
        Ok(())
    }

    fn groups(&mut self) -> Result<()> {
        let groups = self.project.count("SELECT count(*) FROM resource_group", [])?;
        for group in self.project.groups() {
            let Some(group) = self.readable(group)? else { continue };
            if group.url_pattern.is_empty() {
                self.found(ProjectFinding::PatternEmpty { group: group.id })?;
            }
            match self.chain_ends(&group, groups) {
                SourceChain::Sound => {}
                SourceChain::Dangling => self.found(ProjectFinding::SourceDangling { group: group.id })?,
                SourceChain::Circle => self.found(ProjectFinding::SourceCycle { group: group.id })?,
            }
        }
        Ok(())
    }

    /// Follows a group's sources. A group that merely leads into a circle of others is not part of
    /// it.
    fn chain_ends(&self, group: &ResourceGroup, most: u64) -> SourceChain {
        let mut next = group.source;
        for step in 0..=most {
            let found = match next {
                None => return SourceChain::Sound,
                Some(GroupSource::Root(id)) => {
                    let is_there = !matches!(self.project.root(id), Ok(None));
                    return if is_there || step > 0 { SourceChain::Sound } else { SourceChain::Dangling };
                }
                Some(GroupSource::Group(id)) if id == group.id => return SourceChain::Circle,
                Some(GroupSource::Group(id)) => self.project.group(id),
            };
            next = match found {
                Ok(Some(source)) => source.source,
                Ok(None) if step == 0 => return SourceChain::Dangling,
                _ => return SourceChain::Sound,
            };
        }
        SourceChain::Sound
    }
}

/// Where the sources of a group lead.
enum SourceChain {
    Sound,
    Dangling,
    Circle,
}
