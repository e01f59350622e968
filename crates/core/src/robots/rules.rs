//! The rules for one robot: the longest matching pattern decides; of two with equal length, the one
//! that allows.

use super::index::Index;
use super::parse::RobotsGroup;
use super::pattern::{Pattern, path_of};
use std::time::Duration;

/// One `Allow` or `Disallow` line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RobotsRule {
    /// Whether it allows.
    pub allow: bool,
    /// The path as it was written.
    pub path: String,
    /// The number of its line, from one.
    pub line: usize,
    pattern: Pattern,
}

impl RobotsRule {
    /// Parses the path of a rule; `None` if it cannot match.
    pub(super) fn new(allow: bool, path: &str, line: usize) -> Option<Self> {
        Some(Self { allow, path: path.to_owned(), line, pattern: Pattern::parse(path)? })
    }

    /// The precedence: the greater weight decides.
    fn weight(&self) -> (usize, bool) {
        (self.pattern.length, self.allow)
    }
}

/// Whether a URL may be fetched, and the line that decides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision<'r> {
    /// Whether it may be fetched.
    pub allowed: bool,
    /// The line that decided; `None` if no line matches the URL, or if the file could not be
    /// fetched.
    pub rule: Option<&'r RobotsRule>,
}

/// The rules of a file for one robot.
#[derive(Debug, Clone, Default)]
pub struct RobotsRules {
    rules: Vec<RobotsRule>,
    pub(super) index: Index,
    delay: Option<Duration>,
    closed: bool,
}

/// Collects the rules of several groups.
#[derive(Debug, Default)]
pub(super) struct Builder {
    rules: Vec<RobotsRule>,
    delay: Option<Duration>,
}

impl Builder {
    /// Adds a group that names the robot at `position`.
    pub(super) fn add(&mut self, group: &RobotsGroup, position: usize) {
        self.rules.extend(group.rules.iter().cloned());
        let delays = group.delays.iter().filter(|(named, _)| position < *named).map(|(_, delay)| *delay);
        self.delay = self.delay.into_iter().chain(delays).max();
    }

    pub(super) fn build(self) -> RobotsRules {
        let index = Index::new(self.rules.iter().map(|rule| rule.pattern.segments()));
        RobotsRules { rules: self.rules, index, delay: self.delay, closed: false }
    }
}

impl RobotsRules {
    pub(super) fn builder() -> Builder {
        Builder::default()
    }

    /// Nothing is allowed.
    pub(super) fn closed() -> Self {
        Self { closed: true, ..Self::default() }
    }

    /// Whether a URL may be fetched. Only its path and query are compared: the caller knows the
    /// host of the file.
    pub fn decide(&self, url: &str) -> Decision<'_> {
        let path = path_of(url);
        if path == b"/robots.txt" {
            return Decision { allowed: true, rule: None };
        }
        let mut best: Option<&RobotsRule> = None;
        for number in self.index.candidates(&path) {
            let rule = &self.rules[number as usize];
            let is_heavier = best.is_none_or(|best| rule.weight() > best.weight());
            if is_heavier && rule.pattern.matches(&path) {
                best = Some(rule);
            }
        }
        Decision { allowed: best.map_or(!self.closed, |rule| rule.allow), rule: best }
    }

    /// Whether a URL may be fetched.
    pub fn allows(&self, url: &str) -> bool {
        self.decide(url).allowed
    }

    /// The delay that the file requires between two requests, by `Crawl-delay` or `Request-rate`;
    /// the longest if there are several. It may be absurdly long; the caller limits it.
    pub fn delay(&self) -> Option<Duration> {
        self.delay
    }

    /// The number of rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}
