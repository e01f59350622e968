//! Changes to a plan. A change that would add a problem is an error.

use super::{Group, Plan, Problem, Root};
use varve_core::alias::Alias;
use varve_core::secret::ShownUrl;

/// The plan was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The change would add a problem.
    #[error(transparent)]
    Problem(Problem),
    /// No root, group or alias has that name.
    #[error("the plan has no {kind} `{}`", ShownUrl(name).to_string().escape_debug())]
    Absent {
        /// `root`, `group` or `alias`.
        kind: &'static str,
        /// The given name.
        name: String,
    },
    /// The root is not the start page of a site.
    #[error("`{}` is not the start page of a site: its path is not `/`", ShownUrl(url))]
    NotASite {
        /// The URL.
        url: String,
    },
    /// Groups are found on it, so it cannot be removed without `cascade`.
    #[error("other groups are found on `{}`: {}", ShownUrl(name), quoted(by))]
    InUse {
        /// The root or group.
        name: String,
        /// The groups.
        by: Vec<String>,
    },
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{}`", ShownUrl(name))).collect::<Vec<_>>().join(", ")
}

/// The result of a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed<T> {
    /// The removed root or group.
    pub removed: T,
    /// The groups that were found on it. They are now found on all pages.
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

    /// Adds a group of all pages of a site, found on its root. The path of the root must be `/`.
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

    /// Removes the root with that name or URL. With `cascade`, groups that were found on it are found
    /// on all pages from then on.
    pub fn remove_root(&mut self, name: &str, cascade: bool) -> Result<Removed<Root>, EditError> {
        let by_name = self.roots.iter().position(|root| root.name == name);
        let at = by_name.or_else(|| self.roots.iter().position(|root| root.url == name));
        let at = at.ok_or_else(|| absent("root", name))?;
        let cleared = self.clear(&self.roots[at].name.clone(), None, cascade)?;
        Ok(Removed { removed: self.roots.remove(at), cleared })
    }

    /// Removes the group with that name or pattern, like [`Self::remove_root`].
    pub fn remove_group(&mut self, name: &str, cascade: bool) -> Result<Removed<Group>, EditError> {
        let by_name = self.groups.iter().position(|group| group.name == name);
        let at = by_name.or_else(|| self.groups.iter().position(|group| group.pattern == name));
        let at = at.ok_or_else(|| absent("group", name))?;
        let cleared = self.clear(&self.groups[at].name.clone(), Some(at), cascade)?;
        Ok(Removed { removed: self.groups.remove(at), cleared })
    }

    /// Removes the alias with that source.
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

    /// Clears `found_on` of the groups that are found on `name`, except the group at index `but`, which
    /// is about to be removed.
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
