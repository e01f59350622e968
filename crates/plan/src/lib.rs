//! The plan: what people want captured, as values.
//!
//! Three kinds of things, as Crystal has them. A *root* is a page that somebody named. A *group* is a pattern of URLs and
//! the place where links to them are looked for: on a root, on the members of another group, or anywhere. An *alias*
//! says that URLs with one beginning are meant as URLs with another. A group is found on what its `found_on` names, so
//! roots and groups share their names.
//!
//! The order of things means nothing, so that a file of them can be sorted: of several aliases the one with the longest
//! beginning decides. Here are the values, their one form as text ([`Plan::parse`], [`Plan::text`]) and what may be wrong
//! with them ([`Plan::problems`]). Who follows a plan, and how, is not known here.

mod edit;
mod problem;
mod text;

pub use edit::{EditError, Removed};
pub use problem::{PatternFault, Problem};
pub use text::PlanError;

use serde::{Deserialize, Serialize};
use varve_core::alias::{Alias, Aliases};

/// What people want captured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The pages to begin with.
    pub roots: Vec<Root>,
    /// Pages that are found on others.
    pub groups: Vec<Group>,
    /// What stands for something else.
    pub aliases: Vec<Alias>,
}

/// A page that somebody named.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Root {
    /// What it is called.
    pub name: String,
    /// Its URL.
    pub url: String,
}

/// Pages whose URLs match a pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Group {
    /// What it is called.
    pub name: String,
    /// The pattern.
    pub pattern: String,
    /// The root or the group on whose pages links to its members are looked for; on all pages, if `None`.
    pub found_on: Option<String>,
    /// Whether its members are left out, wherever they are met.
    pub do_not_download: bool,
}

impl Plan {
    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty() && self.groups.is_empty() && self.aliases.is_empty()
    }

    /// Everything in the order of its text.
    pub fn sort(&mut self) {
        self.roots.sort();
        self.groups.sort();
        self.aliases.sort_by(|one, other| key(one).cmp(&key(other)));
    }

    /// The aliases in the order in which they are tried: the longest source first.
    pub fn aliases(&self) -> Aliases {
        let mut aliases = self.aliases.clone();
        aliases.sort_by(|one, other| {
            other.source.len().cmp(&one.source.len()).then_with(|| key(one).cmp(&key(other)))
        });
        Aliases(aliases)
    }

    /// The names of all roots and groups.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let roots = self.roots.iter().map(|root| root.name.as_str());
        roots.chain(self.groups.iter().map(|group| group.name.as_str()))
    }

    /// The groups that are found on what has that name.
    pub fn found_on<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Group> {
        self.groups.iter().filter(move |group| group.found_on.as_deref() == Some(name))
    }
}

fn key(alias: &Alias) -> (&str, &str, bool) {
    (&alias.source, &alias.target, alias.external)
}

#[cfg(test)]
mod tests;
