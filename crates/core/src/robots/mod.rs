//! What a site asks of robots: `robots.txt` as RFC 9309 has it, read as leniently as the large crawlers read it.
//!
//! A pure rule. Fetching the file, following its redirects and keeping it are done elsewhere; so is waiting, and
//! deciding whether to obey. [`Robots`] is the whole file, [`Rules`] is what it asks of one robot.
//!
//! | file | knows |
//! | --- | --- |
//! | `parse` | lines, groups, the ways people misspell them |
//! | `pattern` | one path pattern: escapes, `*`, `$` |
//! | `rules` | many patterns: the longest that matches decides |
//! | `index` | which of twenty thousand patterns could match at all |

mod index;
mod parse;
mod pattern;
mod rules;

pub use rules::{Decision, RobotsRule, RobotsRules};

use crate::url::resolve;
use parse::{Parsed, RobotsGroup};

/// So much of a file is read, as the RFC asks for at least; what follows is ignored.
pub const MAX_ROBOTS_BYTES: usize = 500 << 10;

/// A parsed `robots.txt`.
#[derive(Debug, Clone, Default)]
pub struct Robots {
    groups: Vec<RobotsGroup>,
    sitemaps: Vec<String>,
    /// Whether nothing at all may be fetched, because the file could not be had.
    closed: bool,
}

impl Robots {
    /// Reads a file. Any bytes will do.
    pub fn parse(bytes: &[u8]) -> Self {
        let Parsed { groups, sitemaps } = parse::parse(bytes);
        Self { groups, sitemaps, closed: false }
    }

    /// No file, no rules: everything may be fetched.
    pub fn open() -> Self {
        Self::default()
    }

    /// The file could not be had, so nothing may be fetched until it can.
    pub fn closed() -> Self {
        Self { closed: true, ..Self::default() }
    }

    /// What an answer to the request for the file means: a body where there is one, no rules where the site says
    /// that there is none, and nothing allowed while the site is out of order or asks for patience.
    pub fn from_answer(status: u16, body: &[u8]) -> Self {
        match status {
            200..=299 => Self::parse(body),
            429 | 500..=599 => Self::closed(),
            _ => Self::open(),
        }
    }

    /// The sitemaps that the file names, absolute, each once, in order. `url` is that of the file.
    pub fn sitemaps(&self, url: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for sitemap in self.sitemaps.iter().filter_map(|sitemap| resolve(url, sitemap).ok()) {
            let is_web = sitemap.starts_with("http://") || sitemap.starts_with("https://");
            if is_web && seen.insert(sitemap.clone()) {
                found.push(sitemap);
            }
        }
        found
    }

    /// What the file asks of the robot with this product token, such as `varve`. All groups that name it count;
    /// where none does, those for everyone.
    pub fn rules_for(&self, agent: &str) -> RobotsRules {
        if self.closed {
            return RobotsRules::closed();
        }
        let named = |group: &&RobotsGroup| group.position(agent).is_some();
        let agent = if self.groups.iter().any(|group| named(&group)) { agent } else { "*" };
        let mut rules = RobotsRules::builder();
        for group in &self.groups {
            if let Some(position) = group.position(agent) {
                rules.add(group, position);
            }
        }
        rules.build()
    }
}

#[cfg(test)]
mod tests;
