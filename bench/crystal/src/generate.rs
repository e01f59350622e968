//! A project of any number of revisions, made as fast as a disk takes files: rows in one transaction, no syncs.
//!
//! One resource in ten has two revisions, one revision in twenty failed and has no body, one in thirty is a 404.
//! Bodies are small, since what is measured is what a project costs by its number of files, not by their size.

use rusqlite::Connection;
use std::fs;
use std::path::Path;
use varve_crystal::{CreateOptions, MajorVersion, NewGroup, ProjectWriter, RevisionId, flat_name, tree_path};

use crate::Outcome;

/// The pattern of a group that has one resource in ten.
pub const PATTERN: &str = "https://site.example/posts/#/";

/// The URL of a resource. Ids count from 1.
pub fn url(resource: u64) -> String {
    match resource % 10 {
        0 => format!("https://site.example/posts/{resource}/"),
        1 => format!("https://site.example/posts/{resource}/photo.jpg"),
        2 => format!("https://cdn{}.example/assets/{resource:x}.js?v=2", resource % 7),
        _ => {
            format!("https://site.example/archive/{}/{}/page-{resource}.html", resource % 40, resource % 3000)
        }
    }
}

/// The resource that a revision is of: every eleventh revision is the second of the one before.
pub fn resource_of(revision: u64) -> u64 {
    revision - revision / 11
}

pub fn has_failed(revision: u64) -> bool {
    revision.is_multiple_of(20)
}

pub fn body_path(version: MajorVersion, revision: u64) -> Option<std::path::PathBuf> {
    let id = RevisionId(i64::try_from(revision).ok()?);
    if version == MajorVersion::Flat { flat_name(id).map(Into::into) } else { tree_path(id) }
}

/// Makes the project, unless it is there already.
pub fn generate(path: &Path, version: MajorVersion, revisions: u64) -> Outcome<()> {
    let marker = path.join("generated");
    if fs::read_to_string(&marker).is_ok_and(|text| text == format!("{} {revisions}", version.number())) {
        return Ok(());
    }
    eprintln!("making {revisions} revisions in {}", path.display());
    let _ = fs::remove_dir_all(path);
    fs::create_dir_all(path.parent().ok_or("no folder")?)?;
    let mut writer = ProjectWriter::create(path, CreateOptions { version, watcher: None })?;
    writer.add_root("Home", "https://site.example/")?;
    for url_pattern in [PATTERN, "https://site.example/**"] {
        writer.add_group(NewGroup { name: "", url_pattern, source: None, do_not_download: false })?;
    }
    writer.close()?;
    insert_rows(path, revisions)?;
    write_bodies(&path.join("revisions"), version, revisions)?;
    fs::write(marker, format!("{} {revisions}", version.number()))?;
    Ok(())
}

fn insert_rows(path: &Path, revisions: u64) -> Outcome<()> {
    let connection = Connection::open(path.join("database.sqlite"))?;
    connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; BEGIN")?;
    {
        let mut resource =
            connection.prepare("INSERT OR IGNORE INTO resource (id, url) VALUES (?1 + 1, ?2)")?;
        let mut revision = connection.prepare(
            "INSERT INTO resource_revision (id, resource_id, error, metadata) VALUES (?1, ?2 + 1, ?3, ?4)",
        )?;
        for number in 1..=revisions {
            let of = resource_of(number);
            resource.execute((i64::try_from(of)?, url(of)))?;
            let (error, metadata) = texts(number);
            revision.execute((i64::try_from(number)?, i64::try_from(of)?, error, metadata))?;
        }
    }
    connection.execute_batch("COMMIT")?;
    Ok(())
}

fn texts(revision: u64) -> (&'static str, String) {
    if has_failed(revision) {
        return (r#"{"type": "TimeoutError", "message": "timed out"}"#, "null".to_owned());
    }
    let (status, reason) = if revision % 30 == 1 { (404, "Not Found") } else { (200, "OK") };
    let metadata = format!(
        "{{\"http_version\": 11, \"status_code\": {status}, \"reason_phrase\": \"{reason}\", \"headers\": \
         [[\"Server\", \"nginx\"], [\"Content-Type\", \"text/html; charset=utf-8\"], [\"ETag\", \"\\\"{revision:x}\\\"\"], \
         [\"Content-Length\", \"{}\"], [\"Date\", \"Fri, 29 Jul 2022 00:28:57 GMT\"]]}}",
        body(revision).len()
    );
    ("null", metadata)
}

pub fn body(revision: u64) -> String {
    format!(
        "<html><title>{revision}</title>{}</html>",
        "<p>words</p>".repeat(usize::try_from(revision % 50).unwrap_or(0))
    )
}

fn write_bodies(revisions: &Path, version: MajorVersion, count: u64) -> Outcome<()> {
    for number in (1..=count).filter(|number| !has_failed(*number)) {
        let path = revisions.join(body_path(version, number).ok_or("no place")?);
        if fs::write(&path, body(number)).is_err() {
            fs::create_dir_all(path.parent().ok_or("no folder")?)?;
            fs::write(&path, body(number))?;
        }
    }
    Ok(())
}
