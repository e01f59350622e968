//! Putting rows back exactly as they were elsewhere, ids and all: how a project is rebuilt from a copy of its rows.
//!
//! The rules for people (no second group with a pattern, URLs in their normal form, sources that are there) are
//! not asked here: a row that a project had is a row that a project may have. Only what would keep Crystal from
//! opening the project is refused. Revisions are put back by `add_revisions`, with `Outcome::Verbatim`.

use crate::error::{Refusal, Result};
use crate::project::ProjectWriter;
use crate::rows::{Alias, Group, Resource, Root, Source};

use super::fit_id;

impl ProjectWriter {
    /// Puts resources back, as one.
    pub fn restore_resources(&mut self, rows: impl IntoIterator<Item = Resource>) -> Result<()> {
        self.change("resources", |change| {
            for row in rows {
                let values = (fit_id(row.id.get())?, &row.url);
                let taken = || format!("resource {}, or its URL", row.id);
                change.insert("INSERT INTO resource (id, url) VALUES (?1, ?2)", values, taken)?;
            }
            Ok(())
        })
    }

    /// Puts a root back. Its resource must be there.
    pub fn restore_root(&mut self, row: &Root) -> Result<()> {
        self.change("root", |change| {
            if change.writer.resource(row.resource)?.is_none() {
                return Err(Refusal::Unknown { what: "resource", id: row.resource.get() }.into());
            }
            let sql = "INSERT INTO root_resource (id, name, resource_id) VALUES (?1, ?2, ?3)";
            let values = (fit_id(row.id.get())?, &row.name, row.resource);
            change.insert(sql, values, || format!("root {}, or one for its resource", row.id)).map(drop)
        })
    }

    /// Puts a group back. What it names as its source may be put back later, or never.
    pub fn restore_group(&mut self, row: &Group) -> Result<()> {
        if row.url_pattern.is_empty() {
            return Err(Refusal::EmptyPattern.into());
        }
        self.change("group", |change| {
            let sql = "INSERT INTO resource_group (id, name, url_pattern, source_type, source_id, do_not_download) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let source = (row.source.map(Source::word), row.source.map(Source::number));
            let id = fit_id(row.id.get())?;
            let values = (id, &row.name, &row.url_pattern, source.0, source.1, row.do_not_download);
            change.insert(sql, values, || format!("group {id}")).map(drop)
        })
    }

    /// Puts an alias back.
    pub fn restore_alias(&mut self, row: &Alias) -> Result<()> {
        for prefix in [&row.source_url_prefix, &row.target_url_prefix] {
            if !prefix.ends_with('/') {
                return Err(Refusal::AliasPrefix { prefix: prefix.clone() }.into());
            }
        }
        self.change("alias", |change| {
            let sql = "INSERT INTO alias (id, source_url_prefix, target_url_prefix, target_is_external) \
                       VALUES (?1, ?2, ?3, ?4)";
            let id = fit_id(row.id.get())?;
            let values = (id, &row.source_url_prefix, &row.target_url_prefix, row.target_is_external);
            change.insert(sql, values, || format!("alias {id}, or one for its source")).map(drop)
        })
    }
}
