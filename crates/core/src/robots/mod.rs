//! `robots.txt` as defined by RFC 9309, parsed as leniently as the large crawlers do.
//!
//! Pure functions: other crates fetch and store the file, follow its redirects, wait, and decide
//! whether to obey. [`Robots`] is the whole file, [`RobotsRules`] are its rules for one robot.
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

/// Maximum number of bytes of a file that are parsed: the minimum that the RFC requires. The rest
/// is ignored.
pub const MAX_ROBOTS_BYTES: usize = 500 << 10;

/// A parsed `robots.txt`.
#[derive(Debug, Clone, Default)]
pub struct Robots {
    groups: Vec<RobotsGroup>,
    sitemaps: Vec<String>,
    /// Whether nothing may be fetched, because the file could not be fetched.
    closed: bool,
}

impl Robots {
    /// Parses a file. Any bytes are accepted.
    pub fn parse(bytes: &[u8]) -> Self {
        let Parsed { groups, sitemaps } = parse::parse(bytes);
        Self { groups, sitemaps, closed: false }
    }

    /// No file exists, so there are no rules and everything may be fetched.
    pub fn open() -> Self {
        Self::default()
    }

    /// The file could not be fetched, so nothing may be fetched until it can.
    pub fn closed() -> Self {
        Self { closed: true, ..Self::default() }
    }

    /// The meaning of a response to the request for the file. A body is parsed. If the site has no
    /// file, there are no rules. If the server fails or asks the client to wait, nothing is
    /// allowed.
    pub fn from_answer(status: u16, body: &[u8]) -> Self {
        match status {
            200..=299 => Self::parse(body),
            _ if Self::is_unavailable(status) => Self::closed(),
            _ => Self::open(),
        }
    }

    /// Whether a response with this status does not say which rules the site has.
    pub fn is_unavailable(status: u16) -> bool {
        matches!(status, 429 | 500..=599)
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

    /// The rules for the robot with this product token, such as `varve`: those of all groups that
    /// name it, or of the groups for `*` if none does.
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
