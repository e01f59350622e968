//! Looking at the rows that people made: roots, groups, aliases and properties.

use super::{Finding, Look};
use crate::error::Result;
use crate::rows::{Group, Source};

impl Look<'_> {
    pub(super) fn rows(&mut self) -> Result<()> {
        self.roots()?;
        self.groups()?;
        for alias in self.project.aliases() {
            if let Some(alias) = self.readable(alias)?.filter(|alias| !alias.is_sound()) {
                self.found(Finding::AliasUnsound { alias: alias.id })?;
            }
        }
        for property in self.project.properties() {
            self.readable(property)?;
        }
        let hibernated = self.project.hibernated();
        if let Some(Some(Err(problem))) = self.readable(hibernated)? {
            self.found(Finding::HibernatedUnreadable { problem: problem.to_string() })?;
        }
        Ok(())
    }

    fn roots(&mut self) -> Result<()> {
        for root in self.project.roots() {
            let Some(root) = self.readable(root)? else { continue };
            let resource = self.project.resource(root.resource);
            if matches!(resource, Ok(None)) {
                self.found(Finding::RootWithoutResource { root: root.id, resource: root.resource })?;
            }
        }
        Ok(())
    }

    fn groups(&mut self) -> Result<()> {
        let groups = self.project.count("SELECT count(*) FROM resource_group")?;
        for group in self.project.groups() {
            let Some(group) = self.readable(group)? else { continue };
            if group.url_pattern.is_empty() {
                self.found(Finding::PatternEmpty { group: group.id })?;
            }
            match self.chain_ends(&group, groups) {
                Chain::Sound => {}
                Chain::Dangling => self.found(Finding::SourceDangling { group: group.id })?,
                Chain::Circle => self.found(Finding::SourceCycle { group: group.id })?,
            }
        }
        Ok(())
    }

    /// Follows a group's sources. A group that merely leads into a circle of others is not part of it.
    fn chain_ends(&self, group: &Group, most: u64) -> Chain {
        let mut next = group.source;
        for step in 0..=most {
            let found = match next {
                None => return Chain::Sound,
                Some(Source::Root(id)) => {
                    let is_there = !matches!(self.project.root(id), Ok(None));
                    return if is_there || step > 0 { Chain::Sound } else { Chain::Dangling };
                }
                Some(Source::Group(id)) if id == group.id => return Chain::Circle,
                Some(Source::Group(id)) => self.project.group(id),
            };
            next = match found {
                Ok(Some(source)) => source.source,
                Ok(None) if step == 0 => return Chain::Dangling,
                _ => return Chain::Sound,
            };
        }
        Chain::Sound
    }
}

/// Where the sources of a group lead.
enum Chain {
    Sound,
    Dangling,
    Circle,
}
