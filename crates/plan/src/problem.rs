//! Problems of a plan whose text is well-formed. They are data: the caller decides what to do about
//! them.
//!
//! Messages show URLs without their user information, since it may be a password.

use std::collections::{BTreeSet, HashSet};

use super::Plan;
use varve_core::alias::AliasTarget;
use varve_core::pattern::{AtSign, GroupPattern};
use varve_core::secret::ShownUrl;
use varve_core::url::normalise;

/// An inconsistency that the user cannot have intended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Problem {
    /// A root or a group without a name.
    #[error("`{}` has an empty name", ShownUrl(what))]
    EmptyName {
        /// Its URL or pattern.
        what: String,
    },
    /// Two roots or groups have the same name.
    #[error("the name `{}` is given twice", ShownUrl(name))]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// Two roots are the same page.
    #[error("the page `{}` is a root twice", ShownUrl(url))]
    DuplicateRoot {
        /// Its URL.
        url: String,
    },
    /// The URL of a root is not an HTTP URL.
    #[error("the root `{}`: `{}` is not the URL of a page", ShownUrl(name), ShownUrl(url))]
    NotAUrl {
        /// The root.
        name: String,
        /// The invalid URL.
        url: String,
    },
    /// A URL holds a user name or password, which would be written into silos and the catalog.
    #[error(
        "`{}` holds a user name or password; remove it, and pass `--header` when capturing",
        ShownUrl(url)
    )]
    UserInfo {
        /// The URL or pattern.
        url: String,
    },
    /// A root that an external alias excludes from capturing.
    #[error("the root `{}` is never captured: an alias leads it to the live web", ShownUrl(name))]
    ExternalRoot {
        /// The root.
        name: String,
    },
    /// Two groups have the same pattern.
    #[error("the pattern `{}` is given twice", ShownUrl(pattern))]
    DuplicatePattern {
        /// The pattern.
        pattern: String,
    },
    /// A pattern that matches no URL.
    #[error("the group `{}`: the pattern `{}` {fault}", ShownUrl(name), ShownUrl(pattern).to_string().escape_debug())]
    Pattern {
        /// The group.
        name: String,
        /// The pattern.
        pattern: String,
        /// The fault.
        fault: PatternFault,
    },
    /// A group whose `found_on` names neither a root nor a group.
    #[error(
        "the group `{}` is found on `{}`, which is neither a root nor a group",
        ShownUrl(name),
        ShownUrl(found_on)
    )]
    Dangling {
        /// The group.
        name: String,
        /// The unknown name.
        found_on: String,
    },
    /// A group that is found on pages which no root leads to.
    #[error("the group `{}` is never found: no root leads to `{}`", ShownUrl(name), ShownUrl(found_on))]
    Unreachable {
        /// The group.
        name: String,
        /// The root or group that it is found on.
        found_on: String,
    },
    /// A prefix that does not end with `/`, and so may end inside a path segment.
    #[error("the alias `{}`: `{}` does not end with `/`", ShownUrl(source_prefix), ShownUrl(prefix))]
    AliasEnd {
        /// The alias.
        source_prefix: String,
        /// The prefix.
        prefix: String,
    },
    /// Two aliases have the same source.
    #[error("there are two aliases for `{}`", ShownUrl(source_prefix))]
    DuplicateAlias {
        /// The prefix.
        source_prefix: String,
    },
    /// The target of an internal alias is its source.
    #[error("the alias `{}` leads to itself, and not to the live web", ShownUrl(source_prefix))]
    AliasToItself {
        /// The prefix.
        source_prefix: String,
    },
    /// Aliases that form a circle.
    #[error("the aliases lead in a circle: {}", shown_circle(prefixes))]
    AliasCircle {
        /// The prefixes in the order of the circle, starting with the smallest.
        prefixes: Vec<String>,
    },
}

/// The fault of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum PatternFault {
    /// The pattern is empty.
    #[error("is empty")]
    Empty,
    /// It holds white space or a control character, which no URL has.
    #[error("holds white space, which is in no URL")]
    Blank,
    /// No HTTP URL can begin as it does.
    #[error("begins neither with `http://` or `https://` nor with `*`")]
    Beginning,
}

