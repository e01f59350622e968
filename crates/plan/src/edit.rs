//! Changes to a plan. One that would make it worse is refused.

use super::{Group, Plan, Problem, Root};
use varve_core::alias::Alias;
use varve_core::secret::ShownUrl;

/// Why a plan was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It would make no sense any more.
    #[error(transparent)]
    Problem(Problem),
    /// Nothing is called so.
    #[error("the plan has no {kind} `{}`", name.escape_debug())]
    Absent {
        /// `root`, `group` or `alias`.
        kind: &'static str,
        /// What was given.
        name: String,
    },
    /// It is not where a site begins.
    #[error("`{}` is not where a site begins: its path is not `/`", ShownUrl(url))]
    NotASite {
        /// The URL.
        url: String,
    },
    /// Groups are found on it.
    #[error("`{name}` is what other groups are found on: {}", quoted(by))]
    InUse {
        /// What was to be removed.
        name: String,
        /// The groups.
        by: Vec<String>,
    },
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The result of a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed<T> {
    /// The thing itself.
    pub removed: T,
    /// The groups that were found on it, and are not any more.
    pub cleared: Vec<String>,
}

impl Plan {
    /// Adds a root.
    pub fn add_root(&mut self, root: Root) -> Result<(), EditError> {
        self.edit(|plan| plan.roots.push(root))
    }

    /// Adds a group.
    pub fn add_group(&mut self, group: Group) -> Result<(), EditError> {
        self.edit(|plan| plan.groups.push(group))
    }

    /// Adds the group of everything on a site: what begins as a root does whose path is `/`, found from that root.
    pub fn add_site(&mut self, root: &str) -> Result<Group, EditError> {
        let by_name = self.roots.iter().find(|one| one.name == root);
        let found = by_name.or_else(|| self.roots.iter().find(|one| one.url == root));
        let found = found.ok_or_else(|| absent("root", root))?;
        let authority = found.url.split_once("://").map_or("", |(_, rest)| rest);
        let path = authority.find('/').map_or("/", |at| &authority[at..]);
        if path != "/" || authority.contains(['?', '#']) {
            return Err(EditError::NotASite { url: found.url.clone() });
        }
        let pattern = format!("{}/**", found.url.trim_end_matches('/'));
        let (name, found_on) = (pattern.clone(), Some(found.name.clone()));
        let group = Group { name, pattern, found_on, do_not_download: false };
        self.add_group(group.clone())?;
        Ok(group)
    }

    /// Adds an alias.
    pub fn add_alias(&mut self, alias: Alias) -> Result<(), EditError> {
        self.edit(|plan| plan.aliases.push(alias))
    }

    /// Removes the root of that name or URL. With `cascade`, groups that are found on it are found on all pages then.
    pub fn remove_root(&mut self, name: &str, cascade: bool) -> Result<Removed<Root>, EditError> {
        let by_name = self.roots.iter().position(|root| root.name == name);
        let at = by_name.or_else(|| self.roots.iter().position(|root| root.url == name));
        let at = at.ok_or_else(|| absent("root", name))?;
        let cleared = self.clear(&self.roots[at].name.clone(), None, cascade)?;
        Ok(Removed { removed: self.roots.remove(at), cleared })
    }

    /// Removes the group of that name or pattern, as [`Self::remove_root`] does.
    pub fn remove_group(&mut self, name: &str, cascade: bool) -> Result<Removed<Group>, EditError> {
        let by_name = self.groups.iter().position(|group| group.name == name);
        let at = by_name.or_else(|| self.groups.iter().position(|group| group.pattern == name));
        let at = at.ok_or_else(|| absent("group", name))?;
        let cleared = self.clear(&self.groups[at].name.clone(), Some(at), cascade)?;
        Ok(Removed { removed: self.groups.remove(at), cleared })
    }

    /// Removes the alias for that beginning.
    pub fn remove_alias(&mut self, source: &str) -> Result<Alias, EditError> {
        let at = self.aliases.iter().position(|alias| alias.source == source);
        Ok(self.aliases.remove(at.ok_or_else(|| absent("alias", source))?))
    }

    /// Changes a copy, and keeps it if it has no new problem.
    fn edit(&mut self, change: impl FnOnce(&mut Self)) -> Result<(), EditError> {
        let before = self.problems();
        let mut plan = self.clone();
        change(&mut plan);
        plan.sort();
        match plan.problems().into_iter().find(|problem| !before.contains(problem)) {
            Some(problem) => Err(EditError::Problem(problem)),
            None => {
                *self = plan;
                Ok(())
            }
        }
    }

    /// Takes a name away from the groups that are found on it; `but` is on its way out itself.
    fn clear(&mut self, name: &str, but: Option<usize>, cascade: bool) -> Result<Vec<String>, EditError> {
        let using =
            |(at, group): &(usize, &mut Group)| Some(*at) != but && group.found_on.as_deref() == Some(name);
        let users: Vec<&mut Group> =
            self.groups.iter_mut().enumerate().filter(using).map(|(_, group)| group).collect();
        let names: Vec<String> = users.iter().map(|group| group.name.clone()).collect();
        if !names.is_empty() && !cascade {
            return Err(EditError::InUse { name: name.to_owned(), by: names });
        }
        for group in users {
            group.found_on = None;
        }
        Ok(names)
    }
}

fn absent(kind: &'static str, name: &str) -> EditError {
    EditError::Absent { kind, name: name.to_owned() }
}
