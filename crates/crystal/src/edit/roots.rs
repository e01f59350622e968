//! Adding, naming and deleting roots. A resource is a root at most once.

use varve_core::secret::ShownUrl;

use super::NewGroup;
use crate::error::{Refusal, Result};
use crate::identity::domain_prefix;
use crate::ids::RootId;
use crate::project::ProjectWriter;
use crate::rows::{Group, Root, Source};

impl ProjectWriter {
    /// Makes a URL a root, with a name that may be empty. Its resource is added if the project does not have it.
    pub fn add_root(&mut self, name: &str, url: &str) -> Result<Root> {
        self.change("root", |change| {
            let resource = change.resource(url)?;
            let insert = "INSERT INTO root_resource (name, resource_id) VALUES (?1, ?2)";
            let taken = || format!("a root for `{}`", ShownUrl(&resource.url));
            let id = change.insert(insert, (name, resource.id), taken)?;
            Ok(Root { id: RootId(id), name: name.to_owned(), resource: resource.id })
        })
    }

    /// Gives a root another name.
    pub fn rename_root(&mut self, id: RootId, name: &str) -> Result<()> {
        self.change("root", |change| {
            let sql = "UPDATE root_resource SET name = ?2 WHERE id = ?1";
            change.run_on("root", id.get(), sql, (id, name))
        })
    }

    /// Deletes a root. Groups whose source it was have none afterwards; its resource stays, with its revisions.
    pub fn delete_root(&mut self, id: RootId) -> Result<()> {
        self.change("delete root", |change| {
            change.clear_sources("root_resource", id.get())?;
            change.run_on("root", id.get(), "DELETE FROM root_resource WHERE id = ?1", [id])
        })
    }

    /// Makes the group that holds a whole site: everything under a root whose path is `/`, found from that root.
    pub fn add_site_group(&mut self, root: RootId) -> Result<Group> {
        let unknown = || Refusal::Unknown { what: "root", id: root.get() };
        let resource = self.root(root)?.ok_or_else(unknown)?.resource;
        let url = self.resource(resource)?.ok_or_else(unknown)?.url;
        let is_site = domain_prefix(&url).is_some_and(|site| url[site.len()..] == *"/");
        if !is_site {
            return Err(Refusal::NotASite { url }.into());
        }
        let source = Some(Source::Root(root));
        self.add_group(NewGroup {
            name: "",
            url_pattern: &format!("{url}**"),
            source,
            do_not_download: false,
        })
    }
}
