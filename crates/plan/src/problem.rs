//! What may be wrong with a plan that can be read. Problems are data: the caller decides what follows from them.

use std::collections::{BTreeSet, HashSet};

use super::Plan;
use varve_core::alias::AliasTarget;
use varve_core::pattern::{AtSign, GroupPattern};
use varve_core::url::normalise;

/// Something in a plan that cannot be as people meant it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Problem {
    /// A root or a group without a name.
    #[error("`{what}` has an empty name")]
    EmptyName {
        /// Its URL or pattern.
        what: String,
    },
    /// A name that two have.
    #[error("the name `{name}` is given twice")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A page that is named twice.
    #[error("the page `{url}` is a root twice")]
    DuplicateRoot {
        /// Its URL.
        url: String,
    },
    /// A root that is no page of the web.
    #[error("the root `{name}`: `{url}` is not the URL of a page")]
    NotAUrl {
        /// The root.
        name: String,
        /// What it has for a URL.
        url: String,
    },
    /// A root that is never asked for.
    #[error("the root `{name}` is never captured: an alias leads it to the live web")]
    ExternalRoot {
        /// The root.
        name: String,
    },
    /// A pattern that two groups have.
    #[error("the pattern `{pattern}` is given twice")]
    DuplicatePattern {
        /// The pattern.
        pattern: String,
    },
    /// A pattern that matches nothing.
    #[error("the group `{name}`: the pattern `{}` {fault}", pattern.escape_debug())]
    Pattern {
        /// The group.
        name: String,
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        fault: PatternFault,
    },
    /// A group that is found on something that there is not.
    #[error("the group `{name}` is found on `{found_on}`, which is neither a root nor a group")]
    Dangling {
        /// The group.
        name: String,
        /// What it names.
        found_on: String,
    },
    /// A group that is found on pages that are never captured.
    #[error("the group `{name}` is never found: no root leads to `{found_on}`")]
    Unreachable {
        /// The group.
        name: String,
        /// What it is found on.
        found_on: String,
    },
    /// A beginning that ends in the middle of a name.
    #[error("the alias `{source_prefix}`: `{prefix}` does not end with `/`")]
    AliasEnd {
        /// The alias.
        source_prefix: String,
        /// The beginning that it is about.
        prefix: String,
    },
    /// Two aliases for one beginning.
    #[error("there are two aliases for `{source_prefix}`")]
    DuplicateAlias {
        /// The beginning.
        source_prefix: String,
    },
    /// An alias that leads nowhere else.
    #[error("the alias `{source_prefix}` leads to itself, and not to the live web")]
    AliasToItself {
        /// The beginning.
        source_prefix: String,
    },
    /// Aliases that lead back to where they begin.
    #[error("the aliases lead in a circle: {}", shown_circle(prefixes))]
    AliasCircle {
        /// The beginnings in the order in which one leads to the next, the smallest first.
        prefixes: Vec<String>,
    },
}

/// What is wrong with a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum PatternFault {
    /// Nothing is in it.
    #[error("is empty")]
    Empty,
    /// Something is in it that is in no URL.
    #[error("holds white space, which is in no URL")]
    Blank,
    /// It begins as no page does.
    #[error("begins neither with `http://` or `https://` nor with `*`")]
    Beginning,
}

impl Plan {
    /// All that is wrong with it, sorted.
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = BTreeSet::new();
        self.look_at_names(&mut found);
        self.look_at_roots(&mut found);
        self.look_at_groups(&mut found);
        self.look_at_aliases(&mut found);
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

    /// The names of the roots and groups that are captured when all roots are. A page that is a root is a member of the groups it matches.
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

    /// The circle of two or more aliases that a beginning is in, if it is in one. Nothing runs in it, for an alias is applied once; but which
    /// of the places is meant then hangs on where a link happens to point.
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

/// The beginnings of a circle, and the first again.
fn shown_circle(prefixes: &[String]) -> String {
    let around = prefixes.iter().chain(prefixes.first());
    around.map(|prefix| format!("`{prefix}`")).collect::<Vec<_>>().join(" to ")
}

/// The one spelling of a page's URL; none for what is no page.
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
