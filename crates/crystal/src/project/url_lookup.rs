//! Which resource a URL means in a project.
//!
//! The rules of normal forms and sites are in `url_alternatives`; the aliases are rows of the
//! project. Of all texts under which a URL may be known, the first that the project has wins, so
//! older and less normal rows are found. A new resource gets the last text.

use varve_core::alias::Aliases;

use super::Project;
use crate::error::{Error, Result};
use crate::rows::Resource;
use crate::url_alternatives::{SiteRules, UrlAlternatives, url_alternatives};
use crate::url_prefix::EXTERNAL_MARKER;

/// A lookup in a project with more aliases fails: each lookup tries all of them.
const MAX_ALIASES: usize = 10_000;

/// What a URL means in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlLookup {
    /// This resource.
    Resource(Resource),
    /// Nothing here: an alias leads to this URL on the live web.
    External(String),
    /// Nothing yet: this is the URL under which it would be kept.
    Unknown(String),
}

impl Project {
    /// The aliases, in the order in which they are tried. One that Crystal would refuse is no
    /// alias: `verify` finds it, and no URL is lost for it.
    pub fn alias_rules(&self) -> Result<Aliases> {
        let mut rules = Vec::new();
        for alias in self.aliases() {
            match alias {
                Ok(alias) if alias.is_sound() => rules.push(alias.rule()),
                Ok(_) | Err(Error::Row(_)) => {}
                Err(error) => return Err(error),
            }
            if rules.len() > MAX_ALIASES {
                let what = format!("fewer than {MAX_ALIASES} aliases");
                return Err(Error::Schema { path: self.layout.dir.clone(), what });
            }
        }
        Ok(Aliases(rules))
    }

    /// The texts under which the project may know a URL, the one to keep it under last.
    pub fn alternatives(&self, url: &str) -> Result<UrlAlternatives> {
        Ok(url_alternatives(url, &SiteRules::built_in(), &self.alias_rules()?))
    }

    /// What a URL means: a resource if the project has it under any of its names, else where an
    /// alias leads.
    pub fn find(&self, url: &str) -> Result<UrlLookup> {
        let alternatives = self.alternatives(url)?;
        for url in &alternatives.urls {
            if let Some(resource) = self.resource_at(url)? {
                return Ok(UrlLookup::Resource(resource));
            }
        }
        let canonical = alternatives.canonical();
        Ok(match alternatives.external.as_deref().or_else(|| canonical.strip_prefix(EXTERNAL_MARKER)) {
            Some(url) => UrlLookup::External(url.to_owned()),
            None => UrlLookup::Unknown(canonical.to_owned()),
        })
    }
}
