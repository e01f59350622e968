//! Adding resources. A URL is added under its most normal form, and only if no earlier
//! form is there.

use varve_core::secret::ShownUrl;

use crate::error::{ChangeRefusal, Error, Result};
use crate::ids::ResourceId;
use crate::rows::Resource;
use crate::url_alternatives::{SiteRules, url_alternatives};
use crate::url_prefix::is_own_scheme;

use super::{ProjectChange, ProjectWriter};

impl ProjectWriter {
    /// The resource that a URL means, added if the project does not have it.
    pub fn add_resource(&mut self, url: &str) -> Result<Resource> {
        self.change("resource", |change| change.resource(url))
    }

    /// The resources that many URLs mean, added in one transaction if the project does not have
    /// them. `None` for a URL that cannot be stored: one that an alias leads out of the project, or
    /// one of Crystal's own scheme.
    pub fn add_resources<'u>(
        &mut self,
        urls: impl IntoIterator<Item = &'u str>,
    ) -> Result<Vec<Option<ResourceId>>> {
        self.change("resources", |change| {
            let sites = SiteRules::built_in();
            let aliases = change.writer.alias_rules()?;
            let mut ids = Vec::new();
            for url in urls {
                let known = url_alternatives(url, &sites, &aliases);
                ids.push(match change.known_or_new(&known.urls, known.external.as_deref()) {
                    Ok(resource) => Some(resource.id),
                    Err(Error::Refused(ChangeRefusal::External { .. } | ChangeRefusal::OwnScheme { .. })) => {
                        None
                    }
                    Err(error) => return Err(error),
                });
            }
            Ok(ids)
        })
    }
}

impl ProjectChange<'_> {
    /// The resource that a URL means, added if it is not there.
    pub(crate) fn resource(&self, url: &str) -> Result<Resource> {
        let known = self.writer.alternatives(url)?;
        self.known_or_new(&known.urls, known.external.as_deref())
    }

    fn known_or_new(&self, urls: &[String], external: Option<&str>) -> Result<Resource> {
        for url in urls {
            if let Some(resource) = self.writer.resource_at(url)? {
                return Ok(resource);
            }
        }
        if let Some(url) = external {
            return Err(ChangeRefusal::External { url: url.to_owned() }.into());
        }
        let url = urls.last().map(String::as_str).unwrap_or_default();
        if is_own_scheme(url) {
            return Err(ChangeRefusal::OwnScheme { url: url.to_owned() }.into());
        }
        let id = self.insert("INSERT INTO resource (url) VALUES (?1)", [url], || {
            format!("the resource `{}`", ShownUrl(url))
        })?;
        Ok(Resource { id: ResourceId(id), url: url.to_owned() })
    }
}
