//! The plan: the pages that users want captured.
//!
//! It has three kinds of items, as in Crystal. A *root* is a page that the user named. A *group* is a
//! pattern of URLs and the place where links to them are found: on a root, on the members of another
//! group, or on any page. An *alias* replaces a prefix of URLs by another. `found_on` names a root or a
//! group, so roots and groups share one set of names.
//!
//! The order of items has no meaning, so that the file can be sorted: of several aliases the one with
//! the longest source applies. This crate has the values, their one form as text ([`Plan::parse`],
//! [`Plan::text`]), and their consistency rules ([`Plan::problems`]). It does not know how a plan is
//! followed.

mod edit;
mod problem;
mod text;

pub use edit::{EditError, Removed};
pub use problem::{PatternFault, Problem};
pub use text::PlanError;

use serde::{Deserialize, Serialize};
use varve_core::alias::{Alias, Aliases};

/// The pages that users want captured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The pages to start with.
    pub roots: Vec<Root>,
    /// The pages that are found on others.
    pub groups: Vec<Group>,
    /// The prefixes that stand for others.
    pub aliases: Vec<Alias>,
}

/// A page to start with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Root {
    /// Its name.
    pub name: String,
    /// Its URL.
    pub url: String,
}

/// Pages whose URLs match a pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// The pattern.
    pub pattern: String,
    /// The root or group whose pages link to the members; `None` for all pages.
    pub found_on: Option<String>,
    /// Whether the members are never captured.
    pub do_not_download: bool,
}

impl Plan {
    /// Whether it has no items.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty() && self.groups.is_empty() && self.aliases.is_empty()
    }

    /// Sorts all items as in the text.
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

    /// The groups that are found on the root or group with that name.
    pub fn found_on<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Group> {
        self.groups.iter().filter(move |group| group.found_on.as_deref() == Some(name))
    }
}

fn key(alias: &Alias) -> (&str, &str, bool) {
    (&alias.source, &alias.target, alias.external)
}

#[cfg(test)]
mod tests;
