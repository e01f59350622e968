//! Which resource a URL means.
//!
//! The rules of normal forms, site rules and aliases are `varve_core`'s. Here they meet the project: its aliases
//! are read from its table, and of all the texts under which a URL may be known, the first that the project has
//! wins, so that old, less normal rows are still found. A new resource gets the last.

use varve_core::alias::Aliases;
use varve_core::url::{Alternatives, SiteRules, alternatives};

use crate::error::{Error, Result};
use crate::project::Project;
use crate::rows::Resource;

/// Crystal's own scheme, whose URLs name no page that could be kept.
const OWN_SCHEME: &str = "crystal:";
/// How Crystal writes a URL that an alias leads out of the project.
pub const EXTERNAL_MARKER: &str = "crystal://external/";
/// A project with more aliases than this is refused a look-up: each would cost them all.
const MOST_ALIASES: usize = 10_000;

/// What a URL means in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// This resource.
    Resource(Resource),
    /// Nothing here: an alias leads to this URL on the live web.
    External(String),
    /// Nothing yet: this is the URL under which it would be kept.
    Unknown(String),
}

impl Project {
    /// The aliases, in the order in which they are tried. One that Crystal would refuse is no alias: `verify` finds
    /// it, and no URL is lost for it.
    pub fn alias_rules(&self) -> Result<Aliases> {
        let mut rules = Vec::new();
        for alias in self.aliases() {
            match alias {
                Ok(alias) if alias.is_sound() => rules.push(alias.rule()),
                Ok(_) | Err(Error::Row(_)) => {}
                Err(error) => return Err(error),
            }
            if rules.len() > MOST_ALIASES {
                let what = format!("fewer than {MOST_ALIASES} aliases");
                return Err(Error::Schema { path: self.layout.dir.clone(), what });
            }
        }
        Ok(Aliases(rules))
    }

    /// The texts under which the project may know a URL, the one to keep it under last.
    pub fn alternatives(&self, url: &str) -> Result<Alternatives> {
        Ok(alternatives(url, &SiteRules::built_in(), &self.alias_rules()?))
    }

    /// What a URL means: a resource if the project has it under any of its names, else where an alias leads.
    pub fn find(&self, url: &str) -> Result<Lookup> {
        let alternatives = self.alternatives(url)?;
        for url in &alternatives.urls {
            if let Some(resource) = self.resource_at(url)? {
                return Ok(Lookup::Resource(resource));
            }
        }
        let canonical = alternatives.canonical();
        Ok(match alternatives.external.as_deref().or_else(|| canonical.strip_prefix(EXTERNAL_MARKER)) {
            Some(url) => Lookup::External(url.to_owned()),
            None => Lookup::Unknown(canonical.to_owned()),
        })
    }
}

/// Whether a URL is of Crystal's own scheme.
pub(crate) fn is_own_scheme(url: &str) -> bool {
    url.get(..OWN_SCHEME.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(OWN_SCHEME))
}

/// The scheme and authority of a URL, as `default_url_prefix` has them for a whole site: no slash at the end.
pub fn domain_prefix(url: &str) -> Option<&str> {
    let authority = url.find("://")? + 3;
    let end = url[authority..].find(['/', '?', '#']).map_or(url.len(), |length| authority + length);
    (end > authority).then_some(&url[..end])
}

/// The folder of a URL, as `default_url_prefix` has it: no slash at the end, no query.
pub fn directory_prefix(url: &str) -> Option<&str> {
    let domain = domain_prefix(url)?.len();
    let path_end = url[domain..].find(['?', '#']).map_or(url.len(), |length| domain + length);
    let slash = url[domain..path_end].rfind('/').map_or(domain, |length| domain + length);
    Some(&url[..slash])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_end_before_the_slash() {
        for (url, domain, directory) in [
            ("https://a.com/x/y?z=/1", "https://a.com", "https://a.com/x"),
            ("https://a.com:8/x#/y", "https://a.com:8", "https://a.com:8"),
            ("https://a.com", "https://a.com", "https://a.com"),
            ("https://a.com?/x", "https://a.com", "https://a.com"),
        ] {
            assert_eq!((domain_prefix(url), directory_prefix(url)), (Some(domain), Some(directory)), "{url}");
        }
        for url in ["mailto:a@b", "https:///x", ""] {
            assert_eq!((domain_prefix(url), directory_prefix(url)), (None, None), "{url}");
        }
    }

    #[test]
    fn the_own_scheme_is_known_in_any_case() {
        assert!(is_own_scheme(EXTERNAL_MARKER) && is_own_scheme("CRYSTAL:x"));
        assert!(!is_own_scheme("https://crystal/") && !is_own_scheme("crystä:x"));
    }
}