impl Plan {
    /// All problems of the plan, sorted.
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = BTreeSet::new();
        self.look_at_names(&mut found);
        self.look_at_roots(&mut found);
        self.look_at_groups(&mut found);
        self.look_at_aliases(&mut found);
        self.look_for_user_info(&mut found);
        found.into_iter().collect()
    }

    fn look_at_names(&self, found: &mut BTreeSet<Problem>) {
        let mut seen = HashSet::new();
        for name in self.names() {
            if !seen.insert(name) {
                found.insert(Problem::DuplicateName { name: name.to_owned() });
            }
        }
        let roots = self.roots.iter().map(|root| (&root.name, &root.url));
        let groups = self.groups.iter().map(|group| (&group.name, &group.pattern));
        for (_, what) in roots.chain(groups).filter(|(name, _)| name.trim().is_empty()) {
            found.insert(Problem::EmptyName { what: what.clone() });
        }
    }

    fn look_at_roots(&self, found: &mut BTreeSet<Problem>) {
        let aliases = self.aliases();
        let mut seen = HashSet::new();
        for root in &self.roots {
            let name = || root.name.clone();
            let Some(url) = page(&root.url) else {
                found.insert(Problem::NotAUrl { name: name(), url: root.url.clone() });
                continue;
            };
            if matches!(aliases.apply(&url), Some(AliasTarget::External(_))) {
                found.insert(Problem::ExternalRoot { name: name() });
            }
            if !seen.insert(url) {
                found.insert(Problem::DuplicateRoot { url: root.url.clone() });
            }
        }
    }

    fn look_at_groups(&self, found: &mut BTreeSet<Problem>) {
        let names: HashSet<&str> = self.names().collect();
        let reached = self.reached();
        let mut patterns = HashSet::new();
        for group in &self.groups {
            let name = || group.name.clone();
            if let Some(fault) = fault(&group.pattern) {
                found.insert(Problem::Pattern { name: name(), pattern: group.pattern.clone(), fault });
            }
            if !patterns.insert(&group.pattern) {
                found.insert(Problem::DuplicatePattern { pattern: group.pattern.clone() });
            }
            let Some(found_on) = &group.found_on else { continue };
            if !names.contains(found_on.as_str()) {
                found.insert(Problem::Dangling { name: name(), found_on: found_on.clone() });
            } else if !reached.contains(found_on.as_str()) {
                found.insert(Problem::Unreachable { name: name(), found_on: found_on.clone() });
            }
        }
    }

    fn look_for_user_info(&self, found: &mut BTreeSet<Problem>) {
        let roots = self.roots.iter().flat_map(|root| [&root.name, &root.url]);
        let names = self.groups.iter().map(|group| &group.name);
        let aliases = self.aliases.iter().flat_map(|alias| [&alias.source, &alias.target]);
        let urls = roots.chain(names).chain(aliases).filter(|url| ShownUrl(url).has_user_info());
        let patterns = self.groups.iter().map(|group| &group.pattern);
        let patterns = patterns.filter(|pattern| ShownUrl(pattern).pattern_has_user_info());
        let with_user_info = urls.chain(patterns);
        found.extend(with_user_info.map(|url| Problem::UserInfo { url: url.clone() }));
    }

    /// The names of the roots and groups that a capture of all roots reaches. A root is a member of
    /// the groups whose pattern it matches.
    fn reached(&self) -> HashSet<&str> {
        let mut reached: HashSet<&str> = self.roots.iter().map(|root| root.name.as_str()).collect();
        let mut waiting: Vec<_> = self.groups.iter().filter(|group| !group.do_not_download).collect();
        loop {
            let before = waiting.len();
            waiting.retain(|group| {
                let leads = match &group.found_on {
                    Some(name) => reached.contains(name.as_str()),
                    None => !reached.is_empty(),
                };
                let pattern = GroupPattern::new(&group.pattern, AtSign::Literal);
                let is_reached = leads || self.roots.iter().any(|root| pattern.matches(&root.url));
                if is_reached {
                    reached.insert(&group.name);
                }
                !is_reached
            });
            if waiting.len() == before {
                return reached;
            }
        }
    }

    fn look_at_aliases(&self, found: &mut BTreeSet<Problem>) {
        let mut seen = HashSet::new();
        for alias in &self.aliases {
            let source_prefix = || alias.source.clone();
            for prefix in [&alias.source, &alias.target].into_iter().filter(|prefix| !prefix.ends_with('/')) {
                let prefix = prefix.clone();
                found.insert(Problem::AliasEnd { source_prefix: source_prefix(), prefix });
            }
            if !seen.insert(&alias.source) {
                found.insert(Problem::DuplicateAlias { source_prefix: source_prefix() });
            }
            if alias.source == alias.target && !alias.external {
                found.insert(Problem::AliasToItself { source_prefix: source_prefix() });
            }
        }
        found.extend(self.aliases.iter().filter_map(|alias| self.circle(&alias.source)));
    }

    /// The circle of two or more aliases that contains the prefix, if there is one. An alias is
    /// applied once, so a circle never loops, but the page that a link leads to then depends on the
    /// spelling of the link.
    fn circle(&self, start: &str) -> Option<Problem> {
        let aliases = self.aliases();
        let mut prefixes = vec![start.to_owned()];
        // A chain longer than the number of aliases never returns to its beginning.
        while prefixes.len() <= self.aliases.len() {
            let Some(AliasTarget::Internal(next)) = aliases.apply(prefixes.last()?) else { return None };
            if next == start {
                let first = (0..prefixes.len()).min_by_key(|&at| &prefixes[at])?;
                prefixes.rotate_left(first);
                return (prefixes.len() > 1).then_some(Problem::AliasCircle { prefixes });
            }
            prefixes.push(next);
        }
        None
    }
}

/// The prefixes of a circle, closed by the first.
fn shown_circle(prefixes: &[String]) -> String {
    let around = prefixes.iter().chain(prefixes.first());
    around.map(|prefix| format!("`{}`", ShownUrl(prefix))).collect::<Vec<_>>().join(" to ")
}

/// The normalised URL of a page; `None` if it is not an HTTP URL.
fn page(url: &str) -> Option<String> {
    let url = normalise(url).ok()?;
    (url.starts_with("http://") || url.starts_with("https://")).then_some(url)
}

fn fault(pattern: &str) -> Option<PatternFault> {
    if pattern.is_empty() {
        return Some(PatternFault::Empty);
    }
    if pattern.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
        return Some(PatternFault::Blank);
    }
    let compiled = GroupPattern::new(pattern, AtSign::Literal);
    let beginning = compiled.literal_prefix();
    let is_star_next = pattern[beginning.len()..].starts_with('*');
    let fits = ["http://", "https://"]
        .iter()
        .any(|scheme| beginning.starts_with(scheme) || is_star_next && scheme.starts_with(beginning));
    (!fits).then_some(PatternFault::Beginning)
}
