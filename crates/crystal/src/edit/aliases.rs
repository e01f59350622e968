//! Adding, changing and deleting aliases. Both prefixes are whole folders: Crystal refuses a project with others.

use varve_core::secret::ShownUrl;

use crate::error::{Refusal, Result};
use crate::ids::AliasId;
use crate::project::ProjectWriter;
use crate::rows::Alias;

impl ProjectWriter {
    /// Adds an alias. A source prefix has at most one.
    pub fn add_alias(&mut self, source: &str, target: &str, target_is_external: bool) -> Result<Alias> {
        refuse_prefix(source)?;
        refuse_prefix(target)?;
        self.change("alias", |change| {
            let insert = "INSERT INTO alias (source_url_prefix, target_url_prefix, target_is_external) \
                          VALUES (?1, ?2, ?3)";
            let taken = || format!("an alias for `{}`", ShownUrl(source));
            let id = change.insert(insert, (source, target, target_is_external), taken)?;
            Ok(Alias {
                id: AliasId(id),
                source_url_prefix: source.to_owned(),
                target_url_prefix: target.to_owned(),
                target_is_external,
            })
        })
    }

    /// Leads an alias elsewhere.
    pub fn set_alias_target(&mut self, id: AliasId, target: &str, target_is_external: bool) -> Result<()> {
        refuse_prefix(target)?;
        self.change("alias", |change| {
            let sql = "UPDATE alias SET target_url_prefix = ?2, target_is_external = ?3 WHERE id = ?1";
            change.run_on("alias", id.get(), sql, (id, target, target_is_external))
        })
    }

    /// Deletes an alias.
    pub fn delete_alias(&mut self, id: AliasId) -> Result<()> {
        self.change("delete alias", |change| {
            change.run_on("alias", id.get(), "DELETE FROM alias WHERE id = ?1", [id])
        })
    }
}

fn refuse_prefix(prefix: &str) -> Result<()> {
    if prefix.ends_with('/') {
        return Ok(());
    }
    Err(Refusal::AliasPrefix { prefix: prefix.to_owned() }.into())
}
